"""Plate `review`: the quiz's words fit its numbers, cards hide and explain, glossary, schedule, cited results."""

from __future__ import annotations

import re

import numpy as np
import panel as pn
import pytest

from plates import predict_cards, quiz_questions, text
from plates.registry import PLATES
from plates.schedule import picture
from plates.terms import spellings, terms
from tests.plates.walk import ends, open_plate, pairs, put
from workshop import predictions, quiz, recordings, results, schedule, units
from workshop.generations import GENERATIONS, UNITS
from workshop.hardware import GPUS
from workshop.problem import LIMITS, Problem, Tile
from workshop.recordings.as_published import as_published

SLUGS = {
    "wall", "traffic", "roofline", "tiles", "softmax", "memory", "sparsity", "serving", "machine", "review",
}  # fmt: skip
H100 = GPUS["h100-sxm"]
WORDS = text.labels("review")


def named(slug: str) -> str:
    return slug.title()


def html(atlas) -> str:
    """All HTML of the plate on show, with plain spaces."""
    found = atlas.plates[atlas.settings.plate].view().select(pn.pane.HTML)
    return "".join(pane.object for pane in found).replace("\u00a0", " ")


def plain(markup: str) -> str:
    return re.sub(r"<[^>]+>", "", markup)


def asked(problem=None, tile=None, gpu=H100) -> dict[str, dict]:
    found = quiz_questions.shown(problem or Problem(), tile or Tile(), gpu, "en", named)
    return {question["slug"]: question for question in found}


# The quiz -----------------------------------------------------------------------------------------------


def check_questions(found: list[dict]) -> None:
    for question in found:
        keys = [choice["key"] for choice in question["choices"]]
        shown = [plain(choice["html"]).strip() for choice in question["choices"]]
        where = f"{question['slug']}: {shown}"
        assert len(set(keys)) == len(set(shown)) == quiz.CHOICES, where
        assert all(shown), where
        assert keys.count(question["right"]) == 1, where
        assert plain(question["html"]).rstrip().endswith("?"), where
        assert len(plain(question["why"])) > 40, where
        assert question["link"]["href"].removeprefix("?plate=") in SLUGS, where
        for part in (question["html"], question["why"], *shown):
            assert "{{" not in part and "None" not in part and "nan" not in part.split(), f"{where}: {part}"


def test_every_question_has_words_one_right_choice_and_an_explanation_with_a_link():
    found = list(asked().values())
    assert len(found) >= 20
    check_questions(found)
    linked = {question["link"]["href"].removeprefix("?plate=") for question in found}
    assert linked == SLUGS  # together they lead back to every plate


def test_questions_stay_well_formed_at_both_ends_of_every_control_in_pairs():
    atlas = open_plate("review")
    s = atlas.settings
    seen = set()
    for change in pairs(atlas):
        put(change)
        seen |= {name for owner, name in change if owner is s}
        check_questions(quiz_questions.shown(s.problem, s.tile, s.gpu_record, "en", named))
        for card in predict_cards.cards(
            s.problem,
            s.tile,
            s.gpu_record,
            "en",
            quiz_questions.facts(s.problem, s.tile, s.gpu_record),
            named,
        ):
            check_card(card)
    assert seen >= {"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"}


def test_the_answer_is_in_words_only_after_the_answer():
    """Neither the question nor a choice's text gives the right one away, and HTML panes hold no question at all."""
    page = html(open_plate("review"))
    for question in asked().values():
        assert plain(question["html"]) not in page
    for question in asked(Problem(N=5000, d=80, H=12), Tile(Br=96, Bc=48)).values():
        right = next(c for c in question["choices"] if c["key"] == question["right"])
        assert right["remark"] == ""
        if question["computed"] and question["slug"] not in ("binding", "launch"):
            number = rf"(?<![\d.,]){re.escape(plain(right['html']))}(?![\d.,]*\d)"
            asked_for = plain(question["html"]).replace("\u00a0", " ")
            assert not re.search(number, asked_for), question["slug"]


