# SPDX-License-Identifier: Apache-2.0
"""Rules that look at the graph meet the others in graphs: with several roots, and with terms that have one user."""

from __future__ import annotations

from itertools import combinations, islice
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.graph_rules import left_sides, matches_at
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.domain import SYMBOLIC
from ngraph_rewrite.rewriting.graph_overlaps import of_several
from ngraph_rewrite.rewriting.instances import terms_of
from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.confluence import check_confluence, confluence_of
from ngraph_rewrite.testing.confluence_meetings import met
from ngraph_rewrite.testing.confluence_pairs import system_of
from ngraph_rewrite.testing.findings import FAILED, NONE, PASSED, WAIVED, Context, Effort, Finding
from ngraph_rewrite.testing.report import report_of
from ngraph_rewrite.testing.strategies import begin

UNDO = "rule undo: -(-x) => x"
QUICK = Effort(examples=8)


def parsed(*lines: str) -> RuleSet:
    return parse_rules("\n".join(["simplify semi", *lines]), "my.rules", "my")


def found(*lines: str) -> dict[str, Finding]:
    rules = parsed(*lines)
    return {f.rule: f for f in check_confluence(rules, Context(rules, QUICK))}


# -- terms with one user ------------------------------------------------------------------------------

LONELY = "rule lonely @real: exp(once(-x)) => reciprocal(exp(x))"


def test_a_rule_that_asks_for_one_user_meets_those_inside_of_its_left_side() -> None:
    """``exp(-(-x))`` becomes ``exp(x)``, or ``1 / (1 / exp(x))``."""
    one = found(UNDO, LONELY)["my.undo"]
    assert (one.status, one.other) == (FAILED, "my.lonely")
    assert "=>     semi.reciprocal(semi.exp(semi.negative(x_)))" in one.shown
    joined = found("rule a @refines: exp(log(x)) => x", "rule b @refines: log(once(exp(x))) => x")
    assert joined["my.a"].status == PASSED
    assert "meetings join" in joined["my.a"].says


def test_such_a_rule_may_meet_itself_in_another_order() -> None:
    one = found("rule lonely @real: once(exp(x)) + y => y - negative(exp(x))")["my.lonely"]
    assert (one.status, one.other) == (FAILED, "my.lonely")


def test_a_file_waives_such_a_pair_as_any_other() -> None:
    one = found(UNDO, LONELY, "waive confluence of lonely and undo: a double negation is gone before")["my.undo"]
    assert (one.status, one.other) == (WAIVED, "my.lonely")


def test_they_meet_where_nothing_else_uses_the_term() -> None:
    """Of a term that stands in two places there are two users: the rule that asks for one does not fire there."""
    for left, meets in (("exp(once(-x))", True), ("exp(once(-x)) + absolute(-x)", False)):
        rules = parsed(UNDO, f"rule lonely: {left} => sin(x)")
        system = system_of(rules, Cache().folder)
        (pair, *_) = [p for p in system.partners(rules.rules[0]) if p.on_graph]
        assert bool(met(system, pair, 4, 0).meetings) == meets


def test_what_is_left_to_the_graph_is_said() -> None:
    rules = parsed(UNDO, LONELY, PAIR)
    every = list(check_confluence(rules, Context(rules, QUICK)))
    says = "larger graphs: whether it fires there depends on who else uses its negative"
    assert {f.rule: f.unjudged for f in every} == {
        "my.undo": "",
        "my.lonely": says,
        "my.pair": "larger graphs: whether it fires there depends on how its roots depend on each other",
    }
    report = report_of(rules, every)
    assert f"judged in part (2):\n  my.lonely: confluence: not judged: {says}\n  my.pair: " in report.text()
    assert says in report.as_json()


# -- several roots ------------------------------------------------------------------------------------

EVEN, ODD = "rule even: cos(-x) => cos(x)", "rule odd: sin(-x) => -sin(x)"
PAIR = "rule pair @real: sin(x), cos(x) => tan(x) * cos(x), cos(x)"


def test_each_root_meets_the_rules_that_look_at_terms() -> None:
    """Whichever goes first, ``sin(-x), cos(-x)`` becomes ``-(tan(x) * cos(x)), cos(x)`` only with more rules."""
    every = found(EVEN, ODD, PAIR)
    assert [every[f"my.{name}"].other for name in ("even", "odd")] == ["my.pair", "my.pair"]
    more = "rule turned: tan(-x) => -tan(x)", "rule out: (-x) * y => -(x * y)"
    every = found(EVEN, ODD, PAIR, *more)
    assert [every[f"my.{name}"].status for name in ("even", "odd")] == [PASSED, PASSED]


def test_two_rules_that_take_the_same_roots_to_different_terms() -> None:
    other = "rule other @real: cos(x), sin(x) => cos(x), cos(x) * tan(x)"
    assert found(PAIR, other)["my.pair"].status == PASSED  # operands of a product may stand in any order
    one = found(PAIR, other.replace("tan(x)", "tan(x) * cos(x) / cos(x)"))["my.pair"]
    assert (one.status, one.other) == (FAILED, "my.other")
    names: dict[str, ng.Op] = {}
    with pytest.raises(AssertionError):
        exec(one.shown, names)  # noqa: S102
    assert names["left"].definition.short == "make_tuple"


def test_two_redexes_of_a_rule_that_share_a_root() -> None:
    """Of three terms two go together, and one stays."""
    one = found("rule both @real: sin(x), maximum(x, y) => tan(x) * cos(x), -minimum(-x, -y)")["my.both"]
    assert (one.status, one.other) == (FAILED, "my.both")
    assert "itself" in one.says
    assert found(PAIR)["my.pair"].status == NONE  # one such pair


