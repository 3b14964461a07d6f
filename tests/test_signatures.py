# SPDX-License-Identifier: Apache-2.0
"""Terms that are no tensors: sorts and operations are declared, rules rewrite them, and normal forms come out."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.lowering.driver import adopt
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.checks import checked_text
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import definitions
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.findings import FAILED, NONE, PASSED, Effort
from ngraph_rewrite.testing.suite import UNCOMPILED, Subject, findings

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

PEANO = """
signature test_peano
sort Nat
operation zero : -> Nat
operation s : Nat -> Nat
operation plus times : Nat Nat -> Nat
operation factorial fibonacci : Nat -> Nat

rule plus_zero:   plus(zero(), y)        =>  y
rule plus_next:   plus(s(x), y)          =>  s(plus(x, y))
rule times_zero:  times(zero(), y)       =>  zero()
rule times_next:  times(s(x), y)         =>  plus(y, times(x, y))
rule fact_zero:   factorial(zero())      =>  s(zero())
rule fact_next:   factorial(s(x))        =>  times(s(x), factorial(x))
rule fib_zero:    fibonacci(zero())      =>  zero()
rule fib_one:     fibonacci(s(zero()))   =>  s(zero())
rule fib_next:    fibonacci(s(s(x)))     =>  plus(fibonacci(x), fibonacci(s(x)))
"""

LISTS = """
signature test_lists unordered
sort Int Bool List Pair
operation true false : -> Bool
operation int : -> Int [attributes value]
operation below : Int Int -> Bool
operation gcd minus : Int Int -> Int
operation nil : -> List
operation cons : Int List -> List
operation append merge : List List -> List
operation insert : Int List -> List
operation insertion_sort merge_sort quick_sort : List -> List
operation pair : List List -> Pair
operation halves : List -> Pair
operation parted : Int List List List -> Pair
operation joined : Pair -> List
operation around : Int Pair -> List
operation if_then : Bool List List -> List [lazy 1 2]
operation endless : List -> List

rule below_yes: below(int(value=a), int(value=b)) => true()
    if a < b
rule below_no: below(int(value=a), int(value=b)) => false()
    if a >= b
rule minus: minus(int(value=a), int(value=b)) => int(value=a - b)

rule gcd_end: gcd(a, int(value=0)) => a
rule gcd_turn: gcd(a, b) => gcd(b, a)
    if below(a, b)
rule gcd_step: gcd(a, b) => gcd(rest, b)
    let rest = minus(a, b)
    if not below(a, b) and rest != a

rule append_nil: append(nil(), l) => l
rule append_cons: append(cons(x, k), l) => cons(x, append(k, l))

rule insert_nil: insert(x, nil()) => cons(x, nil())
rule insert_here: insert(x, cons(y, l)) => cons(x, cons(y, l))
    if below(y, x) == false()
rule insert_later: insert(x, cons(y, l)) => cons(y, insert(x, l))
    if below(y, x) == true()
rule sort_nil: insertion_sort(nil()) => nil()
rule sort_cons: insertion_sort(cons(x, l)) => insert(x, insertion_sort(l))

rule halves_nil: halves(nil()) => pair(nil(), nil())
rule halves_one: halves(cons(x, nil())) => pair(cons(x, nil()), nil())
rule halves_two: halves(cons(x, cons(y, l))) => around2(x, y, halves(l))
rule merge_nil: merge(nil(), l) => l
rule merge_end: merge(l, nil()) => l
rule merge_left: merge(cons(x, k), cons(y, l)) => cons(x, merge(k, cons(y, l)))
    if not below(y, x)
rule merge_right: merge(cons(x, k), cons(y, l)) => cons(y, merge(cons(x, k), l))
    if below(y, x)
rule merge_none: merge_sort(nil()) => nil()
rule merge_one: merge_sort(cons(x, nil())) => cons(x, nil())
rule merge_two: merge_sort(cons(x, cons(y, l))) => joined(halves(cons(x, cons(y, l))))
rule joined: joined(pair(k, l)) => merge(merge_sort(k), merge_sort(l))

rule quick_nil: quick_sort(nil()) => nil()
rule quick_cons: quick_sort(cons(x, l)) => around(x, parted(x, l, nil(), nil()))
rule parted_end: parted(p, nil(), k, l) => pair(k, l)
rule parted_low: parted(p, cons(x, r), k, l) => parted(p, r, cons(x, k), l)
    if below(x, p)
