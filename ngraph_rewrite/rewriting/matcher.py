# SPDX-License-Identifier: Apache-2.0
"""A compiled rule set: decision trees loaded from generated files, ready to step and to list matches.

There is a file for each op at the root of rules, generated and loaded when a term of that op is first met: of the
library a program needs a small part. Few ask for all matches of a term: these have files of their own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import math
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.rewriting.encoding import Unencodable
from ngraph_rewrite.rewriting.expression_source import BOUNDED
from ngraph_rewrite.rewriting.nests import Summaries, chain
from ngraph_rewrite.rewriting.registry import attribute_functions, term_functions, term_of
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
Match = Callable[[Op], Iterator[tuple[int, dict[str, Any]]]]


class Matcher:
    """The decision trees of a rule set.

    Attributes:
        rules: The rules, in the order in which they are tried.
        reasons: The same, by the numbers that steps give.
        cache: Where the generated files are.
        steps: For each root op, the function that takes one step; it is generated when it is first asked for.
        graph_rules: Those of the rules that look at a whole graph: no step takes them.
    """

    def __init__(self, rules: RuleSet, cache: Cache) -> None:
        self.rules, self.reasons, self.cache = rules, rules.rules, cache
        self.graph_rules = tuple(r for r in rules if r.graph)
        self._steps: dict[str, Step] = {}
        self._matches: dict[str, Match] = {}
        self._numbers: dict[str, list[int]] = {}
        for number, rule in enumerate(rules):
            self._numbers.setdefault(rule.root, []).append(number)
        self.steps: Mapping[OpDef, Step] = _Steps(self._step_of, self._numbers)

    def step(self, term: Op, make: Make, target: Any) -> tuple[Rule, Op] | None:
        """The first rule that fires at the root of `term`, and what it makes of it."""
        function = self.steps.get(term.definition)
        found = function(term, make, target) if function is not None else None
        return None if found is None else (self.rules.rules[found[0]], found[1])

    def matches(self, term: Op) -> Iterator[tuple[Rule, dict[str, Any]]]:
        """Every rule whose left side matches at the root, with every substitution; guards are not asked."""
        op = term.definition.name
        if op not in self._matches and op in self._numbers:
            self._matches[op] = self._loaded(op, "match")
        for index, substitution in self._matches[op](term) if op in self._matches else ():
            yield self.rules.rules[index], substitution

    def source(self, op: str) -> Path:
        """The generated file of the rules with an op at their root: their steps."""
        return self._generated(op, "step")[0]

    def _step_of(self, op: str) -> Step:
        if op not in self._steps:
            self._steps[op] = self._loaded(op, "step")
        return self._steps[op]

    def _loaded(self, op: str, what: str) -> Any:
        """The function of an op that takes a ``step``, or lists each ``match``."""
        path, code = self._generated(op, what)
        space: dict[str, Any] = {"__name__": f"_ngraph_rewrite_{path.stem}"}
        exec(code, space)  # noqa: S102
        return space["trees"](lookup, _functions(self.rules), _fill)[op]

    def _generated(self, op: str, what: str) -> tuple[Path, CodeType]:
        numbers = self._numbers[op]
        return generated([self.rules.rules[n] for n in numbers], numbers, self.cache, what)


class _Steps(Mapping[OpDef, Step]):
    """The step functions of a matcher by op; each is there as soon as it is asked for."""

    def __init__(self, load: Callable[[str], Step], roots: Collection[str]) -> None:
        self._load, self._roots = load, roots

    def __getitem__(self, definition: OpDef) -> Step:
        if definition.name not in self._roots:
            raise KeyError(definition)
        return self._load(definition.name)

    def __contains__(self, definition: object) -> bool:
        return isinstance(definition, OpDef) and definition.name in self._roots

    def __iter__(self) -> Iterator[OpDef]:
        return map(lookup, self._roots)

    def __len__(self) -> int:
        return len(self._roots)


def _functions(rules: RuleSet) -> dict[str, Callable[..., Any]]:
    """What generated code calls: the registered functions, and what is ours under names that no function has."""
    bounded = {f"bounded {function.__name__}": function for function in BOUNDED.values()}
    ours: dict[str, Callable[..., Any]] = {"nest of": Summaries, "chain of": chain}
    ours["search of"] = lambda index: Search(lambda: rules.rules[index].left)
    ours["matching of"] = lambda index, place: Answers(lambda: rules.rules[index], index, place)
    made = {name: partial(term_of, name) for name in term_functions()}
    return {**attribute_functions(), **made, **bounded, **ours}


@lru_cache(maxsize=1 << 10, typed=True)  # 1, 1.0 and True are three numbers; so are 0.0 and -0.0, which are equal
def _literal(number: float, dtype: Any, below: bool) -> Literal:
    return Literal(number, dtype)


def _fill(make: Make, number: float, dtype: Any, axes: Any) -> Op:
    """A constant for a number on a right side."""
    value = _literal(number, dtype, number == 0 and math.copysign(1, number) < 0)
    if dtype.kind in "iub" and not value.is_number(number):
        raise DTypeError(f"the number {number!r} does not fit {dtype}", do="guard the rule by dtype")
    return make(lookup("core.constant"), (), (value, axes or Axes()))


def generated(rules: Sequence[Rule], numbers: Sequence[int], cache: Cache, what: str) -> tuple[Path, CodeType]:
    """The generated file of rules, and its code: that which was made before, if it is there, whole, and of this file.

    Args:
        numbers: What the rules are called by.
        what: Whether it takes a ``step``, or lists each ``match``.
    """
    name = _name(rules, numbers, what)
    path = cache.path(name, "py")
    slot = f"{name}-{key(str(path), sys.version, importlib.util.MAGIC_NUMBER)}"
    text = cache.read(name, "py") or b""

    def parse(stored: bytes) -> CodeType | None:
        digest, _, code = stored.partition(b"\n")
        found = marshal.loads(code) if digest == _digest(text) else None
        return found if isinstance(found, CodeType) else None

    code = cache.parsed(slot, "code", parse)
    if code is not None:
        return path, code
    return _written(_text(rules, numbers, what).encode(), name, slot, cache)


def _text(rules: Sequence[Rule], numbers: Sequence[int], what: str) -> str:
    return emit.emit(rules, numbers) if what == "step" else emit.emit_matches(rules, numbers)


def _written(text: bytes, name: str, slot: str, cache: Cache) -> tuple[Path, CodeType]:
    path = cache.path(name, "py") if cache.read(name, "py") == text else cache.write(name, "py", text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # what a rule says may be odd, such as a part of a number
        made: CodeType = compile(text, str(path), "exec", dont_inherit=True)
    cache.write(slot, "code", _digest(text) + b"\n" + marshal.dumps(made))
    return path, made


def _name(rules: Sequence[Rule], numbers: Sequence[int], what: str) -> str:
    """What the file of these rules is called: by what they say, or by its text where that has no place in JSON."""
    kind = "rules" if what == "step" else "matches"
    try:
        return f"{kind}_{set_key(RuleSet(rules), numbers)}"
    except Unencodable:
        return f"{kind}_{key(_text(rules, numbers, what))}"


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
