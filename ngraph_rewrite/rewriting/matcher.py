# SPDX-License-Identifier: Apache-2.0
"""A compiled rule set: decision trees loaded from a generated file, ready to step and to list matches."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.rewriting.emit import emit
from ngraph_rewrite.rewriting.expression import BOUNDED
from ngraph_rewrite.rewriting.registry import attribute_functions, term_functions
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes

Make = Callable[[OpDef, tuple[Op, ...], tuple[Any, ...]], Op]
Step = Callable[[Op, Make, Any], tuple[int, Op] | None]


class Matcher:
    """The decision trees of a rule set.

    Attributes:
        rules: The rules, in the order in which they are tried.
        reasons: The same, by the numbers that steps give.
        source: The generated file.
        steps: For each root op, the function that takes one step.
    """

    def __init__(self, rules: RuleSet, cache: Cache) -> None:
        self.rules, self.reasons = rules, rules.rules
        text = emit(rules)
        self.source = _written(text, cache)
        trees = _imported(self.source).trees(lookup, _functions(), _fill)
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


def _functions() -> dict[str, Callable[..., Any]]:
    """What generated code calls: the registered functions, and bounded arithmetic under names that no function has."""
    bounded = {f"bounded {function.__name__}": function for function in BOUNDED.values()}
    return {**attribute_functions(), **term_functions(), **bounded}


def _fill(make: Make, number: float, dtype: Any, axes: Any) -> Op:
    """A constant for a number on a right side."""
    value = Literal(number, dtype)
    if dtype.kind in "iub" and not value.is_number(number):
        raise DTypeError(f"the number {number!r} does not fit {dtype}", do="guard the rule by dtype")
    return make(lookup("core.constant"), (), (value, axes or Axes()))


def _written(text: str, cache: Cache) -> Path:
    key = "rules_" + hashlib.sha256(text.encode()).hexdigest()[:20]
    path = cache.path(key, "py")
    return path if cache.read(key, "py") == text.encode() else cache.write(key, "py", text.encode())


def _imported(path: Path) -> ModuleType:
    name = f"_ngraph_rewrite_{path.stem}"
    if name in sys.modules and sys.modules[name].__file__ == str(path):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # what a rule says may be odd, such as a part of a number
        spec.loader.exec_module(module)
    sys.modules[name] = module  # once it is whole: another thread may be looking
    return module
