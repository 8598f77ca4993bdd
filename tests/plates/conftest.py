"""The machine plate on a recording that holds every case, for the tests of its parts."""

from __future__ import annotations

import pytest

from plates import provenance
from tests.plates import fake_recording
from tests.plates.walk import open_plate
from workshop.recordings.evidence import Evidence


@pytest.fixture(scope="module")
def recorded() -> Evidence:
    """Counters, sweep and errors as shipped, times of every provider made by code."""
    return fake_recording.evidence()


@pytest.fixture
def open_machine(recorded, monkeypatch):
    """Opens the plate on the full recording, or on another ``Evidence``."""

    def open_(query: str = "", found: Evidence | None = recorded):
        monkeypatch.setattr(provenance, "evidence", lambda: found)
        return open_plate("machine", query)

    return open_
