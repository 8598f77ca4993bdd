"""The kernels beside torch's backends on this GPU: prints tables of Markdown, never fails.

    python -m tests.gpu.bench_kernels [--rounds 3] [--part forward,training,teaching,short,calls]

Device time by `workshop.kernels.timing.gpu_spread` (caches cold, compilation and launch left out), bfloat16, 32 heads.
In each round ours and the others take turns, so that a ratio is of one run; the range is over the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from workshop.kernels import tma
from workshop.kernels.fast import last_choice
from workshop.kernels.plan import TEACHING_TILES, Case
from workshop.kernels.providers import make_call, tensors
from workshop.kernels.timing import Flush, gpu_spread

DEVICE = torch.device("cuda:0")
#: Causal, and the word for it in a table.
MASKS = ((False, "no"), (True, "yes"))
#: Tiles of the teaching kernel that are worth a round: the plan's, and larger and smaller ones.
TILES = ((128, 128, 8, 3), (128, 64, 8, 3), (64, 64, 4, 3))


def medians(calls: dict, flush: Flush, rounds: int) -> dict[str, list[float]]:
    """Seconds of each call in each round, the calls taking turns."""
    for call in calls.values():
        call()
    out = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            out[name].append(gpu_spread(call, flush, budget=0.06).p50)
    return out


def call_of(case: Case):
    q, k, v, grad = tensors(case, DEVICE)
    return make_call(case, q, k, v, grad)


def ratio(ours: list[float], theirs: list[float]) -> str:
    """Time of theirs over ours, lowest to highest round."""
    each = sorted(t / o for o, t in zip(ours, theirs, strict=True))
    low, high = f"{each[0]:.2f}", f"{each[-1]:.2f}"
    return low if low == high else f"{low} to {high}"


def rate(case: Case, seconds: list[float]) -> str:
    return f"{case.flops() / statistics.median(seconds) / 1e12:.0f}"


def taught(tile: tuple[int, int, int, int], **shape) -> Case:
    """The teaching kernel with a tile (Br, Bc, warps, stages)."""
    return Case("teaching", **shape, **dict(zip(("Br", "Bc", "warps", "stages"), tile, strict=True)))


def forward(flush, rounds):
    print(
        "| d | N | causal | fast | cuDNN | FA-2 | ratio to cuDNN | path |\n|---:|---:|---|---:|---:|---:|---|---|"
    )
    shapes = [(d, N) for N in (512, 1024, 2048, 4096, 16384) for d in (64, 128)] + [(256, 4096)]
    for d, N in shapes:
        for causal, word in MASKS:
            case = Case("fast", N=N, d=d, causal=causal)
            fast = call_of(case)
            fast()
            choice = last_choice()
            names = {"cuDNN": "sdpa-cudnn", "FA-2": "sdpa-flash"}
            calls = {name: call_of(Case(p, N=N, d=d, causal=causal)) for name, p in names.items()}
            s = medians({"fast": fast} | calls, flush, rounds)
            rates = " | ".join(rate(case, s[name]) for name in ("fast", "cuDNN", "FA-2"))
            path = f"{choice.path} {choice.Br} x {choice.Bc}"
            print(f"| {d} | {N} | {word} | {rates} | {ratio(s['fast'], s['cuDNN'])} | {path} |", flush=True)


def training(flush, rounds):
    print("| d | causal | fast | teaching | FA-2 | cuDNN | fast to FA-2 | fast to cuDNN |")
    print("|---:|---|---:|---:|---:|---:|---|---|")
    for d in (64, 128):
        for causal, word in MASKS:
            shape = {"direction": "forward+backward", "N": 4096, "d": d, "causal": causal}
            case = Case("fast", **shape)
            calls = {
                "fast": call_of(case),
                "teaching": call_of(taught(TEACHING_TILES[d], **shape)),
                "FA-2": call_of(Case("sdpa-flash", **shape)),
                "cuDNN": call_of(Case("sdpa-cudnn", **shape)),
            }
            s = medians(calls, flush, rounds)
            rates = " | ".join(rate(case, s[name]) for name in calls)
            ratios = f"{ratio(s['fast'], s['FA-2'])} | {ratio(s['fast'], s['cuDNN'])}"
            print(f"| {d} | {word} | {rates} | {ratios} |", flush=True)


def teaching(flush, rounds):
    print("| d | N | causal | tile | teaching | cuDNN | ratio |\n|---:|---:|---|---|---:|---:|---|")
    for d in (64, 128):
        for N in (4096, 16384):
            for causal, word in MASKS:
                case = Case("sdpa-cudnn", N=N, d=d, causal=causal)
                tiles = dict.fromkeys((TEACHING_TILES[d], *TILES))
                calls = {tile: call_of(taught(tile, N=N, d=d, causal=causal)) for tile in tiles}
                s = medians({"cuDNN": call_of(case)} | calls, flush, rounds)
                best = min(calls, key=lambda tile: statistics.median(s[tile]))
                name = f"{best[0]} x {best[1]}, {best[2]} warps, {best[3]} stages"
                rates = f"{rate(case, s[best])} | {rate(case, s['cuDNN'])}"
                print(f"| {d} | {N} | {word} | {name} | {rates} | {ratio(s[best], s['cuDNN'])} |", flush=True)


def short(flush, rounds):
    print("| d | empty kernel | moving the tiles only | fast | cuDNN | 1.3 times as fast as cuDNN would be |")
    print("|---:|---:|---:|---:|---:|---:|")
    for d in (64, 128):
        calls = _short_calls(d)
        s = {name: 1e6 * statistics.median(found) for name, found in medians(calls, flush, rounds).items()}
        figures = " | ".join(f"{s[name]:.1f} µs" for name in calls)
        print(f"| {d} | {figures} | {s['cuDNN'] / 1.3:.1f} µs |", flush=True)


def _short_calls(d: int, N: int = 512, rows: int = 128, keys: int = 64, stages: int = 5) -> dict:
    """N = 512 with kernels that do less and less of the work."""
    from .bare_kernels import moves_only, nothing

    case = Case("fast", N=N, d=d)
    q, k, v, _ = tensors(case, DEVICE)
    o = torch.empty_like(q)
    sides = ((q, rows), (k, keys), (v, keys), (o, rows))
    arguments = [tma.gluon_descriptor(x, side, d) for x, side in sides]
    grid = (N // rows * case.heads,)
    one = torch.zeros(1, device=DEVICE)

    def moves():
        moves_only[grid](*arguments, N // rows, N, rows, keys, d, stages, num_warps=4)

    moves()
    assert torch.equal(o, q)
    return {
        "empty": lambda: nothing[grid](one, num_warps=4),
        "moves": moves,
        "fast": make_call(case, q, k, v),
        "cuDNN": make_call(Case("sdpa-cudnn", N=N, d=d), q, k, v),
    }


def calls(_flush, rounds):
    """N = 512 without a cold cache: calls back to back, the host included, and the same captured in a graph."""
    print(
        "| d | clock | fast | cuDNN, backend chosen once | ratio | cuDNN, backend chosen at each call | ratio |"
    )
    print("|---:|---|---:|---:|---|---:|---|")
    for d in (64, 128):
        q, k, v, _ = tensors(Case("fast", N=512, d=d), DEVICE)
        fast, each = (make_call(Case(name, N=512, d=d), q, k, v) for name in ("fast", "sdpa-cudnn"))

        def once(q=q, k=k, v=v):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

        looped, captured = {"fast": [], "once": [], "each": []}, {"fast": [], "once": []}
        for _ in range(2 * rounds + 1):
            looped["fast"].append(_loop(fast))
            looped["each"].append(_loop(each))
            captured["fast"].append(_captured(fast))
            with torch.no_grad(), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                looped["once"].append(_loop(once))
                captured["once"].append(_captured(once))
        rows = {"a loop in Python": looped, "a graph": captured}
        for clock, found in rows.items():
            cells = [f"{1e6 * statistics.median(found['fast']):.1f} µs"]
            for name in ("once", "each"):
                times = found.get(name)
                cells += (
                    [f"{1e6 * statistics.median(times):.1f} µs", ratio(found["fast"], times)]
                    if times
                    else ["", ""]
                )
            print(f"| {d} | {clock} | {' | '.join(cells)} |", flush=True)


def _loop(call, count: int = 1000) -> float:
    """Seconds a call, the host's work included."""
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    before = time.perf_counter()
    for _ in range(count):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - before) / count


def _captured(call, count: int = 50, replays: int = 9) -> float:
    """Seconds a call of `count` captured ones, launched at once: what is left when the host costs nothing."""
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        call()
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(count):
                call()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = []
    for _ in range(replays):
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e-3 / count)
    return statistics.median(times)


PARTS = {part.__name__: part for part in (forward, training, teaching, short, calls)}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", default=",".join(PARTS))
    args = parser.parse_args()
    flush = Flush(DEVICE)
    for name in args.part.split(","):
        print(f"\n## {name}\n", flush=True)
        PARTS[name](flush, args.rounds)


if __name__ == "__main__":
    main()
