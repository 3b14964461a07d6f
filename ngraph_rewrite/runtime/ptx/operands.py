# SPDX-License-Identifier: Apache-2.0
"""What reads and writes the operands of instructions: registers, numbers, addresses and lists of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.ptx.team import Team
from ngraph_rewrite.runtime.ptx.text import Function, split_operands
from ngraph_rewrite.runtime.ptx.values import (
    Frame,
    Reader,
    Registers,
    Some,
    Writer,
    constant_reader,
    immediate,
    kind_of,
    numbered,
    register_reader,
    register_writer,
)

Values = NDArray[Any]
Numbers = NDArray[np.int64]
Step = Callable[[Team, Frame, Some], None]  # what an instruction does to some threads
_ADDRESS = re.compile(r"\[\s*([%$\w.]+)?\s*\+?\s*(-?\d+)?\s*\]")


class Operands:
    """What reads and writes the operands of a function's instructions.

    Attributes:
        symbols: Where variables are.
    """

    def __init__(self, function: Function, symbols: Mapping[str, int]) -> None:
        self.registers: Registers = numbered(dict(function.registers))
        self.symbols = symbols

    def reader(self, text: str, kind: np.dtype[Any]) -> Reader:
        """What reads an operand as numbers of a dtype."""
        if text in self.registers.numbers:
            return register_reader(self.registers.numbers[text], kind, text)
        constant = immediate(text, kind)
        if constant is None and text in self.symbols:
            constant = np.array(self.symbols[text], kind)
        if constant is None:
            raise KernelError(f"{text} is no operand that is known")
        return constant_reader(constant)

    def writer(self, text: str) -> Writer:
        """What writes to a register; of ``_`` nothing is kept."""
        if text == "_":
            return lambda frame, some, values: None
        number = self.registers.numbers.get(text)
        if number is None:
            raise KernelError(f"{text} is no register")
        return register_writer(number, self.registers.kinds[number])

    def address(self, text: str) -> Callable[[Frame, Some], Numbers]:
        """What reads an address, such as ``[%rd1+8]``."""
        found = _ADDRESS.fullmatch(text)
        if found is None:
            raise KernelError(f"{text} is no address")
        offset = int(found[2] or 0)
        if found[1] is None or found[1].lstrip("-").isdigit():
            return lambda frame, some: np.array(int(found[1] or 0) + offset)
        named = found[1] in self.registers.numbers
        narrow = named and self.registers.kinds[self.registers.numbers[found[1]]].itemsize == 4
        read = self.reader(found[1], kind_of("u32") if narrow else kind_of("s64"))
        mask = 0xFFFFFFFF if narrow else -1
        return lambda frame, some: np.asarray((read(frame, some).astype(np.int64) + offset) & mask)


def inside(text: str) -> list[str]:
    """The operands of a list in braces, or one that is in none.

    >>> inside("{%f1, %f2}"), inside("%f1")
    (['%f1', '%f2'], ['%f1'])
    """
    return list(split_operands(text[1:-1])) if text.startswith("{") else [text]


def guard(of: tuple[str, bool], operands: Operands) -> Callable[[Frame, Some], Values]:
    """What says which threads do an instruction."""
    read = operands.reader(of[0], kind_of("pred"))
    return (lambda frame, some: ~read(frame, some)) if of[1] else read


def unknown(opcode: Sequence[str]) -> KernelError:
    """The error of an instruction that is not known here."""
    return KernelError(
        f"the instruction {'.'.join(opcode)} is not known here",
        do="say it with the words of kernels (kernels/README.rst): what becomes of those is known",
    )
