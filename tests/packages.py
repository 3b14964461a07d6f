# SPDX-License-Identifier: Apache-2.0
"""Packages of third parties, as an installer leaves them, and processes of their own that see them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent


def install(site: Path, name: str, entry_points: Mapping[str, str]) -> None:
    """What an installer leaves beside a package."""
    folder = site / f"{name.replace('-', '_')}-0.1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n", encoding="utf-8")
    groups = "\n".join(f"[{group}]\n{lines.strip()}\n" for group, lines in entry_points.items())
    (folder / "entry_points.txt").write_text(groups, encoding="utf-8")


def run(site: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A Python process that sees the packages in `site`."""
    path = os.pathsep.join([str(site), str(HERE.parent)])
    return subprocess.run(
        [sys.executable, *words],
        cwd=site,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
    )
