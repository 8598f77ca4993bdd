"""What tests of plates share: a document that is served, and the machine plate on a recording that holds every case."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from plates import provenance
from tests.plates import fake_recording
from tests.plates.walk import open_plate
from workshop.recordings.evidence import Evidence


@pytest.fixture
def served(monkeypatch):
    """A document with a reader at the other end, to whom the page has not been sent."""
    doc = Document()
    asked = SimpleNamespace(arguments={}, headers={}, cookies={})
    reader = SimpleNamespace(id="reader", destroyed=False, request=asked, session=None)
    monkeypatch.setattr(doc, "_session_context", lambda: reader)
    with set_curdoc(doc):
        yield doc


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
