# SPDX-License-Identifier: Apache-2.0
"""The order for nests is one that shows termination modulo associativity and commutativity; programs go down in it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.rewriting.checks import checked_text
from ngraph_rewrite.rewriting.nest_order import Decided, goes_down, nest_order
from ngraph_rewrite.rewriting.nest_paths import Comparison, Term, Tree, tree
from ngraph_rewrite.rewriting.order import Order, why_not_down
from ngraph_rewrite.rewriting.paths import STATUSES
from ngraph_rewrite.rewriting.precedence import Conflict, find_order
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.rewriting.signatures import Signature

SEEDS = st.integers(0, 2**32 - 1)
drawn = settings(max_examples=300, deadline=None, derandomize=True)

OPS = Signature("test_nest_order")
OPS.sort("S")
for _name in ("a", "b"):
    OPS.operation(_name, (), "S")
OPS.operation("f", ("S", "S"), "S", "associative", "commutative")
OPS.operation("g", ("S", "S"), "S", "associative", "commutative")
OPS.operation("h", ("S",), "S")
OPS.operation("k", ("S", "S"), "S")
OPS.operation("c", ("S", "S"), "S", "commutative")
ARITIES = {"a": 0, "b": 0, "f": 2, "g": 2, "h": 1, "k": 2, "c": 2}


def app(name: str, *args: Term) -> Term:
    return tree(OPS[name].definition, args)


class Drawn:
    """Terms, and a precedence in which each two operations are comparable."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        names = self.random.sample(sorted(ARITIES), len(ARITIES))
        below = {OPS[n].definition: frozenset(OPS[m].definition for m in names[i + 1 :]) for i, n in enumerate(names)}
        self.decided = Decided(below, {OPS["k"].definition: self.random.choice(STATUSES)})

    def term(self, depth: int, names: str = "") -> Term:
        kind = self.random.random()
        if names and kind < 0.35:
            return self.random.choice(names)
        name = self.random.choice("ab" if not depth or kind < 0.5 else "ffgghkc")
        return app(name, *[self.term(depth - 1, names) for _ in range(ARITIES[name])])

    def above(self, s: Term, t: Term) -> bool:
        found = Comparison(self.decided).above(s, t)
        assert found is not None
        return found


def put(term: Term, values: dict[str, Term]) -> Term:
    if isinstance(term, str):
        return values[term]
    return tree(term.definition, [put(a, values) for a in term.args])


# -- what an order must be -------------------------------------------------------------------------------------


@drawn
@given(SEEDS)
def test_no_term_is_above_itself_and_what_is_above_something_above_is_above(seed: int) -> None:
    draw = Drawn(seed)
    one, two, three = (draw.term(2) for _ in range(3))
    assert not draw.above(one, one)
    assert not (draw.above(one, two) and draw.above(two, one))
    if draw.above(one, two) and draw.above(two, three):
        assert draw.above(one, three)


@drawn
@given(SEEDS)
def test_of_two_ground_terms_one_is_above_the_other(seed: int) -> None:
    """So the order does not depend on how a nest is written: what is not equal by laws is comparable."""
    draw = Drawn(seed)
    one, two = draw.term(3), draw.term(3)
    unordered = draw.decided.status(OPS["k"].definition)
    assert one == two or draw.above(one, two) or draw.above(two, one) or unordered == STATUSES[2]


@drawn
@given(SEEDS)
def test_it_holds_for_all_that_variables_stand_for(seed: int) -> None:
    draw = Drawn(seed)
    one, two = draw.term(3, "xy"), draw.term(2, "xy")
    values = {name: draw.term(2) for name in "xy"}
    if draw.above(one, two):
        assert draw.above(put(one, values), put(two, values))


@drawn
@given(SEEDS)
def test_it_holds_inside_of_every_term(seed: int) -> None:
    draw = Drawn(seed)
    one, two, beside = draw.term(2), draw.term(2), draw.term(2)
    if draw.above(one, two):
        assert draw.above(app("h", one), app("h", two))
        for name in "fgkc":
            assert draw.above(app(name, one, beside), app(name, two, beside))
            assert draw.above(app(name, beside, one), app(name, beside, two))


