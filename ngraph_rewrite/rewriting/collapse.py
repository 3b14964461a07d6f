# SPDX-License-Identifier: Apache-2.0
"""Rules that give back an argument are asked before the term is built: most casts and transposes go away at once.

Such a rule says ``f(x, y, a=k) => x``, with variables only, and its guard reads nothing but what it binds. The rules
of an op that are tried first and are all of this form become a function of arguments and attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Protocol

from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.frame import printable
from ngraph_rewrite.rewriting.pattern import Var
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.catalogue import OpDef


class Source(Protocol):
    """Writes an expression as Python, with names as they are called there."""

    def __call__(self, expression: Expression, names: dict[str, str]) -> str: ...  # noqa: D102


def collapses(rule: Rule) -> bool:
    """Whether the rule gives one of its op's arguments, whatever the arguments are made of.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> text = "simplify semi\\nrule same: cast(x, dtype=t) => x\\n  if t == x.dtype\\nrule one: x * 1 => x"
    >>> [collapses(rule) for rule in parse_rules(text, "mine.rules", "mine")]
    [True, False]
    """
    left, definition = rule.left, rule.left.definition
    if rule.kind in ("derive", "rewrite") or rule.clauses or left.compares or definition.commutative:
        return False
    names = [a.name for a in left.args if type(a) is Var and str(a) == a.name]
    bound = [*names, *(name for _, name in left.binds)]
    reads = set() if rule.guard is None else set(rule.guard.names)
    plain = len(names) == len(left.args) == definition.arity and len(set(bound)) == len(bound)
    return plain and type(rule.right[0]) is Var and rule.right[0].name in names and reads <= set(bound)


def collapsing(definition: OpDef, rules: Iterable[tuple[int, Rule]], source: Source) -> Iterator[str]:
    """The function ``(args, attrs)`` of the op's first rules, as far as they collapse; no line if none does."""
    first = list(takewhile(lambda pair: collapses(pair[1]), rules))
    if first:
        name = definition.name.replace(".", "_")
        yield f"def collapse_{name}(args, attrs):"
        for index, rule in first:
            yield from _asked(index, rule, source)
        yield from ("    return None", "", f"step_{name}.collapse = collapse_{name}", "")


def _asked(index: int, rule: Rule, source: Source) -> Iterator[str]:
    """One rule; it reads what it binds from where that stands."""
    names = {a.name: f"args[{i}]" for i, a in enumerate(rule.left.args) if isinstance(a, Var)}
    places = rule.left.definition.attributes
    names |= {name: f"attrs[{places.index(attribute)}]" for attribute, name in rule.left.binds}
    right = rule.right[0]
    assert isinstance(right, Var)
    guard = "True" if rule.guard is None else source(rule.guard, names)
    yield f"    if {guard}:  # {printable(' '.join(rule.name.split()))}"
    yield f"        return {index}, {names[right.name]}"
