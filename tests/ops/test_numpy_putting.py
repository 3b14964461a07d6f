# SPDX-License-Identifier: Apache-2.0
"""``at(x)[index].set(values)`` is what NumPy's assignment and ``ufunc.at`` leave, of arrays and of terms alike."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import agrees, apart, check_gradient, computed, slopes
from test_numpy_indexing import mixed_indices

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
MANY = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
SHAPE = (4, 3, 2)
ARRAY = np.arange(24, dtype=np.float64).reshape(SHAPE) - 8
HOW: dict[str, Any] = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}
hows = st.sampled_from(["set", *HOW])


def changed(how: str, x: Any, index: Any, values: Any) -> Any:
    """NumPy's."""
    result = x.copy()
    if how == "set":
        result[index] = values
    else:
        HOW[how].at(result, index, values)
    return result


def as_terms(index: Any) -> tuple[Any, list[Any], list[Any]]:
    """An index with placeholders for its arrays; these, and their values."""
    terms: list[Any] = []
    given_: list[Any] = []
    items: list[Any] = []
    for i in index if isinstance(index, tuple) else (index,):
        if isinstance(i, np.ndarray) and i.dtype.kind in "iu":
            given_.append(i)
            terms.append(ng.placeholder(i.shape, i.dtype))
            items.append(terms[-1])
        else:
            items.append(i)
    return tuple(items), terms, given_


def check(how: str, index: Any, x: Any = ARRAY) -> None:
    """The index as it is, and with its arrays as placeholders; values of the whole shape, and one that is spread."""
    shape = x[index].shape
    every = np.random.default_rng(0).integers(-9, 9, shape) * 1.0
    items, terms, arrays = as_terms(index)
    for values in (every, every[..., :1] if shape and shape[-1] else every, np.float64(2)):
        wanted = changed(how, x, index, values)
        t, v = ng.placeholder(x.shape, x.dtype), ng.placeholder(values.shape, "float64")
        results = [getattr(nx.at(t)[i], how)(v) for i in (index, items)]
        with ng.make_transformer("reference") as transformer:
            for found in transformer.computation(results, t, v, *terms)(x, values, *arrays):
                np.testing.assert_array_equal(found, wanted, strict=True)


@MANY
@given(how=hows, index=hnp.basic_indices(SHAPE, allow_newaxis=True, max_dims=5))
def test_slices_integers_and_new_axes(how: str, index: Any) -> None:
    check(how, index)


@MANY
@given(how=hows, index=mixed_indices())
def test_arrays_beside_slices(how: str, index: Any) -> None:
    try:
        _ = ARRAY[index]
    except IndexError:
        return  # NumPy has arrays with and without elements broadcast to nothing: nothing to compare
    check(how, index)


@MANY
@given(how=hows, mask=hnp.arrays(bool, hnp.array_shapes(min_dims=1, max_dims=3).map(lambda s: SHAPE[: len(s)])))
def test_masks_that_are_known(how: str, mask: Any) -> None:
    check(how, mask)


@pytest.mark.parametrize("how", ["set", *HOW])
def test_kernels_put_as_numpy_does(how: str) -> None:
    picks, values = np.array([[0, -1], [2, 0]], np.int32), np.arange(4.0).reshape(2, 2)
    indices: list[Any] = [
        np.s_[::-1, 1],
        np.s_[[0, 2], :, [1, 1]],
        (picks,),
        (slice(None), picks % 2, 0),
        (0, picks % 2),
    ]
    for index in indices:
        v = values if ARRAY[index].shape[-2:] == (2, 2) else values[0, 0]
        agrees(
            lambda x, v, i=index: getattr(nx.at(x)[i], how)(v), lambda x, v, i=index: changed(how, x, i, v), ARRAY, v
        )


def test_what_is_put_outside_is_dropped_if_the_index_is_a_term() -> None:
    i, j = np.array([-5, 3, 0]), np.array([0, 3, 2], np.uint8)
    for found in computed(lambda x, i, j: nx.at(x)[i, j].set(7), np.zeros((4, 3), np.float32), i, j):
        assert np.argwhere(found[0]).tolist() == [[0, 2]]


def test_values_are_cast_and_terms_keep_their_dtype() -> None:
    x = ng.placeholder((3,), "float32")
    assert nx.at(x)[[0, 1]].add(np.array([1, 2])).dtype == "float32"
    assert nx.at(np.zeros(3, np.int8))[0].set(1).dtype == "int8"


