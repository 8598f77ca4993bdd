"""Memory: both ends of every control, golden numbers, charts that draw the models, and the gradient on the page."""

import json
import re
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plates import text
from plates.loop import listing, opening, play
from plates.memory import Memory
from plates.memory_figures import curves
from plates.settings import Settings
from tests.plates.test_wall import shown, sound
from workshop import backward, paper_figures, roofline, training_memory, training_traffic, units
from workshop.hardware import GPUS
from workshop.problem import LIMITS, Problem, Tile

ENDS = {
    **{name: LIMITS[name] for name in ("N", "d", "H", "B", "Br", "Bc", "sram")},
    "dtype": ("fp8", "fp32"),
    "causal": (False, True),
    "gpu": ("l4", "mi300x"),
}


def test_both_ends_of_every_control_in_pairs():
    plate = Memory(Settings())
    plate.view()
    defaults = {name: plate.settings.param[name].default for name in ENDS}
    for number, ((a, b), ends) in enumerate(product(combinations(ENDS, 2), product((0, 1), (0, 1)))):
        plate.settings.param.update(**{**defaults, a: ENDS[a][ends[0]], b: ENDS[b][ends[1]]})
        plate.local.boundary = training_traffic.BOUNDARIES[number % 3]
        plate.update()
        sound(plate)
        for part in plate._multiples._parts.values():
            for source in (*part["lines"].values(), *part["dots"].values()):
                for column in source.data.values():
                    column = np.asarray(column, dtype=float)
                    assert np.isfinite(column).all() and (column > 0).all()
            assert 0 < part["fig"].y_range.start < part["fig"].y_range.end < np.inf
        assert float(shown(plate)["gradient-error"][1]) < 1e-10


def test_the_headline():
    plate = Memory(Settings())
    plate.view()
    found = shown(plate)
    # P 4,294,967,296 B with Q, K, V of 67,108,864 B; four of those and one fp32 a row
    assert found["training-memory-standard"] == ("4.50 GB", str(4_294_967_296 + 3 * 67_108_864))
    assert found["training-memory-flash"] == ("269 MB", str(4 * 67_108_864 + 8192 * 32 * 4))
    assert float(found["training-flops-ratio"][1]) == pytest.approx(7 / 6)  # seven products for six


@pytest.mark.parametrize("boundary", training_traffic.BOUNDARIES)
@pytest.mark.parametrize("causal", [False, True])
def test_the_charts_draw_the_models(boundary, causal):
    tile, gpu, n = Tile(Br=64, Bc=96), GPUS["b200"], np.array([1, 100, 5000, 1 << 20])
    found = curves(Problem(causal=causal, B=3), tile, gpu, boundary, n)
    for k, N in enumerate(n):
        problem = Problem(N=int(N), causal=causal, B=3)
        for role, model in (("standard", "standard"), ("flash", boundary)):
            assert found["memory"][role][k] == training_memory.kept(role, problem).total
            ledger = training_traffic.both(model, problem, tile)
            assert found["traffic"][role][k] == pytest.approx(ledger.bytes("bf16") * problem.heads, rel=1e-12)
            work = roofline.flops(problem, model, tile, direction="both")
            assert found["flops"][role][k] == pytest.approx(work, rel=1e-12)
            times = training_traffic.time(model, problem, tile, gpu)
            assert found["time"][role][k] == pytest.approx(sum(t.lower for t in times))


def test_dots_stand_on_the_readers_numbers():
    plate = Memory(Settings(N=5000, dtype="fp32"))
    plate.view()
    dot = plate._multiples._parts["memory"]["dots"]["flash"].data
    assert dot["x"] == [5000]
    assert str(int(dot["y"][0])) == shown(plate)["training-memory-flash"][1]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("blocks", [(4, 4), (8, 4), (4, 8)])
def test_the_play_walks_the_models_loop_with_a_sentence_for_each_step(blocks, causal):
    found = play(*blocks, causal, "bf16", "en")
    wanted = backward.record(found["N"], found["d"], *blocks, causal=causal)
    assert [s["line"] for s in found["steps"]] == [s["line"] for s in wanted["steps"]]
    assert all(s["say"] and "{" not in s["say"] for s in found["steps"])
    assert max(tile["error"] for tile in found["tiles"]) < 1e-10
    assert found["steps"][opening(found)]["line"] == "dq"
    assert {line for line, _, _ in listing()} == {s["line"] for s in found["steps"]}
    assert sorted(product for _, product, _ in listing() if product) == [1, 2, 3, 4, 5]


def test_the_step_is_shared_with_the_link_and_clamped():
    plate = Memory(Settings(step=100_000))
    plate.view()
    last = len(json.loads(plate._loop.data)["steps"]) - 1
    assert plate._loop.step == last
    plate._loop.step = 7
    assert plate.settings.step == 7
    plate.local.blocks = "8x4"  # another play opens on its own step
    assert plate.settings.step is None
    plate.update()
    assert plate._loop.step == opening(json.loads(plate._loop.data))


def prose(plate, name: str) -> str:
    """A section as one line, its numbers with plain spaces."""
    return " ".join(plate._texts[name].object.replace("\u00a0", " ").split())


