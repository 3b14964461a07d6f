# SPDX-License-Identifier: Apache-2.0
"""What values choose, and sets: what NumPy gives, cut or filled up to the size that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ngraph_rewrite as ng
from ngraph_rewrite.errors import ArgumentError, AxesError, DTypeError, LengthError
from ngraph_rewrite.terms.op import Op

xp = ng.numpy
SAME = settings(max_examples=20, deadline=None, derandomize=True, database=None)
DTYPES = ["int64", "float32", "bool"]
FEW = st.sampled_from([0, 1, 2, 3])
SIZES = st.sampled_from([0, 1, 4])  # there may be fewer elements, and more


SHAPES = st.sampled_from([(0,), (6,), (2, 3)])
# Equal ones, and some that meet in one of the two.
PAIRS = [(dtype, dtype) for dtype in DTYPES] + [("int64", "bool"), ("bool", "float32")]


def vectors_of(dtype: str, shape: st.SearchStrategy[Any] = SHAPES) -> st.SearchStrategy[Any]:
    return hnp.arrays(dtype, shape, elements=FEW.map(np.dtype(dtype).type))


def vectors(shape: st.SearchStrategy[Any] = SHAPES) -> st.SearchStrategy[Any]:
    return st.sampled_from(DTYPES).flatmap(lambda dtype: vectors_of(dtype, shape))


def evaluated(
    returns: Sequence[Op], inputs: Sequence[Op], values: Sequence[Any], target: str = "reference"
) -> list[Any]:
    with ng.make_transformer(target) as transformer:
        return list(transformer.computation(list(returns), *inputs)(*values))


def leaves(*values: Any) -> list[Op]:
    return [ng.placeholder(v.shape, dtype=v.dtype) for v in values]


def cut(found: Any, size: int, fill: Any) -> Any:
    """The first elements, filled up."""
    return np.concatenate([found[:size], np.full((max(0, size - len(found)), *found.shape[1:]), fill, found.dtype)])


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 3), st.sampled_from([0, 1, 7, 300]), st.sampled_from([0, 1, 5, 400]), st.integers(0, 10))
def test_places_are_found_in_rows_of_any_length_and_what_is_behind_them_stays(
    rows: int, length: int, count: int, tenths: int
) -> None:
    rng = np.random.default_rng(rows + length)
    truths, behind = rng.random((rows, length)) < tenths / 10, rng.integers(-9, 0, (rows, count))
    inputs = leaves(behind, truths)
    term = ng.make_op("cpu.chosen_places", *inputs)
    for target in ("cpu", "reference"):
        (found,) = evaluated([term], inputs, [behind, truths], target)
        for one, old, chosen in zip(found, behind, truths, strict=True):
            places = np.flatnonzero(chosen)[:count]
            assert one.tolist() == [*places, *old[len(places) :]]


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 1.0])
def test_threads_share_a_long_row(share: float) -> None:
    truths = np.random.default_rng(0).random(300_000) < share
    (x,) = leaves(truths)
    with ng.make_transformer("cpu", threads=3) as transformer:
        for size in (1000, len(truths)):
            places = transformer.computation(xp.flatnonzero(x, size=size, fill_value=-1), x)
            assert np.array_equal(places(truths), cut(np.flatnonzero(truths), size, -1))
            assert "chosen_places" in {name.rpartition("_")[0] for name in places.stats()["kernels"]}


def test_a_condition_may_be_longer_than_what_it_chooses_of() -> None:
    truths, (x,) = np.array([True] * 5 + [False, True]), leaves(np.arange(1, 6))
    (condition,) = leaves(truths)
    chosen = [xp.compress(condition, x, size=7, fill_value=-1), xp.compress(condition, xp.stack([x, x]), 1, size=6)]
    for target in ("cpu", "reference"):
        found, pair = evaluated(chosen, [condition, x], [truths, np.arange(1, 6)], target)
        assert found.tolist() == [1, 2, 3, 4, 5, -1, -1] and pair.tolist() == [[1, 2, 3, 4, 5, 0]] * 2


def test_places_are_of_truths() -> None:
    places, truths = ng.placeholder((2, 5), "int64"), ng.placeholder((3, 4), "bool")
    with pytest.raises(AxesError, match="as many rows of truths as of places"):
        ng.make_op("cpu.chosen_places", places, truths)
    with pytest.raises(DTypeError, match="expected rows of bool, got int64"):
        ng.make_op("cpu.chosen_places", places, places)


@SAME
@given(vectors(), SIZES)
def test_places_of_what_is_not_zero_are_numpys(v: Any, size: int) -> None:
    (x,) = leaves(v)
    returns = [*xp.nonzero(x, size=size, fill_value=-1), xp.argwhere(x, size=size, fill_value=-1)]
    found = evaluated([*returns, xp.flatnonzero(x, size=size)], [x], [v])
    for one, place in zip(found, np.nonzero(v), strict=False):
        assert one.dtype == np.int64
        assert np.array_equal(one, cut(place, size, -1))
    assert np.array_equal(found[-2], cut(np.argwhere(v), size, -1))
    assert np.array_equal(found[-1], cut(np.flatnonzero(v), size, 0))


@SAME
@given(vectors(st.just((4, 3))), hnp.arrays("bool", st.sampled_from([(4,), (2,)])), SIZES)
def test_slices_where_a_condition_is_true_are_numpys(v: Any, truths: Any, size: int) -> None:
    x, c = inputs = leaves(v, truths)
    returns = [xp.compress(c, x, axis=0, size=size, fill_value=1), xp.compress(c, x, size=size)]
    rows, elements, extracted = evaluated([*returns, xp.extract(x > 1, x, size=size)], inputs, [v, truths])
    assert np.array_equal(rows, cut(np.compress(truths, v, axis=0), size, 1))
    assert np.array_equal(elements, cut(np.compress(truths, v), size, 0))
    assert np.array_equal(extracted, cut(np.extract(v > 1, v), size, 0))


@SAME
@given(vectors(), SIZES)
def test_distinct_elements_are_numpys(v: Any, size: int) -> None:
    (x,) = leaves(v)
    found = evaluated([*xp.unique_all(x, size=size, fill_value=1), xp.unique(x, size=size)], [x], [v])
    values, places, inverse, counts = np.unique(v, return_index=True, return_inverse=True, return_counts=True)
    right = cut(values, size, 1), cut(places, size, v.size), inverse.reshape(v.shape), cut(counts, size, 0)
    for one, two in zip(found, (*right, cut(values, size, 0)), strict=True):
        assert one.shape == two.shape and np.array_equal(one, two)


def test_each_nan_is_an_element_unless_they_are_said_to_be_equal() -> None:
    v = np.array([np.nan, 1, np.nan, 0], "float32")
    (x,) = leaves(v)
    one, each = evaluated([xp.unique(x, size=4, fill_value=9), xp.unique_values(x, size=4)], [x], [v])
    assert np.array_equal(one, [0, 1, np.nan, 9], equal_nan=True)
    assert np.array_equal(each, [0, 1, np.nan, np.nan], equal_nan=True)


@SAME
@given(st.sampled_from(PAIRS).flatmap(lambda pair: st.tuples(*map(vectors_of, pair))), SIZES)
def test_members_and_sets_of_two_are_numpys(pair: tuple[Any, Any], size: int) -> None:
    (a, b), (x, y) = pair, (inputs := leaves(*pair))
    returns = [xp.isin(x, y), xp.isin(x, y, invert=True)]
    returns += [f(x, y, size=size, fill_value=1) for f in (xp.union1d, xp.intersect1d, xp.setdiff1d)]
    found = evaluated(returns, inputs, [a, b])
    assert np.array_equal(found[0], np.isin(a, b))
    assert np.array_equal(found[1], ~np.isin(a, b))
    for one, function in zip(found[2:], (np.union1d, np.intersect1d, np.setdiff1d), strict=True):
        assert np.array_equal(one, cut(function(a, b), size, 1))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_kernels_choose_what_is_meant(dtype: str) -> None:
    v, w = np.array([[0, 2, 2], [1, 0, 3]]).astype(dtype), np.array([2, 5, 0]).astype(dtype)
    x, y = inputs = leaves(v, w)
    returns = [*xp.nonzero(x, size=4, fill_value=-1), xp.argwhere(x, size=3), xp.flatnonzero(x, size=5)]
    returns += [xp.compress([False, True], x, axis=0, size=2, fill_value=1), xp.extract(x > 1, x, size=4)]
    returns += [*xp.unique_all(x, size=5, fill_value=1), xp.isin(x, y)]
    returns += [f(x, y, size=4, fill_value=1) for f in (xp.union1d, xp.intersect1d, xp.setdiff1d)]
    meant, found = (evaluated(returns, inputs, [v, w], target) for target in ("reference", "cpu"))
    for one, other in zip(meant, found, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_arrays_say_by_themselves_how_many_there_are() -> None:
    v = np.array([[3, 0, 3], [1, 0, 0]])
    assert [x.shape for x in xp.nonzero(v)] == [(3,), (3,)]
    assert xp.argwhere(v).shape == (3, 2) and xp.flatnonzero(v).shape == (3,)
    assert xp.unique(v).shape == (3,) and xp.union1d(v, [7]).shape == (4,)
    assert xp.compress([True, False], v, axis=0).shape == (1, 3) and xp.extract(v > 1, v).shape == (2,)


def test_a_length_that_is_not_known_may_be_searched_and_asked_for() -> None:
    x = ng.placeholder((None,))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([xp.flatnonzero(x, size=2), xp.unique(x, size=x.shape[0])], x)
        for v in ([0.0, 2.0, 2.0, 1.0], [], [5.0]):
            places, distinct = computation(np.array(v, "float32"))
            assert np.array_equal(places, cut(np.flatnonzero(v), 2, 0))
            assert np.array_equal(distinct, cut(np.unique(np.array(v, "float32")), len(v), 0))


def test_places_in_grids_of_any_lengths() -> None:
    x = ng.placeholder((None, 2, ng.Length.symbol("m")))
    places = xp.argwhere(x, size=3, fill_value=-1)
    flat, clipped = [xp.ravel_multi_index(xp.nonzero(x, size=3), x.shape, mode=mode) for mode in ("raise", "clip")]
    for target in ("reference", "cpu"):
        with ng.make_transformer(target) as transformer:
            call = transformer.computation([places, flat, clipped], x)
            for shape in ((3, 2, 4), (1, 2, 1), (0, 2, 3), (2, 2, 0)):
                v = (np.arange(np.prod(shape)).reshape(shape) % 5 == 1).astype("float32")
                wanted = np.concatenate([np.argwhere(v), np.full((3, 3), -1)])[:3]
                found = call(v)
                assert np.array_equal(found[0], wanted)
                assert np.array_equal(found[1], cut(np.flatnonzero(v), 3, 0))
                assert np.array_equal(found[2], found[1]) or not v.size


def test_derivatives_go_to_what_was_chosen() -> None:
    x = ng.placeholder((4,), dtype="float64")
    loss = xp.sum(xp.square(xp.extract(x > 1, x, size=3)))
    (slope,) = evaluated([ng.deriv(loss, x)], [x], [np.array([0.5, 2.0, -1.0, 3.0])])
    assert np.array_equal(slope, [0, 4, 0, 6])


def test_what_is_wrong_is_said() -> None:
    x = ng.placeholder((2, 3))
    for function in (xp.nonzero, xp.flatnonzero, xp.argwhere, xp.unique, xp.unique_all, xp.unique_counts):
        with pytest.raises(ArgumentError, match=rf"{function.__name__}: how many there are depends on values"):
            function(x)
    for two in (xp.union1d, xp.intersect1d, xp.setdiff1d, xp.extract):
        with pytest.raises(ArgumentError, match=rf"{two.__name__}: how many there are depends on values"):
            two(x, x)
    with pytest.raises(AxesError, match="nonzero: expected an axis, got a number"):
        xp.nonzero(ng.placeholder([]), size=1)
    with pytest.raises(AxesError, match="compress: the condition is"):
        xp.compress(x, x, size=2)
    with pytest.raises(ArgumentError, match="unique: equal_nan is 1"):
        xp.unique(x, equal_nan=1, size=2)  # type: ignore[arg-type]
    with pytest.raises(LengthError, match="a length is -1"):
        xp.nonzero(x, size=-1)
