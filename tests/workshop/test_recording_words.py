"""What the recordings' README says in words is so in the shipped figures, and says no figure that would go stale."""

from __future__ import annotations

import re
from pathlib import Path

from workshop import recordings
from workshop.recordings.evidence import Evidence, agrees

README = " ".join((Path(recordings.__file__).parent / "README.md").read_text(encoding="utf-8").split())


def test_blocks_out_of_step_take_several_times_the_bytes_of_waves():
    assert "several times the bytes of `waves`" in README
    assert not re.search(r"\d+(\.\d+)? times the bytes", README)
    found = Evidence(recordings.load("h200"))
    apart = [
        (case, case.level("DRAM").counted / case.level("DRAM").modelled)
        for case in found.cases
        if case.out_of_step and case.level("DRAM").model == "waves"
    ]
    assert max(ratio for _, ratio in apart) > 2
    # the more the longer the head, on one shape
    heads = sorted(
        (c.row.N, r) for c, r in apart if (c.row.d, c.row.Br, c.row.Bc, c.row.heads) == (64, 64, 64, 1)
    )
    assert len(heads) > 1 and [r for _, r in heads] == sorted(r for _, r in heads)


def test_claimed_agreements_are_those_of_the_readme():
    found = Evidence(recordings.load("h200"))
    assert "`tiled`, within 1 % on every case" in README
    assert all(agrees(case.level("L1")) for case in found.cases)
    causal = [
        case.level("DRAM").residual
        for case in found.cases
        if case.row.causal and case.level("DRAM").model == "waves"
    ]
    assert "causal long heads (about 10 % below the model)" in README
    assert causal and all(-0.15 < residual < -0.05 for residual in causal)
