# SPDX-License-Identifier: Apache-2.0
"""The composite ops that the benchmark lowers, a family above ``semi``, and the arithmetic of its constants."""

from __future__ import annotations

from collections.abc import Callable

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops.checks import alike, float_only, positional, tensor
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.catalogue import op, place_family
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.types.tensor import TensorType

FAMILY = "benchmark"
MAPS = ("relu", "relu6", "silu", "softplus", "rsqrt")
NORMALISATIONS = ("centre", "softmax", "log_softmax", "layer_norm", "rms_norm")
REDUCTIONS = ("mean", "variance", "logsumexp")
# Ops that no graph has: what rules that never fire ask for.
ABSENT = tuple(f"absent_{i}" for i in range(40))
LARGEST = 1000


def _map(x: TensorType) -> TensorType:
    float_only(x)
    positional(x)
    return x


def _normalisation(x: TensorType, *, axes: tuple[int, ...]) -> TensorType:
    _matrices(x)
    return x


def _reduction(x: TensorType, *, axes: tuple[int, ...]) -> TensorType:
    _map(x)
    return tensor(x.dtype, (n for i, n in enumerate(x.shape) if i not in axes))


def _pair(x: TensorType, y: TensorType) -> TensorType:
    alike(x, y)
    return _map(x)


def _matrices(*types: TensorType) -> None:
    for t in types:
        _map(t)
        if t.rank != 2:
            raise AxesError(f"expected a matrix, got {t!r}")


def _linear(x: TensorType, w: TensorType, b: TensorType) -> TensorType:
    _matrices(x, w)
    _map(b)
    if x.shape[1] != w.shape[0] or b.shape != w.shape[1:]:
        raise AxesError(f"{x!r}, {w!r} and {b!r} do not fit")
    return tensor(x.dtype, (x.shape[0], w.shape[1]))


def _attention(q: TensorType, k: TensorType, v: TensorType) -> TensorType:
    _matrices(q, k, v)
    if q.shape[1] != k.shape[1] or k.shape[0] != v.shape[0]:
        raise AxesError(f"{q!r}, {k!r} and {v!r} do not fit")
    return tensor(q.dtype, (q.shape[0], v.shape[1]))


# Simple ones first: rules go down in this order.
for _name in ABSENT:
    op(f"{FAMILY}.{_name}")(_map)
for _name in MAPS:
    op(f"{FAMILY}.{_name}")(_map)
for _name in REDUCTIONS:
    op(f"{FAMILY}.{_name}")(_reduction)
for _name in NORMALISATIONS:
    op(f"{FAMILY}.{_name}")(_normalisation)
for _name in ("squared_difference", "gated"):
    op(f"{FAMILY}.{_name}")(_pair)
op(f"{FAMILY}.linear")(_linear)
op(f"{FAMILY}.attention")(_attention)
place_family(FAMILY, above="semi")


def _whole(function: Callable[..., float], *values: Literal) -> Literal | None:
    """A small whole number: what float32 has exactly, and what every peer can write."""
    numbers = [v.scalar for v in values]
    if not all(isinstance(n, float) and n.is_integer() for n in numbers):
        return None
    result = function(*numbers)
    return Literal(result + 0.0, values[0].dtype) if abs(result) <= LARGEST else None


@attribute_function
def whole_sum(v: Literal, w: Literal) -> Literal | None:
    """The sum of two whole numbers; None if it is large."""
    return _whole(lambda a, b: a + b, v, w)


@attribute_function
def whole_product(v: Literal, w: Literal) -> Literal | None:
    """The product of two whole numbers; None if it is large."""
    return _whole(lambda a, b: a * b, v, w)


@attribute_function
def whole_larger(v: Literal, w: Literal) -> Literal | None:
    """The larger of two whole numbers."""
    return _whole(max, v, w)


@attribute_function
def whole_negative(v: Literal) -> Literal | None:
    """The negative of a whole number; that of 0 is 0."""
    return _whole(lambda a: -a, v)