rule parted_high: parted(p, cons(x, r), k, l) => parted(p, r, k, cons(x, l))
    if not below(x, p)
rule around: around(p, pair(k, l)) => append(quick_sort(k), cons(p, quick_sort(l)))

rule yes: if_then(true(), k, l) => k
rule no: if_then(false(), k, l) => l
rule endless: endless(l) => endless(cons(int(value=0), l))
""".replace("operation if_then", "operation around2 : Int Int Pair -> Pair\noperation if_then").replace(
    "rule merge_nil", "rule around2: around2(x, y, pair(k, l)) => pair(cons(x, k), cons(y, l))\nrule merge_nil"
)

SETS = """
signature test_sets
sort Element Set Family Bool
operation true false : -> Bool
operation element : -> Element [attributes letter]
operation empty : -> Set
operation one : Element -> Set
operation union : Set Set -> Set [associative, commutative, identity empty]
operation both : Set Set -> Set
operation contains : Set Element -> Bool
operation no_family : -> Family
operation just : Set -> Family
operation all : Family Family -> Family [associative, commutative, identity no_family]
operation power : Set -> Family
operation added : Element Family -> Family
operation same : Element Element -> Bool [commutative]

rule twice:     union(x, x)                          =>  x
rule contains:  contains(union(one(x), rest...), x)  =>  true()
rule misses:    contains(s, x)                       =>  false()
rule both_not:  both(empty(), s)                     =>  empty()
rule both_one:  both(union(one(x), rest...), s)      =>  union(one(x), both(union(rest...), s))
    if contains(s, x)
rule both_rest: both(union(one(x), rest...), s)      =>  both(union(rest...), s)
rule power_not: power(empty())                       =>  just(empty())
rule power:     power(union(one(x), rest...))        =>  all(power(union(rest...)), added(x, power(union(rest...))))
rule added_no: added(x, no_family())                 =>  no_family()
rule added:     added(x, all(just(s), rest...))      =>  all(just(union(one(x), s)), added(x, all(rest...)))
rule once:      all(f, f)                            =>  f
rule same:      same(x, x)                           =>  true()
rule differ:    same(element(letter=a), element(letter=b)) => false()
    if a != b
