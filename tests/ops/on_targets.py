# SPDX-License-Identifier: Apache-2.0
"""A function of terms, called with arrays: on both targets, and its gradient beside central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
from drawn import leaf, value

import ngraph_rewrite as ng
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tensor import TensorType

Function = Callable[..., Any]
STEP = 1e-6


def computed(function: Function, *arrays: Any, unknown: bool = False) -> list[list[Any]]:
    """What a function of placeholders gives for arrays: a list of results on `reference`, and one on `cpu`.

    Args:
        unknown: Whether the length of the first axis of each argument is left to the call.
    """
    terms = [ng.placeholder((None, *a.shape[1:]) if unknown and a.ndim else a.shape, a.dtype) for a in arrays]
    made = function(*terms)
    results = made if isinstance(made, tuple) else (made,)
    found = []
    for target in ("reference", "cpu"):
        with ng.make_transformer(target) as transformer:
            values = transformer.computation(results, *terms)(*arrays)
            found.append([np.asarray(v) for v in values])
    return found


def meaning(function: Function, *arrays: Any) -> Any:
    """The value of a function of placeholders, by the meanings of ops."""
    terms = [leaf(TensorType(a.dtype, anonymous(a.shape))) for a in arrays]
    return value(function(*terms), dict(zip(terms, arrays, strict=True)))


def agrees(function: Function, numpys: Function, *arrays: Any, unknown: bool = False, rtol: float = 0.0) -> None:
    """Both targets give NumPy's dtype, shape and values; `rtol` is for sums in another order."""
    with np.errstate(all="ignore"):
        wanted = numpys(*arrays)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for results in computed(function, *arrays, unknown=unknown):
        for ours, theirs in zip(results, wanted, strict=True):
            assert ours.dtype == np.asarray(theirs).dtype
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol, strict=True)


def slopes(function: Function, *arrays: Any, error: Any = None, target: str = "cpu") -> list[Any]:
    """The gradients of ``sum(error * function)`` with respect to the float arrays."""
    terms = [ng.placeholder(a.shape, a.dtype) for a in arrays]
    made = function(*terms)
    d = ng.placeholder(made.shape, made.dtype)
    floats = [t for t in terms if is_float(t.dtype)]
    weights = np.ones([int(n) for n in made.shape], made.dtype) if error is None else error
    with ng.make_transformer(target) as transformer:
        found = transformer.computation(tuple(ng.deriv(made, floats, error=d)), *terms, d)(*arrays, weights)
        return [np.asarray(f) for f in found]


def check_gradient(function: Function, *arrays: Any, target: str = "cpu") -> None:
    """The gradients on a target are the central differences, in float64; integer arrays are held."""
    terms = [ng.placeholder(a.shape, a.dtype) for a in arrays]
    made = function(*terms)
    weights = np.linspace(0.6, 1.4, int(np.prod(made.shape))).reshape(made.shape)
    with ng.make_transformer("reference") as transformer:
        value = transformer.computation(made, *terms)
        floats = [i for i, a in enumerate(arrays) if is_float(a.dtype)]
        for i, found in zip(floats, slopes(function, *arrays, error=weights, target=target), strict=True):
            wanted = np.zeros(arrays[i].shape)
            for place in np.ndindex(wanted.shape):
                sides = []
                for sign in (1, -1):
                    moved = [a.copy() for a in arrays]
                    moved[i][place] += sign * STEP
                    sides.append(float((np.asarray(value(*moved)) * weights).sum()))
                wanted[place] = (sides[0] - sides[1]) / (2 * STEP)
            # values are about 1: a step of 1e-6 leaves an error of 1e-10 in a difference
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def apart(*shape: int, seed: int = 0) -> Any:
    """Float64 numbers between 0.2 and 1.8, no two within a step of each other."""
    count = int(np.prod(shape))
    return np.random.default_rng(seed).permutation(np.linspace(0.2, 1.8, count)).reshape(shape)


def numbers(dtype: str, shape: tuple[int, ...], seed: int, special: bool = False) -> Any:
    """Small whole numbers, exact in every dtype; floats with NaN, infinities and zeros of both signs if `special`."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    array = rng.integers(0 if dtype[0] == "u" else -3, 5, shape).astype(dtype)
    if special and dtype.startswith("float"):
        edges = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], dtype)
        array = np.where(rng.random(shape) < 0.5, rng.choice(edges, shape), array)
    return array
