# SPDX-License-Identifier: Apache-2.0
"""Assignments to parts of variables do what NumPy's do, and touch no more memory than the part."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng

TARGETS = ng.transformer_choices()
H, W = ng.Axis("H", 4), ng.Axis("W", 5)
GRID = np.arange(20.0).reshape(4, 5)


def grid(name: str = "x", dtype: str = "float64") -> ng.Op:
    return ng.variable([H, W], dtype, initial_value=GRID.astype(dtype), name=name)


def run(returns: Any, target: str) -> Any:
    with ng.make_transformer(target) as transformer:
        return transformer.computation(returns)()


def stats(returns: Any, *inputs: Any) -> dict[str, Any]:
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, *(p for p, _ in inputs))
        computation(*(a for _, a in inputs))
        return computation.stats()


# -- what is stored ---------------------------------------------------------------------------------


def indices(length: int) -> st.SearchStrategy[Any]:
    bound = st.none() | st.integers(-length - 1, length + 1)
    step = st.none() | st.integers(-3, 3).filter(bool)
    whole = st.builds(slice, bound, bound, step)
    return whole | st.integers(-length, length - 1) if length else whole


@st.composite
def cases(draw: Callable[..., Any]) -> tuple[np.ndarray[Any, Any], tuple[Any, ...], np.ndarray[Any, Any]]:
    """An array, an index of it, and a value for the part."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    dtype = draw(st.sampled_from(["float64", "float32", "float16", "int64", "int32", "uint8", "bool"]))
    array = np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)
    items = tuple(draw(indices(n)) for n in shape[: draw(st.integers(0, len(shape)))])
    if draw(st.booleans()):
        items = (*items, ...)
    return array, items, (array[items] * 3 + 1).astype(dtype)


@drawn(25)
@given(cases(), st.sampled_from(["axes", "numpy"]))
def test_a_part_is_replaced_as_numpy_replaces_it(case: Any, family: str) -> None:
    array, items, value = case
    axes = [ng.Axis(f"A{i}", n) for i, n in enumerate(array.shape)] if family == "axes" else array.shape
    x = ng.variable(axes, array.dtype, initial_value=array)
    part = x[items]
    expected = array.copy()
    expected[items] = value
    for target in TARGETS:
        after, kept = run((ng.assign(part, ng.constant(value, part.axes)), x), target)
        np.testing.assert_array_equal(after, expected)
        np.testing.assert_array_equal(kept, expected)


@drawn(20)
@given(cases(), st.sampled_from(["axes", "numpy"]))
def test_set_slice_leaves_its_argument_as_it_is(case: Any, family: str) -> None:
    array, items, value = case
    axes = [ng.Axis(f"A{i}", n) for i, n in enumerate(array.shape)] if family == "axes" else array.shape
    x, p = ng.variable(axes, array.dtype, initial_value=array), ng.placeholder((), array.dtype)
    expected = array.copy()
    expected[items] = value
    new = ng.set_slice(x, items, ng.constant(value, x[items].axes))
    for target in TARGETS:
        found, kept = run((new, x), target)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(kept, array)
    assert ng.set_slice(x, items, p).type == x.type


@pytest.mark.parametrize("item", [[0, 2], ((0, 2),), None, (0, None), np.ones((4, 5), bool)], ids=repr)
def test_set_slice_takes_no_places_and_no_new_axes(item: Any) -> None:
    with pytest.raises(ng.errors.AttributeValueError, match="(?s)set_slice: the index .*give integers or slices"):
        ng.set_slice(ng.placeholder((4, 5)), item, 0)


def test_a_part_along_an_axis_is_no_triple() -> None:
    x = ng.simple.placeholder((3, ng.simple.N(2)))
    with pytest.raises(ng.errors.AttributeValueError, match="(?s)the index .0, 2, 1.*an integer or a slice"):
        ng.simple.slice_axis(x, 0, (0, 2, 1))  # type: ignore[arg-type]


