"""Plate `tiles`: what a tile needs on the chip, what it costs when it does not fit, and the map of all tiles."""

from __future__ import annotations

import html
from dataclasses import replace

import param

from plates import controls, ladder, landscape, loop_orders, text, tile_bar
from plates.blocks import Blocks
from plates.cliff import Cliff
from plates.compile_panel import CompilePanel
from plates.landscape import Landscape
from plates.plate import Plate
from plates.roles import MODEL
from plates.tile_bar import Bar, Segment
from workshop import formulas, kernel_memory, kernel_tiles, residency, sram, traffic, units
from workshop.masks import ceil_div
from workshop.problem import LIMITS

STAGES = ("1", "2", "3", "4")
_NAMES = {"q": "Q", "o": "O", "k": "K", "v": "V", "p": "P", "s": "S", "statistics": "m, ℓ"}
_MOST = LIMITS["Br"][1]
_SLUGS = {"statistics": "ml", "p": "s"}


class View(param.Parameterized):
    """Whose working set is drawn, and what the map shows."""

    tile_view = param.Selector(
        default="teaching", objects=["teaching", "kernel"], doc="Where a tile's parts are kept."
    )
    tile_stages = param.Selector(default="2", objects=list(STAGES), doc="K,V tiles in flight, kernel view.")
    tile_colour = param.Selector(
        default="traffic", objects=["traffic", "time"], doc="What the map's colour shows."
    )


