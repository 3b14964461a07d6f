# SPDX-License-Identifier: Apache-2.0
"""Where rules end and all critical pairs join, each term has one normal form; where one has two, some pair does not."""

from __future__ import annotations

from functools import lru_cache
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.rewriting.critical_pairs import critical_pairs
from ngraph_rewrite.rewriting.diophantine import Limit
from ngraph_rewrite.rewriting.equation import Equation, equation_of
from ngraph_rewrite.rewriting.joining import in_general, joins
from ngraph_rewrite.rewriting.order import Order
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.signature_confluence import Signature, freezes, moves
from ngraph_rewrite.testing.signature_system import SignatureSystem

HEADER = """signature test_pairs
sort S
operation a b zero nil : -> S
operation neg wrap : S -> S
operation when : S S -> S [frozen 1]
operation sum : S S -> S [associative, commutative, identity zero]
operation bag : S S -> S [associative, commutative]
operation word : S S -> S [associative, identity nil]
"""
ARITIES = {"a": 0, "b": 0, "zero": 0, "nil": 0, "neg": 1, "wrap": 1, "sum": 2, "bag": 2, "word": 2}

POOL = (
    "sum(x, neg(x)) => zero()",
    "neg(neg(x)) => x",
    "neg(zero()) => zero()",
    "neg(sum(x, y, r...)) => sum(neg(x), neg(sum(y, r...)))",
    "sum(x, x) => x",
    "sum(a(), x) => a()",
    "sum(a(), b()) => wrap(a())",
    "sum(wrap(x), r...) => wrap(sum(r...))",
    "wrap(sum(x, r...)) => wrap(sum(r...))",
    "wrap(bag(x, y)) => bag(wrap(x), wrap(y))",
    "wrap(a()) => b()",
    "wrap(b()) => zero()",
    "wrap(x) => x",
    "bag(x, x) => a()",
    "bag(a(), x) => x",
    "bag(x, zero()) => zero()",
    "word(a(), b()) => b()",
    "word(x, x) => x",
    "word(neg(x), x) => nil()",
    "word(x, b(), y) => word(y, x)",
    "neg(word(x, y, r...)) => word(neg(word(y, r...)), neg(x))",
    "neg(a()) => b()",
)


def rules_of(*equations: str) -> list[Rule]:
    text = "\n".join(f"rule r{i}: {equation}" for i, equation in enumerate(equations))
    return list(parse_rules(f"{HEADER}{text}\n", "pairs.rules", "pairs"))


@lru_cache(maxsize=256)
def known(equations: tuple[str, ...]) -> tuple[Signature, bool]:
    """What is known of some rules, and whether all their critical pairs join."""
    signature, limit = Signature(RuleSet(rules_of(*equations)), "test_pairs"), Limit(100_000)
    pairs = [pair for rule in signature.rules for pair in signature.pairs(rule, limit)]
    assert not limit.met
    return signature, signature.decides and all(joins(pair, signature.in_general) for pair in pairs)


