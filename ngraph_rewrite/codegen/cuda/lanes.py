# SPDX-License-Identifier: Apache-2.0
"""A scalar program for one index, or for four: neighbours that are read and written by one access, or some apart.

With four, a value that differs between them has four names, ``v3_0`` to ``v3_3``; any other has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ngraph_rewrite.codegen.nest import MapNest, Operand, RowNest, operand_names, place
from ngraph_rewrite.codegen.scalar import cast, expression
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.types.dtypes import as_dtype

FOUR = 4
_WIDEST = 16  # bytes of an access


@dataclass(frozen=True)
class Lanes:
    """The program of a nest.

    Attributes:
        count: How many indices are computed at once: 1 or 4.
        apart: The loops whose indices differ, where these are no neighbours: ``i2_0`` to ``i2_3`` and so on.
    """

    nest: MapNest | RowNest
    count: int = 1
    apart: frozenset[int] = frozenset()

    def _is_spread(self, value: int) -> bool:
        """Whether a value differs from one of the indices to the next."""
        if self.apart:
            return bool(self.nest.dims[value] & self.apart)
        return self.count > 1 and self.nest.rank - 1 in self.nest.dims[value]

    def _at(self, text: str, lane: int) -> str:
        """An index of some loops as that of one of the four."""
        for dim in self.apart:
            text = re.sub(rf"\bi{dim}\b", f"i{dim}_{lane}", text)
        return text

    def names(self, value: int) -> list[str]:
        """The names of a value, one for each of the indices."""
        if self._is_spread(value):
            return [f"v{value}_{lane}" for lane in range(self.count)]
        return [f"v{value}"] * self.count

    def computed(self, values: Iterable[int]) -> list[str]:
        """The lines that compute values."""
        return [line for value in values for line in self._computed(value)]

    def _computed(self, value: int) -> list[str]:
        nest, lanes = self.nest, range(self.count if self._is_spread(value) else 1)
        if value < len(nest.loads):
            load, name = nest.loads[value], f"x{value}"
            at = place(name, load)
            if self._is_spread(value) and not self.apart:
                return [f"{', '.join(self.names(value))} = load4_{load.dtype}({name}, {at})"]
            return [
                f"{self.names(value)[lane]} = load_{load.dtype}({name}, {self._at(at, lane)}, {nest.buffers[value]})"
                for lane in lanes
            ]
        step, names = nest.steps[value - len(nest.loads)], self.names(value)
        if step.op == "index" and self._is_spread(value):
            dim = dict(step.attributes)["dim"]
            indices = [f"i{dim}_{lane}" if self.apart else f"(i{dim} + {lane})" for lane in lanes]
            return [f"{names[lane]} = {cast(indices[lane], 'int64', step.dtype)}" for lane in lanes]
        operands, dtypes = [self.names(v) for v in step.operands], [nest.dtypes[v] for v in step.operands]
        texts = [
            expression(step.op, step.dtype, [x[lane] for x in operands], dict(step.attributes), dtypes)
            for lane in lanes
        ]
        return [f"{name} = {text}" for name, text in zip(names, texts, strict=False)]

    def stored(self, position: int) -> list[str]:
        """The lines that store a result; a value of another dtype is converted."""
        value, operand = self.nest.stores[position]
        name, buffer = f"y{position}", self.nest.buffers[len(self.nest.loads) + position]
        given = [cast(v, self.nest.dtypes[value], operand.dtype) for v in self.names(value)]
        at = place(name, operand)
        if self.count > 1 and not self.apart:
            return [f"store4_{operand.dtype}({name}, {at}, {', '.join(given)})"]
        return [
            f"store_{operand.dtype}({name}, {self._at(at, lane)}, {given[lane]}, {buffer})"
            for lane in range(self.count)
        ]


def can_be_wide(nest: MapNest | RowNest, stores: Iterable[int]) -> bool:
    """Whether four neighbours of the innermost loop lie side by side wherever they differ, and in these stores."""
    if nest.rank == 0:
        return False
    stored = [nest.stores[i][1] for i in stores]
    return all(x.strides[-1] != "s" for x in nest.loads) and all(y.strides[-1] == "1" for y in stored)


def width_test(nest: MapNest | RowNest, stores: Iterable[int]) -> str:
    """The test, at run time, whether accesses of four elements are aligned at every index of a nest."""
    tests = [f"n{nest.rank - 1} % {FOUR} == 0"] if nest.rank > 1 else []
    moved = [i for i, load in enumerate(nest.loads) if load.strides[-1] == "1"]
    for number in (*moved, *(len(nest.loads) + i for i in stores)):
        name, operand = operand_names(nest)[number], nest.operands[number]
        tests.append(f"aligned({name}, {min(_WIDEST, FOUR * as_dtype(operand.dtype).itemsize)})")
        tests += [f"{name}_s{dim} % {FOUR} == 0" for dim, stride in enumerate(operand.strides) if stride == "s"]
    return " and ".join(tests) or "True"


def decomposed(index: str, dims: Sequence[int], suffix: str = "") -> list[str]:
    """The lines that take a row-major index over some loops apart, into names with a suffix.

    >>> decomposed("at", [0, 2])
    ['i0 = quotient(at, n2)', 'i2 = at - i0 * n2']
    """
    lines, rest = [], index
    for dim in reversed(dims[1:]):
        before = f"i{dims[0]}{suffix}" if dim == dims[1] else f"q{dim}{suffix}"
        lines += [f"{before} = quotient({rest}, n{dim})", f"i{dim}{suffix} = {rest} - {before} * n{dim}"]
        rest = before
    return lines or [f"i{dim}{suffix} = {index}" for dim in dims]


def product(dims: Iterable[int]) -> str:
    """The text of the number of indices of some loops."""
    return " * ".join(f"n{dim}" for dim in dims) or "1"


def loop(name: str, start: str, stop: str, step: str, body: Iterable[str]) -> list[str]:
    """A loop that each thread runs over its own part; `range` would divide to count its turns."""
    return [f"{name} = {start}", *going_on(name, stop, step, body)]


def going_on(name: str, stop: str, step: str, body: Iterable[str], last: str = "") -> list[str]:
    """The same from where the index stands; with ``last``, while the index and what it says are below the end."""
    return [f"while {name}{last} < {stop}:", indented("\n".join([*body, f"{name} += {step}"]), 4)]


__all__ = ["FOUR", "Lanes", "Operand", "can_be_wide", "decomposed", "going_on", "loop", "product", "width_test"]
