# SPDX-License-Identifier: Apache-2.0
"""``x[...]`` is NumPy's, of arrays known where the graph is built and of terms alike."""

from typing import Any

import numpy as np
import pytest
from drawn import value
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ngraph_rewrite as ng
from ngraph_rewrite import errors

MANY = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
SHAPE = (4, 3, 2)
ARRAY = np.arange(24, dtype=np.float32).reshape(SHAPE)


def check(index: Any) -> None:
    """The index as it is, and with its arrays as placeholders."""
    wanted = ARRAY[index]
    x = ng.placeholder(SHAPE, name="x")
    found = x[index]
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(value(found, {x: ARRAY}), wanted, strict=True)
    items = index if isinstance(index, tuple) else (index,)
    given_ = {x: ARRAY}
    terms: list[Any] = []
    for i in items:
        if isinstance(i, np.ndarray) and i.dtype.kind in "iu":
            terms.append(ng.placeholder(i.shape, i.dtype))
            given_[terms[-1]] = i
        else:
            terms.append(i)
    found = x[tuple(terms)]
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(value(found, given_), wanted, strict=True)


@MANY
@given(index=hnp.basic_indices(SHAPE, allow_newaxis=True, max_dims=7))
def test_slices_integers_and_new_axes(index: Any) -> None:
    check(index)


@st.composite
def mixed_indices(draw: st.DrawFn) -> tuple[Any, ...]:
    """Integers, slices, new axes, and arrays that broadcast together, one item per axis or fewer."""
    count = draw(st.integers(1, 3))
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=3, max_dims=2, max_side=3, min_side=0)).input_shapes
    items: list[Any] = []
    for k in range(count):
        n = SHAPE[k]
        kind = draw(st.sampled_from(["array", "array", "slice", "integer"]))
        if kind == "array":
            shape = shapes[k] or (1,)  # an array without axes is an integer to NumPy, and drops its place
            items.append(draw(hnp.arrays(st.sampled_from(["int64", "int8"]), shape, elements=st.integers(-n, n - 1))))
        else:
            items.append(draw(st.slices(n)) if kind == "slice" else draw(st.integers(-n, n - 1)))
    at = draw(st.integers(0, len(items)))
    return (*items[:at], *draw(st.sampled_from([(), (None,), (...,), (None, None)])), *items[at:])


@MANY
@given(index=mixed_indices())
def test_arrays_beside_slices(index: Any) -> None:
    try:
        _ = ARRAY[index]
    except IndexError:
        return  # NumPy has arrays with and without elements broadcast to nothing: nothing to compare
    check(index)


def test_where_nothing_is_picked_no_index_is_out_of_range() -> None:
    check((..., np.zeros(0, np.int64), np.array([2])))


@MANY
@given(mask=hnp.arrays(bool, hnp.array_shapes(min_dims=1, max_dims=3).map(lambda s: SHAPE[: len(s)])))
def test_masks_that_are_known(mask: Any) -> None:
    check(mask)
    if mask.ndim == 1:
        check((mask, 0))
        check((mask, slice(None), [0] * int(mask.sum())))


@pytest.mark.parametrize(
    "index",
    [
        [], [0, -1], np.array(2), (..., None, [1, 0]), (0, [0, 1], slice(None), None), ([[0], [1]], ..., [1, 0]),
        ((0, 2, 1),), (slice(None), (0, 2)), (slice(None), (0, 2, 1)), ((), 0),
    ],
    ids=repr,
)  # fmt: skip
def test_lists_and_other_forms(index: Any) -> None:
    check(index)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_arrays_of_small_integers_reach_all_of_long_axes(dtype: str) -> None:
    array = np.arange(300 * 200).reshape(300, 200)
    index = np.array([50, 100], dtype), np.array([60, 120], dtype)
    x = ng.placeholder(array.shape, array.dtype)
    np.testing.assert_array_equal(value(x[index], {x: array}), array[index])


def test_a_list_of_places_is_no_range_where_axes_have_names() -> None:
    """The triple of a range is how an op has a slice; who writes it means places, as NumPy does."""
    x = ng.placeholder({"H": 4, "W": 3})
    with pytest.raises(errors.AttributeValueError, match="give integers or slices") as caught:
        _ = x[:, (0, 2, 1)]
    assert __file__ in str(caught.value)