@given(
    st.sampled_from([1, 2, 100, 513, 4096, 8192, 1 << 20]), st.sampled_from([8, 64, 128, 256]),
    st.sampled_from([1, 16, 64, 128, 1024]), st.sampled_from([1, 64, 256, 1024]), st.sampled_from([1, 228, 1024]),
    st.booleans(), st.sampled_from(training_traffic.BOUNDARIES),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_what_is_said_to_fall_falls(N, d, Br, Bc, sram, causal, boundary):
    plate = Memory(Settings(N=N, d=d, Br=Br, Bc=Bc, sram=sram, causal=causal))
    plate.local.boundary = boundary
    facts = plate.facts()
    problem, tile = plate.settings.problem, plate.settings.tile
    said = " ".join(text.section("memory", "why", facts).split())
    caption = " ".join(text.section("memory", "figure", facts).split())
    moved = [training_traffic.both(model, problem, tile).total for model in ("standard", boundary)]
    fewer = moved[1] < moved[0]
    assert ("does not fall here" in said) == (not fewer)
    assert ("falls by a factor" in said) == (fewer and boundary != "compulsory")
    assert ("becomes linear" in said) == (fewer and boundary == "compulsory")
    work = [roofline.flops(problem, model, tile, direction="both") for model in ("standard", boundary)]
    rises = work[1] >= work[0]
    assert causal or rises
    assert ("rises to" in said) == ("rises a little" in caption) == rises
    assert ("falls by the mask alone" in said) == (not rises)
    assert ("every token with every other" in said) == (not causal)


def test_slopes_of_the_caption_are_those_of_the_curves():
    N = np.array([1 << 18, 1 << 20])
    for boundary in training_traffic.BOUNDARIES:
        found = curves(Problem(), Tile(), GPUS["h100-sxm"], boundary, N)
        slope = {p: {k: np.log(v[1] / v[0]) / np.log(4) for k, v in one.items()} for p, one in found.items()}
        apart = {p for p, one in slope.items() if abs(one["standard"] - one["flash"]) > 0.1}
        assert apart == ({"memory", "traffic"} if boundary == "compulsory" else {"memory"})


@pytest.mark.parametrize("N", [1, 8192])
def test_what_is_kept_instead_of_the_weights_is_named_alone(N):
    plate = Memory(Settings(N=N))
    plate.view()
    strip, rows = 32 * N * 128 * 2, 32 * N * 4
    lead = prose(plate, "_head")
    assert f"{units.bytes_(32 * N * N * 2)} a layer here" in lead
    assert f"in their place, {units.bytes_(strip + rows)}," in lead


def test_a_stored_weight_crosses_as_often_as_the_ledger_says():
    plate = Memory(Settings())
    plate.view()
    lines = [one for one in training_traffic.both("standard", Problem(), Tile()).lines if one.tensor == "P"]
    seconds = sum(one.elements for one in lines) * 32 * 2 / GPUS["h100-sxm"].bandwidth
    assert f"P crosses {len(lines)} times" in prose(plate, "cheaper")
    assert units.seconds(seconds) in prose(plate, "cheaper")


def test_the_tasks_about_tiles_are_true():
    """One link helps the backward pass alone, the other the forward pass alone, and the first saves more."""
    found = re.findall(r"\?boundary=tiled[^)]*", text.sections("memory")["try"])
    start, wide, tall = (dict(part.split("=") for part in one[1:].split("&")) for one in found)

    def passes(query: dict) -> tuple[int, int]:
        problem = Problem(N=int(query["N"]), d=int(query["d"]), causal=query["causal"] == "1")
        tile = Tile(Br=int(query["Br"]), Bc=int(query["Bc"]))
        return tuple(
            f("tiled", problem, tile).total for f in (training_traffic.forward, training_traffic.backward)
        )

    assert passes(wide)[0] == passes(start)[0] and passes(wide)[1] < passes(start)[1]
    assert passes(tall)[1] == passes(start)[1] and passes(tall)[0] < passes(start)[0]
    assert sum(passes(wide)) < sum(passes(tall))
    problem = Problem(N=int(start["N"]), d=int(start["d"]))
    assert training_traffic.both("standard", problem, Tile()).total < 1.2 * sum(passes(start))


def test_the_papers_numbers_stand_on_the_page_with_their_version():
    plate = Memory(Settings())
    plate.view()
    table = plate._texts["figure2"].object
    for cell in ("June 2022", "later text", "66.6 GFLOP", "75.2 GFLOP", "40.3 GB", "35.3 GB", "4.40 GB"):
        assert cell in table
    for cell in ("41.7 ms", "7.30 ms", "35.1 ms", "11.7 ms"):
        assert cell in table
    printed = plate._texts["papermemory"].object
    for row in paper_figures.MEMORY.values():
        assert all(f">{value:,}<" in printed for value in row)


def test_where_computing_again_loses_the_page_says_so():
    wins, loses = Memory(Settings()), Memory(Settings(dtype="fp32"))  # ridge 20: even at d = 40
    for plate, verdict in ((wins, "as fast as a single reading"), (loses, "memory is saved, not time")):
        plate.view()
        assert verdict in plate._texts["cheaper"].object


def test_the_prose_says_it_in_its_corrected_form():
    plate = Memory(Settings())
    plate.view()
    page = " ".join(" ".join(pane.object.split()) for pane in plate._texts.values())
    assert "stays quadratic" in page and "equal in real arithmetic" in page
    assert not re.search(r"bit for bit|identical|last bit", page)


def test_every_label_of_the_picture_exists():
    words = text.labels("memory")
    used = set(re.findall(r"words\.(\w+)", text.static("memory.js") + text.static("transport.js"))) - {"code"}
    used |= {f"title_{name}" for name in ("map", "code", "tile")}
    used |= {f"{kind}_{line}" for line, _, _ in listing() for kind in ("code", "say")}
    assert used <= set(words), used - set(words)
