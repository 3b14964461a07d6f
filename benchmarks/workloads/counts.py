# SPDX-License-Identifier: Apache-2.0
"""How many numbers lie in each of many bins: floats in bins of one width, and bytes of an image."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import in_ours, normal, task
from benchmarks.harness import OURS


def tasks(size: int | None) -> Tasks:
    """``histogram_floats``: of a million in 100 bins; ``histogram_bytes``: of 6.2 million in 256; or of `size`."""
    bins, floats = {"bins": 100, "range": (-4.0, 4.0)}, size or 1_000_000
    values, bytes_of = {"bins": 256, "range": (0, 256)}, size or 1080 * 1920 * 3
    return {
        "histogram_floats": partial(_histogram, "histogram_floats", floats, "float32", bins),
        "histogram_bytes": partial(_histogram, "histogram_bytes", bytes_of, "uint8", values),
    }


def _histogram(name: str, count: int, dtype: str, bins: dict[str, Any]) -> Task:
    drawn = normal(count) if dtype == "float32" else np.random.default_rng(1).integers(0, 256, count).astype(dtype)
    engines = {OURS: in_ours(lambda x: ng.numpy.histogram(x, **bins)[0], [(count,)], [drawn])}
    return task(name, lambda xp, x: xp.histogram(x, **bins)[0], [drawn], engines, ("numpy", "jax"))
