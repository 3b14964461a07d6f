# SPDX-License-Identifier: Apache-2.0
"""Truths as bits of bytes, eight in each, and back."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import AttributeValueError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import zeros
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import bitwise_and, bitwise_right_shift, multiply, not_equal
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.manipulation import expand_dims, moveaxis, ravel, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, part_along
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.frontend.storage import constant
from ngraph_rewrite.ops.checks import as_index, one_of, position
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import as_dtype

_UINT8 = as_dtype("uint8")
_ORDERS = ("big", "little")


def packbits(x: Array, /, axis: int | None = None, bitorder: str = "big") -> Op:
    """What is not 0 as bits, eight in each uint8 along an axis; where they end, zeros follow.

    Args:
        x: Bool, or integers.
        axis: The axis; None for all elements in row-major order.
        bitorder: Whether the first of eight is the ``"big"`` bit, of 128, or the ``"little"`` one, of 1.

    Raises:
        AttributeValueError: for another order.
        DTypeError: for what is neither bool nor integers.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.packbits(ng.placeholder((2, 12)) > 0, axis=1).type
    uint8[2, 2]
    """
    powers, (term, place) = _powers("packbits", bitorder), _line("packbits", x, axis)
    if term.dtype.kind not in "biu":
        what = f"packbits: expected bool or integers, got {term.type!r}"
        raise DTypeError(what, where=user_line(), do="compare with something, as x != 0 does of an array")
    lines = moveaxis(term, place, -1)
    count, rest = lines.shape[-1], lines.shape[:-1]
    bytes_ = (count + 7) // 8
    bits = not_equal(lines, 0)
    if bytes_ * 8 != count:
        bits = concat([bits, zeros((*rest, bytes_ * 8 - count), dtype="bool")], axis=-1)
    eights = reshape(astype(bits, _UINT8), (*rest, bytes_, 8))
    return moveaxis(total(multiply(eights, constant(powers, dtype=_UINT8)), axis=-1, dtype=_UINT8), -1, place)


def unpackbits(x: Array, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Op:
    """The bits of each uint8, as uint8 of 0 and 1 along an axis.

    Args:
        axis: The axis; None for all elements in row-major order.
        count: How many bits there are to be: others are left out, and zeros added. A negative one leaves out so many.
        bitorder: As `packbits` has it.

    Raises:
        AttributeValueError: for another order, or a `count` that leaves out more than there are.
        DTypeError: for another dtype.
        LengthError: for a `count` along an axis of unknown length.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.unpackbits(ng.placeholder((2, 2), "uint8"), axis=1, count=12).type
    uint8[2, 12]
    """
    powers, (term, place) = _powers("unpackbits", bitorder), _line("unpackbits", x, axis)
    if term.dtype != _UINT8:
        raise DTypeError(f"unpackbits: expected uint8, got {term.type!r}", where=user_line(), do="cast it")
    lines = moveaxis(term, place, -1)
    steps = [power.bit_length() - 1 for power in powers]
    bits = bitwise_and(bitwise_right_shift(expand_dims(lines, axis=-1), constant(steps, dtype=_UINT8)), 1)
    whole = reshape(bits, (*lines.shape[:-1], lines.shape[-1] * 8))
    return moveaxis(whole if count is None else _cut(whole, count), -1, place)


def _cut(bits: Op, count: Any) -> Op:
    """So many along the last axis, or so many less."""
    number, last = checked("unpackbits", as_index, count, "count"), bits.rank - 1
    length = checked("unpackbits", known_length, bits.shape[-1], "the axis")
    wanted = number if number >= 0 else length + number
    if wanted < 0:
        what = f"unpackbits: count is {number}, of {length} bits"
        raise AttributeValueError(what, where=user_line(), do="leave out no more than there are")
    if wanted > length:
        return concat([bits, zeros((*bits.shape[:-1], wanted - length), dtype=_UINT8)], axis=-1)
    return part_along(bits, last, None, wanted)


def _powers(call: str, order: str) -> list[int]:
    powers = [1 << k for k in range(8)]
    return powers if checked(call, one_of, order, _ORDERS, "bitorder") == "little" else powers[::-1]


def _line(call: str, x: Array, axis: int | None) -> tuple[Op, int]:
    if axis is None:
        return ravel(x), 0
    term = as_term(x)
    return term, checked(call, position, axis, term.rank)
