# SPDX-License-Identifier: Apache-2.0
"""A reduction that leaves too little to share out is done in two steps: parts of each row, then what the parts give.

The first step has a loop more, over the parts; so threads read memory in long stretches, and lanes are filled where
rows lie side by side but are few. Sums of parts are float64; of what finds a place parts give the extremum as well. How
many parts there are is decided by shapes alone.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import NamedTuple

import numpy as np

from ngraph_rewrite.codegen.loops import REDUCTIONS
from ngraph_rewrite.codegen.scalar import is_real
from ngraph_rewrite.plan.nests import Position, ScalarStep, Value
from ngraph_rewrite.plan.renderer import Parts, Renderer
from ngraph_rewrite.plan.scalar_programs import RowProgram
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.plan.views import Layout, row_major
from ngraph_rewrite.terms.literal import Literal

_LEAST = 1 << 14  # elements that may be worth it
_TOTALS = ("sum", "prod")


class Split(NamedTuple):
    """The programs of both steps.

    Attributes:
        parts: Those of the first one: they store the results of parts.
        ends: The program of the second one; its first loads are the results of the parts.
        offsets: In elements, where each of the first ones stores, in the memory of each result.
        narrow: The loads of the whole that the second step has as well, by number.
        sizes: The bytes that each result takes, of all parts: one of a reduction, or two if it finds a place.
    """

    parts: tuple[RowProgram, ...]
    ends: RowProgram
    offsets: tuple[int, ...]
    narrow: tuple[int, ...]
    sizes: tuple[int, ...]


def split(program: RowProgram, renderer: Renderer) -> Split | None:
    """Both steps of a program over rows, or None if it is as well done in one."""
    if program.totals or not program.axes or prod(program.shape) < _LEAST:
        return None
    axis = max(program.axes, key=lambda k: (program.shape[k] > 1, _stride(program, k)))
    cut = renderer.parts(program, axis)
    if cut.number < 2:
        return None
    reductions = [n for n, step in enumerate(program.steps) if step[0] in REDUCTIONS]
    facts = _facts(program)
    if not _is_one_pass(program, facts, reductions) or not _are_found(program, reductions, axis, cut):
        return None
    return _Splitting(program, facts, reductions, axis, cut).split()


class _Facts(NamedTuple):
    """Of each step whether it changes along a row, and whether it comes of a reduction."""

    wide: list[bool]
    late: list[bool]


def _facts(program: RowProgram) -> _Facts:
    found = _Facts([], [])
    for op, _, operands, attribute in program.steps:
        inside = any(_is_wide(program, found, v) for v in operands)
        if isinstance(attribute, Position):
            inside = any(attribute.layout.strides[k] for k in program.axes)
        found.wide.append(inside and op not in REDUCTIONS)
        found.late.append(op in REDUCTIONS or any(v >= 0 and found.late[v] for v in operands))
    return found


def _is_wide(program: RowProgram, facts: _Facts, value: Value) -> bool:
    """Whether a value changes along a row."""
    if value >= 0:
        return facts.wide[value]
    return any(program.loads[-value - 1][1].strides[k] for k in program.axes)


def _is_one_pass(program: RowProgram, facts: _Facts, reductions: list[int]) -> bool:
    """Whether it reduces once, by what has parts, and stores nothing else than what comes of that."""
    late = facts.late
    if any(v >= 0 and late[v] for n in reductions for v in program.steps[n][2]):
        return False
    if any(wide and is_late for wide, is_late in zip(*facts, strict=True)):
        return False
    return all(value >= 0 and late[value] for value, _, _ in program.stores)


def _are_found(program: RowProgram, reductions: list[int], axis: int, cut: Parts) -> bool:
    """Whether places can be told from those in parts: these follow each other, and have numbers."""
    places = [n for n in reductions if program.steps[n][0].startswith("arg")]
    outer = [k for k in program.axes if k < axis and program.shape[k] > 1]
    dtypes = [_dtype(program, program.steps[n][2][0]) for n in places]
    return not places or (cut.lanes == 1 and not outer and "bool" not in dtypes)


def _dtype(program: RowProgram, value: Value) -> str:
    return program.steps[value][1] if value >= 0 else program.loads[-value - 1][0]


def _stride(program: RowProgram, axis: int) -> int:
    """The greatest stride of an operand along an axis."""
    return max((abs(layout.strides[axis]) for _, layout in program.loads), default=0)


class _Splitting:
    """One program in parts along an axis."""

    def __init__(self, program: RowProgram, facts: _Facts, reductions: list[int], axis: int, cut: Parts) -> None:
        self.program, self.facts, self.reductions = program, facts, reductions
        self.axis, self.count, self.lanes = axis, cut.number, cut.lanes
        self.length = program.shape[axis] // (cut.number * cut.lanes * cut.even) * cut.even
        self.rest = program.shape[axis] - cut.number * cut.lanes * self.length
        self.kept = tuple(k for k in range(len(program.shape)) if k not in program.axes)
        self.row = prod(program.shape[k] for k in self.kept)
        self.results = {n: self._results(n) for n in reductions}
        self.every = [one for found in self.results.values() for one in found]
        self.first = dict(zip(reductions, accumulate(map(len, self.results.values()), initial=0), strict=False))

    def _results(self, reduction: int) -> list[tuple[str, str]]:
        """What a part gives of a reduction: by which, in which dtype."""
        kind, dtype, (value,), _ = self.program.steps[reduction]
        if kind.startswith("arg"):
            return [(kind.removeprefix("arg"), _dtype(self.program, value)), (kind, dtype)]
        return [(kind, "float64" if kind in _TOTALS and is_real(dtype) else dtype)]

    def split(self) -> Split:
        parts, offsets = [self._main()], [0]
        slots = self.count * self.lanes
        if self.rest:
            parts.append(self._rest())
            offsets.append(slots * self.row)
        ends, narrow = self._ends(slots + bool(self.rest))
        sizes = tuple((slots + bool(self.rest)) * self.row * DTYPE_SIZES[dtype] for _, dtype in self.every)
        return Split(tuple(parts), ends, tuple(offsets), narrow, sizes)

    # -- first step ----------------------------------------------------------------------------------------------------

    def _main(self) -> RowProgram:
        """Parts first; then the axes, the split one twice: the places in a part, then the lanes."""
        shape, k = self.program.shape, self.axis
        new = (self.count, *shape[:k], self.length, self.lanes, *shape[k + 1 :])
        axes = tuple(j + 1 if j <= k else j + 2 for j in self.program.axes)

        def laid(layout: Layout) -> Layout:
            s = layout.strides
            each = s[k] * self.lanes
            return Layout(layout.offset, new, (each * self.length, *s[:k], each, s[k], *s[k + 1 :]))

        place = row_major((self.count, self.lanes, *(shape[j] for j in self.kept))).strides
        strides = [0] * len(new)
        strides[0], strides[k + 2] = place[0], place[1]
        for j, stride in zip(self.kept, place[2:], strict=True):
            strides[j + 1 if j < k else j + 2] = stride
        return self._part(new, axes, laid, Layout(0, new, tuple(strides)))._replace(parts=self.row * self.lanes == 1)

    def _rest(self) -> RowProgram:
        """What is left of the axis."""
        shape, k = self.program.shape, self.axis
        new = (*shape[:k], self.rest, *shape[k + 1 :])
        begin = self.count * self.lanes * self.length
        strides = [0] * len(new)
        for j, stride in zip(self.kept, row_major(tuple(shape[j] for j in self.kept)).strides, strict=True):
            strides[j] = stride

        def laid(layout: Layout) -> Layout:
            return Layout(layout.offset + begin * layout.strides[k], new, layout.strides)

        return self._part(new, self.program.axes, laid, Layout(0, new, tuple(strides)))

    def _part(self, shape: tuple[int, ...], axes: tuple[int, ...], laid: object, store: Layout) -> RowProgram:
        """The program up to its reductions, which give float64 of floats."""
        assert callable(laid)
        program, steps = self.program, list[ScalarStep]()
        found: dict[Value, Value] = {-i - 1: -i - 1 for i in range(len(program.loads))}
        stores = []
        for n, (op, dtype, operands, attribute) in enumerate(program.steps):
            if self.facts.late[n] and op not in REDUCTIONS:
                continue
            if isinstance(attribute, Position):
                attribute = Position(laid(attribute.layout), attribute.dtype)
            values = tuple([found[v] for v in operands])
            if op in REDUCTIONS:
                for kind, wide in self.results[n]:
                    steps.append((kind, wide, values, None))
                    stores.append((len(steps) - 1, wide, store))
                continue
            steps.append((op, dtype, values, attribute))
            found[n] = len(steps) - 1
        loads = tuple([(dtype, laid(layout)) for dtype, layout in program.loads])
        return RowProgram(shape, loads, tuple(steps), tuple(stores), axes)

    # -- second step ---------------------------------------------------------------------------------------------------

    def _ends(self, slots: int) -> tuple[RowProgram, tuple[int, ...]]:
        """Reduce the results of the parts, and do all that comes of that."""
        program = self.program
        shape = (slots, *(program.shape[k] for k in self.kept))

        def laid(layout: Layout) -> Layout:
            return Layout(layout.offset, shape, (0, *(layout.strides[k] for k in self.kept)))

        narrow = tuple([i for i, _ in enumerate(program.loads) if not _is_wide(program, self.facts, -i - 1)])
        loads = [(dtype, row_major(shape)) for _, dtype in self.every]
        found: dict[Value, Value] = {-i - 1: -len(loads) - 1 - at for at, i in enumerate(narrow)}
        loads += [(program.loads[i][0], laid(program.loads[i][1])) for i in narrow]
        steps: list[ScalarStep] = []
        for n, (op, dtype, operands, attribute) in enumerate(program.steps):
            if op.startswith("arg"):
                steps += self._place(n, shape, len(steps))
            elif op in REDUCTIONS:
                ((_, wide),) = self.results[n]
                steps.append((op, wide, (-self.first[n] - 1,), None))
                if wide != dtype:
                    steps.append(("cast", dtype, (len(steps) - 1,), None))
            elif self.facts.wide[n]:
                continue
            else:
                if isinstance(attribute, Position):
                    attribute = Position(laid(attribute.layout), attribute.dtype)
                steps.append((op, dtype, tuple([found[v] for v in operands]), attribute))
            found[n] = len(steps) - 1
        stores = tuple([(found[value], dtype, laid(layout)) for value, dtype, layout in program.stores])
        return RowProgram(shape, tuple(loads), tuple(steps), stores, (0,)), narrow

    def _place(self, reduction: int, shape: tuple[int, ...], at: int) -> list[ScalarStep]:
        """The steps that find the first place of an extremum, given those of the parts; they begin at a number."""
        ((kind, dtype), (_, own)), value = self.results[reduction], -self.first[reduction] - 1
        after = prod(self.program.shape[k] for k in self.program.axes if k > self.axis)
        strides = (self.length * after, *(0 for _ in shape[1:]))
        nowhere = Literal(np.iinfo(own).max, np.dtype(own))
        steps: list[ScalarStep] = [(kind, dtype, (value,), None), ("equal", "bool", (value, at), None)]
        has_it = at + 1
        if is_real(dtype):
            steps += [("isnan", "bool", (value,), None), ("isnan", "bool", (at,), None)]
            steps += [("logical_and", "bool", (at + 2, at + 3), None), ("logical_or", "bool", (at + 1, at + 4), None)]
            has_it = at + 5
        following = at + len(steps)
        steps += [("position", own, (), Position(Layout(0, shape, strides), own))]
        steps += [("add", own, (value - 1, following), None), ("constant", own, (), nowhere)]
        steps += [("select", own, (has_it, following + 1, following + 2), None)]
        return [*steps, ("min", own, (following + 3,), None)]
