# SPDX-License-Identifier: Apache-2.0
"""Facts that a construction function attaches: rules match them, derivatives use them, values never change."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng

TARGETS = ng.transformer_choices()
K = ng.Axis("K", 4)
LOGITS = np.array([-600.0, 2.0, 0.5, 400.0])
HIT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Softmax:
    """The first fact is what the exponentials were taken of, along `axes`."""

    axes: ng.Axes


def softmax(x: ng.Op) -> ng.Op:
    """A construction function of a user's own, that says what it made."""
    e = ng.exp(x - ng.max(x, out_axes=[]))
    return ng.annotated(e / ng.sum(e, out_axes=[]), x, schema=Softmax(x.axes))


SPECIALISED = """
cross_entropy_multi(annotated(y, x, schema=s), t, axes=k, usebits=b)
    => cross_entropy_softmax(x, t, normalized=fact(s, 'axes'), axes=k, usebits=b)
    if has_schema(s, 'Softmax') and is_float(self.dtype)
"""


def value(returns: Any, target: str = "cpu", *arguments: tuple[ng.Op, Any], **kwargs: Any) -> Any:
    with ng.make_transformer(target, **kwargs) as transformer:
        return transformer.computation(returns, *(p for p, _ in arguments))(*(a for _, a in arguments))


# -- what it is -------------------------------------------------------------------------------------


def test_a_term_tells_its_schema() -> None:
    y = softmax(ng.placeholder([K]))
    assert y.schema == Softmax(ng.Axes([K])) and y.type == y.args[0].type
    assert y.args[0].schema is None


@pytest.mark.parametrize("target", TARGETS)
def test_facts_change_no_value(target: str) -> None:
    x = ng.placeholder([K], "float64")
    unused = ng.exp(ng.constant(1.0)) / 0
    y = ng.annotated(x + 1, unused, schema="said")
    assert value(y * 2, target, (x, LOGITS)).tolist() == ((LOGITS + 1) * 2).tolist()


def test_what_no_rule_uses_is_not_computed() -> None:
    x = ng.placeholder([K], "float64")
    y = ng.annotated(x + 1, ng.sum(ng.exp(x), out_axes=[]), schema="said")
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(y * 2, x)
        computation(LOGITS)
        assert computation.stats()["launches"] == 1
        assert "schema.annotated" in computation.explain(y)


@pytest.mark.parametrize("schema", [["softmax"], 3, None, "", Softmax, dataclass(type("Loose", (), {}))()])
def test_a_schema_is_a_word_or_a_frozen_dataclass(schema: Any) -> None:
    with pytest.raises(ng.AttributeValueError, match="the schema is"):
        ng.annotated(ng.constant(1.0), schema=schema)


def test_a_schema_holds_nothing_that_changes() -> None:
    @dataclass(frozen=True)
    class Listed:
        axes: list[str]

    with pytest.raises(ng.AttributeValueError, match="has no hash"):
        ng.annotated(ng.constant(1.0), schema=Listed(["K"]))


# -- rules ------------------------------------------------------------------------------------------


def test_a_rule_specialises_what_a_schema_tells() -> None:
    """The cross-entropy of a softmax that a user wrote out is finite where its quotient underflows to 0."""
    x = ng.placeholder([K], "float64")
    loss = ng.cross_entropy_multi(softmax(x), ng.constant(HIT, [K]), out_axes=[])
    rule = ng.rule(SPECIALISED, "axes", kind="recognize", grade="refines", name="specialised")
    assert value(loss, "cpu", (x, LOGITS)) == np.inf
    assert value(loss, "cpu", (x, LOGITS), rules=rule) == pytest.approx(1000.0)


def test_a_rule_matches_a_word() -> None:
    x = ng.placeholder([K], "float64")
    rule = ng.rule("absolute(annotated(y, schema='positive')) => y", "axes", kind="recognize", name="positive")
    for schema, expected in (("positive", -1.0), ("other", 1.0)):
        y = ng.absolute(ng.annotated(x, schema=schema))
        assert value(y, "cpu", (x, -np.ones(4)), rules=rule).tolist() == [expected] * 4


