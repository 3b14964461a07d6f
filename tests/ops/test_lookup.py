# SPDX-License-Identifier: Apache-2.0
"""A lookup takes rows of a table by number; its derivative adds up, but in no row that is to stay as it is."""

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
V, F, N, T = ng.Axis("V", 5), ng.Axis("F", 3), ng.Axis("N", 4), ng.Axis("REC", 2)
INDICES = hnp.arrays(np.int64, (2, 4), elements=st.integers(-7, 6))
TABLE = np.arange(1.0, 16.0).reshape(5, 3)


def looked_up(table: Any, indices: Any) -> Any:
    """Row by row: negative numbers count from the end, outside are zeros."""
    result = np.zeros((*indices.shape, *table.shape[1:]))
    for place, i in np.ndenumerate(indices):
        if -len(table) <= i < len(table):
            result[place] = table[i]
    return result


def added_up(delta: Any, indices: Any, rows: int) -> Any:
    """What a table gets from each place that reads it."""
    result = np.zeros((rows, *delta.shape[indices.ndim :]))
    for place, i in np.ndenumerate(indices):
        if -rows <= i < rows:
            result[i] += delta[place]
    return result


@DRAWN
@given(indices=INDICES)
def test_a_lookup_takes_rows(indices: Any) -> None:
    lut, idx = ng.placeholder([V, F], "float64"), ng.placeholder([T, N], "int64")
    found = ng.lookuptable(lut, idx)
    assert found.axes == ng.Axes([T, N, F])
    np.testing.assert_array_equal(value(found, {lut: TABLE, idx: indices}), looked_up(TABLE, indices))


@pytest.mark.parametrize("table", [(V, F), (F, V)])
@pytest.mark.parametrize("order", [(T, N, F), (F, N, T), (N, F, T)])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_the_axes_of_the_result_tell_which_axis_is_looked_up(
    table: tuple[ng.Axis, ...], order: tuple[ng.Axis, ...], dtype: str
) -> None:
    lut, idx = ng.placeholder(table, dtype), ng.placeholder([T, N], "int32")
    found = ng.lookuptable(lut, idx, order)
    assert found.axes == ng.Axes(order)
    rows, indices = TABLE.astype(dtype), np.array([[0, -1, 4, 9], [1, 1, -5, -6]], "int32")
    wanted = np.transpose(looked_up(rows, indices), [ng.Axes([T, N, F]).index(a) for a in order])
    for result in both(found, {lut: rows if table[0] is V else rows.T, idx: indices}):
        np.testing.assert_array_equal(result, wanted.astype(dtype))


@DRAWN
@given(indices=INDICES, seed=st.integers(0, 99), pad=st.sampled_from([None, 1, -1]))
def test_the_derivative_adds_up_what_each_row_is_read_for(indices: Any, seed: int, pad: int | None) -> None:
    lut, idx = ng.placeholder([V, F], "float64"), ng.placeholder([T, N], "int64")
    found = ng.lookuptable(lut, idx, pad_idx=pad)
    delta = np.random.default_rng(seed).integers(-4, 5, (2, 4, 3)).astype(np.float64)
    error = ng.placeholder(found.axes, "float64")
    wanted = added_up(delta, indices, 5)
    if pad is not None:
        wanted[pad] = 0
    values = {lut: TABLE, idx: indices, error: delta}
    np.testing.assert_array_equal(value(ng.deriv(found, lut, error), values), wanted)
    explicit = ng.lookuptable_update(error, lut, idx, pad_idx=pad)
    np.testing.assert_array_equal(value(explicit, values), wanted)


def test_the_row_of_padding_is_read_all_the_same_and_costs_nothing() -> None:
    lut, idx = ng.placeholder([V, F], "float64"), ng.placeholder([N], "int64")
    indices = np.array([1, 0, 1, -4])
    with ng.make_transformer("cpu") as transformer:
        padded = transformer.computation(ng.lookuptable(lut, idx, pad_idx=1), lut, idx)
        np.testing.assert_array_equal(padded(TABLE, indices), TABLE[indices])
        assert padded.stats()["launches"] == 1