def test_a_wrong_number_is_told_which_mistake_it_is():
    found = asked()
    remarks = {c["key"]: plain(c["remark"]) for c in found["score"]["choices"]}
    assert remarks["one_head"] == "That is one head. A layer has 32."
    named_mistakes = sum(bool(c["remark"]) for q in found.values() for c in q["choices"])
    assert named_mistakes >= 0.9 * 3 * len(found)


def test_every_remark_of_the_prose_belongs_to_a_choice_that_can_be_shown():
    """A remark whose key is misspelt would never be seen."""
    settings = [
        (Problem(N=N, d=d, H=H, dtype=dtype, causal=causal), Tile(Br=Br, Bc=Bc), gpu)
        for N in (1000, 8192)
        for d in (8, 64, 80)
        for H in (1, 8)
        for dtype, gpu in (("bf16", H100), ("fp32", GPUS["l4"]), ("fp8", GPUS["h100-sxm"]))
        for causal in (False, True)
        for Br, Bc in ((48, 80), (128, 64), (1024, 1024), (16, 256))
    ]
    seen: dict[str, set] = {}
    for problem, tile, gpu in settings:
        for question in quiz.questions(problem, tile, gpu):
            seen.setdefault(question.slug, set()).update(question.choices)
    for slug, keys in seen.items():
        words = quiz_questions.parse(text.sections("quiz")[slug])
        assert set(words.choices) <= keys, f"{slug}: {set(words.choices) - keys} never shown"


def test_a_changed_number_voids_the_answer_and_an_unchanged_question_keeps_it():
    a, b = asked(), asked(Problem(N=4096))
    assert a["score"]["sign"] != b["score"]["sign"]
    assert a["alpha"]["sign"] == b["alpha"]["sign"]
    assert a["matrix"]["sign"] == b["matrix"]["sign"]


def test_prose_that_is_no_choice_is_refused():
    with pytest.raises(ValueError, match="expected '- key: words"):
        quiz_questions.parse("What?\n\n- two words: no\n> because")


# Predictions --------------------------------------------------------------------------------------------


def check_card(card: dict) -> None:
    for axis in (card["x"], card["y"]):
        assert 0 < axis["low"] < axis["high"] < np.inf, card["slug"]
        assert axis["ticks"] or axis is card["y"], card["slug"]
    for curve in card["curves"]:
        points = np.array(curve["points"])
        assert np.isfinite(points).all() and (points > 0).all(), card["slug"]
        assert (points[:, 1] >= card["y"]["low"]).all() and (points[:, 1] <= card["y"]["high"]).all()
    if card["answer"]:
        assert card["y"]["low"] <= card["answer"]["y"] <= card["y"]["high"], card["slug"]
        assert card["x"]["low"] <= card["answer"]["x"] <= card["x"]["high"], card["slug"]
    assert all(option["verdict"] and option["text"] for option in card["options"])
    assert len({option["text"] for option in card["options"]}) == len(card["options"])
    assert "{{" not in card["html"] + card["why"]


def cards(problem=None, tile=None, gpu=H100) -> dict[str, dict]:
    problem, tile = problem or Problem(), tile or Tile()
    common = quiz_questions.facts(problem, tile, gpu)
    found = predict_cards.cards(problem, tile, gpu, "en", common, named)
    return {card["slug"]: card for card in found}


def test_cards_answer_with_the_models_numbers_and_never_before_the_guess():
    found = cards()
    assert set(found) == {"crossover", "block", "speedup"}
    answers = {
        "crossover": units.count(predictions.crossover(Problem(), Tile(), H100)),
        "block": units.count(predictions.best_Br(Problem(), Tile(), H100)),
        "speedup": units.ratio(predictions.speedup(Problem(), Tile(), H100)),
    }
    assert answers == {"crossover": "874", "block": "304", "speedup": "4.68×"}
    for slug, answer in answers.items():
        check_card(found[slug])
        assert answer in plain(found[slug]["why"]).replace("\u00a0", " ")
        assert answer in found[slug]["answer"]["text"]
        assert answer not in plain(found[slug]["html"])


