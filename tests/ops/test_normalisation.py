# SPDX-License-Identifier: Apache-2.0
"""Normalisation takes mean and deviation out, exactly where nothing varies, and so do its derivatives."""

from typing import Any

import numpy as np
import pytest
from drawn import value
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sliding_oracle import both, check_gradients

import ngraph_rewrite as ng

DRAWN = settings(max_examples=15, deadline=None)
C, H, N = ng.Axis("C", 3), ng.Axis("H", 4), ng.Axis("N", 5)
NUMBERS = hnp.arrays(np.float64, (3, 4, 5), elements=st.floats(-100, 100, width=16))


def standardized(x: Any, axes: tuple[int, ...], eps: float) -> Any:
    """By the definition, with 0 where nothing varies."""
    less = x - x.mean(axes, keepdims=True)
    deviation = np.sqrt(x.var(axes, keepdims=True) + eps)
    return np.where(deviation == 0, 0.0, less / np.where(deviation == 0, 1, deviation))


def tensors(*axes: Any, dtype: str = "float64") -> list[ng.Op]:
    """A placeholder for each set of axes."""
    return [ng.placeholder(a, dtype) for a in axes]


@DRAWN
@given(array=NUMBERS, over=st.sets(st.sampled_from("CHN")), eps=st.sampled_from([1e-3, 1.0]))
def test_what_is_standardized_has_no_mean_and_deviation_one(array: Any, over: set[str], eps: float) -> None:
    (x,) = tensors([C, H, N])
    found = value(ng.standardize(x, sorted(over), eps), {x: array})
    wanted = standardized(array, tuple("CHN".index(a) for a in sorted(over)), eps)
    # the mean of numbers up to 100 is rounded to 1e-14, and the deviation is at least 0.03
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-11)


