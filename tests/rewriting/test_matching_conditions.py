# SPDX-License-Identifier: Apache-2.0
"""A condition may match the normal form of a term: what its pattern binds is known to all that comes after it."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest
from brute_force import Heap, agrees, every_match
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.asked import Asked
from ngraph_rewrite.lowering.driver import adopt
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.checks import checked_text
from ngraph_rewrite.rewriting.conditional import pattern_names
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.pattern import App, Build, Pattern, SeqVar, Var
from ngraph_rewrite.rewriting.rule import Matching, Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.bank import TermBank

PROGRAMS = """
signature test_matching unordered
sort Int List Pair Bag Bool
operation true : -> Bool
operation int : -> Int [attributes value]
operation text : -> Int [attributes letter]
operation nil : -> List
operation cons : Int List -> List
operation append : List List -> List
operation pair : List List -> Pair
operation two : Int Int -> Pair
operation parted : Int List -> Pair
operation quick_sort deal : List -> List
operation divide : Int Int -> Pair
operation empty : -> Bag
operation one : Int -> Bag
operation bag : Bag Bag -> Bag [associative, commutative, identity empty]
operation summands : Int Bag Bag -> Pair
operation squared same : Bag -> Bag
operation square spin : Int -> Int
operation fun : Int -> Int [frozen 0]
operation inside : Int -> Int
operation down depth : Int -> Int

rule append_nil: append(nil(), l) => l
rule append_cons: append(cons(x, k), l) => cons(x, append(k, l))

rule parted_nil: parted(p, nil()) => pair(nil(), nil())
rule parted_low: parted(int(value=p), cons(int(value=x), r)) => pair(cons(int(value=x), k), l)
    if x < p and pair(k, l) := parted(int(value=p), r)
rule parted_high: parted(p, cons(x, r)) => pair(k, cons(x, l))
    if pair(k, l) := parted(p, r)
rule sort_nil: quick_sort(nil()) => nil()
rule sort: quick_sort(cons(x, l)) => append(front, cons(x, quick_sort(high)))
    let front = quick_sort(low)
    if pair(low, high) := parted(x, l)

rule divide_end: divide(int(value=a), int(value=b)) => two(int(value=0), int(value=a))
    if a < b
rule divide: divide(int(value=a), int(value=b)) => two(int(value=more), r)
    where more = n + 1
    let less = int(value=a - b)
    if two(int(value=n), r) := divide(less, int(value=b))

rule square: square(int(value=a)) => int(value=a * a)
rule squared: squared(b) => bag(one(square(x)), squared(bag(rest...)))
    if bag(one(x), rest...) := b
rule squared_end: squared(empty()) => empty()

rule summands: summands(int(value=n), a, b) => two(int(value=k), int(value=m))
    if bag(one(int(value=k)), ks...) := a and bag(one(int(value=m)), ms...) := b and k + m == n

rule same: same(bag(xs..., one(x))) => bag(one(x), one(x))
    if bag(one(x), ys...) := bag(xs...)

rule spin: spin(x) => y
    if two(y, z) := two(spin(spin(x)), x)
rule inside: inside(f) => square(x)
    if fun(x) := f

rule down_end: down(int(value=n)) => int(value=n)
    if n <= 0
rule down: down(int(value=n)) => m
    if m := down(int(value=n - 1))
