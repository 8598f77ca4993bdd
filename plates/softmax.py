"""Plate `softmax`: one small attention, step by step, and why shrinking what was summed makes tiling legal."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import panel as pn
import param

from plates import controls, exactness, text
from plates.agreement import Agreement
from plates.blocks import Blocks
from plates.drawn import sent
from plates.plate import Plate
from plates.stepper import Stepper
from workshop import formulas, narration, online_softmax, score_patterns, traffic, units
from workshop.ledger import Ledger
from workshop.problem import Problem, Tile
from workshop.steps import Trace, Visit
from workshop.trace import ORDERS, trace
from workshop.trace_record import record

_ROUND = {
    "sN": [1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64],
    "sd": [8, 16, 32, 64],
    "sBr": [4, 8, 12, 16, 24, 32, 48, 64],
    "sBc": [4, 8, 12, 16, 24, 32, 48, 64],
}
_PLAY = ("sN", "sd", "sBr", "sBc", "pattern", "order")
_TILE_LINES = ("maximum", "weights", "update", "store")


class Small(exactness.Choices):
    """The small attention on show. The page's own N and tile are far too large to see single numbers in."""

    sN = param.Integer(32, bounds=(1, score_patterns.LONGEST), doc="Queries and keys.")
    sd = param.Integer(8, bounds=(8, 64), doc="Head size.")
    sBr = param.Integer(8, bounds=(4, score_patterns.LONGEST), doc="Rows of a Q block.")
    sBc = param.Integer(8, bounds=(4, score_patterns.LONGEST), doc="Rows of a K, V block.")
    pattern = param.Selector(
        default="random", objects=list(score_patterns.PATTERNS), doc="Shape of the scores."
    )
    order = param.Selector(default=ORDERS[0], objects=list(ORDERS), doc="Which block stays on the chip.")


def pairs(lines: str) -> dict[str, str]:
    """Return ``key: text`` lines as a dict; a written ``\\n`` is a line break."""
    found = (line.split(": ", 1) for line in lines.splitlines() if ": " in line)
    return {key.strip(): words.strip().replace("\\n", "\n") for key, words in found}


@lru_cache(maxsize=32)
def _words(lang: str) -> dict[str, str]:
    """Labels in ``lang``, English for those that it lacks."""
    return {**pairs(text.sections("softmax")["words"]), **pairs(text.sections("softmax", lang)["words"])}


@lru_cache
def _phrases(lang: str) -> dict[str, str]:
    """The templates of the narration in ``lang``, English for those that it lacks."""
    return {**narration.ENGLISH, **pairs(text.sections("softmax", lang).get("sentences", ""))}


@lru_cache(maxsize=16)
def _run(pattern, N, d, Br, Bc, causal, order, dtype) -> Trace:
    """The trace of a small attention."""
    return trace(score_patterns.make(pattern, N, d), Br, Bc, causal=causal, order=order, dtype=dtype)


@lru_cache(maxsize=16)
def _play(lang, *arguments) -> str:
    """The record of the trace of ``arguments`` with the sentences of ``lang``, as it is sent."""
    return sent(record(_run(*arguments), _phrases(lang)))


def _ledger(order: str, problem: Problem, tile: Tile) -> Ledger:
    """The ledger that the play's meters end at."""
    if order == "query-outer":
        return traffic.ledger("tiled", problem, tile, training=True)
    return traffic.ledger("algorithm_1", problem, tile, blocks=(tile.Br, tile.Bc))


@lru_cache(maxsize=1)
def _exercise() -> dict[str, str]:
    """The numbers of the paper exercise: scores 1, 0 in one tile and 5, 2 in the next."""
    tiles = np.array([[1.0, 0.0]]), np.array([[5.0, 2.0]])
    first = online_softmax.absorb(online_softmax.empty(1, 1), tiles[0], np.ones((2, 1)))
    second = online_softmax.absorb(first.after, tiles[1], np.ones((2, 1)))
    scores = np.concatenate(tiles, axis=1)
    numbers = {
        "first": first.after.l,
        "alpha": second.alpha,
        "shrunk": second.alpha * first.after.l,
        "added": second.added_l,
        "last": second.after.l,
        "whole": np.exp(scores - scores.max()).sum(axis=1),
    }
    return {f"yours_{name}": units.number(float(value[0]), 4) for name, value in numbers.items()}


