"""The served app as a process of its own, started with the command of the README."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]


def free_port() -> int:
    """Return a TCP port that is free now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(
    script: Path, port: int, log: Path, options: tuple[str, ...] | list[str] = (), **env: str
) -> subprocess.Popen:
    """Serve ``script`` with the command of the README on ``port`` and wait until it answers."""
    command = [sys.executable, "-m", "panel", "serve", str(script), "--port", str(port)]
    command += ["--allow-websocket-origin", f"localhost:{port}", *options]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **env}
        )
    url = f"http://localhost:{port}/{script.stem}"
    for _ in range(480):
        if process.poll() is not None:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{log.read_text()}")
        try:
            with urllib.request.urlopen(url, timeout=30):
                return process
        except OSError:
            time.sleep(0.25)
    process.kill()
    raise RuntimeError(f"{url} did not answer within 120 s:\n{log.read_text()}")
