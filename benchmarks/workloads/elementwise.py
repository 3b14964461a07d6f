# SPDX-License-Identifier: Apache-2.0
"""A call that does next to nothing, and chains of elementwise operations on few numbers and on many."""

from __future__ import annotations

from functools import partial
from typing import Any

import ngraph_rewrite as ng
from benchmarks.comparison import Task, Tasks
from benchmarks.engines import both_torches, in_numexpr, in_ours, module, normal, task
from benchmarks.harness import OURS

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ALL = ("numpy", "jax", "pytensor", "pytensor-c")


def tasks(size: int | None) -> Tasks:
    """``tiny``, and ``tanh_N`` and ``poly_N`` for each size."""
    sizes = (size,) if size else SIZES
    chains = {f"{name}_{n}": partial(make, n) for make, name in ((_tanh, "tanh"), (_poly, "poly")) for n in sizes}
    return {"tiny": _tiny, **chains}


def _tiny() -> Task:
    """The sum of two vectors of 100 numbers: what is measured is the call."""
    arrays, axis = [normal(100), normal(100, seed=1)], [ng.Axis("H", 100)]

    def add(_: Any, x: Any, y: Any) -> Any:
        return x + y

    engines = {
        OURS: in_ours(lambda x, y: x + y, [axis, axis], arrays),
        "numexpr": in_numexpr("x + y", {"x": arrays[0], "y": arrays[1]}),
        **both_torches(lambda x, y: x + y, arrays),
    }
    return task("tiny", add, arrays, engines, ALL)


def _tanh(n: int) -> Task:
    arrays, axis = [normal(n, seed=i) for i in range(3)], [ng.Axis("H", n)]

    def function(xp: Any, w: Any, x: Any, b: Any) -> Any:
        return xp.tanh(w * x + b)

    def ours(w: ng.Op, x: ng.Op, b: ng.Op) -> ng.Op:
        return ng.tanh(w * x + b)

    engines = {
        OURS: in_ours(ours, [axis] * 3, arrays),
        f"{OURS}-fresh": in_ours(ours, [axis] * 3, arrays, out=False),
        "numexpr": in_numexpr("tanh(w * x + b)", dict(zip("wxb", arrays, strict=True))),
        **both_torches(lambda *a: function(module("torch"), *a), arrays),
    }
    return task(f"tanh_{n}", function, arrays, engines, ALL, bytes=16 * n)


def _poly(n: int) -> Task:
    arrays, axis = [normal(n)], [ng.Axis("H", n)]

    def function(_: Any, x: Any) -> Any:
        double = x + x
        return double * double - x

    engines = {
        OURS: in_ours(lambda x: function(ng, x), [axis], arrays),
        f"{OURS}-fresh": in_ours(lambda x: function(ng, x), [axis], arrays, out=False),
        "numexpr": in_numexpr("(x + x) * (x + x) - x", {"x": arrays[0]}),
        **both_torches(lambda x: function(None, x), arrays),
    }
    return task(f"poly_{n}", function, arrays, engines, ALL, bytes=8 * n)
