"""Prose: sections, facts, formulas as MathML, tables and readouts."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import jinja2
import pytest

from plates import language, maths, text
from plates.registry import PLATES
from plates.settings import Settings
from workshop import formulas
from workshop.ledger import Ledger, Line
from workshop.problem import Problem, Tile


@pytest.mark.parametrize("record", formulas.FORMULAS.values(), ids=lambda r: r.slug)
def test_every_formula_becomes_well_formed_mathml(record):
    tree = ElementTree.fromstring(maths.mathml(record.latex, block=True, reading=record.spoken()))
    assert tree.get("aria-label") == record.spoken()
    assert not [e for e in tree.iter() if e.text and "\\" in e.text], "a LaTeX command was left over"


def test_grouped_digits_are_one_number():
    assert "<mn>272,629,760</mn>" in maths.mathml("272{,}629{,}760")
    assert "<mn>17,448,304,640</mn>" in maths.mathml("17{,}448{,}304{,}640")
    assert "<msup><mn>8,192</mn>" in maths.mathml("4 \\cdot 8{,}192^{2}")
    assert "<mn>0</mn>" in maths.mathml("\\max(0, 115{,}200)"), "a comma between two numbers stays"
    assert "<mn>8,192</mn>" in maths.mathml(
        formulas.FORMULAS["traffic-standard"].substituted(Problem(), Tile())
    )


def test_primes_and_infinity_are_no_scripts_and_no_operators():
    markup = maths.mathml("e^{m - m'} = -\\infty")
    assert '<mi>m</mi><mo lspace="0" rspace="0">&#x02032;</mo>' in markup
    assert "<mi>&#x0221E;</mi>" in markup


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_every_plate_has_the_parts_that_readers_expect(plate):
    found = text.sections(plate.slug)
    file = f"plates/prose/{plate.slug}.md"
    assert found[""].startswith("# "), f"{file}: the first line is the claim, '# A sentence'"
    assert found.get("try"), f"{file}: write '## try' with the tasks of the plate"
    assert found.get("sources"), f"{file}: write '## sources' with where its formulas and numbers are from"
    tasks = re.findall(r"^- \[[^\]]+\]\(\?", found["try"], re.M)
    assert tasks, f"{file}, ## try: write a task as '- [what it does](?N=512) What to look for.'"


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_the_links_of_every_plate_lead_somewhere(plate):
    from plates.shell import Atlas

    atlas = Atlas(PLATES, f"?plate={plate.slug}")
    for body in text.sections(plate.slug).values():
        for query in re.findall(r"\]\((\?[^)]*)\)", body):
            if "{{" in query:
                continue
            values, notes = atlas._read(query)
            assert values and not notes, f"{plate.slug}: {query} {notes}"


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_prose_claims_no_bitwise_equality(plate):
    body = "\n".join(text.sections(plate.slug).values()).lower()
    for phrase in ("bit for bit", "to the last bit", "bit-for-bit", "bitwise identical"):
        assert phrase not in body or plate.slug == "review", f"{plate.slug} says {phrase!r}"


def test_a_fact_that_is_missing_is_an_error_not_a_gap():
    with pytest.raises(jinja2.UndefinedError):
        text.fill("{{ nothing }}", {})


def test_a_missing_section_names_its_file():
    with pytest.raises(KeyError, match=r"traffic\.md has no section '## nothing'"):
        text.section("traffic", "nothing", {})


def test_number_and_unit_stay_on_one_line():
    assert text.fill("at {{ x }}", {"x": "545 MB"}) == "at 545\u00a0MB"


def test_a_translation_falls_back_to_english_section_by_section(tmp_path, monkeypatch):
    (tmp_path / "zh").mkdir()
    (tmp_path / "p.md").write_text("# Claim\n\n## why\nBecause.\n\n## more\nMore.\n")
    (tmp_path / "zh" / "p.md").write_text("# 主张\n\n## why\n因为。\n")
    monkeypatch.setattr(language, "PROSE", tmp_path)
    found = text.sections.__wrapped__("p", "zh")
    assert found == {"": "# 主张", "why": "因为。", "more": "More."}
    assert text.sections.__wrapped__("nothing", "zh") == {}


def test_readouts_carry_value_unit_and_name():
    out = text.Readout("traffic-standard", 545259520, "545 MB", "standard, a head", "standard").html()
    assert 'data-readout="traffic-standard" data-value="545259520">545 MB</b>' in out


def test_a_ledgers_table_adds_up():
    ledger = Ledger("m", (Line("Q", "read", 3, "first"), Line("O", "write", 4, "a < b")))
    out = text.ledger(ledger, 2, "title")
    cells = re.findall(r"<td class=n[^>]*>([^<]*)</td>", out)
    assert cells == ["3", "6 B", "4", "8 B", "7", "14 B"]
    assert "a &lt; b" in out


def test_a_row_of_the_wrong_length_says_expected_and_got():
    with pytest.raises(ValueError, match="expected 1 cells a row, got 2"):
        text.table([("a", True)], [["1", "2"]])


def test_the_cells_of_a_wide_table_know_their_headings_and_a_remark_is_marked():
    wide = text.table(
        [("a", False), *[(f"{n}<br>of <i>x</i>", True) for n in "bcde"]], [["r", "1", "2", "3", "4"]]
    )
    assert re.findall(r'data-label="([^"]*)"', wide) == ["a", "b of x", "c of x", "d of x", "e of x"]
    noted = text.table([("a", False), ("b", True), ("why", False)], [["r", "1", "so"]])
    assert 'class="noted" style="--cells:2"' in noted and "data-label" not in noted
    assert "class=" not in text.table([("a", False), ("why", False)], [["r", "so"]])


@pytest.mark.parametrize(("count", "half"), [(1, 1), (3, 2), (4, 2), (5, 3), (8, 4)])
def test_readouts_know_how_many_stand_in_a_row(count, half):
    strip = text.readouts([text.Readout(f"n{i}", i, "1", "x") for i in range(count)])
    assert f"--all:{count};--half:{half}" in strip
    assert half * 2 - count in (0, 1)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_what_a_task_says_is_one_piece_beside_its_link(plate, lang):
    from plates.shell import Atlas

    atlas = Atlas(PLATES, f"?plate={plate.slug}&lang={lang}")
    body = atlas.plates[plate.slug]._texts["try"].object
    items = re.findall(r"<li>(.*?)</li>", body, re.S)
    assert items
    for item in items:
        assert re.fullmatch(r"<a [^>]*>[^<]*(?:<(?!/a)[^>]*>[^<]*)*</a><div>.*</div>", item, re.S), item


def test_a_formula_may_break_before_a_sign_of_its_row_and_nowhere_else():
    markup = maths.mathml(r"x = \frac{a + b}{c} - (d + e) + 1", block=True)
    row = ElementTree.fromstring(markup)
    signs = [piece[0].text for piece in list(row)[1:]]
    assert signs == ["=", "\u2212", "+"]
    assert len(row) == 4
    assert maths.mathml("x = 1").count("<mrow>") == 1, "a formula in a sentence stays whole"


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="expected one of"):
        text.kind("guessed")


def test_every_control_has_its_words():
    words = text.sections("page")
    for name in ("N", "d", "H", "B", "Br", "Bc", "sram", "gpu", "dtype", "causal", "bandwidth", "tflops"):
        assert words[f"control_{name}"] and name in Settings.param
