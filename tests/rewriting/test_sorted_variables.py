# SPDX-License-Identifier: Apache-2.0
"""A variable that is restricted to a sort stands for terms of that sort, or of one below it, and for no others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.lowering.normal_form import matcher_of
from ngraph_rewrite.rewriting.checks import checked_text
from ngraph_rewrite.rewriting.encoding import read_rules, write_rules
from ngraph_rewrite.rewriting.overlaps import overlaps
from ngraph_rewrite.rewriting.pattern import restrictions
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.subsumption import subsumes
from ngraph_rewrite.rewriting.variable_sorts import sorted_variables
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, Effort
from ngraph_rewrite.testing.ground import Ground
from ngraph_rewrite.testing.suite import UNCOMPILED, Subject, findings

TEXT = """
signature test_sorted unordered
sort Bag Value
sort Number < Value
sort Even Odd < Number
operation zero two : -> Even
operation one three : -> Odd
operation large : -> Number
operation text : -> Value
operation double : Value -> Even
operation next : Value -> Value
operation half : Even -> Value
operation chosen both pair : Value Value -> Value
operation of : Value -> Bag
operation row : Value Value -> Value [associative]
operation mix : Value Value -> Value [associative, commutative, identity zero]
operation sorted : Value -> Value
operation first : Value -> Value
operation parity : Value -> Value

rule parity_even: parity(Even(x))        => zero()
rule parity_odd:  parity(Odd(x))         => one()
rule parity:      parity(Number(x))      => large()
rule sorted:      sorted(mix(Odd(xs...), Even(ys...), ts...)) => pair(mix(xs...), pair(mix(ys...), mix(ts...)))
    if mix(ts...) == zero()
