"""The Chinese translation: complete, with the same facts, links and labels, and English where it lacks something."""

from __future__ import annotations

import re

import jinja2
import jinja2.meta
import param
import pytest

from plates import language, quiz_questions, terms, text
from plates.registry import PLATES
from plates.settings import CUSTOM_GPU, SHARED
from plates.shell import Atlas
from tests.plates.english import of_view, stray
from tests.plates.walk import ends
from workshop import units

FILES = sorted(path.stem for path in language.PROSE.glob("*.md"))
# what a translation may add: English keeps a plate's name and scope in its class, and its narration in the models
MORE = {"name", "scope", "sentences"}
# sections of code, names and numbers, in which there is little to translate
FEW_WORDS = {"title", "language", "control_gpu", "control_sram"}
LABELS = ("words", "lab_words", "kinds", "tasks", "ledger", "typing", "cells", "links")
_CJK = re.compile(r"[\u3400-\u9fff]")
_environment = jinja2.Environment()


def english(name: str) -> dict[str, str]:
    """Return the sections of the English file alone."""
    return language._sections(language.PROSE / f"{name}.md")


def chinese(name: str) -> dict[str, str]:
    """Return the sections of the Chinese file alone, nothing filled in from English."""
    return language._sections(language.PROSE / "zh" / f"{name}.md")


def named(source: str) -> set[str]:
    """Return the facts that a section names."""
    return jinja2.meta.find_undeclared_variables(_environment.parse(source))


def pairs(source: str) -> dict[str, str]:
    """Return the labels of a section."""
    return dict(line.split(": ", 1) for line in source.splitlines() if ": " in line)


@pytest.mark.parametrize("name", FILES)
def test_every_section_is_translated(name):
    ours, theirs = chinese(name), english(name)
    file = f"plates/prose/zh/{name}.md"
    missing, more = set(theirs) - set(ours), set(ours) - set(theirs) - MORE
    assert not missing, f"{file}: translate the sections {sorted(missing)} of plates/prose/{name}.md"
    assert not more, f"{file}: {sorted(more)} are sections of no English file"


@pytest.mark.parametrize("name", [name for name in FILES if name != "glossary"])
def test_sections_name_the_same_facts_and_lead_to_the_same_places(name):
    ours = chinese(name)
    for key, source in english(name).items():
        assert named(ours[key]) == named(source), f"{name}, ## {key}"
        links = [sorted(re.findall(r"\]\((\?[^)]*)\)", body)) for body in (ours[key], source)]
        assert links[0] == links[1], f"{name}, ## {key}"


@pytest.mark.parametrize("name", FILES)
def test_labels_have_the_same_keys_and_fields(name):
    ours = chinese(name)
    for key, source in english(name).items():
        if key not in LABELS:
            continue
        found, wanted = pairs(ours[key]), pairs(source)
        assert set(found) == set(wanted), f"{name}, ## {key}: {set(found) ^ set(wanted)}"
        for label, words in wanted.items():
            fields = [set(re.findall(r"\{\w*\}", one)) for one in (found[label], words)]
            assert fields[0] == fields[1], f"{name}, ## {key}, {label}"


@pytest.mark.parametrize("name", FILES)
def test_no_section_was_left_in_english(name):
    for key, body in chinese(name).items():
        if not body or key in FEW_WORDS or key in ("name", "sources"):
            continue
        bare = re.sub(
            r"\{[{%].*?[}%]\}|\$.*?\$|\]\(.*?\)|`.*?`|<.*?>|^\w[\w-]*: ", "", body, flags=re.S | re.M
        )
        share = len(_CJK.findall(bare)) / max(1, len(re.findall(r"[A-Za-z]{3,}", bare)))
        assert share > 1.5, f"{name}, ## {key}: {share:.1f} characters for each Latin word"


@pytest.mark.parametrize("name", FILES)
def test_emphasis_is_not_left_as_asterisks(name):
    # between Chinese characters Markdown sees no emphasis where a mark of punctuation stands just inside it
    for key, body in chinese(name).items():
        if key not in LABELS:
            html = text.markdown(re.sub(r"\{%.*?%\}|\{\{.*?\}\}", "1", body))
            assert "*" not in re.sub(r"<[^>]*>", "", html), f"{name}, ## {key}"


def test_quiz_and_glossary_keep_their_keys():
    ours, theirs = chinese("quiz"), english("quiz")
    for key, source in theirs.items():
        if key:
            wanted, found = quiz_questions.parse(source), quiz_questions.parse(ours[key])
            assert list(found.choices) == list(wanted.choices), key
            for choice, parts in wanted.choices.items():
                assert [bool(p) for p in found.choices[choice]] == [bool(p) for p in parts], (key, choice)
    assert {k: t.plate for k, t in terms.terms("zh").items()} == {
        k: t.plate for k, t in terms.terms().items()
    }


def test_a_plates_terms_lead_to_the_glossary():
    for plate in PLATES:
        bold = re.findall(r"\*\*([^*]+)\*\*", chinese(plate.slug).get("terms", ""))
        known = [word for word in bold if word.casefold() in terms.spellings("zh")]
        assert len(known) >= 0.7 * len(bold), f"{plate.slug}: {set(bold) - set(known)}"


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_every_plate_is_built_in_chinese(plate):
    atlas = Atlas(PLATES, f"?plate={plate.slug}&lang=zh")
    shown, ours = atlas.plates[plate.slug], chinese(plate.slug)
    for name in ("name", "scope"):
        assert ours.get(name), (
            f"plates/prose/zh/{plate.slug}.md: write '## {name}', the class's {name} in Chinese"
        )
    head = shown._texts["_head"].object
    assert ours["scope"] in head and plate.scope not in head
    if "data-readout" in shown._texts["_readouts"].object:
        assert _CJK.search(shown._texts["_readouts"].object), "labels of readouts come from text.labels"
    assert atlas.search().endswith("lang=zh") and "lang" not in atlas.search("en")


