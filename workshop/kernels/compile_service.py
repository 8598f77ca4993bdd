"""Compile reports for a page, without ever holding up its event loop.

    answer = await report(options, gpu, reader=session_id)     # Answer, or None: a newer request took over
    answer.sentence                                            # the verdict, or why there is none

A request is answered from the shipped table or the disk cache at once; otherwise, after a short pause (a slider
is still moving), by a worker process of one small pool that all readers of the server share. A reader has one
request at a time: a newer one takes the older one's place, and a build that nobody waits for any more is stopped.
Two readers who ask the same share one build. A crash, a build that takes too long, or a missing Triton becomes
a sentence. Where the table has the head size that d is padded to, that report answers for a build that is slow, and the
sentence says so. After a while without work the processes end.
"""

from __future__ import annotations

import asyncio
import atexit
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial

from workshop.hardware import GPU
from workshop.kernel_memory import padded_head

from . import compile_table
from .compile_cache import Cache
from .compile_options import Options
from .compile_pool import CompilePool
from .compile_process import COMMAND, crash_sentence, late_sentence
from .compile_report import Report, triton_version
from .compile_verdict import Suggestion, gpu_for, launches, search, sentence, suggestions

#: Seconds: a slider may still move; a build may take; after a request advice may still be looked for, or a build with
#: a stand-in may take; a process without work is kept; a build that was too slow is not tried again.
PAUSE, LIMIT, PATIENCE, IDLE, RETRY = 0.15, 30.0, 4.0, 300.0, 600.0
#: Builds after which a process is replaced: the compiler keeps a megabyte or two of each.
BUILDS = 200
MOST_KEPT = 1000
MISSING = (
    "Triton is not installed here, so only tiles of the shipped table can be answered; "
    "pip install -r requirements.txt brings it (Linux only)."
)


@dataclass(frozen=True)
class Answer:
    """What a reader gets.

    report: the figures, or None where there are none. gpu: whose limits the verdict is about. origin: "table",
    "cache" (this machine compiled it before), "compiled" (just now), or "" without a report; where the report of
    the padded head size stands in, `report.options.d` is not `options.d`. launches: the verdict (None without a
    report). suggestions: changes that would make it launch. sentence: the verdict in words, or why there is no
    report. seconds: from request to answer.
    """

    options: Options
    gpu: GPU
    report: Report | None
    origin: str
    launches: bool | None
    suggestions: tuple[Suggestion, ...]
    sentence: str
    seconds: float


#: A report, or a sentence, or what makes the sentence for a GPU.
Found = Report | str | Callable[[GPU], str]