"""


@pytest.fixture(scope="module")
def peano() -> tuple[ng.Signature, ng.RuleSet]:
    return loaded(PEANO)


@pytest.fixture(scope="module")
def lists() -> tuple[ng.Signature, ng.RuleSet]:
    return loaded(LISTS)


@pytest.fixture(scope="module")
def sets() -> tuple[ng.Signature, ng.RuleSet]:
    return loaded(SETS)


@pytest.fixture(scope="module")
def functional() -> tuple[ng.Signature, ng.RuleSet]:
    path = EXAMPLES / "functional.rules"
    return ng.signature(path), ng.checked_rules(path)


def loaded(text: str) -> tuple[ng.Signature, ng.RuleSet]:
    name = text.split()[1]
    rules = checked_text(text.lstrip(), f"{name}.rules", name)
    return ng.signature(name), rules


def number(peano: ng.Signature, value: int) -> ng.Op:
    term = peano["zero"]()
    for _ in range(value):
        term = peano["s"](term)
    return term


def counted(term: ng.Op) -> int:
    """The number that a term of `zero` and `s` is."""
    value = 0
    while term.definition.short == "s":
        value, term = value + 1, term.args[0]
    assert term.definition.short == "zero"
    return value


def listed(lists: ng.Signature, values: Iterable[int]) -> ng.Op:
    term = lists["nil"]()
    for value in reversed(list(values)):
        term = lists["cons"](lists["int"](value=value), term)
    return term


def values_of(term: ng.Op) -> list[int]:
    values = []
    while term.definition.short == "cons":
        values.append(term.args[0].attribute("value"))
        term = term.args[1]
    assert term.definition.short == "nil"
    return values


def singletons(sets: ng.Signature, names: Iterable[str]) -> list[ng.Op]:
    return [sets["one"](sets["element"](letter=name)) for name in names]


def steps_of(table: ReplacementTable) -> int:
    """How many rules fired."""
    return sum(isinstance(f.why, ng.Rule) for stage in table.stages for f in stage.forward.values())


# -- classical programs -----------------------------------------------------------------------------------


@given(a=st.integers(0, 30), b=st.integers(0, 12))
@settings(max_examples=24, deadline=None)
def test_naturals_add_and_multiply(peano: tuple[ng.Signature, ng.RuleSet], a: int, b: int) -> None:
    nat, rules = peano
    x, y = number(nat, a), number(nat, b)
    total, product = ng.normal_form([nat["plus"](x, y), nat["times"](x, y)], rules)
    assert (counted(total), counted(product)) == (a + b, a * b)


def test_a_factorial_and_a_fibonacci_number(peano: tuple[ng.Signature, ng.RuleSet]) -> None:
    nat, rules = peano
    found = ng.normal_form([nat["factorial"](number(nat, 7)), nat["fibonacci"](number(nat, 17))], rules)
    assert [counted(term) for term in found] == [math.factorial(7), 1597]


def test_terms_may_be_deep(peano: tuple[ng.Signature, ng.RuleSet]) -> None:
    nat, rules = peano
    found = ng.normal_form(nat["plus"](number(nat, 100_000), number(nat, 1)), rules)
    assert counted(found) == 100_001


@given(values=st.lists(st.integers(-9, 9), max_size=14))
@settings(max_examples=24, deadline=None)
def test_lists_are_sorted_in_three_ways(lists: tuple[ng.Signature, ng.RuleSet], values: list[int]) -> None:
    signature, rules = lists
    term = listed(signature, values)
    ways = [signature[f"{way}_sort"](term) for way in ("insertion", "merge", "quick")]
    found = ng.normal_form(ways, rules)
    assert values_of(found[0]) == sorted(values)
    assert found[0] is found[1] is found[2]


@given(a=st.integers(1, 60), b=st.integers(1, 60))
@settings(max_examples=24, deadline=None)
def test_conditions_compare_normal_forms(lists: tuple[ng.Signature, ng.RuleSet], a: int, b: int) -> None:
    signature, rules = lists
    found = ng.normal_form(signature["gcd"](signature["int"](value=a), signature["int"](value=b)), rules)
    assert found.attribute("value") == math.gcd(a, b)


names_of_elements = st.lists(st.sampled_from("abcdef"), max_size=8)


@given(one=names_of_elements, other=names_of_elements)
@settings(max_examples=24, deadline=None)
def test_sets_are_sets(sets: tuple[ng.Signature, ng.RuleSet], one: list[str], other: list[str]) -> None:
    signature, rules = sets
    union = signature["union"]
    a, b = (union(*singletons(signature, names)) for names in (one, other))
    wanted = [union(*singletons(signature, n)) for n in (set(one) | set(other), set(one) & set(other))]
    joined, common, *same = ng.normal_form([union(a, b), signature["both"](a, b), *wanted], rules)
    assert [joined, common] == same
    inside = [signature["contains"](a, signature["element"](letter=name)) for name in "abcdef"]
    said = [term.definition.short for term in ng.normal_form(inside, rules)]
    assert said == [str(name in one).lower() for name in "abcdef"]


def test_a_set_has_its_subsets(sets: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, rules = sets
    found = ng.normal_form(signature["power"](signature["union"](*singletons(signature, "abcde"))), rules)
    assert len(found.args) == 2**5
    assert ng.normal_form(signature["power"](signature["empty"]()), rules).definition.short == "just"


class Program:
    """Programs of the small functional language, with de Bruijn indices."""

    def __init__(self, signature: ng.Signature) -> None:
        self.of = signature

    def lit(self, value: int) -> ng.Op:
        return self.of["lit"](value=value)

    def var(self, value: int) -> ng.Op:
        return self.of["var"](value=value)

    def again(self, *less: int) -> list[ng.Op]:
        """Calls of the function itself with less than its argument."""
        return [self.of["call"](self.var(1), self.of["sub"](self.var(0), self.lit(n))) for n in less]

    def recursive(self, least: int, end: ng.Op, step: ng.Op) -> ng.Op:
        """A function of a number: `end` below `least`, else `step`."""
        return self.of["fix"](self.of["when"](self.of["less"](self.var(0), self.lit(least)), end, step))

    def run(self, term: ng.Op, rules: ng.RuleSet, table: ReplacementTable | None = None) -> ng.Op:
        return ng.normal_form(self.of["eval"](term, self.of["none"]()), rules, table=table)


def test_a_functional_program_runs(functional: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = functional
    p = Program(of)
    factorial = p.recursive(1, p.lit(1), of["mul"](p.var(0), *p.again(1)))
    fibonacci = p.recursive(2, p.var(0), of["add"](*p.again(1, 2)))
    twice = of["fun"](of["fun"](of["call"](p.var(1), of["call"](p.var(1), p.var(0)))))
    square = of["fun"](of["mul"](p.var(0), p.var(0)))
    programs = [
        of["call"](factorial, p.lit(20)),
        of["let_in"](fibonacci, of["call"](p.var(0), p.lit(25))),
        of["call"](of["call"](twice, square), p.lit(3)),
    ]
    found = [p.run(program, rules).attribute("value") for program in programs]
    assert found == [math.factorial(20), 75025, 81]


def test_what_lies_in_a_closure_is_left_alone(functional: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = functional
    p = Program(of)
    found = p.run(of["fun"](of["add"](p.lit(1), p.lit(2))), rules)
    assert str(found) == "closure(add(lit(value=1), lit(value=2)), none())"


def test_hundreds_of_thousands_of_steps(functional: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = functional
    p, table = Program(of), ReplacementTable()
    down = p.recursive(1, p.lit(0), *p.again(1))
    found = p.run(of["call"](down, p.lit(24_000)), rules, table)
    assert found.attribute("value") == 0
    assert steps_of(table) > 300_000


# -- laws -------------------------------------------------------------------------------------------------


@given(data=st.data(), names=st.lists(st.sampled_from("abc"), min_size=2, max_size=6))
@settings(max_examples=36, deadline=None)
def test_permutations_and_nestings_are_one_term(
    sets: tuple[ng.Signature, ng.RuleSet], data: st.DataObject, names: list[str]
) -> None:
    signature, _ = sets
    nothing = signature.rules("rule nothing: both(empty(), empty()) => empty()")

    def nested(terms: list[ng.Op]) -> ng.Op:
        if len(terms) == 1:
            return terms[0]
        at = data.draw(st.integers(1, len(terms) - 1))
        return signature["union"](nested(terms[:at]), nested(terms[at:]))

    terms = [*singletons(signature, names), signature["empty"]()]
    one, other = (nested(data.draw(st.permutations(terms))) for _ in range(2))
    found = ng.normal_form([one, other], nothing)
    assert found[0] is found[1]
    shuffled = ng.normal_form(other, nothing)
    assert shuffled is not found[0]  # it is of another bank
    assert str(shuffled) == str(found[0]) == f"union({', '.join(map(str, singletons(signature, sorted(names))))})"


def test_a_law_alone_orders_two_arguments(sets: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, rules = sets
    a, b = (signature["element"](letter=name) for name in "ab")
    unlike = ng.normal_form([signature["same"](a, b), signature["same"](b, a), signature["same"](a, a)], rules)
    assert list(map(str, unlike)) == ["false()", "false()", "true()"]


def test_an_associative_list_keeps_its_order() -> None:
    words, rules = loaded(
        """
        signature test_words
        sort Word
        operation none : -> Word
        operation word : -> Word [attributes letter]
        operation joined : Word Word -> Word [associative, identity none]
        rule cancel: joined(word(letter="a"), word(letter="A")) => none()
        """.replace("\n        ", "\n")
    )
    term = words["joined"](*(words["word"](letter=name) for name in "baaAbAc"))
    assert str(ng.normal_form(term, rules)) == str(words["joined"](*(words["word"](letter=n) for n in "babAc")))


def test_smaller_operands_stand_first_however_deep_they_are(peano: tuple[ng.Signature, ng.RuleSet]) -> None:
    bags = ng.signature("test_bags")
    bags.sort("N"), bags.sort("Bag")
    zero, s = bags.operation("zero", (), "N"), bags.operation("s", ("N",), "N")
    item = bags.operation("item", ("N",), "Bag")
    bag = bags.operation("bag", ("Bag", "Bag"), "Bag", "associative", "commutative")
    high, low = zero(), zero()
    for _ in range(20_000):
        high, low = s(high), s(low)
    rules = bags.rules("rule pair: bag(item(x), item(x)) => item(x)")
    found = ng.normal_form(bag(item(s(high)), item(zero()), item(low), item(high)), rules)
    assert [len(ng.topological([term])) for term in found.args] == [2, 20_002, 20_003]


# -- lazy arguments, endless programs ------------------------------------------------------------------------


def test_an_argument_that_is_lazy_is_evaluated_only_if_it_is_wanted(
    lists: tuple[ng.Signature, ng.RuleSet],
) -> None:
    signature, rules = lists
    endless, nil = signature["endless"](signature["nil"]()), signature["nil"]()
    chosen = signature["if_then"](signature["true"](), signature["append"](nil, nil), endless)
    assert str(ng.normal_form(chosen, rules)) == "nil()"


def test_a_lazy_argument_of_a_term_that_no_rule_takes_is_normal(lists: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, _ = lists
    rules = signature.rules("rule append_nil: append(nil(), l) => l")
    nil = signature["nil"]()
    stuck = signature["if_then"](signature["true"](), signature["append"](nil, nil), nil)
    assert str(ng.normal_form(stuck, rules)) == "if_then(true(), nil(), nil())"


def test_an_endless_program_is_stopped_and_its_rules_are_named(lists: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, rules = lists
    with pytest.raises(ng.RewriteError, match=r"1000 steps did not reach a normal form.*test_lists\.endless"):
        ng.normal_form(signature["endless"](signature["nil"]()), rules, budget=1000)


@pytest.mark.parametrize("value", [1 << 2000, -(1 << 1024), (0, (1 << 20_000,))], ids=["large", "negative", "inside"])
def test_an_integer_of_too_many_bits_is_refused_when_the_term_is_built(value: Any) -> None:
    signature = ng.signature("test_large_attributes")
    signature.sort("Nat")
    number = signature.operation("number", (), "Nat", attributes=("value",))
    assert number(value=(1 << 1024) - 1).attributes["value"].bit_length() == 1024
    with pytest.raises(ng.AttributeValueError, match=rf"value (is|has) an int of \d+ bits.*\n  at {__file__}:\d+"):
        number(value=value)


@pytest.mark.parametrize("budget", ["x", -1, 1.5, True], ids=repr)
def test_a_budget_that_is_no_number_of_steps_is_refused(lists: tuple[ng.Signature, ng.RuleSet], budget: Any) -> None:
    signature, rules = lists
    with pytest.raises(ng.ArgumentError, match=rf"^budget is {budget!r}\n  at {__file__}:\d+\n  give a number of at"):
        ng.normal_form(signature["nil"](), rules, budget=budget)


def test_rules_that_run_in_a_cycle_are_named(lists: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, _ = lists
    rules = signature.rules("rule turn: append(k, l) => append(l, k)", unordered=True)
    one = listed(signature, [1])
    with pytest.raises(ng.RewriteError, match=r"runs in a cycle: test_lists\.turn"):
        ng.normal_form(signature["append"](one, signature["nil"]()), rules)


def test_a_condition_that_needs_its_own_term_is_an_error(lists: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, _ = lists
    rules = signature.rules("rule own: append(k, l) => k\n    if append(k, l) == l", unordered=True)
    with pytest.raises(ng.RewriteError, match="runs in a cycle: a rule whose condition asks for its left side"):
        ng.normal_form(signature["append"](signature["nil"](), signature["nil"]()), rules)


def test_normal_forms_are_normal(lists: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, rules = lists
    once = ng.normal_form(signature["merge_sort"](listed(signature, [3, 1, 2])), rules)
    table = ReplacementTable()
    assert ng.normal_form(once, rules, table=table).same_as(once)
    assert steps_of(table) == 0


@pytest.mark.parametrize("name", ["innermost", "outermost", "worklist"])
def test_strategies_lead_to_the_same_normal_form(lists: tuple[ng.Signature, ng.RuleSet], name: str) -> None:
    signature, rules = lists
    term = signature["quick_sort"](listed(signature, [2, 3, 1, 2]))
    found = ng.rewrite(term, getattr(ng.strategies, name)(rules))
    assert values_of(found.root) == [1, 2, 2, 3]


@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_operands_that_go_away_are_no_obstacle_to_any_strategy(
    sets: tuple[ng.Signature, ng.RuleSet], data: st.DataObject
) -> None:
    signature, rules = sets
    leaves = st.sampled_from([signature["empty"](), *singletons(signature, "abc")])
    drawn = st.recursive(
        leaves,
        lambda inside: st.builds(
            lambda name, one, other: signature[name](one, other), st.sampled_from(["union", "both"]), inside, inside
        ),
        max_leaves=8,
    )
    term = signature["power"](data.draw(drawn))
    wanted = ng.normal_form(term, rules)
    for strategy in (ng.strategies.innermost, ng.strategies.outermost, ng.strategies.worklist):
        assert ng.rewrite(term, strategy(rules)).root.same_as(wanted)


def test_a_derivation_says_which_rules_fired(peano: tuple[ng.Signature, ng.RuleSet]) -> None:
    nat, rules = peano
    term = nat["plus"](number(nat, 1), number(nat, 1))
    said = ng.rewrite(term, ng.strategies.innermost(rules)).explain(term)
    assert "plus(s(zero()), s(zero()))\n     => s(plus(zero(), s(zero())))" in said
    assert "test_peano.plus_next  (test_peano.rules:9)" in said


def test_a_derivation_shows_the_match_whose_condition_holds(sets: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, rules = sets
    union = signature["union"]
    term = signature["both"](union(*singletons(signature, "abc")), union(*singletons(signature, "b")))
    said = " ".join(ng.rewrite(term, ng.strategies.innermost(rules)).explain(term).split())
    assert "=> union(one(element(letter='b')), both(" in said
    assert "=> union(one(element(letter='a')), both(" not in said


# -- what is declared ---------------------------------------------------------------------------------------


def test_a_term_is_written_as_the_python_that_builds_it(sets: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, _ = sets
    term = signature["contains"](signature["union"](*singletons(signature, "ab")), signature["element"](letter="c"))
    names = {name: operation for name, operation in signature.operations.items() if name != "all"}
    assert eval(repr(term), names).same_as(term)  # noqa: S307  (what it wrote itself)


def test_what_is_no_term_is_not_written() -> None:
    with pytest.raises(ng.ArgumentError, match=r"(?s)3 is no term.*test_signatures.py"):
        ng.written(3)  # type: ignore[arg-type]


def test_a_long_term_is_written_in_full_when_asked(peano: tuple[ng.Signature, ng.RuleSet]) -> None:
    nat, _ = peano
    assert ng.written(number(nat, 5000)) == "s(" * 5000 + "zero()" + ")" * 5000
    assert str(number(nat, 5000)).endswith("s(...)" + ")" * 99)


def test_the_same_may_be_declared_again_and_nothing_else(peano: tuple[ng.Signature, ng.RuleSet]) -> None:
    again = ng.signature("test_peano")
    assert again.operation("s", ("Nat",), "Nat").definition is peano[0]["s"].definition
    with pytest.raises(ng.AttributeValueError, match="is declared as s : Nat -> Nat and as s : Nat Nat -> Nat"):
        again.operation("s", ("Nat", "Nat"), "Nat")
    with pytest.raises(ng.AttributeValueError, match="has no sort Int"):
        again.operation("t", ("Int",), "Nat")


def test_a_signature_is_written_as_rule_files_declare_it(sets: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, _ = sets
    assert "operation union : Set Set -> Set [associative, commutative, identity empty]" in repr(signature)
    assert len(checked_text(f"{signature!r}\n", "again.rules", "again")) == 0


def test_an_ill_sorted_term_is_an_error_at_its_line(sets: tuple[ng.Signature, ng.RuleSet]) -> None:
    signature, _ = sets
    with pytest.raises(ng.DTypeError, match="one takes Element as argument number 1, not Set") as error:
        signature["one"](signature["empty"]())
    assert error.value.where is not None
    assert error.value.where.startswith(__file__)
    with pytest.raises(ng.ArgumentError, match="takes 1 arguments, not 2"):
        signature["one"](*singletons(signature, "ab"))
    with pytest.raises(ng.ArgumentError, match="one takes terms, not 3"):
        signature["one"](3)
    with pytest.raises(ng.AttributeValueError, match="neither an int nor a text"):
        signature["element"](letter=1.5)


def test_a_subsort_stands_for_its_sort() -> None:
    numbers, rules = loaded(
        """
