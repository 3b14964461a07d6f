# SPDX-License-Identifier: Apache-2.0
"""Rules that look at the graph can be asked about as others can: why not, how often, and which of them is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.lowering.verdicts import WhyNot
from ngraph_rewrite.rewriting.rulefile import parse_rules

H = ng.Axis("H", 3)
X = ng.placeholder([H], name="x")
Y = ng.placeholder([H], name="y")
VALUES = np.array([0.5, 1.0, 2.0], np.float32)
RULES = parse_rules(
    """simplify semi
rule both @real:    sin(x), cos(x)  =>  cos(x - 1), cos(x)
rule ranked @real:  exp(x), minimum(absolute(x), y)  =>  exp(x), absolute(minimum(x, y))
    if y.rank == 7
rule alone @real:   tanh(once(erf(x)))  =>  x
rule deep @real:    log(x), sqrt(log(x))  =>  log(x), sqrt(x)
rule gone:          round(sign(x))  =>  floor(x)
rule late @real:    round(once(sign(x)))  =>  x
""",
    "graph.rules",
    "graph",
)


def why(rule: str, op: ng.Op, *others: ng.Op) -> WhyNot:
    with ng.make_transformer("cpu", rules=RULES) as transformer:
        return transformer.lowered([op, *others]).why_not(f"graph.{rule}", op)


def lines_of(answer: WhyNot) -> list[str]:
    """The equation and what is said below it."""
    lines = str(answer).splitlines()
    return lines[next(i for i, line in enumerate(lines) if " => " in line) :]


def test_a_root_that_is_rewritten_and_one_that_stays() -> None:
    sine, cosine = ng.sin(X), ng.cos(X)
    first, second = why("both", sine, cosine), why("both", cosine, sine)
    assert first.fired and second.fired
    assert str(first).splitlines()[1] == "fired:"
    assert str(second).splitlines()[1] == "fired, and this root of it stays as it is:"


def test_another_root_that_shares_nothing_is_drawn() -> None:
    answer = why("both", ng.sin(X), ng.cos(Y))
    assert answer.verdict == "matches a term, and not the graph"
    assert lines_of(answer) == [
        "    sin(x), cos(x) => cos(x - 1), cos(x)",
        "        x = strip(x) : float32[3]",
        "but no other term of the graph matches the left side number 2:",
        "    the nearest is semi.cos(strip(y))",
        "    sin(x), cos(x) => cos(x - 1), cos(x)",
        "                ^",
        "        x is strip(x) already, and here stands strip(y)",
    ]


def test_another_root_that_almost_matches_is_drawn_with_what_is_bound() -> None:
    answer = why("ranked", ng.exp(X), ng.minimum(ng.sin(X), Y))
    assert lines_of(answer)[-2:] == [
        "                    ^^^^^^^^^^^",
        "        expected semi.absolute, here stands semi.sin(strip(x))",
    ]


def test_a_graph_without_another_such_op_says_so() -> None:
    assert "there is no other cos in it" in str(why("both", ng.sin(X), ng.tanh(X)))


def test_the_guard_reads_what_all_roots_bind() -> None:
    answer = why("ranked", ng.exp(X), ng.minimum(ng.absolute(X), Y))
    assert answer.verdict == "matches, and its guard refuses"
    assert lines_of(answer)[1:] == [
        "    left sides: semi.exp(strip(x)); semi.minimum(semi.absolute(strip(x)), strip(y))",
        "        x = strip(x) : float32[3]",
        "        y = strip(y) : float32[3]",
        "     if y.rank == 7   does not hold",
        "          y.rank = 1",
    ]


def test_users_of_a_term_that_must_have_one_are_listed() -> None:
    inner = ng.erf(X)
    answer = why("alone", ng.tanh(inner), ng.sin(inner))
    assert lines_of(answer)[1:] == [
        "but a term that must have no other user has some:",
        "    semi.erf(strip(x)) has 2 users: semi.tanh(semi.erf(strip(x))); semi.sin(semi.erf(strip(x)))",
    ]
    assert why("alone", ng.tanh(inner)).fired


def test_roots_that_depend_on_each_other_are_told() -> None:
    inner = ng.log(X)
    answer = why("deep", ng.sqrt(inner), inner)
    assert answer.verdict == "matches a term, and not the graph"
    assert lines_of(answer)[-3:] == [
        "but semi.log(strip(x)) stands below",
        "    semi.sqrt(semi.log(strip(x)))",
        "terms of which one depends on another are not rewritten together",
    ]


def test_a_term_that_was_rewritten_before_the_rule_had_its_turn() -> None:
    answer = why("late", ng.round(ng.sign(X)))
    assert answer.verdict == "matches what was never tried"
    assert lines_of(answer)[1:] == [
        "but when rules that look at the graph had their turn, it had become",
        "    semi.floor(strip(x)), by graph.gone (graph.rules:7)",
    ]


def test_no_left_side_that_matches_is_a_mismatch() -> None:
    answer = why("ranked", ng.minimum(ng.sin(X), Y))
    assert answer.verdict == "does not match"
    assert "expected semi.absolute, here stands semi.sin(strip(x))" in str(answer)
    assert "no form of the op is semi.sin or semi.cos" in str(why("both", ng.tanh(X)))


def test_what_a_strategy_made_can_be_asked_too() -> None:
    axes = parse_rules("simplify axes\nrule both @real: sin(x), cos(x) => cos(x - 1), cos(x)\n", "axes.rules", "axes")
    sine, cosine, other = ng.sin(X), ng.cos(X), ng.sin(Y)
    found = ng.rewrite([sine, cosine, other], ng.strategies.innermost(axes))
    assert found.why_not("axes.both", sine).fired and found.why_not("axes.both", cosine).fired
    assert found.why_not("axes.both", other).verdict == "matches a term, and not the graph"
    assert "innermost: axes.both  (axes.rules:2)" in found.explain(sine)


# -- which one is wrong -------------------------------------------------------------------------------------

WRONG = parse_rules(
    """simplify semi