"""

SIGNS = """
signature test_matching_drawn
sort S
operation a b yes : -> S
operation nothing : -> S
operation wrap gone : S -> S
operation pair ask : S S -> S
operation bag : S S -> S [associative, commutative]
operation many : S S -> S [associative, commutative, identity nothing]
operation word : S S -> S [associative, identity nothing]
rule gone: gone(wrap(x)) => x
"""


def loaded(text: str) -> tuple[ng.Signature, ng.RuleSet]:
    name = text.split()[1]
    return ng.signature(name), checked_text(text.lstrip(), f"{name}.rules", name)


@pytest.fixture(scope="module")
def programs() -> tuple[ng.Signature, ng.RuleSet]:
    rules = loaded(PROGRAMS)
    return ng.signature("test_matching"), rules[1]


@pytest.fixture(scope="module")
def signs() -> ng.Signature:
    loaded(SIGNS)
    return ng.signature("test_matching_drawn")


def number(of: ng.Signature, value: int) -> ng.Op:
    return of["int"](value=value)


def listed(of: ng.Signature, values: list[int]) -> ng.Op:
    term = of["nil"]()
    for value in reversed(values):
        term = of["cons"](number(of, value), term)
    return term


def values_of(term: ng.Op) -> list[int]:
    values = []
    while term.definition.short == "cons":
        values.append(term.args[0].attribute("value"))
        term = term.args[1]
    return values


def bag(of: ng.Signature, values: list[int]) -> ng.Op:
    return of["bag"](of["empty"](), *(of["one"](number(of, value)) for value in values))


# -- programs -------------------------------------------------------------------------------------------


@given(values=st.lists(st.integers(-9, 9), max_size=10))
@settings(max_examples=18, deadline=None)
def test_a_list_is_sorted_by_what_is_taken_apart(programs: tuple[ng.Signature, ng.RuleSet], values: list[int]) -> None:
    of, rules = programs
    assert values_of(ng.normal_form(of["quick_sort"](listed(of, values)), rules)) == sorted(values)


@given(a=st.integers(0, 60), b=st.integers(1, 9))
@settings(max_examples=18, deadline=None)
def test_two_results_are_bound_at_once(programs: tuple[ng.Signature, ng.RuleSet], a: int, b: int) -> None:
    of, rules = programs
    found = ng.normal_form(of["divide"](number(of, a), number(of, b)), rules)
    assert tuple(part.attribute("value") for part in found.args) == divmod(a, b)


@given(one=st.lists(st.integers(0, 9), max_size=6), other=st.lists(st.integers(0, 9), max_size=6), n=st.integers(0, 18))
@settings(max_examples=36, deadline=None)
def test_a_condition_that_fails_has_the_next_match_tried(
    programs: tuple[ng.Signature, ng.RuleSet], one: list[int], other: list[int], n: int
) -> None:
    """All of one bag with all of another: the first pair, of operands as they stand, that adds up."""
    of, rules = programs
    found = ng.normal_form(of["summands"](number(of, n), bag(of, one), bag(of, other)), rules)
    pairs = [(a, b) for a, b in product(sorted(set(one)), sorted(set(other))) if a + b == n]
    if not pairs:
        assert found.definition.short == "summands"
    else:
        assert tuple(part.attribute("value") for part in found.args) == pairs[0]


@given(values=st.lists(st.integers(0, 4), max_size=6))
@settings(max_examples=18, deadline=None)
def test_operands_and_the_rest_of_them_are_bound(programs: tuple[ng.Signature, ng.RuleSet], values: list[int]) -> None:
    of, rules = programs
    found, wanted = ng.normal_form([of["squared"](bag(of, values)), bag(of, [v * v for v in values])], rules)
    assert found is wanted


@given(values=st.lists(st.integers(0, 4), min_size=1, max_size=6))
@settings(max_examples=18, deadline=None)
def test_a_name_that_is_bound_already_must_be_the_same(
    programs: tuple[ng.Signature, ng.RuleSet], values: list[int]
) -> None:
    of, rules = programs
    twice = sorted(v for v in set(values) if values.count(v) > 1)
    found = ng.normal_form(of["same"](bag(of, values)), rules)
    assert found.definition.short == ("bag" if twice else "same")
    if twice:
        assert [one.args[0].attribute("value") for one in found.args] == twice[:1] * 2


def test_conditions_may_stand_inside_each_other_to_any_depth(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = programs
    assert ng.normal_form(of["down"](number(of, 5_000)), rules).attribute("value") == 0


def test_what_stands_frozen_is_taken_out_and_is_normal_then(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = programs
    closed = of["fun"](of["square"](number(of, 3)))
    assert str(ng.normal_form(closed, rules)) == "fun(square(int(value=3)))"
    assert ng.normal_form(of["inside"](closed), rules).attribute("value") == 81


def test_attributes_are_compared_where_a_term_is_taken_apart(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = programs
    rules = of.rules(
        "rule r: square(x) => y\n    if two(int(value=size((1, 2)) + 1), y) := two(x, x) and int(value=n) := y",
        unordered=True,
    )
    found = ng.normal_form([of["square"](number(of, n)) for n in (2, 3)], rules)
    assert list(map(str, found)) == ["square(int(value=2))", "int(value=3)"]
    same = of.rules(
        "rule r: square(int(value=n)) => x\n    if two(int(value=n), x) := two(int(value=2), int(value=n))",
        unordered=True,
    )
    found = ng.normal_form([of["square"](number(of, n)) for n in (2, 3)], same)
    assert list(map(str, found)) == ["int(value=2)", "square(int(value=3))"]


@pytest.mark.parametrize("name", ["innermost", "outermost", "worklist"])
def test_every_strategy_leads_to_the_same_normal_form(programs: tuple[ng.Signature, ng.RuleSet], name: str) -> None:
    of, rules = programs
    term = of["quick_sort"](of["append"](listed(of, [2, 3]), listed(of, [1, 2])))
    found = ng.rewrite(term, getattr(ng.strategies, name)(rules))
    assert values_of(found.root) == [1, 2, 2, 3]


# -- against brute force ----------------------------------------------------------------------------------


class Drawn:
    """Terms, and patterns whose names may repeat."""

    def __init__(self, of: ng.Signature, random: Random) -> None:
        self.of, self.random = of, random

    def term(self, depth: int = 2) -> ng.Op:
        kind = self.random.randrange(4) if depth else 0
        if kind == 0:
            return self.of[self.random.choice("ab")]()
        if kind == 1:
            return self.of["wrap"](self.term(depth - 1))
        args = [self.term(depth - 1) for _ in range(2 if kind == 2 else self.random.randint(2, 4))]
        return self.of["pair" if kind == 2 else self.random.choice(("bag", "many", "word"))](*args)

    def pattern(self, depth: int, runs: str) -> Pattern:
        kind = self.random.randrange(4) if depth else 0
        if kind == 0:
            return Var(self.random.choice("xyzv"))
        if kind == 1:
            return App(self.of["wrap"].definition, (self.pattern(depth - 1, runs),))
        return self.applied(depth, runs)

    def applied(self, depth: int, runs: str) -> App:
        name = self.random.choice(("pair", "bag", "many", "word"))
        if name == "pair":
            return App(self.of["pair"].definition, (self.pattern(depth - 1, runs), self.pattern(depth - 1, runs)))
        args: list[Pattern] = [Var(self.random.choice("xyzv")) for _ in range(self.random.randint(0, 2))]
        for run in self.random.sample(runs if name == "word" else "stu", self.random.randint(0 if args else 2, 2)):
            args.insert(self.random.randint(0, len(args)), SeqVar(run))
        return App(self.of[name].definition, tuple(args))

    def rule(self) -> Rule:
        """``ask(v, w) => yes()``, if two patterns match what stands there.

        A sequence of the first may stand in the second only where operands have no order: it has one by then.
        """
        left = App(self.of["ask"].definition, (Var("v"), Var("w")))
        conditions = Matching(self.applied(2, "stu"), Var("v")), Matching(self.applied(2, "opq"), Var("w"))
        right = Build(self.of["yes"].definition, (), ())
        return Rule("my.r", "rewrite", left, (right,), (), None, "exact", "", "my.rules", 1, conditions=conditions)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("conditions"))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_a_rule_fires_wherever_some_match_of_each_condition_fits_the_others(
    signs: ng.Signature, folder: Cache, seed: int
) -> None:
    drawn, bank = Drawn(signs, Random(seed)), TermBank()
    rule, asked = drawn.rule(), signs["ask"](drawn.term(), drawn.term())
    (term,) = adopt([asked], ReplacementTable(), bank)
    given = dict(zip("vw", term.args, strict=True))
    patterns = [c.pattern for c in rule.conditions if isinstance(c, Matching)]
    wanted = set()
    for parts in product(*(list(every_match(p, t)) for p, t in zip(patterns, term.args, strict=True))):
        names: dict[str, Any] = dict(given)
        if all(agrees(names, name, value) for part in parts for name, value in part.items()):
            wanted.add(key(names))
    matcher = Matcher(RuleSet([rule]), folder)
    ways = Asked(matcher, bank).solutions(rule, Application(rule, term, given, bank.make))
    known = {name for pattern in patterns for name in pattern_names(pattern)} | {"v", "w"}
    assert {key({name: one[name] for name in known}) for one in ways} == wanted
    fired = ng.normal_form(asked, RuleSet([rule])).definition.short == "yes"
    assert fired is bool(wanted)


def key(substitution: dict[str, Any]) -> frozenset[tuple[str, Any]]:
    """The substitution; of each sequence how often it has each term."""
    items = substitution.items()
    return frozenset((n, Heap.of(v) if isinstance(v, tuple) and not isinstance(v, ng.Op) else v) for n, v in items)


# -- what is said -----------------------------------------------------------------------------------------


def test_a_step_is_explained_with_the_match_whose_conditions_hold(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = programs
    term = of["summands"](number(of, 7), bag(of, [1, 2, 3]), bag(of, [5, 1]))
    said = " ".join(ng.rewrite(term, ng.strategies.innermost(rules)).explain(term).split())
    assert "=> two(int(value=2), int(value=5))" in said
    assert "test_matching.summands (test_matching.rules:" in said


def test_why_a_condition_does_not_match_is_told_with_the_values(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = programs
    term = of["summands"](number(of, 7), bag(of, [1, 2]), bag(of, []))
    said = str(ng.why_not("test_matching.summands", term, rules=rules))
    assert "bag(one(int(value=k)), ks...) := a   matches" in said
    assert "bag(one(int(value=m)), ms...) := b   does not match" in said
    other = of["summands"](number(of, 7), bag(of, [1, 2]), bag(of, [3]))
    assert "k + m == n   does not hold" in str(ng.why_not("test_matching.summands", other, rules=rules))


def test_a_condition_that_fails_to_be_asked_names_its_rule(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = programs
    rules = of.rules(
        "rule wrong: square(x) => x\n    if int(value=n) := x and 1 // n == 1", name="wrong_rules", unordered=True
    )
    with pytest.raises(ng.RewriteError, match=r"rule wrong_rules\.wrong fails on square\(int\(value=0\)\)"):
        ng.normal_form(of["square"](number(of, 0)), rules)


def test_a_condition_that_needs_its_own_term_is_named(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, rules = programs
    with pytest.raises(ng.RewriteError, match=r"test_matching\.spin"):
        ng.normal_form(of["spin"](number(of, 1)), rules, budget=2_000)


def test_a_pattern_that_binds_nothing_is_a_comparison(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = programs
    text = "rule r: square(x) => x\n    if square(square(x)) {} spin(x)"
    (one,) = of.rules(text.format(":="), unordered=True).rules
    (other,) = of.rules(text.format("=="), unordered=True).rules
    assert one.conditions == other.conditions


def test_a_mark_inside_a_text_is_text(programs: tuple[ng.Signature, ng.RuleSet]) -> None:
    of, _ = programs
    rules = of.rules(
        'rule r: square(text(letter=l)) => x\n    if l == ":=" and x := text(letter="a << b")', unordered=True
    )
    assert ng.normal_form(of["square"](of["text"](letter=":=")), rules).attribute("letter") == "a << b"


def test_what_conditions_bring_to_normal_form_has_to_go_down() -> None:
    text = """