@drawn(16)
@given(st.data())
def test_a_part_of_a_variable_may_be_computed_from_the_variable(data: st.DataObject) -> None:
    """Each statement reads what the one before it wrote, however the parts overlap."""
    state, x = GRID.copy(), grid()
    statements = []
    for _ in range(data.draw(st.integers(1, 4))):
        to, of = ((data.draw(indices(4)), data.draw(indices(5))) for _ in range(2))
        target, source = x[to], x[of]
        if source.shape != target.shape or source.axes != target.axes:
            source, of = target, to
        kind = data.draw(st.sampled_from(["copy", "double", "whole", "sum"]))
        if kind == "copy":
            value, stored = source, state[of].copy()
        elif kind == "double":
            value, stored = source * 2 + target, state[of] * 2 + state[to]
        elif kind == "whole":
            value, stored = ng.sum(x, out_axes=[]), np.asarray(state.sum())
        else:
            value, stored = ng.sum(source, out_axes=[]) + 1, np.asarray(state[of].sum() + 1)
        statements.append(ng.assign(target, value))
        state[to] = stored
    for name in TARGETS:
        np.testing.assert_array_equal(run(ng.sequential([*statements, x]), name), state)


@pytest.mark.parametrize("target", TARGETS)
def test_parts_of_parts(target: str) -> None:
    x, expected = grid(), GRID.copy()
    expected[1:][::-2][0, 2:] = 7
    assert np.array_equal(run(ng.assign(x[1:][::-2][0, 2:], 7), target), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_set_item_and_fill(target: str) -> None:
    x, expected = grid(), GRID.copy()
    expected[..., 1] = [1, 2, 3, 4]
    expected[0] = -1
    values = ng.constant([1.0, 2.0, 3.0, 4.0], [H])
    both = ng.sequential([ng.set_item(x, (..., 1), values), ng.fill(x[0], -1), x])
    assert np.array_equal(run(both, target), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_values_are_spread_over_the_part(target: str) -> None:
    """By name where there are names, from the right where there are none; arrays too."""
    x, expected = grid(), GRID.copy()
    expected[1:3, ::2] = np.array([10.0, 20.0])[:, None]
    part = x[1:3, ::2]
    value = ng.constant(np.array([10, 20], "int32"), [part.axes[0]])
    assert np.array_equal(run(ng.assign(part, value), target), expected)

    y, expected = ng.variable((4, 5), "float64", initial_value=GRID), GRID.copy()
    expected[1:3, ::2] = np.array([[10.0], [20.0]])
    assert np.array_equal(run(ng.assign(y[1:3, ::2], np.array([[10], [20]])), target), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_the_marks_of_simple_axes_stay(target: str) -> None:
    axes = [ng.Axis(None, 3), ng.Axis(None, 2, "sample")]
    x, expected = ng.variable(axes, initial_value=np.zeros((3, 2))), np.zeros((3, 2), np.float32)
    expected[1:] = 5
    after, sample = ng.assign(x[1:], 5), run(ng.assign(x[1:], x[1:] + 5), target)
    assert after.axes == x.axes
    assert np.array_equal(run(after, target), expected) and np.array_equal(sample, expected)


@pytest.mark.parametrize("target", TARGETS)
def test_a_read_outside_a_sequence_sees_the_state_at_the_start(target: str) -> None:
    x = grid()
    filled = ng.fill(x[0], 100)
    before, after = run((ng.sum(x, out_axes=[]), filled), target)
    assert before == GRID.sum() and after[0].tolist() == [100] * 5


@pytest.mark.parametrize("target", TARGETS)
def test_writes_to_parts_that_no_sequence_orders_all_happen(target: str) -> None:
    """Their values see the state from before; what one does not write it leaves as the others wrote it."""
    x = grid()
    exchange = ng.doall([ng.assign(x[0], x[3]), ng.assign(x[3], x[0]), ng.assign(x[1], x[2])])
    assert np.array_equal(run([exchange, x], target)[1], GRID[[3, 2, 2, 0]])
    first, second = ng.assign(x[:, 0], x[:, 1]), ng.assign(x[:, 1], x[:, 0])
    assert np.array_equal(run([first, second, x], target)[2], GRID[:, [1, 0, 2, 3, 4]])


# -- derivatives ------------------------------------------------------------------------------------


def test_derivatives_pass_to_what_was_kept_and_to_what_was_stored() -> None:
    x, v = grid(), ng.variable([ng.Axis("H", 2), W], "float64", initial_value=np.ones((2, 5)), name="v")
    weights = ng.constant(GRID + 1, [H, W])
    loss = ng.sum(ng.square(ng.set_item(x, slice(1, 3), v)) * weights, out_axes=[])
    for target in TARGETS:
        dx, dv = run(ng.deriv(loss, [x, v]), target)
        expected = 2 * GRID * (GRID + 1)
        expected[1:3] = 0
        assert np.array_equal(dx, expected) and np.array_equal(dv, 2 * (GRID + 1)[1:3])


# -- memory -----------------------------------------------------------------------------------------


def test_only_the_part_is_written() -> None:
    """One kernel, no temporary: nothing is copied but the row."""
    x = grid()
    p = ng.placeholder([W], "float64")
    found = stats(ng.doall([ng.assign(x[2], p * 2)]), (p, np.ones(5)))
    assert (found["launches"], found["arena_bytes"]) == (1, 0)


def test_a_part_is_changed_in_place_in_step() -> None:
    x = grid()
    found = stats(ng.doall([ng.assign(x[1:3, ::2], x[1:3, ::2] * 2 + 1)]))
    assert (found["launches"], found["arena_bytes"]) == (1, 0)


def test_a_part_that_is_moved_is_copied_alone() -> None:
    """The value is put aside first: 15 numbers of the 20."""
    x = grid()
    found = stats(ng.doall([ng.assign(x[1:], ng.cast_axes(x[:-1], x[1:].axes))]))
    assert found["launches"] == 2 and found["arena_bytes"] <= 128


def test_a_sequence_of_parts_copies_nothing() -> None:
    x = grid()
    p = ng.placeholder([W], "float64")
    rows = ng.doall([ng.sequential([ng.assign(x[i], p * i) for i in range(4)])])
    found = stats(rows, (p, np.ones(5)))
    assert (found["launches"], found["arena_bytes"]) == (4, 0)


ROWS = np.array([2, 0, 2])
Rows = Callable[[Any, Any], Any]
PUT: dict[str, Rows] = {
    "another array": lambda x, p: p,
    "what is computed": lambda x, p: p * 2 + 1,
    "what is computed of it": lambda x, p: p + x[1:] * x[:3],
    "a part of it": lambda x, p: x[1:],
    "a part of it, turned round": lambda x, p: x[::-1][:3],
}


@pytest.mark.parametrize("what", PUT.values(), ids=PUT)
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_rows_at_indices_are_written_in_place(target: str, adds: bool, what: Rows) -> None:
    """What is read of the variable is what it was, and so is what reads it later in the order of things."""
    p, index = ng.placeholder((3, 5), "float64"), ng.placeholder((3,), "int64")
    x = ng.variable((4, 5), "float64", initial_value=GRID)
    place = ng.numpy.at(x)[index]
    before, values = ng.numpy.sum(x, axis=0), what(x, p)
    write = ng.assign(x, place.add(values) if adds else place.set(values))
    given, wanted = np.arange(15.0).reshape(3, 5), GRID.copy()
    if adds:
        np.add.at(wanted, ROWS, what(GRID, given))
    else:
        wanted[ROWS] = what(GRID, given)
    with ng.make_transformer(target) as transformer:
        found = transformer.computation([ng.sequential([before, write, ng.value_of(x)]), before], p, index)(given, ROWS)
    np.testing.assert_array_equal(found[0], wanted)
    np.testing.assert_array_equal(found[1], GRID.sum(0))


@pytest.mark.parametrize("target", TARGETS)
def test_what_an_array_of_indices_takes_can_be_assigned_to(target: str) -> None:
    """As in NumPy, of equal indices the last one counts, and a negative one counts from the end."""
    x = ng.variable((4, 5), "float64", initial_value=GRID)
    one, some = ng.placeholder((), "int64"), ng.placeholder((3,), "int64")
    p = ng.placeholder((3, 5), "float64")
    steps = [ng.assign(x[some], p), ng.assign(x[one], p[0] + x[one]), ng.fill(x[1:][:, some], 7)]
    given, wanted = np.arange(15.0).reshape(3, 5), GRID.copy()
    wanted[ROWS] = given
    wanted[-1] += given[0]
    wanted[1:][:, ROWS] = 7
    with ng.make_transformer(target) as transformer:
        found = transformer.computation(ng.sequential([*steps, ng.value_of(x)]), one, some, p)(-1, ROWS, given)
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ng.SequencingError, match=r"(?s)is not storage.*ng\.numpy\.at\(x\)\[i, j\]\.set\(value\)"):
        ng.assign(x[some, some], 1.0)


def test_of_a_buffer_only_the_rows_are_written() -> None:
    p, row = (ng.placeholder((5,), "float64"), np.ones(5)), (ng.placeholder((), "int64"), np.int64(2))
    x = ng.variable((4, 5), "float64", initial_value=GRID)
    found = stats(ng.doall([ng.assign(x, ng.numpy.at(x)[row[0]].set(p[0]))]), p, row)
    assert (found["launches"], found["arena_bytes"]) == (1, 0)


def test_a_step_on_rows_that_were_looked_up_goes_through_no_others() -> None:
    """Neither a slope nor a sum of all is in memory: the rows, and what is taken from them."""
    table = ng.variable((1000, 8), "float32", initial_value=np.ones((1000, 8)))
    index = ng.placeholder((3,), "int64")
    loss = ng.numpy.sum(ng.numpy.square(ng.numpy.take(table, index, axis=0)))
    rate = ng.placeholder(())
    for step in (0.25, rate):
        update = ng.doall([ng.assign(table, table - step * ng.deriv(loss, table))])
        found = stats(update, (index, ROWS), (rate, 0.25))
        assert found["launches"] <= 3 and found["arena_bytes"] <= 256
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([ng.sequential([update, table])], index, rate)
        (after,) = computation(ROWS, 0.25)
    assert after[2, 0] == 1 - 0.25 * 2 * 2 and after[0, 0] == 1 - 0.25 * 2 and after[1, 0] == 1


# -- errors -----------------------------------------------------------------------------------------

X = grid("x")
WRONG = [
    (lambda: ng.assign((X + 1)[0], 1), ng.SequencingError, "is not storage"),
    (lambda: ng.assign(ng.constant(np.ones(3), {"H": 3})[0], 1), ng.SequencingError, "is not storage"),
    (lambda: ng.set_item(3, 0, 1), ng.SequencingError, "3 is not storage"),  # type: ignore[arg-type]
    (lambda: ng.set_item(X, 4, 1), ng.OutOfRangeError, "index 4 is out of range for axis 0 of length 4"),
    (lambda: ng.set_item(X, (0, 0, 0), 1), ng.AttributeValueError, "too many indices: 3 for 2 axes"),
    (lambda: ng.set_item(X, slice(None, None, 0), 1), ng.AttributeValueError, "step 0"),
    (lambda: ng.assign(X[0], X), ng.UnmatchedAxesError, "are not among those"),
    (lambda: ng.assign(X[:2], X), ng.AxesError, "H"),
    (lambda: ng.assign(X[0], ng.strip(X)[0]), ng.FamilyError, "no names"),
    (lambda: ng.assign(grid(dtype="int64")[0], 0.5), ng.DTypeError, "the value is float64"),
    (lambda: ng.assign(ng.variable((4, 5))[0], np.ones(4)), ng.UnmatchedAxesError, "are not those of"),
    (lambda: ng.fill(X[0], X), ng.AttributeValueError, "is not one number"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_wrong_assignments_are_refused_at_the_users_line(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        call()
    assert "test_slices_assign.py" in str(caught.value)