@drawn
@given(SEEDS)
def test_a_part_is_below_and_a_nest_is_one_however_it_is_grouped(seed: int) -> None:
    draw = Drawn(seed)
    one, two, three = (draw.term(2, "xy") for _ in range(3))
    assert app("f", app("f", one, two), three) == app("f", three, app("f", two, one))
    assert all(draw.above(app(name, one, two), one) for name in "fgkc")


@drawn
@given(SEEDS)
def test_what_is_answered_with_less_known_stays(seed: int) -> None:
    draw = Drawn(seed)
    one, two = draw.term(2, "xy"), draw.term(2, "xy")
    some = {op: lower for op, lower in draw.decided.below.items() if draw.random.random() < 0.5}
    found = Comparison(Decided(some, draw.decided.statuses)).above(one, two)
    assert found is None or found == draw.above(one, two)


# -- programs --------------------------------------------------------------------------------------------------

BOOLEAN_RING = """
signature order_boolean_ring
sort B
operation zero one : -> B
operation neg : B -> B
operation either_of implies same : B B -> B
operation xor : B B -> B [associative, commutative, identity zero]
operation meet : B B -> B [associative, commutative, identity one]

rule none:     xor(x, x)                   =>  zero()
rule twice:    meet(x, x)                  =>  x
rule nothing:  meet(x, zero())             =>  zero()
rule over:     meet(x, xor(y, z, rest...)) =>  xor(meet(x, y), meet(x, xor(z, rest...)))
rule neg:      neg(x)                      =>  xor(x, one())
rule either_of: either_of(x, y)            =>  xor(meet(x, y), x, y)
rule implies:  implies(x, y)               =>  xor(meet(x, y), x, one())
rule same:     same(x, y)                  =>  xor(x, y, one())
"""

ARITHMETIC = """
signature order_commutative_peano
sort Nat
operation zero : -> Nat
operation s factorial fibonacci : Nat -> Nat
operation plus : Nat Nat -> Nat [associative, commutative, identity zero]
operation times : Nat Nat -> Nat [associative, commutative]

rule plus_s:      plus(s(x), y)       =>  s(plus(x, y))
rule times_zero:  times(zero(), y)    =>  zero()
rule times_s:     times(s(x), y)      =>  plus(y, times(x, y))
rule fact_zero:   factorial(zero())   =>  s(zero())
rule fact_s:      factorial(s(x))     =>  times(s(x), factorial(x))
rule fib_zero:    fibonacci(zero())   =>  zero()
rule fib_one:     fibonacci(s(zero()))  =>  s(zero())
rule fib_s:       fibonacci(s(s(x)))  =>  plus(fibonacci(x), fibonacci(s(x)))
"""

BAGS = """
signature order_bags
sort Item Bag Nat
operation zero : -> Nat
operation s : Nat -> Nat
operation plus : Nat Nat -> Nat [associative, commutative, identity zero]
operation item : -> Item [attributes letter]
operation empty : -> Bag
operation one : Item -> Bag
operation bag : Bag Bag -> Bag [associative, commutative, identity empty]
operation size : Bag -> Nat
operation count : Item Bag -> Nat
operation scaled : Nat Bag -> Bag

rule size_none:   size(empty())                   =>  zero()
rule size_one:    size(bag(one(x), rest...))      =>  plus(s(zero()), size(bag(rest...)))
rule plus_s:      plus(s(x), y)                   =>  s(plus(x, y))
rule found:       count(x, bag(one(x), rest...))  =>  plus(s(zero()), count(x, bag(rest...)))
rule missing:     count(x, b)                     =>  zero()
rule no_times:    scaled(zero(), b)               =>  empty()
rule times:       scaled(s(n), b)                 =>  bag(b, scaled(n, b))
"""