rule first:       first(row(Odd(xs...), x, rest...))  =>  chosen(x, row(x, rest...))
rule halved:      half(double(Even(x)))  =>  x
rule twice:       both(Even(x), x)       =>  half(x)
rule chosen:      chosen(x, Odd(y))      =>  y
"""


@pytest.fixture(scope="module")
def numbers() -> tuple[ng.Signature, ng.RuleSet]:
    rules = checked_text(TEXT.lstrip(), "test_sorted.rules", "test_sorted")
    return ng.signature("test_sorted"), rules


def shown(term: ng.Op) -> str:
    return str(term).replace("()", "")


def test_the_least_sort_of_a_term_decides(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = numbers
    terms = [of["two"](), of["three"](), of["large"](), of["text"](), of["double"](of["text"]())]
    found = ng.normal_form([of["parity"](term) for term in terms], rules)
    assert list(map(shown, found)) == ["zero", "one", "large", "parity(text)", "zero"]


def test_a_variable_that_stands_twice_is_restricted_once(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = numbers
    pairs = [of["both"](of[name](), of[name]()) for name in ("two", "three")]
    assert list(map(shown, ng.normal_form(pairs, rules))) == ["half(two)", "both(three, three)"]
    assert restrictions(rules.named("test_sorted.twice").rules[0].left)["x"].name == "Even"


@given(names=st.lists(st.sampled_from(["one", "two", "three", "text", "large"]), min_size=2, max_size=8))
@settings(max_examples=36, deadline=None)
def test_sequences_of_two_sorts_part_operands(numbers: tuple[ng.Signature, ng.RuleSet], names: list[str]) -> None:
    of, rules = numbers
    odd, even = (
        of["mix"](of["zero"](), *(of[n]() for n in names if (n == "two") is wanted)) for wanted in (False, True)
    )
    parted = of["pair"](odd, of["pair"](even, of["zero"]()))
    found, wanted = ng.normal_form([of["sorted"](of["mix"](*(of[name]() for name in names))), parted], rules)
    assert (found is wanted) is (set(names) <= {"one", "two", "three"})


@given(names=st.lists(st.sampled_from(["one", "two", "three", "text"]), min_size=2, max_size=6))
@settings(max_examples=36, deadline=None)
def test_a_run_ends_where_an_operand_is_of_another_sort(
    numbers: tuple[ng.Signature, ng.RuleSet], names: list[str]
) -> None:
    """Every length is tried, the shortest first: none is the first that matches."""
    of, rules = numbers
    (rule,) = rules.named("test_sorted.first").rules
    bank = TermBank()
    row = bank.make(of["row"].definition, tuple(bank.make(of[n].definition, (), ()) for n in names), ())
    term = bank.make(of["first"].definition, (row,), ())
    lengths = [len(s["xs"]) for one, s in matcher_of(rules).matches(term) if one is rule]
    odd = next((i for i, name in enumerate(names) if name not in ("one", "three")), len(names))
    assert lengths == list(range(min(odd, len(names) - 1) + 1))


def test_the_right_side_may_use_what_the_restriction_says(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = numbers
    assert len(of.rules("rule a: chosen(Even(x), y) => half(x)", unordered=True)) == 1
    with pytest.raises(ng.RuleFileError, match="this is a Value, and a Even is wanted here"):
        of.rules("rule a: chosen(x, y) => half(x)", unordered=True)


def test_conditions_restrict_as_left_sides_do(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = numbers
    rules = of.rules("rule a: chosen(x, y) => half(z)\n    if mix(Even(z), Odd(o), ts...) := mix(x, y)", unordered=True)
    two, three, text = of["two"](), of["three"](), of["text"]()
    found = ng.normal_form([of["chosen"](three, two), of["chosen"](three, text)], rules)
    assert list(map(shown, found)) == ["half(two)", "chosen(three, text)"]


def test_a_condition_may_ask_for_a_sort_alone(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = numbers
    rules = of.rules("rule a: chosen(x, y) => half(x)\n    if Even(x) := x and Odd(z) := y", unordered=True)
    two, three = of["two"](), of["three"]()
    found = ng.normal_form([of["chosen"](two, three), of["chosen"](three, three), of["chosen"](two, two)], rules)
    assert list(map(shown, found)) == ["half(two)", "chosen(three, three)", "chosen(two, two)"]


def test_why_a_variable_does_not_match_is_told(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = numbers
    said = str(ng.why_not("test_sorted.parity_odd", of["parity"](of["text"]()), rules=rules))
    assert "expected Odd" in said and "of sort Value" in said


def test_a_rule_with_restrictions_is_stored_and_read_again(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    _, rules = numbers
    again = read_rules(write_rules(rules))
    assert [restrictions(r.left) for r in again] == [restrictions(r.left) for r in rules]
    assert [sorted(s.above) for s in restrictions(again.rules[0].left).values()] == [["Number", "Value"]]
    assert str(again.rules[0].left) == "parity(Even(x))"


# -- what checks make of it ---------------------------------------------------------------------------------


def rules_of(of: ng.Signature, *equations: str) -> list[Rule]:
    text = "\n".join(f"rule r{i}: {equation}" for i, equation in enumerate(equations))
    return list(parse_rules(f"signature {of.name} unordered\n{text}\n", "r.rules", "r"))


def test_a_rule_takes_the_terms_of_one_for_a_lower_sort(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = numbers
    odd, nested, even, special = rules_of(
        of, "next(Odd(x)) => x", "next(next(x)) => x", "next(Even(x)) => x", "next(two()) => zero()"
    )
    assert subsumes(even, special) and not subsumes(odd, special) and not subsumes(even, nested)
    assert not subsumes(even, odd) and not subsumes(odd, even)
    with pytest.raises(ng.RuleFileError, match="can never fire"):
        of.rules("rule a: next(Number(x)) => x\nrule b: next(Odd(x)) => x", unordered=True)


def test_rules_that_differ_in_sorts_alone_are_two(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = numbers
    assert len(of.rules("rule a: next(Odd(x)) => x\nrule b: next(x) => x", unordered=True)) == 2
    asked = "rule {}: next(x) => y\n    if next({}) := half(x)"
    one, two = asked.format("a", "Odd(y)"), asked.format("b", "y").replace("next(x)", "next(Even(x))")
    assert len(of.rules(f"{one.replace('next(x)', 'next(Even(x))')}\n{two}", unordered=True)) == 2
    with pytest.raises(ng.RuleFileError, match="is the same as"):
        of.rules("rule a: next(Odd(x)) => x\nrule b: next(Odd(x)) => x", unordered=True)


def test_left_sides_for_sorts_with_nothing_in_common_do_not_overlap(numbers: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = numbers
    odd, even, any_, of_two = rules_of(
        of, "next(Odd(x)) => x", "next(Even(x)) => x", "next(double(x)) => x", "chosen(next(two()), y) => y"
    )
    assert not overlaps(odd.left, even.left)
    assert overlaps(any_.left, even.left) and not overlaps(any_.left, odd.left)
    assert overlaps(of_two.left, even.left, (0,)) and not overlaps(of_two.left, odd.left, (0,))


@given(seed=st.integers(0, 1000))
@settings(max_examples=24, deadline=None)
def test_drawn_terms_are_of_the_sorts_that_are_asked_for(numbers: tuple[ng.Signature, ng.RuleSet], seed: int) -> None:
    of, rules = numbers
    ground = Ground(rules, "test_sorted", TermBank(), seed)
    (rule,) = rules.named("test_sorted.chosen").rules
    term = ground.instance(rule.left, sorted_variables(rule.left))
    assert term.args[1].type.fits(of.sorts["Odd"])  # type: ignore[attr-defined]


def test_a_file_with_restrictions_passes_its_checks(tmp_path: Path) -> None:
    text = """