def test_lengths_may_be_unknown() -> None:
    x, i, u = apart(5, 2), np.array([1, 1, -1]), apart(3, 2)
    m = ng.Axis("m").length
    t, k, v = ng.placeholder((None, 2), "float64"), ng.placeholder([m], "int64"), ng.placeholder([m, 2], "float64")
    results = [nx.at(t)[k].set(v), nx.at(t)[k, 1].max(5)]
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(results, t, k, v)(x, i, u)
    np.testing.assert_array_equal(found[0], changed("set", x, i, u))
    np.testing.assert_array_equal(found[1], changed("max", x, (i, 1), 5))


def test_marks_of_the_simple_family_are_forgotten() -> None:
    x = ng.simple.placeholder((3, ng.simple.N))
    assert nx.at(x)[[0, 2]].set(0).type == nx.at(x)[1:].set(0).type == ng.strip(x).type


@pytest.mark.parametrize("how", ["set", *HOW])
def test_gradients_are_central_differences(how: str) -> None:
    i = np.array([[0, 2], [2, -1]])
    check_gradient(lambda x, i, u: getattr(nx.at(x)[1:, i], how)(u), apart(3, 3), i, apart(2, 2, 2) + 0.03)
    check_gradient(lambda x, u: getattr(nx.at(x)[::2, None, 1], how)(u), apart(3, 3), apart(2, 1) + 0.03)


def test_a_value_that_is_spread_has_the_gradients_of_all_its_places() -> None:
    x, u = np.zeros(4), np.array(1.0)
    assert [g.tolist() for g in slopes(lambda x, u: nx.at(x)[[0, 2]].set(u), x, u)] == [[0, 1, 0, 1], 2]


# -- along an axis ----------------------------------------------------------------------------------------------------


def put_along(how: str, x: Any, indices: Any, values: Any, axis: int) -> Any:
    """NumPy's put_along_axis with another operation."""
    shape = [*x.shape]
    shape[axis] = indices.shape[axis]
    at = list(np.indices(shape))
    at[axis] = np.broadcast_to(indices, shape)
    return changed(how, x, tuple(at), values)


@pytest.mark.parametrize("how", ["set", *HOW])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("values", [(), (2,), (3, 1), (4, 3, 2)])
def test_put_along_axis_broadcasts(how: str, axis: int, values: tuple[int, ...]) -> None:
    n, shape = SHAPE[axis], [1, 1, 1]
    shape[axis] = n
    i, v = np.random.default_rng(1).integers(-n, n, shape), np.random.default_rng(2).normal(size=values)
    agrees(
        lambda x, i, v: nx.put_along_axis(x, i, v, axis=axis, how=how),
        lambda x, i, v: put_along(how, x, i, v, axis),
        ARRAY, i, v,
    )  # fmt: skip


def test_what_is_set_is_numpys() -> None:
    x, i = ARRAY, np.array([[[0, 1]], [[1, 0]], [[0, 0]], [[1, 1]]])
    wanted = x.copy()
    np.put_along_axis(wanted, i, 5.0, -1)
    for found in computed(lambda x, i: nx.put_along_axis(x, i, 5), x, i):
        np.testing.assert_array_equal(found[0], wanted)


# -- errors -----------------------------------------------------------------------------------------------------------

X = ng.placeholder((2, 3), name="x")
WRONG = [
    (lambda: nx.at(ng.placeholder({"H": 3}, name="h")), errors.FamilyError, "goes by position, and h has the names H"),
    (lambda: nx.at(X)[X > 0].set(0), errors.DTypeError, "use ng.where"),
    (lambda: nx.at(X)[2].set(0), errors.OutOfRangeError, "outside|out of range"),
    (lambda: nx.at(X)[0].set(ng.placeholder((2,))), errors.UnmatchedAxesError, "set"),
    (lambda: nx.at(nx.zeros((3,), dtype="int32"))[0].set(1.5), errors.DTypeError, "int32"),
    (lambda: nx.put_along_axis(X, ng.placeholder((3,), "int64"), 0), errors.AxesError, "indices of rank 2"),
    (lambda: nx.put_along_axis(X, X, 0), errors.DTypeError, "expected integers"),
    (lambda: nx.put_along_axis(X, ng.placeholder((5, 3), "int64"), 0), errors.NGraphRewriteError, "5"),
    (
        lambda: nx.put_along_axis(X, ng.placeholder((2, 1), "int64"), 0, how="mean"),
        errors.AttributeValueError,
        "set, mul",
    ),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
