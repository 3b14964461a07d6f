# SPDX-License-Identifier: Apache-2.0
"""Rules that give back a part of a term are asked before it is built: most casts and transposes go away at once.

Such a rule says ``f(x, y, a=k) => x`` or ``f(g(x, b=i), a=k) => x``, with different variables, and its guard reads
nothing but what it binds. The rules of an op that are tried first and are all of this form become a function of
arguments and attributes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import islice, takewhile
from typing import Protocol

from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.frame_parts import printable
from ngraph_rewrite.rewriting.hoisting import direct
from ngraph_rewrite.rewriting.pattern import App, Pattern, Var, subpatterns
from ngraph_rewrite.rewriting.pieces import op_name
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.catalogue import OpDef

# So many rules of an op are asked one after the other; more of them are found sooner in its decision tree.
MOST = 3


class Source(Protocol):
    """Writes an expression as Python, with names as they are called there."""

    def __call__(self, expression: Expression, names: dict[str, str]) -> str: ...


def collapses(rule: Rule) -> bool:
    """Whether the rule gives a part of its left side that it binds, and asks for ops alone in it.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> text = "simplify semi\\nrule same: cast(x, dtype=t) => x\\n  if t == x.dtype\\nrule one: x * 1 => x"
    >>> [collapses(rule) for rule in parse_rules(text + "\\nrule twice: -(-x) => x", "mine.rules", "mine")]
    [True, False, True]
    """
    if (
        rule.kind in ("derive", "rewrite")
        or rule.graph
        or rule.clauses
        or not all(map(_is_free, subpatterns(rule.left)))
    ):
        return False
    names = [part.name for part in subpatterns(rule.left) if isinstance(part, Var)]
    bound = [*names, *(name for part in subpatterns(rule.left) if isinstance(part, App) for _, name in part.binds)]
    reads = set() if rule.guard is None else set(rule.guard.names)
    right = rule.right[0]
    return len(set(bound)) == len(bound) and isinstance(right, Var) and right.name in names and reads <= set(bound)


def _is_free(part: Pattern) -> bool:
    """Whether it is a variable for any term, or an op with its arguments in one order and any attributes."""
    if not isinstance(part, App):
        return isinstance(part, Var) and part.sort is None
    definition = part.definition
    alone = definition.traits.isdisjoint(("commutative", "associative")) and not part.compares and not part.once
    return alone and len(part.args) == definition.arity


def collapsing(definition: OpDef, rules: Iterable[tuple[int, Rule]], source: Source) -> Iterator[str]:
    """The function ``(args, attrs)`` of the op's first rules, as far as they collapse; no line if none does."""
    first = list(islice(takewhile(lambda pair: collapses(pair[1]), rules), MOST))
    if first:
        name = definition.name.replace(".", "_")
        yield f"def collapse_{name}(args, attrs):"
        for index, rule in first:
            yield from _asked(index, rule, source)
        yield from ("    return None", "", f"step_{name}.collapse = collapse_{name}", "")


def _asked(index: int, rule: Rule, source: Source) -> Iterator[str]:
    """One rule; it reads what it binds from where that stands."""
    names, tests = dict[str, str](), list[str]()
    _read(rule.left, "", names, tests)
    right = rule.right[0]
    assert isinstance(right, Var)
    if rule.guard is not None:
        tests.append(f"({ast.unparse(direct(source(rule.guard, names), ['args']))})")
    yield f"    if {' and '.join(tests) or 'True'}:  # {printable(' '.join(rule.name.split()))}"
    yield f"        return {index}, {names[right.name]}"


def _read(pattern: App, where: str, names: dict[str, str], tests: list[str]) -> None:
    """Where a pattern's names stand, and which op has to stand where; `where` is the term with a dot."""
    places = pattern.definition.attributes
    names.update((name, f"{where}attrs[{places.index(attribute)}]") for attribute, name in pattern.binds)
    for i, arg in enumerate(pattern.args):
        if isinstance(arg, Var):
            names[arg.name] = f"{where}args[{i}]"
        elif isinstance(arg, App):
            tests.append(f"{where}args[{i}].definition is {op_name(arg.definition.name)}")
            _read(arg, f"{where}args[{i}].", names, tests)
