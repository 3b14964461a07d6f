# SPDX-License-Identifier: Apache-2.0
"""Networks on a GPU: steps of an MLP and of a convolution net, and a transformer block, as on the CPU but larger."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import ngraph_rewrite as ng
from benchmarks.cuda_engines import GRAPH, Problem, Problems, Tensor, Tensors, normal, problem, step_problem
from benchmarks.engines import module
from benchmarks.workloads.attention import EACH, HEADS, LENGTH, WIDTH, block_ours, block_torch
from benchmarks.workloads.networks import WIDTHS, cnn_ours, cnn_torch, mlp_ours, mlp_torch

WIDE = (1024, 4096, 4096, 10)


def network_problems(size: int | None, device: str) -> Problems:
    """All by name; `size` is that of the batch."""
    mlps = {"mlp": (128, WIDTHS), "mlp_8192": (8192, WIDTHS), "mlp_wide": (1024, WIDE)}
    blocks = {"transformer": 8, "transformer_128": 128}
    return {
        **{name: partial(_mlp, name, size or batch, widths, device) for name, (batch, widths) in mlps.items()},
        **{name: partial(_block, name, size or batch, device) for name, batch in blocks.items()},
        "cnn": partial(_cnn, "cnn", size or 64, device),
        "cnn_1024": partial(_cnn, "cnn_1024", size or 1024, device),
    }


def _classes(batch: int, device: str) -> Tensor:
    """Targets: for each sample 1 at one of ten classes."""
    torch = module("torch")
    drawn = torch.randint(10, (batch,), generator=torch.Generator(device).manual_seed(1), device=device)
    return torch.nn.functional.one_hot(drawn, 10).float()


def _mlp(name: str, batch: int, lengths: Sequence[int], device: str) -> Problem:
    pairs = list(zip(lengths, lengths[1:], strict=False))
    n, names = ng.Axis("N", batch), [*(f"H{i}" for i in range(len(pairs))), "Y"]
    layers = [ng.Axis(axis, width) for axis, width in zip(names, lengths, strict=True)]
    axes = [[n, layers[0]], [n, layers[-1]]]
    axes += [a for before, after in zip(layers, layers[1:], strict=False) for a in ([before, after], [after])]

    def tensors() -> Tensors:
        weights = [(normal(device, a, b, scale=a**-0.5), normal(device, b, seed=2, scale=0.1)) for a, b in pairs]
        data = [normal(device, batch, lengths[0]), _classes(batch, device)]
        return [*data, *(w for pair in weights for w in pair)]

    flops = 6 * batch * sum(a * b for a, b in pairs)
    return step_problem(name, axes, tensors, mlp_ours, mlp_torch, device, 2, flops=flops, tolerance=2e-3)


def _cnn(name: str, batch: int, device: str) -> Problem:
    """5x5x32, relu, pool, 3x3x64, relu, pool, 10 classes, of images 3x32x32; filters as torch has them."""
    n, c, y = ng.Axis("N", batch), {k: ng.Axis("C", k) for k in (3, 32, 64)}, ng.Axis("Y", 10)
    size = {k: [ng.Axis("H", k), ng.Axis("W", k)] for k in (32, 8)}

    def filters(channels: int, window: int, results: int) -> list[ng.Axis]:
        return [ng.Axis("K", results), c[channels], ng.Axis("R", window), ng.Axis("S", window)]

    axes = [[n, c[3], *size[32]], [n, y], filters(3, 5, 32), [c[32]], filters(32, 3, 64), [c[64]]]
    axes += [[c[64], *size[8], y], [y]]

    def tensors() -> Tensors:
        shapes = [(32, 3, 5, 5), (32,), (64, 32, 3, 3), (64,), (64, 8, 8, 10), (10,)]
        weights = [normal(device, *shape, scale=0.02 if len(shape) == 4 else 0.1) for shape in shapes]
        return [normal(device, batch, 3, 32, 32), _classes(batch, device), *weights]

    def ours(x: ng.Op, t: ng.Op, *weights: ng.Op) -> ng.Op:
        turned = [ng.axes_with_order(w, ["C", "R", "S", "K"]) if i in (0, 2) else w for i, w in enumerate(weights)]
        return cnn_ours(x, t, *turned)

    def in_torch(x: Any, t: Any, *weights: Any) -> Any:
        return cnn_torch(x, t, *weights[:4], weights[4].flatten(0, 2), weights[5])

    return step_problem(name, axes, tensors, ours, in_torch, device, 2, tolerance=2e-3)


def _block(name: str, batch: int, device: str) -> Problem:
    d, heads, wide = ng.Axis("D", WIDTH), [ng.Axis("A", HEADS), ng.Axis("E", EACH)], ng.Axis("F", 4 * WIDTH)
    axes = [[ng.Axis("N", batch), ng.Axis("P", LENGTH), d], [d], [d], *([[d, *heads]] * 3), [*heads, d], [d], [d]]
    axes += [[d, wide], [wide], [wide, d], [d]]

    def tensors() -> Tensors:
        inner = [normal(device, WIDTH, HEADS, EACH, seed=i, scale=WIDTH**-0.5) for i in range(3)]
        inner.append(normal(device, HEADS, EACH, WIDTH, scale=WIDTH**-0.5))
        norms = [1 + normal(device, WIDTH, seed=4, scale=0.1), normal(device, WIDTH, seed=5, scale=0.1)]
        dense = [normal(device, WIDTH, 4 * WIDTH, scale=WIDTH**-0.5), normal(device, 4 * WIDTH, scale=0.1)]
        dense += [normal(device, 4 * WIDTH, WIDTH, scale=0.5 * WIDTH**-0.5), normal(device, WIDTH, seed=6, scale=0.1)]
        return [normal(device, batch, LENGTH, WIDTH), *norms, *inner, *norms, *dense]

    def in_torch(x: Any, *weights: Any) -> Any:
        return block_torch(x, *weights[:2], *(w.reshape(WIDTH, WIDTH) for w in weights[2:6]), *weights[6:])

    flops = 2 * batch * LENGTH * WIDTH * (12 * WIDTH + 2 * LENGTH)
    return problem(name, axes, tensors, block_ours, in_torch, device, mode=GRAPH, flops=flops, tolerance=1e-3)
