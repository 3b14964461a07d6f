# SPDX-License-Identifier: Apache-2.0
"""Mixtures of the CPU target: what stands in rows is weighted with a softmax, which is nowhere as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops.checks import literal
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.tensor import TensorType


def _scale(*xs: TensorType, scale: Any) -> Attributes:
    return {"scale": literal(scale, xs[0].dtype)}


def _mixed(scores: Any, values: Any, scale: Literal) -> Any:
    with np.errstate(all="ignore"):
        scaled = scores * scale.array(())
        most = np.max(scaled, axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(scaled - np.where(np.isfinite(most), most, scores.dtype.type(0)))
        return np.matmul(weights / np.sum(weights, axis=-1, keepdims=True), values)


def _mixture(term: Op, x: Any, v: Any) -> Any:
    return _mixed(x, v, term.attribute("scale"))


@op("cpu.mixture", meaning=_mixture, normalise=_scale, below="cpu.gemm")
def mixture(x: TensorType, v: TensorType, *, scale: Literal) -> TensorType:
    """``softmax(scale * x) v``: `x` (b, m, n) gives weights along its last axis, `v` (b, n, d) what is weighted."""
    _floats("mixture", x, v)
    if x.rank != 3 or v.rank != 3 or x.shape[0] != v.shape[0] or x.shape[2] != v.shape[1]:
        raise AxesError(f"mixture takes shapes (b, m, n) and (b, n, d), not {x!r} and {v!r}")
    return TensorType(x.dtype, anonymous((*x.shape[:2], v.shape[2])))


def _attention(term: Op, q: Any, k: Any, v: Any) -> Any:
    with np.errstate(all="ignore"):
        return _mixed(np.matmul(q, k), v, term.attribute("scale"))


@op("cpu.attention", meaning=_attention, normalise=_scale, below="cpu.mixture")
def attention(q: TensorType, k: TensorType, v: TensorType, *, scale: Literal) -> TensorType:
    """``softmax(scale * q k) v`` of `q` (b..., m, e), `k` (b..., e, n) and `v` (b..., n, d), for one or two axes b.

    Vaswani et al., *Attention Is All You Need*, 2017.
    """
    _floats("attention", q, k, v)
    ranks, batches = {x.rank for x in (q, k, v)}, {x.shape[:-2] for x in (q, k, v)}
    fits = len(ranks) == len(batches) == 1 and q.rank in (3, 4)
    if not fits or q.shape[-1] != k.shape[-2] or k.shape[-1] != v.shape[-2]:
        raise AxesError(f"attention takes shapes (b, m, e), (b, e, n) and (b, n, d), not {q!r}, {k!r} and {v!r}")
    return TensorType(q.dtype, anonymous((*q.shape[:-1], v.shape[-1])))


def _floats(name: str, *xs: TensorType) -> None:
    if len({x.dtype for x in xs}) != 1 or xs[0].dtype.name not in ("float32", "float64"):
        raise DTypeError(f"{name} takes float32 or float64, all alike, not {', '.join(map(repr, xs))}")
