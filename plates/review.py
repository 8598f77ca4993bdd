"""Plate `review`: predictions, the quiz, four generations of the kernel, published results, the glossary."""

from __future__ import annotations

import html

import panel as pn
import param

from plates import controls, glossary, ladder, predict_cards, quiz_questions, text
from plates.blocks import Blocks
from plates.drawn import sent
from plates.plate import Plate
from plates.published import tables
from plates.quiz import Predict, Quiz
from plates.schedule import ScheduleView, picture
from plates.terms import terms
from workshop import quiz, results, schedule, traffic, units
from workshop.generations import GENERATIONS, UNITS

OWN = "own"


class Chosen(param.Parameterized):
    """Which generation is on show, on which chip, and which term the address names."""

    generation = param.Selector(default="fa2", objects=list(GENERATIONS), doc="Version of FlashAttention.")
    chip = param.Selector(
        default=OWN, objects=[OWN, *UNITS], doc="GPU of the schedule; own: the one it was written for."
    )
    term = param.Selector(default="", objects=["", *terms()], doc="Term of the glossary to show.")


def plate_name(slug: str, lang: str) -> str | None:
    """Return the name of a plate in ``lang``, None if there is no such plate."""
    from plates.registry import PLATES  # here, because the registry imports this module

    for cls in PLATES:
        if cls.slug == slug:
            return text.sections(slug, lang).get("name", cls.name)
    return None


def _reported(published: tuple[float, float]) -> str:
    """Shares as their authors print them: whole percents, one or a range."""
    low, high = (units.number(round(100 * share, 6)) for share in published)
    return f"{low} %" if low == high else f"{low}–{high} %"


def _joined(kinds: tuple[str, ...], words) -> str:
    """The kinds of work of a schedule as a list of words; both products are one kind to a reader."""
    names = list(dict.fromkeys(words[f"wait_{kind}"] for kind in kinds))
    if len(names) < 2:
        return "".join(names)
    return words["wait_list"].format(first=words.listed(names[:-1]), last=names[-1])


