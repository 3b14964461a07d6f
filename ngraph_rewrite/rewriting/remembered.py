# SPDX-License-Identifier: Apache-2.0
"""What was read, checked and chosen once is not worked out again: it is found on disk by all that it depends on.

That is the text of the rules, the code that reads and checks them, and the code of ops and functions that others
declared. Where one of these cannot be known, nothing is remembered. What is stored is JSON, and is never executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache as memoise
from pathlib import Path
from typing import Any

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.rewriting.encoding import Unencodable, digest, read_rules, write_rules
from ngraph_rewrite.rewriting.registry import attribute_functions, term_functions
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.terms.catalogue import definitions

_STARTED = time.time()
_PARTS = ("types", "terms", "ops", "rewriting", "lowering")
_OWN = __name__.partition(".")[0]


def key(*parts: str | bytes) -> str:
    """A name for a sequence of texts."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(b"%d:" % len(data))
        found.update(data)
    return found.hexdigest()[:20]


@memoise
def code_digest() -> str:
    """Of the code that declares ops, and reads, checks and compiles rules, and of what it runs on."""
    folder = Path(__file__).parent.parent
    files = (entry.path for part in _PARTS for entry in os.scandir(folder / part) if entry.name.endswith(".py"))
    contents = _contents(sorted(files))
    on = f"{sys.implementation.cache_tag} {sys.version} {np.__version__}"
    return key(on, *(contents if contents is not None else [os.urandom(16)]))


def _contents(paths: Iterable[str]) -> list[str] | None:
    """Of what is in files; None if one cannot be read, or was written since this process began: code in it is older."""
    try:
        found = [_content(path, os.stat(path)) for path in paths]
    except OSError:
        return None
    return [one for one in found if one is not None] if None not in found else None


def _content(path: str, seen: os.stat_result) -> str | None:
    return None if seen.st_mtime > _STARTED else _read(path, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino)


@memoise
def _read(path: str, *seen: int) -> str | None:
    """A digest of a file, read once for as long as it looks the same: of a large package there are hundreds."""
    with open(path, "rb", buffering=0) as file:
        return key(path, file.read()) if os.fstat(file.fileno()).st_mtime <= _STARTED else None


def others_digest() -> str | None:
    """Of the code of all ops and functions that rules may name and this package does not declare.

    None if some of it is in no file, as in a notebook.
    """
    declared = [d for d in definitions() if not d.shipped]
    functions = [f for d in declared for f in (d.type_rule, d.normalise, d.meaning) if f is not None]
    functions += [*attribute_functions().values(), *term_functions().values()]
    modules = {getattr(f, "__module__", None) or "" for f in functions}
    files = _files(m for m in modules if m.partition(".")[0] != _OWN)
    contents = None if files is None else _contents(sorted(files))
    names = [f"{d.name} {d.rank} {d.kin}" for d in declared]
    return None if contents is None else key(*names, *contents)


def _files(modules: Iterable[str]) -> set[str] | None:
    """The files of modules, and of all of their packages that was imported; None if one of the modules has none."""
    wanted = set(modules)
    packages = {m.partition(".")[0] for m in wanted}
    found = dict[str, str | None]()
    for name, module in list(sys.modules.items()) if wanted else ():
        if name.partition(".")[0] in packages:
            found[name] = getattr(module, "__file__", None)
    files = {path for path in found.values() if path is not None}
    return files if all(found.get(name) for name in wanted) else None


def recalled(cache: Cache, slot: str, known: str) -> RuleSet | None:
    """The rules in an entry of a cache, if it is whole and stands for `known`."""

    def parse(stored: bytes) -> RuleSet | None:
        first, _, data = stored.partition(b"\n")
        return read_rules(data) if first == known.encode() else None

    return cache.parsed(slot, "rules", parse)


def remember(cache: Cache, slot: str, known: str, rules: RuleSet) -> None:
    """Keep rules in an entry of a cache, in place of what is there; those with no place in JSON are left out."""
    try:
        cache.write(slot, "rules", known.encode() + b"\n" + write_rules(rules))
    except Unencodable:
        return


def chosen(rules: RuleSet, choose: Callable[[RuleSet], RuleSet], cache: Cache, *depends: Any) -> RuleSet:
    """The rules that `choose` takes of a set: it is not asked again for the same rules.

    Args:
        depends: What else decides: a name for `choose` first, then anything that JSON has.
    """
    try:
        slot = "chosen_" + set_key(rules, *depends)
    except Unencodable:
        return choose(rules)
    stored = cache.parsed(slot, "json", lambda text: RuleSet(rules.rules[i] for i in json.loads(text)))
    if stored is not None:
        return stored
    found = choose(rules)
    numbers = {id(rule): i for i, rule in enumerate(rules)}
    cache.write(slot, "json", json.dumps([numbers[id(rule)] for rule in found]).encode())
    return found


def check_once(rules: RuleSet, check: Callable[[RuleSet], None], cache: Cache, *depends: Any) -> None:
    """Make a check that raises an error for wrong rules, unless the same rules passed it before.

    Args:
        depends: What else decides: a name for `check` first, then anything that JSON has.
    """
    try:
        slot = "passed_" + set_key(rules, *depends)
    except Unencodable:
        return check(rules)
    if cache.read(slot, "txt") is None:
        check(rules)
        cache.write(slot, "txt", b"")


def set_key(rules: RuleSet, *depends: Any) -> str:
    """A name for what rules say, in order, for the code that compiles them, and for what else is given.

    Raises:
        Unencodable: for a rule that holds what has no place in JSON.
    """
    return key(code_digest(), json.dumps(depends), *map(digest, rules))
