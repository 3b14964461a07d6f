# SPDX-License-Identifier: Apache-2.0
"""A scalar program for one index, or for four: neighbours that are read and written by one access, or some apart.

With four, a value that differs between them has four names, ``v3_0`` to ``v3_3``; any other has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ngraph_rewrite.codegen.nest import MapNest, Operand, RowNest, operand_names, place
from ngraph_rewrite.codegen.scalar import HALVES, cast, expression
from ngraph_rewrite.codegen.source import indented
from ngraph_rewrite.runtime.cuda.hardware import WIDEST
from ngraph_rewrite.types.dtypes import as_dtype

FOUR = 4


@dataclass(frozen=True)
class Lanes:
    """The program of a nest.

    Attributes:
        near: How many neighbours along the innermost loop are computed at once: 1 or 4.
        apart: The loops whose indices have a name for each place: ``i2_0``, ``i2_1`` and so on.
        places: How many places there are, each with its neighbours.
        letter: What the names of values that differ begin with, and the numbers of places, if it is another than ``v``.
        once: The loads of neighbours that are not to stay in the first cache.
    """

    nest: MapNest | RowNest
    near: int = 1
    apart: frozenset[int] = frozenset()
    places: int = 1
    letter: str = "v"
    once: frozenset[int] = frozenset()

    def _varies(self, value: int) -> tuple[bool, bool]:
        """Whether a value differs from place to place, and from one neighbour to the next."""
        dims = self.nest.dims[value]
        return bool(dims & self.apart), self.near > 1 and self.nest.rank - 1 in dims

    def _each(self, value: int, places: range) -> list[tuple[int, int]]:
        """The places, of some, and neighbours for which a value is computed."""
        far, close = self._varies(value)
        return [(p, k) for p in (places if far else places[:1]) for k in range(self.near if close else 1)]

    def _name(self, value: int, place_: int, neighbour: int) -> str:
        far, close = self._varies(value)
        number = far * place_ * self.near + close * neighbour
        return f"{self.letter}{value}_{number}" if far or close else f"v{value}"

    def names(self, value: int) -> list[str]:
        """The names of a value: of each place, those of its neighbours."""
        return [self._name(value, p, k) for p in range(self.places) for k in range(self.near)]

    def suffix(self, place_: int) -> str:
        """What the names of the indices at a place end with, after an underscore."""
        return f"{self.letter}{place_}" if self.letter != "v" else str(place_)

    def _at(self, text: str, place_: int) -> str:
        """An index of some loops as that of one of the places."""
        for dim in self.apart:
            text = re.sub(rf"\bi{dim}\b", f"i{dim}_{self.suffix(place_)}", text)
        return text

    def computed(self, values: Iterable[int]) -> list[str]:
        """The lines that compute values."""
        return [line for value in values for line in self._computed(value, range(self.places))]

    def computed_at(self, values: Iterable[int], place_: int) -> list[str]:
        """The lines that compute values, which differ from place to place, at one of them."""
        return [line for value in values for line in self._computed(value, range(place_, place_ + 1))]

    def _computed(self, value: int, places: range) -> list[str]:
        if value < len(self.nest.loads):
            return self._loaded(value, places)
        step = self.nest.steps[value - len(self.nest.loads)]
        dtypes = [self.nest.dtypes[v] for v in step.operands]
        lines = []
        for p, k in self._each(value, places):
            if step.op == "index" and (p or k or any(self._varies(value))):
                index = self._at(f"i{dict(step.attributes)['dim']}", p)
                near = dict(step.attributes)["dim"] == self.nest.rank - 1
                text = cast(f"({index} + {k})" if k and near else index, "int64", step.dtype)
            else:
                operands = [self._name(v, p, k) for v in step.operands]
                text = expression(step.op, step.dtype, operands, dict(step.attributes), dtypes)
            lines.append(f"{self._name(value, p, k)} = {text}")
        return lines

    def _loaded(self, value: int, places: range) -> list[str]:
        load, name = self.nest.loads[value], f"x{value}"
        far, close = self._varies(value)
        lines = []
        for p in places if far else places[:1]:
            at = self._at(place(name, load), p)
            if close:
                names = ", ".join(self._name(value, p, k) for k in range(self.near))
                word = "load4_once" if value in self.once else "load4"
                lines.append(f"{names} = {word}_{load.dtype}({name}, {at})")
            else:
                lines.append(f"{self._name(value, p, 0)} = load_{load.dtype}({name}, {at}, {self.nest.buffers[value]})")
        return lines

    def stored(self, position: int) -> list[str]:
        """The lines that store a result; a value of another dtype is converted."""
        return [self.stored_at(position, p) for p in range(self.places)]

    def stored_at(self, position: int, place_: int) -> str:
        """The line that stores a result at one of the places."""
        value, operand = self.nest.stores[position]
        value = self._before_rounding(value, operand.dtype)
        name, buffer = f"y{position}", self.nest.buffers[len(self.nest.loads) + position]
        at = self._at(place(name, operand), place_)
        names = [self._name(value, place_, k) for k in range(self.near)]
        dtype = self.nest.dtypes[value]
        rounds = dtype == "float32" and operand.dtype in HALVES  # by itself
        given = names if rounds else [cast(v, dtype, operand.dtype) for v in names]
        if self.near > 1:
            return f"store4_{operand.dtype}({name}, {at}, {', '.join(given)})"
        return f"store_{operand.dtype}({name}, {at}, {given[0]}, {buffer})"

    def _before_rounding(self, value: int, dtype: str) -> int:
        """The value, or the float32 that it was rounded from to the dtype that it is stored as."""
        step = self.nest.steps[value - len(self.nest.loads)] if value >= len(self.nest.loads) else None
        if step is None or (step.op, step.dtype) != ("cast", dtype) or dtype not in HALVES:
            return value
        return step.operands[0] if self.nest.dtypes[step.operands[0]] == "float32" else value


def can_be_wide(nest: MapNest | RowNest, stores: Iterable[int]) -> bool:
    """Whether four neighbours of the innermost loop lie side by side wherever they differ, and in these stores.

    Not of overlapping windows, of which only some begin where an access of four may.
    """
    if nest.rank == 0:
        return False
    stored = [nest.stores[i][1] for i in stores]
    return all(_may_be_wide(x) for x in nest.loads) and all(y.strides[-1] == "1" for y in stored)


def _may_be_wide(load: Operand) -> bool:
    *outer, inner = load.strides
    return inner == "0" or (inner == "1" and "1" not in outer)


def bytes_of_four(dtype: str) -> int:
    """The bytes of an access to four neighbours, or of each of those that it takes.

    >>> bytes_of_four("float16"), bytes_of_four("float64")
    (8, 16)
    """
    return min(WIDEST, FOUR * int(as_dtype(dtype).itemsize))


def width_test(nest: MapNest | RowNest, stores: Iterable[int]) -> str:
    """The test, at run time, whether accesses of four elements are aligned at every index of a nest."""
    tests = [f"n{nest.rank - 1} % {FOUR} == 0"] if nest.rank > 1 else []
    moved = [i for i, load in enumerate(nest.loads) if load.strides[-1] == "1"]
    for number in (*moved, *(len(nest.loads) + i for i in stores)):
        name, operand = operand_names(nest)[number], nest.operands[number]
        tests.append(f"aligned({name}, {bytes_of_four(operand.dtype)})")
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
