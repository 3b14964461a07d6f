# SPDX-License-Identifier: Apache-2.0
"""Gradients of ng.numpy are central differences: through broadcasting, reductions, parts, joins and indices."""

from collections.abc import Callable

import numpy as np
import pytest
from drawn import value

import ngraph_rewrite as ng
from ngraph_rewrite.testing.differences import differences

nx = ng.numpy
SMOOTH = "abs acos asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 negative reciprocal".split()
SMOOTH += "sigmoid erf erfinv lgamma digamma trigamma sin sinh sqrt square tan tanh".split()
BINARY = "add atan2 copysign divide hypot logaddexp maximum minimum multiply pow remainder subtract".split()
OTHERS: dict[str, Callable[[ng.Op], ng.Op]] = {
    "acosh": lambda x: nx.acosh(x + 1),
    "sum": lambda x: nx.sum(x, axis=1),
    "prod": lambda x: nx.prod(x, keepdims=True),
    "max": lambda x: nx.max(x, axis=0, keepdims=True),
    "min": lambda x: nx.min(x),
    "mean": lambda x: nx.mean(x, axis=1, keepdims=True),
    "var": lambda x: nx.var(x, axis=0, correction=1),
    "std": lambda x: nx.std(x, axis=(0, 1)),
    "diff": lambda x: nx.diff(x, n=2),
    "where": lambda x: nx.where(x > 0.5, x, x * x),
    "clip": lambda x: nx.clip(x, 0.3, 0.6),
    "concat": lambda x: nx.concat([x, x * 2, nx.ones((2, 1))], axis=1),
    "stack": lambda x: nx.stack([x, x * x], axis=-1),
    "unstack": lambda x: nx.multiply(*nx.unstack(x)),
    "reshape": lambda x: nx.reshape(x, (3, -1)),
    "broadcast_to": lambda x: nx.broadcast_to(x, (4, 2, 3)),
    "squeeze": lambda x: nx.squeeze(nx.expand_dims(x, axis=(0, 3))),
    "permute_dims": lambda x: nx.permute_dims(x, (1, 0)) * nx.moveaxis(x, 0, 1),
    "flip": lambda x: nx.flip(x) * x,
    "roll": lambda x: nx.roll(x, (1, -2), axis=(0, 1)),
    "tile": lambda x: nx.tile(x, (2, 1, 2)),
    "repeat": lambda x: nx.concat([nx.repeat(x, 2, axis=0), nx.repeat(x, [1, 3], axis=0)]),
    "triangles": lambda x: nx.tril(x) * 2 + nx.triu(x, k=1),
    "slices": lambda x: x[::-1, None, ::-2],
    "arrays": lambda x: x[[0, 0, 1], [2, 2, 1]],
    "a term as an index": lambda x: x[:, ng.constant([[0, 1], [1, -1]])],
    "a mask": lambda x: x[np.array([[True, False, True], [False, True, False]])],
    "meshgrid": lambda x: nx.multiply(*nx.meshgrid(x[0], x[1])),
    "cast": lambda x: nx.astype(x, "bool") * x,
}


def check(term: ng.Op, *xs: ng.Op) -> None:
    rng = np.random.default_rng(7)
    count = sum(int(x.size) for x in xs)  # type: ignore[arg-type]
    numbers = rng.permutation(np.linspace(0.2137, 0.7993, count))  # all different, so that a step crosses no kink
    cuts = np.cumsum([int(x.size) for x in xs])[:-1]  # type: ignore[arg-type]
    values = {x: part.reshape(x.shape) for x, part in zip(xs, np.split(numbers, cuts), strict=True)}
    weights = rng.normal(size=term.shape)
    for x in xs:
        adjoint = ng.deriv(term, x, error=ng.constant(weights, dtype="float64"))
        assert adjoint.type == x.type
        # steps of 1e-6 leave an error of 1e-10 in the difference, and values are about 1
        np.testing.assert_allclose(value(adjoint, values), differences(term, x, values, weights, 1e-6), 1e-5, 1e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_functions_of_one_argument(name: str) -> None:
    x = ng.placeholder((2, 3), "float64")
    check(getattr(nx, name)(x), x)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments_that_are_stretched(name: str) -> None:
    x, y = ng.placeholder((2, 1), "float64"), ng.placeholder((3,), "float64")
    check(getattr(nx, name)(x, y), x, y)


@pytest.mark.parametrize("name", OTHERS)
def test_other_functions(name: str) -> None:
    x = ng.placeholder((2, 3), "float64")
    check(OTHERS[name](x), x)


def test_what_is_flat_gives_zero_and_infinities_share() -> None:
    x, y = ng.placeholder((3,), "float64"), ng.placeholder((3,), "float64")
    flat = ng.deriv(nx.sum(nx.trunc(x) + nx.sign(x) + nx.astype(x > 0, "float64")), x)
    np.testing.assert_array_equal(value(flat, {x: np.ones(3)}), np.zeros(3))
    slopes = ng.deriv(nx.sum(nx.logaddexp(x, y)), [x, y])
    values = {x: np.array([np.inf, -np.inf, 0.0]), y: np.array([np.inf, -np.inf, 800.0])}
    assert [value(s, values).tolist() for s in slopes] == [[0.5, 0.5, 0.0], [0.5, 0.5, 1.0]]
    gradient = ng.deriv(nx.sum(nx.hypot(x, y)), x)
    np.testing.assert_array_equal(value(gradient, {x: np.zeros(3), y: np.zeros(3)}), np.zeros(3))
