# SPDX-License-Identifier: Apache-2.0
"""A scalar program becomes a kernel: its loops are collapsed, and its text is rendered, once for each structure."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple

from ngraph_rewrite.codegen.loops import MapNest, RowNest
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.codegen.truths import BLOCK
from ngraph_rewrite.plan.nests import Position
from ngraph_rewrite.plan.numbers import constants
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.scalar_programs import JointProgram, RowProgram, ScalarProgram
from ngraph_rewrite.plan.shares import Grid, Share
from ngraph_rewrite.plan.spaces import Space, Told, numbered
from ngraph_rewrite.plan.told_loops import is_streamed, with_short_loop, with_short_rows
from ngraph_rewrite.plan.views import Layout

# Structures that are remembered: of programs with their lengths, and of kernels, which have none.
_PROGRAMS, _KERNELS = 1 << 12, 1 << 12
# Integers of a row whose sum is taken in other vectors than that of fewer: LLVM's steps are longer then.
_LONG = 512


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


@lru_cache(maxsize=_PROGRAMS)
def collapsed(program: ScalarProgram, renderer: Renderer) -> Collapsed:
    """The kernel of a program: store the value at every index."""
    steps, numbers, literals = constants(program.steps)
    program = forward(program._replace(steps=steps))
    space = Space(program, [program.store], [False] * len(program.shape))
    loads = space.operands()
    buffers = tuple(len(loads) if same else i for i, same in enumerate(program.in_place)) + (len(loads),)
    number, done = numbered(program, space)
    store = space.operand(program.dtype, program.store)
    streamed = not any(program.in_place) and bool(steps) and is_streamed(space.sizes, loads, [store])
    stores = ((number(program.value), store),)
    nest = MapNest(len(space.sizes), loads, done, stores, buffers, streamed=streamed)
    nest = nest if streamed else with_short_loop(nest, space)
    source = _rendered(nest, literals, renderer, renderer.form(nest, space.sizes))
    share = space.share(nest, renderer)
    return Collapsed(source, space.sizes, space.loads(), (space.told(program.store),), share, numbers)


def forward(program: ScalarProgram) -> ScalarProgram:
    """The program with loops the other way round that go backwards through memory, but for the last one.

    What is turned by 90 degrees is then transposed in tiles, into rows that follow each other backwards.
    """
    last = max((k for k, n in enumerate(program.shape) if n > 1), default=0)
    steps = [{layout.strides[k] for _, layout in program.loads} - {0} for k in range(len(program.shape))]
    back = [k for k, n in enumerate(program.shape) if n > 1 and k != last and steps[k] == {-1}]
    if not back or any(isinstance(attribute, Position) for *_, attribute in program.steps):
        return program

    def laid(layout: Layout) -> Layout:
        offset = layout.offset + sum(layout.strides[k] * (program.shape[k] - 1) for k in back)
        return layout._replace(
            offset=offset, strides=tuple([-s if k in back else s for k, s in enumerate(layout.strides)])
        )

    loads = tuple([(dtype, laid(layout)) for dtype, layout in program.loads])
    return program._replace(loads=loads, store=laid(program.store))


@lru_cache(maxsize=_PROGRAMS)
def collapsed_joint(program: JointProgram, renderer: Renderer) -> Collapsed:
    """The kernel of several maps: store all their values at every index."""
    steps, numbers, literals = constants(program.steps)
    program = program._replace(steps=steps)
    layouts = [layout for _, _, layout in program.stores]
    space = Space(program, layouts, [False] * len(program.shape))
    number, done = numbered(program, space)
    stores = tuple((number(value), space.operand(dtype, layout)) for value, dtype, layout in program.stores)
    nest = MapNest(len(space.sizes), space.operands(), done, stores, program.buffers)
    nest = with_short_loop(nest, space)
    source = _rendered(nest, literals, renderer, renderer.form(nest, space.sizes))
    told, share = tuple(map(space.told, layouts)), space.share(nest, renderer)
    return Collapsed(source, space.sizes, space.loads(), told, share, numbers)


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


def _row_nest(program: RowProgram, renderer: Renderer) -> tuple[Space, RowNest]:
    reduced = [k in program.axes for k in range(len(program.shape))]
    space = Space(program, [layout for _, _, layout in program.stores], reduced)
    loads = space.operands()
    number, steps = numbered(program, space)
    stores = tuple((number(value), space.operand(dtype, layout)) for value, dtype, layout in program.stores)
    buffers = tuple(range(len(loads) + len(stores)))
    totals, rows = tuple(map(number, program.totals)), tuple(space.reduced)
    results = [at for _, at in stores]
    streamed = bool(rows) and rows[-1] and is_streamed(space.sizes, loads, results, scattered=sum(rows) > 1)
    integers = any(step.op == "sum" and step.dtype in ("int64", "uint64") for step in steps)
    truths = any(step.op in ("any", "all") for step in steps)
    least = _LONG if integers else BLOCK + 1
    long = (integers or truths) and bool(rows) and rows[-1] and space.sizes[-1] >= least
    told = {"streamed": streamed, "long": long, "parts": program.parts and rows.count(False) == 1}
    nest = RowNest(len(space.sizes), loads, steps, stores, buffers, rows, totals, **told)
    if streamed or totals or not renderer.written_out or sum(rows) != 1:
        return space, nest
    return space, with_short_rows(nest, space)
