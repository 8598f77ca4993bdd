"""How long a reader waits for a verdict: `python -m tests.workshop.bench_compile [BUILDS]`.

Prints the time from the request to the answer for a tile of the shipped table, for one that this machine has
compiled before, and for one that nobody has (pause for a moving slider, worker start and suggestions
included), and how long another reader's table answer takes, and how late the event loop is, meanwhile.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from workshop.kernels.compile_cache import Cache
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_service import PAUSE, CompileService
from workshop.kernels.compile_table import lookup

TABLE = Options(Br=64, Bc=256)
# Not in the table: other head sizes, among them tiles that do not launch and need suggestions.
FRESH = [
    Options(Br=Br, Bc=Bc, d=d)
    for d in (96, 192, 80, 40)
    for Br, Bc in ((64, 64), (128, 64), (64, 256), (256, 128), (128, 128), (256, 256))
]


def spread(name, seconds):
    """One line: median and worst, in milliseconds."""
    ordered = sorted(seconds)
    print(
        f"{name:<52}{len(ordered):>5}{1e3 * statistics.median(ordered):>12.2f}{1e3 * ordered[-1]:>12.2f}",
        flush=True,
    )


async def ask(service, options, reader):
    started = time.perf_counter()
    answer = await service.report(options, reader=reader)
    return time.perf_counter() - started, answer


async def meanwhile(service, done):
    """Another reader's table answers, and how late a 10 ms timer of the loop comes, until `done`."""
    answers, late = [], []
    while not done.is_set():
        started = time.perf_counter()
        await asyncio.sleep(0.01)
        late.append(time.perf_counter() - started - 0.01)
        answers.append((await ask(service, TABLE, "other"))[0])
    return answers, late


async def bench(builds):
    with tempfile.TemporaryDirectory() as folder:
        service = CompileService(store=Cache(Path(folder)))
        print(
            f"pause for a moving slider {PAUSE * 1e3:.0f} ms, {service.pool.processes} worker process(es)\n"
        )
        print(f"{'milliseconds from request to answer':<52}{'n':>5}{'median':>12}{'worst':>12}")
        spread("shipped table, first answer of a server", [(await ask(service, TABLE, "a"))[0]])
        spread("shipped table", [(await ask(service, TABLE, "a"))[0] for _ in range(200)])
        done = asyncio.Event()
        other = asyncio.ensure_future(meanwhile(service, done))
        fresh, standing, compiling = [], [], []
        for options in FRESH[:builds]:
            assert lookup(options) is None, f"expected a tile outside the table, got {options}"
            seconds, answer = await ask(service, options, "a")
            assert answer.report is not None, answer.sentence
            (fresh if answer.origin == "compiled" else standing).append(seconds)
            if answer.origin == "compiled":
                compiling.append(answer.report.seconds)
        done.set()
        answers, late = await other
        spread("compiled now", fresh)
        if standing:
            spread("too slow: the padded head size stood in", standing)
        spread("  of which the tile itself, in the worker", compiling)
        spread("another reader's table answer meanwhile", answers)
        spread("lateness of the event loop meanwhile", late)
        spread("asked again", [(await ask(service, options, "a"))[0] for options in FRESH[:builds]])
        service.close()


if __name__ == "__main__":
    asyncio.run(bench(int(sys.argv[1]) if sys.argv[1:] else len(FRESH)))
