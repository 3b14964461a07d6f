# SPDX-License-Identifier: Apache-2.0
"""A rule for some operands of an associative operation takes them among others: the others stay where they are.

Modulo associativity ``union(x, x)`` is a part of ``union(x, x, y)``. So the rule ``union(x, x) => x`` stands for
``union(x, x, rest...) => union(x, rest...)``. See Peterson and Stickel, *Complete sets of reductions for some
equational theories* (1981), where such rules are called extensions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ngraph_rewrite.rewriting.conditional import new_names, normalised
from ngraph_rewrite.rewriting.nests import is_flat
from ngraph_rewrite.rewriting.pattern import (
    Build,
    SeqVar,
    Spread,
    Template,
    Var,
    attribute_names,
    subtemplates,
    variables,
)
from ngraph_rewrite.rewriting.rule import Let, Rule


def extended(rule: Rule) -> Rule:
    """The rule with what may stand beside the operands of its left side; itself if that is said, or there is none.

    >>> from ngraph_rewrite.rewriting.signatures import Signature
    >>> sets = Signature("example_extended")
    >>> _ = sets.sort("Set"), sets.operation("union", ("Set", "Set"), "Set", "associative", "commutative")
    >>> rule, = sets.rules("rule twice: union(x, x) => x")
    >>> print(rule.left)
    union(x, x, rest...)
    """
    left, right = rule.left, rule.right[0]
    if not is_flat(left.definition) or any(isinstance(a, SeqVar) for a in left.args) or _reads_all(rule):
        return rule
    assert right is not None
    names = _new(rule)
    ends = [next(names)] if left.definition.commutative else [next(names), next(names)]
    before, after = (ends[:-1], ends[-1:])
    args = (*map(SeqVar, before), *left.args, *map(SeqVar, after))
    built = Build(left.definition, (*map(_spread, before), right, *map(_spread, after)), (), right.span)
    return replace(rule, left=replace(left, args=args), right=(built,))


def _reads_all(rule: Rule) -> bool:
    """Whether it says something of the whole term that it takes."""
    lets = (c.template for c in rule.clauses if isinstance(c, Let))
    templates = [*rule.right, *lets, *(term for c in rule.conditions for term in normalised(c))]
    parts: Iterator[Template] = (part for t in templates if t is not None for part in subtemplates(t))
    return any(isinstance(part, Var) and part.name == "self" for part in parts)


def _spread(name: str) -> Spread:
    return Spread(Var(name))


def _new(rule: Rule) -> Iterator[str]:
    """Names that the rule has not."""
    taken = {*variables(rule.left), *attribute_names(rule.left), *(c.name for c in rule.clauses)}
    taken.update(name for names in new_names(rule) for name in names)
    yield from (name for i in range(1, 100) if (name := f"rest{i if i > 1 else ''}") not in taken)
