# SPDX-License-Identifier: Apache-2.0
"""Fused ops, which several targets execute: rows are weighted with a softmax that is nowhere as a whole.

A mixture takes scores, attention their factors. A mask may stand last, of the shape of the scores: truths keep scores,
where the others become `fill`, and numbers are added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops import fused_windows  # noqa: F401  (declare its ops)
from ngraph_rewrite.ops.checks import literal
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.tensor import TensorType

FLOATS = ("float32", "float64", "float16", "bfloat16")


def _scaled(*xs: TensorType, scale: Any, fill: Any) -> Attributes:
    return {"scale": literal(scale, xs[0].dtype), "fill": literal(fill, xs[0].dtype)}


def _weights(term: Op, scores: Any, mask: tuple[Any, ...]) -> Any:
    """The softmax of scores along rows."""
    found = scores * term.attribute("scale").array(())
    for one in mask:
        found = np.where(one, found, term.attribute("fill").array(())) if one.dtype == bool else found + one
    most = np.max(found, axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(found - np.where(np.isfinite(most), most, scores.dtype.type(0)))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def _mixture(term: Op, x: Any, v: Any, *mask: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.matmul(_weights(term, x, mask), v)


@op("fused.mixture", meaning=_mixture, normalise=_scaled, below="cpu.gemm")
def mixture(x: TensorType, v: TensorType, *mask: TensorType, scale: Literal, fill: Literal) -> TensorType:
    """``softmax(scale * x) v``: `x` (b, m, n) gives weights along its last axis, `v` (b, n, d) what is weighted."""
    _fitting("mixture", mask, (x, "bmn"), (v, "bnd"))
    return TensorType(x.dtype, anonymous((*x.shape[:-1], v.shape[-1])))


def _attention(term: Op, q: Any, k: Any, v: Any, *mask: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.matmul(_weights(term, np.matmul(q, k), mask), v)


@op("fused.attention", meaning=_attention, normalise=_scaled, below="fused.mixture")
def attention(
    q: TensorType, k: TensorType, v: TensorType, *mask: TensorType, scale: Literal, fill: Literal
) -> TensorType:
    """``softmax(scale * q k) v`` of `q` (b..., m, e), `k` (b..., e, n) and `v` (b..., n, d), for one or two axes b.

    Vaswani et al., *Attention Is All You Need*, 2017.
    """
    _fitting("attention", mask, (q, "bme"), (k, "ben"), (v, "bnd"))
    return TensorType(q.dtype, anonymous((*q.shape[:-1], v.shape[-1])))


def _fitting(name: str, mask: tuple[TensorType, ...], *xs: tuple[TensorType, str]) -> None:
    """Whether operands have the axes that letters say, of which the first stands for one axis or two.

    Raises:
        AxesError, DTypeError: if not, or if more than one mask is given or it has another shape than the scores.
    """
    if len({x.dtype for x, _ in xs}) != 1 or xs[0][0].dtype.name not in FLOATS:
        raise DTypeError(f"{name} takes one of {', '.join(FLOATS)}, all alike, not {', '.join(repr(x) for x, _ in xs)}")
    if any(x.dtype != xs[0][0].dtype and x.dtype.name != "bool" for x in mask):
        raise DTypeError(f"a mask of {name} is bool or {xs[0][0].dtype.name}, not {mask[0]!r}")
    lengths: dict[str, Any] = {"b": xs[0][0].shape[:-2]}
    every = [*xs, *((x, "bmn") for x in mask)]
    fits = len(mask) <= 1 and all(x.rank in ((3, 4) if name.startswith("attention") else (3,)) for x, _ in every)
    for x, letters in every if fits else ():
        fits = fits and x.shape[:-2] == lengths["b"]
        for letter, length in zip(letters[1:], x.shape[-2:], strict=True):
            fits = fits and lengths.setdefault(letter, length) == length
    if not fits:
        shapes = ", ".join(f"({', '.join(letters)})" for _, letters in xs)
        raise AxesError(f"{name} takes shapes {shapes}, not {', '.join(repr(x) for x, _ in every)}")
