"""Compile reports on disk, one small JSON file each, in the user's cache folder.

The folder's name carries the Triton version and the hash of the kernel's source, the file's name the options, so an
entry can never be read for another compiler or another kernel. Writing is atomic (a temporary file, then a
rename), reading distrusts what it finds, and a folder that cannot be written only means that nothing is kept.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from .compile_options import Options
from .compile_report import Report, triton_version
from .compile_source import kernel_hash

APPLICATION = "flashattention-workshop"


def cache_folder() -> Path:
    """Where this user's caches go: XDG on Linux, ~/Library/Caches on macOS, %LOCALAPPDATA% on Windows."""
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        given = os.environ.get("XDG_CACHE_HOME", "")
        # The XDG rule: a relative path is to be ignored.
        base = Path(given) if os.path.isabs(given) else Path.home() / ".cache"
    return base / APPLICATION


class Cache:
    """A folder of reports. `folder` defaults to the user's; `version` to the installed Triton."""

    def __init__(self, folder: Path | None = None, version: str | None = None):
        self.folder = cache_folder() / "compile" if folder is None else Path(folder)
        self.version = version or triton_version() or "none"

    def path(self, options: Options) -> Path:
        """The file of one entry, whether it exists or not."""
        return self.folder / f"{self.version}-{kernel_hash(options.kernel)}" / f"{options.key()}.json"

    def get(self, options: Options) -> Report | None:
        """The kept report, or None where there is none that can be read."""
        try:
            report = Report.from_record(json.loads(self.path(options).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        kept = (report.options, report.triton, report.kernel_hash)
        return report if kept == (options, self.version, kernel_hash(options.kernel)) else None

    def put(self, report: Report) -> bool:
        """Keeps a report; False where the folder cannot be written."""
        path = self.path(report.options)
        if (report.triton, report.kernel_hash) != (self.version, kernel_hash(report.kernel)):
            return False
        temporary = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(report.record(), file)
            os.replace(temporary, path)
        except OSError:
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)
            return False
        return True
