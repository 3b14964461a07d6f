# SPDX-License-Identifier: Apache-2.0
"""Rows put together by numbers are those that NumPy puts together one by one; numbers as rows that are 1 at a place."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from on_targets import check_gradient, computed, meaning

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.types.dtypes import as_dtype

nx = ng.numpy
SOME = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "float16", "float32", "float64"]
NAMES = ["segment_sum", "segment_mean", "segment_max", "segment_min"]
inf, nan = np.inf, np.nan


def segments(name: str, rows: Any, numbers: Any, count: int) -> Any:
    """Each segment by itself, in float64 where there are floats."""
    own = rows if rows.dtype.kind != "f" else rows.astype("float64")
    flat = own.reshape(numbers.size, *rows.shape[numbers.ndim :])
    parts = [flat[numbers.ravel() == k] for k in range(count)]
    if name == "segment_sum":
        return np.array([p.sum(0) for p in parts]).reshape(count, *flat.shape[1:])
    if name == "segment_mean":
        return np.array([p.sum(0) / max(len(p), 1) for p in parts]).reshape(count, *flat.shape[1:])
    empty = np.full(flat.shape[1:], bound(rows.dtype, least=name == "segment_max"))
    most = np.max if name == "segment_max" else np.min
    return np.array([most(p, 0) if len(p) else empty for p in parts]).reshape(count, *flat.shape[1:])


def bound(dtype: Any, least: bool) -> Any:
    if dtype.kind == "b":
        return not least
    limits = (-inf, inf) if dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return dtype.type(limits[0] if least else limits[1])


@SOME
@given(
    name=st.sampled_from(NAMES), dtype=st.sampled_from(DTYPES), count=st.integers(0, 4),
    lead=st.sampled_from([(0,), (1,), (6,), (2, 3)]), rest=st.sampled_from([(), (2,), (0,), (2, 1)]),
    kind=st.sampled_from(["int8", "int64", "uint64"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_each_segment_is_what_numpy_makes_of_its_rows(
    name: str, dtype: str, count: int, lead: Any, rest: Any, kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2 if dtype == "bool" else 9, lead + rest).astype(dtype)
    numbers = rng.integers(-2 if kind[0] == "i" else 0, count + 2, lead).astype(kind)  # some are outside
    found = meaning(lambda x, i: getattr(nx, name)(x, i, count), rows, numbers)
    wanted = segments(name, rows, numbers, count)
    assert found.shape == wanted.shape
    if dtype[0] != "f" or name == "segment_mean":  # a sum of floats keeps their dtype
        assert name == "segment_mean" or count == 0 or found.dtype == wanted.dtype
    np.testing.assert_allclose(np.asarray(found, wanted.dtype), wanted, rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_targets_agree_where_lengths_are_not_known(name: str, dtype: str) -> None:
    rows, numbers = np.arange(12).reshape(6, 2).astype(dtype), np.array([2, 0, 2, 5, -1, 0])
    one, other = computed(lambda x, i: getattr(nx, name)(x, i, 4), rows, numbers, unknown=True)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[0], segments(name, rows, numbers, 4))


def test_how_many_there_are_may_be_a_length() -> None:
    """Messages of edges come together at nodes, of which a call tells how many there are."""
    nodes, edges = ng.placeholder((None, 3)), ng.placeholder((ng.Length.symbol("edges"), 3))
    ends = ng.placeholder((edges.shape[0],), "int64")
    total = nx.segment_sum(edges, ends, nodes.shape[0])
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(nodes + total, nodes, edges, ends)(
            np.ones((4, 3)), np.ones((5, 3)), [0, 3, 3, 7, -1]
        )
    np.testing.assert_array_equal(found[:, 0], [2, 1, 1, 3])


@pytest.mark.parametrize("name", NAMES)
def test_slopes_go_back_to_the_rows(name: str) -> None:
    rows = np.random.default_rng(3).normal(size=(5, 2))
    check_gradient(lambda x: getattr(nx, name)(x, [1, 0, 1, 7, 1], 3)[:2], rows)


def test_equal_greatest_rows_share_a_slope() -> None:
    x = ng.placeholder((4,), "float64")
    slope = ng.deriv(nx.segment_max(x, [0, 0, 1, 0], 2), x, error=np.ones(2))
    with ng.make_transformer("cpu") as transformer:
        np.testing.assert_allclose(transformer.computation(slope, x)([3.0, 1.0, 2.0, 3.0]), [0.5, 0, 1, 0.5])


@pytest.mark.parametrize("name", NAMES)
def test_nan_stays_in_its_segment(name: str) -> None:
    found = meaning(lambda x: getattr(nx, name)(x, [0, 1, 1], 2), np.array([1.0, nan, 2.0]))
    np.testing.assert_array_equal(found, [1.0, nan])


def test_known_numbers_say_how_many_there_are() -> None:
    assert nx.segment_sum(np.ones(3), [0, 4, 2]).shape == (5,)
    assert nx.segment_sum(np.ones((0, 2)), []).shape == (0, 2)


@SOME
@given(
    count=st.integers(0, 4), axis=st.integers(-3, 2), shape=st.sampled_from([(), (3,), (0,), (2, 3)]),
    kind=st.sampled_from(["int8", "uint8", "int64", "uint64"]), dtype=st.sampled_from(["bool", "int8", "float32"]),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_one_is_hot(count: int, axis: int, shape: Any, kind: str, dtype: str, seed: int) -> None:
    if -len(shape) - 1 <= axis <= len(shape):
        low, high = (-count - 2, 127) if kind[0] == "i" else (0, 255 if kind == "uint8" else 2**64 - 1)
        rng = np.random.default_rng(seed)
        near = np.asarray(rng.integers(low, count + 2, shape), kind)
        x = np.asarray(np.where(rng.random(shape) < 0.2, np.asarray(high, kind), near), kind)
        table = np.eye(count, dtype=dtype)
        inside = (x >= -count if kind[0] == "i" else True) & (x < count)
        wanted = table[np.where(inside, x, 0).astype(int)] if count else np.zeros((*shape, 0), dtype)
        wanted = np.where(np.asarray(inside)[..., None], wanted, np.zeros((), dtype))
        found = meaning(lambda x: nx.one_hot(x, count, axis=axis, dtype=dtype), x)
        np.testing.assert_array_equal(found, np.moveaxis(wanted, -1, axis), strict=True)


def test_one_hot_is_that_of_the_other_families() -> None:
    x = np.array([2, -1, 5, 0])
    term = ng.placeholder({"N": 4}, "int64")
    with ng.make_transformer("cpu") as transformer:
        named = transformer.computation(ng.one_hot(term, ng.Axis("K", 3)), term)(x)
    (found,), (other,) = computed(lambda x: nx.one_hot(x, 3, axis=0), x)
    np.testing.assert_array_equal(found, named, strict=True)
    np.testing.assert_array_equal(other, named, strict=True)


X, IDS = ng.placeholder((4, 2)), ng.placeholder((4,), "int64")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.segment_sum(X, IDS), errors.ArgumentError, "(?s)segment_sum: how many segments.*give num_segments"),
    (lambda: nx.segment_max(X, IDS, -1), errors.LengthError, "segment_max: num_segments is -1"),
    (lambda: nx.segment_min(X, IDS[:3], 2), errors.AxesError, "(?s)segment_min: the numbers int64.3.*one number for"),
    (lambda: nx.segment_mean(X, 3, 2), errors.AxesError, "segment_mean: the numbers int64.. are not those"),
    (lambda: nx.segment_sum(X, X[:, 0], 2), errors.DTypeError, "segment_sum: expected integers, got float32.4."),
    (lambda: nx.one_hot(X, 3), errors.DTypeError, "one_hot: expected integers"),
    (lambda: nx.one_hot(IDS, -3), errors.LengthError, "one_hot: num_classes is -3"),
    (lambda: nx.one_hot(IDS, 3, axis=2), errors.OutOfRangeError, "one_hot"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_what_is_wrong_is_said(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_halves_are_rounded_once(dtype: str) -> None:
    """Ones are counted beyond 2048, where the next half is two away."""
    ones = np.ones(4096).astype(as_dtype(dtype))
    for (found,) in computed(lambda x, k: nx.segment_sum(x, k, 1), ones, np.zeros(4096, int)):
        assert found.dtype == as_dtype(dtype) and found[0] == 4096
