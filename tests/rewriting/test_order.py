# SPDX-License-Identifier: Apache-2.0
"""The order in which rules go down is a reduction order, also where arguments match in any order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.order import DECLARED, FAMILIES, Order, precedence, why_not_down
from ngraph_rewrite.rewriting.paths import MULTISET, RIGHT
from ngraph_rewrite.rewriting.pattern import App, Build, Pattern, Template, Var
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.catalogue import definitions, lookup

drawn = settings(max_examples=80, deadline=None)
UNARY = [lookup(f"semi.{n}") for n in ("negative", "exp", "log")]
ORDERED = [lookup(f"semi.{n}") for n in ("subtract", "divide")]
COMMUTATIVE = [lookup(f"semi.{n}") for n in ("add", "multiply")]
VARIADIC = [lookup("semi.concat")]
NAMES = ("x", "y", "z")


def _grown(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    one = st.builds(lambda d, a: App(d, (a,)), st.sampled_from(UNARY), inner)
    two = st.builds(lambda d, a, b: App(d, (a, b)), st.sampled_from(ORDERED + COMMUTATIVE), inner, inner)
    some = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(one, two, st.builds(lambda d, a: App(d, tuple(a)), st.sampled_from(VARIADIC), some))


VARIABLES = st.sampled_from(NAMES).map(Var)
TERMS = st.recursive(VARIABLES, _grown, max_leaves=6)
APPLICATIONS = _grown(TERMS)


# The order of declaration, others in which arguments are compared and terms weighed differently, and one turned round.
ORDERS = (
    DECLARED,
    Order(statuses={ORDERED[0].rank: RIGHT, ORDERED[1].rank: MULTISET}),
    Order(weights={}),
    Order(weights={UNARY[0].rank: 0, ORDERED[0].rank: 3}, statuses={ORDERED[0].rank: RIGHT}),
    Order(places={d.rank: -d.rank for d in (*UNARY, *ORDERED, *COMMUTATIVE, *VARIADIC)}),
)
orders = st.sampled_from(ORDERS)


def above(left: Pattern, right: Pattern, order: Order) -> bool:
    """Whether a rule from `left` to `right` goes down."""
    if not isinstance(left, App):
        return False
    rule = Rule("r", "simplify", left, (_template(right),), (), None, "exact", "", "f", 1)
    return why_not_down(rule, order) is None


def _template(pattern: Pattern) -> Template:
    if isinstance(pattern, App):
        return Build(pattern.definition, tuple(map(_template, pattern.args)), ())
    assert isinstance(pattern, Var)
    return pattern


def substituted(pattern: Pattern, by: dict[str, Pattern]) -> Pattern:
    if isinstance(pattern, App):
        return replace(pattern, args=tuple(substituted(a, by) for a in pattern.args))
    assert isinstance(pattern, Var)
    return by.get(pattern.name, pattern)


def turned(pattern: Pattern, choice: st.DataObject) -> Pattern:
    """The same term, with the arguments of commutative ops in another order."""
    if not isinstance(pattern, App):
        return pattern
    args = tuple(turned(a, choice) for a in pattern.args)
    swap = pattern.definition.commutative and choice.draw(st.booleans())
    return replace(pattern, args=args[::-1] if swap else args)


@drawn
@given(orders, APPLICATIONS, TERMS)
def test_no_term_is_above_itself_and_no_two_are_above_each_other(order: Order, a: App, b: Pattern) -> None:
    assert not above(a, a, order)
    assert not (above(a, b, order) and above(b, a, order))


@drawn
@given(orders, APPLICATIONS, APPLICATIONS, TERMS)
def test_the_order_is_transitive(order: Order, a: App, b: App, c: Pattern) -> None:
    for x, y, z in ((a, b, c), (b, a, c)):
        assert not (above(x, y, order) and above(y, z, order)) or above(x, z, order)


@drawn
@given(orders, APPLICATIONS, TERMS, st.fixed_dictionaries(dict.fromkeys(NAMES, TERMS)))
def test_the_order_is_stable_under_substitution(order: Order, a: App, b: Pattern, by: dict[str, Pattern]) -> None:
    for x, y in ((a, b), (b, a)):
        assert not above(x, y, order) or above(substituted(x, by), substituted(y, by), order)


@drawn
@given(orders, APPLICATIONS, TERMS, TERMS, st.sampled_from(ORDERED + COMMUTATIVE + VARIADIC))
def test_the_order_is_stable_in_context(order: Order, a: App, b: Pattern, beside: Pattern, op: object) -> None:
    if above(a, b, order):
        assert above(App(op, (a, beside)), App(op, (b, beside)), order)  # type: ignore[arg-type]
        assert above(App(op, (beside, a)), App(op, (beside, b)), order)  # type: ignore[arg-type]


@drawn
@given(orders, APPLICATIONS, TERMS, st.data())
def test_arguments_that_match_in_any_order_are_compared_in_none(
    order: Order, a: App, b: Pattern, choice: st.DataObject
) -> None:
    assert above(a, b, order) == above(turned(a, choice), turned(b, choice), order)
    assert not above(a, turned(a, choice), order)


@drawn
@given(orders, APPLICATIONS)
def test_a_term_is_above_what_is_inside_it(order: Order, a: App) -> None:
    pending = list(a.args)
    while pending:
        inner = pending.pop()
        assert above(a, inner, order)
        pending.extend(inner.args if isinstance(inner, App) else ())


def test_precedence_is_the_order_of_families_and_then_of_declaration() -> None:
    for family in FAMILIES:
        ranks = [precedence(d) for d in definitions(family)]
        assert ranks == sorted(ranks)
    assert precedence(lookup("core.label")) < precedence(lookup("semi.add")) < precedence(lookup("axes.add"))
    assert precedence(lookup("core.label")) < precedence(lookup("cpu.unpooling")) < precedence(lookup("semi.add"))


def test_an_op_may_stand_just_below_one_of_another_family() -> None:
    names = "semi.transpose", "fused.attention", "fused.mixture", "cpu.gemm", "semi.dot"
    places = [precedence(lookup(name)) for name in names]
    assert places == sorted(set(places))
    every = sorted(map(precedence, (d for family in ("semi", "cpu", "fused") for d in definitions(family))))
    for name in ("cpu.gemm_of_pairs", "cpu.gemm_of_float_pairs", "cpu.gemm_of_quads"):
        assert places[3] < precedence(lookup(name)) < places[4]
    assert every.index(places[-1]) - every.index(places[1]) == 6  # nothing else comes between them


def verdict(rule: str, header: str = "simplify semi") -> str | None:
    (found,) = parse_rules(f"{header}\nrule r: {rule}\n", "f.rules", "f")
    return why_not_down(found)


@pytest.mark.parametrize(
    "rule",
    [
        "exp(x) + y => x + exp(y)",  # matches its own right side with the arguments exchanged
        "y + exp(x) => x + exp(y)",
        "x + y => y + x",
        "exp(x) => exp(x)",
        "exp(x) => self",
        "x - y => negative(y - x)",
        "concat(x..., axis=k) => concat(concat(x..., axis=k), axis=k)",
        "concat(x, y..., axis=k) => concat(y..., x, axis=k)",
        "log(x) => exp(log(x))",
        "concat(x..., axis=k) => concat(exp(x)..., axis=k)",
    ],
)
def test_a_rule_that_could_run_for_ever_is_refused(rule: str) -> None:
    assert verdict(rule) is not None


@pytest.mark.parametrize(
    "rule",
    [
        "exp(log(x)) => x",
        "negative(x) * y => negative(x * y)",
        "concat(concat(x..., axis=k), y..., axis=k) => concat(x..., y..., axis=k)",
        "concat(exp(x), y..., axis=k) => concat(x, x, y..., axis=k)",
        "exp(x) + exp(y) => x + y",
        "(x - y) - z => x - (y - z)",
        "exp(concat(x..., axis=k)) => concat(exp(x)..., axis=k)",
    ],
)
def test_a_rule_that_ends_is_accepted(rule: str) -> None:
    assert verdict(rule) is None


@pytest.mark.parametrize(
    ("rule", "ends"),
    [
        ("einsum(x, y, z..., subscripts=s) => einsum(contract(x, y, subscripts=s), z..., subscripts=s)", True),
        ("einsum(x, y..., subscripts=s) => einsum(y..., subscripts=s)", True),
        ("einsum(x, y, subscripts=s) => einsum(x + y, subscripts=s)", True),
        ("einsum(x, subscripts=s) => einsum(x + x, subscripts=s)", False),
        ("einsum(x, y, z..., subscripts=s) => einsum(x, y + y, z..., subscripts=s)", False),
        ("einsum(x, y, z..., subscripts=s) => einsum(x + y, z..., z..., subscripts=s)", False),
        ("einsum(x, y, z..., subscripts=s) => einsum((z + x)..., subscripts=s)", False),
        ("einsum(x, y, z..., subscripts=s) => einsum(einsum(y, z..., x, subscripts=s), subscripts=s)", False),
    ],
)
def test_a_narrowing_op_stands_above_itself_with_fewer_arguments(rule: str, ends: bool) -> None:
    assert (verdict(rule, "lower numpy") is None) == ends


def test_a_rule_that_climbs_is_told_which_op_it_uses() -> None:
    assert verdict("x + y => axes.dot(x, y)") == "it uses axes.dot, which is declared after semi.add"
    told = "its right side is not smaller than its left in the order of declaration (semi.add at the root)"
    assert verdict("x + y => y + x") == told


def test_a_rule_with_several_left_sides_that_climbs_is_told_of_these() -> None:
    told = "its right sides are not smaller than its left sides in the order of declaration"
    assert verdict("x + y, x - y => x + y, y - x") == told
    assert verdict("exp(x), exp(-x) => exp(x), x / x") == "it uses semi.divide, which is declared after semi.exp"
    assert verdict("floor(x), ceil(x) => floor(x), -floor(-x)") is None


def test_a_recognize_rule_makes_terms_smaller() -> None:
    assert verdict("1 / (1 + exp(-x)) => sigmoid(x)", "recognize axes") is None
    assert verdict("exp(x) => sigmoid(x)", "recognize axes") == (
        "the right side has 1 ops and the left 1: a recognize rule makes terms smaller"
    )
    assert verdict("exp(exp(exp(x))) => x + x", "recognize axes") == (
        "`x` stands more often on the right than on the left"
    )
    each = "exp(exp(stack(x..., axis=a, pos=p))) => stack(exp(x)..., axis=a, pos=p)"
    assert "an op for each term of a sequence" in str(verdict(each, "recognize axes"))


def test_every_shipped_rule_goes_down() -> None:
    """But for those that are for exploring: no pass runs them."""
    rules = [rule for rule in library() if rule.kind != "explore"]
    assert [(rule.name, why_not_down(rule)) for rule in rules if why_not_down(rule) is not None] == []


def test_no_two_ops_have_one_place() -> None:
    """`cpu.gemm` and `cpu.gemm_of_pairs` both stand just below `semi.dot`: no rule could make one of the other."""
    every = list(definitions())
    assert len({precedence(d) for d in every}) == len(every)
    first, second, dot = map(lookup, ("cpu.gemm", "cpu.gemm_of_pairs", "semi.dot"))
    x, y = Var("x"), Var("y")
    assert above(App(second, (x, y)), App(first, (x, y)), DECLARED)
    assert not above(App(first, (x, y)), App(second, (x, y)), DECLARED)
    assert above(App(dot, (x, y)), App(second, (x, y)), DECLARED)
