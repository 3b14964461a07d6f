# SPDX-License-Identifier: Apache-2.0
"""Functions that order, choose, select and fill give NumPy's shapes, dtypes and elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from on_targets import agrees, apart, check_gradient, meaning, numbers

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
DTYPES = ["bool", "int8", "uint32", "float16", "float64"]
SHAPES: list[tuple[int, ...]] = [(6,), (2, 3), (2, 0)]


def leaves(found: Any) -> list[Any]:
    return [x for part in found for x in leaves(part)] if isinstance(found, tuple | list) else [found]


def filled(xp: Any, name: str, x: Any, *given: Any) -> Any:
    """What NumPy leaves of its argument is what ours gives."""
    if xp is nx:
        return getattr(nx, name)(x, *given)
    array = x.copy()
    getattr(np, name)(array, *given)
    return array


# Of any dtype and shape with axes, called with arrays or with terms, and with NumPy's functions or with ours.
CALLS: list[Callable[[Any, Any], Any]] = [
    lambda xp, x: xp.lexsort((x, xp.flip(x, axis=-1))),
    lambda xp, x: xp.lexsort([x, x], axis=0),
    lambda xp, x: xp.apply_over_axes(xp.max, x, 0),
    lambda xp, x: xp.apply_over_axes(lambda a, k: xp.sum(a, axis=k, keepdims=True), x, range(x.ndim)),
    lambda xp, x: xp.piecewise(x, [xp.less(x, 1), xp.greater(x, 3)], [lambda v, k: v * k, 1, lambda v, k: v], 1),
    lambda xp, x: xp.piecewise(x, [xp.greater(x, 0)], [2.7]),
    lambda xp, x: xp.choose(xp.astype(xp.greater(x, 0), xp.int8), [x, 7]),
    lambda xp, x: [xp.choose(xp.astype(x, xp.int64), [x, 0.5, np.int8(3)], mode=mode) for mode in ("wrap", "clip")],
    lambda xp, x: [xp.array_equiv(x, y) for y in (x, x[:1], [1, 2, 3, 4], 1)],
    lambda xp, x: (xp.isreal(x), xp.iscomplex(x), xp.isrealobj(x), xp.iscomplexobj(x)),
    lambda xp, x: (xp.ndim(x), xp.shape(x), xp.size(x), xp.array(x, ndmin=3), xp.asanyarray(x), xp.copy(x)),
    lambda xp, x: (xp.array([3, 1], "float32"), xp.ascontiguousarray(x), xp.array(True, ndmin=1)),
    lambda xp, x: (xp.resize(x, (2, 5)), xp.resize(x, 2), xp.resize(x, ()), xp.resize(x, (0, 3))),
    lambda xp, x: [filled(xp, name, x, xp.greater(x, 1), [1, 0, 3]) for name in ("putmask", "place")],
    lambda xp, x: [filled(xp, name, x, x, [2.9]) for name in ("putmask", "place")],
]  # fmt: skip
# These have to have elements.
FULL: list[Callable[[Any, Any], Any]] = [
    lambda xp, x: (xp.partition(x, range(6), axis=None), xp.partition(x, 0, 0)[:1], xp.partition(x, -1)[..., -1:]),
    lambda xp, x: xp.take(xp.ravel(x), xp.argpartition(x, range(6), axis=None)),
    lambda xp, x: [xp.apply_along_axis(xp.sum, k, x) for k in range(-x.ndim, x.ndim)],
    lambda xp, x: xp.apply_along_axis(lambda v: v[::-1], 0, x),
    lambda xp, x: xp.apply_along_axis(lambda v: xp.stack([v[1:], v[:-1]]), -1, x),
    lambda xp, x: (xp.amax(x, axis=0), xp.amin(x)),
    lambda xp, x: (filled(xp, "put", x, [0, -1, 0], [1, 0]), filled(xp, "put", x, [], [])),
    lambda xp, x: [filled(xp, "put", x, [[4, 9], [-2, -30]], [1, 0, 1], mode) for mode in ("wrap", "clip")],
]  # fmt: skip
NUMBERS: list[Callable[[Any, Any], Any]] = [
    lambda xp, x: (xp.real(x), xp.imag(x), xp.conjugate(x), xp.around(x, 1)),
    lambda xp, x: [xp.unwrap(x, axis=0, **options) for options in ({}, {"period": 2.5}, {"discont": 4, "period": 3.5})],
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_terms_are_numpys(dtype: str) -> None:
    made, wanted, terms, arrays = [], [], [], []
    for seed, shape in enumerate(SHAPES):
        x = numbers(dtype, shape, seed)
        term = ng.placeholder(shape, dtype)
        calls = [*CALLS, *(FULL if x.size else []), *(NUMBERS if dtype != "bool" else [])]
        made += [
            nx.asarray(np.asarray(t)) if not isinstance(t, ng.Op) else t for f in calls for t in leaves(f(nx, term))
        ]
        wanted += [np.asarray(t) for f in calls for t in leaves(f(np, x))]
        terms, arrays = [*terms, term], [*arrays, x]
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(made, *terms)(*arrays)
    room = 8 * float(np.finfo(dtype).eps) if dtype.startswith("float") else 0.0
    for term, one, other in zip(made, found, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=room, atol=room, err_msg=str(term), strict=True)


def test_nan_is_last_and_what_is_equal_keeps_its_order() -> None:
    x, y = np.array([np.nan, 1, -0.0, 0, np.nan, 1]), np.array([3, 2, 2, 2, 1, 1])
    for keys in ((x,), (x, y), (y, x)):
        np.testing.assert_array_equal(meaning(lambda *k: nx.lexsort(k), *keys), np.lexsort(keys), strict=True)
    np.testing.assert_array_equal(meaning(lambda *k: nx.lexsort(nx.stack(k)), x, y), np.lexsort((x, y)))
    np.testing.assert_array_equal(meaning(lambda x: nx.partition(x, 2), x), np.sort(x))


@pytest.mark.parametrize("period", [5, 6])
def test_periods_of_integers_are_integers(period: int) -> None:
    x = np.array([[0, 3, -3, 9, 100], [120, -120, 0, 4, 7]], np.int8)
    found = meaning(lambda x: nx.unwrap(x, period=period), x)
    np.testing.assert_array_equal(found, np.unwrap(x, period=period), strict=True)


def test_what_stands_in_one_of_two_sets() -> None:
    cases: list[Any] = [
        ([3, 1, 3, 2], [2, 5]),
        ([np.nan, 1, np.nan], [np.nan, 2]),
        ([True], [False, True]),
        ([], [1.5]),
    ]
    for a, b in cases:
        wanted = np.setxor1d(a, b)
        found = meaning(lambda x, y, n=wanted.size: nx.setxor1d(x, y, size=n + 1, fill_value=7), *map(np.array, (a, b)))
        np.testing.assert_array_equal(found, np.append(wanted, wanted.dtype.type(7)), strict=True)
    assert nx.setxor1d([3, 1], [1, 2]).shape == (2,)


def test_diagonals_are_filled_as_numpy_does() -> None:
    ways: list[Any] = [
        ((3, 3), 7),
        ((2, 4), [1, 2]),
        ((5, 2), [8, 9, 7]),
        ((2, 2, 2), 3.7),
        ((0, 3), 1),
        ((7, 2), 1, True),
    ]
    arrays = [np.zeros(shape, np.int16) for shape, *_ in ways]
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation([nx.fill_diagonal(x, *w[1:]) for x, w in zip(arrays, ways, strict=True)])()
    for one, x, way in zip(found, arrays, ways, strict=True):
        np.testing.assert_array_equal(one, filled(np, "fill_diagonal", x, *way[1:]), strict=True)


def test_indices_of_parts_are_numpys() -> None:
    x = np.arange(20).reshape(4, 5)

    def some(xp: Any, x: Any) -> list[Any]:
        parts = [
            x[xp.ix_([0, -1], [True, False, True, True, False])],
            x[xp.ix_([], [1])],
            *xp.diag_indices_from(x[:, 1:]),
        ]
        edges = [t for k in (-5, -1, 0, 2) for t in (*xp.tril_indices(3, k), *xp.triu_indices(4, k, 2))]
        masks = [*xp.mask_indices(3, xp.triu, 1), *xp.mask_indices(3, lambda m, k: np.tril(m, k) - np.eye(3)), *edges]
        ways = [xp.fromfunction(lambda i, j, k: i * k + j, (2, 3), dtype="int64", k=10), *xp.diag_indices(3, 3), *masks]
        return [*parts, *xp.tril_indices_from(x, 1), *xp.triu_indices_from(x), x[xp.triu_indices(4, 0, 5)], *ways]

    term = ng.placeholder(x.shape, x.dtype)
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(some(nx, term), term)(x)
    for one, other in zip(found, some(np, x), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def of_rows(xp: Any, x: Any) -> list[Any]:
    """Where the number of rows may be left to the call."""
    parts = (
        xp.piecewise(x, [xp.less(x, 1)], [lambda v: v * v, 3]),
        xp.choose(xp.astype(x, xp.int8), [x, 9], mode="clip"),
    )
    along = xp.apply_along_axis(lambda v: v[:2] * xp.sum(v), 1, x), xp.apply_over_axes(xp.sum, x, (0, 1))
    order = xp.partition(x, range(3)), xp.lexsort((x[:, 0], x[:, 1])), xp.unwrap(x, axis=0, period=1.0), xp.resize(x, 7)
    full = [filled(xp, name, x, xp.less(x, 1), [5, 6]) for name in ("putmask", "place")]
    return [*parts, *along, *order, *full, filled(xp, "put", x, [-1, 99], [4], "wrap")]


def test_lengths_may_be_known_by_each_call_only() -> None:
    x, term = apart(4, 3), ng.placeholder((None, 3), "float64")
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(of_rows(nx, term), term)(x)
    for one, other in zip(found, of_rows(np, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14, strict=True)
    n = term.shape[0]
    assert [t.shape for t in nx.diag_indices(n)] == [(n,), (n,)] and nx.size(term, 0) == n


def test_both_targets_agree() -> None:
    def some(xp: Any, x: Any) -> Any:
        return xp.piecewise(xp.choose(xp.astype(x, xp.int8), [x, 9], mode="clip"), [xp.less(x, 0.5)], [lambda v: v * v])

    agrees(lambda x: some(nx, x), lambda x: some(np, x), apart(4, 3), unknown=True)


def test_gradients_are_central_differences() -> None:
    def of_all(x: Any) -> Any:
        pieces = nx.piecewise(x, [x < 0.5, x > 1.1], [lambda v: v * v, lambda v: v**3, lambda v: 3 * v])
        several = nx.partition(x, 1), nx.apply_along_axis(lambda v: v[:2] * nx.sum(v), 1, x), nx.unwrap(x, period=0.9)
        more = nx.choose([[0, 1, 1]] * 2, [x, x * x]), nx.resize(x, 8), nx.place(x, x > 1, x[0] * 2)
        return nx.concat([nx.ravel(t) for t in (pieces, *several, *more, nx.put(x, [3, 3, 1], x[1] * x[0]))])

    check_gradient(of_all, apart(2, 3), target="reference")


def test_numpys_functions_of_terms_are_these() -> None:
    x, i = ng.placeholder((3, 3)), ng.placeholder((3,), "int64")
    made = [np.partition(x, 1), np.argpartition(x, 1), np.lexsort((i, i)), np.apply_along_axis(nx.sum, 0, x)]
    made += [np.apply_over_axes(np.sum, x, 0), np.piecewise(x, [x > 0], [1]), np.choose(i, [1, 2]), np.unwrap(x)]
    made += [np.array_equiv(x, x), *np.ix_(i), *np.diag_indices_from(x), *np.tril_indices_from(x), np.imag(x)]
    made += [np.isreal(x), np.copy(x), np.resize(x, 4), np.conjugate(x), np.iscomplex(x), *np.triu_indices_from(x, 1)]
    assert all(isinstance(t, ng.Op) for t in made)
    assert (np.ndim(x), np.shape(x), np.size(x), np.isrealobj(x)) == (2, (3, 3), 9, True)


X, I = ng.placeholder((2, 3), name="x"), ng.placeholder((2,), "int32", name="i")  # noqa: E741
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.partition(X, 3), errors.OutOfRangeError, "(?s)partition: kth is 3, of 3 elements.*use -3 to 2"),
    (lambda: nx.argpartition(X, 0.5), errors.AttributeValueError, "argpartition: kth is 0.5"),
    (lambda: nx.partition(X, I), errors.ArgumentError, "(?s)partition: kth is a term.*give any number"),
    (lambda: nx.lexsort([X, I]), errors.AxesError, "(?s)lexsort: the keys are .*give arrays of one shape"),
    (lambda: nx.lexsort([3, 1]), errors.AxesError, "lexsort: the keys are int64.., int64.."),
    (lambda: nx.lexsort([]), errors.ArgumentError, "lexsort: there are no arrays"),
    (lambda: nx.apply_along_axis(nx.sum, 2, X), errors.OutOfRangeError, "apply_along_axis: axis 2"),
    (lambda: nx.apply_over_axes(lambda a, k: nx.sum(a), X, 0), errors.AxesError, "(?s)function makes.*keep the axes"),
    (lambda: nx.piecewise(X, [X > 0], [1, 2, 3]), errors.ArgumentError, "3 functions for 1 conditions"),
    (lambda: nx.piecewise(X, [X > 0], nx.sin), errors.ArgumentError, "give functions in a list"),
    (lambda: nx.piecewise(X, X, [1]), errors.DTypeError, "piecewise: a condition is float32"),
    (lambda: nx.piecewise(X, [X > 0], [lambda v: nx.stack([v, v])]), errors.IncompatibleAxesError, "broadcast"),
    (lambda: nx.choose(X, [1, 2]), errors.DTypeError, "choose: expected integers"),
    (lambda: nx.choose([0, 2], [X[0, :2], I]), errors.OutOfRangeError, "(?s)choose: 0 to 2 for 2 choices.*mode="),
    (lambda: nx.choose(I, [1, 2], mode="drop"), errors.AttributeValueError, "raise, wrap, clip"),
    (lambda: nx.choose(I, []), errors.ArgumentError, "choose: there are no choices"),
    (lambda: nx.choose(I, [X, 1]), errors.IncompatibleAxesError, "choose: axis -1 has the lengths 2 and 3"),
    (lambda: nx.unwrap(X, period=X), errors.AttributeValueError, "unwrap: period is"),
    (lambda: nx.unwrap(np.array([1, 9], "uint8"), period=4), errors.DTypeError, "unwrap: uint8.2. has no differences"),
    (lambda: nx.array_equiv(ng.placeholder((None,)), X), errors.LengthError, "array_equiv: whether"),
    (lambda: nx.ix_(X), errors.AxesError, "ix_: expected vectors"),
    (lambda: nx.ix_(I > 0), errors.DTypeError, "(?s)ix_: how many.*flatnonzero"),
    (lambda: nx.diag_indices_from(X), errors.AxesError, "diag_indices_from: expected two axes or more of one length"),
    (lambda: nx.tril_indices(ng.placeholder((None,)).shape[0]), errors.LengthError, "tril_indices"),
    (lambda: nx.triu_indices(-1), errors.LengthError, "triu_indices: n is -1"),
    (lambda: nx.tril_indices_from(I), errors.AxesError, "tril_indices_from: expected a matrix"),
    (lambda: nx.mask_indices(2, lambda m, k: nx.triu(m, k=k)), errors.ArgumentError, "(?s)makes.*give tril, triu"),
    (lambda: nx.imag(X > 0), errors.DTypeError, "imag: expected numbers"),
    (lambda: nx.setxor1d(X, X), errors.ArgumentError, "(?s)setxor1d: how many.*size="),
    (lambda: nx.resize(X, (2, -1)), errors.LengthError, "resize: a length is -1"),
    (lambda: nx.putmask(X, I > 0, 1), errors.AxesError, "(?s)putmask: a mask .*give one truth for each element"),
    (lambda: nx.place(X, X > 0, []), errors.LengthError, "place: there are no values"),
    (lambda: nx.fill_diagonal(X[0], 1), errors.AxesError, "(?s)fill_diagonal: expected a matrix.*diag_indices"),
    (lambda: nx.put(X, [6], 1), errors.OutOfRangeError, "(?s)put: 6 to 6 for 6 elements.*mode="),
    (lambda: nx.put(X, [0.5], 1), errors.DTypeError, "put: expected integers"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
