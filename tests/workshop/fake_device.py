"""A worker process with a device that obeys: what a case does is told by its N. Not collected by pytest.

The protocol, the queue and the sentences under test are the real ones; only the device is not.
"""

import os
import signal
import sys
import time

from workshop.kernels.worker import Channel, serve

NORMAL, SLOW, DEAF, CRASH, EXIT, REFUSE, ABSURD, NO_ROOM, RAISE, NOISY = range(512, 522)


class OutOfResources(Exception):
    """Looks as Triton's does: the product goes by the name, so as not to need triton."""

    def __init__(self, required, limit, name):
        self.required, self.limit, self.name = required, limit, name


class FakeBench:
    origin = {"gpu": "NVIDIA H200", "driver": "1.0", "torch": "2.0", "triton": "3.0", "commit": "abc"}  # noqa: RUF012
    device = {"name": "NVIDIA H200", "sms": 132}  # noqa: RUF012

    def refuse(self, case):
        if case.provider == "standard" and case.N == NO_ROOM:
            return "the N x N matrices do not fit, so it was not started"
        return None

    def run(self, case, check, between):
        if case.N == CRASH:
            print("about to touch address 0", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if case.N == EXIT:
            sys.exit(9)
        if case.N == RAISE:
            raise ValueError("Br: expected a power of two, got 48")
        if case.N == REFUSE and case.provider == "teaching":
            raise OutOfResources(278528, 232448, "shared memory")
        if case.N == DEAF:
            time.sleep(60)
        if case.N == NOISY:
            print("a library's chatter")
            os.write(1, b"more of it\n")
        for done in range(100 if case.N == SLOW else 3):
            between("timing", done, 100 if case.N == SLOW else 3)
            time.sleep(0.05 if case.N == SLOW else 0)
        seconds = 1e-12 if case.N == ABSURD else case.flops() / 400e12
        figures = {"time": [seconds, seconds, seconds * (2 if case.N == NORMAL + 64 else 1)]}
        if check:
            figures["error-max"] = [1e-3] * 3
        return {"case": case.record(), "path": "", "figures": figures, "peak_bytes": 1 << 20, "count": 3}


if __name__ == "__main__":
    sink = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(Channel(sys.stdin, sink), FakeBench())
