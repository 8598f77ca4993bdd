"""The process that compiles for the page, apart from the server: one build at a time, JSON lines in and out.

It is started by `compile_service`. In: `{"options": {...}}`. Out: `{"report": {...}}`, `{"refused": "sentence"}`
or `{"failed": "sentence"}` (an error of ours, not to be remembered). End-of-file on its input ends the process and
whatever it has started, also in the middle of a build: the compiler must not outlive the server.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import traceback
from pathlib import Path


def prepare(scratch: Path):
    """Makes this process fit to compile: a group of its own, low priority, clean settings, private files.

    Returns the stream for answers. What the compiler prints goes to the error output instead.
    """
    if hasattr(os, "setsid"):
        try:
            os.setsid()
        except PermissionError:
            pass  # already at the head of a group
        os.nice(10)
    # A reader's figures must not depend on how the server's shell was set up; paths to tools may.
    for name in [name for name in os.environ if name.startswith("TRITON_") and not name.endswith("_PATH")]:
        del os.environ[name]
    for name in ("DISABLE_PTXAS_OPT", "PTXAS_OPTIONS", "MLIR_ENABLE_DUMP", "LLVM_IR_ENABLE_DUMP"):
        os.environ.pop(name, None)
    # The assembler's intermediate files: the service removes the folder when it ends this process.
    os.environ["TMPDIR"] = str(scratch)
    # Triton looks at torch's types if there are any. Compiling needs none, and loading torch takes a second.
    sys.modules.setdefault("torch", None)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def listen(source, jobs: queue.Queue) -> None:
    """Puts requests into the queue; ends the process and its children when the input ends."""
    for line in source:
        jobs.put(json.loads(line))
    if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def answer(request: dict) -> dict:
    """The reply to one request."""
    from .compile_options import Options
    from .compile_report import CannotCompile, TritonMissing, build

    try:
        return {"report": build(Options(**request["options"])).record()}
    except TritonMissing as missing:
        return {"failed": str(missing)}
    except CannotCompile as refused:
        return {"refused": str(refused)}
    except Exception as error:
        traceback.print_exc()
        return {"failed": f"The compiler's worker met an error: {type(error).__name__}: {error}"}


def main() -> None:
    """Answers until the input ends."""
    answers = prepare(Path(sys.argv[1]))
    jobs: queue.Queue = queue.Queue()
    threading.Thread(target=listen, args=(sys.stdin, jobs), daemon=True).start()
    while True:
        reply = answer(jobs.get())
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
