# SPDX-License-Identifier: Apache-2.0
"""The loops of a scalar program, collapsed: what each dimension of each layout is of them.

Neighbouring loops along which every operand is one stretch are one loop, and loops of length 1 vanish: an
elementwise group over contiguous operands is one loop whatever its rank, a reduction at most two or three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.loops import SHUFFLED, MapNest, Operand, RowNest, Step
from ngraph_rewrite.plan.nests import Position, Value
from ngraph_rewrite.plan.numbers import attributes
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.scalar_programs import JointProgram, RowProgram, ScalarProgram
from ngraph_rewrite.plan.shares import Grid, Share
from ngraph_rewrite.plan.views import Layout


class Told(NamedTuple):
    """What a kernel is told of an operand: where its first element lies, and the strides that are not in its text."""

    offset: int
    strides: tuple[int, ...]


class Space:
    """The collapsed loops of a program: how each dimension of each layout maps to them."""

    def __init__(
        self, program: ScalarProgram | RowProgram | JointProgram, stores: Sequence[Layout], reduced: Sequence[bool]
    ) -> None:
        self.program = program
        positions = [attribute.layout for _, _, _, attribute in program.steps if isinstance(attribute, Position)]
        layouts = [layout for _, layout in program.loads] + positions + [*stores]
        self.operand_layouts = layouts
        self.groups = _stretches(program.shape, [x.strides for x in layouts], reduced)
        self.sizes = tuple(prod(program.shape[d] for d in g) for g in self.groups)
        self.reduced = [reduced[g[0]] for g in self.groups]

    def strides(self, layout: Layout) -> tuple[int, ...]:
        """The strides of a layout for the collapsed loops: those of the last dimension of each stretch."""
        return tuple(layout.strides[g[-1]] for g in self.groups)

    def told(self, layout: Layout) -> Told:
        strides = zip(self.strides(layout), self._texts(layout), strict=True)
        return Told(layout.offset, tuple([s for s, text in strides if text == "s"]))

    def operand(self, dtype: str, layout: Layout) -> Operand:
        return Operand(dtype, self._texts(layout))

    def _texts(self, layout: Layout) -> tuple[str, ...]:
        """What kernels know of the strides of a layout."""
        *others, last = [str(s) for s in self.strides(layout)] or [""]
        found = [*(s if s in ("0", "1") else "s" for s in others), last if last in ("0", "1", *SHUFFLED) else "s"]
        return tuple(found) if last else ()

    def operands(self) -> tuple[Operand, ...]:
        return tuple(self.operand(dtype, layout) for dtype, layout in self.program.loads)

    def loads(self) -> tuple[Told, ...]:
        return tuple(self.told(layout) for _, layout in self.program.loads)

    def share(self, nest: MapNest | RowNest, renderer: Renderer) -> Share | Grid:
        return renderer.share(self.sizes, self.reduced, nest)


def _stretches(shape: Sequence[int], strides: Sequence[Sequence[int]], reduced: Sequence[bool]) -> list[list[int]]:
    groups: list[list[int]] = []
    for d, n in enumerate(shape):
        if n == 1:
            continue
        last = groups[-1][-1] if groups else None
        joins = last is not None and reduced[last] == reduced[d] and all(s[last] == s[d] * n for s in strides)
        if joins:
            groups[-1].append(d)
        else:
            groups.append([d])
    return groups


def numbered(
    program: ScalarProgram | RowProgram | JointProgram, space: Space
) -> tuple[Callable[[Value], int], tuple[Step, ...]]:
    """Steps with the numbers loops.py wants: loads first, then steps; a position becomes arithmetic."""
    numbers: list[int] = []  # of the steps
    steps: list[Step] = []

    def number(value: Value) -> int:
        return numbers[value] if value >= 0 else -value - 1

    def emit(op: str, dtype: str, operands: tuple[int, ...] = (), **known: object) -> int:
        steps.append(Step(op, dtype, operands, tuple(known.items())))
        return len(program.loads) + len(steps) - 1

    for op, dtype, operands, attribute in program.steps:
        if isinstance(attribute, Position):
            found = _position(attribute, space, emit)
        else:
            found = emit(op, dtype, tuple(map(number, operands)), **attributes(op, attribute))
        numbers.append(found)
    return number, tuple(steps)


def _position(position: Position, space: Space, emit: Callable[..., int]) -> int:
    terms = []
    for dim, stride in enumerate(space.strides(position.layout)):
        if stride:
            index = emit("index", "int64", dim=dim)
            factor = emit("constant", "int64", value=stride)
            terms.append(emit("multiply", "int64", (index, factor)) if stride != 1 else index)
    total = emit("constant", "int64", value=position.layout.offset)
    for term in terms:
        total = emit("add", "int64", (total, term))
    return emit("cast", position.dtype, (total,)) if position.dtype != "int64" else total