signature test_subsorts
sort Nat
sort Positive < Nat
operation zero : -> Nat
operation s : Nat -> Positive
operation half : Nat -> Nat
operation inverse : Positive -> Positive
rule half: half(s(s(x))) => x
rule none: half(zero()) => zero()
rule twice: inverse(inverse(x)) => x
"""
    )
    zero, s, half = (numbers[name] for name in ("zero", "s", "half"))
    assert str(ng.normal_form(half(s(s(s(zero())))), rules)) == "s(zero())"
    with pytest.raises(ng.DTypeError, match="inverse takes Positive as argument number 1, not Nat"):
        numbers["inverse"](zero())
    with pytest.raises(ng.RuleFileError, match="this is a Nat, and a Positive is wanted here"):
        numbers.rules("rule wrong: inverse(x) => half(x)")


MISTAKES = [
    ("rule a: union(x, y) => zero()", "no op is called test_sets.zero"),
    ("rule a: one(x) => x", "this is a Element, and a Set is wanted here"),
    ("rule a: contains(x, x) => true()", "`x` is a Set and a Element"),
    ("rule a: union(empty, x) => x", "`empty` is an operation, and would be a variable here"),
    ("rule a: union(x, 0) => x", "a number is no term of a signature"),
    ("rule a: both(scalar(x), y) => x", "no op is called test_sets.scalar"),
    ("rule a: both(once(union(x, y)), z) => x", "no op is called test_sets.once"),
    ("rule a: both(x, y) => x\n    if one(x) == y or y == x", "`one` makes a term, which is no truth value"),
    ("rule a: both(x, y) => both(y, x)", "does not go down"),
    ("rule a: both(x, y) => x\n    if x == true()", "a Set is compared with a Bool"),
    ("rule a: both(x, y) => x\n    if one(x)", "this is a Set, and a Element is wanted here|makes a term"),
    ("rule a: both(x, y) => x\n    if both(x, y) == x", "what its right side or a condition makes is not smaller"),
    ("rule a: both(x, y) => x\n    if contains(x, z)", "`z` is not bound"),
    ("rule a: element(letter=n) => element(letter=m)", "`m` is not bound"),
    ("rule a: both(x, y) => x\nrule b: both(x, empty()) => empty()", "can never fire"),
    ("sort", "cannot read the sort"),
    ("operation f : Set => Set", "cannot read the operation"),
    ("operation f : Set -> Sot", "has no sort Sot"),
    ("operation f : Set -> Set [lazy 3]", "has no such arguments to hold"),
    ("operation f : Set -> Set [commutative]", "cannot be commutative"),
    ("operation f : -> Set [attributes name]", "an attribute of f cannot be called name"),
    ("operation f : Set -> Set [funny]", "`funny` is no law"),
    ("operation f : Set Bool -> Set [identity empty]", "cannot have an identity"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_shown_at_its_place(sets: tuple[ng.Signature, ng.RuleSet], text: str, message: str) -> None:
    with pytest.raises(ng.RuleFileError, match=message) as error:
        sets[0].rules(text)
    assert "<test_sets>:" in str(error.value)


def test_an_undeclared_signature_is_an_error() -> None:
    with pytest.raises(ng.RuleFileError, match="there is no signature test_nowhere"):
        checked_text("signature test_nowhere\nrule a: f(x) => x\n", "a.rules", "a")


def test_a_family_of_tensors_is_no_signature() -> None:
    with pytest.raises(ng.AttributeValueError, match="a signature cannot be called 'axes'"):
        ng.signature("axes")


def test_tensor_programs_refuse_other_terms(peano: tuple[ng.Signature, ng.RuleSet]) -> None:
    nat, rules = peano
    x, two = ng.variable([], name="x"), number(nat, 2)
    for refused in (lambda: ng.tanh(two), lambda: two + x, lambda: ng.deriv(two, x), lambda: nat["s"](x)):
        with pytest.raises(ng.DTypeError, match="Nat"):
            refused()
    with pytest.raises(ng.ArgumentError, match="x is a term of no signature"):
        ng.normal_form(x, rules)
    with ng.make_transformer("reference") as transformer, pytest.raises(ng.ArgumentError, match="ng.normal_form"):
        transformer.computation(two)


# -- termination modulo laws ---------------------------------------------------------------------------------


def test_nests_that_become_flat_leave_no_terms_behind() -> None:
    words = ng.signature("test_words_in_order")
    words.sort("Word")
    both = words.operation("both", ("Word", "Word"), "Word", "associative")
    a, b, c = (words.operation(name, (), "Word")() for name in "abc")
    table = ReplacementTable()
    roots = adopt([both(both(a, b), c)], table, TermBank())
    assert table.order(roots) == topological(roots)


def test_an_associative_operation_may_be_above_others() -> None:
    """Compared as a list it might not be: what stands beside the operands of a nest counts."""
    text = """