class CompileService:
    """The rules of one server, see `shared_service`.

    processes: workers at most. limit, patience, pause, idle: seconds, see the module. builds: of one process.
    command: how a worker is started (a folder for its files is appended). table: `compile_table.find`, or another.
    """

    def __init__(
        self,
        processes: int | None = None,
        limit: float = LIMIT,
        patience: float = PATIENCE,
        pause: float = PAUSE,
        idle: float = IDLE,
        builds: int = BUILDS,
        store: Cache | None = None,
        command: Sequence[str] = COMMAND,
        table: Callable[[Options], Report | str | None] = compile_table.find,
    ):
        self.patience, self.pause, self.command, self.table = patience, pause, command, table
        self.store = store or Cache()
        self.pool = CompilePool(self._settle, command, limit, idle, builds, processes)
        self._refused: dict[Options, Found] = {}
        self._slow: dict[Options, float] = {}
        self._latest: dict[Hashable, _Turn] = {}

    async def report(
        self, options: Options, gpu: GPU | None = None, reader: Hashable = None, pause: float | None = None
    ) -> Answer | None:
        """The answer for one build, or None when `reader` has asked for another one meanwhile.

        gpu: whose limits to judge by (default: the GPU that stands for the target). reader: any key of the
        session; None never takes another's place. pause: seconds to wait before compiling (default: the service's).
        """
        started = time.monotonic()
        gpu = gpu or gpu_for(options.target)
        turn = _Turn()
        if reader is not None:
            older = self._latest.get(reader)
            self._latest[reader] = turn
            if older is not None:
                older.give_up()
        try:
            found, origin = self._known(options)
            if found is None:
                await turn.sleep(self.pause if pause is None else pause)
                found, origin = await self._obtain_or_stand_in(options, turn, started + self.patience)
            changes = None
            if isinstance(found, Report) and not launches(found, gpu):
                changes = await self._suggest(found, gpu, turn, started + self.patience)
            turn.check()
            return _answer(options, gpu, found, origin, changes, time.monotonic() - started)
        except _TakenOver:
            return None
        finally:
            if self._latest.get(reader) is turn:
                del self._latest[reader]

    def answer_now(self, options: Options, gpu: GPU | None = None) -> tuple[Answer | None, bool]:
        """What is known at once, if anything, and whether that is all that `report` would say.

        A tile that would not launch is answered without delay too; its advice is complete if every build that the
        search for advice asks about is known, and left out otherwise.
        """
        gpu = gpu or gpu_for(options.target)
        found, origin = self._known(options)
        if found is None:
            return None, False
        if not isinstance(found, Report) or launches(found, gpu):
            return _answer(options, gpu, found, origin, None, 0.0), True
        unknown = []

        def ask(changed: Options) -> Report | None:
            other, _ = self._known(changed)
            if other is None:
                unknown.append(changed)
            return other if isinstance(other, Report) else None

        changes = suggestions(found, gpu, ask)
        return _answer(options, gpu, found, origin, None if unknown else changes, 0.0), not unknown

    def close(self) -> None:
        """Ends the processes. Requests that still wait get a sentence."""
        self.pool.close()

    def _known(self, options: Options) -> tuple[Found | None, str]:
        found = self.table(options)
        if found is not None:
            return found, "table"
        report = self.store.get(options)
        if report is not None:
            return report, "cache"
        return self._refused.get(options), ""

    def _cannot_compile(self) -> bool:
        return self.command is COMMAND and triton_version() is None

    async def _obtain(self, options: Options, turn: _Turn) -> tuple[Found, str]:
        found, origin = self._known(options)
        if found is not None:
            return found, origin
        if self._cannot_compile():
            return MISSING, ""
        job = self.pool.submit(options)
        try:
            return await turn.wait(job.future), "compiled"
        finally:
            self.pool.leave(job)

    async def _obtain_or_stand_in(self, options: Options, turn: _Turn, until: float) -> tuple[Found, str]:
        """The build, or after `until` the table's report for the head size that d is padded to."""
        other = self.table(options.with_(d=padded_head(options.d)))
        if not isinstance(other, Report):
            return await self._obtain(options, turn)
        if self._cannot_compile():
            return other, "table"
        return await self._in_time(options, turn, until) or (other, "table")

    async def _in_time(self, options: Options, turn: _Turn, until: float) -> tuple[Found, str] | None:
        """`_obtain` until a time on the monotonic clock, or None; a slow build is not tried again for a while."""
        found, origin = self._known(options)
        if found is not None:
            return found, origin
        if time.monotonic() < self._slow.get(options, 0.0):
            return None
        try:
            return await asyncio.wait_for(self._obtain(options, turn), max(until - time.monotonic(), 0))
        except TimeoutError:
            _add(self._slow, options, time.monotonic() + RETRY)
            return None

    async def _suggest(
        self, report: Report, gpu: GPU, turn: _Turn, until: float
    ) -> tuple[Suggestion, ...] | None:
        """Changes that were found by `until`, on the monotonic clock; None where time was too short to say."""
        asking, complete = search(report, gpu), True
        try:
            wanted = next(asking)
            while True:
                found = await self._in_time(wanted, turn, until)
                complete &= found is not None
                report = found[0] if found else None
                wanted = asking.send(report if isinstance(report, Report) else None)
        except StopIteration as end:
            return end.value if complete or end.value else None

    def _settle(self, options: Options, outcome: dict) -> Found:
        """What waiters get for an outcome of the pool; keeps what is worth keeping."""
        if "report" in outcome:
            try:
                report = Report.from_record(outcome["report"])
            except (ValueError, TypeError) as error:
                return f"The compiler's worker sent something that is no report: {error}"
            self.store.put(report)
            return report
        if "refused" in outcome:
            return self._remember(options, outcome["refused"])
        if "late" in outcome:
            return self._remember(options, partial(late_sentence, options, outcome["late"]))
        if "ended" in outcome:
            return crash_sentence(options, outcome["ended"])
        if "broken" in outcome:
            return f"The compiler's worker could not be started: {outcome['broken']}"
        if "stopped" in outcome:
            return "This build was stopped, because the compiler service was closed."
        return outcome.get("failed", "The compiler's worker sent no answer.")

    def _remember(self, options: Options, found: Found) -> Found:
        """Keeps a refusal for this server's life, so that it is not tried over and over."""
        return _add(self._refused, options, found)


