"""Model beside counter at every boundary of the memory hierarchy, for a case that a recording counted.

From the chip outwards: what arrives in L1 and shared memory is `tiled`; what DRAM gives is `compulsory` while
the K and V of the heads in flight stay in the L2, and `waves` once those of one head alone do not fit.
Between the two lies an edge where neither holds, and nothing is claimed. The thresholds are read off the
H200's own recording.
"""

from __future__ import annotations

from dataclasses import dataclass

from workshop.kernels.counters import blocks_per_sm
from workshop.problem import Problem, Tile
from workshop.traffic import ledger
from workshop.waves import wave_passes

from . import Recording, Row

#: Shares of the reported L2. An H200's L2 is two halves, each a cache for the multiprocessors next to it, so data
#: that all of them read is held twice: `waves` begins where K and V of a head pass one half. `compulsory` ends
#: before, because Q, O and other blocks' progress want room too.
COMPULSORY_UP_TO, WAVES_FROM = 0.30, 0.50
#: Blocks on a multiprocessor up to which the blocks of a wave keep step. With four or five they can drift
#: apart until each reads K and V by itself, the more the longer the head: then DRAM gives several times `waves`.
IN_STEP = 3
#: Bars of the claims: relative difference of counter and model.
BARS = {"L1": 0.01, "DRAM": 0.10}


@dataclass(frozen=True)
class Boundary:
    """One boundary of one case, bytes read across it by one call, all heads.

    level: "L1", "L2" or "DRAM". counted, low, high: median, 20th and 80th percentile. model: name in
    `workshop.traffic.MODELS`, or None where no model here speaks of that boundary; modelled: its bytes.
    claimed: whether the product says that the two agree, within `BARS`. sentence: why, or why not.
    """

    level: str
    counted: float
    low: float
    high: float
    model: str | None
    modelled: float | None
    claimed: bool
    sentence: str

    @property
    def residual(self) -> float | None:
        """(counted - modelled) / modelled; None without a model."""
        return None if self.modelled is None else self.counted / self.modelled - 1


def counted_cases(recording: Recording, provider: str = "teaching") -> tuple[Row, ...]:
    """One row for each case whose counters were read."""
    return recording.where(metric="dram-read", provider=provider).rows


def counters_of(recording: Recording, row: Row) -> dict[str, float]:
    """Counters of the case's largest kernel, one launch, by the names of `workshop.kernels.counters.NCU`.

    Raises:
        ValueError: the recording has none for this case.
    """
    case = row.case()
    kernels = [k["counters"] for k in recording.kernels if k["case"] == case and k["launch"] == 0]
    if not kernels:
        raise ValueError(f"expected counters of {case} in {recording.name}, got none")
    return max(kernels, key=lambda counters: counters["duration"])


def resident_blocks(recording: Recording, row: Row) -> int:
    """Blocks of the case's kernel that the whole GPU holds at once, as the profiler derives it from
    registers, shared memory and warps."""
    return recording.device["sms"] * blocks_per_sm(counters_of(recording, row))


def boundaries(recording: Recording, row: Row) -> tuple[Boundary, ...]:
    """L1, L2 and DRAM of one counted case of the teaching kernel, forward.

    Args:
        row: any row of the case, for instance one of `counted_cases`.
    Raises:
        ValueError: the recording did not count this case.
    """
    counters_of(recording, row)
    problem = row.problem()
    tile = Tile(Br=row.Br, Bc=row.Bc)
    size = problem.heads * problem.element_bytes
    tiled = ledger("tiled", problem, tile).reads * size
    l1 = _boundary(
        recording, row, "L1", "l1-load", "tiled", tiled, True, "Q once, K and V once for each Q block"
    )
    l2 = _boundary(
        recording,
        row,
        "L2",
        "l2",
        None,
        None,
        False,
        "below L1's loads: neighbouring multiprocessors that ask for the same line can be answered by one read; "
        "writes, spilled registers among them, are in it",
    )
    return l1, l2, _dram(recording, row, problem, tile)


def _dram(recording: Recording, row: Row, problem: Problem, tile: Tile) -> Boundary:
    resident, heads = resident_blocks(recording, row), problem.heads
    per_sm = resident // recording.device["sms"]
    Tr = -(-problem.N // tile.Br)
    l2 = recording.device["l2_bytes"]
    head = 2 * problem.N * problem.d * problem.element_bytes
    megabytes = f"K and V of a head, {head / 1e6:.1f} MB"
    # R blocks in a row touch R / Tr + 1 heads on average.
    in_flight = min(heads, resident / Tr + 1)
    if in_flight * head <= COMPULSORY_UP_TO * l2:
        reads = ledger("compulsory", problem, tile).reads * heads * problem.element_bytes
        said = f"{megabytes}, times {in_flight:.1f} heads in flight, stay in an L2 of {l2 / 1e6:.1f} MB"
        return _boundary(recording, row, "DRAM", "dram-read", "compulsory", reads, True, said)
    passes = wave_passes(Tr, resident, heads)
    reads = heads * head / 2 + passes * head
    claimed = False
    if problem.causal:
        reads = ledger("waves", problem, tile).reads * heads * problem.element_bytes
        said = "causal: blocks end at different times, so waves blur; the model is an upper estimate"
    elif head < WAVES_FROM * l2:
        said = (
            f"at the edge of an L2 of {l2 / 1e6:.1f} MB: {megabytes}, times {in_flight:.1f} heads in flight, are "
            "neither small nor large beside it"
        )
    elif per_sm > IN_STEP:
        said = (
            f"{per_sm} blocks on a multiprocessor can fall out of step: then a wave does not read K and V together, "
            "and DRAM gives more than waves"
        )
    else:
        claimed = True
        said = (
            f"{megabytes}, are read once for each wave of {resident} resident blocks: {passes} passes over {heads} "
            f"{'head' if heads == 1 else 'heads'}"
        )
    return _boundary(recording, row, "DRAM", "dram-read", "waves", reads, claimed, said)


def _boundary(recording, row, level, metric, model, modelled, claimed, sentence) -> Boundary:
    figure = recording.one(**row.case(), metric=metric)
    return Boundary(level, figure.p50, figure.p20, figure.p80, model, modelled, claimed, sentence)
