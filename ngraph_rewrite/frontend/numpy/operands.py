# SPDX-License-Identifier: Apache-2.0
"""How functions of this package build terms: numbers are weak, arrays and lists are constants matched by position."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngraph_rewrite.errors import ArgumentError, DTypeError, FamilyError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.places import plain
from ngraph_rewrite.frontend.storage import as_op, constant
from ngraph_rewrite.ops import stretching
from ngraph_rewrite.ops.checks import listed
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import DEVICE, Op
from ngraph_rewrite.terms.operands import as_operands
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import INT64
from ngraph_rewrite.types.lengths import Length


class Parts(NamedTuple):
    """The real and the imaginary part of a complex array, which is no operand by itself."""

    real: Any
    imag: Any


# A term, a number, a length, an array, or nested lists of numbers.
Array = Op | ArrayLike | Length
Axis = int | Iterable[int] | None


def as_term(x: Array, beside: Iterable[Any] = ()) -> Op:
    """`x` if it is a term, else a constant of it without names, as `as_op` makes it.

    Raises:
        DTypeError: for True or False of Python, if there is nothing beside it, and for a complex array.
    """
    _refuse_parts("constant", x)
    return as_op(x if beside else no_truth(x), beside)


def no_truth(x: Array) -> Array:
    """`x`, unless it is True or False of Python, which is no array: ``x == 0`` of a term gives these.

    Raises:
        DTypeError: if it is.
    """
    if isinstance(x, bool):
        what, do = f"the array is {x}, of Python", "compare terms with equal: == asks whether they are one term"
        raise DTypeError(what, where=user_line(), do=f"{do} (a constant is asarray({x}))")
    return x


def apply(short: str, *operands: Array, **attributes: Any) -> Op:
    """The numpy op called `short`; Python's numbers take the dtype of the terms beside them."""
    call = f"numpy.{short}"
    return build_term(call, *as_terms(call, *operands), **attributes)


def as_terms(call: str, *operands: Array) -> list[Op]:
    """The operands of one call, as terms."""
    _refuse_parts(call, *operands)
    known = (Op, bool, int, float, np.generic, list, tuple, Length)
    arrays = [x if isinstance(x, known) else checked(call, as_op, x) for x in operands]
    return as_operands(arrays, "numpy", call)


def _refuse_parts(call: str, *operands: Array) -> None:
    if any(isinstance(x, Parts) for x in operands):
        do = "take z.real and z.imag, or z.apply(function) for what treats both alike"
        raise DTypeError(f"{call}: a complex array is two terms, and no operand", where=user_line(), do=do)


def as_number(x: bool | int | float | Length, dtype: Any = None) -> Op:
    """A number or a length as a term without axes, int64 by default if it is a length.

    Raises:
        DTypeError: if the number does not fit the dtype.
    """
    if isinstance(x, Length):
        return build_term("semi.size", value=x, dtype=INT64 if dtype is None else dtype)
    return constant(x, dtype=dtype)


def several(call: str, arrays: Any) -> list[Op]:
    """The terms in a list or tuple of arrays.

    Raises:
        ArgumentError: for what is no list, or an empty one.
    """
    if (
        isinstance(arrays, Op)
        or not isinstance(arrays, Iterable)
        or (isinstance(arrays, np.ndarray) and not arrays.ndim)
    ):
        raise ArgumentError(f"{call}: expected a list of arrays, got {arrays!r}", where=user_line())
    arrays = list(arrays)
    terms = [as_term(x, arrays) for x in arrays]
    if not terms:
        raise ArgumentError(f"{call}: there are no arrays", where=user_line(), do="give at least one")
    return terms


def positional(call: str, x: Array) -> Op:
    """`x` as a term without marks of axes.

    Raises:
        FamilyError: if its axes have names.
    """
    term = as_term(x)
    if term.rank and term.axes.named:
        what = f"{call} goes by position, and {describe(term, 1)} has the names {', '.join(term.axes.names)}"
        raise FamilyError(what, where=user_line(), do="write ng.strip(x) to forget its names")
    return plain(term)


def on_device(call: str, device: Any) -> None:
    """Check what stands for a device in a call: None, or the only one that terms have.

    Raises:
        ArgumentError: for another device.
    """
    if device is not None and device != DEVICE:
        do = f"leave it out, or give {DEVICE!r}: the target of a transformer decides where values are"
        raise ArgumentError(f"{call}: terms have no device {device!r}", where=user_line(), do=do)


def known_array(call: str, what: str, given: Any) -> NDArray[Any]:
    """An array of numbers that are known where the graph is built.

    Raises:
        ArgumentError: for what is no such array.
    """
    try:
        if not isinstance(given, Op) and (array := np.asarray(given)).dtype.kind in "biuf":
            return array
    except (TypeError, ValueError):
        pass
    raise ArgumentError(f"{call}: {what} is {given!r}", where=user_line(), do="give numbers, or an array of them")


def places(call: str, axis: Axis, rank: int) -> tuple[int, ...]:
    """Positions as an integer, a tuple, or None (all) gives them, in increasing order."""
    return checked(call, stretching.positions, None if axis is None else each(axis), rank)


def each(given: Any) -> tuple[Any, ...]:
    """What is given alone, or what there is in a list, an array, or anything to go through.

    >>> each(3), each(range(2))
    ((3,), (0, 1))
    """
    return listed(tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | np.ndarray) else given)


def part_along(x: Op, axis: int, start: int | None, stop: int | None) -> Op:
    """The elements of `x` from one place along an axis up to another."""
    return apply("tensor_slice", x, items=(slice(None),) * axis + (slice(start, stop),))
