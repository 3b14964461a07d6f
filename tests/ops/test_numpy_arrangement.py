# SPDX-License-Identifier: Apache-2.0
"""Functions that split, stack, turn, insert and index give NumPy's shapes, dtypes and elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from on_targets import apart, check_gradient, computed

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
SOME = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, max_side=5)
A, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(10, 16, dtype=np.int16).reshape(2, 3)
V, W = np.array([3.0, 1.0, 2.0], np.float32), np.array([4, 7, 5], np.int32)
C = np.arange(24.0).reshape(2, 3, 4)

# Called with arrays or with terms, and with NumPy's functions or with ours.
CALLS: list[Callable[[Any, Any, Any, Any, Any, Any], Any]] = [
    lambda xp, a, b, v, w, c: xp.split(c, 3, 1),
    lambda xp, a, b, v, w, c: xp.split(v, [0, 2, 2, 9, -1]),
    lambda xp, a, b, v, w, c: (*xp.array_split(c, 3, axis=2), *xp.array_split(v, 5)),
    lambda xp, a, b, v, w, c: (*xp.hsplit(a, 3), *xp.hsplit(v, [1]), *xp.vsplit(a, 2), *xp.dsplit(c, 2)),
    lambda xp, a, b, v, w, c: (xp.hstack([a, b]), xp.hstack([v, w]), xp.vstack([a, v]), xp.vstack([v, w])),
    lambda xp, a, b, v, w, c: (xp.dstack([a, b]), xp.dstack([v, w]), xp.column_stack([v, w, a.T])),
    lambda xp, a, b, v, w, c: (*xp.atleast_1d(v[0], a), *xp.atleast_2d(v[0], v, c), *xp.atleast_3d(v[0], v, a, c)),
    lambda xp, a, b, v, w, c: xp.block([[a, b], [b, a]]),
    lambda xp, a, b, v, w, c: (xp.block([v, np.float32(1)]), xp.block([[[v]], [[w]]]), xp.block(v)),
    lambda xp, a, b, v, w, c: xp.block([[v], [a]]),
    lambda xp, a, b, v, w, c: (xp.append(a, b), xp.append(a, b, axis=1), xp.append(v, 7)),
    lambda xp, a, b, v, w, c: tuple(xp.rot90(a, k) for k in (-1, 0, 1, 2, 3, 6)),
    lambda xp, a, b, v, w, c: (xp.rot90(c, 1, (2, 0)), xp.rot90(c, 3, (0, -1)), xp.fliplr(c), xp.flipud(v)),
    lambda xp, a, b, v, w, c: tuple(xp.rollaxis(c, k, s) for k in range(3) for s in range(4)),
    lambda xp, a, b, v, w, c: (xp.diag(v), xp.diag(v, 2), xp.diag(w, -1)),
    lambda xp, a, b, v, w, c: (xp.diag(a), xp.diag(a, 1), xp.diagflat(b, -1)),
    lambda xp, a, b, v, w, c: (xp.vander(v), xp.vander(w, 2), xp.vander(v, 4, increasing=True), xp.vander(w, 0)),
    lambda xp, a, b, v, w, c: (xp.kron(a, b), xp.kron(v, a), xp.kron(c, w), xp.kron(a, v[0])),
    lambda xp, a, b, v, w, c: (xp.cross(a, v), xp.cross(v, w)),
    lambda xp, a, b, v, w, c: (xp.cross(c, c[:, :, 1:2] + 1, 1, 1, 0), xp.cross(a.T, b.T, axis=0)),
    lambda xp, a, b, v, w, c: (xp.vdot(a, b), xp.vdot(v, w)),
    lambda xp, a, b, v, w, c: (xp.insert(a, 1, 7), xp.insert(a, 1, v, axis=0), xp.insert(a, [0, 3], 7, axis=1)),
    lambda xp, a, b, v, w, c: xp.insert(a, [1], [[1], [2]], axis=1),
    lambda xp, a, b, v, w, c: (xp.insert(v, slice(0, 3, 2), [8, 9]), xp.insert(w, -1, 2.7), xp.insert(v, [], 1.0)),
    lambda xp, a, b, v, w, c: (xp.insert(v, np.array([True, False, True]), 5.0), xp.insert(c, 0, a.T[:2, :1], axis=2)),
    lambda xp, a, b, v, w, c: (xp.delete(a, 1), xp.delete(a, -1, axis=1), xp.delete(c, [0, 3], axis=-1)),
    lambda xp, a, b, v, w, c: (xp.delete(v, slice(1, None)), xp.delete(v, [True, False, True]), xp.delete(v, [])),
    lambda xp, a, b, v, w, c: xp.select([a > 3, a < 1], [a, b], -1),
    lambda xp, a, b, v, w, c: xp.select([v > 1, v > 2], [w, 0.5], w),
    lambda xp, a, b, v, w, c: xp.unravel_index(w, (3, 4, 5)),
    lambda xp, a, b, v, w, c: xp.ravel_multi_index((w - 4, w - 3), (4, 5)),
    lambda xp, a, b, v, w, c: xp.ravel_multi_index((w - 5, w, w), (2, 3, 4), mode=("clip", "wrap", "clip")),
]  # fmt: skip


def leaves(found: Any) -> list[Any]:
    return [x for part in found for x in leaves(part)] if isinstance(found, tuple | list) else [found]


@pytest.mark.parametrize("ours", [True, False], ids=["ng.numpy", "numpy"])
def test_functions_of_terms_are_numpys(ours: bool) -> None:
    arrays = A, B, V, W, C
    terms = [ng.placeholder(x.shape, x.dtype) for x in arrays]
    made = [t for call in CALLS for t in leaves(call(nx if ours else np, *terms))]
    wanted = [np.asarray(w) for call in CALLS for w in leaves(call(np, *arrays))]
    assert len(made) == len(wanted) and all(isinstance(t, ng.Op) for t in made)
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(made, *terms)(*arrays)
    for term, one, other in zip(made, found, wanted, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=str(term), strict=True)


def test_both_targets_agree() -> None:
    def some(xp: Any, a: Any, v: Any) -> tuple[Any, ...]:
        return xp.diag(v, 1), xp.kron(a, v), xp.insert(a, [0, 2], 7, axis=1), xp.cross(a, v), xp.rot90(a)

    for results in computed(lambda a, v: some(nx, a, v), A, V):
        for found, wanted in zip(results, some(np, A, V), strict=True):
            np.testing.assert_array_equal(found, wanted, strict=True)


def test_a_number_is_not_rounded_to_less_than_what_it_stands_beside() -> None:
    """0.1 of Python's is a float64 in what is one."""
    x = np.arange(3.0)
    for call in (
        lambda xp, x: xp.insert(x, 1, 0.1),
        lambda xp, x: xp.append(x, 0.1),
        lambda xp, x: xp.r_[x, 0.1, 0:1:0.25, 0.1:0.9:3j],
        lambda xp, x: xp.r_[np.zeros(2), 0.1, x[:2]],
    ):
        for (found,) in computed(lambda x, call=call: call(nx, x), x):
            np.testing.assert_allclose(found, call(np, x), rtol=1e-15, strict=True)
    assert nx.insert(ng.placeholder((3,)), 1, 0.1).dtype == np.float32


