# SPDX-License-Identifier: Apache-2.0
"""Simple normalisation takes mean and deviation out, exactly where nothing varies, and so do its derivatives."""

from typing import Any

import numpy as np
import pytest
from drawn import value
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sliding_oracle import both, check_gradients

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.ops.simple_marks import keys

s, N, R = ng.simple, ng.simple.N, ng.simple.R
DRAWN = settings(max_examples=15, deadline=None)
SHAPES: list[tuple[Any, ...]] = [(3, 4, N(5)), (N(3), 4, 5), (3, N(4), 5), (R(3), 4, N(5))]
NUMBERS = hnp.arrays(np.float64, (3, 4, 5), elements=st.floats(-100, 100, width=16))


def standardized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """By the definition, with 0 where nothing varies."""
    less = x - x.mean(axes, keepdims=True)
    deviation = np.sqrt(x.var(axes, keepdims=True) + eps)
    return np.where(deviation == 0, 0.0, less / np.where(deviation == 0, 1, deviation))


@DRAWN
@given(array=NUMBERS, shape=st.sampled_from(SHAPES), data=st.data(), eps=st.sampled_from([1e-3, 1.0]))
def test_what_is_standardized_has_no_mean_and_deviation_one(
    array: Any, shape: tuple[Any, ...], data: st.DataObject, eps: float
) -> None:
    x = s.placeholder(shape, "float64")
    own = keys(x.axes)
    chosen = data.draw(st.lists(st.sampled_from(own), unique=True))
    wanted = standardized(array, tuple(own.index(k) for k in chosen), eps)
    # the mean of numbers up to 100 is rounded to 1e-14, and the deviation is at least 0.03
    np.testing.assert_allclose(value(s.standardize(x, chosen, eps=eps), {x: array}), wanted, rtol=1e-12, atol=1e-11)


