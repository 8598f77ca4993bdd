"""The schedule model: lanes never overlap, nothing starts before what it needs, and published ratios come out."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop import schedule as model
from workshop.generations import GENERATIONS, UNITS
from workshop.problem import LIMITS, Problem, Tile
from workshop.schedule import KINDS, LANES, durations, schedule

GENERATION = st.sampled_from(list(GENERATIONS.values()))
CHIP = st.sampled_from(list(UNITS.values()))
SETTINGS = (
    st.builds(Problem, d=st.integers(*LIMITS["d"]), dtype=st.sampled_from(["bf16", "fp16", "fp32", "fp8"])),
    st.builds(Tile, Br=st.integers(*LIMITS["Br"]), Bc=st.integers(*LIMITS["Bc"])),
)


@given(GENERATION, CHIP, *SETTINGS)
@settings(max_examples=80)
def test_a_schedule_is_one_that_a_machine_could_run(generation, units, problem, tile):
    found = schedule(generation, units, problem, tile)
    for lane in LANES:
        tasks = [t for t in found.tasks if t.lane == lane]
        assert tasks, lane
        for a, b in itertools.pairwise(tasks):
            assert a.end <= b.start
    for task in found.tasks:
        assert 0 <= task.start < task.end
        for number in task.needs:
            assert found.tasks[number].end <= task.start
    # every tile of scores is followed by its own weights and its own output
    order = {(t.kind, t.visit, t.part): t for t in found.tasks}
    for (kind, visit, part), task in order.items():
        if kind == "output":
            assert order["scores", visit, part].end <= order["softmax", visit, part].start
            assert order["softmax", visit, part].end <= task.start
    assert found.period >= max(found.work.values()) * (1 - 1e-9)
    assert all(0 < found.busy(lane) <= 1 + 1e-9 for lane in LANES)


@pytest.mark.parametrize("units", UNITS.values(), ids=list(UNITS))
def test_the_rates_fit_the_data_sheet_at_a_clock_such_chips_have(units):
    """peak = multiprocessors x FLOP a clock x clock. A100: boost 1,410 MHz (NVIDIA white paper)."""
    clock = units.record.peak["bf16"] / units.record.sms / units.tensor
    assert 1.3e9 < clock < 2.0e9
    if units.gpu.startswith("a100"):
        assert clock == pytest.approx(1.410e9, rel=1e-3)


def test_exponentials_take_half_the_time_of_the_products_on_an_h100_at_128():
    """Shah et al., FlashAttention-3 (2024), 3.1: 512 matmul FLOP an exponential, 256 times the throughput."""
    for chip, expected in (("a100", 0.25), ("h100", 0.5), ("b200", 1.0)):
        time = durations(GENERATIONS["fa2"], UNITS[chip], Problem(d=128), Tile())
        assert time["softmax"] / (time["scores"] + time["output"]) == pytest.approx(expected)
    # in fp8 the products take half as long
    time = durations(GENERATIONS["fa3"], UNITS["h100"], Problem(d=128, dtype="fp8"), Tile())
    assert time["softmax"] / (time["scores"] + time["output"]) == pytest.approx(1.0, rel=1e-3)


def test_a_tile_of_128_takes_1024_clocks_of_a_b200s_tensor_cores():
    """4 x 128^3 FLOP at 8,192 a clock; exponentials 128^2 / 16 as many (Zadouri et al., FlashAttention-4, 2026)."""
    time = durations(GENERATIONS["fa2"], UNITS["b200"], Problem(d=128), Tile(Br=128, Bc=128))
    assert time["scores"] + time["output"] == 1024
    assert time["softmax"] == 1024


def test_serial_loops_take_the_sum_of_their_parts():
    problem, tile = Problem(d=128), Tile(Br=128, Bc=64)
    time = durations(GENERATIONS["fa1"], UNITS["a100"], problem, tile)
    assert schedule(GENERATIONS["fa1"], UNITS["a100"], problem, tile).period == pytest.approx(
        sum(time.values())
    )
    time = durations(GENERATIONS["fa2"], UNITS["a100"], problem, tile)
    hidden = sum(time.values()) - time["load"]  # loads come ahead of time
    found = schedule(GENERATIONS["fa2"], UNITS["a100"], problem, tile)
    assert found.period == pytest.approx(hidden)
    assert found.serial


def test_each_generation_keeps_its_chips_tensor_cores_busier_than_the_last_would():
    problem, tile = Problem(d=128), Tile(Br=128, Bc=64)

    def busy(slug, chip):
        return schedule(GENERATIONS[slug], UNITS[chip], problem, tile).busy("matmul")

    assert busy("fa1", "a100") < busy("fa2", "a100")
    assert busy("fa2", "h100") < busy("fa3", "h100")
    assert busy("fa3", "b200") < busy("fa4", "b200")
    # the same order of work leaves faster tensor cores idler
    assert busy("fa2", "b200") < busy("fa2", "h100") < busy("fa2", "a100")


@pytest.mark.parametrize("generation", GENERATIONS.values(), ids=list(GENERATIONS))
def test_the_model_is_a_bound_on_what_was_published(generation):
    """At the tiles their authors name for d = 128 (128 x 64 on Ampere, 128 x 128 later)."""
    tile = Tile(Br=128, Bc=64 if generation.chip == "a100" else 128)
    found = schedule(generation, UNITS[generation.chip], Problem(d=128), tile)
    low, high = generation.published
    assert 0 < low <= high <= 1
    assert found.busy("matmul") >= high - 0.005


def test_without_polynomials_a_b200_waits_for_its_exponential_units_at_small_heads():
    problem, tile = Problem(d=64), Tile(Br=128, Bc=128)
    found = schedule(GENERATIONS["fa4"], UNITS["b200"], problem, tile)
    assert found.binding == "exponential"
    assert not found.serial


def shortened(kind: str, generation, units, problem, tile):
    """The schedule if one kind of task took a little less time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            model, "durations", lambda *given: {**durations(*given), kind: 0.99 * durations(*given)[kind]}
        )
        return schedule(generation, units, problem, tile)


@given(GENERATION, CHIP, *SETTINGS)
@settings(max_examples=60, deadline=None)
def test_only_what_is_on_the_chain_sets_the_period(generation, units, problem, tile):
    found = schedule(generation, units, problem, tile)
    assert found.chain and set(found.chain) <= set(KINDS)
    for kind in set(KINDS) - set(found.chain):
        assert shortened(kind, generation, units, problem, tile).period >= found.period * (1 - 1e-9), kind
    if found.serial:
        lanes = {task.lane for task in found.tasks if task.kind in found.chain}
        assert len(lanes) > 1, "units that wait for one another are several"


@pytest.mark.parametrize("chip", UNITS)
@pytest.mark.parametrize("slug", ["fa1", "fa2"])
def test_where_one_thing_follows_another_each_of_the_chain_counts(slug, chip):
    problem, tile = Problem(d=128), Tile(Br=128, Bc=64)
    found = schedule(GENERATIONS[slug], UNITS[chip], problem, tile)
    assert found.serial
    assert ("load" in found.chain) == (slug == "fa1"), "K and V arrive ahead of time from FlashAttention-2 on"
    assert {"scores", "softmax", "rescale", "output"} <= set(found.chain)
    for kind in found.chain:
        quicker = shortened(kind, GENERATIONS[slug], UNITS[chip], problem, tile)
        assert quicker.period < found.period * (1 - 1e-9), kind
