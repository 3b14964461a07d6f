# SPDX-License-Identifier: Apache-2.0
"""A scalar program becomes a kernel: its dimensions are collapsed, and its text is rendered, once for each structure.

Neighbouring loops along which every operand is one stretch are one loop, and loops of length 1 vanish: an
elementwise group over contiguous operands is one loop whatever its rank, a reduction at most two or three.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.loops import (
    MapNest,
    Operand,
    RowNest,
    Step,
)
from ngraph_rewrite.codegen.nest import FUNCTIONS, REDUCTIONS
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.nests import Position, ScalarStep, Value
from ngraph_rewrite.plan.numbers import attributes, constants
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.plan.shares import Grid, Share
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.runtime.features import vectors

# Bytes of a result that goes past the caches, at least; and of all operands, which caches do not hold then.
_STREAMED, _UNHELD = 1 << 24, 5 << 23
# Indices of a last loop that is told, at most, and of the loop before it, at least: a vector. Eight numbers make one by
# themselves, unless they are bytes. Where vectors are of 512 bits, up to sixteen are a part of one (one less of numbers
# of 64 bits, of which these are two).
_FEW, _FEW_BYTES, _MANY, _FILLED = 7, 8, 8, 16
# Elements of a row that is told, at most, if it is read once, and if it is read again, by narrower vectors: those of
# floats, and others, among them rows that are a few instructions by themselves: places, and extrema of halves. Rows, at
# least.
_READ_ONCE, _READ_AGAIN, _ROWS = (15, 8), (12, 7), 256
_FLOATS = ("float16", "float32", "float64")
_ELEMENTS = 1 << 10  # of all rows side by side that are told, at least
_AT_ONCE, _ONE_STEP = 4, 64  # vectors that LLVM takes in one step, and numbers: what is left is taken by halves
# Structures that are remembered: of programs with their lengths, and of kernels, which have none.
_PROGRAMS, _KERNELS = 1 << 12, 1 << 12


class ScalarProgram(NamedTuple):
    """All that decides a kernel: loads by dtype and layout, steps, the value that is stored, how and where.

    Attributes:
        in_place: The loads whose memory is overwritten.
    """

    shape: tuple[int, ...]
    loads: tuple[tuple[str, Layout], ...]
    steps: tuple[ScalarStep, ...]
    value: Value
    dtype: str
    store: Layout
    in_place: tuple[bool, ...]


class JointProgram(NamedTuple):
    """All that decides a kernel of several maps: loads by dtype and layout, steps, and what is stored how and where.

    Attributes:
        buffers: For each load and each store the number of its memory.
    """

    shape: tuple[int, ...]
    loads: tuple[tuple[str, Layout], ...]
    steps: tuple[ScalarStep, ...]
    stores: tuple[tuple[Value, str, Layout], ...]
    buffers: tuple[int, ...]


class Told(NamedTuple):
    """What a kernel is told of an operand: where its first element lies, and the strides that are not in its text."""

    offset: int
    strides: tuple[int, ...]


class Collapsed(NamedTuple):
    """A kernel with the run-time numbers it takes: lengths of loops, and of each load and store where it lies.

    Attributes:
        share: How its loops may be shared out.
        numbers: Constants that it is told.
        workspaces: Of one over rows: bytes that a thread needs in each, and a chunk for each sum over all rows.
    """

    source: Source
    sizes: tuple[int, ...]
    loads: tuple[Told, ...]
    stores: tuple[Told, ...]
    share: Share | Grid
    numbers: tuple[int, ...]
    workspaces: tuple[int, ...] = ()


class RowProgram(NamedTuple):
    """All that decides a kernel over rows; some of its steps are reductions.

    Attributes:
        stores: The values that are stored, by dtype and layout.
        axes: The loops that run over a row.
        totals: The values that are summed over all rows.
    """

    shape: tuple[int, ...]
    loads: tuple[tuple[str, Layout], ...]
    steps: tuple[ScalarStep, ...]
    stores: tuple[tuple[Value, str, Layout], ...]
    axes: tuple[int, ...]
    totals: tuple[Value, ...] = ()


@lru_cache(maxsize=_PROGRAMS)
def collapsed(program: ScalarProgram, renderer: Renderer) -> Collapsed:
    """The kernel of a program: store the value at every index."""
    steps, numbers, literals = constants(program.steps)
    program = program._replace(steps=steps)
    space = _Space(program, [program.store], [False] * len(program.shape))
    loads = space.operands()
    buffers = tuple(len(loads) if same else i for i, same in enumerate(program.in_place)) + (len(loads),)
    number, done = _numbered(program, space)
    store = space.operand(program.dtype, program.store)
    streamed = not any(program.in_place) and bool(steps) and is_streamed(space.sizes, loads, [store])
    stores = ((number(program.value), store),)
    nest = MapNest(len(space.sizes), loads, done, stores, buffers, streamed=streamed)
    nest = nest if streamed else _with_short_loop(nest, space)
    source = _rendered(nest, literals, renderer, renderer.form(nest, space.sizes))
    share = space.share(nest, renderer)
    return Collapsed(source, space.sizes, space.loads(), (space.told(program.store),), share, numbers)


@lru_cache(maxsize=_PROGRAMS)
def collapsed_joint(program: JointProgram, renderer: Renderer) -> Collapsed:
    """The kernel of several maps: store all their values at every index."""
    steps, numbers, literals = constants(program.steps)
    program = program._replace(steps=steps)
    layouts = [layout for _, _, layout in program.stores]
    space = _Space(program, layouts, [False] * len(program.shape))
    number, done = _numbered(program, space)
    stores = tuple((number(value), space.operand(dtype, layout)) for value, dtype, layout in program.stores)
    nest = MapNest(len(space.sizes), space.operands(), done, stores, program.buffers)
    nest = _with_short_loop(nest, space)
    source = _rendered(nest, literals, renderer, renderer.form(nest, space.sizes))
    told, share = tuple(map(space.told, layouts)), space.share(nest, renderer)
    return Collapsed(source, space.sizes, space.loads(), told, share, numbers)


def _with_short_loop(nest: MapNest, space: _Space) -> MapNest:
    """A map that is told of a short last loop, or of one that fills vectors, as it is shorter than a step of LLVM.

    What is left of such a step LLVM computes by halves of a vector, and the last numbers one by one.
    """
    few = space.few(space.most())
    return replace(nest, few=few, filled=not few and prod(space.sizes[:-1]) >= _MANY and _is_filled(nest, space))


def _is_filled(nest: MapNest | RowNest, space: _Space) -> bool:
    """Whether a last loop that computes functions is a vector or more, and no more than LLVM takes in one step."""
    if len(space.sizes) < 2 or {step.op for step in nest.steps}.isdisjoint(FUNCTIONS) or not _fill_vectors():
        return False
    sizes = [DTYPE_SIZES[at.dtype] for at in (*nest.loads, *(at for _, at in nest.stores))]
    lanes, last = vectors().bytes // max(4, *sizes), space.sizes[-1]
    return lanes <= last < _ONE_STEP and last % (lanes * _AT_ONCE) > 0


@lru_cache(maxsize=_KERNELS)
def _rendered(nest: MapNest | RowNest, literals: tuple[object, ...], renderer: Renderer, form: Hashable) -> Source:
    """The kernel of a nest.

    Args:
        literals: The constants in the text of the nest bit by bit: in the nest itself 0.0 equals -0.0.
    """
    return renderer.nest(nest, form)


@lru_cache(maxsize=_PROGRAMS)
def collapsed_rows(program: RowProgram, renderer: Renderer) -> Collapsed:
    """The kernel of a program over rows."""
    steps, numbers, literals = constants(program.steps)
    space, nest = _row_nest(program._replace(steps=steps), renderer)
    source = _rendered(nest, literals, renderer, renderer.form(nest, space.sizes))
    stores = tuple([space.told(layout) for _, _, layout in program.stores])
    spare = tuple(renderer.workspaces(nest, space.sizes))
    return Collapsed(source, space.sizes, space.loads(), stores, space.share(nest, renderer), numbers, spare)


@lru_cache(maxsize=_PROGRAMS)
def row_share(program: RowProgram, renderer: Renderer) -> Share | Grid:
    """How a program over rows is shared out."""
    space, nest = _row_nest(program, renderer)
    return space.share(nest, renderer)


def _row_nest(program: RowProgram, renderer: Renderer) -> tuple[_Space, RowNest]:
    reduced = [k in program.axes for k in range(len(program.shape))]
    space = _Space(program, [layout for _, _, layout in program.stores], reduced)
    loads = space.operands()
    number, steps = _numbered(program, space)
    stores = tuple((number(value), space.operand(dtype, layout)) for value, dtype, layout in program.stores)
    buffers = tuple(range(len(loads) + len(stores)))
    totals, rows = tuple(map(number, program.totals)), tuple(space.reduced)
    results = [at for _, at in stores]
    streamed = bool(rows) and rows[-1] and is_streamed(space.sizes, loads, results, scattered=sum(rows) > 1)
    nest = RowNest(len(space.sizes), loads, steps, stores, buffers, rows, totals, streamed=streamed)
    if streamed or totals or not renderer.written_out or sum(rows) != 1:
        return space, nest
    few = _along(nest, space) if rows[-1] else _side_by_side(nest, space)
    many = rows[-1] and not few and prod(space.sizes[:-1]) >= _ROWS
    return space, replace(nest, few=few, filled=many and _is_filled(nest, space))


def _along(nest: RowNest, space: _Space) -> int:
    """How long rows are that lie along memory, if these are many, and so short that it is told; else 0."""
    return space.few(_longest(nest, space.most())) if prod(space.sizes[:-1]) >= _ROWS else 0


def _longest(nest: RowNest, most: int) -> int:
    """How long rows may be that are told, of those of a map: longer ones make vectors themselves, or none at all.

    Rows of floats of which only extrema are taken are among those.
    """
    along = {dtype for dtype, dims in zip(nest.dtypes, nest.dims, strict=True) if dims & nest.within}
    extrema = {"max", "min"}
    quick = {"argmax", "argmin"} | (extrema if "float16" in along else set())
    ops = {step.op for step in nest.steps}
    simple, reductions = ops.isdisjoint(FUNCTIONS), ops.intersection(REDUCTIONS)
    is_quick = simple and reductions <= quick
    if nest.is_read_again and most > _FEW_BYTES:
        if simple and reductions <= extrema and not along.isdisjoint({*_FLOATS, "bfloat16"}):
            return _FEW_BYTES
        if not is_quick:
            return most
    floats, others = _READ_AGAIN if nest.is_read_again else _READ_ONCE
    return floats if along <= {*_FLOATS} and not is_quick else others


def _side_by_side(nest: RowNest, space: _Space) -> int:
    """How many rows lie side by side, if these are few, and read again or functions computed of them; else 0.

    Some that fill no half of a vector, or a quarter, gain only if there is much to do with them.
    """
    few = space.sizes[-1]
    functions = any(step.op in FUNCTIONS for step in nest.steps)
    least = 3 if functions else 4
    if not least <= few < _FILLED or not (nest.is_read_again or functions) or prod(space.sizes) < _ELEMENTS:
        return 0
    much = prod(space.sizes[d] for d in nest.within) >= _FILLED or functions
    return few if (much or few % 4 == 0) and _fill_vectors() else 0


def _fill_vectors() -> bool:
    """Whether a part of a vector is loaded and stored as quickly as all of it: where it has 512 bits."""
    return vectors().bytes == 64


def is_streamed(
    sizes: Sequence[int], loads: Sequence[Operand], stores: Sequence[Operand], scattered: bool = False
) -> bool:
    """Whether a result is so large that it goes past the caches, and lies as it is computed.

    Args:
        scattered: Whether rows lie in parts far from each other: results would drive these out of caches.
    """
    taken = [prod(sizes[d] for d in at.dims) * DTYPE_SIZES[at.dtype] for at in (*loads, *stores)]
    given = zip(stores, taken[len(loads) :], strict=True)
    largest = max((size for at, size in given if at.strides and at.strides[-1] == "1"), default=0)
    return largest >= _STREAMED and (scattered or sum(taken) >= _UNHELD)


class _Space:
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

    def most(self) -> int:
        """How long a last loop of a map may be that is told."""
        dtypes = [dtype for dtype, _ in self.program.loads] + [dtype for _, dtype, _, _ in self.program.steps]
        sizes = [DTYPE_SIZES[dtype] for dtype in dtypes]
        if self.sizes and _FEW < self.sizes[-1] <= _FILLED and _fill_vectors():
            return _FILLED - (8 in sizes)
        return _FEW_BYTES if all(size == 1 for size in sizes) else _FEW

    def few(self, most: int) -> int:
        """The length of the last loop, if it is short and neighbours along a long one before it lie side by side."""
        few = self.sizes[-1] if len(self.sizes) > 1 else 0
        if not 1 < few <= most or self.sizes[-2] < _MANY:
            return 0
        return few if all(self.strides(x)[-2] in (0, 1, few) for x in self.operand_layouts) else 0

    def told(self, layout: Layout) -> Told:
        return Told(layout.offset, tuple([s for s in self.strides(layout) if s not in (0, 1)]))

    def operand(self, dtype: str, layout: Layout) -> Operand:
        return Operand(dtype, tuple("0" if s == 0 else "1" if s == 1 else "s" for s in self.strides(layout)))

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


def _numbered(
    program: ScalarProgram | RowProgram | JointProgram, space: _Space
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


def _position(position: Position, space: _Space, emit: Callable[..., int]) -> int:
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
