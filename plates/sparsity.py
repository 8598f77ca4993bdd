"""Plate `sparsity`: what a mask leaves of the tiles, what it costs a tiled kernel, and what it costs without tiles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import panel as pn
import param
from bokeh.models import ColumnDataSource

from plates import controls, figures, text
from plates.mask_view import MaskView
from plates.plate import Plate
from workshop import block_masks, mask_picture, masks, results, roofline, units
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
SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)  # square tiles on the chart of waste
SHARES = ("live", "computed", "bytes", "time")
SHARE_ROLE = {"live": "muted", "computed": "flash", "bytes": "chip", "time": "ink"}


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
    uses = frozenset(
        {"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu", "bandwidth", "tflops", "theme"}
    )
    controls = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"})
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
        shares = {
            "live": live / s.N**2,
            "computed": counts.scores / dense.scores,
            "bytes": ledgers["mask"].total / ledgers["dense"].total,
            "time": times["mask"].lower / times["dense"].lower,
        }
        corner = mask_picture.corner(mask, s.Br, s.Bc)
        q0, q1, k0, k1 = corner.tokens(s.Br, s.Bc)
        gathered = block_masks.gather(counts, plain)
        gather_bytes = sum(item.bytes for item in gathered)
        mask_bytes = ledgers["mask"].bytes(s.dtype)
        limit = block_masks.gather_limit(problem, tile)
        row = s.d * problem.element_bytes
        facts = {
            "N": units.count(s.N),
            "d": s.d,
            "Br": s.Br,
            "Bc": s.Bc,
            "dtype": s.dtype,
            "pattern": words[f"pattern_{self.local.pattern}"].lower(),
            "visited": units.count(counts.visited),
            "total": units.count(counts.total),
            "partial": units.count(counts.partial),
            "skipped": units.count(counts.skipped),
            "share": units.percent(counts.share),
            "live_share": units.percent(shares["live"]),
            "wasted": units.percent(counts.wasted),
            "live_keys": units.number(live / s.N),
            "drawn": self._drawn(words, (q0, q1, k0, k1), isinstance(mask, Gridded), corner.mask.N),
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
            "_": (mask, counts, dense, ledgers, times, shares, corner, words, plain),
        }
        facts["description"] = words["description"].format(**facts)
        facts["shares_description"] = words["shares_description"].format(
            **{name: units.percent(value) for name, value in shares.items()}
        )
        facts["waste_description"] = words["waste_description"].format(**facts)
        facts["blocks"] = {
            "formula": self._formula(counts, plain, tile, words),
            "ways": self._ways(counts, plain, tile, gpu, times, ledgers, gather_bytes, words),
            "ledger": text.ledger(ledgers["mask"], problem.element_bytes, words["ledger"], s.lang),
            "gathered": self._gathered(gathered, gather_bytes, words),
        }
        return facts

    @staticmethod
    def _drawn(words, tokens, gridded: bool, drawn: int) -> str:
        q0, q1, k0, k1 = (units.count(value) for value in tokens)
        if gridded:
            return words["drawn_whole"].format(n=units.count(drawn))
        return words["drawn_corner"].format(q0=q0, q1=q1, k0=k0, k1=k1)

    def readouts(self, facts: dict) -> list[text.Readout]:
        _, counts, _, _, _, shares, _, words, _ = facts["_"]
        times = {name: 1 / shares[name] if shares[name] else 1.0 for name in ("bytes", "time")}
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
                "chip",
            ),
            text.Readout("mask-time-ratio", times["time"], units.ratio(times["time"]), words["readout_time"]),
        ]

    def _formula(self, counts: Counts, problem: Problem, tile: Tile, words: dict) -> str:
        record = block_masks.BLOCK_SPARSE
        values = {"N": problem.N, "d": problem.d, "M": tile.M(problem), "sparsity": counts.share}
        return self.law(record, record.with_values(**values), words["formula"], "flash")

    @staticmethod
    def _ways(counts, problem, tile, gpu, times, ledgers, gather_bytes, words) -> str:
        """Four ways to compute the masked attention: FLOPs and bytes a head, time a layer."""
        rate, heads = gpu.rate(problem.dtype).flops, problem.heads
        standard = roofline.time("standard", problem, tile, gpu)
        pairs = 4 * problem.d * counts.live * heads
        gather_s = max(pairs / rate, gather_bytes * heads / gpu.bandwidth)
        found = {
            "standard": (standard.flops, standard.bytes, standard.lower),
            "dense": (times["dense"].flops, times["dense"].bytes, times["dense"].lower),
            "mask": (times["mask"].flops, times["mask"].bytes, times["mask"].lower),
            "gather": (pairs, gather_bytes * heads, gather_s),
        }
        role = {"standard": "standard", "dense": "ink", "mask": "flash", "gather": "over"}
        rows = []
        for name, (work, moved, seconds) in found.items():
            cells = [units.flops(work // heads), units.bytes_(moved // heads)]
            shown = text.inline_readout(f"mask-time-{name}", seconds, units.seconds(seconds))
            label = f'<b style="color:var(--{role[name]})">{words[f"way_{name}"]}</b>'
            rows.append([label, *cells, shown, words[f"note_{name}"]])
        columns = [(words["column_way"], False)]
        columns += [(words[f"column_{name}"], True) for name in ("flops", "bytes", "time")]
        return text.table([*columns, (words["column_note"], False)], rows)

    def _gathered(self, lines, total: int, words: dict) -> str:
        named = text.labels("page", self.settings.lang, "ledger")
        rows = [
            [self.said(t.tensor), named[t.direction], units.bytes_(t.bytes), self.said(t.why)] for t in lines
        ]
        columns = [(named[name], name == "bytes") for name in ("tensor", "direction", "bytes", "why")]
        body = text.table(columns, rows, [named["total"], "", units.bytes_(total), ""])
        return f"<details><summary>{words['gather_ledger']}</summary>{body}</details>"

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
            self._numbers[name] = pn.Column(control, width=300, margin=(0, 22, 0, 0))
        yield controls.options(self.local, "pattern", words["control_pattern"], kinds)
        yield pn.FlexBox(*self._numbers.values(), gap="0 10px", margin=(2, 0, 6, 0))
        self._view_of_mask = MaskView(
            code=self.local.paint, opening=OPENING, words=words, sizing_mode="stretch_width", margin=0
        )
        self._view_of_mask.param.watch(self._on_paint, "code")
        yield self.figure(self._view_of_mask, "figure", "model", description="description")
        yield self.figure(self._shares(words), "shares", "model", description="shares_description")
        yield self.block("formula")
        yield self.prose("why")
        yield self.block("ledger")
        yield self.prose("waste")
        yield self.figure(self._waste(words), "waste_figure", "model", description="waste_description")
        yield self.prose("gather")
        yield self.block("ways")
        yield self.block("gathered")
        yield self.prose("exact")

    def _on_paint(self, event) -> None:
        if event.new != self.local.paint:
            self.local.paint = event.new

    def _shares(self, words: dict):
        """Four shares of the dense run as bars."""
        fig = figures.chart(
            self.themed,
            x=(0, 1.16),
            y=(-0.6, len(SHARES) - 0.4),
            x_label=words["shares_axis"],
            height=210,
            min_border_left=4,
        )
        figures.ticks(fig.xaxis[0], [0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
        fig.yaxis.visible = False
        fig.ygrid.visible = False
        self._bars, self._bar_labels = {}, {}
        for at, name in enumerate(reversed(SHARES)):
            source = ColumnDataSource({"y": [at - 0.16], "right": [0.0]})
            bar = fig.hbar(y="y", right="right", left=0, height=0.3, source=source, line_color=None)
            self.themed.colour(bar.glyph, fill_color=SHARE_ROLE[name])
            self._bars[name] = source
            self._bar_labels[name] = figures.label(
                self.themed, fig, "", SHARE_ROLE[name], x=0, y=at + 0.05, text_font_size="14px", bold=True
            )
        return fig

    def _waste(self, words: dict):
        """Scores computed against the side of a square tile, and the floor that the mask sets."""
        fig = figures.chart(
            self.themed,
            x=(SIZES[0], SIZES[-1]),
            y=(0, 1),
            x_label=words["waste_axis"],
            x_log=True,
            height=300,
        )
        figures.ticks(fig.xaxis[0], SIZES[::2], units.count)
        figures.label_zone(fig, SIZES[-1], 130)
        self._curve = ColumnDataSource({"side": [], "share": [], "text": []})
        self._floor = ColumnDataSource({"side": [], "share": []})
        floor = fig.line("side", "share", source=self._floor, line_width=2.5, line_dash=[6, 4])
        self.themed.colour(floor.glyph, line_color="muted")
        curve = fig.line("side", "share", source=self._curve, line_width=3)
        dots = fig.scatter("side", "share", source=self._curve, size=9, line_width=0)
        for item in (curve, dots):
            self.themed.colour(item.glyph, line_color="flash")
        self.themed.colour(dots.glyph, fill_color="flash")
        self._area = fig.varea(
            "side",
            "low",
            "share",
            source=ColumnDataSource({"side": [], "low": [], "share": []}),
            fill_alpha=0.13,
        )
        self.themed.colour(self._area.glyph, fill_color="over")
        self._waste_fig = fig
        self._ends = {
            name: figures.label(
                self.themed,
                fig,
                words[f"waste_{name}"],
                role,
                x=SIZES[-1],
                x_offset=8,
                text_baseline="middle",
            )
            for name, role in (("computed", "flash"), ("live", "muted"))
        }
        figures.hover(
            fig,
            [dots],
            '<div style="font:14px system-ui;padding:2px 4px"><b>@side × @side</b><br>@text</div>',
        )
        return fig

    def patch(self, facts: dict) -> None:
        s = self.settings
        *_, shares, corner, words, _ = facts["_"]
        needed = _NEEDS.get(self.local.pattern, ())
        for name, column in self._numbers.items():
            column.visible = name in needed
        live = mask_picture.tile_rows(corner, s.Br, s.Bc)
        kinds = block_masks.tile_kinds(corner.mask, s.Br, s.Bc, corner.rows, corner.tiles)
        q0, q1, k0, k1 = corner.tokens(s.Br, s.Bc)
        picture = {
            "q0": q0,
            "q1": q1,
            "k0": k0,
            "k1": k1,
            "Br": s.Br,
            "Bc": s.Bc,
            "live": live,
            "kinds": kinds.tolist(),
            "counts": [int((kinds == kind).sum()) for kind in (masks.SKIPPED, masks.PARTIAL, masks.FULL)],
            "painted": self.local.pattern == "painted",
            "theme": s.theme,
            **mask_picture.outlines(corner, s.Br, s.Bc),
        }
        changes = {"picture": picture}
        if self._view_of_mask.code != self.local.paint:
            changes["code"] = self.local.paint
        self._view_of_mask.param.update(**changes)
        for name in SHARES:
            self._bars[name].data = {"y": self._bars[name].data["y"], "right": [shares[name]]}
            self._bar_labels[name].text = words.pair(words[f"share_{name}"], units.percent(shares[name]))
        self._patch_waste(shares["live"])

    def _patch_waste(self, floor: float) -> None:
        arguments = self._arguments()
        side = np.array(SIZES)
        found = [_count(size, size, *arguments) for size in SIZES]
        share = np.array([counts.scores / self.settings.N**2 for counts in found])
        low, high = [floor] * len(SIZES), max(float(share.max()), floor, 1e-9)
        self._curve.data = {
            "side": side,
            "share": share,
            "text": [
                f"{units.percent(v)} / {units.percent(c.wasted)}" for v, c in zip(share, found, strict=True)
            ],
        }
        self._floor.data = {"side": side, "share": low}
        self._area.data_source.data = {"side": side, "low": low, "share": share}
        top = high * 1.12
        self._waste_fig.y_range.start, self._waste_fig.y_range.end = 0, top
        step = 10.0 ** np.floor(np.log10(top))
        step = step / 5 if top / step < 2 else step / 2 if top / step < 5 else step
        figures.ticks(
            self._waste_fig.yaxis[0], np.arange(0, top, step), figures.round_text(lambda v: units.percent(v))
        )
        placed = figures.spread([float(share[-1]), floor], top * 0.09)
        for name, y in zip(("computed", "live"), placed, strict=True):
            self._ends[name].y = y
