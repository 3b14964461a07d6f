# SPDX-License-Identifier: Apache-2.0
"""What a call of a Fourier transform takes: which axes, how many elements of each, and what sums are multiplied by."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from ngraph_rewrite.errors import AttributeValueError, DTypeError, LengthError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.choice import cast
from ngraph_rewrite.frontend.numpy.complex_pairs import Complex, parts_of
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, each, part_along, positional
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import as_index, one_of, position, several
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType, as_dtype, is_float

# What is divided by the number of elements, and what the inverse divides.
NORMS = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def lines_of(
    call: str, a: Array | Complex, n: int | None, axis: int, halves: bool = False
) -> tuple[tuple[Op, Op | None], int, int]:
    """The parts with as many elements of an axis as count, how many are summed, and which axis that is.

    Args:
        halves: Whether the axis has those on one side of the spectrum only.
    """
    x, y = (None if z is None else as_floats(call, z) for z in parts_of(a))
    assert x is not None
    at = checked(call, position, axis, x.rank)
    own = known_length(call, x, at)
    size = positive_count(call, n if n is not None else 2 * (own - 1) if halves else own)
    kept = min(own, size // 2 + 1 if halves else size)
    x, y = (None if z is None else _first(z, at, kept) for z in (x, y))
    assert x is not None
    return (x, y), size, at


def _first(x: Op, axis: int, count: int) -> Op:
    """So many elements of an axis, the first ones; a zero, if there are none."""
    if count == 0:
        return total(x, axis=axis, keepdims=True)
    return x if count == x.shape[axis] else part_along(x, axis, 0, count)


def chosen_axes(
    call: str, a: Array | Complex, s: Sequence[int] | None, axes: Axis, least: int = 0
) -> list[tuple[int, int]]:
    """Each axis, in the order given, which may name one twice, with how many elements of it are summed.

    Args:
        least: How many axes there have to be.
    """
    x = parts_of(a)[0]
    given = None if s is None else checked(call, several, s, "s")
    if axes is None:
        chosen = list(range(0 if given is None else x.rank - len(given), x.rank))
    else:
        chosen = [checked(call, position, axis, x.rank) for axis in each(axes)]
    if len(chosen) < least or min(chosen, default=0) < 0 or (given is not None and len(given) != len(chosen)):
        what = f"{call}: {s} are not the lengths of the axes {axes}, of {x.rank}"
        do = "give a length for each axis" + (", and one axis at least" if least else "")
        raise AttributeValueError(what, where=user_line(), do=do)
    counts = [
        known_length(call, x, k) if n == -1 else n for k, n in zip(chosen, given or [-1] * len(chosen), strict=True)
    ]
    return [(axis, positive_count(call, n)) for axis, n in zip(chosen, counts, strict=True)]


def known_length(call: str, x: Op, axis: int) -> int:
    """The length of an axis.

    Raises:
        LengthError: if it is unknown.
    """
    length = x.shape[axis]
    if not isinstance(length, int):
        what = f"{call}: the axis {axis} of {x.type!r} has an unknown length"
        raise LengthError(what, where=user_line(), do="transform an axis whose length is known")
    return length


def positive_count(call: str, n: Any) -> int:
    """How many elements are transformed, checked.

    Raises:
        AttributeValueError: for less than one.
    """
    count = checked(call, as_index, n, "n")
    if count < 1:
        what = f"{call}: {count} elements cannot be transformed"
        raise AttributeValueError(what, where=user_line(), do="give one or more")
    return count


def spacing(call: str, d: Any) -> float:
    """How far two elements are apart, checked.

    Raises:
        AttributeValueError: for what is no number, and for 0.
    """
    if not isinstance(d, Real) or d == 0:
        raise AttributeValueError(f"{call}: d is {d!r}", where=user_line(), do="give a number other than 0")
    return float(d)


def float_dtype(call: str, dtype: Any) -> DType:
    """The dtype of frequencies: float32, if none is given.

    Raises:
        DTypeError: for one that is no float.
    """
    found: DType = checked(call, as_dtype, "float32" if dtype is None else dtype)
    if not is_float(found):
        raise DTypeError(f"{call}: frequencies are no {found}", where=user_line(), do="give a dtype of floats")
    return found


def scale_of(call: str, norm: str | None, n: int, sign: int) -> float:
    """What sums are multiplied by."""
    name = "backward" if norm is None else checked(call, one_of, norm, NORMS, "norm")
    if name == "ortho":
        return float(n**-0.5)
    return 1 / n if (name == "forward") == (sign < 0) else 1.0


def as_floats(call: str, x: Array) -> Op:
    """A part as a term of float32 or float64, in which it is transformed."""
    term = positional(call, x)
    if term.dtype in ("float32", "float64"):
        return term
    return cast(term, "float32" if term.dtype in ("float16", "bfloat16") else "float64")
