# SPDX-License-Identifier: Apache-2.0
"""Quantiles of elements that have weights: the first element, in order, up to which a part of all weight lies."""

from __future__ import annotations

import math

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.cumulative import cumulative_sum
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import divide, equal, isnan, less, minimum, where
from ngraph_rewrite.frontend.numpy.operands import Axis, apply, each, places
from ngraph_rewrite.frontend.numpy.sorting import argsort
from ngraph_rewrite.frontend.numpy.statistical import any, count_nonzero, max
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.ops.stretching import without
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, is_float
from ngraph_rewrite.types.lengths import product


def weighted(call: str, x: Op, weights: Op, part: Op, axis: Axis, keepdims: bool) -> Op:
    """The elements of `x` along some axes up to which parts of their weight lie; the axes of parts come first.

    Raises:
        AxesError: for weights of another shape than `x`, or its axes that are reduced, has.

    >>> import ngraph_rewrite as ng
    >>> x, part = ng.placeholder((2, 3)), ng.placeholder((4,))
    >>> weighted("quantile", x, ng.placeholder((3,)), part, 1, False).type
    float32[4, 2]
    """
    reduced = places(call, axis, x.rank)
    shape = without(x.shape, reduced, checked(call, flag, keepdims, "keepdims"))
    line = _line(x, reduced)
    given = reduced if axis is None else tuple(int(k) % x.rank for k in each(axis))
    weight = astype(_line(_of_all(call, x, weights, given), reduced), FLOAT64)
    missing = isnan(line) if is_float(x.dtype) else None
    if missing is not None and call.startswith("nan"):
        weight = where(missing, 0.0, weight)
    order = argsort(line, axis=0)
    found = _found(apply("take_along_axis", weight, order, axis=0), part)
    taken = apply("take_along_axis", apply("take_along_axis", line, order, axis=0), found, axis=0)
    if missing is not None and not call.startswith("nan"):
        taken = where(any(missing, axis=0), math.nan, taken)
    return apply("reshape", taken, shape=(*part.shape, *shape))


def _found(weight: Op, part: Op) -> Op:
    """The places where so much weight is reached, of weights in order along the first axis."""
    reached = cumulative_sum(weight, axis=0)
    share = divide(reached, max(reached, axis=0, keepdims=True))
    share = where(equal(share, 0.0), -1.0, share)  # what weighs nothing is not even the least element
    each = apply("reshape", part, shape=(part.size, *(1,) * weight.rank))
    before = count_nonzero(less(apply("reshape", share, shape=(1, *share.shape)), each), axis=1)
    return minimum(before, weight.shape[0] - 1)


def _of_all(call: str, x: Op, weights: Op, reduced: tuple[int, ...]) -> Op:
    """The weights of all elements: those of the axes that are reduced, in their order, are of all along the others."""
    if weights.shape == x.shape:
        return weights
    if weights.shape != tuple(x.shape[k] for k in reduced):
        what = f"{call}: weights of shape {weights.shape} for {x.type!r}"
        raise AxesError(what, where=user_line(), do="give them the shape of the array, or that of the axes reduced")
    alone = [n if k in reduced else 1 for k, n in enumerate(x.shape)]
    turned = apply("transpose", weights, perm=tuple(sorted(range(weights.rank), key=reduced.__getitem__)))
    return apply("broadcast_to", apply("reshape", turned, shape=alone), shape=x.shape)


def _line(x: Op, reduced: tuple[int, ...]) -> Op:
    """The elements along some axes as one axis, the first."""
    rest = [k for k in range(x.rank) if k not in reduced]
    count = product([x.shape[k] for k in reduced])
    moved = apply("transpose", x, perm=(*reduced, *rest))
    return apply("reshape", moved, shape=(count, *(x.shape[k] for k in rest)))
