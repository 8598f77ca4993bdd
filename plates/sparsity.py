"""Plate `sparsity`: what a mask leaves of the tiles, what it costs a tiled kernel, and what it costs without tiles."""

from __future__ import annotations

from functools import lru_cache

import panel as pn
import param

from plates import controls, sparsity_tables, text
from plates.blocks import Blocks
from plates.drawn import sent
from plates.mask_view import MaskView, drawing
from plates.plate import Plate
from plates.sparsity_figures import Waste, shares
from workshop import block_masks, mask_picture, results, roofline, units
from workshop.block_masks import PATTERNS, Counts
from workshop.mask_shapes import Banded, Gridded
from workshop.problem import LIMITS, Problem, Tile

_LONGEST = LIMITS["N"][1]
OPENING = block_masks.painting_code(block_masks.documents())
_NEEDS = {
    "window": ("window",),
    "global": ("window", "tokens"),
    "strided": ("window", "stride"),
    "blocks": ("density",),
}
_ROUND = {
    "window": [1, *(m << k for k in range(4, 20) for m in (2, 3)), 100, 1000, 10_000, 100_000, _LONGEST],
    "tokens": [0, 1, 4, 16, 64, 100, 128, 256, 512, 1024, 2048, 4096],
    "stride": [2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096],
    "density": [0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100],
}


class Painted(param.Parameterized):
    """The mask on show."""

    pattern = param.Selector(default="window", objects=list(PATTERNS), doc="Kind of mask.")
    window = param.Integer(
        1000, bounds=(1, _LONGEST), doc="A key is seen from less than so many tokens away."
    )
    tokens = param.Integer(100, bounds=(0, 4096), doc="Global tokens at the start.")
    stride = param.Integer(128, bounds=(2, 4096), doc="Every which key is seen by all.")
    density = param.Integer(25, bounds=(0, 100), doc="Share of random blocks, per cent.")
    paint = param.String(OPENING, regex=r"^[A-Za-z0-9_-]{43}$", doc="The reader's painting.")


@lru_cache(maxsize=64)
def _mask(pattern, N, causal, window, tokens, stride, density, paint) -> tuple[Banded | Gridded, int]:
    """The mask and its live scores."""
    mask = block_masks.make(
        pattern,
        N,
        causal=causal,
        window=window,
        tokens=tokens,
        stride=stride,
        density=density / 100,
        cells=block_masks.painting(paint),
    )
    return mask, block_masks.live(mask)


@lru_cache(maxsize=512)
def _count(Br: int, Bc: int, *arguments) -> Counts:
    mask, live = _mask(*arguments)
    return block_masks.count(mask, Br, Bc, live)