class Review(Plate):
    """The last page: what was learnt, asked back, and where it came from."""

    slug = "review"
    name = "Review"
    uses = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"})
    scope = "Forward pass unless a question says otherwise; models, except for the results, which are cited."
    minutes = (3, 1)
    local_keys = ("generation", "chip", "term")

    def own_state(self) -> Chosen:
        return Chosen()

    # Numbers --------------------------------------------------------------------------------------------

    def _name(self, slug: str) -> str | None:
        return plate_name(slug, self.settings.lang)

    def facts(self) -> dict:
        s, own = self.settings, self.local
        problem, tile, words = s.problem, s.tile, text.labels(self.slug, s.lang)
        generation = GENERATIONS[own.generation]
        rates = UNITS[generation.chip if own.chip == OWN else own.chip]
        shown, found = picture(generation, rates, problem, tile, words)
        moved = {
            model: traffic.ledger(model, problem, tile).bytes(s.dtype) for model in ("standard", "bound")
        }
        asked = quiz.questions(problem, tile, s.gpu_record)
        facts = {
            "standard": units.bytes_(moved["standard"]),
            "bound": units.bytes_(moved["bound"]),
            "questions": len(asked),
            "computed": sum(question.computed for question in asked),
            "terms": len(terms(s.lang)),
            "generation": generation.name,
            "chip": rates.record.name,
            "own": rates.gpu == UNITS[generation.chip].gpu,
            "own_chip": UNITS[generation.chip].record.name,
            "pair": generation.query_tiles > 1,
            "rows": units.number(tile.Br * generation.tile_share),
            "d": s.d,
            "dtype": s.dtype,
            "Br": units.count(s.Br),
            "Bc": units.count(s.Bc),
            "shared": units.percent(found.shared / found.period),
            "matmul_busy": units.percent(found.busy("matmul")),
            "serial": found.serial,
            "waiting": _joined(found.chain, words),
            "limit": found.binding,
            "published": _reported(generation.published),
            "_": (shown, found),
        }
        facts["description"] = text.fill(text.sections(self.slug, s.lang)["said"], facts)
        facts["blocks"] = Blocks(
            lambda: {
                "ladder": ladder.html(problem, tile, s.gpu_record, "bound", s.lang),
                "verdict": self._verdict(facts, found),
                "versions": self._generations(problem, tile, words),
                "rates": self._rates(problem, tile, words),
                "published": tables(s.lang),
            }
        )
        return facts

    def readouts(self, facts: dict) -> list[text.Readout]:
        words = text.labels(self.slug, self.settings.lang)
        published = sum(
            len(rows) for rows in (results.TRAINING, results.LONG_RANGE, results.MEMORY, results.THROUGHPUT)
        )
        counts = {
            "quiz-questions": (facts["questions"], words["read_questions"], "ink"),
            "quiz-computed": (facts["computed"], words["read_computed"], "flash"),
            "glossary-terms": (facts["terms"], words["read_terms"], "ink"),
            "published-results": (published, words["read_results"], "ink"),
        }
        return [
            text.Readout(name, value, units.count(value), label, role)
            for name, (value, label, role) in counts.items()
        ]

    @staticmethod
    def _verdict(facts: dict, found: schedule.Schedule) -> str:
        role = "flash" if facts["limit"] == "matmul" and not facts["serial"] else "over"
        shown = facts["matmul_busy"].replace(" ", "\u00a0")  # as text.fill writes it
        busy = text.inline_readout("matmul-busy", found.busy("matmul"), shown)
        said = quiz_questions.inline(facts["description"]).replace(shown, busy, 1)
        return f'<div class="verdict" style="--c:var(--{role})">{said}</div>'

    def _generations(self, problem, tile, words) -> str:
        lang = self.settings.lang
        cells = text.labels(self.slug, lang, "cells")
        every = GENERATIONS.values()
        columns = [("", False), *((html.escape(g.name), False) for g in every)]

        def row(name: str, cell) -> list[str]:
            return [f"<b class=together>{words[f'row_{name}']}</b>", *(cell(g) for g in every)]

        def reported(g) -> str:
            return f"{_reported(g.published)} {text.kind('cited', self.said(g.source), lang)}"

        def modelled(g) -> str:
            busy = schedule.schedule(g, UNITS[g.chip], problem, tile).busy("matmul")
            name = f"matmul-busy-{g.slug}"
            tag = text.kind("model", words["model_note"], lang)
            return f"{text.inline_readout(name, busy, units.percent(busy))} {tag}"

        rows = [row("year", lambda g: words.listed([str(g.year), UNITS[g.chip].record.name], "parts"))]
        rows += [
            row(name, lambda g, name=name: cells[f"{g.slug}_{name}"])
            for name in ("loop", "warps", "async", "precision", "limit")
        ]
        rows += [row("published", reported), row("model", modelled)]
        return f'<div class="generations">{text.table(columns, rows)}</div>'

    def _rates(self, problem, tile, words) -> str:
        columns = [(words["unit_gpu"], False)]
        columns += [
            (words[f"unit_{name}"], True) for name in ("tensor", "exponential", "shared", "clock", "ratio")
        ]
        rows = []
        for rates in UNITS.values():
            time = schedule.durations(GENERATIONS["fa2"], rates, problem, tile)
            share = time["softmax"] / (time["scores"] + time["output"])
            clock = (
                rates.record.rate(problem.dtype).flops / rates.tensor_rate(problem.dtype) / rates.record.sms
            )
            title = html.escape(self.said("; ".join((*rates.sources, *rates.notes))), quote=True)
            rows.append(
                [
                    f'<span class="together" title="{title}">{rates.record.name}</span>',
                    units.count(rates.tensor_rate(problem.dtype)),
                    units.count(rates.exponential),
                    units.count(rates.shared),
                    f"{units.number(clock / 1e9)} GHz",
                    units.percent(share),
                ]
            )
        return text.table(columns, rows)

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        words = text.labels(self.slug, self.settings.lang)
        wide = {"sizing_mode": "stretch_width", "margin": 0}
        self._cards = Predict(words=text.labels("predict", self.settings.lang), **wide)
        self._quiz = Quiz(words=words, **wide)
        self._lanes = ScheduleView(**wide)
        self._glossary = glossary.Glossary(
            entries=sent(glossary.entries(self.settings.lang, self._name)),
            term=self.local.term,
            words={**words, "see": words["term_see"]},
            **wide,
        )
        yield self.styled("ladder", "ladder.css")
        yield self.prose("predict")
        yield self._cards
        yield self.prose("quiz")
        yield self._quiz
        yield self.prose("generations")
        yield pn.FlexBox(
            controls.options(
                self.local,
                "generation",
                words["control_generation"],
                {words[f"version_{slug}"]: slug for slug in GENERATIONS},
            ),
            controls.options(
                self.local,
                "chip",
                words["control_chip"],
                {words[f"chip_{key}"]: key for key in (OWN, *UNITS)},
            ),
            gap="0 26px",
        )
        yield self.figure(self._lanes, "figure", "model", description="description")
        yield self.block("verdict")
        yield self.prose("changed")
        yield self.block("versions")
        yield self.prose("units")
        yield self.block("rates")
        yield self.prose("results")
        yield self.block("published")
        yield self.prose("glossary")
        yield self._glossary

    def patch(self, facts: dict) -> None:
        shown, _ = facts["_"]
        self._lanes.picture = sent(shown)
        self._write(["verdict", "versions"])  # they hold readouts, which move with the lanes
        if self._glossary.term != self.local.term:
            self._glossary.term = self.local.term

    def settle(self, facts: dict) -> None:
        # Quiz and cards are read, not watched.
        s = self.settings
        problem, tile, gpu = s.problem, s.tile, s.gpu_record
        asked = quiz_questions.shown(problem, tile, gpu, s.lang, self._name)
        guessed = predict_cards.cards(
            problem, tile, gpu, s.lang, quiz_questions.facts(problem, tile, gpu), self._name
        )
        self._quiz.questions, self._cards.cards = sent(asked), sent(guessed)
