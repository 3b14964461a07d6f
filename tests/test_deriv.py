# SPDX-License-Identifier: Apache-2.0
"""`ng.deriv` builds a term of the type of the independent one: zero, one sweep, errors, and exact cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import ngraph_rewrite as ng
from ngraph_rewrite.errors import ArgumentError, AxesError, DerivativeError, FamilyError
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.transformer import Transformer

H, W, K = ng.make_axis(2, name="H"), ng.make_axis(3, name="W"), ng.make_axis(4, name="K")
X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


@pytest.fixture(scope="module")
def reference() -> Iterator[Transformer]:
    with ng.make_transformer("reference") as transformer:
        yield transformer


@pytest.fixture(scope="module")
def cpu() -> Iterator[Transformer]:
    with ng.make_transformer("cpu") as transformer:
        yield transformer


@pytest.fixture
def x() -> Op:
    return ng.placeholder([H, W], dtype="float64", name="x")


def total(term: Op) -> Op:
    return ng.sum(term, out_axes=[])


def value(transformer: Transformer, term: Any, *pairs: tuple[Op, Any]) -> Any:
    return transformer.computation(term, *(p for p, _ in pairs))(*(v for _, v in pairs))


# -- the contract -------------------------------------------------------------------------------------


def test_deriv_builds_terms_and_computes_nothing(x: Op) -> None:
    before = topological([total(ng.tanh(x))])
    gradient = ng.deriv(before[-1], x)
    assert isinstance(gradient, Op) and gradient.type == x.type
    assert set(topological([before[-1]])) == set(before)


def test_what_nothing_connects_is_zero(reference: Transformer, x: Op) -> None:
    w = ng.variable([W, K], dtype="float16")
    gradient = ng.deriv(total(x), w)
    assert gradient.type == w.type
    assert not value(reference, gradient).any()
    stopped = ng.deriv(total(ng.stop_gradient(x) * 2), x)
    assert stopped.type == x.type and not value(reference, stopped, (x, X)).any()


def test_a_term_has_slope_one_in_itself(reference: Transformer, x: Op) -> None:
    root = total(x)
    assert value(reference, ng.deriv(root, root), (x, X)) == 1.0
    assert (value(reference, ng.deriv(x, x, error=x), (x, X)) == X).all()


def test_an_error_may_have_its_axes_in_any_order(reference: Transformer, x: Op) -> None:
    error = ng.placeholder([W, H], dtype="float64")
    gradient = ng.deriv(ng.square(x), x, error=error)
    assert gradient.type == x.type
    assert np.array_equal(value(reference, gradient, (x, X), (error, X.T * 3)), 2 * X * X * 3)


def test_an_error_may_be_a_number(reference: Transformer, x: Op) -> None:
    assert np.array_equal(value(reference, ng.deriv(ng.square(x), x, error=0.5), (x, X)), X)


def test_an_error_has_the_axes_of_the_dependent(x: Op) -> None:
    with pytest.raises(DerivativeError, match="the error has axes"):
        ng.deriv(x, x, error=ng.constant(1.0, [H]))
    with pytest.raises(AxesError, match="axis W has length 7 and 3"):
        ng.deriv(x, x, error=ng.constant(1.0, [H, ng.make_axis(7, name="W")]))
    with pytest.raises(FamilyError, match="has no axes to match by"):
        ng.deriv(x, x, error=np.ones((2, 3)))


def test_a_tensor_needs_an_error(x: Op) -> None:
    with pytest.raises(DerivativeError, match=r"axes.tanh\(x\) with axes Axes\(H:2, W:3\) needs an error") as raised:
        ng.deriv(ng.tanh(x), x)
    assert raised.value.where is not None and raised.value.where.startswith(__file__)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_only_floats_have_a_derivative(dtype: str, x: Op) -> None:
    counts = ng.placeholder([], dtype=dtype, name="counts")
    for pair in ((counts, x), (total(x), counts), (total(x), [x, counts])):
        with pytest.raises(DerivativeError, match=f"counts is {dtype}, which has no derivative"):
            ng.deriv(*pair)


def test_a_tuple_has_no_derivative(x: Op) -> None:
    with pytest.raises(DerivativeError, match=r"is a tuple, which has no derivative\n  at .*\n  take a part"):
        ng.deriv(ng.make_tuple(total(x), x), x)


@pytest.mark.parametrize("thing", [1.0, None, "x"], ids=repr)
def test_only_terms_have_a_derivative(thing: Any, x: Op) -> None:
    for pair in ((thing, x), (total(x), thing), (total(x), [x, thing])):
        with pytest.raises(ArgumentError, match="is not a term: a derivative is of a term") as raised:
            ng.deriv(*pair)
        assert raised.value.where is not None and raised.value.where.startswith(__file__)


def test_a_list_shares_one_sweep(x: Op) -> None:
    y = ng.placeholder([H, W], dtype="float64")
    root = total(ng.exp(x * y))
    both = ng.deriv(root, [x, y])
    apart = [ng.deriv(root, x), ng.deriv(root, y)]
    assert len(topological(both)) < len(topological(apart))
    assert all(a.same_as(b) for a, b in zip(both, apart, strict=True))
    assert ng.deriv(root, []) == [] and ng.deriv(root, (x,))[0].same_as(apart[0])


def test_a_term_used_often_adds_up_its_adjoints_in_linear_size(x: Op) -> None:
    term = x
    for _ in range(60):
        term = term + term
    assert len(topological([ng.deriv(total(term), x)])) < 400


def test_a_deep_chain_has_a_derivative() -> None:
    w = ng.variable([], name="w")
    term = w
    for _ in range(5_000):
        term = ng.negative(term)
    assert len(topological([ng.deriv(term, w)])) == 5_001


def test_an_adjoint_stands_at_the_line_of_its_op(x: Op) -> None:
    with ng.metadata(layer=3):
        slope = ng.sin(x)
    gradient = ng.deriv(total(slope), x)
    cosine = next(t for t in topological([gradient]) if t.definition.short == "cos")
    assert (cosine.lineno, cosine.metadata) == (slope.lineno, {"layer": 3})


# -- an intermediate term that a rule sees through ------------------------------------------------------


def test_the_softmax_of_a_cross_entropy_has_its_own_derivative(reference: Transformer, x: Op) -> None:
    t = ng.constant(np.full((2, 3), 0.25), [H, W])
    y = ng.softmax(x, [W])
    loss = total(ng.cross_entropy_multi(y, t, out_axes=[H]))
    by_y, by_x = ng.deriv(loss, [y, x])
    p = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    got_y, got_x = value(reference, (by_y, by_x), (x, X))
    np.testing.assert_allclose(got_y, -0.25 / p, rtol=1e-12)  # rounding of one division
    np.testing.assert_allclose(got_x, 0.75 * p - 0.25, rtol=1e-12, atol=1e-15)
    (alone,) = (value(reference, ng.deriv(loss, y), (x, X)),)
    assert np.array_equal(alone, got_y)


def test_the_sigmoid_of_a_cross_entropy_has_its_own_derivative(reference: Transformer, x: Op) -> None:
    s = ng.sigmoid(x)
    loss = total(ng.cross_entropy_binary(s, ng.constant(1.0, [H, W], dtype="float64"), out_axes=[]))
    np.testing.assert_allclose(value(reference, ng.deriv(loss, s), (x, X)), -1 - np.exp(-X), rtol=1e-12)


# -- axes, order and dtype ------------------------------------------------------------------------------

OPERANDS = st.tuples(
    st.lists(st.sampled_from([H, W, K]), unique=True, max_size=3), st.sampled_from(["float16", "float32", "float64"])
)
FORMS = {
    "add": (lambda a, b: a + b, lambda a, b: (np.ones_like(a + b), np.ones_like(a + b))),
    "multiply": (lambda a, b: a * b, lambda a, b: (b + 0 * a, a + 0 * b)),
    "subtract": (lambda a, b: a - b, lambda a, b: (np.ones_like(a + b), -np.ones_like(a + b))),
    "maximum": (ng.maximum, lambda a, b: ((a > b) + (a == b) * 0.5, (b > a) + (a == b) * 0.5)),
}


def spread(array: NDArray[Any], axes: list[ng.Axis]) -> NDArray[Any]:
    """In the axes H, W, K, of length 1 where there is none."""
    order = [axes.index(a) for a in (H, W, K) if a in axes]
    return array.transpose(order).reshape([int(str(a.length)) if a in axes else 1 for a in (H, W, K)])


def gathered(array: NDArray[Any], axes: list[ng.Axis]) -> NDArray[Any]:
    """Summed over the axes that are missing, in the order of `axes`."""
    full = np.broadcast_to(array, np.broadcast_shapes(array.shape, [1, 1, 1]))
    kept = [a for a in (H, W, K) if a in axes]
    gone = tuple(i for i, a in enumerate((H, W, K)) if a not in axes)
    return full.sum(axis=gone).transpose([kept.index(a) for a in axes])


@settings(max_examples=36, deadline=None)
@given(OPERANDS, OPERANDS, st.sampled_from(sorted(FORMS)), st.integers(0, 100))
def test_operands_of_any_axes_order_and_dtype(reference: Transformer, a: Any, b: Any, form: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    terms = [ng.placeholder(axes, dtype=dtype) for axes, dtype in (a, b)]
    arrays = [draw.integers(-3, 4, [x.length for x in axes]).astype(dtype) for axes, dtype in (a, b)]
    build, slopes = FORMS[form]
    gradients = ng.deriv(total(build(*terms)), terms)
    assert [g.type for g in gradients] == [t.type for t in terms]
    got = value(reference, tuple(gradients), *zip(terms, arrays, strict=True))
    wanted = slopes(*(spread(v, axes) for v, (axes, _) in zip(arrays, (a, b), strict=True)))
    for g, w, (axes, _) in zip(got, wanted, (a, b), strict=True):
        shape = [n if n in (*a[0], *b[0]) else None for n in (H, W, K)]
        full = np.broadcast_to(w, [1 if n is None else int(str(n.length)) for n in shape])
        assert np.array_equal(g, gathered(full, axes))  # small integers: exact in every dtype


def test_anonymous_operands_that_are_used_twice(reference: Transformer) -> None:
    plain = ng.placeholder(ng.anonymous([2]), name="plain")
    root = total(ng.square(ng.label(plain, [H])) + ng.label(plain, [H]))
    gradient = ng.deriv(root, plain)
    assert gradient.type == plain.type
    assert np.array_equal(value(reference, gradient, (plain, np.array([1.0, -2.0], "float32"))), [3.0, -3.0])


def test_second_derivatives(reference: Transformer, x: Op) -> None:
    first = ng.deriv(total(ng.tanh(x) * x), x)
    second = ng.deriv(total(first), x)
    t = np.tanh(X)
    expected = 2 * (1 - t * t) - 2 * X * t * (1 - t * t)
    np.testing.assert_allclose(value(reference, second, (x, X)), expected, rtol=1e-12, atol=1e-14)
    cube = ng.deriv(total(ng.deriv(total(ng.deriv(total(x**3), x)), x)), x)
    np.testing.assert_allclose(value(reference, cube, (x, X)), 6.0, rtol=1e-12)


# -- the cross-entropy of a softmax ---------------------------------------------------------------------

LOGITS = np.array([[1000.0, -1000.0, 0.0], [-1000.0, 1000.0, 1000.0]])
TARGETS = np.array([[0.0, 1.0, 0.0], [0.25, 0.5, 1.0]])  # of any sum


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_cross_entropy_of_a_softmax_is_stable_and_exact_in_its_gradient(cpu: Transformer, dtype: str) -> None:
    z, t = ng.placeholder([H, W], dtype=dtype, name="z"), ng.placeholder([H, W], dtype=dtype, name="t")
    loss = ng.cross_entropy_multi(ng.softmax(z, [W]), t, out_axes=[H])
    computation = cpu.computation((loss, ng.deriv(total(loss), z)), z, t)
    losses, gradient = computation(LOGITS.astype(dtype), TARGETS.astype(dtype))
    p = np.array([[1, 0, 0], [0, 0.5, 0.5]])
    shifted = LOGITS - LOGITS.max(1, keepdims=True) - np.log([[1.0], [2.0]])
    np.testing.assert_allclose(losses, -(TARGETS * shifted).sum(1), rtol=1e-6)  # sums of three in float32
    assert np.array_equal(gradient, p * TARGETS.sum(1, keepdims=True) - TARGETS)
    assert "recognize.cross_entropy_softmax" in computation.explain(loss)