class Sparsity(Plate):
    """Masks under a grid of tiles: visited, skipped, half wasted; and what that is worth."""

    slug = "sparsity"
    name = "Sparsity"
    controls = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"})
    uses = controls | {"theme"}
    scope = "Forward pass; tiles and bytes of one head, time of a layer; exact counts of a model, nothing measured."
    minutes = (3, 0)
    local_keys = ("pattern", "window", "tokens", "stride", "density", "paint")

    def own_state(self) -> Painted:
        return Painted()

    # Numbers --------------------------------------------------------------------------------------------

    def _arguments(self) -> tuple:
        own, s = self.local, self.settings
        needed = _NEEDS.get(own.pattern, ())
        # what a pattern does not use is left at its default, so that the caches see one mask as one
        values = [
            getattr(own, name) if name in needed else own.param[name].default
            for name in ("window", "tokens", "stride", "density")
        ]
        paint = own.paint if own.pattern == "painted" else OPENING
        return (own.pattern, s.N, s.causal and own.pattern != "causal", *values, paint)

    def facts(self) -> dict:
        s, words = self.settings, text.labels(self.slug, self.settings.lang)
        problem, tile, gpu = s.problem, s.tile, s.gpu_record
        plain = Problem(N=s.N, d=s.d, H=s.H, B=s.B, dtype=s.dtype)
        arguments = self._arguments()
        mask, live = _mask(*arguments)
        counts = _count(s.Br, s.Bc, *arguments)
        dense = block_masks.count(block_masks.dense(s.N), s.Br, s.Bc, s.N**2)
        ledgers = {
            name: block_masks.ledger(found, plain) for name, found in (("dense", dense), ("mask", counts))
        }
        times = {
            "dense": roofline.time_of(ledgers["dense"], block_masks.flops(dense, plain), plain, gpu),
            "mask": roofline.time_of(ledgers["mask"], block_masks.flops(counts, plain), plain, gpu),
        }
        left = {
            "live": live / s.N**2,
            "computed": counts.scores / dense.scores,
            "bytes": ledgers["mask"].total / ledgers["dense"].total,
            "time": times["mask"].lower / times["dense"].lower,
        }
        corner = mask_picture.corner(mask, s.Br, s.Bc)
        gathered = block_masks.gather(counts, plain)
        gather_bytes = sum(item.bytes for item in gathered)
        mask_bytes = ledgers["mask"].bytes(s.dtype)
        limit = block_masks.gather_limit(problem, tile)
        row = s.d * problem.element_bytes
        facts = {
            "N": units.count(s.N),
            "d": s.d,
            "Br": units.count(s.Br),
            "Bc": units.count(s.Bc),
            "dtype": s.dtype,
            "pattern": words[f"pattern_{self.local.pattern}"].lower(),
            "visited": units.count(counts.visited),
            "total": units.count(counts.total),
            "partial": units.count(counts.partial),
            "skipped": units.count(counts.skipped),
            "share": units.percent(counts.share),
            "live_share": units.percent(left["live"]),
            "wasted": units.percent(counts.wasted),
            "live_keys": units.number(live / s.N),
            **self._drawn(words, corner, s.tile, counts.total, s.N),
            "limit": units.number(limit),
            "gather": units.bytes_(gather_bytes),
            "gather_tiled": units.ratio(gather_bytes / mask_bytes),
            "gather_more": "more" if gather_bytes >= mask_bytes else "less",
            "gather_dense": units.ratio(gather_bytes / ledgers["dense"].bytes(s.dtype)),
            "sector": block_masks.SECTOR,
            "catch_up": words["between"].format(*(units.count(n) for n in block_masks.CATCH_UP)),
            "arena": units.number(results.LONG_RANGE[0].speedup, 2),
            "arena_sparse": units.number(results.LONG_RANGE[1].speedup, 2),
            "row": units.exact_bytes(row),
            "row_sectors": units.number(block_masks.sectors(s.d, problem.element_bytes)),
            "fetched": units.percent(
                block_masks.sectors(s.d, problem.element_bytes) * block_masks.SECTOR / row
            ),
            "_": (mask, counts, dense, ledgers, times, left, corner, words, plain),
        }
        spoken = {f"left_{name}": units.percent(value) for name, value in left.items()}
        facts["description"] = words["description"].format(**facts, **spoken)
        facts["waste_description"] = words["waste_description"].format(**facts)
        facts["blocks"] = Blocks(
            lambda: {
                "formula": self._formula(counts, plain, tile, words),
                "ways": sparsity_tables.ways(counts, plain, tile, gpu, times, gather_bytes, words),
                "ledger": text.ledger(ledgers["mask"], problem.element_bytes, words["ledger"], s.lang),
                "gathered": sparsity_tables.gathered(gathered, gather_bytes, words, s.lang, self.said),
            }
        )
        return facts

    @staticmethod
    def _drawn(words, corner: mask_picture.Corner, tile: Tile, total: int, N: int) -> dict[str, str]:
        """What part of the mask is drawn, ``drawn``, and which tiles the key beside the picture counts, ``counted``."""
        shown = len(corner.rows) * len(corner.tiles)
        part = (
            "all" if corner.mask.N == N and shown == total else "corner" if corner.mask.N == N else "scaled"
        )
        q0, q1, k0, k1 = (units.count(value) for value in corner.tokens(tile.Br, tile.Bc))
        said = {"q0": q0, "q1": q1, "k0": k0, "k1": k1, "n": units.count(corner.mask.N), "N": units.count(N)}
        said |= {"shown": units.count(shown), "total": units.count(total)}
        return {name: words[f"{name}_{part}"].format(**said) for name in ("drawn", "counted")}

    def readouts(self, facts: dict) -> list[text.Readout]:
        _, counts, _, _, _, left, _, words, _ = facts["_"]
        times = {name: 1 / left[name] if left[name] else 1.0 for name in ("bytes", "time")}
        return [
            text.Readout(
                "visited-tiles", counts.visited, facts["visited"], words["readout_visited"], "flash"
            ),
            text.Readout("total-tiles", counts.total, facts["total"], words["readout_total"], "hbm"),
            text.Readout("mask-waste", counts.wasted, facts["wasted"], words["readout_waste"], "over"),
            text.Readout(
                "mask-traffic-ratio",
                times["bytes"],
                units.ratio(times["bytes"]),
                words["readout_bytes"],
                "hbm",
            ),
            text.Readout("mask-time-ratio", times["time"], units.ratio(times["time"]), words["readout_time"]),
        ]

    def _formula(self, counts: Counts, problem: Problem, tile: Tile, words: dict) -> str:
        record = block_masks.BLOCK_SPARSE
        values = {"N": problem.N, "d": problem.d, "M": tile.M(problem), "sparsity": counts.share}
        return self.law(record, record.with_values(**values), words["formula"], "flash")

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        words = text.labels(self.slug, self.settings.lang)
        kinds = {words[f"pattern_{name}"]: name for name in PATTERNS}
        self._numbers = {}
        for name, values in _ROUND.items():
            symbol, _, meaning = words[f"control_{name}"].partition("|")
            control = controls.NumberControl(
                self.local, name, symbol, meaning, sorted(set(values)), self.settings.lang
            )
            self._numbers[name] = pn.Column(control, width=248, margin=0)
        kind = controls.options(self.local, "pattern", words["control_pattern"], kinds, width=712)
        yield pn.FlexBox(
            kind, *self._numbers.values(), gap="0 20px", align_items="center", margin=(2, 0, 6, 0)
        )
        self._view_of_mask = MaskView(
            code=self.local.paint, opening=OPENING, words=words, sizing_mode="stretch_width", margin=0
        )
        self._view_of_mask.param.watch(self._on_paint, "code")
        yield self.figure(self._view_of_mask, "figure", "model", description="description")
        yield self.block("formula")
        yield self.prose("why")
        yield self.block("ledger")
        yield self.prose("waste")
        self._waste = Waste(self.themed, words)
        yield self.figure(self._waste.fig, "waste_figure", "model", description="waste_description")
        yield self.prose("gather")
        yield self.block("ways")
        yield self.block("gathered")
        yield self.prose("exact")

    def _on_paint(self, event) -> None:
        if event.new != self.local.paint:
            self.local.paint = event.new

    def patch(self, facts: dict) -> None:
        s = self.settings
        *_, left, corner, words, _ = facts["_"]
        needed = _NEEDS.get(self.local.pattern, ())
        for name, column in self._numbers.items():
            column.visible = name in needed
        picture = drawing(corner, s.Br, s.Bc) | {
            "painted": self.local.pattern == "painted",
            "theme": s.theme,
            "counted": facts["counted"],
            "shares": shares(left, words),
        }
        changes = {"picture": sent(picture)}
        if self._view_of_mask.code != self.local.paint:
            changes["code"] = self.local.paint
        self._view_of_mask.param.update(**changes)
        arguments = self._arguments()
        self._waste.patch(lambda side: _count(side, side, *arguments), s.N, left["live"])
