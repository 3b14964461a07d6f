# SPDX-License-Identifier: Apache-2.0
"""A rule that is disabled fires nowhere: not in lowerings, derivatives, normal forms, strategies or saturation."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.rewriting.rulefile import parse_rules

H = ng.Axis("H", 3)
X = ng.placeholder([H], name="x")
s = ng.strategies
TWICE = parse_rules("simplify axes\nrule twice: negative(negative(x)) => x\n", "own.rules", "own")
NAT = ng.signature("disabled_nat")
NAT.sort("Nat")
ZERO, NEXT = NAT.operation("zero", (), "Nat")(), NAT.operation("s", ("Nat",), "Nat")
PLUS = NAT.operation("plus", ("Nat", "Nat"), "Nat")
ARITHMETIC = NAT.rules(
    """
    rule zero:  plus(zero(), y)  =>  y
    rule next:  plus(s(x), y)    =>  s(plus(x, y))
    """,
    name="nat",
)


# -- derivatives --------------------------------------------------------------------------------------------


def test_a_derivative_does_without_a_derive_rule() -> None:
    """Of a sigmoid there is a derive rule; without it, it is differentiated through what it is lowered to."""
    w = ng.variable([], name="w")
    usual = ng.deriv(ng.sigmoid(w), w)
    with ng.disable("deriv.sigmoid"):
        other = ng.deriv(ng.sigmoid(w), w)
    assert not usual.same_as(other)
    assert ng.deriv(ng.sigmoid(w), w).same_as(usual)


def test_an_op_that_nothing_differentiates_any_more_is_an_error() -> None:
    """It has no derive rule of its own any more, and no lower rule through which it could be differentiated."""
    w = ng.variable([], name="w")
    with ng.disable("deriv.tanh", "axes.unary.tanh"), pytest.raises(ng.DerivativeError, match="tanh"):
        ng.deriv(ng.tanh(w), w)


def test_rules_of_ones_own_can_be_disabled_in_a_derivative() -> None:
    w = ng.variable([], name="w")
    own = ng.rule("tanh(x) => d * 7", family="axes", kind="derive", name="mine")
    assert "7.0" in str(ng.deriv(ng.tanh(w), w, rules=own))
    with ng.disable("mine", rules=own):
        assert ng.deriv(ng.tanh(w), w, rules=own).same_as(ng.deriv(ng.tanh(w), w))


# -- normal forms and strategies ----------------------------------------------------------------------------


def test_a_normal_form_does_without_a_rule() -> None:
    term = PLUS(NEXT(ZERO), NEXT(ZERO))
    with ng.disable("nat.zero", rules=ARITHMETIC):
        assert str(ng.normal_form(term, ARITHMETIC)) == "s(plus(zero(), s(zero())))"
        assert "nat.zero" not in ng.explain(term, ARITHMETIC)
        assert ng.why_not("nat.zero", term, ARITHMETIC).verdict == "is disabled"
    assert str(ng.normal_form(term, ARITHMETIC)) == "s(s(zero()))"


@pytest.mark.parametrize(
    "strategy", [s.innermost, s.outermost, s.worklist, s.top_down_once, s.bottom_up_once, s.one_step]
)
def test_a_strategy_does_without_a_rule(strategy: object) -> None:
    both = s.sequence(strategy(TWICE), s.fixpoint(strategy(TWICE)))  # type: ignore[operator]
    term = ng.negative(ng.negative(ng.exp(X)))
    with ng.disable("own.twice", rules=TWICE):
        assert ng.rewrite(term, both).root.same_as(term)
    assert ng.rewrite(term, both).root.same_as(ng.exp(X))
    peano = PLUS(ZERO, NEXT(ZERO))
    with ng.disable("nat.zero", rules=ARITHMETIC):
        assert ng.rewrite(peano, strategy(ARITHMETIC)).root.same_as(peano)  # type: ignore[operator]


def test_a_strategy_in_a_transformer_does_without_a_rule() -> None:
    halves = ng.rule("floating(x) * 0.5 => x / 2", family="axes", grade="real", name="halves")
    term = ng.exp(X) * 0.5

    def made(**options: object) -> str:
        once = ng.StrategyPass(s.bottom_up_once(halves), "halving", before="recognize")
        with ng.make_transformer("cpu", passes=[once], **options) as transformer:  # type: ignore[arg-type]
            return transformer.lowered(term).explain(term)

    assert "halves.halves" in made()
    with ng.disable("halves", rules=halves):
        assert "halves.halves" not in made()


# -- saturation ---------------------------------------------------------------------------------------------

FACTOR = ng.rule("a * x + a * y => a * (x + y)", family="numpy", kind="explore", name="factor")


def test_saturation_does_without_a_rule_and_says_so() -> None:
    pytest.importorskip("egglog")
    a, x, y = (ng.placeholder((1000,), name=n) for n in "axy")
    term = a * x + a * y
    assert not ng.saturate(term, FACTOR).roots[0].same_as(term)
    with ng.disable("factor", rules=FACTOR):
        found = ng.saturate(term, FACTOR, both_ways="factor")
    assert found.roots[0].same_as(term)
    assert [(rule.name, why) for rule, why in found.left_out] == [("factor.factor", "factor is disabled")]
    assert repr(found.left_out) == f"({FACTOR.rules[0]}: factor is disabled,)"


# -- names --------------------------------------------------------------------------------------------------


def test_rules_of_a_block_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.rules"
    path.write_text("signature disabled_nat\n\nrule gone: plus(zero(), y) => y\n", encoding="utf-8")
    with ng.disable("mine.gone", "semi.log_exp", rules=path):
        assert str(ng.normal_form(PLUS(ZERO, ZERO), path)) == "plus(zero(), zero())"
        assert "semi.log_exp" not in ng.explain(ng.log(ng.exp(X)))
    with pytest.raises(ng.ArgumentError, match=r"no rule is called mine\.gon"), ng.disable("mine.gon", rules=path):
        pass


def test_a_name_that_no_rule_has_is_reported_at_the_line_of_the_block() -> None:
    with pytest.raises(ng.ArgumentError) as caught:
        with ng.disable("nosuch"):
            pass
    assert f"no rule is called nosuch\n  at {__file__}:{caught.tb.tb_lineno}\n" in str(caught.value)


@pytest.mark.parametrize("name", [["semi.log_exp"], None])
@pytest.mark.parametrize("own", [None, TWICE])
def test_what_is_no_name_is_refused(name: Any, own: ng.RuleSet | None) -> None:
    says = re.escape(f"{name!r} is not the name of a rule\n")
    with pytest.raises(ng.ArgumentError, match=says + f"  at {re.escape(__file__)}"), ng.disable(name, rules=own):
        pass
    with pytest.raises(ng.ArgumentError, match=says):
        ng.why_not(name, ng.log(ng.exp(X)), rules=own)
    with pytest.raises(ng.ArgumentError, match=says):
        ng.make_transformer("cpu", disabled=[name], rules=own)


def test_a_block_is_of_its_thread_in_normal_forms_and_derivatives() -> None:
    w, term = ng.variable([], name="w"), PLUS(ZERO, ZERO)
    found: list[str] = []

    def other() -> None:
        found.extend([str(ng.normal_form(term, ARITHMETIC)), str(ng.deriv(ng.tanh(w), w))])

    with ng.disable("nat.zero", "deriv.tanh", rules=ARITHMETIC):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert str(ng.normal_form(term, ARITHMETIC)) == "plus(zero(), zero())"
    assert found[0] == "zero()" and "multiply" in found[1]


def test_initial_values_are_computed_without_a_rule() -> None:
    """Here one without which the value cannot be computed."""
    v = ng.variable([H], initial_value=ng.erf(ng.constant(np.ones(3, np.float32), [H])), name="v")
    with ng.make_transformer("cpu") as transformer:
        read = transformer.computation(v)
        with ng.disable("axes.unary.erf"), pytest.raises(ng.UnloweredOpError, match="erf"):
            read()
        np.testing.assert_allclose(read(), np.full(3, 0.842700793, np.float32), rtol=1e-6)  # erf(1)


def test_figures_are_those_of_the_computation_whatever_is_disabled_later() -> None:
    term = ng.log(ng.exp(X))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.lowered(term)
        with ng.disable("semi.log_exp"):
            assert computation.rule_stats().by_rule["semi.log_exp"].matches == 1


def test_a_transformer_that_disables_a_rule_does_so_in_its_strategies_too() -> None:
    """The pass has the rule in a set of its own."""
    term = ng.semi.log(ng.semi.exp(ng.placeholder((3,), name="z")))
    own = ng.StrategyPass(s.innermost(ng.rules().named("semi.log_exp")), "own", before="recognize")
    for disabled, fires in (((), True), (("semi.log_exp",), False)):
        with ng.make_transformer("cpu", passes=[own], disabled=disabled) as transformer:
            computation = transformer.lowered(term)
            assert ("semi.log_exp" in computation.explain(term)) == fires
            assert (computation.rule_stats().by_rule.get("semi.log_exp") is not None) == fires


def test_a_rule_in_the_place_of_its_name_is_told_of_by_its_name() -> None:
    (own,) = TWICE
    with pytest.raises(ng.ArgumentError, match=rf"^the rule {own.name} stands where the name.*\n  give its name"):
        ng.why_not(own, X, rules=TWICE)  # type: ignore[call-overload]