def ground(random: Random, bank: TermBank, depth: int) -> Op:
    name = random.choice(["a", "b", "zero"] if not depth else [*ARITIES, "sum", "sum", "word", "bag"])
    args = tuple([ground(random, bank, depth - 1) for _ in range(ARITIES[name])])
    return bank.make(lookup(f"test_pairs.{name}"), args, ())


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.sets(st.sampled_from(POOL), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_a_term_has_one_normal_form_if_all_pairs_join(equations: set[str], seed: int) -> None:
    signature, proved = known(tuple(sorted(equations, key=POOL.index)))
    if proved:
        random, bank = Random(seed), TermBank()
        system = SignatureSystem(signature.rules, bank, seed)
        for _ in range(25):
            term = ground(random, bank, 3)
            assert system.parted(term) is None, term


@pytest.mark.parametrize(
    "equations",
    [
        ["sum(x, neg(x)) => zero()", "neg(neg(x)) => x", "neg(zero()) => zero()",
         "neg(sum(x, y, r...)) => sum(neg(x), neg(sum(y, r...)))"],
        ["word(neg(x), x) => nil()", "word(x, neg(x)) => nil()", "neg(neg(x)) => x", "neg(nil()) => nil()",
         "neg(word(x, y, r...)) => word(neg(word(y, r...)), neg(x))"],
        ["sum(x, x) => x"],
        ["sum(x, x) => zero()"],
        ["bag(x, zero()) => zero()", "bag(x, x) => x"],
        ["wrap(sum(x, y, r...)) => sum(wrap(x), wrap(sum(y, r...)))", "wrap(zero()) => zero()"],
        ["sum(wrap(x), y) => wrap(sum(x, y))"],
    ],
    ids=["commutative group", "group", "idempotent", "nilpotent", "absorbing", "homomorphism", "successor"],
)  # fmt: skip
def test_rules_that_are_complete_are_shown_to_be(equations: list[str]) -> None:
    assert known(tuple(equations))[1]


@pytest.mark.parametrize(
    ("equations", "peak"),
    [
        (["sum(x, neg(x)) => zero()", "neg(neg(x)) => x"], "neg(zero())"),  # it needs to be zero
        (["sum(a(), b()) => a()", "sum(b(), b()) => b()", "wrap(a()) => b()"], None),
        (["sum(a(), b()) => zero()", "sum(b(), b()) => zero()"], "sum(a(), b(), b())"),
        (["word(a(), b()) => nil()", "word(b(), a()) => nil()", "word(a(), a()) => a()"], "word(a(), a(), b())"),
        (["word(x, x) => b()"], "word(x, x, x)"),
        (
            ["neg(sum(x, y, r...)) => sum(neg(x), neg(sum(y, r...)))", "bag(x, zero()) => zero()"],
            "neg(sum(bag(a(), b()), bag(b(), zero())))",
        ),
        (
            ["neg(sum(x, y, r...)) => sum(neg(x), neg(sum(y, r...)))", "bag(a(), x) => x"],
            "neg(sum(a(), bag(a(), zero())))",
        ),
        (["wrap(bag(x, y)) => a()", "neg(x) => bag(x, x)", "bag(x, x) => x"], "wrap(bag(x, x))"),
        (["bag(x, y) => wrap(x)", "wrap(x) => x"], None),
    ],
)
def test_rules_that_are_not_complete_are_not_shown_to_be(equations: list[str], peak: str | None) -> None:
    signature, proved = known(tuple(equations))
    left = [
        p for r in signature.rules for p in signature.pairs(r, Limit(100_000)) if not joins(p, signature.in_general)
    ]
    assert proved == (not left)
    assert peak is None or not proved


def pairs(*equations: str) -> list[str]:
    own = [equation_of(rule) for rule in rules_of(*equations)]
    closed = all(equation.beside or not equation.left.args for equation in own)
    found = critical_pairs(own[0], own[-1], closed, Limit(10_000))
    return [f"{p.peak}: {p.results[0]} {p.results[1]}" for p in found]


def test_what_stands_beside_the_operands_of_both_rules_is_left_out() -> None:
    found = pairs("sum(a(), b()) => zero()", "sum(b(), b()) => wrap(a())")
    assert found == ["sum(a(), b(), b()): b() sum(a(), wrap(a()))"]


def test_a_variable_for_one_operand_may_stand_for_what_becomes_a_nest() -> None:
    """After the step inside, ``wrap`` finds three operands, and its rule two."""
    found = pairs("wrap(bag(x, y)) => a()", "neg(x) => bag(x, a())")
    assert found == [
        "wrap(bag(y, neg(x_))): a() wrap(bag(x_, y, a()))",
        "wrap(bag(x, neg(x_))): a() wrap(bag(x, x_, a()))",
    ]


def test_pairs_are_the_same_each_time() -> None:
    equations = ["neg(sum(x, y, r...)) => sum(neg(x), neg(sum(y, r...)))", "sum(x, neg(x)) => zero()"]
    assert pairs(*equations) == pairs(*equations)


def test_a_variable_stands_for_several_operands_only_if_that_comes_to_the_same() -> None:
    def general(*equations: str) -> list[tuple[str, ...]]:
        return [e.general for e in in_general([equation_of(rule) for rule in rules_of(*equations)])]

    assert general("sum(wrap(x), y) => wrap(sum(x, y))") == [("y",)]
    assert general("bag(x, x) => x") == [("x",)]
    assert general("bag(x, x) => a()") == [("x",)]  # of two operands twice: a() twice, and that is a()
    assert general("bag(x, x) => wrap(x)") == [()]
    assert general("neg(bag(x, y)) => x") == [()]


def test_a_rule_that_takes_a_whole_nest_stays_so() -> None:
    equations: list[Equation] = [
        equation_of(rule)
        for rule in rules_of(
            "sum(x, x) => x", "sum(wrap(x), r...) => wrap(sum(r...))", "sum(a(), r...) => sum(r..., b())"
        )
    ]
    assert [bool(equation.beside) for equation in equations] == [True, False, True]


def test_what_is_frozen_on_the_right_is_no_proof() -> None:
    (frozen, fine) = rules_of("neg(x) => when(a(), x)", "neg(x) => when(x, a())")
    assert freezes(equation_of(frozen)) and not freezes(equation_of(fine))
    assert not Signature(RuleSet([frozen]), "test_pairs").decides
    assert isinstance(Signature(RuleSet([frozen]), "test_pairs").order, Order)


def test_operands_that_are_moved_to_another_nest_are_no_proof() -> None:
    """Of ``sum(a(), neg(b()))`` and ``neg(b()) => sum(b(), b())`` come one operand of `bag`, or two."""
    (moved, fine) = rules_of("wrap(sum(x, r...)) => bag(x, x, r...)", "wrap(sum(x, r...)) => neg(sum(r...))")
    assert moves(equation_of(moved)) and not moves(equation_of(fine))
    assert not Signature(RuleSet([moved]), "test_pairs").decides


def test_proofs_are_found_often_enough_to_mean_something() -> None:
    random = Random(1)
    some = [tuple(sorted(random.sample(POOL, 2), key=POOL.index)) for _ in range(40)]
    assert 5 <= sum(known(equations)[1] for equations in some) <= 35
