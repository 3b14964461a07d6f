# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues and singular values on a GPU: what kernels store is what the ops mean, bit for bit."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import given
from hypothesis import strategies as st
from test_gpu_calls import agrees

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan.cuda import spectra

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

Array = np.ndarray[Any, Any]
KINDS = st.sampled_from(["normal", "whole", "edges", "large", "small"])
# Half of the kernels that there are: the others are the same lines.
_EIGENVALUES = {"float32": semi.eigh, "float64": semi.eigvalsh}
_SINGULAR_VALUES = {"float32": semi.svdvals, "float64": semi.svd}
DTYPES, SEEDS = st.sampled_from(["float32", "float64"]), st.integers(0, 2**32)


def matrices(shape: tuple[int, ...], dtype: str, kind: str, seed: int) -> Array:
    """Numbers of a kind: any, whole ones, with NaN and infinities among them, or with squares that are out of range."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    if kind == "whole":
        x = rng.integers(-1, 2, shape).astype(float)
    if kind == "edges":
        x = np.where(rng.random(shape) < 0.05, rng.choice([np.nan, np.inf, -0.0], shape), x)
    scale = {"large": float(np.finfo(dtype).max) / 8, "small": float(np.finfo(dtype).tiny)}.get(kind, 1.0)
    return (np.clip(x, -4, 4) * scale).astype(dtype)


@examples(12)
@given(DTYPES, st.integers(0, 3), st.integers(0, 6), KINDS, SEEDS)
def test_eigenvalues_are_those_of_numpy(dtype: str, count: int, n: int, kind: str, seed: int) -> None:
    x = matrices((count, n, n), dtype, kind, seed)
    with patch.object(spectra, "_BLOCKS", 2):
        agrees(lambda x: _EIGENVALUES[dtype](ng.numpy.matrix_transpose(x)), x)


@examples(12)
@given(DTYPES, st.integers(0, 3), st.integers(0, 3), st.integers(0, 5), KINDS, SEEDS)
def test_singular_values_are_those_of_numpy(dtype: str, count: int, more: int, n: int, kind: str, seed: int) -> None:
    x = matrices((count, n, n + more), dtype, kind, seed)
    with patch.object(spectra, "_BLOCKS", 2):
        agrees(lambda x: _SINGULAR_VALUES[dtype](ng.numpy.matrix_transpose(x)), x)


@pytest.mark.parametrize(("function", "dtype"), [(semi.eigh, "float32"), (semi.svd, "float64")])
def test_a_matrix_with_more_columns_than_lanes(function: Any, dtype: str) -> None:
    agrees(function, matrices((1, 20, 20), dtype, "normal", 0))