signature test_above
sort S
operation a b : -> S
operation wrap : S -> S
operation both : S S -> S [associative, commutative]
rule r: both(a(), x) => wrap(x)
"""
    assert len(checked_text(text.lstrip(), "above.rules", "above")) == 1
    with pytest.raises(ng.RuleFileError, match="does not go down"):
        changed = text.replace("wrap(x)", "both(wrap(a()), x)").lstrip()
        checked_text(changed + "rule t: wrap(x) => x\n", "above.rules", "a")


# -- the command ----------------------------------------------------------------------------------------------


def checked(tmp_path: Path, text: str) -> dict[tuple[str, str], str]:
    """What each check says of each rule of a file."""
    path = tmp_path / f"{text.split()[1]}.rules"
    path.write_text(text.lstrip(), encoding="utf-8")
    found = findings(Subject((path,), effort=Effort(4, 0.1), checks=UNCOMPILED), count=1)
    return {(f.rule.partition(".")[2], f.check): f.status for f in found}


@pytest.mark.parametrize("text", [PEANO, SETS], ids=["peano", "sets"])
def test_a_right_file_passes_every_check(tmp_path: Path, text: str) -> None:
    found = checked(tmp_path, text)
    assert {check for (_, check), status in found.items() if status == PASSED} == {
        "types", "termination", "subsumption", "confluence"
    }  # fmt: skip
    assert set(found.values()) == {PASSED, NONE}


def test_a_term_with_two_normal_forms_is_found(tmp_path: Path) -> None:
    """Of a set written twice, the family of subsets was longer: nothing made its double members one."""
    text = SETS.replace("rule once:      all(f, f)                            =>  f\n", "")
    assert text != SETS
    assert checked(tmp_path, text)["power", "confluence"] == FAILED


def test_a_rule_that_is_wrong_for_the_meanings_of_operations_is_found(tmp_path: Path) -> None:
    ints = ng.signature("test_meanings")
    ints.sort("Int")
    ints.operation("int", (), "Int", attributes=("value",), meaning=lambda value: value)
    ints.operation("add", ("Int", "Int"), "Int", meaning=lambda a, b: a + b)
    ints.operation("double", ("Int",), "Int", meaning=lambda a: 2 * a)
    text = """
