# SPDX-License-Identifier: Apache-2.0
"""Signals that are filtered by Fourier transforms. What comes out is real, as not all engines show complex numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import both_torches, in_ours, module, normal, task
from benchmarks.harness import OURS

SHAPES = ((256, 1024), (100, 1000), (32, 16384), (1, 1 << 20))


def tasks(size: int | None) -> Tasks:
    """``filtered_BxN`` of B signals of N numbers; or of one of `size` numbers."""
    shapes = ((1, size),) if size else SHAPES
    return {f"filtered_{b}x{n}": partial(_task, b, n) for b, n in shapes}


def _filtered(m: Any, x: Any, weights: Any) -> Any:
    return m.fft.irfft(m.fft.rfft(x) * weights, n=x.shape[-1])


def _task(count: int, length: int) -> Task:
    arrays = [normal(count, length), np.linspace(1, 0, length // 2 + 1, dtype=np.float32)]
    engines = {
        OURS: in_ours(partial(_filtered, ng.numpy), [a.shape for a in arrays], arrays),
        **both_torches(lambda *inputs: _filtered(module("torch"), *inputs), arrays),
    }
    return task(f"filtered_{count}x{length}", _filtered, arrays, engines)
