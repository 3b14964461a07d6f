# SPDX-License-Identifier: Apache-2.0
"""What most programs need compiled before they ask for it: the library's rules, and kernels that serve all sizes.

A kernel does not depend on the lengths of axes: a training step of one network compiles nearly all kernels of another
one. Numbers stand in kernels as they are, so those in which a rate of learning stands, or the number of samples in a
mean, are compiled for that number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.types.lengths import known

Program = tuple[Any, Sequence[ng.Op]]


def _trained(loss: ng.Op, weights: Sequence[ng.Op]) -> list[ng.Op]:
    """A loss, and a step of gradient descent on it."""
    slopes = ng.deriv(loss, weights)
    return [loss, ng.doall([ng.assign(w, w - 1e-3 * d) for w, d in zip(weights, slopes, strict=True)])]


def perceptron(activation: Callable[[ng.Op], ng.Op], samples_first: bool = False) -> Program:
    """A training step of three dense layers with softmax and cross-entropy, samples along the last or first axis."""
    n, last = ng.Axis("N", 128), ng.Axis("K", 10)
    axes = [ng.Axis("C", 784), ng.Axis("H1", 512), ng.Axis("H2", 512), last]
    order = slice(None, None, -1) if samples_first else slice(None)
    x, target = (ng.placeholder([of, n][order]) for of in (axes[0], last))
    weights: list[ng.Op] = []
    y = x
    for before, after in zip(axes, axes[1:], strict=False):
        w, b = ng.variable([after, before][order]), ng.variable([after])
        y, weights = (ng.dot(y, w) if samples_first else ng.dot(w, y)) + b, [*weights, w, b]
        y = y if after is last else activation(y)
    losses = ng.cross_entropy_multi(ng.softmax(y, [last]), target, out_axes=[n])
    return _trained(ng.mean(losses, out_axes=[]), weights), [x, target]


def regression(samples: int = 128, features: int = 20, outputs: int = 3) -> Program:
    """A training step of one dense layer with the squared error."""
    n, c, k = ng.Axis("N", samples), ng.Axis("C", features), ng.Axis("K", outputs)
    x, target, w, b = ng.placeholder([c, n]), ng.placeholder([k, n]), ng.variable([k, c]), ng.variable([k])
    error = ng.dot(w, x) + b - target
    return _trained(ng.mean(ng.square(error), out_axes=[]), [w, b]), [x, target]


def rows() -> Program:
    """What is computed row by row, or over all, of one matrix."""
    h, w = ng.Axis("H", 300), ng.Axis("W", 400)
    x = ng.placeholder([h, w])
    reductions = [f(x, **{"reduction_axes": axes}) for f in (ng.sum, ng.mean, ng.max) for axes in ([h], [w], [h, w])]
    return [ng.softmax(x, normalization_axes=[w]), *reductions], [x]


def maps() -> Program:
    """Simple functions and operations, each by itself."""
    x, y = (ng.placeholder([ng.Axis("H", 1000)]) for _ in range(2))
    unary = [f(x) for f in (ng.exp, ng.log, ng.tanh, ng.sigmoid, ng.relu, ng.sqrt, ng.square, ng.negative)]
    return [*unary, x + y, x - y, x * y, x / y, ng.maximum(x, y), x + 1.0, x * 2.0], [x, y]


PROGRAMS: Mapping[str, Callable[[], Program]] = MappingProxyType(
    {
        "perceptron, relu": lambda: perceptron(ng.relu),
        "perceptron, relu, samples first": lambda: perceptron(ng.relu, True),
        "perceptron, tanh": lambda: perceptron(ng.tanh),
        "perceptron, sigmoid": lambda: perceptron(ng.sigmoid),
        "regression": regression,
        "regression, many samples": lambda: regression(1 << 16),
        "rows": rows,
        "maps": maps,
    }
)


def warm(cache: Cache | None = None) -> Iterator[tuple[str, int]]:
    """Compile the rules and the kernels of some programs, one after the other.

    Args:
        cache: Where they are kept; the user's cache folder by default.

    Yields:
        The name of a program that is ready now, and how many kernels it has.
    """
    with ng.make_transformer("cpu", cache=cache) as transformer:
        for name, program in PROGRAMS.items():
            returns, inputs = program()
            computation = transformer.computation(returns, *inputs)
            computation(*(np.zeros([known(n) for n in x.axes.lengths], x.dtype) for x in inputs))
            yield name, computation.stats()["distinct_kernels"]
