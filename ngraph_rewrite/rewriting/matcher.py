# SPDX-License-Identifier: Apache-2.0
"""A compiled rule set: decision trees loaded from a generated file, ready to step and to list matches."""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.rewriting.encoding import Unencodable
from ngraph_rewrite.rewriting.expression import BOUNDED
from ngraph_rewrite.rewriting.nests import Summaries, chain
from ngraph_rewrite.rewriting.registry import attribute_functions, term_functions
from ngraph_rewrite.rewriting.remembered import key, set_key
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.search import Answers, Search
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes

if TYPE_CHECKING:
    from ngraph_rewrite.rewriting import emit
else:
    emit = lazy_module("ngraph_rewrite.rewriting.emit")

Make = Callable[[OpDef, tuple[Op, ...], tuple[Any, ...]], Op]
Step = Callable[[Op, Make, Any], tuple[int, Op] | None]


class Matcher:
    """The decision trees of a rule set.

    Attributes:
        rules: The rules, in the order in which they are tried.
        reasons: The same, by the numbers that steps give.
        source: The generated file.
        steps: For each root op, the function that takes one step.
        graph_rules: Those of the rules that look at a whole graph: no step takes them.
    """

    def __init__(self, rules: RuleSet, cache: Cache) -> None:
        self.rules, self.reasons = rules, rules.rules
        self.graph_rules = tuple(r for r in rules if r.graph)
        self.source = _generated(rules, cache)
        trees = _imported(self.source, cache).trees(lookup, _functions(rules), _fill)
        self.steps: dict[OpDef, Step] = {lookup(name): step for name, (step, _) in trees.items()}
        self._matches = {lookup(name): match for name, (_, match) in trees.items()}

    def step(self, term: Op, make: Make, target: Any) -> tuple[Rule, Op] | None:
        """The first rule that fires at the root of `term`, and what it makes of it."""
        function = self.steps.get(term.definition)
        found = function(term, make, target) if function is not None else None
        return None if found is None else (self.rules.rules[found[0]], found[1])

    def matches(self, term: Op) -> Iterator[tuple[Rule, dict[str, Any]]]:
        """Every rule whose left side matches at the root, with every substitution; guards are not asked."""
        match = self._matches.get(term.definition)
        if match is not None:
            for index, substitution in match(term):
                yield self.rules.rules[index], substitution


def _functions(rules: RuleSet) -> dict[str, Callable[..., Any]]:
    """What generated code calls: the registered functions, and what is ours under names that no function has."""
    bounded = {f"bounded {function.__name__}": function for function in BOUNDED.values()}
    ours: dict[str, Callable[..., Any]] = {"nest of": Summaries, "chain of": chain}
    ours["search of"] = lambda index: Search(lambda: rules.rules[index].left)
    ours["matching of"] = lambda index, place: Answers(lambda: rules.rules[index], index, place)
    return {**attribute_functions(), **term_functions(), **bounded, **ours}


@lru_cache(maxsize=1 << 10, typed=True)  # 1, 1.0 and True are three numbers; so are 0.0 and -0.0, which are equal
def _literal(number: float, dtype: Any, below: bool) -> Literal:
    return Literal(number, dtype)


def _fill(make: Make, number: float, dtype: Any, axes: Any) -> Op:
    """A constant for a number on a right side."""
    value = _literal(number, dtype, number == 0 and math.copysign(1, number) < 0)
    if dtype.kind in "iub" and not value.is_number(number):
        raise DTypeError(f"the number {number!r} does not fit {dtype}", do="guard the rule by dtype")
    return make(lookup("core.constant"), (), (value, axes or Axes()))


def _generated(rules: RuleSet, cache: Cache) -> Path:
    """The generated file of a rule set: the one that these rules had before, if it is there and whole."""
    try:
        slot = "matcher_" + set_key(rules)
    except Unencodable:
        _, path = _written(emit.emit(rules), cache)
        return path
    stored = cache.read(slot, "txt")
    text = None if stored is None else cache.read(stored.decode(), "py")
    if stored is not None and text is not None and _name(text) == stored.decode():
        return cache.path(stored.decode(), "py")
    name, path = _written(emit.emit(rules), cache)
    cache.write(slot, "txt", name.encode())
    return path


def _written(text: str, cache: Cache) -> tuple[str, Path]:
    """The name and the path of a file with this text."""
    name = _name(text.encode())
    path = cache.path(name, "py")
    return name, path if cache.read(name, "py") == text.encode() else cache.write(name, "py", text.encode())


def _name(text: bytes) -> str:
    return "rules_" + hashlib.sha256(text).hexdigest()[:20]


def _imported(path: Path, cache: Cache) -> ModuleType:
    name = f"_ngraph_rewrite_{path.stem}"
    if name in sys.modules and sys.modules[name].__file__ == str(path):
        return sys.modules[name]
    loader = _Loader(name, str(path), cache)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[name] = module  # once it is whole: another thread may be looking
    return module


class _Loader(SourceFileLoader):
    """Loads a generated file; code that this Python made of it before is found in a whole entry of the cache."""

    def __init__(self, name: str, path: str, cache: Cache) -> None:
        super().__init__(name, path)
        self._cache = cache

    def get_code(self, fullname: str) -> CodeType:
        slot = f"{Path(self.path).stem}-{key(self.path, sys.version, importlib.util.MAGIC_NUMBER)}"
        stored = self._cache.read(slot, "code")
        if stored is not None:
            found: CodeType = marshal.loads(stored)
            return found
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # what a rule says may be odd, such as a part of a number
            made: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        self._cache.write(slot, "code", marshal.dumps(made))
        return made
