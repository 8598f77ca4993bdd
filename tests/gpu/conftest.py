"""Tests that need a CUDA GPU. Run them with: python -m pytest -m gpu"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_report_header():
    """What tells one run from another; `python -m workshop measure --tests` keeps these lines of a log."""
    import torch
    import triton

    from workshop.kernels.machine import commit

    names = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    devices = "device: " + (", ".join(names) or "no GPU")
    return [
        devices,
        f"versions: torch {torch.__version__} triton {triton.__version__}",
        f"commit: {commit()}",
    ]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in Path(item.fspath).parents:
            item.add_marker(pytest.mark.gpu)
