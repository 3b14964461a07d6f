# SPDX-License-Identifier: Apache-2.0
"""Polynomials, histograms of several axes, and products of matrices and vectors have NumPy's dtypes and values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from on_targets import agrees, apart, check_gradient, numbers

import ngraph_rewrite as ng
from ngraph_rewrite import errors

nx = ng.numpy
DTYPES = ["int8", "int64", "float16", "float32", "float64"]
W = np.array([1.0, 2.0, 0.5, 4.0, 1.0, 3.0])
EDGES = np.array([0.0, 0.25, 3.0])
RANGES = [(-2, 4), (0, 4)]


def leaves(found: Any) -> list[Any]:
    return [x for part in found for x in leaves(part)] if isinstance(found, tuple | list) else [found]


# Of a vector of 6, 4 elements and a matrix (6, 4).
CALLS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda xp, v, w, m: (xp.polyadd(v, w), xp.polysub(w, v), xp.polyadd(v[0], w), xp.polyadd(v, v)),
    lambda xp, v, w, m: (xp.polymul(v, w), xp.polymul(v, EDGES[1:]), xp.polymul(v, v[0])),
    lambda xp, v, w, m: [xp.polyder(v, k) for k in (0, 1, 3, 8)],
    lambda xp, v, w, m: [xp.polyint(v, k) for k in (0, 1, 3)],
    lambda xp, v, w, m: (xp.polyint(w, 2, [3, 4]), xp.polyint(w, 2, 0.5), xp.polyint(w, k=[w[1]])),
    lambda xp, v, w, m: [xp.histogram2d(v, m[:, 0], (2, 3), RANGES, density=d) for d in (True, False)],
    lambda xp, v, w, m: xp.histogram2d(v, v, np.array(3), RANGES),
    lambda xp, v, w, m: (xp.histogram2d(v, v, EDGES, weights=W), xp.histogram2d(v, v, [EDGES, 2], [None, (0, 4)])),
    lambda xp, v, w, m: (xp.histogramdd(m, 2, RANGES * 2, weights=W), xp.histogramdd(v, 3, [(0, 0)])),
    lambda xp, v, w, m: xp.histogramdd([v, v, m[:, 1]], [EDGES, 3, EDGES + 1], [None, (0, 9), None], density=True),
    lambda xp, v, w, m: (xp.histogram_bin_edges(v, 3, (0, 1)), xp.histogram_bin_edges(v, [1, 2, 4])),
    lambda xp, v, w, m: (xp.matvec(m, w), xp.vecmat(v, m), xp.matvec(m[:4], m), xp.vecmat(m.T, xp.stack([m] * 4))),
    lambda xp, v, w, m: (xp.matvec(m[:, :0], w[:0]), xp.vecmat(v, m > 0), xp.matvec(m > 0, w > 1)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_terms_are_numpys(dtype: str) -> None:
    v, w, m = (np.abs(numbers(dtype, shape, k + 3)) for k, shape in enumerate([(6,), (4,), (6, 4)]))
    v[0], w[0] = 2, 1  # of which NumPy takes no zeros off
    terms = [ng.placeholder(x.shape, x.dtype) for x in (v, w, m)]
    made = [t for call in CALLS for t in leaves(call(nx, *terms))]
    with ng.make_transformer("reference") as transformer, np.errstate(all="ignore"):
        found = transformer.computation(made, *terms)(v, w, m)
        wanted = [np.asarray(t) for call in CALLS for t in leaves(call(np, v, w, m))]
    for term, one, other in zip(made, found, wanted, strict=True):
        room = 16 * float(np.finfo(other.dtype).eps) if other.dtype.kind == "f" else 0.0
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=room, atol=room, err_msg=str(term), strict=True)


def fitted(xp: Any, x: Any, y: Any, z: Any) -> tuple[Any, ...]:
    """All that is fitted; the singular values are of one sign and order in both."""
    plain = xp.polyfit(x, y, 2), xp.polyfit(x, z, 1), xp.polyfit(x, y, 0), xp.polyfit(x, y, 2, w=W)
    scaled = *xp.polyfit(x, y, 1, cov=True), *xp.polyfit(x, z, 1, cov=True), *xp.polyfit(x, z, 2, cov="unscaled")
    return *plain, *scaled, *xp.polyfit(x, y, 3, full=True)[:4]


def test_fits_are_numpys() -> None:
    x, y, z = np.array([0.0, 0.5, 1.0, 2.0, 2.5, 4.0]), apart(6), apart(6, 2, seed=1)
    terms = [ng.placeholder(a.shape, a.dtype) for a in (x, y, z)]
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(fitted(nx, *terms), *terms)(x, y, z)
    for one, other in zip(found, fitted(np, x, y, z), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)  # of a condition of about 1000
    assert nx.polyfit(ng.placeholder((6,)), np.ones(6), 1).dtype == np.polyfit(x.astype("f4"), y, 1).dtype
    assert nx.polyfit(terms[0], y, 1, full=True)[4] == np.polyfit(x, y, 1, full=True)[4]


def test_lengths_may_be_known_by_each_call_only() -> None:
    x, term = numbers("float64", (7, 3), 0), ng.placeholder((None, 3), "float64")

    def some(xp: Any, x: Any) -> tuple[Any, ...]:
        sums = xp.matvec(x, x[0]), xp.vecmat(x, np.ones((3, 2))), xp.polyadd(x[:, 0], x[:, 1])
        return *sums, xp.histogram2d(x[:, 0], x[:, 1], 3, [(-3, 4), (-3, 4)])[0]

    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(some(nx, term), term)(x)
    for one, other in zip(found, some(np, x), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_both_targets_agree() -> None:
    x, y = numbers("float64", (4,), 0), numbers("float64", (3, 4), 1)
    agrees(lambda x, y: (nx.polyder(x, 2), nx.matvec(y, x)), lambda x, y: (np.polyder(x, 2), np.matvec(y, x)), x, y)


def test_gradients_are_central_differences() -> None:
    def of_all(x: Any, m: Any) -> Any:
        parts = nx.polyadd(x, m[0, :2]), nx.polymul(x, m[0]), nx.polyder(x, 2), nx.polyint(x, 2, [x[0], m[1, 1]])
        fits = nx.polyfit(x, m[0], 1), nx.polyfit(m[1], x, 2, w=m[2]), nx.matvec(m, x), nx.vecmat(x, m.T)
        share = nx.histogram2d([1, 2, 3, 4], [2, 3, 4, 5], 2, [(1, 5), (1, 5)], True, x)[0]
        return nx.concat([nx.ravel(t) for t in (*parts, *fits, share)])

    check_gradient(of_all, np.array([0.4, 0.9, 1.7, 2.2]), apart(3, 4), target="reference")


def test_numpys_functions_of_terms_are_these() -> None:
    x, m = ng.placeholder((4,)), ng.placeholder((3, 4))
    made = [np.polyadd(x, x), np.polysub(x, x), np.polymul(x, x), np.polyder(x), np.polyint(x), np.polyfit(x, x, 1)]
    made += [np.polyval(x, x), np.matvec(m, x), np.vecmat(x, m.T), np.histogram_bin_edges(x, 3, (0, 1))]
    made += leaves([np.histogram2d(x, x, 3, RANGES), np.histogramdd(m, 2, RANGES * 2), np.histogram(x, [0, 1])])
    assert all(isinstance(t, ng.Op) for t in made)


X, M, N = ng.placeholder((3,), name="x"), ng.placeholder((2, 3), name="m"), ng.placeholder((None,), name="n")
WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: nx.polyadd(M, X), errors.AxesError, "polyadd: expected a vector"),
    (lambda: nx.polysub(N, X), errors.LengthError, "polysub: a polynomial has the unknown length"),
    (lambda: nx.polymul(X, []), errors.LengthError, "a vector is empty"),
    (lambda: nx.polyder(X, -1), errors.AttributeValueError, "polyder: m is -1"),
    (lambda: nx.polyint(X, 3, [1, 2]), errors.ArgumentError, "polyint: 2 constants for 3 integrals"),
    (lambda: nx.polyfit(X, M, 1), errors.AxesError, "polyfit: places float32.3. and values float32.2, 3."),
    (lambda: nx.polyfit(X, X, -1), errors.AttributeValueError, "polyfit: deg is -1"),
    (lambda: nx.polyfit(X, X, 1, w=[1, 2]), errors.AxesError, "give one for each place"),
    (lambda: nx.polyfit(X, X, 2, cov=True), errors.ArgumentError, "(?s)3 places leave nothing.*unscaled"),
    (lambda: nx.polyfit(X, X, 1, cov="scaled"), errors.AttributeValueError, "cov is 'scaled'"),
    (lambda: nx.histogram2d(X, X), errors.ArgumentError, "(?s)histogram2d: the edges of 10 bins.*give a range"),
    (lambda: nx.histogram2d(X, N, 2, RANGES), errors.AxesError, "histogram2d: points are"),
    (lambda: nx.histogramdd(M, [2, 2], RANGES), errors.AxesError, "histogramdd: 2 ranges for 3 axes"),
    (lambda: nx.histogramdd(M.T, [2, [1, 0]], RANGES), errors.AttributeValueError, "put the edges in order"),
    (lambda: nx.histogramdd(M.T, 2, RANGES, weights=[1, 2]), errors.AxesError, "give one for each element"),
    (lambda: nx.histogram2d(X, X, [], RANGES), errors.AxesError, "0 bins for 2 axes"),
    (lambda: nx.histogram(X, X[0]), errors.AxesError, "histogram: edges are"),
    (lambda: nx.histogram(X, []), errors.AxesError, "histogram: edges are"),
    (lambda: nx.histogram(X, [0, 1], weights=2), errors.AxesError, "give one for each element"),
    (lambda: nx.histogram(X, 3, (0, np.inf)), errors.AttributeValueError, "a finite range"),
    (lambda: nx.histogram_bin_edges(X), errors.ArgumentError, "histogram_bin_edges: the edges of 10 bins"),
    (lambda: nx.matvec(X, X), errors.AxesError, "matvec: expected at least 2 and 1 axes"),
    (lambda: nx.vecmat(X, M), errors.AxesError, "vecmat: .* have the lengths 3 and 2"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert __file__ in str(caught.value)
