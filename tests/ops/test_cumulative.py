# SPDX-License-Identifier: Apache-2.0
"""Running sums, products, extrema and recurrences: NumPy's values, and gradients that are exact at zeros and ties."""

from typing import Any

import numpy as np
import pytest
from drawn import apply, leaf, value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import agrees, apart, check_gradient, computed, numbers, slopes

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES
from ngraph_rewrite.types.tensor import TensorType

nx = ng.numpy
FEW = settings(max_examples=36, deadline=None, suppress_health_check=list(HealthCheck))
RUNNING = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum}
FLOATS = st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.5, np.nan, np.inf])
SHAPES = hnp.array_shapes(max_dims=3, min_side=0, max_side=4)


def run(name: str, *arrays: Any, **attributes: Any) -> Any:
    """The meaning of an op of placeholders."""
    terms = [leaf(TensorType(a.dtype, anonymous(a.shape))) for a in arrays]
    return value(apply(name, *terms, **attributes), dict(zip(terms, arrays, strict=True)))


def linear(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    """The recurrence as a lower triangular matrix of products of factors, applied to each line."""
    a, b = (np.moveaxis(x, axis, 0)[:: -1 if reverse else 1] for x in (a, b))
    none = np.zeros(b.shape[1:])
    rows = [sum((np.prod(a[s + 1 : t + 1], 0) * b[s] for s in range(t + 1)), none) for t in range(len(b))]
    return np.moveaxis(np.array(rows).reshape(b.shape)[:: -1 if reverse else 1], 0, axis)


@FEW
@given(x=hnp.arrays(np.float64, SHAPES, elements=FLOATS), data=st.data(), reverse=st.booleans())
@pytest.mark.parametrize("name", RUNNING)
def test_a_running_operation_is_numpys_accumulate(name: str, x: Any, data: st.DataObject, reverse: bool) -> None:
    axis = data.draw(st.integers(0, x.ndim - 1))
    turned = np.flip(x, axis) if reverse else x
    with np.errstate(all="ignore"):
        wanted = RUNNING[name].accumulate(turned, axis)
    found = run(f"semi.{name}", x, axis=axis, reverse=reverse)
    np.testing.assert_array_equal(found, np.flip(wanted, axis) if reverse else wanted)


@FEW
@given(shape=SHAPES, data=st.data(), reverse=st.booleans())
def test_a_recurrence_is_a_sum_of_products(shape: tuple[int, ...], data: st.DataObject, reverse: bool) -> None:
    axis, rng = data.draw(st.integers(0, len(shape) - 1)), np.random.default_rng(0)
    a, b = rng.integers(-2, 3, shape).astype(float), rng.integers(-2, 3, shape).astype(float)
    np.testing.assert_array_equal(run("semi.recurrence", a, b, axis=axis, reverse=reverse), linear(a, b, axis, reverse))


@pytest.mark.parametrize("dtype", ["uint64", "float16"])
def test_both_targets_give_the_same_bits(dtype: str) -> None:
    a, b = numbers(dtype, (2, 5, 3), 1), numbers(dtype, (2, 5, 3), 2)
    a, b = (x / 4 if dtype.startswith("float") else x for x in (a, b))
    a, b = a.astype(dtype), b.astype(dtype)

    def function(x: Any, y: Any) -> tuple[Any, ...]:
        s = ng.semi
        running = [getattr(s, name)(x, axis=1 + k % 2, reverse=k < 2) for k, name in enumerate(RUNNING)]
        return s.recurrence(x, y, axis=2), s.recurrence(x, y, axis=1, reverse=True), *running

    reference, cpu = computed(function, a, b)
    for ours, theirs in zip(cpu, reference, strict=True):
        np.testing.assert_array_equal(ours, theirs, strict=True)


# -- the functions of the standard ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != BFLOAT16], ids=str)
def test_small_integers_are_widened(dtype: np.dtype) -> None:
    x = numbers(dtype.name, (3, 4), 0)
    terms = leaf(TensorType(x.dtype, anonymous(x.shape)))
    for ours, theirs in ((nx.cumulative_sum, np.cumulative_sum), (nx.cumulative_prod, np.cumulative_prod)):
        for initial in (False, True):
            found = value(ours(terms, axis=1, include_initial=initial), {terms: x})
            np.testing.assert_array_equal(found, theirs(x, axis=1, include_initial=initial), strict=True)


@pytest.mark.parametrize("shape", [(0,), (1,), (5,), (3, 4), (0, 3), (3, 0)])
def test_cumulative_functions_on_both_targets(shape: tuple[int, ...]) -> None:
    x = numbers("float32", shape, 1)

    def each(xp: Any, x: Any) -> tuple[Any, ...]:
        found = [
            f(x, axis=-1, include_initial=i) for f in (xp.cumulative_sum, xp.cumulative_prod) for i in (False, True)
        ]
        return *found, xp.cumsum(x), xp.cumprod(x, axis=0, dtype="float64")

    agrees(lambda t: each(nx, t), lambda a: each(np, a), x, unknown=True)


def test_numpys_own_functions_accumulate_terms() -> None:
    x = numbers("float32", (3, 4), 1)

    def each(x: Any) -> tuple[Any, ...]:
        extrema = np.maximum.accumulate(x), np.minimum.accumulate(x, axis=1)
        return np.cumsum(x, axis=1), np.cumprod(x), np.add.accumulate(x), np.multiply.accumulate(x, axis=1), *extrema

    agrees(each, each, x)


# -- gradients --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_gradients_are_central_differences(reverse: bool) -> None:
    for name in RUNNING:
        check_gradient(lambda x, name=name: getattr(ng.semi, name)(x, axis=0, reverse=reverse), apart(4, 2))
    check_gradient(lambda a, b: ng.semi.recurrence(a, b, axis=1, reverse=reverse), apart(2, 4), apart(2, 4, seed=1))


@pytest.mark.parametrize("zeros", [[1], [0, 2], [0, 1, 2, 3]])
def test_a_running_product_has_a_gradient_where_factors_are_zero(zeros: list[int]) -> None:
    x = apart(4)
    x[zeros] = 0
    check_gradient(lambda t: nx.cumulative_prod(t, include_initial=True), x)


def test_equal_elements_share_the_gradient_of_a_running_extremum() -> None:
    x, error = np.array([1.0, 3.0, 3.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0, 4.0, 3.0])
    # 3 is one element, then two of them for two steps, then three
    (found,) = slopes(lambda t: ng.semi.cummax(t), x, error=error)
    assert found.tolist() == [1.0, 1.0 + 3.0 + 1.0, 3.0 + 1.0, 0.0, 1.0]


def test_the_gradient_of_a_gradient() -> None:
    def twice(a: Any, b: Any) -> Any:
        return nx.concat(ng.deriv(nx.sum(nx.square(ng.semi.recurrence(a, b))), [a, b]))

    check_gradient(twice, apart(4), apart(4, seed=1))


def test_no_elements_have_no_gradient() -> None:
    for name in RUNNING:
        assert slopes(lambda x, name=name: getattr(ng.semi, name)(x, axis=0), np.zeros((0, 2)))[0].shape == (0, 2)


X = ng.placeholder((2, 3))
WRONG = [
    (lambda: nx.cumulative_sum(X), errors.AttributeValueError, "there are 2 axes and none is named"),
    (lambda: nx.cumulative_prod(X, axis=2), errors.OutOfRangeError, "axis 2 is outside of 2 axes"),
    (lambda: nx.cumulative_sum(X, axis=0, include_initial=2), errors.AttributeValueError, "include_initial is 2"),
    (lambda: nx.cumulative_sum(X, axis=0, dtype="bool"), errors.DTypeError, "expected numbers"),
    (lambda: ng.semi.cumsum(ng.placeholder((3,), "bool")), errors.DTypeError, "expected numbers"),
    (lambda: ng.semi.recurrence(X, ng.placeholder((3, 2))), errors.AxesError, "expected equal shapes"),
    (lambda: ng.semi.recurrence(X, X, reverse=-1), errors.AttributeValueError, "reverse is -1"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