def test_rules_that_look_at_the_graph_meet_where_the_others_have_nothing_to_do() -> None:
    """``exp(-(-x))`` never comes to them."""
    lines = "rule a: exp(once(-(-x))) => exp(x)", "rule b: absolute(exp(once(-x))) => exp(-x)"
    assert found(*lines)["my.a"].status == FAILED
    every = found(*lines, UNDO)
    assert every["my.a"].other != "my.b"


def test_another_value_is_found_in_graphs_too() -> None:
    one = found(EVEN, "rule wrong: sin(x), cos(x) => cos(x), cos(x)", "waive confluence of wrong: who cares")["my.even"]
    assert one.status == FAILED
    assert "two values" in one.says
    with pytest.raises(AssertionError):
        exec(one.shown, {})  # noqa: S102


# -- against all orders -------------------------------------------------------------------------------

Replaced = tuple[tuple[str, ...], tuple[str, ...]]
OPS, MADE = ("sin", "cos", "tan"), ("exp", "log")


@st.composite
def replaced(draw: st.DrawFn) -> Replaced:
    """Functions of one variable that are there together, and what each becomes: something that no rule takes."""
    lefts = draw(st.lists(st.sampled_from(OPS), min_size=1, max_size=2, unique=True))
    return tuple(lefts), tuple(draw(st.sampled_from(MADE)) for _ in lefts)


def ends(state: tuple[str, ...], rules: list[Replaced]) -> set[tuple[str, ...]]:
    """What some functions of one variable can become, whichever rule goes first."""
    steps = [dict(zip(lefts, made, strict=True)) for lefts, made in rules if set(lefts) <= set(state)]
    return {end for step in steps for end in ends(tuple(step.get(op, op) for op in state), rules)} or {state}


@given(st.lists(replaced(), min_size=2, max_size=3))
@settings(max_examples=8, deadline=None)
def test_rules_join_if_and_only_if_no_order_makes_a_difference(rules: list[Replaced]) -> None:
    every = [op for lefts, _ in rules for op in lefts]
    starts = [state for n in range(1, 4) for state in combinations(OPS, n) if set(state) <= set(every)]
    alike = all(len(ends(state, rules)) == 1 for state in starts)
    sides = ([", ".join(f"{op}(x)" for op in ops) for ops in one] for one in rules)
    written = parsed(*(f"rule r{i}: {left} => {right}" for i, (left, right) in enumerate(sides)))
    system = system_of(written, Cache().folder)
    seen = [met(system, pair, 8, 0) for rule in written for pair in system.partners(rule)]  # some without elements
    assert all(meeting.joins for one in seen for meeting in one.meetings) == alike


# -- overlaps -----------------------------------------------------------------------------------------

SIDES = ["sin(x)", "cos(x)", "sin(-x)", "add(x, y)", "add(-x, y)", "maximum(x, sin(x))", "exp(x)"]


@given(st.lists(st.sampled_from(SIDES), min_size=4, max_size=4), st.integers(2, 3))
@settings(max_examples=18, deadline=None)
def test_both_rules_match_in_every_overlap(sides: list[str], cut: int) -> None:
    """At the roots, and where one left side stands inside another one: the search says so."""
    one, two = (f"{', '.join(own)} => {', '.join(own)}" for own in (sides[:cut], sides[cut:]))
    outer, inner = parsed(f"rule a: {one}", f"rule b: {two}")
    bank, choices = TrialBank(), begin(Random(0))
    own, others = left_sides(outer), left_sides(inner)
    for number, left in enumerate(others):
        for place in (i for i, one in enumerate(own) if one.definition is left.definition):
            for overlap in of_several(own, others, place, number, ()):
                for graph in islice(terms_of(overlap.pattern, SYMBOLIC, choices, bank, 100), 2):
                    beside = list(graph.args[len(own) :])
                    beside.insert(number, graph.args[overlap.position[0]])
                    for rule, at in ((outer, graph.args[: len(own)]), (inner, tuple(beside))):
                        below = {part for root in at for part in topological(root.args)}
                        if len(set(at)) == len(at) and below.isdisjoint(at):
                            assert next(matches_at(rule, at, graph.args, bank), None) is not None


def test_roots_that_are_no_root_of_the_other_rule_may_be_shared_with_it() -> None:
    outer, inner = parsed("rule a: sin(x), x - y => x, y", "rule b: sin(x), x - z => x, z")
    each = of_several(left_sides(outer), left_sides(inner), 0, 0, ())
    assert [str(overlap.pattern) for overlap in each] == [
        "make_tuple(sin(x_), subtract(x_, y), subtract(x_, z_))",
        "make_tuple(sin(x_), subtract(x_, z_), subtract(x_, z_))",
    ]


# -- what ships ---------------------------------------------------------------------------------------


def test_every_rule_that_looks_at_the_graph_is_looked_at() -> None:
    rules = library()
    system = system_of(rules, Cache().folder)
    graph = [rule for rule in rules if rule.graph]
    assert graph
    for rule in graph:
        assert system.with_rule(rule)
        assert all(pair.on_graph for pair in system.with_rule(rule))
    one = confluence_of(next(r for r in graph if r.name == "attention.attention.1"), Context(rules, QUICK))
    assert one.status == PASSED
    assert "who else uses its batch_dot" in one.unjudged