def each(owner: param.Parameterized, name: str) -> list:
    """Return every value of a choice, both ends of a number."""
    spec = owner.param[name]
    several = isinstance(spec, param.Selector) and not isinstance(spec, param.ListSelector)
    return list(spec.objects) if several else ends(owner, name)


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_nothing_on_a_plate_is_english(plate):
    atlas = Atlas(PLATES, f"?plate={plate.slug}&lang=zh")
    shown = atlas.plates[plate.slug]
    controls = [(atlas.settings, n) for n in (*SHARED, *CUSTOM_GPU) if n in plate.uses or n in CUSTOM_GPU]
    controls += [(shown.local, n) for n in plate.local_keys]
    texts = of_view([atlas._layout])
    for owner, name in controls:
        before = getattr(owner, name)
        for value in each(owner, name):
            setattr(owner, name, value)
            texts |= of_view([shown.view()])
        setattr(owner, name, before)
    # what has words is nearly all Chinese: whatever a reader sees has come through here
    worded = [one for one in texts if re.search(r"[A-Za-z]{4,}", one) or _CJK.search(one)]
    assert sum(bool(_CJK.search(one)) for one in worded) > 0.6 * len(worded) > 20
    found = {one: stray(one) for one in texts if stray(one)}
    assert not found, f"in English: translate in plates/prose/zh/{plate.slug}.md or zh/models.md: {found}"


def test_the_search_for_english_finds_it():
    english = Atlas(PLATES, "?plate=tiles")
    texts = of_view([english._layout])
    assert sum(bool(stray(one)) for one in texts) > 40
    for one in (
        "set by threads and registers",
        "Read off by a compiler",
        "2.18 GB 按 the model",
        "fast dense rate table",
    ):
        assert stray(one), one
    for one in (
        "Dao, Fu, Ermon, Rudra, Ré, 2022",
        "用于 dP = dO Vᵀ",
        "H100 SXM，bf16",
        "第 {i} 段，共 {of} 段",
    ):
        assert not stray(one), one


def test_what_a_language_lacks_is_english(tmp_path, monkeypatch):
    (tmp_path / "zh").mkdir()
    (tmp_path / "one.md").write_text("# Claim\n\n## why\nBecause.\n\n## words\na: first\nb: second\n")
    (tmp_path / "two.md").write_text("# Other\n")
    (tmp_path / "zh" / "one.md").write_text("# 论点\n\n## words\na: 一\n")
    monkeypatch.setattr(language, "PROSE", tmp_path)
    for cached in (text.sections, text.labels, language._phrases, text.phrase):
        cached.cache_clear()
    try:
        assert text.sections("one", "zh") == {"": "# 论点", "why": "Because.", "words": "a: 一"}
        assert text.labels("one", "zh") == {"a": "一", "b": "second"}
        assert text.sections("two", "zh") == {"": "# Other"}
        assert text.phrase("A sentence.", "zh") == "A sentence."
    finally:
        for cached in (text.sections, text.labels, language._phrases, text.phrase):
            cached.cache_clear()


def test_a_note_on_a_link_is_in_the_language_of_the_page():
    atlas = Atlas(
        PLATES, "?plate=wall&lang=zh&N=abc&causal=perhaps&gpu=none&d=1e9&Br=2.5&passes=scale,xyz&B=1&B=2"
    )
    shown = re.findall(r">([^<]+)<", atlas._notes.object)  # the last ones lie under a summary of them
    assert len(shown) >= 7 and f"N=abc 不是数：仍为 {units.count(atlas.settings.N)}。" in shown
    assert all(_CJK.search(one) and not stray(one) for one in shown), shown
    assert "is not a number" in Atlas(PLATES, "?plate=wall&N=abc")._notes.object


def test_fields_of_a_sentence_are_translated_too(tmp_path, monkeypatch):
    (tmp_path / "zh").mkdir()
    (tmp_path / "zh" / "models.md").write_text(
        "{who} has 3 of {what}\n> {what}：{who} 有 # 个\ncats\n> 猫\nwhy\n> 为何\n\n## reading\nbetween clauses: ；\n"
    )
    monkeypatch.setattr(language, "PROSE", tmp_path)
    cached = (text.sections, text.labels, language._phrases, text.phrase, language.reading)
    for one in cached:
        one.cache_clear()
    try:
        assert text.phrase("Li #7 has 1,024 of cats", "zh") == "猫：Li #7 有 1,024 个"
        assert text.phrase("A has 1 of cats; why; unknown", "zh") == "猫：A 有 1 个；为何；unknown"
        assert (
            text.phrase("A has 1 of cats. B has 2 of dogs. What?", "zh")
            == "猫：A 有 1 个。dogs：B 有 2 个。What?"
        )
        assert text.phrase("{who} has 3 of {what}", "zh") == "{what}：{who} 有 3 个"
        assert text.lettered(r"\mathrm{why} = \mathrm{cat}", "zh") == r"\text{为何} = \mathrm{cat}"
    finally:
        for one in cached:
            one.cache_clear()


def test_sentences_of_models_are_looked_up_with_their_numbers():
    first = "The headline layer with 512 tokens: the gain shrinks, because Q, K, V and O themselves weigh in."
    assert "1,024 个词元" in text.phrase(first.replace("512", "1,024"), "zh")
    assert text.phrase(first) == first
    assert text.kind("model", lang="zh").endswith(">模型</span>")
