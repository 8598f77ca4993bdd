"""Readouts, tables, bits and sentences of the exactness lab, as HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping

from plates import text
from plates.roles import MODEL
from workshop import units
from workshop.breakage import LONG_KEYS, Outcome
from workshop.last_bits import Bits, Written
from workshop.number_formats import FORMATS
from workshop.precision import FACTOR, Comparison

_ERROR = 2  # digits of an error that say anything
_DIGITS = {"float64": 17, "float32": 9, "fp16": 5, "bf16": 4}  # enough to tell neighbours apart


class Tables:
    """Makes the blocks for one choice. ``words``: labels; ``small``: the plate's own state."""

    def __init__(self, words: Mapping[str, str], small, patterns: tuple[str, ...]) -> None:
        self.words, self.small, self._patterns = words, small, patterns

    def _error(self, value: float) -> str:
        if math.isnan(value):
            return self.words["no_number"]
        return self.words["infinite"] if math.isinf(value) else units.number(value, _ERROR)

    def _rule(self, found: Comparison) -> tuple[str, str, str]:
        """(value, text, role) of the rule."""
        if not found.fits:
            return "outside", self.words["rule_outside"], "muted"
        if found.yardstick:
            return "yardstick", self.words["rule_yardstick"], "muted"
        if found.holds:
            return "holds", self.words["rule_holds"], "chip"
        return "fails", self.words["rule_fails"], "over"

    def readouts(self, found: Comparison) -> list[text.Readout]:
        """The errors in the chosen format, what the rule allows, and whether it holds."""

        def item(name: str, value: float, role: str) -> text.Readout:
            label = self.words[f"readout_{name}"].format(format=self.words[f"format_{found.format}"])
            if not found.fits:
                return text.Readout(f"lab-{name}", "outside", "–", label, role)
            return text.Readout(f"lab-{name}", value, units.number(value, _ERROR), label, role)

        value, said, role = self._rule(found)
        label = self.words["readout_rule"]
        if found.fits and not found.yardstick and found.limit > FACTOR * found.full:
            label = self.words["readout_floor"]
        elif found.fits and not found.yardstick:
            label = self.words["readout_ratio"].format(
                ratio=units.ratio(found.tiled / found.full), factor=FACTOR
            )
        return [
            item("error-full", found.full, "standard"),
            item("error-tiled", found.tiled, MODEL["tiled"]),
            *([] if found.yardstick else [item("limit", found.limit, "ink")]),
            text.Readout("lab-rule", value, said, label, role),
        ]

    def legend(self) -> str:
        """What the marks of the chart are."""
        marks = [("standard", "circle"), (MODEL["tiled"], "square"), ("ink", "stroke")]
        names = ["mark_standard", "mark_tiled", "mark_limit"]
        if self.small.labBreak != "none":
            marks.append(("over", "cross"))
            names.append("mark_broken")
        said = {"broken": self.words[f"break_{self.small.labBreak}"], "factor": FACTOR}
        items = "".join(
            f'<li style="--c:var(--{role})"><i class="{shape}" aria-hidden="true"></i>'
            f"{self.words[name].format(**said)}</li>"
            for (role, shape), name in zip(marks, names, strict=True)
        )
        return f'<ul class="marks">{items}</ul>'

    def _outside(self, shown: str) -> str:
        """The scores do not fit the format, as a sentence."""
        return self.words["sentence"].format(text=self.words["outside"].format(format=shown))

    def description(self, errors: Mapping[str, tuple[Comparison, Comparison]]) -> str:
        """The chart in words."""
        rows = []
        for name, (sound, wrong) in errors.items():
            shown = self.words[f"format_{name}"]
            if not sound.fits:
                rows.append(self._outside(shown))
                continue
            numbers = {"full": self._error(sound.full), "tiled": self._error(sound.tiled)}
            rows.append(self.words["spoken"].format(format=shown, **numbers))
            if self.small.labBreak != "none":
                rows.append(self.words["spoken_broken"].format(error=self._error(wrong.tiled)))
        return " ".join(rows)

    def figures(
        self,
        errors: Mapping[str, tuple[Comparison, Comparison]],
        theirs: Mapping[str, Mapping[str, float]] | None,
        state: str,
    ) -> str:
        """The errors as a table, with PyTorch's own beside them, or a line that says why they are not there."""
        columns = [(self.words["column_format"], False)]
        names = ["standard", "tiled", "limit"] + (["eager", "fused"] if theirs is not None else [])
        columns += [(self.words[f"column_{name}"], True) for name in names] + [
            (self.words["column_rule"], False)
        ]
        rows = []
        for name, (sound, _) in errors.items():
            cells = [sound.full, sound.tiled, sound.limit]
            shown = [self._error(x) if sound.fits else "–" for x in cells]
            if sound.yardstick:
                shown[2] = "–"
            if theirs is not None:
                shown += [self._error(theirs[name][n]) if name in theirs else "–" for n in ("eager", "fused")]
            rows.append([self.words[f"format_{name}"], *shown, self._rule(sound)[1]])
        chosen = list(errors).index(self.small.labFormat)
        note = self.words[f"torch_{state}"]
        return text.table(columns, rows, chosen=chosen) + f'<p class="quiet" role="status">{note}</p>'

    def bits(self, found: Bits | None) -> str:
        """One element by several orders, bit by bit; a bit that is not the first line's is marked."""
        if found is None:
            shown = self.words[f"format_{self.small.labFormat}"]
            return f'<p class="quiet">{self._outside(shown)}</p>'
        share = text.Readout(
            "lab-differing",
            found.differing,
            self.words["of"].format(part=units.count(found.differing), all=units.count(found.count)),
            self.words["readout_differing"],
        )
        fmt = FORMATS[self.small.labFormat]
        heads = "".join(
            f"<th class=b>{self.words[name].format(n=n)}</th>"
            for name, n in (("sign", 1), ("exponent", fmt.exponent), ("fraction", fmt.fraction))
        )
        head = (
            f"<tr><th>{self.words['column_way']}</th>{heads}<th class=n>{self.words['column_value']}</th>"
            f"<th class=n>{self.words['column_elements']}</th></tr>"
        )
        lines = "".join(self._line(way) for way in found.written)
        said = self.words["of_bits" if found.differing else "of_bits_same"].format(
            row=found.row + 1, column=found.column + 1
        )
        return (
            f'{text.readouts([share])}<p class="quiet">{said}</p>'
            f'<table class="bits {fmt.name}"><thead>{head}</thead><tbody>{lines}</tbody></table>'
        )

    def _line(self, way: Written) -> str:
        name = self.words.get(f"way_{way.way}") or self.words[f"order_{way.way}"]
        name = name.format(Bc=way.Bc)
        cells, at, marked = "", 0, 0
        for part in way.bits:
            inner = ""
            for bit in part:
                inner += f"<b>{bit}</b>" if way.differs[at] else bit
                marked += way.differs[at]
                at += 1
            cells += f'<td class=b><span aria-hidden="true">{inner}</span></td>'
        css = ' class="truth"' if way.way == "truth" else ""
        said = self.words["bits_said"].format(n=marked)
        return (
            f"<tr{css}><th scope=row>{html.escape(name)}<span class=sr-only> {said}</span></th>{cells}"
            f"<td class=n>{units.number(way.value, _DIGITS[self.small.labFormat])}</td>"
            f'<td class=n data-label="{self.words["column_elements"]}">{units.count(way.elements)}</td></tr>'
        )

    def verdict(self, found: Outcome) -> str:
        """What the chosen mistake does to the reader's own scores, and why."""
        name, words = self.small.labBreak, self.words
        said = {
            "format": words[f"format_{self.small.labFormat}"],
            "pattern": words[f"pattern_{found.pattern}"],
            "tile": (found.first or 0) + 1,
            "tiles": found.visits,
            "first": found.keys[0] + 1,
            "last": found.keys[1],
            "row": found.row + 1,
            "bad": units.count(found.bad),
            "count": units.count(found.count),
            "error": self._error(found.error),
            "kinds": self._kinds(found),
        }
        if not found.fits:
            key, role = "verdict_outside", "muted"
        elif name == "none":
            key, role = "verdict_none", "chip"
        elif found.bad:
            key, role = "verdict_bad", "over"
        elif found.healed:
            key, role = "verdict_healed", "standard"
        else:
            key, role = "verdict_right", "chip"
        why = words[f"why_{name}"]
        wrong = (
            text.inline_readout("lab-wrong", found.bad, self._of(found.bad, found.count))
            if found.fits
            else ""
        )
        body = words[key].format(**said | {"wrong": wrong})
        return f'<p class="verdict" style="--c:var(--{role})" role="status">{body} {why}</p>'

    def _of(self, part: int, count: int) -> str:
        return self.words["of"].format(part=units.count(part), all=units.count(count))

    def _kinds(self, found: Outcome) -> str:
        """What is wrong with the numbers, in words: those kinds that occur."""
        if found.bad == found.wrong:
            return self.words["kind_only"].format(error=self._error(found.error))
        parts = [
            self.words[f"kind_{name}"].format(n=units.count(n), error=self._error(found.error))
            for name, n in (("nan", found.nan), ("inf", found.inf), ("wrong", found.wrong))
            if n
        ]
        return ", ".join(parts)

    def breaks(self, found: tuple[Outcome, ...]) -> str:
        """The mistake on every pattern: when it first goes wrong, what is wrong at the end."""
        kinds = [name for name in ("nan", "inf") if any(getattr(item, name) for item in found)]
        numbers = ["wrong", *kinds, "error", "sound"]
        columns = [(self.words[f"column_{name}"], name in numbers) for name in ("pattern", "first", *numbers)]
        rows = []
        for item in found:
            name = self.words[f"pattern_{item.pattern}"].format(keys=units.count(LONG_KEYS))
            if not item.fits:
                outside = self.words["outside"].format(format=self.words[f"format_{self.small.labFormat}"])
                rows.append([name, outside, *["–"] * len(numbers)])
                continue
            wrong = self._of(item.bad, item.count)
            cells = [f'<b class="bad">{wrong}</b>' if item.bad else wrong]
            cells += [units.count(getattr(item, kind)) for kind in kinds]
            cells.append("–" if math.isnan(item.error) else units.number(item.error, _ERROR))
            rows.append([name, self._first(item), *cells, units.number(item.sound, _ERROR)])
        table = text.table(columns, rows, chosen=self._patterns.index(self.small.pattern))
        return f'<div class="breaks">{table}</div>'

    def _first(self, item: Outcome) -> str:
        """Where it first goes wrong, and whether that heals."""
        if item.first is None:
            return self.words["never"]
        said = {"tile": item.first + 1, "tiles": item.visits, "first": item.keys[0] + 1, "last": item.keys[1]}
        return self.words["at_tile"].format(**said) + (self.words["heals"] if item.healed else "")
