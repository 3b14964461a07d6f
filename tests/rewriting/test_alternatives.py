# SPDX-License-Identifier: Apache-2.0
"""The ways in which a rule comes to fire are told apart, and together they are all there are."""

from __future__ import annotations

from itertools import islice

import pytest

from ngraph_rewrite.rewriting.alternatives import MOST, alternatives, wants_nothing
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.testing.strategies import examples_of


def rule_of(guard: str, right: str = "x") -> Rule:
    clause = f"\n    if {guard}" if guard else ""
    (rule,) = parse_rules(f"simplify semi\nrule r: transpose(x, perm=p) => {right}{clause}", "my.rules", "my")
    return rule


def guards(rule: Rule) -> list[str]:
    return [str(way.guard) for way in alternatives(rule)]


@pytest.mark.parametrize("guard", ["", "x.rank == 1", "x.rank == 1 and is_identity(p)"])
def test_a_rule_with_one_way_has_no_others(guard: str) -> None:
    assert guards(rule_of(guard)) == []


def test_each_part_of_an_or_is_the_first_to_hold_in_one() -> None:
    assert guards(rule_of("x.rank == 0 or x.rank == 1 or is_identity(p)")) == [
        "x.rank == 0",
        "not x.rank == 0 and x.rank == 1",
        "not x.rank == 0 and (not x.rank == 1) and is_identity(p)",
    ]


def test_what_else_is_demanded_is_demanded_of_each() -> None:
    assert guards(rule_of("x.rank < 2 and (0 in x.shape or p == (0,)) and is_identity(p)")) == [
        "x.rank < 2 and 0 in x.shape and is_identity(p)",
        "x.rank < 2 and (not 0 in x.shape) and (p == (0,)) and is_identity(p)",
    ]


def test_a_condition_goes_both_ways() -> None:
    assert guards(rule_of("p == (0,) if x.rank == 1 else is_identity(p)")) == [
        "x.rank == 1 and p == (0,)",
        "not x.rank == 1 and is_identity(p)",
    ]


def test_a_condition_of_the_right_side_goes_both_ways() -> None:
    right = "transpose(x, perm=p if x.rank == 2 else inverse(p))"
    assert guards(rule_of("is_identity(p)", right)) == [
        "is_identity(p) and x.rank == 2",
        "is_identity(p) and (not x.rank == 2)",
    ]


def test_there_is_an_end_to_them() -> None:
    assert len(guards(rule_of(" or ".join(f"x.rank == {n}" for n in range(30))))) == MOST


def test_together_they_are_the_guard() -> None:
    """Whatever the rule fires on goes exactly one of the parts of its `or`."""
    rule = rule_of("x.rank == 1 or is_identity(p) or p == (1, 0) and x.shape == (1, 1)")
    for example in islice(examples_of(rule, 40), 30):
        term, bindings, target = example.instance
        goes = [Application(w, term, bindings, example.bank.make, target).guard_holds() for w in alternatives(rule)]
        assert sum(goes) == 1


@pytest.mark.parametrize(
    ("guard", "nothing"),
    [
        ("0 in self.shape", True),
        ("self.size == 0 and x.rank == 2", True),
        ("0 in x.shape or x.rank == 1", False),
        ("x.shape == (0,)", True),
        ("x.shape == (3, 0, x.shape[1])", True),
        ("x.shape[1] == 0 and x.rank == 2", True),
        ("x.shape == (1,)", False),
        ("p == (0,)", False),
        ("x.rank == 0", False),
    ],
)
def test_a_guard_may_say_that_there_is_no_element(guard: str, nothing: bool) -> None:
    assert wants_nothing(rule_of(guard)) == nothing


def test_a_sum_of_no_element_is_one() -> None:
    (rule,) = parse_rules("simplify semi\nrule r: sum(x, axes=k) => 0\n    if x.shape == (0,)", "my.rules", "my")
    assert not wants_nothing(rule)
