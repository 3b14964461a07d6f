# SPDX-License-Identifier: Apache-2.0
"""Why a rule did not fire on what stands inside an op, or before or after another rule changed it there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.rewriting.rulefile import parse_rules

H, T = ng.Axis("H", 3), ng.Axis("T", 5)
X, Y, Z = (ng.placeholder([H], name=name) for name in "xyz")
RULES = parse_rules(
    """simplify semi

rule large @real:  sin(cos(x))  =>  x
    if x.rank == 4
rule inner @real:  tanh(x)  =>  x
rule outer @real:  exp(tanh(x))  =>  x
rule three @fast:  sin(x) + cos(x) + exp(y)  =>  exp(y)
rule gone @refines:  add(x, -x, exp(y), rest...)  =>  add(exp(y), rest...)
rule both @real:   cos(x), tanh(x)  =>  x, x
""",
    "inside.rules",
    "inside",
) + parse_rules(
    """simplify axes
rule wholly @real:  square(sin(x))  =>  x
rule never @real:   sqrt(cos(exp(x)))  =>  x
""",
    "named.rules",
    "named",
)
SLOPES = parse_rules("derive axes\nrule sin: sin(x) => d * cos(x)\n    if x.rank == 2\n", "slopes.rules", "slopes")
REFUSED = ["sin(cos(x)) => x", "if x.rank == 4   does not hold"]
FAST = ("exact", "real", "refines", "fast")


def why(rule: str, op: ng.Op, **options: Any) -> str:
    return str(ng.why_not(rule, op, rules=RULES + SLOPES, **options))


def scanned(step: Callable[[ng.Op], ng.Op]) -> ng.Op:
    sequence = ng.placeholder([T, H], name="sequence")
    return ng.scan(lambda state, x: (step(state + x), None), X, sequence, axis=T)[0]  # type: ignore[no-any-return]


def repeated(step: Callable[[ng.Op], ng.Op]) -> ng.Op:
    return ng.while_loop(lambda state: ng.sum(state, out_axes=[]) < 3, step, X)  # type: ignore[no-any-return]


def chosen(step: Callable[[ng.Op], ng.Op]) -> ng.Op:
    return ng.cond(ng.sum(X, out_axes=[]) < 3, step, lambda x: x, X)  # type: ignore[no-any-return]


def called(step: Callable[[ng.Op], ng.Op]) -> ng.Op:
    return ng.exp(ng.function([ng.parameter([H], name="p")])(step)(X))  # type: ignore[arg-type]


@pytest.mark.parametrize("whole", [scanned, repeated, chosen, called])
def test_a_rule_is_tried_on_what_stands_inside(whole: Callable[..., ng.Op]) -> None:
    """In steps, branches and functions, too: nobody outside has a handle of it."""
    op = whole(lambda x: ng.sin(ng.cos(x)))
    lines = [line.strip() for line in why("inside.large", op).splitlines()]
    assert any(line.startswith("matches, but its guard refuses on semi.sin(semi.cos(") for line in lines)
    assert [line for line in lines if line in REFUSED] == REFUSED


def test_what_is_told_of_what_stands_inside_stands_below_the_forms_of_the_op() -> None:
    op = ng.exp(ng.sin(ng.cos(X)))
    found = ng.why_not("inside.large", op, rules=RULES)
    assert found.verdict == "does not match"
    forms, _, inside = str(found).partition("of what stands inside, this comes nearest:\n")
    assert "no form of the op is semi.sin; its forms:\n    axes.exp(" in forms
    assert inside.startswith("    matches, but its guard refuses on semi.sin(semi.cos(strip(x)))")


@pytest.mark.parametrize("whole", [scanned, repeated, chosen])
def test_a_term_of_a_step_is_explained_and_asked_about(whole: Callable[..., ng.Op]) -> None:
    inside: list[ng.Op] = []

    def step(x: ng.Op) -> ng.Op:
        inside.append(ng.sin(ng.cos(x)))
        return inside[0]

    op = whole(step)
    with ng.make_transformer("cpu", rules=RULES) as transformer:
        lowered = transformer.lowered(op)
        assert lowered.why_not("inside.large", inside[0]).verdict == "matches, and its guard refuses"
        assert "lower: axes.unary.sin" in lowered.explain(inside[0])
        with pytest.raises(ng.ComputationError, match="only inside its step or branch"):
            transformer.lowered(X).why_not("inside.large", inside[0])


def test_what_fired_inside_is_not_asked_about() -> None:
    text = why("inside.inner", ng.exp(ng.tanh(X)))
    assert "it fired once elsewhere" in text and "stands inside" not in text


def test_a_derive_rule_is_tried_inside() -> None:
    text = why("slopes.sin", ng.exp(ng.sin(X)))
    assert "of what stands inside, this comes nearest:\n    matches, but its guard refuses on axes.sin(x)" in text
    assert "fires: ng.deriv takes the adjoint from it" in why("deriv.sin", ng.exp(ng.sin(X)))


def test_a_part_that_another_rule_took_before_is_named_with_it() -> None:
    text = why("inside.outer", ng.exp(ng.tanh(X)))
    assert text.endswith("\nsemi.tanh(strip(x)) came to that, by inside.inner (inside.rules:5)")


def test_a_part_of_a_nest_that_another_rule_took_before_is_named_with_it() -> None:
    text = " ".join(why("inside.gone", X + Y - X + ng.exp(Z), classes=FAST).split())
    assert "semi.negative(strip(x))) came to" not in text  # there was none
    text = " ".join(why("inside.gone", X + Y + -X + ng.exp(Z), classes=FAST).split())
    assert (
        "semi.add(semi.add(strip(x), strip(y)), semi.negative(strip(x))) came to "
        "semi.subtract(semi.add(strip(x), strip(y)), strip(x)), by semi.add_negative (" in text
    )


def test_the_rule_that_took_the_arguments_first_is_named() -> None:
    found = ng.why_not("named.wholly", ng.square(ng.sin(X)), rules=RULES)
    assert found.verdict == "matches what was never tried"
    assert "but its arguments were rewritten first, by axes.unary.sin (rules/axes.rules:" in str(found)
    found = ng.why_not("named.never", ng.sqrt(ng.cos(ng.exp(X))), rules=RULES)
    assert "but its arguments were rewritten first, by axes.unary.cos (rules/axes.rules:" in str(found)


def test_the_rule_that_took_a_root_before_the_graph_was_looked_at_is_named() -> None:
    text = why("inside.both", ng.tanh(X))
    assert text.endswith("it had become\n    strip(x), by inside.inner (inside.rules:5)")


@pytest.mark.parametrize("order", range(3))
def test_operands_that_are_grouped_in_another_way_are_told_of(order: int) -> None:
    s, c, e = ng.sin(X), ng.cos(X), ng.exp(Y)
    op = (s + (c + e), (e + c) + s, (c + e) + s)[order]
    text = why("inside.three", op, classes=FAST)
    says = "its operands are grouped in another way; add(sin(x), cos(x), exp(y)), in one list, matches any"
    assert text.endswith(says)
    assert ng.why_not("inside.three", s + c + e, rules=RULES, classes=FAST).fired


def test_operands_that_stand_among_others_are_told_of() -> None:
    s, c, e = ng.sin(X), ng.cos(X), ng.exp(Y)
    says = "its operands stand there among others; add(sin(x), cos(x), exp(y), rest...) matches some of a nest"
    assert why("inside.three", (s + Z) + (c + e), classes=FAST).endswith(says)
    assert "operands" not in why("inside.three", s + (Z + e), classes=FAST)


def test_what_took_the_result_of_a_rule_that_fired_is_named() -> None:
    first = parse_rules("simplify semi\nrule first @real: sin(cos(x)) => exp(tanh(x))\n", "first.rules", "first")
    back = parse_rules("select semi\nrule back @real: exp(tanh(x)) => sin(x)\n", "back.rules", "back")
    op = ng.sin(ng.cos(X))
    found = ng.why_not("first.first", op, rules=first + back)
    says = "\nwhat it made was rewritten again, by back.back (back.rules:2), to semi.sin(strip(x))"
    assert found.fired and str(found).endswith(says)
    assert "rewritten again" not in str(ng.why_not("first.first", op, rules=first))