def test_a_crossing_that_never_comes_can_be_guessed():
    found = cards(Problem(d=256), Tile(sram=32))["crossover"]
    assert found["answer"] is None
    verdicts = {option["text"]: option["verdict"] for option in found["options"]}
    assert verdicts["never"] == text.labels("predict")["guess_right_never"]
    assert verdicts["1,024"] == text.labels("predict")["guess_wrong_never"]


@pytest.mark.parametrize(
    ("guess", "answer", "word"),
    [
        (4, 4, "right"), (4, 5, "close"), (6, 4, "close"), (2, 4, "low"), (9, 4, "high"),
        (None, None, "right_never"), (3, None, "wrong_never"), (None, 3, "never"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_guess(guess, answer, word):
    words = text.labels("predict")
    said = predict_cards.verdict(guess, answer, words)
    assert said.startswith(words[f"guess_{word}"].split("{")[0])


# Schedule -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", GENERATIONS.values(), ids=list(GENERATIONS))
@pytest.mark.parametrize("tile", [Tile(Br=1, Bc=1), Tile(), Tile(Br=1024, Bc=1), Tile(Br=1, Bc=1024)])
@pytest.mark.parametrize("d", LIMITS["d"])
def test_lanes_are_drawn_inside_the_picture_in_order(generation, tile, d):
    for rates in UNITS.values():
        shown, found = picture(generation, rates, Problem(d=d), tile, WORDS)
        assert len(shown["lanes"]) == len(schedule.LANES)
        for lane, key in zip(shown["lanes"], schedule.LANES, strict=True):
            assert units.percent(found.busy(key)) in lane["busy"]
            at = 0.0
            for task in lane["tasks"]:
                assert at <= task["from"] + 1e-9 and task["from"] <= task["to"] <= 1
                at = task["to"]
        assert 3 <= len(shown["ticks"]) <= 8
        assert len({tick["text"] for tick in shown["ticks"]}) == len(shown["ticks"])


def test_the_schedule_follows_the_readers_choice():
    atlas = open_plate("review", "&generation=fa3")
    own = atlas.plates["review"]
    assert "work 100 % of the time under FlashAttention-3" in html(atlas)
    own.local.generation, own.local.chip = "fa2", "b200"
    assert "of B200" in html(atlas)
    busy = schedule.schedule(GENERATIONS["fa2"], UNITS["b200"], Problem(), Tile()).busy("matmul")
    found = re.search(r'data-readout="matmul-busy" data-value="([^"]+)"', html(atlas))
    assert float(found[1]) == pytest.approx(busy)
    assert atlas.search().endswith("chip=b200")


# Glossary, results, sources -----------------------------------------------------------------------------


def test_every_term_has_a_definition_and_a_plate():
    found = terms()
    assert len(found) >= 60
    assert {term.plate for term in found.values()} <= SLUGS
    assert len({term.name for term in found.values()}) == len(found)
    assert all(len(term.definition) > 20 for term in found.values())


WITH_TERMS = [plate for plate in PLATES if "terms" in text.sections(plate.slug)]


@pytest.mark.parametrize("plate", WITH_TERMS, ids=[plate.slug for plate in WITH_TERMS])
def test_every_term_of_a_plate_is_in_the_glossary_and_links_to_it(plate):
    section = text.sections(plate.slug)["terms"]
    bold = re.findall(r"\*\*([^*]+)\*\*", section)
    assert bold, (
        f"plates/prose/{plate.slug}.md, ## terms: write '**term**: what it means', or leave the section out"
    )
    missing = [word for word in bold if word.casefold() not in spellings()]
    assert not missing, (
        f"prose/glossary.md lacks {missing}: add a term, or the word to another term's spellings"
    )
    shown = open_plate(plate.slug).plates[plate.slug]._texts["terms"].object
    links = re.findall(r'<a href="\?plate=review&amp;term=(\w+)"><strong>([^<]+)</strong>', shown)
    assert {key for key, _ in links} <= set(terms())
    assert len(links) == len(bold)


def test_a_glossary_section_without_a_plate_is_refused(monkeypatch):
    monkeypatch.setattr(text, "sections", lambda slug, lang: {"": "", "odd": "Odd\nA definition."})
    with pytest.raises(ValueError, match=r"## odd: expected 'term \| plate'"):
        terms.__wrapped__("none")


def test_an_address_names_a_term():
    atlas = open_plate("review", "&term=hbm")
    assert atlas.plates["review"]._glossary.term == "hbm"
    assert "term=hbm" in atlas.search()
    unknown = open_plate("review", "&term=nonsense")
    assert unknown.plates["review"]._glossary.term == ""
    assert "nonsense" in unknown._notes.object


def test_every_published_row_is_on_the_page_with_its_source():
    page = html(open_plate("review"))
    for row in results.TRAINING:
        assert row.task in page and units.seconds(row.flash_s) in page and row.source in page
    for row in results.THROUGHPUT:
        assert f"{row.full / 1e12:,.0f} TFLOP/s" in page
        assert row.source.split(":")[0].split(",")[0] in page
    for row in results.MEMORY:
        assert units.bytes_(row.standard) in page
    table, note = page.index(units.bytes_(results.MEMORY[-1].standard)), page.index("probably MiB")
    assert table < note < page.index("TFLOP/s", table) and "4.86 % more" in page
    for one in as_published(recordings.load("h200")):
        assert units.rate_flops(one.full) in page and units.rate_flops(one.causal) in page
    assert "kind-recorded" in page and "NVIDIA H200" in page
    for author in ("Zadouri", "Shah", "Dao", "Milakov", "Rabe", "Williams", "Vaswani"):
        assert author in page


def test_readouts_count_what_is_there():
    found = dict(re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', html(open_plate("review"))))
    assert int(found["quiz-questions"]) == len(quiz.slugs()) >= 20
    assert int(found["glossary-terms"]) == len(terms())
    for slug, generation in GENERATIONS.items():
        busy = schedule.schedule(generation, UNITS[generation.chip], Problem(), Tile()).busy("matmul")
        assert float(found[f"matmul-busy-{slug}"]) == pytest.approx(busy)


def test_debunked_words_stand_only_where_they_are_debunked():
    for slug in ("review", "glossary", "predict", "quiz"):
        for name, section in text.sections(slug).items():
            if (slug, name) != ("quiz", "exact"):
                assert not re.search(r"identical|bit for bit|bitwise", section, re.IGNORECASE), (slug, name)


def test_try_links_only_name_what_exists():
    atlas = open_plate("review")
    plates = {cls.slug for cls in PLATES}
    for query in re.findall(r"\]\(\?([^)]+)\)", text.sections("review")["try"]):
        _, notes = atlas._read(f"?{query}")
        assert not [note for note in notes if "plate" not in note or query.split("=")[1] in plates], notes


def test_both_ends_of_the_plates_own_controls():
    atlas = open_plate("review")
    local = atlas.plates["review"].local
    for name in atlas.plates["review"].local_keys:
        for value in ends(local, name):
            setattr(local, name, value)
            assert "matmul-busy" in html(atlas)


@pytest.mark.parametrize("slug", GENERATIONS)
@pytest.mark.parametrize("chip", UNITS)
def test_the_verdict_names_what_waits_and_nothing_else(slug, chip):
    atlas = open_plate("review", f"&generation={slug}&chip={chip}")
    said = " ".join(plain(atlas.plates["review"]._texts["verdict"].object).split())
    found = schedule.schedule(GENERATIONS[slug], UNITS[chip], Problem(), Tile())
    waiting = "wait for one another" in said
    assert waiting == found.serial
    if waiting:
        listed = re.search(r"(?:: |for )([\w ,]+?) (?:still )?wait for one another", said)[1]
        names = {WORDS[f"wait_{kind}"] for kind in schedule.KINDS}
        assert {name for name in names if re.search(rf"\b{name}\b", listed)} == {
            WORDS[f"wait_{kind}"] for kind in found.chain
        }