signature test_matching_down
sort N P
operation z : -> N
operation s : N -> N
operation p : N N -> P
operation h : N -> P
operation g : N N -> N
operation f : N -> N
rule h: h(s(x)) => p(x, x)
rule f: f(s(x)) => g(q, s(r))
    if p(q, r) := h(x)
"""
    assert len(checked_text(text.lstrip(), "down.rules", "down")) == 2
    for worse in ("p(q, r) := h(f(s(x)))", "p(q, r) := h(x) and p(t, t) := h(f(f(q)))"):
        with pytest.raises(ng.RuleFileError, match="does not go down"):
            checked_text(text.lstrip().replace("p(q, r) := h(x)", worse), "down.rules", "down")
    with pytest.raises(ng.RuleFileError, match="does not go down"):
        checked_text(text.lstrip().replace("g(q, s(r))", "f(s(q))"), "down.rules", "down")


MISTAKES = [
    ("if two(q, r) := divide(x, q)", "`q` is not bound before this condition"),
    ("if two(q, r) := divide(t, t) and two(t, u) := divide(x, x)", "`t` is not bound before this condition"),
    ("let t = square(q)\n    if t == x and two(q, r) := divide(x, x)", "`q` is not bound before this condition"),
    ("let t = square(q)\n    if two(q, t) := divide(x, x)", "`q` is not bound before this condition"),
    ("if two(q, r) := divide(x, w)", "`w` is not bound by the left side"),
    ("if x := divide(x, x)", "a Int is compared with a Pair"),
    ("if text() := square(x)", "text needs the attribute letter"),
    ("if two(q, r) := square(x)", "this is a Pair, and a Int is wanted here"),
    ("if two(q, nil()) := divide(x, x)", "this is a List, and a Int is wanted here"),
    ("if two(q, int(value=x)) := divide(x, x)", "`x` names a term and an attribute"),
    ("where n = 1\n    if two(q, n) := divide(x, x)", "`n` names a term and an attribute"),
    ("if bag(x..., one(q)) := bag(one(x))", "`x` stands for one term and for several"),
    ("if not two(q, r) := divide(x, x)", "`:=` matches a term, and is no truth value"),
    ("if two(q, r) := divide(x, x) or x == y", "`:=` matches a term, and is no truth value"),
    ("if q... := divide(x, x)", "a condition matches a variable, or an operation"),
    ("if 3 := square(x)", "a condition matches a variable, or an operation"),
    ("if self := square(x)", "`self` is the matched term"),
    ("if two(q, r) := divide(x, x) << 2", "`<<` is no operator"),
    ("let two := divide(x, x)", "cannot read the clause"),
    ("if " + " and ".join(f"q{i} := square(x)" for i in range(9)), "more than 8 conditions that match"),
    ("let q = r\n    if q := square(x) and r := square(x)", "`r` is not bound before"),
]


@pytest.mark.parametrize(("clauses", "message"), MISTAKES)
def test_a_mistake_is_shown_at_its_place(programs: tuple[ng.Signature, ng.RuleSet], clauses: str, message: str) -> None:
    with pytest.raises(ng.RuleFileError, match=message) as error:
        programs[0].rules(f"rule a: square(x) => x\n    {clauses}", unordered=True)
    assert "<test_matching>:" in str(error.value)


def test_rules_of_tensors_match_nothing_in_conditions() -> None:
    with pytest.raises(ng.RuleFileError, match="NamedExpr is not part|:="):
        parse_rules("simplify semi\nrule a: exp(x) => x\n    if log(y) := x\n", "r.rules", "r")
