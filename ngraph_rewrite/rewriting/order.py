# SPDX-License-Identifier: Apache-2.0
"""Rules go down: a lexicographic path order over the order of declaration proves that rewriting ends.

One order serves all rules of a pass, so any union of their files terminates too. See Dershowitz,
*Orderings for term-rewriting systems* (1982). Arguments are compared left to right; those of a commutative op,
which matches in any order, and of an op that takes any number as multisets. An op of the trait ``narrowing``
is a different symbol for each number of arguments, and stands above itself with fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ngraph_rewrite.rewriting.pattern import (
    App,
    Build,
    Computed,
    Num,
    Pattern,
    Pick,
    SeqVar,
    Spread,
    Template,
    Var,
    subtemplates,
)
from ngraph_rewrite.rewriting.registry import consumed
from ngraph_rewrite.rewriting.rule import Let, Rule
from ngraph_rewrite.terms.catalogue import OpDef, kin, lookup

# Families from what is executed up to what users write; a target's own families stand after core.
FAMILIES = ("core", "", "semi", "simple", "numpy", "axes")
Symbol = tuple[int, bool, int]


class _Node:
    """An op and its arguments: what the order sees of either side."""

    __slots__ = ("args", "definition", "runs", "symbol")

    def __init__(self, definition: OpDef, args: list[_Plain], runs: Iterable[str] = ()) -> None:
        self.definition, self.args, self.symbol = definition, args, precedence(definition)
        self.runs = Counter(runs)  # those of the arguments that stand for any number of them

    @property
    def fixed(self) -> int:
        """The number of arguments that stand for one."""
        return len(self.args) - self.runs.total()


_Plain = str | _Node


def precedence(definition: OpDef) -> Symbol:
    """The place of an op in the order; a rule may only use ops of a smaller place than it removes."""
    family = kin(definition.family)
    return FAMILIES.index(family if family in FAMILIES else ""), family != definition.family, definition.rank


def why_not_down(rule: Rule) -> str | None:
    """None if the rule goes down in the order of its pass, else what is wrong, in one sentence."""
    if rule.kind == "derive":
        return None
    if isinstance(rule.right[0], Computed):
        return _consumes(rule.right[0].function, rule.left.definition)
    left, right = _plain_pattern(rule.left), _plain_template(rule.right[0], rule)
    if rule.kind != "recognize":
        return _descends(left, right)
    if any(isinstance(t, Spread) and not isinstance(t.template, Var) for t in _templates(rule)):
        return "it builds an op for each term of a sequence: a recognize rule makes terms smaller"
    return _shrinks(left, right)


def _consumes(function: str, removed: OpDef) -> str | None:
    """A term function goes down by the op it says that it removes."""
    if consumed(function) == removed.name:
        return None
    return f"{function} removes {consumed(function)}, and the left side is {removed}"


def _templates(rule: Rule) -> Iterator[Template]:
    for template in (*rule.right, *(c.template for c in rule.clauses if isinstance(c, Let))):
        if template is not None:
            yield from subtemplates(template)


def _plain_pattern(pattern: Pattern) -> _Plain:
    if isinstance(pattern, App):
        runs = [a.name for a in pattern.args if isinstance(a, SeqVar)]
        return _Node(pattern.definition, [_plain_pattern(a) for a in pattern.args], runs)
    return _Node(lookup("core.constant"), []) if isinstance(pattern, Num) else pattern.name


def _plain_template(template: Template | None, rule: Rule) -> _Plain:
    lets = {c.name: c.template for c in rule.clauses if isinstance(c, Let)}

    def plain(t: Template | None) -> _Plain:
        if isinstance(t, Build):
            return _Node(t.definition, [plain(a) for a in t.args], [_run(a) for a in t.args if isinstance(a, Spread)])
        if isinstance(t, Spread):
            return plain(t.template)
        if isinstance(t, Pick):
            return t.name
        if isinstance(t, Var):
            if t.name == "self":
                return _plain_pattern(rule.left)
            return plain(lets[t.name]) if t.name in lets else t.name
        return _Node(lookup("core.constant"), [])

    return plain(template)


def _run(spread: Spread) -> str:
    """The sequence variable it repeats as it is; what it builds of one may be of any number."""
    return spread.template.name if isinstance(spread.template, Var) else "built"


def _nodes(term: _Plain) -> Iterator[_Plain]:
    yield term
    if isinstance(term, _Node):
        for arg in term.args:
            yield from _nodes(arg)


def _shrinks(left: _Plain, right: _Plain) -> str | None:
    size = [sum(isinstance(n, _Node) for n in _nodes(side)) for side in (left, right)]
    if size[1] >= size[0]:
        return f"the right side has {size[1]} ops and the left {size[0]}: a recognize rule makes terms smaller"
    counts = [Counter(n for n in _nodes(side) if isinstance(n, str)) for side in (left, right)]
    more = counts[1] - counts[0]
    return f"`{next(iter(more))}` stands more often on the right than on the left" if more else None


def _descends(left: _Plain, right: _Plain) -> str | None:
    if _greater(left, right):
        return None
    assert isinstance(left, _Node)
    for node in _nodes(right):
        if isinstance(node, _Node) and node.symbol > left.symbol:
            return f"it uses {node.definition}, which is declared after {left.definition}"
    return f"its right side is not smaller than its left in the order of declaration ({left.definition} at the root)"


def _same(a: _Plain, b: _Plain) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    if a.symbol != b.symbol or len(a.args) != len(b.args):
        return False
    if _unordered(a.definition):
        return not _rest(a.args, b.args)
    return all(map(_same, a.args, b.args))


def _unordered(definition: OpDef) -> bool:
    return definition.commutative or definition.arity is None


def _rest(left: list[_Plain], right: list[_Plain]) -> list[_Plain]:
    """What is left of `left` when each of `right` has taken away an equal one."""
    left = list(left)
    for b in right:
        at = next((i for i, a in enumerate(left) if _same(a, b)), None)
        if at is not None:
            del left[at]
    return left


def _greater(s: _Plain, t: _Plain) -> bool:
    """Whether `s` is above `t` in the lexicographic path order."""
    if isinstance(s, str):
        return False
    if any(_same(a, t) or _greater(a, t) for a in s.args):
        return True
    if isinstance(t, str):
        return any(t == n for n in _nodes(s))
    if s.symbol > t.symbol or _narrows(s, t):
        return all(_greater(s, b) for b in t.args)
    if "narrowing" in s.definition.traits and (s.fixed, s.runs) != (t.fixed, t.runs):
        return False
    compare = _multiset if _unordered(s.definition) else _lexicographic
    return s.symbol == t.symbol and all(_greater(s, b) for b in t.args) and compare(s.args, t.args)


def _narrows(s: _Node, t: _Node) -> bool:
    """Whether both are one narrowing op, and `t` has fewer arguments whatever sequence variables stand for."""
    return s.symbol == t.symbol and "narrowing" in s.definition.traits and s.fixed > t.fixed and not t.runs - s.runs


def _multiset(left: list[_Plain], right: list[_Plain]) -> bool:
    more, less = _rest(left, right), _rest(right, left)
    return bool(more) and all(any(_greater(a, b) for a in more) for b in less)


def _lexicographic(left: list[_Plain], right: list[_Plain]) -> bool:
    for a, b in zip(left, right, strict=False):
        if not _same(a, b):
            return _greater(a, b)
    return len(left) > len(right)
