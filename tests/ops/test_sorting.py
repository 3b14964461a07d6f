# SPDX-License-Identifier: Apache-2.0
"""Sorts are stable in either direction, searches are NumPy's, and a gradient goes back to where a value came from."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import apply, leaf, value
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import agrees, apart, check_gradient, computed, numbers, slopes
from programs import drawn

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.codegen.library_order import alike, render_argsort, render_sort
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES, as_dtype
from ngraph_rewrite.types.tensor import TensorType

nx = ng.numpy
FEW = drawn(8)
# Of every size integers with a sign or without one, and floats; these are sorted in descending order.
# One of each size and kind: others are sorted by the same lines.
SORTED = [d for d in DTYPES if d.name not in ("uint8", "int16", "int32", "uint64", "float16")]
DESCENDING = ("int8", "int64", "bfloat16", "float64")
FLOATS = [0.0, -0.0, 1.0, -1.5, np.nan, np.inf, -np.inf]


def bits(array: Any) -> Any:
    """The array with zeros told apart and NaNs alike."""
    return np.where(np.isnan(array), 9.0, np.where(array == 0, np.copysign(0.5, array), array))


def descending_order(x: Any, axis: int) -> Any:
    """Greatest first, equal ones as they stood, NaN last: each line sorted by Python."""

    def line(values: Any) -> list[int]:
        exact = int if x.dtype.kind in "biu" else float
        keys = [(v != v, 0 if v != v else -exact(v)) for v in values]
        return sorted(range(len(keys)), key=keys.__getitem__)

    return np.apply_along_axis(line, axis, x).astype(np.int64) if x.size else np.zeros(x.shape, np.int64)


def right_order(x: Any, axis: int, descending: bool) -> Any:
    return descending_order(x, axis) if descending else np.argsort(x, axis, kind="stable")


def check_sorted(values: Any, x: Any, axis: int, right: Any) -> None:
    """An array is the one that was given, in its right order."""
    wanted = np.take_along_axis(x, right, axis)
    if x.dtype.kind in "biu":
        np.testing.assert_array_equal(values, wanted)
    else:
        np.testing.assert_array_equal(*(bits(a.astype(np.float64)) for a in (values, wanted)))


def check_ways(x: Any, axis: int, order_ways: tuple[bool, ...], value_ways: tuple[bool, ...], **how: bool) -> None:
    """Argsorts and sorts of an array, ascending or descending, on both targets."""

    def function(t: Any) -> tuple[Any, ...]:
        orders = [nx.argsort(t, axis=axis, descending=way) for way in order_ways]
        return *orders, *(nx.sort(t, axis=axis, descending=way) for way in value_ways)

    for found in computed(function, x, **how):
        for order, way in zip(found, order_ways, strict=False):
            np.testing.assert_array_equal(order, right_order(x, axis, way), strict=True)
        for values, way in zip(found[len(order_ways) :], value_ways, strict=True):
            assert values.dtype == x.dtype and values.shape == x.shape
            check_sorted(values, x, axis, right_order(x, axis, way))


def check_order(x: Any, axis: int, **how: bool) -> None:
    """Places one way and values the other: every dtype has two kernels, some of every size and kind each way."""
    way = x.dtype.name in DESCENDING
    check_ways(x, axis, (way,), (not way,), **how)


# -- order ------------------------------------------------------------------------------------------------


@FEW
@given(
    x=hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, min_side=0, max_side=6), elements=st.sampled_from(FLOATS)),
    data=st.data(),
)
def test_a_sort_is_stable_and_puts_nan_last(x: Any, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    term = leaf(TensorType(x.dtype, anonymous(x.shape)))
    for descending in (False, True):
        order = descending_order(x, axis) if descending else np.argsort(x, axis, kind="stable")
        attributes = {"axis": axis, "descending": descending}
        np.testing.assert_array_equal(value(apply("numpy.argsort", term, **attributes), {term: x}), order)
        found = value(apply("numpy.sort", term, **attributes), {term: x})
        np.testing.assert_array_equal(bits(found), bits(np.take_along_axis(x, order, axis)))


@pytest.mark.parametrize("descending", [False, True])
def test_nan_of_bfloat16_is_last_too(descending: bool) -> None:
    x = np.array([-1, np.nan, -3, 2]).astype(BFLOAT16)
    term = leaf(TensorType(x.dtype, anonymous(x.shape)))
    order = value(apply("numpy.argsort", term, axis=0, descending=descending), {term: x})
    np.testing.assert_array_equal(order, [3, 0, 2, 1] if descending else [2, 0, 3, 1])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", SORTED, ids=str)
def test_every_dtype_is_sorted(dtype: np.dtype) -> None:
    x = numbers(dtype.name, (2, 37, 3), 1, special=True)
    for axis in (1, 2):
        check_order(x, axis)


@pytest.mark.parametrize("length", [0, 1, 2, 15, 16, 17, 31, 100, 128, 129, 1000])
def test_rows_of_every_length_are_sorted(length: int) -> None:
    x = np.random.default_rng(length).integers(0, 50, (3, length)).astype(np.float32)
    agrees(lambda t: (nx.sort(t), nx.argsort(t)), lambda a: (np.sort(a), np.argsort(a, kind="stable")), x, unknown=True)


@pytest.mark.parametrize("dtype", SORTED, ids=str)
def test_long_lines_of_every_dtype_are_sorted(dtype: np.dtype) -> None:
    """By the digits of keys, next to each other or apart: both zeros are equal, and so are all NaNs."""
    x = numbers(dtype.name, (2, 700, 2), 3, special=True)
    rng = np.random.default_rng(4)
    x[1] = rng.choice(x[1].ravel()[:9], x[1].shape)  # many are equal
    lines = np.ascontiguousarray(x.swapaxes(1, 2))
    check_order(x, 1, unknown=True)
    check_order(lines, 2)


LONGER = {
    "float32": ((True,), (False, True)),
    "float64": ((), (False, True)),
    "int32": ((), (True,)),
    "bfloat16": ((), (False,)),
}


@pytest.mark.parametrize("dtype", LONGER)
def test_longer_lines_are_sorted_by_longer_digits(dtype: str) -> None:
    """Numbers, or places; zeros of either sign stay as they stood, between numbers of both signs."""
    x = numbers(dtype, (2, 4099), 5, special=True)
    x[1, ::7] = (np.arange(586) % 2 - 0.5) * 0
    check_ways(x, 1, *LONGER[dtype])


def test_zeros_with_a_sign_stay_where_they_stood() -> None:
    """In a line that is sorted by keys, which tell nothing of signs; and there may be nothing else in it."""
    for count in (0, 300):
        x = np.r_[np.tile([0.0, -0.0, -0.0, 0.0, -0.0], 300), np.arange(count) - 100.0]
        check_ways(x[None], 1, (), (False, True))
        check_ways(x[:, None].astype(np.float32), 0, (), (False, True))


@drawn(14)
@given(
    count=st.integers(1, 40),
    length=st.one_of(st.integers(2, 70), st.sampled_from([96, 112, 127, 128, 129, 250, 512, 513, 1024, 1025])),
    dtype=st.sampled_from(SORTED),
    axis=st.sampled_from([1, 2]),
    some=st.booleans(),
    seed=st.integers(0, 99),
)
def test_lines_are_sorted_side_by_side(
    count: int, length: int, dtype: np.dtype, axis: int, some: bool, seed: int
) -> None:
    """Any number of lines that lie along memory or across it, all bits different or few numbers; NaN in one line."""
    shape = (2, count, length) if axis == 2 else (2, length, count)
    rng = np.random.default_rng(seed)
    if dtype.kind in "biu":
        x = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(np.uint8 if dtype.kind == "b" else dtype)[
            ..., 0
        ]
    else:
        x = (rng.integers(-9999, 9999, shape) / 7).astype(dtype)
        x[1, 0, 0] = np.nan if some and dtype != BFLOAT16 else 1  # of which ml_dtypes knows no place
    x[0] = np.take(x[0], np.arange(x[0].size) % 5).reshape(x[0].shape)
    x = (x & 1).astype(dtype) if dtype.kind == "b" else np.ascontiguousarray(x)
    check_order(x, axis)


@FEW
@given(st.integers(1, 300), st.sampled_from(["float64", "uint16"]), st.data())
def test_lines_short_and_long(length: int, dtype: str, data: st.DataObject) -> None:
    """Of few different numbers, anywhere in a range, so that most digits of keys are the same or none is."""
    few = FLOATS if "float" in dtype else [0, 1, 255, 7]
    some = data.draw(st.lists(st.sampled_from(few) | hnp.from_dtype(np.dtype(dtype)), min_size=1, max_size=30))
    x = np.random.default_rng(length).choice(np.array(some, dtype), (2, length))
    check_ways(x, 1, (False, True), (False, True))


@pytest.mark.parametrize("mode", ["largest", "smallest"])
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_top_k_is_the_beginning_of_an_order(mode: str, k: int) -> None:
    x = numbers("float32", (4, 5), 3)

    def theirs(a: Any) -> tuple[Any, Any]:
        order = (descending_order(a, 1) if mode == "largest" else np.argsort(a, 1, kind="stable"))[:, :k]
        return np.take_along_axis(a, order, 1), order

    agrees(lambda t: nx.top_k(t, k, mode=mode), theirs, x)


def test_there_are_as_many_first_ones_as_asked_for_where_the_length_is_not_known() -> None:
    x = np.random.default_rng(0).normal(size=(2, 7)).astype(np.float32)
    term = ng.placeholder((2, None))
    values, places = nx.top_k(term, 3)
    slope = ng.deriv(nx.sum(values * values), term)
    assert values.shape == (2, 3)
    for target in ("cpu", "reference"):
        with ng.make_transformer(target) as transformer:
            computation = transformer.computation([values, places, slope], term)
            found = computation(x)
            np.testing.assert_array_equal(found[1], np.argsort(-x, 1)[:, :3])
            np.testing.assert_array_equal(found[0], np.take_along_axis(x, found[1], 1))
            np.testing.assert_array_equal(found[2], np.where(x >= found[0][:, 2:], 2 * x, 0))
            with pytest.raises(errors.OutOfRangeError, match="leaves an axis of length 2"):
                computation(x[:, :2])


FEW_OF_MANY = st.tuples(st.integers(0, 2), st.integers(1, 5), st.integers(12, 80))  # axis, how many, of how many


@FEW
@given(FEW_OF_MANY, st.booleans(), st.sampled_from(["int16", "bfloat16"]), st.data())
def test_a_few_of_many_are_the_beginning_of_an_order_or_its_end(
    few: tuple[int, int, int], descending: bool, dtype: str, data: st.DataObject
) -> None:
    """Of equal elements the first come first, NaN comes last, whatever lies beside the line; and the end of it."""
    axis, count, length = few
    shape = [3, 2, 5]
    shape[axis] = length
    kinds = FLOATS if "float" in dtype else [0, 1, 2]
    array = np.array(data.draw(st.lists(st.sampled_from(kinds), min_size=40, max_size=40)))
    parts = (slice(count), slice(-count, None), slice(None, -count - 1, -1))
    cuts = [(slice(None),) * axis + (part,) for part in parts]

    def ends(x: ng.Op) -> tuple[ng.Op, ...]:
        orders = ng.semi.argsort(x, axis, descending), ng.semi.sort(x, axis, descending)
        return tuple(order[cut] for order in orders for cut in cuts)

    for one, two in zip(*computed(ends, np.resize(array, shape).astype(as_dtype(dtype))), strict=True):
        assert one.dtype == two.dtype and one.tobytes() == two.tobytes()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 33, 64])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_few_of_lines_in_reverse_order_are_the_beginning_of_an_order_or_its_end(count: int, axis: int) -> None:
    """Every element belongs among the few when it comes, at the front or near it, and more often than there is room."""
    length = 2 * (6 * count + 35)
    falling = np.arange(length, 0, -1.0)
    pairs, few_values, unknown = falling.reshape(-1, 2)[:, ::-1].ravel(), falling // 3, falling.copy()
    unknown[::7] = np.nan
    noisy = falling + np.random.default_rng(count).normal(size=length) * 4
    lines = np.stack([falling, pairs, few_values, unknown, noisy, -noisy])
    x = ng.placeholder(lines.shape if axis else lines.shape[::-1], dtype=np.float64)
    cut = (slice(None),) * axis + (slice(count),)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(nx.argsort(x, axis=axis)[cut], x)(lines if axis else lines.T)
        end = (slice(None),) * axis + (slice(-count, None),)
        rising = transformer.computation(nx.argsort(x, axis=axis)[end], x)(-lines if axis else -lines.T)
    assert np.array_equal(found if axis else found.T, np.argsort(lines, axis=1, kind="stable")[:, :count])
    assert np.array_equal(rising if axis else rising.T, np.argsort(-lines, axis=1, kind="stable")[:, -count:])


def kernels_of(returns: Any, x: ng.Op) -> set[str]:
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, x)
        computation(np.zeros(x.shape, x.dtype.name))
        return {name.rpartition("_")[0] for name in computation.stats()["kernels"]}


def is_sorted(returns: Any, x: ng.Op) -> bool:
    return any(name.startswith("sort") for name in kernels_of(returns, x))


def test_a_few_of_many_are_not_sorted() -> None:
    """All others are compared with the last of them; for many of them, lines are sorted."""
    x = ng.placeholder((4, 3100))
    for few in (nx.top_k(x, 3)[1], nx.argsort(x)[:, :64]):
        assert kernels_of(few, x) == {"first_places"}
    assert kernels_of(nx.sort(x)[:, :3], x) == {"first_places", "take_along"}
    for last in (nx.argsort(x)[:, -3:], nx.sort(x)[:, -64:], nx.argsort(x)[:, ::-1][:, :3], nx.sort(x)[:, :-4:-1]):
        assert "sort" not in " ".join(kernels_of(last, x))
    for many in (nx.top_k(x, 65)[1], nx.top_k(x, 101)[1], nx.argsort(x)[:, 1:4], nx.argsort(x)[:, :64:2]):
        assert is_sorted(many, x)


@pytest.mark.parametrize(("dtype", "most"), [("float32", 2), ("int8", 2), ("float64", 8), ("int64", 8)])
def test_how_many_are_a_few_depends_on_what_a_sort_takes(dtype: str, most: int) -> None:
    """Short lines of numbers of 32 bits are sorted side by side."""
    x = ng.placeholder((4, 100), dtype=dtype)
    assert kernels_of(nx.top_k(x, most)[1], x) == {"first_places"}
    assert is_sorted(nx.top_k(x, most + 1)[1], x)


def test_only_what_a_line_has_is_taken_of_it() -> None:
    x = ng.placeholder((4, 5))
    for count in (0, 6, 65):
        says = f"expected 1 to 64 of the 5 elements along axis 1, got {count}"
        with pytest.raises(errors.OutOfRangeError, match=says):
            ng.make_op("cpu.first_places", x, axis=1, count=count, descending=False, last=False)


def test_the_gradient_of_a_sort_goes_back() -> None:
    check_gradient(lambda x: nx.sort(x, axis=0, descending=True), apart(5, 2))
    check_gradient(lambda x: nx.top_k(x, 2)[0], apart(3, 4))
    check_gradient(lambda x: nx.sort(nx.square(x)), apart(4))
    # equal elements keep their order, and each its own part
    (found,) = slopes(nx.sort, np.array([2.0, 1.0, 2.0]), error=np.array([10.0, 20.0, 30.0]))
    assert found.tolist() == [20.0, 10.0, 30.0]


# -- search -----------------------------------------------------------------------------------------------


@FEW
@given(
    x=hnp.arrays(np.float32, st.integers(0, 9), elements=st.sampled_from(FLOATS)),
    v=hnp.arrays(
        np.float32, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3), elements=st.sampled_from(FLOATS)
    ),
    right=st.booleans(),
)
def test_searchsorted_is_numpys(x: Any, v: Any, right: bool) -> None:
    row, places = np.sort(x), leaf(TensorType(v.dtype, anonymous(v.shape)))
    vector = leaf(TensorType(x.dtype, anonymous(x.shape)))
    found = value(apply("numpy.searchsorted", vector, places, right=right), {vector: row, places: v})
    np.testing.assert_array_equal(found, np.searchsorted(row, v, "right" if right else "left"), strict=True)


@pytest.mark.parametrize("dtype", ["bool", "uint64", "float32"])
def test_searches_on_both_targets(dtype: str) -> None:
    x, v = numbers(dtype, (9,), 2, special=True), numbers(dtype, (2, 5), 3, special=True)

    def ours(t: Any, u: Any) -> tuple[Any, ...]:
        found = [nx.searchsorted(t, u, side=s, sorter=nx.argsort(t)) for s in ("left", "right")]
        return *found, nx.argmax(u), nx.argmin(u, axis=0, keepdims=True)

    def theirs(a: Any, b: Any) -> tuple[Any, ...]:
        found = [np.searchsorted(np.sort(a), b, s) for s in ("left", "right")]
        return *found, np.argmax(b), np.argmin(b, axis=0, keepdims=True)

    agrees(ours, theirs, x, v)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 9, 1000])
def test_values_that_are_searched_for_together_find_their_places(length: int) -> None:
    """Of vectors of any length, more values than take a step together: numbers, which repeat, and NaN."""
    rng = np.random.default_rng(length)
    x, v = np.sort(rng.integers(0, 90, length) / 2.0), rng.integers(-9, 99, 1100) / 2.0
    x[length - length // 8 :] = v[::7] = np.nan
    agrees(
        lambda t, u: [nx.searchsorted(t, u, side=side) for side in ("left", "right")],
        lambda a, b: [np.searchsorted(a, b, side) for side in ("left", "right")],
        x,
        v,
    )


def test_searchsorted_promotes() -> None:
    agrees(nx.searchsorted, np.searchsorted, np.array([1, 2, 4]), np.array([0.5, 2.0, 9.0], np.float32))


def test_numpys_own_functions_search_and_sort_terms() -> None:
    x = numbers("float32", (3, 4), 5)
    agrees(
        lambda t: (np.sort(t, axis=0), np.argsort(t), np.argmax(t, axis=1), np.argmin(t), np.searchsorted(t[0], t)),
        lambda a: (
            np.sort(a, axis=0),
            np.argsort(a, stable=True),
            np.argmax(a, axis=1),
            np.argmin(a),
            np.searchsorted(a[0], a),
        ),
        np.sort(x),
    )


X = ng.placeholder((2, 3))
WRONG = [
    (lambda: nx.sort(X, axis=2), errors.OutOfRangeError, "axis 2 is outside of 2 axes"),
    (lambda: nx.sort(ng.placeholder(())), errors.OutOfRangeError, "axis -1 is outside of 0 axes"),
    (lambda: nx.sort(X, descending=2), errors.AttributeValueError, "descending is 2"),
    (lambda: nx.argsort(X, stable=None), errors.AttributeValueError, "argsort: stable is None"),
    (lambda: nx.argsort(X, axis="a"), errors.AttributeValueError, "axis is 'a'"),
    (lambda: nx.argmax(ng.placeholder((0, 3)), axis=0), errors.AxesError, "greatest of no elements"),
    (lambda: nx.argmin(X, axis=5), errors.OutOfRangeError, "axis 5"),
    (lambda: nx.searchsorted(X, X), errors.AxesError, "a vector in ascending order"),
    (lambda: nx.searchsorted(X[0], X, side="middle"), errors.AttributeValueError, "side is 'middle'"),
    (lambda: nx.top_k(X, 4), errors.OutOfRangeError, "k is 4, of 3 elements"),
    (lambda: nx.top_k(X, -1), errors.OutOfRangeError, "k is -1"),
    (lambda: nx.top_k(X, 1.5), errors.ArgumentError, "k is 1.5"),
    (lambda: nx.top_k(X, 1, mode="best"), errors.AttributeValueError, "mode is 'best'"),
    (lambda: ng.semi.searchsorted(X[0], ng.placeholder((3,), "int32")), errors.DTypeError, "expected equal dtypes"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
@pytest.mark.parametrize("render", [render_sort, render_argsort])
def test_lengths_that_are_sorted_alike_have_one_source(render: Callable[..., Any], dtype: str) -> None:
    """A call with another length does not write the kernel again."""
    edges = [4096, (1 << 22) // np.dtype(dtype).itemsize + 1, 1 << 31, 1 << 32]
    for n in [0, 1, 40, *(edge + k for edge in edges for k in (-1, 0, 1))]:
        assert render(dtype, False, n) == render(dtype, False, alike(dtype, n))
    assert len({alike(dtype, n) for n in range(4096)}) == 1
    assert alike(dtype, None) is None
