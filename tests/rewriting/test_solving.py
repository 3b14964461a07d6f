# SPDX-License-Identifier: Apache-2.0
"""A solved guard cuts off only what it would refuse, and offers what no domain does."""

from __future__ import annotations

from random import Random

import pytest

import ngraph_rewrite  # noqa: F401  (declares the ops)
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.domain import SYMBOLIC
from ngraph_rewrite.rewriting.guard_parts import conjuncts, equations
from ngraph_rewrite.rewriting.instances import every_match, first_match, matches
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.testing.strategies import begin, random_domain

GUARDED = [rule for rule in library() if rule.guard is not None]


def rule_of(equation: str) -> Rule:
    (rule,) = parse_rules(f"simplify semi\nrule r: {equation}\n", "my.rules", "my")
    return rule


@pytest.mark.sampled
@pytest.mark.parametrize("rule", GUARDED, ids=lambda rule: rule.name)
def test_nothing_is_cut_off_for_which_the_guard_holds(rule: Rule) -> None:
    for turn in range(3):
        random, bank = Random(f"{rule.name} {turn}"), TrialBank()
        for found in every_match(rule, random_domain(random), begin(random), bank, 25):
            assert Solver(rule, bank.make).admits({}, found.bindings)


def test_a_guard_falls_into_parts_that_say_what_they_read() -> None:
    rule = rule_of(
        "transpose(x, perm=p) => x\n    where m = self.rank\n    where n = rank(p)\n"
        "    if n == 2 and (x.rank == 2 or is_identity(p)) and m == n and target.sample == 'last'"
    )
    found = [(str(c.expression), sorted(c.needs)) for c in conjuncts(rule)]
    assert found == [
        ("n == 2", ["p"]),
        ("x.rank == 2 or is_identity(p)", ["p", "x"]),
        ("m == n", ["p", "self"]),
        ("target.sample == 'last'", ["target"]),
    ]


def test_an_equation_may_be_written_either_way_round() -> None:
    rule = rule_of("slice(x, starts=a, stops=b, steps=c) => x\n    if 3 == x.rank and x.shape[0] == 1 and c == a")
    found = [(e.name, e.what, str(e.value)) for e in equations(rule)]
    assert found == [("x", "rank", "3"), ("x", 0, "1"), ("c", "", "a"), ("a", "", "c")]


@pytest.mark.parametrize(
    "guard",
    [
        "x.rank == 5",
        "x.shape == (7, 8)",
        "x.shape[1] == 6",
        "x.shape[-2] == 9",
        "p == (2, 0, 1) and x.dtype == 'uint64'",
        "is_float(x.dtype) and x.rank == 4 and p[3] == 0",
    ],
)
def test_what_no_domain_offers_is_made_where_an_equation_says_it(guard: str) -> None:
    rule, bank = rule_of(f"transpose(x, perm=p) => x\n    if {guard}"), TrialBank()
    searches = [(random_domain(Random(i)), begin(Random(i))) for i in range(10)]
    found = [first_match(rule, domain, choices, bank, 60, Solver(rule, bank.make)) for domain, choices in searches]
    assert any(found)


@pytest.mark.parametrize(
    "equation",
    [
        "reshape(x, shape=s)  =>  x\n    if s == (2, 3)",
        "broadcast(x, shape=s, dims=d)  =>  x\n    if s == (2, 3, 5)",
        "transpose(x, perm=p)  =>  x\n    if self.shape == (2, 3, 4)",
        "sum(reshape(x, shape=s), axes=k)  =>  x\n    if s == (7, 5)",
    ],
)
def test_of_a_shape_that_is_written_out_something_is_drawn_that_becomes_it(equation: str) -> None:
    rule, bank = rule_of(equation), TrialBank()
    assert next(matches(rule, 20, SYMBOLIC, bank, 400), None) is None
    assert next(matches(rule, 20, SYMBOLIC, bank, 400, Solver(rule, bank.make)), None) is not None


def test_a_conjunct_that_fails_is_left_to_the_whole_guard() -> None:
    rule, bank = rule_of("transpose(x, perm=p) => x\n    if x.shape[3] == 2 and x.rank == 4"), TrialBank()
    x = bank.leaf("x", SYMBOLIC.pool("semi")[0])
    assert x.rank < 4 and not Solver(rule, bank.make).admits({}, {"x": x})  # by its rank
    rule = rule_of("transpose(x, perm=p) => x\n    if x.shape[3] == 2 or x.rank == 4")
    assert Solver(rule, bank.make).admits({}, {"x": x})  # it cannot be said
