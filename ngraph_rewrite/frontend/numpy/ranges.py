# SPDX-License-Identifier: Apache-2.0
"""Numbers in even steps: of a given size, or as many as fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, LengthError
from ngraph_rewrite.frontend.building import checked, dimensions
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import where
from ngraph_rewrite.frontend.numpy.manipulation import moveaxis
from ngraph_rewrite.frontend.numpy.number_formulas import as_float
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_terms, on_device
from ngraph_rewrite.ops.checks import as_int, flag
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT32, INT64, as_dtype, is_float, promote, wide
from ngraph_rewrite.types.lengths import Extent, Length


def arange(
    start: Any, /, stop: Any = None, step: bool | int | float = 1, *, dtype: Any = None, device: Any = None
) -> Op:
    """The numbers from `start` (0 if one number is given) up to `stop`, exclusive, in steps of `step`.

    Args:
        start, stop: Numbers; for steps of integers they may be lengths that are not known yet.
        dtype: int64 for integers, else float32, if none is given.

    Raises:
        AttributeValueError: for a step of 0.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.arange(2, 9, 3).type, ng.numpy.arange(0.0, 1.0, 0.25).type
    (int64[3], float32[4])
    """
    on_device("arange", device)
    given = (0, start, step) if stop is None else (start, stop, step)
    first, last, step = (n.item() if isinstance(n, np.generic) else n for n in given)  # NumPy's would wrap
    if step == 0:
        raise AttributeValueError("arange: the step is 0", where=user_line(), do="use another step")
    length = _steps(first, last, step)
    whole = all(isinstance(n, int | Length) for n in (first, last, step))
    chosen = checked("arange", as_dtype, dtype) if dtype is not None else INT64 if whole else FLOAT32
    if isinstance(first, Length):
        places = apply("arange", start=0, step=step, length=length, dtype=INT64)
        return astype(apply("add", places, asarray(first)), chosen)
    return apply("arange", start=first, step=step, length=length, dtype=chosen)


def _steps(start: Any, stop: Any, step: Any) -> Extent:
    for what, number in (("start", start), ("stop", stop), ("step", step)):
        if not isinstance(number, int | float | Length) or (what == "step" and isinstance(number, Length)):
            raise ArgumentError(
                f"arange: the {what} is {number!r}",
                where=user_line(),
                do="give a number: the shape cannot depend on values" if isinstance(number, Op) else "give a number",
            )
        if not isinstance(number, Length) and not math.isfinite(number):
            raise AttributeValueError(f"arange: the {what} is {number}", where=user_line(), do="give a finite number")
    if not isinstance(start, Length) and not isinstance(stop, Length):
        whole = isinstance(start, int) and isinstance(stop, int) and isinstance(step, int)
        count: int = -((start - stop) // step) if whole else math.ceil((stop - start) / step)
        return max(0, count)
    size = checked("arange", as_int, step, "a number beside an unknown length")
    first, last = _end(start), _end(stop)
    if size < 0:
        raise AttributeValueError(f"arange: the step {step} beside an unknown length", where=user_line(), do="flip it")
    length: Extent = (last - first + (size - 1)) // size
    return length


def _end(number: Any) -> Extent:
    """A start or stop, beside one that is not known yet."""
    if isinstance(number, Length):
        return number
    return checked("arange", as_int, number, "a number beside an unknown length")


def linspace(
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    *,
    dtype: Any = None,
    device: Any = None,
    axis: int = 0,
) -> Op:
    """`num` numbers, evenly spaced from `start` to `stop`, which is the last one if `endpoint`.

    Args:
        start, stop: Numbers, or arrays and terms, which are broadcast: there are so many along a new axis.
        axis: Where that axis is, of the result.

    Raises:
        LengthError: for a negative `num`.
        AttributeValueError: for an integer dtype, if a term is given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linspace(0, 1, 5).type
    float32[5]
    >>> ng.numpy.linspace(ng.placeholder((2,)), 0.0, 5, axis=-1).type
    float32[2, 5]
    """
    on_device("linspace", device)
    if any(isinstance(x, Op) or dimensions("linspace", x) for x in (start, stop)):
        return _between(start, stop, num, endpoint, dtype, axis)
    return apply("linspace", start=start, stop=stop, length=num, endpoint=endpoint, dtype=dtype)


def _between(start: Array, stop: Array, num: int, endpoint: bool, dtype: Any, axis: int) -> Op:
    """From the numbers of an array to those of another: the last of them is that itself, whatever is rounded.

    Floats of 16 bits are computed in 32: they do not count to many, nor have room for what may be between two.
    """
    first, last = (as_float(x) for x in as_terms("linspace", start, stop))
    own = promote(first.dtype, last.dtype)
    first, last = (astype(x, wide(own)) for x in (first, last))
    span = last - first
    wanted = own if dtype is None else checked("linspace", as_dtype, dtype)
    if not is_float(wanted):
        do = "leave it out, and cast the result"
        raise AttributeValueError(f"linspace: dtype is {wanted}, of terms", where=user_line(), do=do)
    count = checked("linspace", as_int, num, "num")
    if count < 0:
        raise LengthError(f"linspace: num is {count}", where=user_line(), do="give how many numbers")
    closed = checked("linspace", flag, endpoint, "endpoint") and count > 1
    shape = (count,) + (1,) * span.rank
    steps = apply("reshape", arange(float(count), dtype=span.dtype), shape=shape)
    found = first + steps * (span / max(count - 1 if closed else count, 1))
    if closed:
        found = where(steps < count - 1, found, last)
    return moveaxis(astype(found, wanted), 0, axis)
