"""Plate `memory`: what falls and what does not in training, and the backward pass by recomputation."""

from __future__ import annotations

from functools import lru_cache

import param

from plates import controls, text
from plates.agreement import Agreement
from plates.blocks import Blocks
from plates.drawn import sent
from plates.language import Labels
from plates.loop import Loop, listing, opening, play
from plates.memory_figures import Multiples
from plates.memory_tables import figure_2, kept_table, memory_table, pass_table, report_table
from plates.plate import Plate
from workshop import backward, paper_figures, training_memory, training_traffic, units

_SHAPES = {"4x4": (4, 4), "8x4": (8, 4), "4x8": (4, 8)}
_LONGEST_CHECK, _MOST_BLOCKS = 256, 16


class Choices(param.Parameterized):
    """Where FlashAttention's traffic is counted, and the blocks of the small play."""

    boundary = param.Selector(
        default="bound", objects=list(training_traffic.BOUNDARIES), doc="Boundary of flash's traffic."
    )
    blocks = param.Selector(default="4x4", objects=list(_SHAPES), doc="Br x Bc of the step-through.")


@lru_cache(maxsize=32)
def check(N: int, d: int, Br: int, Bc: int, causal: bool) -> backward.Report:
    """Return the gradient check at the reader's tile, on a sequence short enough to be quick."""
    return backward.report(min(N, _LONGEST_CHECK, _MOST_BLOCKS * min(Br, Bc)), d, Br, Bc, causal=causal)


def _range(shares: list[float], words: Labels) -> str:
    """Return the least and the largest of some shares as text, or the one that they all are."""
    low, high = (units.percent(share) for share in (min(shares), max(shares)))
    return low if low == high else words["between"].format(low=low, high=high)


