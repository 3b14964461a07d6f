# SPDX-License-Identifier: Apache-2.0
"""The rules that ship: every file is read and checked once, by this process and by others beside it, and kept.

Files say nothing about each other, so each is work of its own. Beside them lies a record of those that were checked
with the code they ship with: such a file is only read. The tests check all files, and that the record is up to date.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections import deque
from collections.abc import Iterable
from functools import cache as memoise
from pathlib import Path
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.helpers import Work, helped
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.ops import (  # noqa: F401  (the families declare their ops when imported)
    axes,
    cpu,
    cpu_packed,
    cuda,
    fused,
    numpy,
    semi,
)
from ngraph_rewrite.rewriting import (  # noqa: F401  (and the functions that rules call)
    attributes,
    fourier_products,
    fourier_steps,
    framing,
    inlining,
)
from ngraph_rewrite.rewriting.encoding import read_rules, write_rules
from ngraph_rewrite.rewriting.remembered import code_digest, key, recalled, remember
from ngraph_rewrite.rewriting.rule import RuleSet

if TYPE_CHECKING:
    from ngraph_rewrite.rewriting import checks
else:  # for rules that are new
    checks = lazy_module("ngraph_rewrite.rewriting.checks")

RECORD = "checked.txt"
WORTH = 12  # so many files take longer than a helper needs to start


def shipped(files: Iterable[Path]) -> RuleSet:
    """The rules of files; what was read and checked once, by the code that is here, is taken as it is.

    Raises:
        RuleFileError: for a mistake in one of them.
    """
    files = list(files)
    folder = data_folder("rules")
    known = key(code_digest(), *(part for path in files for part in (path.name, path.read_bytes())))
    cache, slot = Cache(), f"library_{key(str(folder))}"
    found = recalled(cache, slot, known)
    if found is None:
        with no_garbage_collection():
            found = _read(files)
        remember(cache, slot, known, found)
    return found.with_sources({f"rules/{path.name}": path for path in files})


def _read(files: list[Path]) -> RuleSet:
    """Read all, the longest first; what another process has done comes back as text."""
    names = deque(map(str, sorted(files, key=lambda path: path.stat().st_size, reverse=True)))
    found, texts = dict[str, RuleSet](), dict[str, str]()
    work = Work(names, __name__, (code_digest(),), WORTH, texts.__setitem__)
    with helped(work, (os.cpu_count() or 1) - 1):
        while names:
            try:
                name = names.popleft()
            except IndexError:  # a helper took it
                break
            found[name] = _checked(name)
    return RuleSet(rule for path in files for rule in found.get(str(path)) or _told(texts, str(path)))


def _told(texts: dict[str, str], name: str) -> RuleSet:
    """The rules of a file that a helper read; it leaves one that is wrong to be read here, where the error is seen."""
    text = json.loads(texts.get(name) or '""')
    return read_rules(text.encode()) if text else _checked(name)


def _checked(name: str) -> RuleSet:
    path = Path(name)
    read = checks.read_file if line_of(path) in _recorded(path.with_name(RECORD)) else checks.checked_file
    return read(path, f"rules/{path.name}")


def line_of(path: Path) -> str:
    """What a record says of a file that was checked as it is."""
    text = path.read_text(encoding="utf-8")  # whatever ends its lines
    return f"{hashlib.sha256(text.encode()).hexdigest()}  {path.name}"


@memoise
def _recorded(path: Path) -> frozenset[str]:
    return frozenset(path.read_text(encoding="utf-8").splitlines()) if path.exists() else frozenset()


def record(folder: Path) -> str:
    """The record of all rule files of a folder, which are checked.

    Raises:
        RuleFileError: for a mistake in one of them.
    """
    files = sorted(folder.glob("*.rules"))
    for path in files:
        checks.checked_file(path, f"rules/{path.name}")
    return "".join(f"{line_of(path)}\n" for path in files)


def write_record() -> None:
    """Check the rules that ship and record them: after a change of them they would be checked at each first use.

    Raises:
        RuleFileError: for a mistake in one of them.
    """
    folder = data_folder("rules")
    (folder / RECORD).write_text(record(folder), encoding="utf-8")


def serve(digest: str) -> None:
    """Answer each line, the name of a file, with its rules; the end of the input is the end.

    Args:
        digest: What `code_digest` is for who asks: code that was changed meanwhile is of no help.
    """
    if code_digest() != digest:
        return
    with no_garbage_collection():
        print("ready", flush=True)
        for line in sys.stdin:
            try:
                text = write_rules(_checked(line.rstrip("\n"))).decode()
            except NGraphRewriteError:
                text = ""
            print(json.dumps(text), flush=True)
