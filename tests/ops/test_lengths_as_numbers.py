# SPDX-License-Identifier: Apache-2.0
"""Lengths that are not known yet are numbers to compute with: terms of them, and what counts from or up to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng

nx = ng.numpy
TARGETS = ("cpu", "reference")


def values(make: Any, n: int) -> list[Any]:
    x = ng.placeholder((None, 2), name="x")
    found = []
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            found.append(transformer.computation(make(x.shape[0]), x)(np.ones((n, 2))))
    return found


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("dtype", [None, "float32", "int8"])
def test_a_length_is_a_term(n: int, dtype: str | None) -> None:
    for found in values(lambda length: nx.asarray(length * 2 + 1, dtype=dtype), n):
        assert found == 2 * n + 1 and found.dtype == np.dtype(dtype or "int64")
    for found in values(lambda length: ng.semi.size(length // 2), n):
        assert found == n // 2


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("dtype", [None, "float16", "uint8"])
def test_ranges_begin_at_lengths(n: int, step: int, dtype: str | None) -> None:
    for found in values(lambda length: nx.arange(length, 2 * length + 1, step, dtype=dtype), n):
        np.testing.assert_array_equal(found, np.arange(n, 2 * n + 1, step))
        assert found.dtype == np.dtype(dtype or "int64")
    for found in values(lambda length: nx.arange(length, 9, step), n):
        np.testing.assert_array_equal(found, np.arange(n, 9, step))


def test_the_slope_of_a_mean_over_a_length_is_one_over_it() -> None:
    x = ng.placeholder((None,), "float64", name="x")
    mean = nx.sum(x) / nx.asarray(x.shape[0], dtype="float64")
    for target in TARGETS:
        with ng.make_transformer(target) as transformer:
            found = transformer.computation(ng.deriv(mean, x), x)(np.ones(4))
        np.testing.assert_array_equal(found, np.full(4, 0.25))
