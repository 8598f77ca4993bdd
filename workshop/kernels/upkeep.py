"""What is done to a recording after its run: a kept ncu table read in, a commit named, a test summary attached."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

from workshop.recordings.schema import append_rows, read_rows

from . import count
from .machine import Origin
from .measure import Session
from .plan import Case
from .sidecar import Sidecar

#: What `--commit` says for a run of code that is not committed yet; see `--committed-as`.
UNCOMMITTED = "uncommitted"


def read_table(args) -> int:
    """Read a kept table into the recording of the run that made it, as that run would have; its rows carry
    the machine and versions of the rows already there, and the time the table was written."""
    rows = read_rows(args.out)
    cases = [
        Case(**case) for case in json.loads(args.read_ncu.with_suffix(".json").read_text(encoding="utf-8"))
    ]
    last = rows[-1]
    named = SimpleNamespace(origin=Origin(last.gpu, last.driver, last.torch, last.triton, last.commit))
    written = datetime.fromtimestamp(args.read_ncu.stat().st_mtime, UTC)
    found = count.collect(
        args.read_ncu, cases, Session(args.out, named), written.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    print(f"counters of {found} of {len(cases)} cases read", file=sys.stderr)
    return 0


def name_commit(args) -> int:
    """Give the rows of a run made before its code was committed the commit that the code went into."""
    rows = read_rows(args.out)
    named = [replace(row, commit=args.committed_as) if row.commit == UNCOMMITTED else row for row in rows]
    part = args.out.with_suffix(".csv.part")
    part.unlink(missing_ok=True)
    append_rows(part, named)
    os.replace(part, args.out)
    changed = sum(row.commit == UNCOMMITTED for row in rows)
    print(f"{changed} of {len(rows)} rows named {args.committed_as}", file=sys.stderr)
    return 0


def attach_tests(args) -> int:
    """Put the summary of a pytest log (its last line and its failures) into the recording's JSON."""
    lines = [line.strip("= \n") for line in args.tests.read_text(encoding="utf-8").splitlines()]
    summary = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    last = next((line for line in reversed(lines) if " passed" in line or " failed" in line), None)
    if last is None:
        print(f"--tests: expected a pytest log with a summary line, got {args.tests}", file=sys.stderr)
        return 2
    headers = [line for line in lines if line.startswith(("device:", "versions:", "commit:", "platform "))]
    Sidecar(args.out).set(tests={"summary": last, "failures": summary, "about": headers})
    return 0