class Softmax(Plate):
    """The online softmax as a step-through, the derivation of its rule, and both loop orders."""

    slug = "softmax"
    name = "Softmax"
    uses = frozenset({"causal", "dtype", "step"})
    controls = frozenset({"causal", "dtype"})
    scope = "Forward pass, one small head, every number computed in float64; bytes as the chosen format would take."
    minutes = (8, 3)
    local_keys = (*_PLAY, *exactness.KEYS)

    def own_state(self) -> Small:
        return Small()

    def __init__(self, settings) -> None:
        super().__init__(settings)
        self._patching = False
        self._loaded: tuple | None = None
        self._lab = exactness.Exactness(self)
        self.local.param.watch(self._on_other_play, list(_PLAY))
        settings.param.watch(self._on_other_play, ["causal", "step"])

    def _on_other_play(self, *events) -> None:
        """Another play opens on its own best step, unless the same change names one."""
        names = {event.name for event in events}
        if "step" not in names:
            self.settings.step = None

    # Numbers --------------------------------------------------------------------------------------------

    def _arguments(self) -> tuple:
        small, s = self.local, self.settings
        return small.pattern, small.sN, small.sd, small.sBr, small.sBc, s.causal, small.order, s.dtype

    def last_step(self) -> int:
        return len(_run(*self._arguments()).steps) - 1

    def _step(self, run: Trace) -> int:
        chosen = self.settings.step
        return run.highlight if chosen is None else min(chosen, len(run.steps) - 1)

    @staticmethod
    def _visit(run: Trace, number: int) -> Visit:
        """The tile that the formulas speak of: the one on show once α is known, else the last one finished."""
        step = run.steps[number]
        if step.line in _TILE_LINES and step.visit >= 0:
            return run.visits[step.visit]
        if step.done:
            return run.visits[step.done - 1]
        return run.visits[run.steps[run.highlight].visit]

    def facts(self) -> dict:
        small, s, words = self.local, self.settings, _words(self.settings.lang)
        run = _run(*self._arguments())
        number = self._step(run)
        visit = self._visit(run, number)
        row = run.focus_rows[visit.i]
        problem = Problem(N=small.sN, d=small.sd, H=1, B=1, dtype=s.dtype, causal=s.causal)
        tile = Tile(Br=small.sBr, Bc=small.sBc)
        ledgers = {order: _ledger(order, problem, tile) for order in ORDERS}
        standard = traffic.ledger("standard", problem, tile).bytes(s.dtype)
        chip = max(sum(step.resident.values()) for step in run.steps) * run.element_bytes
        blind = score_patterns.make("masked", 12, 8).mask.any(axis=1)
        lab = self._lab.facts()
        return (
            _exercise()
            | lab
            | {
                "N": small.sN,
                "d": small.sd,
                "Br": small.sBr,
                "Bc": small.sBc,
                "dtype": s.dtype,
                "row": visit.row + row + 1,
                "keys": words["keys"].format(first=visit.key + 1, last=visit.key + visit.shape[1]),
                "example": units.percent(float(online_softmax.rescale(np.float64(1.0), np.float64(5.0)))),
                "extreme": narration.score(score_patterns.EXTREME),
                "huge": units.number(score_patterns.HUGE),
                "blind_row": int(np.flatnonzero(~blind)[0]) + 1,
                "error": units.number(run.error_max, 2),
                "description": narration.narrate(run, number, _phrases(s.lang)),
                "blocks": Blocks(
                    lambda: (
                        lab["lab_blocks"]
                        | {
                            "rescale": self._rescale(visit, row, words),
                            "crossings": self._orders(ledgers, problem, standard, words),
                            "ledger": text.ledger(
                                ledgers[small.order], problem.element_bytes, words["ledger"], s.lang
                            ),
                        }
                    )
                ),
                "_": (run, number, ledgers[small.order].bytes(s.dtype), standard, chip, words),
            }
        )

    def readouts(self, facts: dict) -> list[text.Readout]:
        run, _, moved, standard, chip, words = facts["_"]
        visited, total = len(run.visits), run.kinds.size
        tiles = words["tiles_of"].format(visited=units.count(visited), total=units.count(total))
        return [
            text.Readout("visited-tiles", visited, tiles, words["readout_tiles"]),
            text.Readout("softmax-traffic", moved, units.bytes_(moved), words["readout_flash"], "flash"),
            text.Readout(
                "softmax-standard", standard, units.bytes_(standard), words["readout_standard"], "standard"
            ),
            text.Readout("softmax-chip", chip, units.bytes_(chip), words["readout_chip"], "chip"),
        ]

    def _rescale(self, visit: Visit, row: int, words: dict) -> str:
        """The three lines of the rule with the numbers of one row of one tile."""
        update = visit.update
        m, m_new, alpha = (float(x[row]) for x in (update.before.m, update.after.m, update.alpha))
        first = np.isneginf(m)
        numbers = {
            "softmax-rescale": {"m": m, "m_new": m_new},
            "softmax-sum": {
                "alpha": alpha,
                "l": float(update.before.l[row]),
                "p": float(update.added_l[row]),
            },
            "softmax-output": {
                "alpha": alpha,
                "o": float(update.before.o[row, 0]),
                "pv": float(update.added_o[row, 0]),
            },
        }
        blocks = []
        for slug, values in numbers.items():
            record = formulas.FORMULAS[slug]
            unseen = rf"\text{{{words['first_tile']}}}" if slug == "softmax-rescale" and first else None
            shown = unseen or record.with_values(**values)
            role = "ink" if slug == "softmax-rescale" else "flash"
            blocks.append(self.law(record, shown, self.said(record.plain), role))
        return "".join(blocks)

    @staticmethod
    def _orders(ledgers: dict[str, Ledger], problem: Problem, standard: int, words: dict) -> str:
        columns = [(words["column_order"], False)]
        columns += [(words[f"column_{name}"], True) for name in ("read", "written", "total", "share")]
        rows = []
        for order, ledger in ledgers.items():
            parts = [ledger.reads, ledger.writes, ledger.total]
            cells = [units.bytes_(part * problem.element_bytes) for part in parts]
            share = units.percent(ledger.total * problem.element_bytes / standard)
            rows.append([words[f"order_{order}"], *cells, share])
        return text.table(columns, rows)

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        words = _words(self.settings.lang)
        numbers = []
        for name, values in _ROUND.items():
            symbol, _, meaning = words[f"control_{name}"].partition("|")
            numbers.append(
                controls.NumberControl(self.local, name, symbol, meaning, values, self.settings.lang, box=64)
            )
        patterns = {words[f"pattern_{slug}"]: slug for slug in score_patterns.PATTERNS}
        orders = {words[f"order_{order}"]: order for order in ORDERS}
        yield controls.side_by_side(*numbers)
        yield pn.FlexBox(
            controls.choice(self.local, "pattern", words["control_pattern"], patterns, width=215),
            controls.options(self.local, "order", words["control_order"], orders, width=340),
            align_items="center",
            gap="0 28px",
        )
        self._player = Stepper(words=words, sizing_mode="stretch_width", margin=0)
        self._agreement = Agreement((self._player, ("step",)))
        self._player.param.watch(self._on_player_step, "step")
        yield self.figure(self._player, "figure", "computed", description="description")
        yield self.prose("rule")
        yield self.block("rescale")
        yield self.prose("limits")
        yield self.prose("yours")
        yield self.prose("orders")
        yield self.block("crossings")
        yield self.block("ledger")
        yield self.prose("exact")
        yield from self._lab.body()

    def _on_player_step(self, event) -> None:
        if not self._patching:
            self._agreement.heard()
            self.settings.step = max(0, event.new)

    def settle(self, facts: dict) -> None:
        self._lab.patch(facts)
        number = facts["_"][1]
        arguments = self._arguments()
        changes = {}
        if arguments != self._loaded:
            changes["trace"] = _play(self.settings.lang, *arguments)
            self._loaded = arguments
        if self._player.step != number:
            self._agreement.told()
            changes["step"] = number
        self._patching = True
        try:
            self._player.param.update(**changes)
        finally:
            self._patching = False