class Tiles(Plate):
    """Block sizes against the budget: working set, spill, and what they do to traffic."""

    slug = "tiles"
    name = "Tiles"
    uses = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"})
    scope = "Forward pass, one head, exact counts of a model. The spill too is modelled: a real kernel refuses instead."
    minutes = (5, 2)
    local_keys = ("tile_view", "tile_stages", "tile_colour")

    def own_state(self) -> View:
        return View()

    # Numbers --------------------------------------------------------------------------------------------

    def facts(self) -> dict:
        s = self.settings
        problem, tile, gpu = s.problem, s.tile, s.gpu_record
        words = text.labels(self.slug, s.lang)
        needs = sram.working_set(problem, tile)
        ledgers = {m: traffic.ledger(m, problem, tile, gpu) for m in ("standard", "tiled", "algorithm_1")}
        moved = {m: ledger.bytes(problem.dtype) for m, ledger in ledgers.items()}
        moved["spill"] = sram.spill_ledger(problem, tile).bytes(problem.dtype)
        visits = int(formulas.FORMULAS["spill"].inputs(problem, tile, gpu)["visits"])
        block_Br, block_Bc = traffic.algorithm_1_blocks(tile.M(problem), problem.d)
        cliff = sram.cliff(problem, tile)
        first = sram.working_set(problem, replace(tile, Br=min(block_Br, _MOST), Bc=min(block_Bc, _MOST)))
        facts = {
            "N": units.count(s.N),
            "d": s.d,
            "Br": units.count(s.Br),
            "Bc": units.count(s.Bc),
            "gpu": gpu.name,
            "dtype": s.dtype,
            "needs": tile_bar.amount(needs.total),
            "needs_bytes": units.exact_bytes(needs.total).replace(" ", "\u00a0"),
            "budget": tile_bar.amount(needs.budget),
            "budget_bytes": units.exact_bytes(needs.budget).replace(" ", "\u00a0"),
            "excess": tile_bar.amount(needs.spill_bytes),
            "room": tile_bar.amount(max(0, needs.budget - needs.total)),
            "visits": units.count(visits),
            "passes": units.count(ceil_div(s.N, s.Br)),
            "A1_Br": units.count(block_Br),
            "A1_Bc": units.count(block_Bc),
            "A1_passes": units.count(ceil_div(s.N, block_Bc)),
            "A1_back": units.count(ceil_div(s.N, block_Bc) - 1),
            "A1_note": words["A1_fits" if first.fits else "A1_spills"].format(
                A1_excess=tile_bar.amount(first.spill_bytes).replace(" ", "\u00a0")
            ),
            "half_d": units.number(s.d / 2),
            "crossing": "" if cliff.crossing is None else f"Br = {units.count(cliff.crossing)}",
            "lowest": f"Br = {units.count(cliff.lowest)}",
            "wins": cliff.wins,
            "smem_block": tile_bar.amount(gpu.smem_block),
            "smem_sm": tile_bar.amount(gpu.smem_sm),
            "gap": tile_bar.amount(gpu.smem_sm - gpu.smem_block),
            "_": (problem, tile, gpu, needs, moved, words),
        }
        for model, value in moved.items():
            facts[model] = units.bytes_(value)
            facts[f"{model}_gain"] = units.ratio(moved["standard"] / value)
            facts[f"{model}_loss"] = units.ratio(value / moved["standard"])
        facts["verdict"] = self._verdict(facts, needs, moved, words)
        unbroken = text.unbroken(facts)
        facts["bar_text"] = words["bar_text"].format(**unbroken)
        facts["cliff_text"] = words["cliff_text"].format(**unbroken)
        facts["map_text"] = words["map_text"].format(**unbroken)
        kernel = self.local.tile_view == "kernel"
        facts["blocks"] = Blocks(
            lambda: {
                "verdict": self._sentence(facts["verdict"], needs.fits),
                "bar": tile_bar.bars(self._kernel_bars() if kernel else self._teaching_bars()),
                "kernel": self._kernel_verdict() if kernel else "",
                "ladder": ladder.html(problem, tile, gpu, "tiled", s.lang),
                "formulas": self._formulas(),
                "orders": self._orders(facts, words),
                "pins": self._pins_table(words),
            }
        )
        return facts

    @staticmethod
    def _sentence(body: str, good: bool) -> str:
        return f'<p class="verdict" role="status" style="--c:var(--{"chip" if good else "over"})">{body}</p>'

    @staticmethod
    def _verdict(facts: dict, needs, moved: dict, words: dict) -> str:
        ends = "better" if moved["spill"] <= moved["standard"] else "worse"
        said = text.unbroken(facts)
        # where it spills, the number leads the readouts above
        cost = said["spill"]
        if needs.fits:
            cost = text.inline_readout("traffic-with-spill", moved["spill"], cost)
        return words[f"{'fits' if needs.fits else 'spills'}_{ends}"].format(**said, cost=cost)

    def readouts(self, facts: dict) -> list[text.Readout]:
        _, _, _, needs, moved, words = facts["_"]
        state = "chip" if needs.fits else "over"
        fits = "yes" if needs.fits else "no"
        exact = "{} <small>({})</small>"
        label = {
            name: exact.format(words[f"readout_{name}"], facts[f"{name}_bytes"])
            for name in ("needs", "budget")
        }
        truth = text.Readout(
            "traffic-with-spill",
            moved["spill"],
            facts["spill"],
            words["readout_with_spill"].format(**text.unbroken(facts)),
            "over",
        )
        return [
            *([] if needs.fits else [truth]),
            text.Readout("working-set", needs.total, facts["needs"], label["needs"], state),
            text.Readout("budget", needs.budget, facts["budget"], label["budget"]),
            text.Readout("spill-bytes", needs.spill_bytes, facts["excess"], words["readout_spill"], state),
            text.Readout("tile-fits", fits, words[fits], words["readout_fits"], state),
            text.Readout(
                "traffic-tiled", moved["tiled"], facts["tiled"], words["readout_tiled"], MODEL["tiled"]
            ),
        ]

    def _teaching_bars(self) -> list[Bar]:
        s, words = self.settings, text.labels(self.slug, self.settings.lang)
        needs = sram.working_set(s.problem, s.tile)
        segments = self._segments(needs.parts(), words)
        return [
            Bar(words["bar_teaching"], segments, needs.budget, words["bar_budget"], words["bar_over"]),
        ]

    def _kernel_bars(self) -> list[Bar]:
        s, words, gpu = self.settings, text.labels(self.slug, self.settings.lang), self.settings.gpu_record
        view = sram.kernel_view(s.problem, s.tile, int(self.local.tile_stages), gpu)
        stages = {"stages": view.stages, "gpu": gpu.name}
        parts = {name: getattr(view, name) for name in ("q", "k", "v", "p") if getattr(view, name)}
        shared = self._segments(parts, words, view.buffers)
        registers = self._segments({name: getattr(view, name) for name in ("o", "s", "statistics")}, words)
        return [
            Bar(
                words["bar_shared"].format(**stages), shared, gpu.smem_block, words["bar_block"].format(**stages),
                words["bar_refused"],
            ),
            Bar(
                words["bar_registers"], registers, gpu.regfile_sm, words["bar_file"], words["bar_over_file"],
            ),
        ]  # fmt: skip

    @staticmethod
    def _segments(parts: dict[str, int], words: dict, buffers: int = 1) -> tuple[Segment, ...]:
        turns = not buffers  # K and V take turns in one buffer

        def name(slug: str) -> str:
            if turns and slug == "k":
                return f"{_NAMES['k']} / {_NAMES['v']}"
            return f"{buffers} × {_NAMES[slug]}" if buffers > 1 and slug in ("k", "v") else _NAMES[slug]

        return tuple(
            Segment(
                _SLUGS.get(slug, slug),
                name(slug),
                size,
                words["part_turns" if turns and slug == "k" else f"part_{slug}"],
            )
            for slug, size in parts.items()
        )

    def _kernel_verdict(self) -> str:
        s, words, gpu = self.settings, text.labels(self.slug, self.settings.lang), self.settings.gpu_record
        stages = int(self.local.tile_stages)
        view = sram.kernel_view(s.problem, s.tile, stages, gpu)
        found = residency.resident_blocks(gpu, s.tile, s.d, s.dtype, stages)
        wants = found.registers + found.spilled
        facts = {
            "shared": text.inline_readout("kernel-shared", view.shared, tile_bar.amount(view.shared)),
            "limit": tile_bar.amount(gpu.smem_block),
            "gpu": gpu.name,
            "wants": text.inline_readout("kernel-registers", wants, units.count(wants)),
            "threads": units.count(found.warps * 32),
            "per_sm": found.per_sm,
            "limiter": words.get(f"limiter_{found.limiter.replace(' ', '_')}", ""),
            "most": residency.MOST_REGISTERS,
            "extra": units.count(found.spilled),
            "columns": units.count(found.tensor_columns),
            "most_columns": units.count(residency.TENSOR_COLUMNS),
        }
        starts = "launches" if found.fits else "refuses_columns" if view.launches(gpu) else "refuses"
        out = [words[f"kernel_{starts}"].format(**facts)]
        out.append(words["kernel_spills" if found.spilled else "kernel_registers"].format(**facts))
        if found.fits:
            out.append(
                words["kernel_resident_one" if found.per_sm == 1 else "kernel_resident"].format(**facts)
            )
        padded = kernel_memory.padded_head(s.d)
        if padded != s.d:
            out.append(words["kernel_padded"].format(padded=padded))
        if view.buffers < stages:
            out.append(words["kernel_turns" if not view.buffers else "kernel_buffers"])
        return self._sentence(" ".join(out), found.fits and not found.spilled)

    def _formulas(self) -> str:
        shown = (("working-set", "chip"), ("traffic-tiled", MODEL["tiled"]), ("spill", "over"))
        return "".join(self.formula(formulas.FORMULAS[slug], role) for slug, role in shown)

    @staticmethod
    def _orders(facts: dict, words: dict) -> str:
        shown = text.unbroken(facts)

        def order(name: str, role: str, outside: bool) -> loop_orders.Order:
            terms = ("stays", "streams", "costs", "total")
            lines = tuple((words[f"order_{t}"], words[f"order_{name}_{t}"].format(**shown)) for t in terms)
            return loop_orders.Order(words[f"order_{name}"], role, outside, lines)

        return loop_orders.orders(
            [order("queries", MODEL["tiled"], True), order("keys", MODEL["algorithm_1"], False)]
        )

    def _pins(self, words: dict) -> list[tuple[str, int, int, str]]:
        """(name, Br, Bc, source) of the tiles pinned on the map."""
        s = self.settings
        Br, Bc = traffic.algorithm_1_blocks(s.tile.M(s.problem), s.d)
        least, most = s.param["Bc"].bounds
        found = [
            (tile.name, tile.Br, tile.Bc, self.said(tile.source))
            for tile in kernel_tiles.published(s.problem, s.gpu_record)
        ]
        if least <= Bc <= most:
            found.append((words["pin_algorithm_1"], int(Br), int(Bc), words["pin_algorithm_1_source"]))
        return found

    def _pins_table(self, words: dict) -> str:
        s = self.settings
        pins = [(words["map_you"], s.Br, s.Bc, ""), *self._pins(words)]
        rows = []
        for name, Br, Bc, source in pins:
            tile = replace(s.tile, Br=Br, Bc=Bc)
            needs = sram.working_set(s.problem, tile)
            moved = sram.spill_ledger(s.problem, tile).bytes(s.dtype)
            over = "" if needs.fits else f' <small style="color:var(--over)">{words["pin_spills"]}</small>'
            rows.append(
                [
                    f'<a href="?Br={Br}&amp;Bc={Bc}" style="white-space:nowrap">{html.escape(name)}</a>',
                    f"{units.count(Br)} × {units.count(Bc)}",
                    tile_bar.amount(needs.total) + over,
                    tile_bar.amount(sram.kernel_view(s.problem, tile).shared),
                    units.bytes_(moved),
                    f"<small>{html.escape(source)}</small>",
                ]
            )
        columns = [("tile", False), ("size", True), ("needs", True), ("shared", True), ("bytes", True)]
        columns += [("source", False)]
        return text.table([(words[f"column_{name}"], number) for name, number in columns], rows, chosen=0)

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        words = text.labels(self.slug, self.settings.lang)
        yield from self._working_set(words)
        yield from self._cost(words)
        self._compile = CompilePanel(self.local, "tile_stages", self.settings.lang)
        yield self._compile.view
        yield from self._map(words)
        yield self.prose("loops")
        yield self._styled("orders")
        yield self.prose("order")

    def _styled(self, name: str):
        return self.styled(name, "tiles.css")

    def _working_set(self, words: dict):
        yield self._styled("verdict")
        yield controls.options(
            self.local,
            "tile_view",
            self.words("view"),
            {words[f"view_{v}"]: v for v in ("teaching", "kernel")},
        )
        self._stages = controls.options(
            self.local, "tile_stages", self.words("stages"), {stage: stage for stage in STAGES}
        )
        yield self._stages
        yield self.figure(self._styled("bar"), "barfigure", "model", description="bar_text")
        yield self._styled("kernel")
        yield self.styled("ladder", "ladder.css")

    def _cost(self, words: dict):
        yield self.prose("why")
        self._cliff = Cliff(self.themed, words)
        yield self.figure(self._cliff.fig, "clifffigure", "model", description="cliff_text")
        yield self.block("formulas")

    def _map(self, words: dict):
        yield self.prose("map")
        yield controls.options(
            self.local,
            "tile_colour",
            self.words("colour"),
            {words[f"colour_{c}"]: c for c in ("traffic", "time")},
        )
        self._landscape = Landscape(self.themed, words, self._choose)
        yield self._styled("key")
        yield self.figure(self._landscape.fig, "mapfigure", "model", description="map_text")
        yield self.prose("pinned")
        yield self.block("pins")

    def _choose(self, Br: int, Bc: int) -> None:
        self.settings.param.update(Br=Br, Bc=Bc)

    def patch(self, facts: dict) -> None:
        problem, tile, gpu, *_ = facts["_"]
        self._stages.visible = self.local.tile_view == "kernel"
        self._cliff.patch(problem, tile)
        self._compile.show_known(problem, tile, gpu)
        facts["blocks"]["key"] = self._texts["key"].object  # the map's, which waits with it
        self._write(["verdict", "bar", "kernel", "ladder"])

    def settle(self, facts: dict) -> None:
        problem, tile, gpu, _, _, words = facts["_"]
        self._compile.show(problem, tile, gpu)
        pins = [(name, Br, Bc) for name, Br, Bc, _ in self._pins(words)]
        self._landscape.patch(problem, tile, gpu, self.local.tile_colour, pins)
        form = units.seconds if self.local.tile_colour == "time" else units.bytes_
        low, high = self._landscape.ends()
        what = words[f"key_{self.local.tile_colour}"]
        facts["blocks"]["key"] = landscape.key(form(low), form(high), what)
        self._write(["key"])