def test_other_schemas_are_left_alone() -> None:
    @dataclass(frozen=True)
    class Sigmoid:
        axes: ng.Axes

    x = ng.placeholder([K], "float64")
    y = ng.annotated(ng.sigmoid(x), x, schema=Sigmoid(x.axes))
    loss = ng.cross_entropy_multi(y, ng.constant(HIT, [K]), out_axes=[])
    rule = ng.rule(SPECIALISED, "axes", kind="recognize", grade="refines", name="specialised")
    assert value(loss, "cpu", (x, np.zeros(4)), rules=rule) == pytest.approx(np.log(2))


# -- derivatives ------------------------------------------------------------------------------------


def test_a_derivative_passes_by_facts() -> None:
    x = ng.variable([K], "float64", initial_value=LOGITS / 100)
    said, plain = (ng.sum(f(x) * ng.constant(np.arange(4.0), [K]), out_axes=[]) for f in (softmax, ng.softmax))
    np.testing.assert_allclose(value(ng.deriv(said, x)), value(ng.deriv(plain, x)), rtol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_a_handler_gives_the_derivative(target: str) -> None:
    x, y = (ng.variable([K], "float64", initial_value=LOGITS / 100) for _ in range(2))
    product = ng.with_deriv(x * y, lambda d, a, b: (d * b * 10, None), x, y)
    dx, dy = value(ng.deriv(ng.sum(product, out_axes=[]), [x, y]), target)
    assert np.allclose(dx, LOGITS / 10) and not dy.any()


def test_a_handler_without_terms_changes_the_adjoint() -> None:
    """A gradient that is cut off."""
    x = ng.variable([K], "float64", initial_value=np.array([-3.0, -0.5, 0.5, 3.0]))
    kept = ng.with_deriv(x, lambda d: ng.minimum(ng.maximum(d, -1.0), 1.0))
    assert value(ng.deriv(ng.sum(ng.square(kept), out_axes=[]), x)).tolist() == [-1, -1, 1, 1]


def test_a_schema_of_ones_own_may_have_a_handler() -> None:
    @dataclass(frozen=True)
    class Scaled:
        by: float

        def deriv_handler(self, d: ng.Op, x: ng.Op) -> ng.Op:
            return d * self.by

    x = ng.variable([K], "float64", initial_value=LOGITS)
    y = ng.annotated(ng.floor(x), x, schema=Scaled(2.5))
    assert value(ng.deriv(ng.sum(y, out_axes=[]), x)).tolist() == [2.5] * 4


@drawn(10)
@given(st.integers(0, 3), st.booleans())
def test_derivatives_of_derivatives_pass_through_handlers(power: int, inside: bool) -> None:
    """x ** n with a handler of its own, differentiated twice, is as without."""
    x = ng.variable([], "float64", initial_value=1.5)
    cube = ng.with_deriv(x**3, lambda d, x: 3 * d * x * x, x)
    y = (cube * x**power) if inside else ng.square(cube)
    plain = (x**3 * x**power) if inside else ng.square(x**3)
    found, expected = (value(ng.deriv(ng.deriv(f, x), x)) for f in (y, plain))
    assert found == pytest.approx(expected, rel=1e-12)


def test_an_adjoint_is_brought_to_the_type_of_its_term() -> None:
    """It may be a number, lack axes, or have more of them."""
    x = ng.variable([K], "float64", initial_value=LOGITS)
    number = ng.with_deriv(ng.sum(x, out_axes=[]), lambda d, x: 2, x)
    more = ng.with_deriv(ng.sum(x, out_axes=[]), lambda d, x: ng.constant(np.ones((2, 4)), [ng.Axis("M", 2), K]), x)
    for y in (number, more):
        assert value(ng.deriv(y, x)).tolist() == [2] * 4


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (lambda d, x: (d, d), "gives 2 adjoints for 1 terms"),
        (lambda d, x: "d", "gives 'd' as the adjoint of x"),
    ],
)
def test_a_wrong_handler_is_named(handler: Any, message: str) -> None:
    x = ng.variable([], name="x")
    y = ng.with_deriv(x * 2, handler, x)
    with pytest.raises(ng.DerivativeError, match=re.escape(message)) as caught:
        ng.deriv(y, x)
    assert "test_schema.py" in str(caught.value)


def test_a_handler_can_be_called() -> None:
    with pytest.raises(ng.ArgumentError, match="3 cannot be called"):
        ng.with_deriv(ng.variable([]), 3)  # type: ignore[arg-type]
