# SPDX-License-Identifier: Apache-2.0
"""Convolution and pooling written out as loops in float64, and terms run on both targets."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from ngraph_rewrite.lowering.deriv import deriv
from ngraph_rewrite.testing.differences import differences
from ngraph_rewrite.testing.evaluate import evaluate
from ngraph_rewrite.types.dtypes import is_float


def correlate(
    x: Any,
    w: Any,
    strides: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    interior: Sequence[int],
    dilations: Sequence[int],
    groups: int = 1,
) -> Any:
    """The cross-correlation of (N, C, spatial...) and (K, C/groups, window...), element by element."""
    sizes, lengths = w.shape[2:], []
    for n, r, s, b, a, i, e in zip(x.shape[2:], sizes, strides, before, after, interior, dilations, strict=True):
        whole = b + (max(n - 1, 0) * i + n) + a
        lengths.append(len(range(0, whole - ((r - 1) * e if r else -1), s)))
    result = np.zeros((x.shape[0], w.shape[0], *lengths), np.result_type(x, np.float64 if is_float(x.dtype) else x))
    inner, outer = w.shape[1], w.shape[0] // groups
    for place in np.ndindex(*lengths):
        for offset in np.ndindex(*sizes):
            at = [p * s + r * e - b for p, s, r, e, b in zip(place, strides, offset, dilations, before, strict=True)]
            real = [divmod(p, i + 1) for p, i in zip(at, interior, strict=True)]
            if any(rest or not 0 <= p < n for (p, rest), n in zip(real, x.shape[2:], strict=True)):
                continue
            pixel = x[(..., *(p for p, _ in real))]
            for g in range(groups):
                part = pixel[:, g * inner : (g + 1) * inner] @ w[(slice(g * outer, (g + 1) * outer), ..., *offset)].T
                result[(slice(None), slice(g * outer, (g + 1) * outer), *place)] += part
    return result


def pool(
    x: Any,
    axes: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    before: Sequence[int],
    after: Sequence[int],
    dilations: Sequence[int],
    kind: str,
    counted: bool = False,
) -> Any:
    """Each window of each line of `x`, gathered as a list, and then combined."""
    shape = list(x.shape)
    for k, r, s, b, a, e in zip(axes, sizes, strides, before, after, dilations, strict=True):
        shape[k] = len(range(0, x.shape[k] + b + a - (r - 1) * e, s))
    result = np.zeros(shape, np.float64)
    for place in np.ndindex(*shape):
        seen = []
        for offset in itertools.product(*map(range, sizes)):
            at = list(place)
            for k, r, s, b, e in zip(axes, offset, strides, before, dilations, strict=True):
                at[k] = place[k] * s + r * e - b
            if all(0 <= p < n for p, n in zip(at, x.shape, strict=True)):
                seen.append(float(x[tuple(at)]))
        result[place] = _combined(seen, kind, np.prod(sizes) if counted else max(len(seen), 1))
    return result


def _combined(seen: list[float], kind: str, count: Any) -> float:
    if kind == "max":
        return max(seen, default=-np.inf)
    if kind == "min":
        return min(seen, default=np.inf)
    return float(sum(seen) / count) if kind == "avg" else sum(seen)


def both(term: Any, values: Mapping[ng.Op, Any]) -> list[Any]:
    """What the reference and the cpu target make of a term, or of a list of terms."""
    found = []
    for name in ("reference", "cpu"):
        with ng.make_transformer(name) as transformer:
            found.append(transformer.computation(term, *values)(*values.values()))
    return found


def images(*shape: int | None, dtype: str = "float64") -> ng.Op:
    """A placeholder without names; None is a length that is bound by a call."""
    named = [ng.Axis("n" if n is None else f"a{i}", n) for i, n in enumerate(shape)]
    return ng.placeholder(ng.anonymous([a.length for a in named]), dtype=dtype)


def whole_numbers(seed: int, shape: Sequence[int], dtype: str = "float64") -> Any:
    """Small whole numbers: sums of their products are exact in every dtype."""
    low = 0 if dtype.startswith("u") else -2
    return np.random.default_rng(seed).integers(low, 4, tuple(shape)).astype(dtype)


def check_gradients(term: ng.Op, values: Mapping[ng.Op, Any], by: Sequence[ng.Op], step: float = 1e-5) -> None:
    """The adjoints of a term agree with central differences, and are the same on the cpu target."""
    error = ng.placeholder(term.axes, term.dtype)
    weights = np.random.default_rng(7).normal(size=term.shape)
    given = {**values, error: weights}
    adjoints = deriv(term, list(by), error=error)
    on_cpu = both(adjoints, given)[1]
    for argument, adjoint, computed in zip(by, adjoints, on_cpu, strict=True):
        assert adjoint.type == argument.type
        wanted = differences(term, argument, values, weights, step)
        # a central difference is right to about the square of its step, values are below 10
        np.testing.assert_allclose(evaluate(adjoint, given)[adjoint], wanted, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(computed, wanted, rtol=1e-6, atol=1e-7)
