# SPDX-License-Identifier: Apache-2.0
"""Maps and reductions of arrays that are seen otherwise, or that are not of floats of 32 bits: one pass each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from benchmarks.comparison import Array, Task, Tasks
from benchmarks.engines import both_torches, in_jax, in_numpy, in_ours, module, normal, task
from benchmarks.harness import OURS

Function = Callable[[Any, Any], Any]
_SIZE = 1000
# By name: what is computed, what torch computes (None for nothing), and the dtype.
_KINDS: dict[str, tuple[Function, Callable[[Any], Any] | None, str]] = {
    "back": (lambda xp, x: xp.flip(x, axis=1), lambda x: x.flip(1), "float32"),
    "quarter": (lambda xp, x: xp.rot90(x), lambda x: module("torch").rot90(x), "int8"),
    "pairs": (lambda _, x: x[:, ::2] * x[:, 1::2], lambda x: x[:, ::2] * x[:, 1::2], "int16"),
    "known": (lambda xp, x: xp.nanmax(x.T), None, "float32"),
    "counted": (lambda xp, x: xp.count_nonzero(x), lambda x: module("torch").count_nonzero(x), "int8"),
    "bytes": (lambda xp, x: xp.sum(x, axis=1), lambda x: x.sum(1), "int8"),
}


def tasks(size: int | None) -> Tasks:
    """``KIND_S``: a matrix backwards, turned by 90 degrees, products of neighbours, and reductions; of `size` rows."""
    found: dict[str, Callable[[], Task]] = {}
    for kind in _KINDS:
        name = f"{kind}_{size or _SIZE}"
        found[name] = partial(_of, name, *_KINDS[kind], size or _SIZE)
    return found


def _of(name: str, function: Function, in_torch: Callable[[Any], Any] | None, dtype: str, size: int) -> Task:
    array: Array = normal(size, size, scale=3).astype(dtype)
    engines = {
        OURS: in_ours(lambda x: function(ng.numpy, x), [(size, size)], [array]),
        "numpy": in_numpy(lambda x: np.array(function(np, x)), [array]),
        "jax": in_jax(lambda x: function(module("jax.numpy"), x), [array]),
        **({} if in_torch is None else both_torches(lambda x: in_torch(x).contiguous(), [array])),
    }

    def answer(_: Any, x: Array) -> Any:
        return function(np, x.astype(np.result_type(x, np.int32)))

    return task(name, answer, [array], engines, (), bytes=size * size * array.itemsize)