@DRAWN
@given(array=NUMBERS, gamma=hnp.arrays(np.float64, 4, elements=st.floats(-2, 2)), first=st.booleans())
def test_batch_norm_keeps_the_first_feature_of_its_scale(array: Any, gamma: Any, first: bool) -> None:
    x = s.placeholder((N(3), 4, 5) if first else (R(3), 4, N(5)), "float64")
    scale, shift = (s.placeholder((4,), "float64") for _ in range(2))
    found = value(s.batch_norm(x, scale, shift, eps=0.1), {x: array, scale: gamma, shift: np.arange(4.0)})
    wanted = standardized(array, (0, 2), 0.1) * gamma[:, None] + np.arange(4.0)[:, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@DRAWN
@given(array=NUMBERS, gamma=hnp.arrays(np.float64, (4, 5), elements=st.floats(-2, 2)))
def test_layer_norm_standardizes_each_sample(array: Any, gamma: Any) -> None:
    x, scale, shift = s.placeholder((N(3), 4, 5), "float64"), *(s.placeholder(k, "float64") for k in ((4, 5), ()))
    found = value(s.layer_norm(x, scale, shift, eps=0.1), {x: array, scale: gamma, shift: np.asarray(0.5)})
    np.testing.assert_allclose(found, standardized(array, (1, 2), 0.1) * gamma + 0.5, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
@pytest.mark.parametrize("shape", [(3, 4, N(5)), (N(5), 3, 4)])
def test_both_targets_agree(dtype: str, shape: tuple[Any, ...]) -> None:
    x, scale, shift, row = (s.placeholder(k, dtype) for k in (shape, (3,), (3,), (3, 4)))
    rng = np.random.default_rng(0)
    arrays = {t: (4 * rng.normal(size=t.shape)).astype(dtype) for t in (x, scale, shift, row)}
    results = [s.batch_norm(x, scale, shift), s.layer_norm(x, row, 1), s.standardize(x, keep=0)]
    result = "float64" if dtype == "int32" else dtype
    for one, two in zip(*both(results, arrays), strict=True):
        assert one.dtype == two.dtype == result
        # a few roundings of numbers of the size of 10
        np.testing.assert_allclose(one, two, rtol=0, atol=40 * float(np.finfo(result).eps))


def test_inference_takes_the_statistics_it_is_given() -> None:
    x, *others = terms = [s.placeholder(k, "float64") for k in ((N(2), 3, 2), *[(3,)] * 4)]
    rng = np.random.default_rng(1)
    arrays = {t: rng.uniform(0.5, 2, t.shape) for t in terms}
    gamma, beta, average, spread = (arrays[t][:, None] for t in others)
    result = s.batch_norm(x, *others[:2], mean=others[2], variance=others[3], eps=0.25)
    for found in both(result, arrays):
        wanted = (arrays[x] - average) / np.sqrt(spread + 0.25) * gamma + beta
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    check_gradients(result, arrays, terms)


def test_running_statistics_move_towards_those_of_a_batch() -> None:
    x = s.placeholder((3, N))
    kept = [s.persistent_tensor((3,), initial_value=np.full(3, v)) for v in (0.0, 1.0)]
    step = ng.update_statistics(*kept, *s.batch_statistics(x, N), rate=0.5)
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    with ng.make_transformer("cpu") as transformer:
        transformer.computation(ng.sequential([step, *kept[:1]]), x)(array)
        np.testing.assert_allclose(transformer.get(kept[0]), array.mean(1) / 2)
        np.testing.assert_allclose(transformer.get(kept[1]), (1 + array.var(1)) / 2)


@pytest.mark.parametrize("shape", [(3, 4, N(2)), (N(2), 3, 4), (R(2), 3, 4)])
def test_derivatives(shape: tuple[Any, ...]) -> None:
    x, scale, shift, row = terms = [s.placeholder(k, "float64") for k in (shape, (3,), (3,), (3, 4))]
    rng = np.random.default_rng(2)
    values = {t: rng.normal(size=t.shape) for t in terms}
    check_gradients(s.batch_norm(x, scale, shift, eps=0.1), values, [x, scale, shift])
    check_gradients(s.layer_norm(x, row, row, eps=0.1), values, [x, row])
    check_gradients(s.standardize(x, keep=0, eps=0.1), values, [x])


def test_a_derivative_is_finite_where_nothing_varies() -> None:
    x = s.placeholder((3, N(2)), "float64")
    y = s.standardize(x, eps=0.0)
    for found in both([y, ng.deriv(s.sum(y * y, keep=()), x)], {x: np.ones((3, 2))}):
        assert not np.any(found[0]) and not np.any(found[1])


X = s.placeholder((3, 4, N(2)))
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a negative eps": (lambda: s.standardize(X, eps=-1), errors.AttributeValueError, "at least 0"),
    "an axis that is not there": (lambda: s.standardize(X, R), errors.UnmatchedAxesError, "has no axis R"),
    "axes twice": (lambda: s.standardize(X, 0, keep=0), errors.AttributeValueError, "both axes and keep"),
    "truth": (lambda: s.standardize(X > 0), errors.DTypeError, "expected numbers"),
    "half of the statistics": (lambda: s.batch_norm(X, 1, 0, mean=X), errors.AttributeValueError, "is missing"),
    "a scale of other features": (
        lambda: s.batch_norm(X, s.placeholder((4,)), 0), errors.AxesError, r"expected features \(3,\)"),
    "a scale of what is taken": (
        lambda: s.batch_norm(X, s.placeholder((3, N(2))), 0, [1, N]), errors.UnmatchedAxesError, "has N"),
    "a scale of what is kept": (
        lambda: s.layer_norm(X, s.placeholder((3,)), 0), errors.AxesError, r"expected features \(3, 4\)"),
    "a scale of samples": (
        lambda: s.layer_norm(X, s.placeholder((3, 4, N(2))), 0), errors.UnmatchedAxesError, "has N"),
    "another batch": (
        lambda: s.batch_norm(X, s.placeholder((3, N(3))), 0), errors.IncompatibleAxesError, "N has length"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_is_wrong(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind
