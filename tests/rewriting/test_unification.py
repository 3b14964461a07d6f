# SPDX-License-Identifier: Apache-2.0
"""Unification finds all terms that two left sides match, and little else; matchpy says what they match."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.instances import terms_of
from ngraph_rewrite.rewriting.overlaps import Position, overlaps, positions, renamed, subpattern
from ngraph_rewrite.rewriting.pattern import SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.reference import reference_matches
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.rewriting.unification import unifiers
from ngraph_rewrite.rewriting.unifier import resolved
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.strategies import begin, random_domain

ALGEBRA = [r for r in library() if r.file in ("rules/semi.rules", "rules/tuples.rules", "rules/update.rules")]


def rules(*lines: str) -> list[Rule]:
    return list(parse_rules("simplify semi\n" + "\n".join(lines), "my.rules", "my"))


def shown(outer: Rule, inner: Rule, position: Position = ()) -> list[str]:
    return [str(o.pattern) for o in overlaps(outer.left, inner.left, position)]


def instance(pattern: object, random: Random) -> Op | None:
    return next(terms_of(pattern, random_domain(random), begin(random), TrialBank(), 40), None)  # type: ignore[arg-type]


def inside(term: Op, position: Position) -> Op:
    for i in position:
        term = term.args[i]
    return term


def pairs() -> list[tuple[Rule, Position, Rule]]:
    """Rules whose left sides have one op: at the root of one, at the root of the other or further inside."""
    return [
        (outer, position, inner)
        for outer in ALGEBRA
        for position, part in positions(outer.left)
        for inner in ALGEBRA
        if part.definition is inner.left.definition
    ]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(pairs()), st.integers(0, 2**32))
def test_what_is_found_is_matched_by_both(pair: tuple[Rule, Position, Rule], seed: int) -> None:
    outer, position, inner = pair
    for overlap in overlaps(outer.left, inner.left, position):
        term = instance(overlap.pattern, Random(seed))
        if term is not None:
            assert reference_matches(outer, term)
            assert reference_matches(inner, inside(term, overlap.position))


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(pairs()), st.sampled_from(ALGEBRA), st.integers(0, 2**32))
def test_what_both_match_is_found(pair: tuple[Rule, Position, Rule], third: Rule, seed: int) -> None:
    """Drawn terms that one rule matches at the root and another one inside match one of the overlaps of the two."""
    outer, position, inner = pair
    random = Random(seed)
    term = instance(random.choice([outer.left, *(o.pattern for o in overlaps(outer.left, third.left))]), random)
    if term is None or any(isinstance(p, SeqVar) for p in subpatterns(outer.left)):
        return  # a sequence variable moves what stands behind it: the rule of tuples below
    if reference_matches(outer, term) and reference_matches(inner, inside(term, position)):
        found = overlaps(outer.left, inner.left, position)
        assert any(reference_matches(replace(outer, left=o.pattern), term) for o in found)


def test_operands_of_a_commutative_op_unify_in_either_order() -> None:
    a, b = rules("rule a: x + negative(y) => x - y", "rule b: exp(x) + y => y + exp(x) * 1")
    assert shown(a, b) == ["add(exp(x_), negative(y))"]


def test_a_rule_meets_itself_in_another_order() -> None:
    (a,) = rules("rule a: x + negative(y) => x - y")
    assert shown(a, a) == ["add(x_, negative(y_))", "add(negative(y_), negative(y))"]


def test_a_repeated_variable_is_one_term() -> None:
    a, b = rules("rule a: x - x => 0", "rule b: negative(x) - y => negative(x + y)")
    assert shown(a, b) == ["subtract(negative(x_), negative(x_))"]


def test_a_variable_never_contains_itself() -> None:
    a, b = rules("rule a: x - x => 0", "rule b: x - negative(x) => x + x")
    assert shown(a, b) == []


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("0", "0", True), ("0", "0.0", True), ("0.0", "-0.0", False), ("0", "-0.0", False), ("1", "True", False),
        ("1", "2", False), ("False", "False", True), ("1", "constant(value=v, axes=k)", True), ("1", "exp(y)", False),
    ],
)  # fmt: skip
def test_numbers_are_constants(one: str, other: str, meet: bool) -> None:
    a, b = rules(f"rule a: x - {one} => x", f"rule b: x - {other} => x")
    assert bool(shown(a, b)) == bool(shown(b, a)) == meet


def test_attributes_that_differ_never_meet() -> None:
    a, b, c, d = rules(
        "rule a: cast(x, dtype='int8') => x",
        "rule b: cast(x, dtype='bool') => x",
        "rule c: cast(x, dtype=t) => x",
        "rule d: sum(sum(x, axes=k), axes=k) => x",
    )
    assert shown(a, b) == []
    assert shown(a, c) == ["cast(x_, dtype='int8')"]
    (e,) = rules("rule e: sum(x, axes=()) => x")
    assert shown(d, e) == ["sum(sum(x, axes=()), axes=())"]


def test_a_sequence_variable_stands_for_any_number() -> None:
    a, b = rules("rule a: concat(x, axis=k) => x", "rule b: concat(concat(x..., axis=k), y..., axis=k) => x...[0]")
    assert "concat(concat(x_...[0], x_...[1], axis=k_), axis=k_)" in shown(a, b)
    assert "concat(concat(concat(x_...[0], axis=k_), y_...[0], axis=k_), y...[0], axis=k_)" in shown(b, b, (0,))


def test_what_stands_behind_a_sequence_variable_moves() -> None:
    outer, inner = rules("rule a: concat(x..., exp(y), axis=k) => y", "rule b: exp(log(y)) => y")
    found = overlaps(outer.left, inner.left, (1,))
    assert [o.position for o in found] == [(0,), (1,), (2,)]
    assert all(str(subpattern(o.pattern, o.position)) == "exp(log(y_))" for o in found)


def test_names_of_the_other_rule_are_its_own() -> None:
    a, b = rules("rule a: x - negative(y) => x + y", "rule b: negative(negative(x)) => x")
    assert shown(a, b, (1,)) == ["subtract(x, negative(negative(x_)))"]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ALGEBRA))
def test_a_left_side_unifies_with_itself(rule: Rule) -> None:
    if not any(isinstance(p, SeqVar) for p in subpatterns(rule.left)):
        own, other = rule.left, renamed(rule.left)
        assert str(resolved(own, next(unifiers(own, other)))) == str(renamed(own))
        assert next(unifiers(own, Var("another"))).terms == {"another": own}


# -- nests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ("add(x, -x, y...) => add(y...)", "u + 0 => u", ["add(add(u_, 0), add(x, negative(x)))"]),
        ("add(x, -x, y...) => add(y...)", "add(u, exp(v), w...) => add(u, w...)",
         ["add(add(u_, negative(u_)), exp(v_))", "add(add(x, negative(x)), exp(v_))"]),
        ("multiply(x, x, y...) => x", "multiply(u, u, w...) => u", ["multiply(multiply(multiply(x, x), u_), u_)"]),
    ],
)  # fmt: skip
def test_nests_overlap_by_their_operands(outer: str, inner: str, expected: list[str]) -> None:
    one, other = rules(f"rule a: {outer}", f"rule b: {inner}")
    found = overlaps(one.left, other.left)
    assert set(expected) <= {str(o.pattern) for o in found}
    random = Random(0)
    for overlap in (o for o in found if str(o.pattern) in expected):
        term = instance(overlap.pattern, random)
        if term is not None:
            assert reference_matches(one, term)
            assert reference_matches(other, inside(term, overlap.position))