@DRAWN
@given(array=NUMBERS, gamma=hnp.arrays(np.float64, 3, elements=st.floats(-2, 2)))
def test_batch_norm_standardizes_over_all_axes_but_those_of_its_scale(array: Any, gamma: Any) -> None:
    x, scale, shift = tensors([C, H, N], C, C)
    found = value(ng.batch_norm(x, scale, shift, eps=0.1), {x: array, scale: gamma, shift: np.arange(3.0)})
    wanted = standardized(array, (1, 2), 0.1) * gamma[:, None, None] + np.arange(3.0)[:, None, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@DRAWN
@given(array=NUMBERS, gamma=hnp.arrays(np.float64, 4, elements=st.floats(-2, 2)))
def test_layer_norm_standardizes_each_sample(array: Any, gamma: Any) -> None:
    x, scale, shift = tensors([C, H, N], H, [])
    found = value(ng.layer_norm(x, scale, shift, eps=0.1), {x: array, scale: gamma, shift: np.asarray(0.5)})
    wanted = standardized(array, (0, 1), 0.1) * gamma[None, :, None] + 0.5
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_both_targets_agree(dtype: str) -> None:
    x, scale, shift = tensors([N, C, H], C, C, dtype=dtype)
    rng = np.random.default_rng(0)
    arrays = {t: (4 * rng.normal(size=t.shape)).astype(dtype) for t in (x, scale, shift)}
    results = [ng.batch_norm(x, scale, shift), ng.layer_norm(x, scale, shift), ng.standardize(x)]
    result = "float64" if dtype == "int32" else dtype
    for one, two in zip(*both(results, arrays), strict=True):
        assert one.dtype == two.dtype == result
        # a few roundings of numbers of the size of 10
        np.testing.assert_allclose(one, two, rtol=0, atol=40 * float(np.finfo(result).eps))


def test_inference_takes_the_statistics_it_is_given() -> None:
    x, scale, shift, average, spread = terms = tensors([C, N], C, C, C, C)
    rng = np.random.default_rng(1)
    arrays = {t: rng.uniform(0.5, 2, t.shape) for t in terms}
    result = ng.batch_norm(x, scale, shift, mean=average, variance=spread, eps=0.25)
    column = {t: a.reshape(3, -1) for t, a in arrays.items()}
    wanted = (column[x] - column[average]) / np.sqrt(column[spread] + 0.25) * column[scale] + column[shift]
    for found in both(result, arrays):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    check_gradients(result, arrays, terms)


def test_the_statistics_of_a_batch_are_reduced_once() -> None:
    x, scale, shift = tensors([C, N], C, C)
    normed, statistics = ng.batch_norm(x, scale, shift), ng.batch_statistics(x, N)
    arrays = [np.ones(t.shape) for t in (x, scale, shift)]
    with ng.make_transformer("cpu") as transformer:
        for results in ([normed], [normed, *statistics]):
            computation = transformer.computation(results, x, scale, shift)
            computation(*arrays)
            assert [k.partition("_")[0] for k in computation.stats()["kernels"]] == ["rows"]


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_running_statistics_move_towards_those_of_each_batch(target: str) -> None:
    x = ng.placeholder([C, ng.Axis("N", None)], "float64")
    kept = [ng.persistent_tensor(C, "float64", initial_value=v) for v in (0.0, 1.0)]
    step = ng.update_statistics(*kept, *ng.batch_statistics(x, "N"), rate=0.25)
    batch = np.random.default_rng(2).normal(size=(3, 6))
    with ng.make_transformer(target) as transformer:
        update = transformer.computation(step, x)
        update(batch), update(batch)
        average, spread = (transformer.get(v) for v in kept)
    # after two steps a share of 1 - 0.75**2 is that of the batch
    np.testing.assert_allclose(average, 0.4375 * batch.mean(1), rtol=1e-12)
    np.testing.assert_allclose(spread, 0.5625 + 0.4375 * batch.var(1), rtol=1e-12)


# -- derivatives --------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [ng.batch_norm, ng.layer_norm])
def test_derivatives(function: Any) -> None:
    x, scale, shift = tensors([C, N], C, C)
    rng = np.random.default_rng(3)
    values = {t: rng.normal(size=t.shape) for t in (x, scale, shift)}
    term = function(x, scale, shift, eps=0.01)
    check_gradients(term, values, [x, scale, shift])


def test_second_derivatives() -> None:
    (x,) = tensors([C, N])
    term = ng.standardize(x, N, eps=0.01)
    slope = ng.deriv(ng.sum(term * term * term, out_axes=()), x)
    values = {x: np.random.default_rng(3).normal(size=x.shape)}
    check_gradients(ng.sum(slope * slope, out_axes=()), values, [x], 1e-6)


@pytest.mark.parametrize("eps", [0.0, 1e-5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_in_which_nothing_varies_stay_finite(eps: float, dtype: str) -> None:
    x, scale, shift = tensors([C, N], C, C, dtype=dtype)
    result = ng.batch_norm(x, scale, shift, eps=eps)
    slopes = ng.deriv(ng.sum(result * result, out_axes=()), [x, scale, shift])
    arrays = {x: np.full((3, 5), 2.5, dtype), scale: np.ones(3, dtype), shift: np.zeros(3, dtype)}
    for found in both([result, *slopes], arrays):
        for part in found:
            np.testing.assert_array_equal(part, np.zeros_like(part))


@pytest.mark.parametrize("batch", [0, 4])
def test_the_batch_may_be_known_only_in_a_call(batch: int) -> None:
    x = ng.placeholder([C, ng.Axis("N", None)], "float64")
    scale, shift = tensors(C, C)
    result = ng.batch_norm(x, scale, shift)
    array = np.random.default_rng(4).normal(size=(3, batch))
    arrays = {x: array, scale: np.ones(3), shift: np.ones(3)}
    for found in both(result, arrays):
        np.testing.assert_allclose(found, standardized(array, (1,), 1e-5) + 1 if batch else array, rtol=1e-12)


X, G, T = tensors([C, H, N], C, ng.Axis("T", 2))
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "a scale with an axis of the statistics": (
        lambda: ng.batch_norm(X, G, G, [C]), ng.UnmatchedAxesError, "statistics are taken"),
    "a scale with another axis": (lambda: ng.batch_norm(X, T, G), ng.UnmatchedAxesError, "lacks T"),
    "a scale that samples do not have": (lambda: ng.layer_norm(X, G, G, [H]), ng.UnmatchedAxesError, "lacks C"),
    "a negative eps": (lambda: ng.layer_norm(X, G, G, eps=-1.0), ng.AttributeValueError, "eps is -1.0"),
    "a NaN eps": (lambda: ng.standardize(X, eps=float("nan")), ng.AttributeValueError, "eps is nan"),
    "an axis that is not there": (lambda: ng.standardize(X, "T"), ng.UnmatchedAxesError, "no axis 'T'"),
    "half of the statistics": (lambda: ng.batch_norm(X, G, G, mean=G), ng.AttributeValueError, "missing"),
    "truth": (lambda: ng.standardize(X > 0), ng.DTypeError, "expected numbers"),
    "no storage": (lambda: ng.update_statistics(G, G, G, G), ng.SequencingError, "not storage"),
    "a rate above 1": (lambda: ng.update_statistics(G, G, G, G, 1.5), ng.AttributeValueError, "rate is 1.5"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_is_wrong(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind and __file__ in str(caught.value)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_beside_what_is_normalised_take_its_dtype(dtype: str) -> None:
    x = ng.placeholder({"C": 3, "N": 2}, dtype)
    for one, zero in ((1, 0), (1.0, 0.0)):
        assert ng.layer_norm(x, one, zero).dtype == dtype
        assert ng.batch_norm(x, one, zero).dtype == dtype
        assert ng.batch_norm(x, one, zero, mean=zero, variance=one).dtype == dtype