def _add(memory: dict, key, value):
    """Keeps a value, and the memory small: the oldest goes first."""
    if len(memory) >= MOST_KEPT:
        memory.pop(next(iter(memory)))
    memory[key] = value
    return value


def _answer(
    options: Options,
    gpu: GPU,
    found: Found,
    origin: str,
    changes: tuple[Suggestion, ...] | None,
    seconds: float,
) -> Answer:
    """An answer from what was found. changes: None where no advice is needed or none is known."""
    if not isinstance(found, Report):
        text = found if isinstance(found, str) else found(gpu)
        return Answer(options, gpu, None, "", None, (), text, seconds)
    said = sentence(found, gpu, changes) + _padded(options, found)
    return Answer(options, gpu, found, origin, launches(found, gpu), changes or (), said, seconds)


def _padded(options: Options, report: Report) -> str:
    """What to say, after a verdict, of a report that stands in for another head size."""
    if report.options.d == options.d:
        return ""
    return (
        f" (figures of d = {report.options.d}, to which the kernel pads d = {options.d}, as no build of its own "
        "was ready)"
    )


class _TakenOver(Exception):
    """The reader has asked for something else."""


class _Turn:
    """One request of a reader, on the event loop that made it."""

    def __init__(self):
        self.loop = asyncio.get_running_loop()
        self.over = self.loop.create_future()

    def give_up(self) -> None:
        """Tells the request that a newer one took its place."""
        self._set(self.over, None)

    def check(self) -> None:
        if self.over.done():
            raise _TakenOver

    async def sleep(self, seconds: float) -> None:
        await asyncio.wait([self.over], timeout=seconds)
        self.check()

    async def wait(self, future: Future) -> Found:
        """The future's result, unless the reader moves on first."""
        mine = self.loop.create_future()
        future.add_done_callback(lambda done: self._set(mine, done))
        await asyncio.wait([self.over, mine], return_when=asyncio.FIRST_COMPLETED)
        self.check()
        return mine.result().result()

    def _set(self, future: asyncio.Future, value) -> None:
        """Sets a future of this loop from any thread; a loop that has ended has nobody left to tell."""
        try:
            self.loop.call_soon_threadsafe(lambda: future.done() or future.set_result(value))
        except RuntimeError:
            if not self.loop.is_closed():
                raise


@cache
def shared_service() -> CompileService:
    """The one service of this server, made on first use and closed at exit."""
    service = CompileService()
    atexit.register(service.close)
    return service


def answer_now(options: Options, gpu: GPU | None = None) -> tuple[Answer | None, bool]:
    """`CompileService.answer_now` of the server's one service."""
    return shared_service().answer_now(options, gpu)


async def report(
    options: Options, gpu: GPU | None = None, reader: Hashable = None, pause: float | None = None
) -> Answer | None:
    """`CompileService.report` of the server's one service."""
    return await shared_service().report(options, gpu, reader, pause)
