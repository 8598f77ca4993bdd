"""A live run as it comes in, message by message, and as a `Recording` when it is complete."""

from __future__ import annotations

from types import SimpleNamespace

from workshop.recordings import CASE_COLUMNS, UNITS, Recording, Row

from .identify import peak_flops, remarks
from .machine import utc_now
from .method import CPU_METHOD, METHOD
from .plan import Case
from .requests import Request


class Collected:
    """The figures and notes of one run so far."""

    def __init__(self, request: Request, said: tuple[str, ...] = ()):
        self.request, self.said = request, list(said)
        self.figures: list[tuple[Case, dict]] = []
        self.notes: dict[str, list[dict]] = {"refused": [], "skipped": [], "failed": []}
        self.peaks: list[dict] = []
        self.paths: list[dict] = []
        #: What the worker is at, for the sentence about a crash.
        self.doing = ""

    def take(self, message: dict) -> tuple[str, float]:
        """Take a `progress`, `figure` or `note` message in; returns a sentence and the share done."""
        total = len(self.request.cases())
        event = message["event"]
        if event == "progress":
            self.doing = f"{message['stage']}: {message['provider']}"
            part = {"compiling and running once": 0.0, "timing": 0.4, "comparing with float64": 0.9}
            inside = part.get(message["stage"], 0.0)
            if message["stage"] == "timing":
                inside += 0.5 * message["done"] / max(1, message["of"])
            return f"{message['provider']}: {message['stage']}.", (message["case"] + inside) / total
        case = Case(**message["case"])
        if event == "figure":
            self.figures.append((case, message["figures"]))
            self.peaks.append({"case": case.record(), "bytes": message["peak_bytes"]})
            if message["path"]:
                self.paths.append({"case": case.record(), "path": message["path"]})
            sentence = f"{case.provider}: measured."
        else:
            entry = {
                key: message[key]
                for key in ("case", "sentence", "resource", "required", "limit")
                if key in message
            }
            self.notes[message["kind"]].append(entry)
            sentence = f"{case.provider}: {message['sentence']}."
        return sentence, (len(self.figures) + sum(map(len, self.notes.values()))) / total

    def finish(self, hello: dict) -> tuple[Recording, tuple[str, ...]]:
        """The run as a `Recording` with origin "live", and what must be said beside it."""
        origin, device = hello["origin"], hello["device"]
        now, gpu = utc_now(), origin["gpu"]
        rows = tuple(
            Row(
                **_cells(case),
                metric=metric,
                unit=UNITS[metric],
                p20=p[0],
                p50=p[1],
                p80=p[2],
                **origin,
                time=now,
            )
            for case, figures in self.figures
            for metric, p in figures.items()
        )
        for row in rows:
            if row.metric == "time":
                case = Case(**{name: getattr(row, name) for name in CASE_COLUMNS})
                self.said += remarks(case, SimpleNamespace(p20=row.p20, p50=row.p50, p80=row.p80), gpu)
        if gpu.startswith("CPU"):
            method = CPU_METHOD
        else:
            method = METHOD
            if peak_flops(gpu, self.request.dtype) is None:
                self.said.append(
                    f"No data-sheet peak of {gpu} is known here, so rates are not checked against one."
                )
        provenance = {
            "device": device,
            "method": method,
            "peak_bytes": self.peaks,
            "paths": self.paths,
            **self.notes,
        }
        return Recording("live", rows, provenance, origin="live"), tuple(self.said)

    def summary(self, result: Recording) -> str:
        """The last sentence of a run: how many kernels were measured, and why the others were not."""
        timed = len(result.where(metric="time"))
        missing = [f"{note.case['provider']}: {note.sentence}" for note in result.notes]
        head = f"Measured {timed} {'kernel' if timed == 1 else 'kernels'}"
        where = result.rows[0].gpu if result.rows else ""
        return f"{head}{f' on {where}' if where else ''}." + "".join(f" {text}." for text in missing)


def _cells(case: Case) -> dict:
    return {name: getattr(case, name) for name in CASE_COLUMNS}
