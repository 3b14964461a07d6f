# SPDX-License-Identifier: Apache-2.0
"""Reductions with a dtype of their own: what sums is computed in it, what chooses is cast to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.frontend.building import apply, checked
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import as_dtype, kind_of

SUMMING = ("sum", "prod", "mean")
PLACES = ("argmax", "argmin")


def with_dtype(name: str, x: Op, dtype: Any, reduce: Callable[[Op], Op]) -> Op:
    """``reduce(x)`` by the op `name`, in or cast to a dtype; as it is if that is None.

    Raises:
        DTypeError: if the dtype is not supported, or one of places is no integer.

    >>> from ngraph_rewrite.frontend.axes import sum, variable
    >>> with_dtype("axes.sum", variable({"H": 3}, name="x"), "float64", sum)
    axes.sum(axes.cast(x, dtype=dtype('float64')), axes=Axes(H:3))
    """
    if dtype is None:
        return reduce(x)
    family, _, short = name.partition(".")
    wanted = checked(short, as_dtype, dtype)
    if short in PLACES and kind_of(wanted) not in "iu":
        what = f"{short}: {dtype!r} is no integer dtype, and the result is a place"
        raise DTypeError(what, where=user_line(), do="give an integer dtype, or cast the result")
    operand = _cast(family, x, wanted) if short in SUMMING else x
    return _cast(family, reduce(operand), wanted)


def _cast(family: str, x: Op, dtype: Any) -> Op:
    return x if x.dtype == dtype else apply(f"{family}.cast", x, dtype=dtype)