def test_no_derivative_reaches_a_table_that_is_not_to_be_updated() -> None:
    lut, idx = ng.placeholder([V, F], "float64"), ng.placeholder([N], "int64")
    found = ng.lookuptable(lut, idx, update=False) * lut
    slope = ng.deriv(ng.sum(found, out_axes=()), lut)
    indices = np.array([0, 0, 2, 4])
    wanted = np.broadcast_to(TABLE[indices].sum(0), (5, 3))
    for result in both(slope, {lut: TABLE, idx: indices}):
        np.testing.assert_array_equal(result, wanted)


def test_derivatives() -> None:
    lut, idx = ng.placeholder([F, V], "float64"), ng.placeholder([N], "uint8")
    rng = np.random.default_rng(0)
    values = {lut: rng.normal(size=(3, 5)), idx: np.array([1, 4, 1, 200], "uint8")}
    found = ng.tanh(ng.lookuptable(lut, idx, [F, N]))
    check_gradients(found, values, [lut])
    slope = ng.deriv(ng.sum(found * found, out_axes=()), lut)
    check_gradients(slope, values, [lut], 1e-6)


@pytest.mark.parametrize(("batch", "rows"), [(0, 3), (2, 3), (2, 0)])
def test_lengths_may_be_known_only_in_a_call(batch: int, rows: int) -> None:
    lut = ng.placeholder([ng.Axis("V", None), F], "float64")
    idx = ng.placeholder([ng.Axis("N", None)], "int64")
    found = ng.lookuptable(lut, idx, pad_idx=-1)
    slope = ng.deriv(ng.sum(found, out_axes=()), lut)
    values = {lut: TABLE[:rows], idx: np.arange(batch)}
    wanted = added_up(np.ones((batch, 3)), values[idx], rows)
    wanted[-1:] = 0
    for one, two in both([found, slope], values):
        np.testing.assert_array_equal(one, looked_up(TABLE[:rows], values[idx]))
        np.testing.assert_array_equal(two, wanted)


def test_an_update_of_ones_own_trains_a_table() -> None:
    lut, idx = ng.variable([V, F], "float64", initial_value=0.0), ng.placeholder([N], "int64")
    delta = ng.placeholder([F, N], "float64")
    step = ng.assign(lut, lut - ng.lookuptable_update(delta, lut, idx))
    with ng.make_transformer("cpu") as transformer:
        transformer.computation(step, delta, idx)(np.ones((3, 4)), np.array([2, 2, 0, -1]))
        np.testing.assert_array_equal(transformer.get(lut)[:, 0], [-1, 0, -2, 0, -1])


LUT, IDX = ng.placeholder([V, F]), ng.placeholder([N], "int64")
WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "numbers that are no integers": (
        lambda: ng.lookuptable(LUT, ng.placeholder([N])), ng.DTypeError, "expected integers"),
    "no axis of the table": (lambda: ng.lookuptable(LUT, IDX, [N]), ng.AxesError, "lack 2 axes of the table"),
    "every axis of the table": (lambda: ng.lookuptable(LUT, IDX, [V, F, N]), ng.AxesError, "lack 0 axes"),
    "another axis": (lambda: ng.lookuptable(LUT, IDX, [F, T]), ng.UnmatchedAxesError, "in some order"),
    "an axis that stays": (
        lambda: ng.lookuptable(LUT, ng.placeholder([F], "int64")), ng.DuplicateAxisNames, "F would stand twice"),
    "no table": (lambda: ng.lookuptable(ng.placeholder([]), IDX), ng.AxesError, "is no table"),
    "a row that is not there": (lambda: ng.lookuptable(LUT, IDX, pad_idx=5), ng.OutOfRangeError, "pad_idx is 5"),
    "a row that is no number": (
        lambda: ng.lookuptable(LUT, IDX, pad_idx="a"), ng.AttributeValueError, "pad_idx is 'a'"),
    "the change of something else": (
        lambda: ng.lookuptable_update(ng.placeholder([F, T]), LUT, IDX), ng.UnmatchedAxesError, "that a lookup has"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_is_wrong(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind and __file__ in str(caught.value)
