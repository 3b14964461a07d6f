# SPDX-License-Identifier: Apache-2.0
"""By how much a process grows while something runs."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")


def peak(work: Callable[[], Any]) -> tuple[int, Any]:
    """By how many bytes the process grew at most during `work`, and what that returned."""
    before = _bytes("VmRSS")
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
    except OSError:
        pass
    found = work()
    return max(_bytes("VmHWM") - before, 0), found


def _bytes(name: str) -> int:
    """A figure of Linux about this process; elsewhere the largest size there was."""
    if STATUS.exists():
        line = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith(name))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
