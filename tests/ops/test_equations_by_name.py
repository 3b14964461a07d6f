# SPDX-License-Identifier: Apache-2.0
"""ng.cholesky, ng.solve, ng.slogdet, ng.eigh, ng.svd and others go by names: the order of axes makes no difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from tests.programs import drawn

N, H, G, K = ng.Axis("N", 2), ng.Axis("H", 3), ng.Axis("G", 3), ng.Axis("K", 4)
ORDERS = [list(p) for p in permutations([N, H, G])]


def matrices(seed: int) -> Any:
    x = np.random.default_rng(seed).normal(size=(2, 3, 3))
    return x @ np.swapaxes(x, 1, 2) + np.eye(3)


def arranged(axes: list[ng.Axis], want: list[ng.Axis], value: Any) -> Any:
    return np.transpose(value, [axes.index(a) for a in want])


def term(axes: list[ng.Axis], value: Any) -> ng.Op:
    return ng.constant(value, axes)


def value(result: Any) -> Any:
    with ng.make_transformer("reference") as transformer:
        return transformer.computation(result)()


@drawn(20)
@given(st.sampled_from(ORDERS), st.integers(0, 99))
def test_factors_have_the_axes_of_the_matrices(order: list[ng.Axis], seed: int) -> None:
    x = matrices(seed)
    found = ng.cholesky(term(order, arranged([N, H, G], order, x)), H, "G")
    assert [a.name for a in found.axes] == [a.name for a in order]
    np.testing.assert_allclose(arranged(order, [N, H, G], value(found)), np.linalg.cholesky(x))
    sign, logarithm = ng.slogdet(term(order, arranged([N, H, G], order, x)), "H", "G")
    assert sign.axes == logarithm.axes == ng.Axes([N])
    np.testing.assert_allclose(value(logarithm), np.linalg.slogdet(x)[1])


@drawn(30)
@given(st.sampled_from(ORDERS), st.sampled_from([[H], [K, H], [H, K], [N, H], [H, K, N]]), st.integers(0, 99))
def test_a_solution_times_the_matrix_is_the_right_side(order: list[ng.Axis], sides: list[ng.Axis], seed: int) -> None:
    a = term(order, arranged([N, H, G], order, matrices(seed)))
    b = term(sides, np.random.default_rng(seed).normal(size=[x.length for x in sides]))
    x = ng.solve(a, b, "H", "G")
    own = [G if axis == H else axis for axis in sides]
    assert x.axes == ng.Axes(own if N in sides else [N, *own])
    back = ng.dot(a, x, reduction_axes=[G])
    np.testing.assert_allclose(value(back - b), 0, atol=1e-9)
    lower = ng.cholesky(a, "H", "G")
    back = ng.dot(lower, ng.triangular_solve(lower, b, "H", "G"), reduction_axes=[G])
    np.testing.assert_allclose(value(back - b), 0, atol=1e-9)


@drawn(20)
@given(st.sampled_from(ORDERS), st.integers(0, 99))
def test_eigenvectors_times_values_are_what_the_matrix_makes_of_them(order: list[ng.Axis], seed: int) -> None:
    x = term(order, arranged([N, H, G], order, matrices(seed)))
    values, vectors = ng.eigh(x, H, "G")
    assert values.axes == ng.Axes([a for a in order if a != H]) and vectors.axes == x.axes
    other = ng.Axis("K", 3)
    turned = ng.cast_axes(vectors, [{H: G, G: other}.get(a, a) for a in vectors.axes])
    scaled = ng.cast_axes(values * vectors, [{G: other}.get(a, a) for a in (values * vectors).axes])
    np.testing.assert_allclose(value(ng.dot(x, turned, reduction_axes=[G]) - scaled), 0, atol=1e-9)
    np.testing.assert_allclose(value(ng.sum(vectors * vectors, reduction_axes=[H])), 1)


@drawn(20)
@given(st.permutations([N, H, K]), st.booleans(), st.integers(0, 99))
def test_singular_vectors_times_values_are_the_matrix(order: list[ng.Axis], is_tall: bool, seed: int) -> None:
    x = term(order, np.random.default_rng(seed).normal(size=[a.length for a in order]))
    rows, columns = (K, H) if is_tall else (H, K)
    u, s, v = ng.svd(x, rows, columns, "J")
    along = ng.Axis("J", 3)
    assert u.axes == ng.Axes([N, rows, along]) and s.axes == ng.Axes([N, along])
    assert v.axes == ng.Axes([N, along, columns])
    np.testing.assert_allclose(value(ng.sum(u * s * v, reduction_axes=["J"]) - x), 0, atol=1e-9)
    for vectors, axis in ((u, rows), (v, columns)):
        np.testing.assert_allclose(value(ng.sum(vectors * vectors, reduction_axes=[axis])), 1)
    assert np.all(np.diff(value(s)) <= 0)


def test_a_gradient_goes_through_them_by_name() -> None:
    x = ng.placeholder([H, G], "float64")
    logarithm = ng.slogdet(x, "H", "G")[1]
    with ng.make_transformer("cpu") as transformer:
        slope = transformer.computation(ng.deriv(logarithm, x), x)(matrices(0)[0])
    np.testing.assert_allclose(slope, np.linalg.inv(matrices(0)[0]).T)


def test_short_floats_stay_short() -> None:
    assert ng.cholesky(ng.placeholder([H, G], "float16"), H, G).dtype == np.float16
    assert ng.solve(ng.placeholder([H, G], "float16"), ng.placeholder([H], "float32"), H, G).dtype == np.float32


X, B = ng.placeholder([N, H, G]), ng.placeholder([H, K])
WRONG: list[tuple[Callable[[], Any], type[errors.NGraphRewriteError], str]] = [
    (lambda: ng.cholesky(X, "H", "K"), errors.UnmatchedAxesError, "cholesky: .* has no axis 'K'"),
    (lambda: ng.cholesky(X, "H", "H"), errors.AxesError, "expected two axes of one length"),
    (lambda: ng.slogdet(X, "N", "H"), errors.AxesError, "expected two axes of one length"),
    (lambda: ng.slogdet(ng.placeholder([H, G], "int8"), "H", "G"), errors.DTypeError, "expected a float dtype"),
    (lambda: ng.solve(X, ng.placeholder([K]), "H", "G"), errors.UnmatchedAxesError, "solve: .* has no axis H"),
    (lambda: ng.solve(X, ng.placeholder([H, G]), "H", "G"), errors.UnmatchedAxesError, "has the axis G, which"),
    (lambda: ng.solve(X, ng.placeholder([H], "int8"), "H", "G"), errors.DTypeError, "expected a float dtype"),
    (lambda: ng.solve(X, ng.placeholder({"H": 4}), "H", "G"), errors.AxesError, "H"),
    (lambda: ng.eigh(X, "N", "H"), errors.AxesError, "eigh: expected two axes of one length"),
    (lambda: ng.svd(X, "H", "H", "K"), errors.AxesError, "svd: expected two axes, got"),
    (lambda: ng.svd(X, "H", "K", "J"), errors.UnmatchedAxesError, "svd: .* has no axis 'K'"),
    (lambda: ng.svd(X, "N", "H", "G"), errors.AxesError, "an axis of length 2 that .* does not have, got G:2"),
    (lambda: ng.svd(X, "N", "H", ng.Axis("J", 3)), errors.AxesError, "expected an axis of length 2"),
    (lambda: ng.svd(ng.placeholder({"H": None, "G": 2}), "H", "G", "J"), errors.LengthError, "svd: "),
    (lambda: ng.triangular_solve(X, B, "H", "G", lower=2), errors.AttributeValueError, "lower is 2"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_wrong_calls_are_told(call: Callable[[], Any], error: type[errors.NGraphRewriteError], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
