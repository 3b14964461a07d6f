# SPDX-License-Identifier: Apache-2.0
"""Windows over any axes: the innermost loop is one along which memory lies, and the values are the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan.cpu import CPU
from ngraph_rewrite.plan.row_order import along_memory, inward, longest_first
from ngraph_rewrite.plan.scalar_programs import RowProgram
from ngraph_rewrite.plan.splitting import split
from ngraph_rewrite.plan.views import Layout

SHAPE, AXES = (2, 3, 8, 5), (3,)  # windows of 5 over an axis of 7, channels last
INSIDE, RESULT = (56, 8, 1, 8), (24, 8, 1, 0)


def program(inside: tuple[int, ...] = INSIDE, shape: tuple[int, ...] = SHAPE) -> RowProgram:
    loads = (("float32", Layout(0, shape, inside)),)
    return RowProgram(
        shape, loads, (("sum", "float32", (-1,), None),), ((0, "float32", Layout(0, shape, RESULT)),), AXES
    )


def test_what_is_reduced_comes_before_the_loops_along_which_memory_lies() -> None:
    found = along_memory(program())
    assert (found.shape, found.axes) == ((2, 5, 3, 8), (1,))
    assert found.loads[0][1].strides == (56, 8, 8, 1)
    assert found.stores[0][2].strides == (24, 0, 8, 1)


def test_short_rows_come_first_though_memory_lies_along_them_too() -> None:
    """As windows do that slide one by one over the last axis."""
    found = along_memory(program((36, 12, 1, 1)))
    assert (found.shape, found.loads[0][1].strides) == ((2, 3, 5, 8), (36, 12, 1, 1))


@pytest.mark.parametrize(
    "other",
    [
        program((36, 12, 1, 1), (2, 3, 8, 65)),
        program((36, 12, 1, 1))._replace(loads=(("float16", Layout(0, SHAPE, (36, 12, 1, 1))),)),
        program((56, 8, 8, 1)),
        program((56, 8, 2, 8)),
        program(shape=(2, 1, 3, 5)),
        program()._replace(axes=(1,)),
    ],
    ids=["long rows", "halves", "rows lie in memory", "nothing lies in memory", "short", "already innermost"],
)
def test_else_loops_stay_as_they_are(other: RowProgram) -> None:
    assert along_memory(other) is other


# A matrix that was transposed, 64 columns of 32: memory lies along the first loop.
TALL, ACROSS = (32, 64), (1, 32)


def across(axes: tuple[int, ...], kind: str = "sum", *more: tuple[int, ...]) -> RowProgram:
    loads = tuple(("float32", Layout(0, TALL, strides)) for strides in (ACROSS, *more))
    (row,) = [k for k in (0, 1) if k not in axes] or [None]
    store = Layout(0, TALL, tuple(int(k == row) for k in (0, 1)))
    return RowProgram(TALL, loads, ((kind, "float32", (-1,), None),), ((0, "float32", store),), axes)


@pytest.mark.parametrize("axes, now", [((0, 1), (0, 1)), ((0,), (1,))], ids=["all", "rows"])
def test_memory_is_walked_along_what_is_reduced(axes: tuple[int, ...], now: tuple[int, ...]) -> None:
    found = inward(across(axes))
    assert (found.shape, found.axes, found.loads[0][1].strides) == ((64, 32), now, (32, 1))


@pytest.mark.parametrize(
    "other",
    [across((1,)), across((0, 1), "argmax"), across((0, 1), "sum", (64, 1))],
    ids=["columns", "places", "operands that lie otherwise"],
)
def test_else_what_is_reduced_stays(other: RowProgram) -> None:
    assert inward(other) is other


@pytest.mark.parametrize("axis", [None, 0, 1], ids=str)
@pytest.mark.parametrize("kind", ["sum", "max", "any", "std"])
def test_reductions_of_what_is_computed_of_a_transposed_matrix_are_what_they_mean(kind: str, axis: int | None) -> None:
    x = ng.placeholder((70, 300))
    value = np.random.default_rng(1).normal(size=(70, 300)).astype(np.float32)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(getattr(ng.numpy, kind)(ng.numpy.maximum(x.T, 0.5), axis=axis), x)(value)
    np.testing.assert_allclose(found, getattr(np, kind)(np.maximum(np.float64(value).T, 0.5), axis=axis), rtol=1e-5)


@settings(max_examples=14, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(4, 9), st.integers(4, 6), st.integers(1, 20)),
    axes=st.sampled_from([(1,), (2,), (3,), (1, 2), (0, 2), (1, 3), (2, 3)]),
    size=st.integers(1, 3),
    stride=st.integers(1, 2),
    padding=st.integers(0, 1),
    kind=st.sampled_from(["max", "min", "sum", "avg"]),
    dtype=st.sampled_from(["float32", "float16", "int16"]),
)
def test_pooling_over_any_axes_is_what_it_means(
    shape: tuple[int, ...], axes: tuple[int, ...], size: int, stride: int, padding: int, kind: str, dtype: str
) -> None:
    if 0 in axes:
        shape = (4, *shape[1:])
    if 3 in axes:
        shape = (*shape[:3], shape[3] + 2)
    dtype = "float32" if kind == "avg" else dtype
    x = ng.placeholder(shape, dtype)
    y = semi.pooling(semi.add(x, x), kind, axes, size, stride, padding, padding)
    array = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    found = []
    for target in ("cpu", "reference"):
        with ng.make_transformer(target) as transformer:
            found.append(transformer.computation(y, x)(array))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


@given(length=st.integers(5, 40), size=st.integers(1, 5), name=st.sampled_from(["argmax", "argmin", "prod", "any"]))
@settings(max_examples=14, deadline=None)
def test_reductions_of_windows_side_by_side_are_what_they_mean(length: int, size: int, name: str) -> None:
    x = ng.placeholder((3, length), "bool" if name == "any" else "int32")
    y = getattr(semi, name)(semi.windows(x, [1], [size]), (2,))
    array = np.random.default_rng(length).integers(-2, 3, (3, length)).astype(x.dtype)
    for target in ("cpu", "reference"):
        with ng.make_transformer(target) as transformer:
            found = transformer.computation(y, x)(array)
        seen = np.lib.stride_tricks.sliding_window_view(array, size, axis=1)
        np.testing.assert_array_equal(found, getattr(np, name)(seen, axis=-1).astype(found.dtype))


def test_long_windows_over_an_axis_before_the_last_are_one_kernel() -> None:
    x = ng.placeholder((4, 500, 32))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(semi.pooling(x, "sum", [1], [5]), x)
        computation(np.ones((4, 500, 32), np.float32))
        assert computation.stats()["launches"] == 1


def distances(shape: tuple[int, ...] = (10, 5000, 64)) -> RowProgram:
    """As of some points to many others: squares of differences along the last loop."""
    points, length = shape[1], shape[2]
    loads = (
        ("float32", Layout(0, shape, (length, 0, 1))),
        ("float32", Layout(0, shape, (0, length, 1))),
    )
    steps = (("subtract", "float32", (-1, -2), None), ("square", "float32", (0,), None), ("sum", "float32", (1,), None))
    return RowProgram(shape, loads, steps, ((2, "float32", Layout(0, shape, (points, 1, 0))),), (2,))


def test_a_long_loop_is_shared_out() -> None:
    found = longest_first(distances())
    assert (found.shape, found.axes) == ((5000, 10, 64), (2,))
    assert found.loads[1][1].strides == (64, 0, 1)


@pytest.mark.parametrize("shape", [(16, 5000, 64), (10, 9, 640), (2, 40, 64)], ids=["enough", "none is longer", "few"])
def test_else_the_first_loop_is_shared_out(shape: tuple[int, ...]) -> None:
    given = distances(shape)
    assert longest_first(given) is given


def test_rows_that_are_short_have_no_parts() -> None:
    """Two elements of 64 in each would be launches, and memory, for nothing."""
    assert split(distances(), CPU) is None
    assert split(distances((2, 2, 40_000)), CPU) is not None