class Memory(Plate):
    """Training memory, traffic, FLOPs and time against N; the backward loop step by step; the paper's figures."""

    slug = "memory"
    name = "Memory"
    controls = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"})
    uses = controls | {"step"}
    scope = "Forward and backward pass of one layer; modelled, but for the gradients."
    minutes = (4, 0)
    local_keys = ("boundary", "blocks")

    def own_state(self) -> Choices:
        return Choices()

    def __init__(self, settings) -> None:
        super().__init__(settings)
        self._patching = False
        self.local.param.watch(self._on_other_blocks, "blocks")

    def _on_other_blocks(self, *_) -> None:
        self.settings.step = None

    def _play(self) -> dict:
        s = self.settings
        return play(*_SHAPES[self.local.blocks], s.causal, s.dtype, s.lang)

    # Numbers --------------------------------------------------------------------------------------------

    def facts(self) -> dict:
        s = self.settings
        problem, tile, gpu = s.problem, s.tile, s.gpu_record
        words = text.labels(self.slug, s.lang)
        flash = self.local.boundary
        kept = {m: training_memory.kept(m, problem) for m in training_memory.MODELS}
        peak = {m: training_memory.peak(m, problem) for m in training_memory.MODELS}
        models = {"standard": "standard", "flash": flash}
        ledgers = {k: training_traffic.both(m, problem, tile) for k, m in models.items()}
        scale = problem.heads * problem.element_bytes
        moved = {k: ledger.total * scale for k, ledger in ledgers.items()}
        times = {k: training_traffic.time(m, problem, tile, gpu) for k, m in models.items()}
        seconds = {k: sum(part.lower for part in parts) for k, parts in times.items()}
        work = {k: sum(part.flops for part in parts) for k, parts in times.items()}
        report = check(problem.N, problem.d, tile.Br, tile.Bc, problem.causal)
        recompute = training_traffic.recompute_seconds(problem, gpu)
        read = training_traffic.read_seconds(problem, gpu)
        even = training_traffic.cheapest_head(problem, gpu)
        scores = problem.heads * problem.N**2
        asks = [
            make("tiled", problem, tile) for make in (training_traffic.forward, training_traffic.backward)
        ]
        crossings = sum(line.tensor == "P" for line in ledgers["standard"].lines)
        loop = self._play()
        figure_2_rows = paper_figures.FIGURE_2
        ours = {
            m: training_traffic.both(m, *paper_figures.figure_2_setting()[:2])
            for m in training_traffic.MODELS
        }
        paper = paper_figures.figure_2_setting()[0]
        paper_scale = paper.heads * paper.element_bytes
        share = [
            [
                training_memory.peak(m, paper_figures.memory_setting(N)).total / paper_figures.MIB / row[k]
                for k, m in enumerate(training_memory.MODELS)
            ]
            for N, row in paper_figures.MEMORY.items()
        ]
        facts = {
            "N": units.count(problem.N),
            "d": problem.d,
            "Br": units.count(tile.Br),
            "Bc": units.count(tile.Bc),
            "heads": units.count(problem.heads),
            "dtype": problem.dtype,
            "gpu": gpu.name,
            "boundary": words[f"boundary_{flash}"],
            "kept_standard": units.bytes_(kept["standard"].total),
            "kept_flash": units.bytes_(kept["flash"].total),
            "kept_ratio": units.ratio(kept["standard"].total / kept["flash"].total),
            "peak_standard": units.bytes_(peak["standard"].total),
            "peak_flash": units.bytes_(peak["flash"].total),
            "kept_P": units.bytes_(kept["standard"].of("P")),
            "kept_own": units.bytes_(kept["flash"].of("O", "logsumexp")),
            "moved_standard": units.bytes_(moved["standard"]),
            "moved_flash": units.bytes_(moved["flash"]),
            "moved_ratio": units.ratio(moved["standard"] / moved["flash"]),
            "moved_falls": moved["flash"] < moved["standard"],
            "moved_more": units.ratio(moved["flash"] / moved["standard"]),
            "once": flash == "compulsory",
            "asks_ahead": units.bytes_(asks[0].bytes(problem.dtype)),
            "asks_back": units.bytes_(asks[1].bytes(problem.dtype)),
            "work_standard": units.flops(work["standard"]),
            "work_flash": units.flops(work["flash"]),
            "work_ratio": units.ratio(work["flash"] / work["standard"]),
            "work_rises": work["flash"] >= work["standard"],
            "causal": problem.causal,
            "seconds_standard": units.seconds(seconds["standard"]),
            "seconds_flash": units.seconds(seconds["flash"]),
            "seconds_ratio": units.ratio(seconds["standard"] / seconds["flash"]),
            "recompute": units.seconds(recompute),
            "read": units.seconds(read),
            "cheaper": units.ratio(read / recompute if read >= recompute else recompute / read),
            "verdict": words["recompute_wins" if recompute < read else "recompute_loses"].format(
                ratio=units.ratio(max(read, recompute) / min(read, recompute))
            ),
            "even": units.number(even),
            "ridge": units.intensity(gpu.ridge(problem.dtype)),
            "recompute_layer": units.seconds(scores * recompute),
            "read_layer": units.seconds(scores * read),
            "P_crossings": crossings,
            "touched_layer": units.seconds(crossings * scores * read),
            "statistic_bytes": training_memory.STATISTIC_BYTES,
            "element_bytes": problem.element_bytes,
            "rate_note": self.said(gpu.rate(problem.dtype).note or ""),
            "check_N": units.count(report.N),
            "check_tiles": units.count(report.visited),
            "small_N": loop["N"],
            "small_d": loop["d"],
            "paper_ours": units.bytes_(ours["standard"].total * paper_scale),
            "paper_low": units.bytes_(ours["compulsory"].total * paper_scale),
            "paper_high": units.bytes_(ours["tiled"].total * paper_scale),
            "paper_flash": units.bytes_(figure_2_rows[0].bytes[1]),
            "paper_first": units.bytes_(figure_2_rows[0].bytes[0]),
            "paper_later": units.bytes_(figure_2_rows[1].bytes[0]),
            "paper_square": units.bytes_(paper.score_bytes),
            "paper_work": units.ratio(figure_2_rows[0].flop[1] / figure_2_rows[0].flop[0]),
            "share_standard": _range([row[0] for row in share], words),
            "share_flash": _range([row[1] for row in share], words),
            "_": (problem, tile, gpu, kept, ledgers, moved, work, seconds, report, words),
        }
        facts["multiples_text"] = words["multiples_text"].format(**facts)
        facts["loop_text"] = loop["steps"][self._step(loop)]["say"]
        facts["blocks"] = Blocks(
            lambda: {
                "kept": kept_table(kept, words, self.said),
                "passes": pass_table(times, words),
                "ledgers": "".join(
                    text.ledger(
                        ledger,
                        problem.element_bytes,
                        words[f"ledger_{k}"].format(boundary=facts["boundary"]),
                        self.settings.lang,
                    )
                    for k, ledger in ledgers.items()
                ),
                "gradients": report_table(report, words),
                "figure2": figure_2(words),
                "papermemory": memory_table(words),
            }
        )
        return facts

    def readouts(self, facts: dict) -> list[text.Readout]:
        _, _, _, kept, _, moved, work, seconds, _, words = facts["_"]
        return [
            text.Readout(
                "training-memory-standard",
                kept["standard"].total,
                facts["kept_standard"],
                words["readout_standard"],
                "standard",
            ),
            text.Readout(
                "training-memory-flash",
                kept["flash"].total,
                facts["kept_flash"],
                words["readout_flash"],
                "flash",
            ),
            text.Readout(
                "training-traffic-ratio",
                moved["standard"] / moved["flash"],
                facts["moved_ratio"],
                words["readout_traffic"],
            ),
            text.Readout(
                "training-flops-ratio",
                work["flash"] / work["standard"],
                facts["work_ratio"],
                words["readout_work"],
            ),
            text.Readout(
                "training-time-ratio",
                seconds["standard"] / seconds["flash"],
                facts["seconds_ratio"],
                words["readout_time"],
            ),
        ]

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        words = text.labels(self.slug, self.settings.lang)
        self._multiples = Multiples(self.themed, words)
        yield controls.options(
            self.local,
            "boundary",
            self.words("count"),
            {words[f"boundary_{b}"]: b for b in training_traffic.BOUNDARIES},
        )
        yield self.figure(self._multiples.view, "figure", "model", description="multiples_text")
        yield self.prose("why")
        yield self.block("kept")
        yield self.prose("cheaper")
        yield self.prose("loop")
        yield controls.options(
            self.local,
            "blocks",
            self.words("shape"),
            {words["shape"].format(Br=Br, Bc=Bc): slug for slug, (Br, Bc) in _SHAPES.items()},
        )
        self._loop = Loop(words={**words, "code": listing()}, sizing_mode="stretch_width", margin=0)
        self._agreement = Agreement((self._loop, ("step",)))
        self._loop.param.watch(self._on_step, "step")
        yield self.figure(self._loop, "loopfigure", "computed", description="loop_text")
        yield self.prose("check")
        yield self.block("gradients")
        yield self.prose("ledger")
        yield self.block("passes")
        yield self.block("ledgers")
        yield self.prose("paper")
        yield self.block("figure2")
        yield self.prose("papermemory_why")
        yield self.block("papermemory")

    def _on_step(self, event) -> None:
        if not self._patching:
            self._agreement.heard()
            self.settings.step = max(0, event.new)

    def last_step(self) -> int:
        return len(self._play()["steps"]) - 1

    def _step(self, loop: dict) -> int:
        chosen = self.settings.step
        return opening(loop) if chosen is None else min(chosen, len(loop["steps"]) - 1)

    def patch(self, facts: dict) -> None:
        problem, tile, gpu, _, _, _, _, _, _, _ = facts["_"]
        self._multiples.patch(problem, tile, gpu, self.local.boundary)

    def settle(self, facts: dict) -> None:
        loop = self._play()
        step = self._step(loop)
        self._patching = True
        drawn = sent(loop)
        if self._loop.data != drawn:
            self._loop.param.update(data=drawn, step=step)
        elif self._loop.step != step:
            self._agreement.told()
            self._loop.step = step
        self._patching = False