signature test_meanings
rule right: double(int(value=a)) => int(value=a + a)
rule wrong: add(int(value=a), int(value=b)) => int(value=a - b)
"""
    found = checked(tmp_path, text)
    assert (found["right", "values"], found["wrong", "values"]) == (PASSED, FAILED)


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "rewriting.py")], capture_output=True, text=True, timeout=120, check=True
    )
    assert "10! is 3628800" in done.stdout


# -- what a refused file leaves behind ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    ["rule a: f(x) => y", "rule a: f(x, y) => f(y, x)", "operation g : Nix -> Nat", "define half(x) = g(x)"],
    ids=["unbound", "goes round", "declaration", "shorthand"],
)
def test_a_file_that_was_refused_declares_nothing(wrong: str) -> None:
    """So that it can be corrected, and read again by the same process."""
    head = "signature refused\nsort Nat\noperation f : Nat Nat -> Nat\n"
    with pytest.raises(ng.RuleFileError):
        checked_text(f"{head}{wrong}\n", "my.rules", "my")
    assert "refused.f" not in [d.name for d in definitions("refused")]


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("associative, associative", "`associative` is said twice of an operation"),
        ("associative, identity f, identity g", "`identity` is said twice of an operation"),
        ("associative, identity nothing", "the identity nothing of f is no operation without arguments"),
        ("associative, identity f", "the identity f of f is no operation without arguments"),
        ("associative, identity other", "the identity other of f is of the sort Other"),
    ],
)
def test_what_is_said_of_an_operation_is_said_once_and_is_there(said: str, says: str) -> None:
    with pytest.raises(ng.RuleFileError, match=f"^my.rules:5:1: {says}\n    operation f"):
        head = "signature said_twice\nsort Nat\nsort Other\noperation other : -> Other\n"
        checked_text(f"{head}operation f : Nat Nat -> Nat [{said}]\n", "my.rules", "my")


def test_an_identity_of_another_sort_is_refused_where_it_is_declared_later() -> None:
    """Of a sort below it may be: every term of that is one of the other."""
    own = ng.signature("identity_of_another_sort")
    own.sort("More")
    own.sort("Less", below="More")
    own.sort("Other")
    for name, sort in ("join", "More"), ("meet", "More"):
        own.operation(name, (sort, sort), sort, "associative", identity=f"{name}_of_none")
    own.operation("join_of_none", (), "Less")
    with pytest.raises(ng.AttributeValueError, match=r"(?s)meet_of_none of meet is of the sort Other.*: -> More"):
        own.operation("meet_of_none", (), "Other")
    assert own.operation("meet_of_none", (), "More")().type == own.sorts["More"]