@SOME
@given(shape=SHAPES, data=st.data(), parts=st.integers(1, 6))
def test_parts_put_together_are_the_whole(shape: tuple[int, ...], data: st.DataObject, parts: int) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = np.arange(np.prod(shape)).reshape(shape)
    cut = nx.array_split(x, parts, axis)
    assert [p.shape for p in cut] == [p.shape for p in np.array_split(x, parts, axis)]
    with ng.make_transformer("reference") as transformer:
        np.testing.assert_array_equal(transformer.computation(nx.concat(cut, axis=axis))(), x)


@SOME
@given(shape=SHAPES, data=st.data())
def test_what_is_inserted_can_be_deleted(shape: tuple[int, ...], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    at = data.draw(st.lists(st.integers(-shape[axis], shape[axis]), min_size=2, max_size=4))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    gone = [k for k in at if k < shape[axis]]
    with ng.make_transformer("reference") as transformer:
        more, less = transformer.computation([nx.insert(x, at, -1, axis=axis), nx.delete(x, gone, axis=axis)])()
    np.testing.assert_array_equal(more, np.insert(x, at, -1, axis=axis))
    np.testing.assert_array_equal(less, np.delete(x, gone, axis=axis))


@pytest.mark.parametrize(("every", "how"), [(50, "concat"), (3, "gather")])
def test_few_pieces_are_joined_and_many_are_gathered(every: int, how: str) -> None:
    """Elements are put in, and left out, at the ends and inside."""
    x, at = np.arange(200.0), np.arange(0, 201, every)
    term = ng.placeholder(x.shape, dtype="float64")
    more, less = nx.insert(term, at, -at), nx.delete(term, at[:-1])
    assert [t.definition.short for t in (more, less)] == [how, how]
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation([more, less], term)(x)
    np.testing.assert_array_equal(found[0], np.insert(x, at, -at))
    np.testing.assert_array_equal(found[1], np.delete(x, at[:-1]))


@SOME
@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_an_index_into_all_elements_is_one_into_each_axis(shape: list[int], seed: int) -> None:
    places = np.random.default_rng(seed).integers(0, np.prod(shape), (3,))
    each = nx.unravel_index(places, shape)
    with ng.make_transformer("reference") as transformer:
        *found, back = transformer.computation([*each, nx.ravel_multi_index(each, shape)])()
    np.testing.assert_array_equal(found, np.unravel_index(places, shape))
    np.testing.assert_array_equal(back, places)


def test_what_is_made_of_lengths_alone() -> None:
    made = [nx.tri(3), nx.tri(2, 4, 1, dtype="int8"), nx.identity(3), nx.indices((2, 3)), nx.indices(())]
    made += nx.indices((2, 3), sparse=True)
    wanted = [np.tri(3), np.tri(2, 4, 1), np.identity(3), np.indices((2, 3)), np.indices(())]
    wanted += np.indices((2, 3), sparse=True)
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(made)()
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    assert nx.broadcast_shapes((2, 1), 3) == np.broadcast_shapes((2, 1), 3) == (2, 3)


def test_lengths_may_be_known_by_each_call_only() -> None:
    x = ng.placeholder((None, 3))
    n = x.shape[0]
    made = nx.vstack([x, [[1, 2, 3]]]), nx.diag(x[:, 0]), nx.kron(x, [1.0, 2.0]), nx.rot90(x), nx.tri(n), nx.fliplr(x)
    assert [t.shape for t in made] == [(n + 1, 3), (n, n), (n, 6), (3, n), (n, n), (n, 3)]


def test_gradients_are_central_differences() -> None:
    def of_all(x: Any, v: Any) -> Any:
        several = nx.diag(v, 1), nx.kron(x, v), nx.insert(x, [0, 2], v[0], axis=1), nx.delete(x, 1), nx.cross(x, v)
        more = nx.rot90(x) ** 2, nx.vander(v), nx.block([[x], [v]]), nx.vdot(x, x), nx.split(x, 3, 1)[1]
        return nx.concat([nx.ravel(t) for t in (*several, *more, nx.select([v > 1.1, v > 0.5], [v, v * v]))])

    check_gradient(of_all, apart(2, 3), apart(3, seed=1), target="reference")


X, N = ng.placeholder((2, 3), name="x"), ng.placeholder((2,), "int32", name="i")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.split(X, 2, 1), errors.AttributeValueError, "(?s)split: 3 elements in 2 parts.*array_split"),
    (lambda: nx.array_split(X, 0), errors.AttributeValueError, "at least 1"),
    (lambda: nx.split(X, N), errors.ArgumentError, "split: the cuts are a term"),
    (lambda: nx.split(X, 2, 2), errors.OutOfRangeError, "split: axis 2"),
    (lambda: nx.split(ng.placeholder((None,)), 2), errors.LengthError, "split: whether n0 elements are 2 equal parts"),
    (lambda: nx.vsplit([1, 2], 2), errors.AxesError, "vsplit: expected at least 2 axes"),
    (lambda: nx.hstack([]), errors.ArgumentError, "hstack: there are no arrays"),
    (lambda: nx.vstack([X, [1, 2]]), errors.AxesError, "numpy.concat"),
    (lambda: nx.block([[X], X]), errors.ArgumentError, "lists and arrays side by side"),
    (lambda: nx.block([]), errors.ArgumentError, "an empty list"),
    (lambda: nx.rot90(X, 1, (0, 1, 2)), errors.OutOfRangeError, "rot90: axis 2"),
    (lambda: nx.rot90(X, 1, (0,)), errors.AttributeValueError, "rot90: axes is"),
    (lambda: nx.insert(X, N, 0), errors.ArgumentError, "insert: the places are a term"),
    (lambda: nx.insert(X, 4, 0, axis=1), errors.OutOfRangeError, "insert: index 4 is out of bounds"),
    (lambda: nx.insert(X, 0, [1, 2], axis=0), errors.IncompatibleAxesError, "."),
    (lambda: nx.delete(X, 5, axis=1), errors.OutOfRangeError, "delete: index 5 is out of bounds"),
    (lambda: nx.delete(X, 0.5), errors.DTypeError, "delete: the places are 0.5"),
    (lambda: nx.diag(ng.placeholder((1, 2, 3))), errors.AxesError, "diag: expected a vector or a matrix"),
    (lambda: nx.vander(X), errors.AxesError, "vander: expected a vector"),
    (lambda: nx.cross(X, [1, 2]), errors.AxesError, "cross: expected vectors of 3 elements"),
    (lambda: nx.select([], []), errors.ArgumentError, "select: the conditions are"),
    (lambda: nx.select([X], [X]), errors.DTypeError, "numpy.select"),
    (lambda: nx.unravel_index(X, (2, 3)), errors.DTypeError, "unravel_index: expected integers"),
    (lambda: nx.ravel_multi_index((N,), (2, 3)), errors.AxesError, "1 indices and 2 modes for 2 axes"),
    (lambda: nx.ravel_multi_index((N, N), (2, 3), mode="drop"), errors.AttributeValueError, "raise, wrap, clip"),
    (lambda: nx.broadcast_shapes((2,), (3,)), errors.IncompatibleAxesError, "broadcast_shapes"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
