# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: ``pytest my.rules`` makes a test of each check of each rule.

It stands beside the package, and imports it only when there is a rule file: pytest loads the plugins of all
installed packages in every run.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

# The header of a rule file: other tools have files with this ending, too.
HEADER = re.compile(r"(?:\s*(?:#[^\n]*)?\n)*(simplify|lower|recognize|select|derive)[ \t]+\w+[^\n:]*(\n|$)")


def pytest_addoption(parser: Any) -> None:
    """The options of the plugin."""
    group = parser.getgroup("ngraph_rewrite", "checks of rule files")
    group.addoption("--rules-quick", action="store_true", help="draw fewer instances of each rule")
    group.addoption("--rules-seed", type=int, default=0, help="draw other instances (default: %(default)s)")


def pytest_collect_file(file_path: Path, parent: Any) -> Any:
    """A collector for a rule file: one that is named, or one in a folder that begins as rule files do."""
    if file_path.suffix != ".rules" or not (parent.session.isinitpath(file_path) or _is_ours(file_path)):
        return None
    return importlib.import_module("ngraph_rewrite.testing.collection").RuleFile.from_parent(parent, path=file_path)


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return HEADER.match(file.read(1 << 16).decode("utf-8", "replace")) is not None