def test_a_scalar_has_no_axes_but_new_ones() -> None:
    x = ng.placeholder((), name="x")
    assert x[None].shape == (1,) and x[...].shape == () and x[None, ..., None].shape == (1, 1)


def test_an_index_beyond_its_axis_reads_zeros_if_it_is_a_term() -> None:
    x, i, j = ng.placeholder((4, 3)), ng.placeholder((3,), "int64"), ng.placeholder((3,), "uint8")
    array = np.ones((4, 3), np.float32)
    found = value(x[i, j], {x: array, i: np.array([-5, 3, 0]), j: np.array([0, 3, 2], np.uint8)})
    np.testing.assert_array_equal(found, [0, 0, 1])


def test_kernels_index_as_numpy_does() -> None:
    x, i = ng.placeholder(SHAPE), ng.placeholder((2, 2), "int32")
    picks = np.array([[0, -1], [2, 1]], np.int32)
    indices: list[Any] = [np.s_[::-1, 1], np.s_[None, 0], np.s_[[0, 2], :, [1, 1]], ARRAY > 7]
    terms = [*(x[k] for k in indices), x[i], x[:, i], x[i, :, i % 2], x[0, i]]
    wanted = [*(ARRAY[k] for k in indices), ARRAY[picks], ARRAY[:, picks], ARRAY[picks, :, picks % 2], ARRAY[0, picks]]
    with ng.make_transformer("cpu") as transformer:
        for one, other in zip(transformer.computation(terms, x, i)(ARRAY, picks), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_gradient_of_an_index_adds_up_where_it_repeats() -> None:
    x = ng.placeholder((3,), "float64")
    gradient = ng.deriv(ng.numpy.sum(x[[0, 0, 2]] * np.array([1.0, 2.0, 3.0])), x)
    np.testing.assert_array_equal(value(gradient, {x: np.zeros(3)}), [3, 0, 3])


X, N = ng.placeholder(SHAPE, name="x"), ng.placeholder((None, 3), name="n")
WRONG: list[tuple[Any, Any, type[Exception], str]] = [
    (X, 4, errors.OutOfRangeError, "index 4 is out of range for axis 0 of length 4"),
    (X, (0, -4), errors.OutOfRangeError, "index -4 is out of range for axis 1 of length 3"),
    (X, [0, 9], errors.OutOfRangeError, "index 9 is out of range for axis 0 of length 4"),
    (X, (slice(None), [-7]), errors.OutOfRangeError, "index -7 is out of range for axis 1"),
    (X, (0, 0, 0, 0), errors.AttributeValueError, "too many indices: 4 for 3 axes"),
    (X, (..., 0, ...), errors.AttributeValueError, "one ellipsis"),
    (X, 0.5, errors.AttributeValueError, "is 0.5"),
    (X, "a", errors.AttributeValueError, "is 'a'"),
    (X, True, errors.AttributeValueError, "the index True"),
    (X, np.array(False), errors.AttributeValueError, "the index False"),
    (X, slice(None, None, 0), errors.AttributeValueError, "step 0"),
    (X, slice(ng.placeholder((), "int64", name="k"), None), errors.AttributeValueError, "axis 0 begins or ends at k"),
    (
        N,
        (slice(None), slice(0, N[0, 0])),
        errors.AttributeValueError,
        r"(?s)depend on values.*x\[:, start \+ places\].*arange\(n\)",
    ),
    (X, [0.5, 1.0], errors.DTypeError, "an index of float64"),
    (X, ng.placeholder((2,)), errors.DTypeError, "an index of float32"),
    (X, ng.placeholder(SHAPE, "bool", name="m"), errors.DTypeError, "the bool index m"),
    (X, np.ones((4, 2), bool), errors.OutOfRangeError, "a mask of 2 elements for axis 1 of length 3"),
    (X, ([0, 1], [0, 1, 2]), errors.IncompatibleAxesError, "the lengths 2 and 3"),
    (N, np.ones(3, bool), errors.LengthError, "axis 0 of unknown length n0"),
]


@pytest.mark.parametrize(("x", "index", "expected", "message"), WRONG, ids=repr)
def test_a_wrong_index_is_refused(x: ng.Op, index: Any, expected: type[Exception], message: str) -> None:
    with pytest.raises(expected, match=message) as caught:
        x[index]
    assert type(caught.value) is expected
    assert __file__ in str(caught.value)
