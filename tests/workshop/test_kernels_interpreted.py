"""The kernels run on the CPU: `interpreted_kernels` in a process of its own, where Triton interprets."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux only", exc_type=ImportError)
ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(280)
def test_kernels_in_triton_s_interpreter(tmp_path):
    log = tmp_path / "interpreted.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junit-xml={log}"]
    command.append("tests/workshop/interpreted_kernels.py")
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    suite = ElementTree.parse(log).getroot().find("testsuite")
    assert int(suite.get("tests")) > 100
    assert int(suite.get("skipped")) == 0
