# SPDX-License-Identifier: Apache-2.0
"""Convolutions run on the CPU beside sums over windows in float64, and on processors that have less."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from sliding_oracle import images

import ngraph_rewrite as ng
from ngraph_rewrite.plan import convolutions
from ngraph_rewrite.plan.convolution_operands import Convolution


class Chooser:
    """Sets which convolutions are computed so: what is worked out for one of a form stands for the others no more.

    Args:
        patch: Undoes it, at the end of a test.
        name: What decides, in the module that makes calls.
    """

    def __init__(self, patch: pytest.MonkeyPatch, name: str) -> None:
        self._patch, self._name = patch, name

    def __call__(self, chooser: Callable[[Convolution], bool]) -> None:
        """Set it; calls of convolutions are worked out anew."""
        self._patch.setattr(convolutions, self._name, chooser)
        self._patch.setattr(convolutions, "_forms", lru_cache(convolutions._forms.__wrapped__))


def correlated(x: Any, w: Any, before: tuple[int, int], after: tuple[int, int]) -> Any:
    """The sums over windows of a padded (or cropped) image, in float64."""
    pads = [(0, 0), (0, 0), *((max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True))]
    cut = [slice(max(-b, 0), -max(-a, 0) or None) for b, a in zip(before, after, strict=True)]
    x = np.pad(x.astype(np.float64), pads)[(..., *cut)]
    seen = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))
    with np.errstate(invalid="ignore"):  # infinities may meet
        return np.einsum("nchwrs,kcrs->nkhw", seen, w.astype(np.float64), optimize=True)


def run(x: Any, w: Any, before: Any = 1, after: Any = 1, threads: int = 1, **how: Any) -> tuple[Any, dict[str, Any]]:
    """A convolution of arrays on the cpu target, and what is said of the computation."""
    a, b = (images(*v.shape, dtype="float32") for v in (x, w))
    return computed(ng.semi.convolution(a, b, before=before, after=after, **how), {a: x, b: w}, threads)


def computed(returns: Any, values: dict[ng.Op, Any], threads: int = 1) -> tuple[Any, dict[str, Any]]:
    """Results, and what is said of the computation."""
    with ng.make_transformer("cpu", threads=threads) as transformer:
        computation = transformer.computation(returns, *values)
        return computation(*values.values()), computation.stats()


def normal(seed: int, *shape: int) -> Any:
    """Normal numbers."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def kernels(stats: dict[str, Any]) -> list[str]:
    """The kinds of kernels that run."""
    return [name.rpartition("_")[0] for name in stats["kernels"]]


class Exact:
    """Arithmetic of fractions."""

    def times(self, factor: Fraction, value: Fraction) -> Fraction:
        return factor * value

    def plus(self, total: Fraction, factor: Fraction, value: Fraction) -> Fraction:
        return total + factor * value

    def sum_of(self, one: Fraction, other: Fraction) -> Fraction:
        return one + other

    def difference(self, one: Fraction, other: Fraction) -> Fraction:
        return one - other
