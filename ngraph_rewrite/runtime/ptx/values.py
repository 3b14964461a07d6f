# SPDX-License-Identifier: Apache-2.0
"""Operands of PTX: an array with a number for each thread, of a type of the instruction's, in registers of bits.

A register holds bits, unsigned; an instruction says as what it takes them. Instructions are done by some threads: by
all, a slice, or by those of some numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import KernelError

Values = NDArray[Any]
Some = slice | NDArray[np.int64]
ALL = slice(None)

KINDS = MappingProxyType(
    {
        "pred": np.dtype(bool),
        "f16": np.dtype(np.float16),
        "bf16": np.dtype(ml_dtypes.bfloat16),
        "f32": np.dtype(np.float32),
        "f64": np.dtype(np.float64),
        **{f"{mark}{8 * size}": np.dtype(f"u{size}") for mark in "bu" for size in (1, 2, 4, 8)},
        **{f"s{8 * size}": np.dtype(f"i{size}") for size in (1, 2, 4, 8)},
        "f16x2": np.dtype(np.uint32),
        "bf16x2": np.dtype(np.uint32),
    }
)
_BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_NUMBER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+)U?")
_FLOAT = re.compile(r"0[fFdD]([0-9a-fA-F]+)")


def kind_of(name: str) -> np.dtype[Any]:
    """The dtype that a type of PTX is.

    >>> kind_of("s64"), kind_of("b16")
    (dtype('int64'), dtype('uint16'))
    """
    found: np.dtype[Any] = KINDS[name]
    return found


def bits_of(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a register for a dtype."""
    return kind if kind.kind == "b" else _BITS[kind.itemsize]


def width_of(name: str) -> int:
    """The bytes of a type of PTX."""
    return int(KINDS[name].itemsize)


class Frame:
    """What threads have in a function: registers, and memory of their own.

    Attributes:
        registers: By number; those nothing was written to are none.
        own: Bytes of parameters, results and variables, of each thread a row.
        carry: What `add.cc` and its like left.
        count: How many threads there are, those included that are elsewhere.
    """

    def __init__(self, count: int, registers: int, size: int) -> None:
        self.registers: list[Values | None] = [None] * registers
        self.own = np.full((count, max(size, 1)), 0xFF, np.uint8)
        self.carry = np.zeros(count, np.uint64)
        self.count = count


Reader = Callable[[Frame, Some], Values]
Writer = Callable[[Frame, Some, Values], None]


class Registers(NamedTuple):
    """The registers of a function by name: number, and what they hold."""

    numbers: dict[str, int]
    kinds: tuple[np.dtype[Any], ...]


def numbered(registers: dict[str, str]) -> Registers:
    """Registers with numbers."""
    return Registers(
        {name: n for n, name in enumerate(registers)}, tuple(bits_of(KINDS[kind]) for kind in registers.values())
    )


def as_kind(values: Values, kind: np.dtype[Any]) -> Values:
    """Bits of registers as numbers; of wider registers the lower part."""
    if values.dtype == kind:
        return values
    if values.dtype.itemsize != kind.itemsize:
        values = values.astype(bits_of(kind))
    return values.view(kind)


def register_reader(number: int, kind: np.dtype[Any], name: str) -> Reader:
    """What reads a register.

    Raises:
        KernelError: (the reader) if nothing was written to it.
    """

    def read(frame: Frame, some: Some) -> Values:
        values = frame.registers[number]
        if values is None:
            raise KernelError(f"register {name} is read, and nothing was written to it", do="set it on every way there")
        return as_kind(values[some], kind)

    return read


def constant_reader(value: Values) -> Reader:
    """What reads a number that is the same for all threads."""
    return lambda frame, some: value


def immediate(text: str, kind: np.dtype[Any]) -> Values | None:
    """A number in an instruction, or nothing if it is no number.

    >>> print(immediate("0f3F800000", kind_of("f32")), immediate("-1", kind_of("u8")), immediate("%r1", kind_of("u8")))
    1.0 255 None
    """
    if found := _FLOAT.fullmatch(text):
        whole = np.array(int(found[1], 16), np.uint32 if len(found[1]) == 8 else np.uint64)
        value = whole.view(np.float32 if len(found[1]) == 8 else np.float64)
        return value.astype(kind) if kind.kind == "f" else as_kind(whole, kind)
    if _NUMBER.fullmatch(text):
        number = int(text.rstrip("U"), 0)
        if kind.kind == "b":
            return np.array(bool(number))
        width = 8 * kind.itemsize
        return np.array(number % (1 << width), bits_of(kind)).view(kind)
    return None


def register_writer(number: int, held: np.dtype[Any]) -> Writer:
    """What writes to a register; a narrower number is extended by its sign, if its type has one."""

    def write(frame: Frame, some: Some, values: Values) -> None:
        bits = _as_bits(values, held)
        if isinstance(some, slice):
            frame.registers[number] = bits if bits.ndim else np.full(frame.count, bits)
            return
        register = frame.registers[number]
        if register is None:
            poison = held.type(True) if held.kind == "b" else ~held.type(0)  # for threads that write nothing
            register = frame.registers[number] = np.full(frame.count, poison)
        register[some] = bits

    return write


def _as_bits(values: Values, held: np.dtype[Any]) -> Values:
    if values.dtype == held:
        return values
    if values.dtype.itemsize < held.itemsize and values.dtype != bool:
        values = values.astype(f"i{held.itemsize}") if values.dtype.kind == "i" else _widened(values, held)
    elif values.dtype.itemsize > held.itemsize:
        values = values.view(_BITS[values.dtype.itemsize]).astype(held)
    return values.view(held)


def _widened(values: Values, held: np.dtype[Any]) -> Values:
    return values.view(_BITS[values.dtype.itemsize]).astype(held)
