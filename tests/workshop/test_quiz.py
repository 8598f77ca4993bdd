"""The quiz: one right answer among distinct choices at every setting, and golden answers at the opening one."""

import csv
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workshop.strategies import PROBLEMS, TILES
from workshop import quiz, recordings, units
from workshop.hardware import GPUS, custom
from workshop.problem import LIMITS, Problem, Tile
from workshop.residency import resident_blocks

ALL_GPUS = st.sampled_from([*GPUS.values(), custom(10e9, 1e17), custom(1e14, 1e12)])


def answers(problem=None, tile=None, gpu="h100-sxm"):
    """{slug: right text or key} of all questions."""
    found = quiz.questions(problem or Problem(), tile or Tile(), GPUS[gpu])
    return {q.slug: q.texts.get(q.right, q.right) for q in found}


def check(problem, tile, gpu):
    """Each question is well formed: four choices, all different, one of them right, all positive numbers."""
    for question in quiz.questions(problem, tile, gpu):
        where = f"{question.slug} at {problem}, {tile}, {gpu.name}"
        assert len(question.choices) == len(set(question.choices)) == quiz.CHOICES, where
        assert question.choices.count(question.right) == 1, where
        assert question.level in quiz.LEVELS, where
        if question.texts:
            shown = list(question.texts.values())
            assert set(question.texts) == set(question.choices), where
            assert len(set(shown)) == quiz.CHOICES, f"{where}: {shown}"
            assert not any(bad in text for text in shown for bad in ("∞", "n/a", "−", "nan")), (
                f"{where}: {shown}"
            )
            assert not any(text.split()[0].rstrip("×") in ("0", "") for text in shown), f"{where}: {shown}"


@given(PROBLEMS, TILES, ALL_GPUS)
@settings(max_examples=150)
def test_one_right_answer_among_four_different_ones_anywhere(problem, tile, gpu):
    check(problem, tile, gpu)


@pytest.mark.parametrize("corner", range(2 ** len(LIMITS)))
def test_one_right_answer_at_every_corner_of_the_ranges(corner):
    ends = {name: LIMITS[name][corner >> i & 1] for i, name in enumerate(LIMITS)}
    tile = Tile(Br=ends.pop("Br"), Bc=ends.pop("Bc"), sram=ends.pop("sram"))
    for dtype in ("fp8", "fp32"):
        for causal in (False, True):
            for gpu in ("l4", "b200"):
                check(Problem(**ends, dtype=dtype, causal=causal), tile, GPUS[gpu])


def test_there_are_enough_questions_in_three_levels():
    found = quiz.questions(Problem(), Tile(), GPUS["h100-sxm"])
    assert len(found) >= 20
    assert len({q.slug for q in found}) == len(found)
    for level in quiz.LEVELS:
        assert sum(q.level == level for q in found) >= 6, level
    assert sum(q.computed for q in found) >= 12
    assert set(quiz.slugs()) == {q.slug for q in found}
    # within the page the levels follow one another
    levels = [q.level for q in found]
    assert levels == sorted(levels, key=quiz.LEVELS.index)


def test_the_right_answer_has_no_favourite_place():
    places = [q.choices.index(q.right) for q in quiz.questions(Problem(), Tile(), GPUS["h100-sxm"])]
    assert all(places.count(k) >= 3 for k in range(quiz.CHOICES)), places


def test_golden_answers_at_the_opening_settings():
    """N = 8192, d = 128, 32 heads, bf16, 228 KiB, H100: by hand."""
    found = answers()
    assert found["score"] == units.bytes_(32 * 8192**2 * 2) == "4.29 GB"
    assert found["ratio"] == "11.8×"  # 272,629,760 / 23,031,880 elements
    assert found["passes"] == "64"  # 8192 / 128
    assert found["visits"] == "8,192"  # 64 x 128
    # Q and O 128 x 128, K and V 64 x 128, S 128 x 64, two numbers for each of 128 rows: 57,600 x 2 B
    assert found["working"] == units.binary((2 * 128 * 128 + 2 * 64 * 128 + 128 * 64 + 2 * 128) * 2)
    assert found["ridge"] == "295 FLOP/B"  # 989 / 3.35
    assert found["intensity"] == "63.0 FLOP/B"
    assert found["binding"] == "memory"
    assert found["flops"] == units.flops(4 * 8192**2 * 128 * 32) == "1.10 TFLOP"
    assert found["kept"] == units.bytes_(4 * 8192 * 32) == "1.05 MB"
    assert found["cache"] == units.bytes_(2 * 32 * 128 * 2) == "16.4 kB"
    assert found["even"] == "8,192 elements"  # 128^2 / 2
    assert found["alpha"] == "0.0183"  # exp(1 - 5)
    assert found["shared"] == "96 KiB"  # (128 + 4 * 64) * 128 * 2 B
    assert found["launch"] == "starts"
    assert found["resident"] == "132"
    assert found["waves"] == "1"
    assert found["gradient"] == "2.50×"  # five products against two
    # 512 times as many matmul FLOP as exponentials, and 256 times the rate (Shah et al., FlashAttention-3, 2024)
    assert found["exponentials"] == "50.0 %"


