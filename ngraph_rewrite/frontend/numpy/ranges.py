# SPDX-License-Identifier: Apache-2.0
"""Numbers in even steps: of a given size, or as many as fit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.building import checked, dimensions
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.operands import apply, on_device
from ngraph_rewrite.ops.checks import as_int
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT32, INT64, as_dtype
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
    start: float, stop: float, /, num: int = 50, endpoint: bool = True, *, dtype: Any = None, device: Any = None
) -> Op:
    """`num` numbers, evenly spaced from `start` to `stop`, which is the last one if `endpoint`.

    Raises:
        LengthError: for a negative `num`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.linspace(0, 1, 5).type
    float32[5]
    """
    on_device("linspace", device)
    for name, value in (("start", start), ("stop", stop)):
        if isinstance(value, Op) or dimensions("linspace", value):
            raise ArgumentError(f"linspace: {name} is {value!r}", where=user_line(), do="give a number")
    return apply("linspace", start=start, stop=stop, length=num, endpoint=endpoint, dtype=dtype)
