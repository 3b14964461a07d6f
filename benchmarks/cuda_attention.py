# SPDX-License-Identifier: Apache-2.0
"""Attention by itself on a GPU, in float32 and bfloat16: of many rows, causal, of short ones, and of one row."""

from __future__ import annotations

from functools import partial
from typing import Any

import ngraph_rewrite as ng
from benchmarks.cuda_engines import Problem, Problems, Tensor, Tensors, normal, problem
from benchmarks.engines import module

# Samples, heads, rows, keys and the size of a head.
SIZES = {
    "attention_1k": (8, 16, 1024, 1024, 64),
    "attention_1k_wide": (8, 8, 1024, 1024, 128),
    "attention_short": (128, 4, 128, 128, 64),
    "attention_one": (1, 8, 1, 8192, 64),
}
CAUSAL = ("attention_1k",)
DTYPES = {"": "float32", "_bf16": "bfloat16"}
TOLERANCES = {"float32": 1e-4, "bfloat16": 2e-2}


def attention_problems(size: int | None, device: str) -> Problems:
    """All by name; `size` takes the place of all lengths."""
    found: dict[str, Any] = {}
    for mark, dtype in DTYPES.items():
        for name, sizes in SIZES.items():
            given = tuple(size or n for n in sizes)
            found[name + mark] = partial(_attention, name + mark, given, dtype, False, device)
            if name in CAUSAL:
                causal = f"{name}_causal{mark}"
                found[causal] = partial(_attention, causal, given, dtype, True, device)
    return found


def _attention(name: str, sizes: tuple[int, ...], dtype: str, causal: bool, device: str) -> Problem:
    samples, heads, rows, keys, each = sizes
    n, p, q, e = (
        [ng.Axis("N", samples), ng.Axis("A", heads)],
        ng.Axis("P", rows),
        ng.Axis("Q", keys),
        ng.Axis("E", each),
    )
    axes: list[list[ng.Axis]] = [[*n, p, e], [*n, q, e], [*n, q, e], *([[p, q]] if causal else [])]

    def tensors() -> Tensors:
        shapes = [(samples, heads, length, each) for length in (rows, keys, keys)]
        return [*(normal(device, *shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)), *seen()]

    def seen() -> list[Tensor]:
        torch = module("torch")
        return [torch.ones(rows, keys, dtype=torch.bool, device=device).tril()] if causal else []

    def ours(x: ng.Op, k: ng.Op, v: ng.Op, *mask: ng.Op) -> ng.Op:
        scores = ng.dot(x, k, reduction_axes=["E"]) * each**-0.5
        scores = ng.where(mask[0], scores, -float("inf")) if mask else scores
        return ng.dot(ng.softmax(scores, normalization_axes=["Q"]), v, reduction_axes=["Q"])

    def in_torch(x: Any, k: Any, v: Any, *mask: Any) -> Any:
        """Which needs no mask to be told what is causal."""
        return module("torch").nn.functional.scaled_dot_product_attention(x, k, v, is_causal=bool(mask))

    flops = 4 * samples * heads * rows * keys * each // (2 if causal else 1)
    given = {"flops": flops, "dtype": dtype, "tolerance": TOLERANCES[dtype]}
    return problem(name, axes, tensors, ours, in_torch, device, **given)
