"""A stand-in for the compiling process: same protocol, behaviour chosen by the head size that is asked.

Run as `python compiler_stub.py LOG SCRATCH`; LOG gets one line for each start and each request.
"""

import json
import os
import signal
import sys
import time

SLOW, CRASH, REFUSE, FAIL, EXIT, NOISE, SLOW_ADVICE, GARBAGE, SLOW_PADDED = 16, 24, 32, 40, 48, 56, 88, 96, 9


def reply(options):
    if options["d"] in (SLOW, SLOW_PADDED):
        time.sleep(60)
    if options["d"] == SLOW_ADVICE and options["Bc"] < 1024:
        time.sleep(60)
    if options["d"] == CRASH:
        os.kill(os.getpid(), signal.SIGKILL)
    if options["d"] == EXIT:
        print("the compiler said goodbye", file=sys.stderr)
        raise SystemExit(3)
    if options["d"] == REFUSE:
        return {"refused": "Triton does not build this."}
    if options["d"] == FAIL:
        return {"failed": "Something else went wrong."}
    if options["d"] == GARBAGE:
        return {"report": {"registers": 1}}
    if options["d"] == NOISE:
        print("a line that is not JSON", flush=True)
    from workshop.kernels.compile_report import triton_version
    from workshop.kernels.compile_source import kernel_hash

    report = {
        "options": options,
        # Q and one K, V pair a stage: an exact stand-in is not needed, one that grows with the tile is.
        "shared_bytes": 2 * options["d"] * (options["Br"] + 2 * options["stages"] * options["Bc"]),
        "tensor_columns": 0,
        "registers": 128,
        "stack_bytes": 0,
        "instructions": {"HGMMA": 16, "MUFU.EX2": 34, "LDL": 0, "STL": 0},
        "instruction_total": 500,
        "triton": triton_version() or "none",
        "kernel_hash": kernel_hash(options["kernel"]),
        "program_hash": "0",
        "seconds": 0.01,
    }
    return {"report": report}


def main():
    log = open(sys.argv[1], "a", encoding="utf-8")
    print("start", os.getpid(), sys.argv[2], file=log, flush=True)
    for line in sys.stdin:
        options = json.loads(line)["options"]
        print("ask", options["Br"], options["Bc"], options["d"], options["stages"], file=log, flush=True)
        print(json.dumps(reply(options)), flush=True)


if __name__ == "__main__":
    main()
