"""Plate `machine`: errors keep their rule, and every picture says where it is from."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from plates import machine_error, machine_time, text
from tests.plates import fake_recording
from tests.plates.machine_page import html
from tests.plates.walk import complaints
from workshop import recordings
from workshop.hardware import GPUS
from workshop.recordings import PROVIDERS, Recording
from workshop.recordings.curves import case_of
from workshop.recordings.evidence import Evidence

H200 = GPUS["h200-sxm"]
WORDS = text.labels("machine")


@pytest.mark.parametrize("query", ["", "&d=64&causal=1&dtype=fp16", "&direction=both", "&dtype=fp32"])
def test_errors_and_their_rule(open_machine, query):
    shipped = recordings.load("h200")
    atlas = open_machine(query, Evidence(shipped))
    plate = atlas.plates["machine"]
    drawn = {p: s.data for p, s in plate._errors.sources.items() if len(s.data["x"])}
    rows = plate._latest["_"].errors.rows
    assert set(drawn) == {p for p, row in rows.items() if row.p50 > 0} and "standard" in drawn
    for provider, data in drawn.items():
        assert data["x"] == [rows[provider].p50]
        assert rows[provider].dtype == (atlas.settings.dtype)
    assert plate._errors._rule.location == 2 * rows["standard"].p50
    for provider, row in rows.items():
        assert (row.p50 > 2 * rows["standard"].p50) == (
            f"Above the line: {WORDS[f'provider_{provider}']}" in html(atlas)
        )


def test_a_broken_rule_is_said(open_machine, recorded):
    rows = tuple(
        replace(row, p20=row.p20 * 9, p50=row.p50 * 9, p80=row.p80 * 9)
        if row.metric == "error-max" and row.provider == "sdpa-flash"
        else row
        for row in recorded.recording.rows
    )
    page = html(open_machine("", Evidence(replace(recorded.recording, rows=rows))))
    assert "Above the line: SDPA, FlashAttention-2" in page and "Every kernel keeps the rule" not in page


def test_an_error_is_written_as_a_power():
    assert machine_error.number(1.954e-3) == "1.95 × 10⁻³"
    assert machine_error.number(0) == "0"


def test_provenance_under_every_recorded_figure(open_machine):
    atlas = open_machine("", Evidence(recordings.load("h200")))
    blocks = atlas.plates["machine"]._latest["blocks"]
    for name in ("bytes_from", "law_from", "times_from", "sweep_from", "error_from"):
        said = blocks[name]
        for needed in ("NVIDIA H200", "driver ", "torch ", "triton ", "commit ", "2026-11-29"):
            assert needed in said, (name, needed)
    for name in ("bytes_from", "times_from", "sweep_from", "error_from"):
        assert "How it was measured" in blocks[name], name


def test_nothing_reads_as_live_before_a_run(open_machine):
    page = html(open_machine())
    assert "kind-live" not in page
    for column in ("lanesfigure", "lawfigure", "passesfigure", "ratefigure", "secondsfigure", "sweepfigure"):
        assert "{{ model_tag }}" in text.sections("machine")[column], column
    captions = re.findall(r'<div class="figcaption">.*?</div>', page, re.DOTALL)
    assert len(captions) == 7
    assert all("kind-recorded" in caption for caption in captions)
    assert sum("kind-model" in caption for caption in captions) == 6  # errors have no model


@pytest.mark.parametrize(
    "part",
    [
        None,
        {"metric": "time"},
        {"metric": "error-max"},
        {"metric": ("matmul-rate", "copy-bandwidth")},
        {"provider": "standard"},
    ],
)
def test_missing_rows_are_named_not_hidden(open_machine, recorded, part):
    found = None if part is None else Evidence(recorded.recording.where(**part))
    atlas = open_machine("", found)
    assert not complaints(atlas)
    page = html(atlas)
    if part is None:
        assert WORDS["no_recording"] in page
    elif part != {"metric": "time"}:
        assert WORDS["no_sweep"] in page
    if part is not None:
        assert WORDS["no_counters"] in page
    atlas.settings.param.update(N=100, causal=True, dtype="fp8", d=8)
    assert not complaints(atlas) and not atlas._trouble


def test_a_recording_without_rows_is_no_recording(open_machine):
    assert WORDS["no_recording"] in html(open_machine("", Evidence(Recording("empty", ()))))


def test_every_label_has_words():
    for provider in PROVIDERS:
        assert WORDS[f"provider_{provider}"] and WORDS[f"short_{provider}"]
        assert provider in machine_time.ROLE and provider in machine_time.MARK
    assert case_of(fake_recording.full().where(metric="time").rows[0]).flops() > 0