def test_golden_answers_elsewhere():
    causal = answers(Problem(N=512, causal=True), Tile(Br=128, Bc=128))
    assert causal["visits"] == "10"  # of 16
    assert answers(Problem(N=8193))["passes"] == "65"
    # 128 x 128 at d = 128: an H100 holds (128 + 4 x 128) x 128 x 2 B = 160 KiB. An L4 has copied the tile in use to
    # registers, so (128 + 2 x 128) x 128 x 2 B = 96 KiB, and a block may have 99
    big = Tile(Br=128, Bc=128)
    assert answers(tile=big)["shared"] == "160 KiB" and answers(tile=big, gpu="l4")["shared"] == "96 KiB"
    assert answers(tile=big)["launch"] == answers(tile=big, gpu="l4")["launch"] == "starts"
    assert answers(tile=Tile(Br=128, Bc=256), gpu="l4")["launch"] == "refuses"
    # one head, 262,144 tokens, 128 rows: 2,048 blocks, 132 at once, 16 waves (counted by hardware, H200)
    assert answers(Problem(N=262144, H=1), gpu="h200-sxm")["waves"] == "16"
    assert answers(Problem(N=1, d=256))["binding"] == "memory"


def test_a_mistake_is_what_its_name_says():
    found = {q.slug: q for q in quiz.questions(Problem(), Tile(), GPUS["h100-sxm"])}
    assert found["score"].texts["one_head"] == "134 MB"
    assert found["ratio"].texts["tiled"] == "2.00×"
    assert found["ratio"].texts["compulsory"] == "65.0×"
    assert found["ridge"].texts["sparse"] == "590 FLOP/B"
    assert found["gradient"].texts["stored"] == "2.00×"


def test_the_order_of_worded_choices_does_not_depend_on_the_settings():
    a = quiz.questions(Problem(), Tile(), GPUS["h100-sxm"])
    b = quiz.questions(Problem(N=77, d=64, causal=True), Tile(Br=32, sram=8), GPUS["l4"])
    assert [q.choices for q in a if not q.texts] == [q.choices for q in b if not q.texts]


@given(PROBLEMS, TILES, ALL_GPUS)
@settings(max_examples=200)
def test_kernel_questions_agree_with_the_residency_model_anywhere(problem, tile, gpu):
    asked = {q.slug: q for q in quiz.questions(problem, tile, gpu)}
    found = resident_blocks(gpu, tile, problem.d, problem.dtype)
    assert asked["launch"].right == ("starts" if found.fits else "refuses")
    assert asked["launch"].facts["need"] == units.binary(found.shared_bytes)
    assert asked["shared"].facts["answer"] == units.binary(found.shared_bytes)
    assert asked["resident"].facts["answer"] == units.count(found.blocks)
    parts = [name for name in ("q", "kv", "p") if name != "p" or asked["shared"].facts["passes"]]
    assert all(asked["shared"].facts[name] not in ("0", "0 B") for name in parts)


@pytest.mark.parametrize("gpu", ["a100-sxm-80", "rtx-4090", "l4", "h100-sxm", "h200-sxm"])
def test_kernel_questions_agree_with_the_compiler(gpu):
    """Where the compiled kernel is in the shipped table, the quiz asks for its very bytes and gives its verdict."""
    record, seen = GPUS[gpu], 0
    with (Path(recordings.__file__).parent / "compiled" / "compile-table.csv").open(newline="") as file:
        rows = [
            row for row in csv.DictReader(file) if row["target"] == record.target and row["stages"] == "2"
        ]
    for row in rows:
        if row["status"] != "built" or row["causal"] == "1":
            continue
        tile = Tile(Br=int(row["Br"]), Bc=int(row["Bc"]))
        found = {
            q.slug: q for q in quiz.questions(Problem(d=int(row["d"]), dtype=row["dtype"]), tile, record)
        }
        shared = int(row["shared_bytes"])
        assert found["shared"].facts["answer"] == units.binary(shared), row
        assert found["launch"].right == ("starts" if shared <= record.smem_block else "refuses"), row
        seen += 1
    assert seen > 20


@pytest.mark.parametrize("bad", [0, -1.0, float("inf"), float("nan")])
def test_choose_refuses_a_right_value_that_is_not_positive_and_finite(bad):
    with pytest.raises(ValueError, match="expected a positive finite number"):
        quiz.choose(bad, {}, units.number)


@given(
    st.one_of(st.integers(1, 10**15), st.floats(1e-12, 1e18)),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=6),
    st.sampled_from([units.count, units.ratio, units.bytes_, units.binary, units.percent]),
)
def test_choose_always_finds_four(value, wrong, text):
    if text is units.count and not isinstance(value, int):
        value = round(value) + 1
    if text in (units.bytes_, units.binary):
        value = int(value) + 1
    found = quiz.choose(value, {f"m{i}": w for i, w in enumerate(wrong)}, text)
    assert len(found) == quiz.CHOICES
    assert len({shown for _, shown in found.values()}) == quiz.CHOICES
    assert found[quiz.RIGHT] == (value, text(value))
    assert list(found.values()) == sorted(found.values(), key=lambda pair: pair[0])