signature test_sorted_checks
sort Value
sort Even Odd < Value
operation zero : -> Even
operation one : -> Odd
operation next : Value -> Value
operation parity : Value -> Value
rule even: parity(Even(x)) => zero()
rule odd: parity(Odd(x)) => one()
rule next: parity(next(Odd(x))) => zero()
"""
    path = tmp_path / "test_sorted_checks.rules"
    path.write_text(text.lstrip(), encoding="utf-8")
    found = {
        (f.rule.partition(".")[2], f.check): f.status
        for f in findings(Subject((path,), effort=Effort(4, 0.1), checks=UNCOMPILED), count=1)
    }
    assert FAILED not in found.values() and OPEN not in found.values()
    assert {check for (_, check), status in found.items() if status == PASSED} >= {"types", "termination"}
    assert set(found.values()) == {PASSED, NONE}


MISTAKES = [
    ("rule a: next(Even(two())) => two()", "`Even` is a sort: it is asked of one variable"),
    ("rule a: next(Even(x, y)) => x", "`Even` is a sort: it is asked of one variable"),
    ("rule a: next(Even(Odd(x))) => x", "`Even` is a sort: it is asked of one variable"),
    ("rule a: chosen(Even(x), Odd(x)) => x", "`x` is a Even and a Odd"),
    ("rule a: of(Bag(x)) => of(x)", "`x` is a Value here, and never a Bag"),
    ("rule a: next(Missing(x)) => x", "no op is called test_sorted.Missing"),
    ("rule a: next(x) => Even(x)", "no op is called test_sorted.Even"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_shown_at_its_place(numbers: tuple[ng.Signature, ng.RuleSet], text: str, message: str) -> None:
    with pytest.raises(ng.RuleFileError, match=message) as error:
        numbers[0].rules(text, unordered=True)
    assert "<test_sorted>:" in str(error.value)


def test_an_operation_of_the_name_of_a_sort_goes_first() -> None:
    of = ng.signature("test_sorted_names")
    of.sort("S"), of.sort("Low", below="S")
    of.operation("low", (), "Low")
    of.operation("Low", ("S",), "S")
    (rule,) = of.rules("rule a: Low(Low(x)) => Low(x)").rules
    assert not restrictions(rule.left)
