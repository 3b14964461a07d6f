# SPDX-License-Identifier: Apache-2.0
"""Which constants of a scalar program are arguments of its kernel: programs that differ in these only are one kernel.

A learning rate, a bound, or a length of a batch that is divided by: no instruction is better for knowing it, so it is
read once, before any loop. What a compiler makes something of stays in the text: 0, 1, 2 and their like, powers of two
that are divided by, which it multiplies with instead, integers but those that are compared, added or chosen, and all
that is given to a function, such as an exponent. So do integers beside what is cast to an integer: if they are known
to be small, bytes that are cast to 64 bits are computed as bytes, of which a vector has eight times as many.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ngraph_rewrite.codegen.scalar import held, is_real
from ngraph_rewrite.plan.nests import ScalarStep, Value
from ngraph_rewrite.terms.literal import Literal

# What takes a number as it takes any other value.
_TAKING = frozenset(
    "add subtract multiply divide maximum minimum select equal not_equal less less_equal greater greater_equal "
    "negative absolute square sqrt reciprocal cast".split()
)
_TAKING_INTEGERS = _TAKING - frozenset("multiply divide negative absolute square sqrt reciprocal cast".split())
_SPECIAL = (0.0, 0.5, 1.0, 2.0)
_LARGEST = 2.0**63  # of integers
_BITS = {"float32": ("<f", "<i"), "float64": ("<d", "<q")}


class Constants(NamedTuple):
    """A program whose constants are sorted.

    Attributes:
        steps: The program; a constant that is an argument is a step ``number``, whose attribute says which of them.
        arguments: What these are told as: the bits of floats.
        literals: The other constants, bit by bit: in a nest 0.0 equals -0.0.
    """

    steps: tuple[ScalarStep, ...]
    arguments: tuple[int, ...]
    literals: tuple[object, ...]


def constants(steps: Sequence[ScalarStep]) -> Constants:
    """The constants of a program, sorted.

    >>> rate, one = Literal(0.1, "float32"), Literal(1.0, "float32")
    >>> program = [("constant", "float32", (), x) for x in (rate, one)] + [("multiply", "float32", (-1, 0), None)]
    >>> steps, arguments, literals = constants(program)
    >>> steps[0], arguments == (bits(rate.scalar, "float32"),), literals
    (('number', 'float32', (), 0), True, (1.0,))
    """
    numbers = [n for n, step in enumerate(steps) if step[0] == "constant"]
    if not numbers:
        return Constants(tuple(steps), (), ())
    bound, found = _bound(steps), [*steps]
    arguments, literals = list[int](), list[object]()
    for n in numbers:
        _, dtype, _, value = steps[n]
        if n in bound or not _is_ordinary(value, dtype):
            literals.append(value)
        else:
            found[n] = ("number", dtype, (), len(arguments))
            arguments.append(bits(value, dtype))
    return Constants(tuple(found), tuple(arguments), tuple(literals))


def _bound(steps: Sequence[ScalarStep]) -> set[Value]:
    """The values that a compiler should know wherever it can."""
    found = set[Value]()
    if any(map(_casts_to_integer, steps)):
        found.update(n for n, step in enumerate(steps) if _is_integer(step))
    for op, _, operands, _ in steps:
        if op not in _TAKING:
            found.update(operands)
        elif op == "divide" and _has_exact_reciprocal(operands[1], steps):
            found.add(operands[1])
        if op not in _TAKING_INTEGERS:
            found.update(n for n in operands if n >= 0 and _is_integer(steps[n]))
    return found


def _is_integer(step: ScalarStep) -> bool:
    return isinstance(step[3], Literal) and not is_real(step[1])


def _casts_to_integer(step: ScalarStep) -> bool:
    return step[0] == "cast" and step[1] != "bool" and not is_real(step[1])


def _has_exact_reciprocal(value: Value, steps: Sequence[ScalarStep]) -> bool:
    """Whether it is a power of two; a length is not asked, as the next one may be none."""
    number = steps[value][3] if value >= 0 else None
    return isinstance(number, Literal) and abs(math.frexp(float(number.scalar))[0]) == 0.5


def _is_ordinary(value: object, dtype: str) -> bool:
    """Whether nothing is to be made of a number: any length, and most others."""
    if dtype == "bool" or not isinstance(value, Literal):
        return dtype != "bool"
    number = abs(float(value.scalar))
    return number not in _SPECIAL and number < (math.inf if is_real(dtype) else _LARGEST)


def attributes(op: str, value: object) -> dict[str, object]:
    """What a step of a nest knows beside its operands, if it is a constant: its value, or which argument it is."""
    if op == "constant":
        return {"value": getattr(value, "scalar", value)}
    return {"at": value} if op == "number" else {}


def bits(value: object, dtype: str) -> int:
    """The int64 that a kernel is told a constant as, of which it makes a number of a dtype again.

    >>> hex(bits(0.1, "float32")), bits(-2.5, "float64") < 0, bits(17, "int32")
    ('0x3dcccccd', True, 17)
    """
    with np.errstate(over="ignore"):  # a length may be more than a float of 16 bits
        number = np.asarray(getattr(value, "scalar", value)).astype(dtype).item()
    if not is_real(dtype):
        return int(number)
    real, integer = _BITS[held(dtype)]
    found: int = struct.unpack(integer, struct.pack(real, number))[0]
    return found


__all__ = ["Constants", "attributes", "bits", "constants"]
