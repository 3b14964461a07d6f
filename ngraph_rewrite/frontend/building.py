# SPDX-License-Identifier: Apache-2.0
"""How every frontend function builds its term: operands made into terms, errors at the user's line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError, DTypeError, NGraphRewriteError, UnmatchedAxesError
from ngraph_rewrite.ops import axes as _axes  # noqa: F401  (families declare their ops when imported)
from ngraph_rewrite.ops import core as _core  # noqa: F401
from ngraph_rewrite.ops import numpy as _numpy  # noqa: F401
from ngraph_rewrite.ops import semi as _semi  # noqa: F401
from ngraph_rewrite.ops.alignment import some_of
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.operands import as_operands
from ngraph_rewrite.types.axes import Axes, AxesLike, Axis
from ngraph_rewrite.types.lengths import Length

# What stands for a term in a call. Python numbers take the dtype of the terms beside them.
Operand = Op | bool | int | float | np.generic | NDArray[Any] | Length
# Some axes of a tensor: axes or their names.
AxesOf = Axes | Axis | str | Iterable[Axis | str]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def checked(call: str, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What `function` returns; its errors name the call and the user's line."""
    try:
        return function(*args, **kwargs)
    except NGraphRewriteError as error:
        raise type(error)(f"{call}: {error.what}", where=error.where or user_line(), do=error.do) from None


def apply(name: str, *operands: Any, **attributes: Any) -> Op:
    """The op called `name` (with its family), of operands that may be numbers."""
    return build(lookup(name), tuple(as_operands(operands, name.partition(".")[0], name)), **attributes)


def dimensions(call: str, value: Any) -> int:
    """How many dimensions an array has, or nested lists, or what no array can be made of: none.

    Raises:
        DTypeError: for lists of different lengths.

    >>> dimensions("roll", [1, 2]), dimensions("roll", 3)
    (1, 0)
    """
    try:
        return np.ndim(value)
    except ValueError:
        raise DTypeError(
            f"{call}: {value!r} is no array of numbers", where=user_line(), do="give lists of equal length"
        ) from None


def condition_of(call: str, condition: T) -> T:
    """The condition, unless it is True or False of Python: so terms are compared by ``==``, which asks for identity.

    Raises:
        DTypeError: if it is.
    """
    if isinstance(condition, bool):
        raise DTypeError(
            f"{call}: the condition is {condition}, of Python",
            where=user_line(),
            do="compare terms with equal: == asks whether they are one term (a constant condition is np.bool_)",
        )
    return condition


def function_of(call: str, function: T, name: str) -> T:
    """A function that a call was given, under a name.

    Raises:
        ArgumentError: for what cannot be called.
    """
    if not callable(function):
        raise ArgumentError(f"{call}: {name} is {function!r}", where=user_line(), do="give a function")
    return function


def terms_of(call: str, items: Any) -> list[Any]:
    """The operands in a list; one term alone, or a generator, will do.

    Raises:
        ArgumentError: if `items` is not iterable.
    """
    if isinstance(items, Op):
        return [items]
    try:
        return list(items)
    except TypeError:
        raise ArgumentError(
            f"{call}: expected a list of terms, got {items!r}", where=user_line(), do="put them in a list"
        ) from None


def reduced_axes(call: str, x: Axes, reduction_axes: AxesOf | None, out_axes: AxesOf | None, default: Axes) -> Axes:
    """The axes to reduce, of those to reduce and those to keep; `default` if neither is given.

    Raises:
        UnmatchedAxesError: if one is not an axis of `x`, or both together are not exactly its axes.
    """
    if reduction_axes is None and out_axes is None:
        return default
    kept = None if out_axes is None else checked(call, some_of, x, out_axes)
    if reduction_axes is None:
        return x - kept
    reduced = checked(call, some_of, x, reduction_axes)
    if kept is not None and (kept & reduced or len(kept) + len(reduced) != len(x)):
        raise UnmatchedAxesError(
            f"{call}: reduction_axes {reduced!r} and out_axes {kept!r} are not the two parts of {x!r}",
            where=user_line(),
            do="give one of the two: the other follows",
        )
    return reduced


def ordered(x: Op, axes: AxesOf | AxesLike | None) -> Op:
    """`x` in this order of axes; `x` itself if it has it, or if `axes` is None."""
    if axes is None:
        return x
    wanted = checked("out_axes", some_of, x.axes, axes)
    names = [a.name if isinstance(a, Axis) else a for a in ([axes] if isinstance(axes, str | Axis) else axes)]
    order = Axes(wanted[wanted.index(str(n))] for n in names)
    return x if order == x.axes else apply("axes.axes_with_order", x, axes=order)