GROUP = """
signature order_commutative_group
sort G
operation zero : -> G
operation neg : G -> G
operation plus : G G -> G [associative, commutative, identity zero]

rule inverse:   plus(x, neg(x))          =>  zero()
rule negneg:    neg(neg(x))              =>  x
rule negzero:   neg(zero())              =>  zero()
rule negplus:   neg(plus(x, y, rest...)) =>  plus(neg(x), neg(plus(y, rest...)))
"""


@pytest.mark.parametrize("text", [BOOLEAN_RING, ARITHMETIC, BAGS, GROUP], ids=["ring", "arithmetic", "bags", "group"])
def test_a_program_with_nests_above_others_goes_down(text: str) -> None:
    rules = list(checked_text(text.lstrip(), "a.rules", text.split()[1]))
    found = find_order(rules)
    assert isinstance(found, Order)
    assert [why_not_down(rule, found) for rule in rules] == [None] * len(rules)
    decided = nest_order(rules)
    assert decided is not None and all(goes_down(rule, decided) for rule in rules)


def test_a_program_that_is_shown_to_end_computes() -> None:
    rules = checked_text(ARITHMETIC.lstrip(), "a.rules", "order_commutative_peano")
    nat = ng.signature("order_commutative_peano")
    two = nat["s"](nat["s"](nat["zero"]()))
    three = nat["s"](two)
    found = ng.normal_form(nat["factorial"](nat["plus"](two, nat["s"](nat["zero"]()))), rules)
    assert found.same_as(ng.normal_form(nat["times"](two, three), rules))


def rules_of(name: str, *lines: str) -> list[Rule]:
    header = [
        f"signature {name} unordered",
        "sort S",
        "operation a b : -> S",
        "operation wrap : S -> S",
        "operation both : S S -> S [associative, commutative]",
        "operation other : S S -> S [associative, commutative]",
    ]
    return list(parse_rules("\n".join([*header, *lines]) + "\n", f"{name}.rules", name))


@pytest.mark.parametrize(
    "lines",
    [
        ["rule r: both(a(), a()) => both(a(), b())", "rule t: both(a(), b()) => both(a(), a())"],
        ["rule r: both(a(), x) => both(wrap(a()), x)", "rule t: wrap(x) => x"],
        ["rule r: both(a(), b()) => both(a(), b(), b())"],
        ["rule r: both(x, other(y, z)) => other(both(x, y), both(x, z))",
         "rule t: other(x, both(y, z)) => both(other(x, y), other(x, z))"],
        ["rule r: wrap(both(x, y)) => both(wrap(x), wrap(y))", "rule t: both(wrap(x), y) => wrap(both(x, y))"],
    ],
)  # fmt: skip
def test_rules_that_may_run_for_ever_have_no_order(lines: list[str]) -> None:
    """The first four do, in nests of enough operands; the last needs both operations above each other."""
    assert isinstance(find_order(rules_of("test_endless_nests", *lines)), Conflict)


def test_a_rule_that_builds_for_each_of_a_sequence_is_not_compared() -> None:
    (rule,) = rules_of("test_spread_nests", "rule r: wrap(both(x, y...)) => both(x, wrap(y)...)")
    assert nest_order([rule]) is None


def test_the_rules_that_have_no_order_together_are_named() -> None:
    text = ARITHMETIC.replace("order_commutative_peano", "test_climbing_peano") + "rule up: s(x) => factorial(x)\n"
    with pytest.raises(RuleFileError, match="rule test_climbing_peano.*does not go down"):
        checked_text(text.lstrip(), "a.rules", "test_climbing_peano")


def test_comparisons_say_what_they_would_have_to_know() -> None:
    comparison = Comparison(Decided())
    assert comparison.above(app("f", "x", "y"), app("g", "x", "y")) is None
    assert comparison.asked is not None
    assert comparison.asked.one is OPS["f"].definition and comparison.asked.other is OPS["g"].definition
    assert isinstance(app("f", "x", "y"), Tree)
