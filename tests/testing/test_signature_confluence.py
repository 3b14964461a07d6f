# SPDX-License-Identifier: Apache-2.0
"""What is said of the confluence of rules of a signature: that it is proved, drawn, wrong, or left open."""

from __future__ import annotations

import pytest

from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.testing import signature_confluence
from ngraph_rewrite.testing.findings import FAILED, OPEN, PASSED, Context, Effort
from ngraph_rewrite.testing.signature_checks import together
from ngraph_rewrite.testing.signature_confluence import confluence_of

HEADER = """signature test_confluent{}
sort S
operation a b c zero : -> S
operation neg : S -> S
operation same : S S -> S
operation item : -> S [attributes value]
operation plus : S S -> S [associative, commutative, identity zero]
operation times : S S -> S [associative, commutative]
operation word : S S -> S [associative]
"""


def context_of(*equations: str, mark: str = "") -> Context:
    text = "\n".join(f"rule r{i}: {equation}" for i, equation in enumerate(equations))
    rules = parse_rules(f"{HEADER.format(mark)}{text}\n", "confluent.rules", "confluent")
    return Context(RuleSet(rules), Effort(4, 0.1))


def says(*equations: str, mark: str = "") -> list[tuple[str, str]]:
    """What is found out about each rule."""
    context = context_of(*equations, mark=mark)
    return [(found.status, found.says) for found in (confluence_of(rule, context) for rule in context.rules)]


def test_rules_whose_pairs_join_are_proved() -> None:
    found = says(
        "plus(x, neg(x)) => zero()",
        "neg(neg(x)) => x",
        "neg(zero()) => zero()",
        "neg(plus(x, y, rest...)) => plus(neg(x), neg(plus(y, rest...)))",
    )
    assert [status for status, _ in found] == [PASSED] * 4
    assert all(text.startswith("proved: its ") and text.endswith(" critical pairs join") for _, text in found)
    assert says("neg(a()) => b()") == [(PASSED, "proved: it has no critical pairs")]


def test_rules_that_may_run_for_ever_are_not() -> None:
    assert "proved" not in says("plus(x, x) => x", mark=" unordered")[0][1]
    assert says("neg(a()) => b()", mark=" unordered") == [(PASSED, "it has no critical pairs")]


def test_where_the_order_of_the_file_decides_terms_are_drawn() -> None:
    (status, text), other = says("same(x, x) => a()", "same(x, y) => b()")
    assert (status, other) == (PASSED, (PASSED, "proved: it has no critical pairs"))
    assert text == "3 terms that two rules may take have one normal form each"


def test_a_term_with_two_normal_forms_is_shown() -> None:
    """One rule takes the term in two ways: whichever of the two operands it is that stays."""
    context = context_of("times(a(), x) => neg(x)")
    found = confluence_of(next(iter(context.rules)), context)
    assert (found.status, found.other) == (FAILED, "confluent.r0")
    assert found.says == "and confluent.r0 bring one term to two normal forms"
    first, *forms = found.shown.splitlines()
    assert "a()" in first and len(forms) == 2 and all("neg" in form for form in forms)


def test_a_nest_inside_is_seen() -> None:
    """The rule of `neg` finds two operands, and after the one inside three."""
    context = context_of("neg(times(x, y)) => a()", "same(x, y) => times(x, y)", "same(neg(x), y) => times(x, y, b())")
    assert confluence_of(next(iter(context.rules)), context).status == FAILED


def test_a_search_that_is_cut_off_leaves_the_finding_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signature_confluence, "UNIFICATION", 5)
    context = context_of("plus(a(), b()) => zero()", "neg(plus(x, y, rest...)) => a()")
    found = [confluence_of(rule, context) for rule in context.rules]
    assert {f.status for f in found} == {OPEN}
    assert all("the search for critical pairs was cut off" in f.says for f in found)


def test_the_order_is_shown() -> None:
    rules = context_of("neg(plus(x, y, rest...)) => plus(neg(x), neg(plus(y, rest...)))", "same(x, x) => x")
    found = list(together("termination", rules.rules, rules))
    assert [f.status for f in found] == [PASSED, PASSED]
    assert [f.says for f in found] == [
        "goes down in an order that was found: neg > plus",
        "goes down in an order that was found",
    ]


# -- nests that become operands of others -------------------------------------------------------------------

SHARED = ("{0}(a(), b()) => c()", "{0}(b(), c()) => a()")


def wrong(*equations: str) -> list[int]:
    """The rules that are found to lead to two normal forms."""
    return [i for i, (status, _) in enumerate(says(*equations)) if status == FAILED]


@pytest.mark.parametrize("nest", ["times", "word"])
@pytest.mark.parametrize("maker", ["neg(x) => {0}(b(), c())", "neg(x) => x", "same(x, x) => {0}(a(), x)"])
def test_operands_that_were_a_nest_before_are_rewritten_as_one(nest: str, maker: str) -> None:
    """Of ``times(a, neg(a))`` one way makes ``times(a, b, c)`` and then ``times(c, c)``, the other ``times(a, a)``."""
    assert wrong(*(rule.format(nest) for rule in (maker, *SHARED))) == [1]


@pytest.mark.parametrize("nest", ["times", "word"])
@pytest.mark.parametrize("maker", ["neg(a()) => b()", "neg(x) => {0}(c(), zero())"])
def test_where_no_such_nest_becomes_an_operand_the_order_of_the_file_decides(nest: str, maker: str) -> None:
    assert wrong(*(rule.format(nest) for rule in (maker, *SHARED))) == []


def test_a_nest_that_is_put_beside_something_has_that_beside_it() -> None:
    maker = "same(x, x) => neg(times(c(), x))"
    assert wrong(maker, "times(a(), b(), zero()) => b()", "times(a(), b()) => c()") == []


def test_a_nest_of_a_right_side_is_one_before_what_stands_beside_it_joins_it() -> None:
    assert wrong("times(neg(a()), neg(a())) => times(b(), c())", *(rule.format("times") for rule in SHARED)) == [1]


@pytest.mark.parametrize(
    "rules",
    [
        ("times(a(), x..., b()) => times(c(), x...)", "times(b(), x..., c()) => times(a(), x...)"),
        ("times(a(), b()) => c()", "times(b(), c(), x...) => neg(b())"),
        ("word(a(), b()) => c()", "word(b(), c(), x...) => neg(b())"),
    ],
)
def test_so_are_they_where_rules_have_sequences(rules: tuple[str, str]) -> None:
    """A rule of all operands of a nest takes the inner one, and leaves what stands beside it."""
    assert 1 in wrong("same(x, x) => x", *rules)


def test_an_inner_nest_may_come_to_its_normal_form_first() -> None:
    """Its first step leaves what the rule of the outer nest takes, and its second does not."""
    first, second = "times(c(), a(), x...) => neg(b())", "times(c(), x...) => times(zero(), x...)"
    assert 1 in wrong("same(x, x) => times(c(), b(), c())", first, second)


@pytest.mark.parametrize("nest", ["times", "word"])
def test_a_rule_takes_all_of_an_inner_nest_or_all_of_the_outer_one(nest: str) -> None:
    assert wrong("neg(x) => x", f"{nest}(b(), x...) => a()") == [1]
