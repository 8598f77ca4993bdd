"""The machine itself: its name, versions and limits, its copy bandwidth and matrix rate."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .timing import Flush, Spread, gpu_spread

#: Bytes of the copied buffer and side of the multiplied matrices: far beyond any cache.
COPY_BYTES = 4 << 30
MATMUL_SIDE = 8192


@dataclass(frozen=True)
class Origin:
    """What every row carries about where it was measured."""

    gpu: str
    driver: str
    torch: str
    triton: str
    commit: str


def utc_now() -> str:
    """The time as a recording writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def commit(given: str | None = None) -> str:
    """The commit of the code that measures: as given, from `WORKSHOP_COMMIT`, from git, or "unknown"."""
    named = given or os.environ.get("WORKSHOP_COMMIT")
    if named:
        return named
    root = Path(__file__).resolve().parents[2]
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def origin(device: str, given_commit: str | None = None) -> Origin:
    """Name and versions for `device` ("cuda:0", "cpu")."""
    import torch

    triton = _version("triton")
    if device == "cpu":
        return Origin(
            f"CPU: {cpu_name()}", platform.release(), torch.__version__, triton, commit(given_commit)
        )
    name = torch.cuda.get_device_name(device)
    return Origin(name, _driver(), torch.__version__, triton, commit(given_commit))


def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _driver() -> str:
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        return done.stdout.split()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        pass
    try:
        # The kernel module says it too, where nvidia-smi is not installed.
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
        return next(word for word in text.split() if word.count(".") >= 1 and word[0].isdigit())
    except (OSError, StopIteration):
        return "unknown"


def cpu_name() -> str:
    """The processor's name and number of usable cores."""
    name = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} {'core' if cores == 1 else 'cores'}"


def properties(device: str) -> dict:
    """What the driver says of a CUDA device; keys as `Recording.device` documents them."""
    import torch

    p = torch.cuda.get_device_properties(device)
    return {
        "name": p.name,
        "capability": f"{p.major}.{p.minor}",
        "sms": p.multi_processor_count,
        "memory_bytes": p.total_memory,
        "l2_bytes": p.L2_cache_size,
        "shared_sm_bytes": getattr(p, "shared_memory_per_multiprocessor", None),
        "shared_block_bytes": getattr(p, "shared_memory_per_block_optin", None),
        "registers_sm": getattr(p, "regs_per_multiprocessor", None),
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "python": platform.python_version(),
    }


def copy_bandwidth(device: str, flush: Flush) -> Spread:
    """Bytes read plus bytes written, a second, of a large device-to-device copy."""
    import torch

    source = torch.randint(0, 255, (COPY_BYTES,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    target.copy_(source)
    return _inverse(gpu_spread(lambda: target.copy_(source), flush, 0.2), 2 * COPY_BYTES)


def matmul_rate(device: str, flush: Flush) -> Spread:
    """FLOP a second of a square bf16 matrix product on normal random values (zeros would run faster)."""
    import torch

    side = (MATMUL_SIDE, MATMUL_SIDE)
    a, b = (torch.randn(side, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(10):
        a @ b
    return _inverse(gpu_spread(lambda: a @ b, flush, 0.2), 2 * MATMUL_SIDE**3)


def _inverse(spread: Spread, amount: float) -> Spread:
    # The slowest time is the lowest rate: the percentiles change places.
    return Spread(amount / spread.p80, amount / spread.p50, amount / spread.p20, spread.count)