rule both @real:   sin(x), cos(x)  =>  cos(x), cos(x)
rule alone @real:  tanh(once(exp(x)))  =>  x
""",
    "wrong.rules",
    "wrong",
)


@pytest.mark.parametrize(
    ("graph", "rule"),
    [([ng.sin(X), ng.cos(X)], "wrong.both"), ([ng.cos(X), ng.tanh(ng.exp(X))], "wrong.alone")],
)
def test_a_wrong_rule_that_looks_at_the_graph_is_found(graph: list[ng.Op], rule: str) -> None:
    found = ng.bisect(graph, inputs=[VALUES], rules=WRONG)
    assert found.verdict == "rule"
    assert found.rule is WRONG.find(rule)


def test_wrong_rules_that_look_at_the_graph_are_found_together() -> None:
    graph = [ng.sin(X), ng.cos(X), ng.tanh(ng.exp(X))]
    found = ng.bisect(graph, inputs=[VALUES], rules=WRONG)
    assert found.verdict == "rules"
    assert {rule.name for rule in found.rules} == {"wrong.both", "wrong.alone"}


def test_a_rule_that_looks_at_the_graph_can_be_switched_off() -> None:
    graph = [ng.sin(X), ng.cos(X)]
    with ng.disable("wrong.both", rules=WRONG), ng.make_transformer("cpu", rules=WRONG) as transformer:
        computation = transformer.lowered(graph)
        assert "wrong.both" not in computation.explain(graph[0])
        assert computation.why_not("wrong.both", graph[0]).verdict == "is disabled"
        assert "wrong.both" not in computation.rule_stats().by_rule


# -- on drawn graphs ----------------------------------------------------------------------------------------

MERGES = parse_rules(
    """simplify semi
rule merged @real:  sin(x), cos(x)  =>  cos(x - 1), cos(x)
rule tripled @real: minimum(x, y), maximum(x, y), sign(x)  =>  x - y, y - x, sign(x)
    if x.rank == 1
rule lonely @real:  absolute(once(minimum(x, y)))  =>  maximum(x, y)
""",
    "merges.rules",
    "merges",
)


@given(data=st.data())
@settings(max_examples=9, deadline=None)
def test_of_any_graph_it_is_told_why_a_rule_fired_or_did_not(data: st.DataObject) -> None:
    terms = [X, Y]
    for _ in range(data.draw(st.integers(2, 10))):
        name = data.draw(st.sampled_from(["sin", "cos", "minimum", "maximum", "sign", "absolute"]))
        arity = 2 if name in ("minimum", "maximum") else 1
        args = data.draw(st.lists(st.sampled_from(terms[-6:]), min_size=arity, max_size=arity))
        terms.append(ng.make_op(f"axes.{name}", *args))
    with ng.make_transformer("cpu", rules=MERGES) as transformer:
        computation = transformer.lowered(terms[2:])
        fired = {str(step.why) for step in computation.lowering.table.redexes()}
        for term in terms[2:]:
            for rule in MERGES:
                answer = computation.why_not(rule.name, term)
                own = computation.explain(term).rpartition(" built at ")[2]
                assert answer.fired or f": {rule.name}  (" not in own
                assert answer.fired <= (str(rule) in fired)
                assert answer.verdict in (
                    "fired", "does not match", "matches, and its guard refuses", "matches what was never tried",
                    "matches a term, and not the graph", "matches, and another rule came first",
                )  # fmt: skip
