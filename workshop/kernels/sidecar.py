"""The JSON beside a recording: the machine, the method, and every case that has no figure, with the
reason."""

from __future__ import annotations

import json
import os
from pathlib import Path

from .method import METHOD
from .plan import Case


class Sidecar:
    """Reads, changes and saves `NAME.json`; every change reaches the disk at once, whole or not at all."""

    def __init__(self, recording: Path):
        self.path = Path(recording).with_suffix(".json")
        self.data: dict = {"recording": Path(recording).name, "method": METHOD}
        if self.path.exists():
            self.data |= json.loads(self.path.read_text(encoding="utf-8"))
        for kind in ("refused", "skipped", "failed", "kernels"):
            self.data.setdefault(kind, [])

    def save(self) -> None:
        text = json.dumps(self.data, indent=1, ensure_ascii=False, sort_keys=False) + "\n"
        part = self.path.with_suffix(".json.part")
        part.write_text(text, encoding="utf-8")
        os.replace(part, self.path)

    def set(self, **values) -> None:
        """Replace whole entries: `device`, `tests`, ..."""
        self.data |= values
        self.save()

    def note(self, kind: str, what: str, case: Case, sentence: str, **more) -> None:
        """Say why `case` has no figure of kind `what` ("time", "error", "counters")."""
        entries = [e for e in self.data[kind] if (e["what"], e["case"]) != (what, case.record())]
        self.data[kind] = [*entries, {"what": what, "case": case.record(), "sentence": sentence, **more}]
        self.save()

    def noted(self, what: str, case: Case) -> bool:
        """Whether the case is known to have no figure of this kind."""
        wanted = (what, case.record())
        return any(
            (e["what"], e["case"]) == wanted for k in ("refused", "skipped", "failed") for e in self.data[k]
        )

    def answered(self, what: str, case: Case) -> None:
        """Drop the notes of a case that has its figure after all."""
        for kind in ("skipped", "failed"):
            self.data[kind] = [e for e in self.data[kind] if (e["what"], e["case"]) != (what, case.record())]

    def forget_failures(self) -> None:
        """Drop skips and failures, so that a resumed run tries them again; refusals are facts and stay."""
        self.set(skipped=[], failed=[])

    def add_kernels(self, entries: list[dict]) -> None:
        self.set(kernels=[*self.data["kernels"], *entries])
