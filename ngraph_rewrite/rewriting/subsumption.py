# SPDX-License-Identifier: Apache-2.0
"""A rule is subsumed by an earlier one that fires wherever it would: then it can never fire itself."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import CLASSES, Rule

# What the variables of the general pattern stand for.
Instances = dict[str, Pattern | tuple[Pattern, ...]]


def subsumed(rules: Iterable[Rule]) -> list[tuple[Rule, Rule]]:
    """Pairs of a rule that can never fire and the earlier rule that takes all its terms."""
    pairs: list[tuple[Rule, Rule]] = []
    earlier: dict[object, list[Rule]] = {}
    for rule in rules:
        before = earlier.setdefault((rule.kind, rule.left.definition), [])
        pairs += [(rule, other) for other in before if subsumes(other, rule)][:1]
        before.append(rule)
    return pairs


def subsumes(general: Rule, special: Rule) -> bool:
    """Whether `general` has no guard, may fire whenever `special` may, and matches all it matches.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> a, b = parse_rules("simplify semi\\nrule a: -(-x) => x\\nrule b: -(-exp(x)) => exp(x)\\n", "r.rules", "r")
    >>> subsumes(a, b), subsumes(b, a)
    (True, False)
    """
    bolder = CLASSES.index(general.grade) > CLASSES.index(special.grade)
    return general.guard is None and not bolder and _instance(general.left, special.left, {}, {}) is not None


def _instance(general: Pattern, special: Pattern, found: Instances, names: dict[str, object]) -> Instances | None:
    """What `general` binds when `special` is taken as a term whose variables are constants; None if it cannot."""
    if isinstance(general, Var):
        return _bound(general.name, special, found) if not isinstance(special, SeqVar) else None
    if isinstance(general, Num):
        return found if general == special else None
    if not (isinstance(general, App) and isinstance(special, App)) or general.definition is not special.definition:
        return None
    if not _attributes(general, special, names):
        return None
    orders = permutations(special.args) if general.definition.commutative else [special.args]
    for args in orders:
        bound = _arguments(general.args, tuple(args), dict(found), names)
        if bound is not None:
            return bound
    return None


def _attributes(general: App, special: App, names: dict[str, object]) -> bool:
    """Whether the attributes `general` compares are compared alike, and names it repeats are repeated."""
    compared = dict(special.compares)
    if any(compared.get(attribute) != expression for attribute, expression in general.compares):
        return False
    values: dict[str, object] = {**dict(special.binds), **compared}
    for attribute, name in general.binds:
        value = values.get(attribute, object())  # an attribute nobody names may be anything
        if names.setdefault(name, value) != value:
            return False
    return True


def _arguments(
    general: tuple[Pattern, ...], special: tuple[Pattern, ...], found: Instances, names: dict[str, object]
) -> Instances | None:
    at = next((i for i, g in enumerate(general) if isinstance(g, SeqVar)), None)
    if at is not None:
        after = len(general) - at - 1
        if len(special) < at + after:
            return None
        sequence = special[at : len(special) - after]
        bound = _bound(str(general[at]), sequence, found)
        general = general[:at] + general[at + 1 :]
        special = special[:at] + special[len(special) - after :]
    else:
        bound = found
    if bound is None or len(general) != len(special):
        return None
    for g, s in zip(general, special, strict=True):
        bound = _instance(g, s, bound, names)
        if bound is None:
            return None
    return bound


def _bound(name: str, value: Pattern | tuple[Pattern, ...], found: Instances) -> Instances | None:
    return {**found, name: value} if found.get(name, value) == value else None
