# SPDX-License-Identifier: Apache-2.0
"""What the examples share: a command line, weights in any family, and a training step by Adam."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

import ngraph_rewrite as ng


class Model(NamedTuple):
    """A network as terms: its placeholders, the loss, what it answers, and its weights by name."""

    inputs: tuple[ng.Op, ...]
    loss: ng.Op
    answer: ng.Op
    weights: dict[str, ng.Op]


def options(what: str, families: Iterable[str], epochs: int, arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line of an example."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--family", choices=list(families), default="axes", help="in whose words the network is built")
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--target", default="cpu", help="cpu or reference, which is slow")
    return parser.parse_args(arguments)


def drawn(
    axes: Mapping[str, str], sizes: Mapping[str, int], inputs: Mapping[str, str], seed: int = 0
) -> dict[str, np.ndarray]:
    """Initial weights: normal, of variance 2 over the size of the axes in `inputs` (He et al. 2015), or 0 without."""
    random = np.random.default_rng(seed)
    scale = {n: math.sqrt(2 / math.prod(lengths(inputs[n], sizes))) if n in inputs else 0 for n in axes}
    return {n: (scale[n] * random.normal(size=lengths(a, sizes))).astype(np.float32) for n, a in axes.items()}


def lengths(axes: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The lengths of axes that are given as in ``"H F"``."""
    return tuple(sizes[a] for a in axes.split())


def variables(values: Mapping[str, np.ndarray], axes: Mapping[str, str] | None = None) -> dict[str, ng.Op]:
    """A variable for each weight: by position, or with the names in `axes`, as in ``{"w": "H F"}``."""
    names = {n: dict(zip(axes[n].split(), v.shape, strict=True)) if axes else v.shape for n, v in values.items()}
    return {n: ng.variable(names[n], v.dtype, initial_value=v, name=n) for n, v in values.items()}


def adam(model: Model, rate: ng.Op | float, mean: float = 0.9, spread: float = 0.99, least: float = 1e-8) -> ng.Op:
    """One step of Adam (Kingma and Ba, *Adam: A Method for Stochastic Optimization*, 2015), in any family."""
    weights = list(model.weights.values())
    count = ng.persistent_tensor([], weights[0].dtype)
    updates = [ng.assign(count, count + 1)]
    for w, slope in zip(weights, ng.deriv(model.loss, weights), strict=True):
        m, v = (ng.persistent_tensor(w.axes, w.dtype) for _ in range(2))
        first, second = mean * m + (1 - mean) * slope, spread * v + (1 - spread) * slope * slope
        unbiased = first / (1 - mean ** (count + 1))
        deviation = (second / (1 - spread ** (count + 1))) ** 0.5
        updates += [ng.assign(m, first), ng.assign(v, second), ng.assign(w, w - rate * unbiased / (deviation + least))]
    return ng.doall(updates)
