# SPDX-License-Identifier: Apache-2.0
"""What is asked for becomes a plan: which rules take part, in which directions, and which do not and why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.disabling import disabled_now
from ngraph_rewrite.lowering.passes import library, usable
from ngraph_rewrite.rewriting.given import given_classes, given_names
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.waivers import covers_name
from ngraph_rewrite.saturation.choosing import LeftOut, Plan
from ngraph_rewrite.saturation.cost import Cost
from ngraph_rewrite.saturation.directions import Direction, backwards, forwards
from ngraph_rewrite.saturation.exploring import Bounds
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.info import user_line

# E-nodes that the search for sharing looks at: about a second.
EFFORT = 500_000
Rules = RuleSet | str | os.PathLike[str] | None


def planned(
    rules: Rules, cost: Cost, both_ways: Iterable[str] | str, classes: Iterable[str], target: Target,
    bounds: Bounds, effort: int,
) -> Plan:  # fmt: skip
    """The directions in which rules are read, and those that take no part.

    Raises:
        ArgumentError, RuleFileError: as `saturate`.
    """
    every = library().of_kind("simplify", "explore") if rules is None else as_rules(rules)
    names, chosen = given_names(both_ways, "both_ways"), given_classes(classes)
    off = disabled_now()
    _check_numbers(cost, {**bounds._asdict(), "effort": effort})
    missing = [n for n in names if not any(covers_name(n, r.name) for r in every)]
    if missing:
        raise ArgumentError(f"no rule is called {', '.join(missing)}", where=user_line(), do="see `rules`")
    base = target.base
    useful = set(map(id, every if base is None else usable(every, base)))
    directions, left_out = list[Direction](), list[LeftOut]()
    disabled = {id(rule): name for rule in every for name in off if covers_name(name, rule.name)}
    for rule in every:
        there = _forwards(rule, chosen, id(rule) in useful, disabled.get(id(rule)))
        if isinstance(there, str):
            left_out.append(LeftOut(rule, there))
        else:
            directions.append(there)
    for rule in every:
        if id(rule) not in disabled and any(covers_name(n, rule.name) for n in names):
            directions.append(_backwards(rule))
    return Plan(tuple(directions), tuple(left_out), cost, bounds, effort)


def _check_numbers(cost: Cost, limits: Mapping[str, Any]) -> None:
    """Refuse a cost that is no function, and bounds that are no numbers of at least 0."""
    if not callable(cost):
        raise ArgumentError(f"the cost is {cost!r}", where=user_line(), do="give a function of a term")
    for name, value in limits.items():
        kind, called = (Integral, "whole number") if name == "matches" else (Real, "number")
        known = isinstance(value, kind)
        if not (known and value >= 0):
            raise ArgumentError(f"{name} is {value!r}", where=user_line(), do=f"give a {called} of at least 0")


def _forwards(rule: Rule, classes: Sequence[str], useful: bool, disabled: str | None) -> Direction | str:
    if disabled is not None:
        return f"{disabled} is disabled"
    if rule.grade not in classes:
        return f"its class is @{rule.grade}"
    return forwards(rule) if useful else "the target has no use for it"


def _backwards(rule: Rule) -> Direction:
    found = backwards(rule)
    if isinstance(found, str):
        what = f"the rule {rule.name} cannot be used both ways: {found}"
        raise ArgumentError(what, where=user_line(), do=f"write the other way as a rule of its own: {rule.place}")
    return found
