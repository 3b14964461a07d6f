# SPDX-License-Identifier: Apache-2.0
"""A product of matrices with maps as a job: one launch, in which they are the epilogue of the product, or operands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ngraph_rewrite.codegen.epilogue import render_prologue
from ngraph_rewrite.codegen.library_products import render_gemm
from ngraph_rewrite.codegen.loops import MapNest, Operand, Step
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.launches import Work, address, called
from ngraph_rewrite.plan.nests import Load, ScalarStep, Value
from ngraph_rewrite.plan.numbers import attributes, constants
from ngraph_rewrite.plan.operand_maps import OperandMap
from ngraph_rewrite.plan.operands import Ref, Scratch
from ngraph_rewrite.plan.products import EPILOGUE, MAP_PLACES, Product
from ngraph_rewrite.plan.renderer import Epilogues
from ngraph_rewrite.plan.shapes import DTYPE_NAMES
from ngraph_rewrite.plan.views import Layout, reshaped, row_major
from ngraph_rewrite.terms.op import Op

# What keeps its place.
_LASTING = ("core.placeholder", "core.constant")


class EpilogueProgram:
    """Scalar steps over the rows and columns of a product, which is the value -1; other loads follow it.

    Args:
        given: The product, its rows those of the loops.
        layout: Where its elements are for the loops, in the memory that it would have.
    """

    def __init__(self, term: Op, given: Product | Convolution, layout: Layout) -> None:
        count, m, n, _ = given.sizes
        self.shape = (count, m, n)
        self.loads: list[Load] = []
        self.layouts: list[Layout] = []
        self.steps: list[ScalarStep] = []
        self.values: dict[Op, Value] = {term: -1}
        self._places = {term: layout}
        self._same: dict[Load | ScalarStep, Value] = {}

    def takes(self, job: Job) -> bool:
        """Add a map, and say so; or leave all as it is."""
        body = job.pieces[0].body
        found: list[Layout] = []
        for base, layout in body.loads:
            seen = _by_rows(layout, self.shape)
            if seen is None or (base in self.values and not is_same(seen, self._places[base])):
                return False
            found.append(seen)
        values = [self._loaded(load, seen) for load, seen in zip(body.loads, found, strict=True)]
        numbers: list[Value] = []
        for op, dtype, operands, attribute in body.steps:
            given = tuple([numbers[v] if v >= 0 else values[-v - 1] for v in operands])
            numbers.append(self._step((op, dtype, given, attribute)))
        value = job.pieces[0].value
        self.values[job.term] = numbers[value] if value >= 0 else values[-value - 1]
        self._places[job.term] = row_major(self.shape)
        return True

    def _loaded(self, load: Load, seen: Layout) -> Value:
        value = self.values.get(load.base)
        if value is None:
            value = self._same.get(load)
        if value is None:
            self.loads.append(load)
            self.layouts.append(seen)
            value = self._same[load] = -1 - len(self.loads)
        return value

    def _step(self, step: ScalarStep) -> Value:
        found = self._same.get(step)
        if found is None:
            found = self._same[step] = len(self.steps)
            self.steps.append(step)
        return found


@lru_cache(maxsize=1 << 12)
def _by_rows(layout: Layout, shape: tuple[int, ...]) -> Layout | None:
    """A layout by matrices, rows and columns, if strides can say it."""
    return reshaped(layout, shape)


def is_same(one: Layout, other: Layout) -> bool:
    """Whether both have the same element at each index."""
    pairs = zip(one.shape, one.strides, other.strides, strict=True)
    return one.offset == other.offset and all(n <= 1 or s == t for n, s, t in pairs)


@dataclass(eq=False)
class ProductJob(Job):
    """A product, maps over it and operands that are maps.

    Attributes:
        given: The product, its rows those of the maps.
        program: What is computed of it; None if it is the product alone that is stored.
        stored: The terms that are stored, and their values.
        inlined: The product, if it is not stored; the operands that are not.
        there: Whether the product is put where the first term is stored, and becomes that there.
    """

    given: Product | Convolution | None = None
    program: EpilogueProgram | None = None
    stored: Mapping[Op, Value] = field(default_factory=dict)
    inlined: tuple[Op, ...] = ()
    there: bool = False

    @property
    def outputs(self) -> tuple[Op, ...]:
        """The terms whose memory it fills."""
        return tuple(self.stored)

    @property
    def in_step(self) -> list[Load]:
        """What it reads only at the very element that it stores then."""
        if self.program is None or self.there:
            return []
        assert self.given is not None
        factors = [load.base for load in (*self.given.factors, *self._mapped)]
        return [load for load in self.program.loads if load.base not in factors]

    def operands(self) -> list[Load]:
        """What it reads, worked out."""
        own = [] if self.program is None else self.program.loads
        return [*super().operands(), *self._mapped, *own]

    @property
    def _mapped(self) -> list[Load]:
        """What operands are computed of."""
        found = self.given.operand_maps if isinstance(self.given, Product) else ()
        return [load for map_ in found if map_ is not None for load in map_.loads]


def lies_there(given: Product | Convolution, program: EpilogueProgram, stored: Mapping[Op, Value]) -> bool:
    """Whether a product is put where a program stores its first term, which is of the same dtype.

    That saves workspace. But a term may take the place of what the program reads in step, which saves more.
    """
    if not isinstance(given, Product) or not given.is_summed_at_once:
        return False
    dtype, plain = next(iter(stored)).type.dtype, row_major(program.shape)
    own = [
        layout._replace(offset=0)
        for (base, _), layout in zip(program.loads, program.layouts, strict=True)
        if base.definition.name not in _LASTING and base.type.dtype.itemsize == dtype.itemsize
    ]
    return DTYPE_NAMES[dtype] == given.dtype and not any(is_same(layout, plain) for layout in own)


# -- launches -------------------------------------------------------------------------------------------


def product_work(job: ProductJob, home: Mapping[Op | Scratch, Ref], epilogues: Epilogues) -> list[Work]:
    """The launches of a product; the last one has the epilogue, that of the product itself the operands."""
    targets, found = [home[term] for term in job.stored], list[Work]()
    others = tuple(list(zip(job.stored, targets, strict=True))[1:])
    for call in job.calls:
        is_last = call is job.calls[-1]
        given, refs = called(job, call, home, targets[0])
        source, parts = call.source, call.parts
        if is_last and job.program is not None:
            epilogue = _with_epilogue(job, home, epilogues, given, refs)
            if epilogues.is_called:
                given[call.arguments.index(EPILOGUE)] = Ref("kernel", epilogue)
                parts = (*parts, epilogue)
            else:
                source = epilogue
        if isinstance(call.given, Product) and call.source is render_gemm():
            for place, map_ in zip(MAP_PLACES, call.given.operand_maps, strict=True):
                if map_ is not None:
                    parts = (*parts, _with_operand(job, home, map_, place, given, refs))
        shown = others if is_last else ()
        found.append(Work(source, tuple(given), job.term, targets[0], call.share, tuple(refs), parts, shown))
    return found


def _with_epilogue(
    job: ProductJob, home: Mapping[Op | Scratch, Ref], epilogues: Epilogues, given: list[Any], refs: list[int]
) -> Source:
    """The epilogue of a product, whose arguments are noted."""
    program = job.program
    assert program is not None and job.given is not None
    targets = [home[term] for term in job.stored]
    places, plain = [address(job, load, home) for load in program.loads], row_major(program.shape)
    count = len(places) + 1
    loads, stores, buffers = list[_Operand](), list[tuple[int, _Operand]](), [count if job.there else 0]
    for number, ((base, _), layout, place) in enumerate(zip(program.loads, program.layouts, places, strict=True), 1):
        loads.append(_operand(base, layout, place, given, refs))
        in_place = place in targets and is_same(layout._replace(offset=0), plain)
        buffers.append(count + targets.index(place) if in_place else number)
    for number, ((term, value), target) in enumerate(zip(job.stored.items(), targets, strict=True), count):
        stores.append((value, _operand(term, plain, target, given, refs)))
        buffers.append(number)
    how = (epilogues, epilogues.form(job.given), job.given.dtype)
    source, numbers = _epilogue(*how, tuple(loads), tuple(program.steps), tuple(stores), tuple(buffers))
    given += numbers
    return source


def _with_operand(
    job: ProductJob, home: Mapping[Op | Scratch, Ref], map_: OperandMap, place: int, given: list[Any], refs: list[int]
) -> Source:
    """What computes an operand of a product; where it is, and its arguments, are noted."""
    told = 8 * len(given)
    operands = zip(map_.loads, map_.layouts, strict=True)
    loads = tuple([_operand(load.base, at, address(job, load, home), given, refs) for load, at in operands])
    assert isinstance(job.given, Product)
    follows = place == MAP_PLACES[1] and not map_.turned
    source, numbers = _prologue(job.given.multiplied, loads, map_.steps, map_.value, follows)
    given += numbers
    given[place : place + 2] = Ref("kernel", source), told
    refs.append(place)
    return source


# Strides of what lies row by row.
_IN_ROWS = ("s", "1")
# The dtype of an operand, and its strides as a nest has them.
_Operand = tuple[str, tuple[str, ...]]
# A kernel, and constants that it is told.
_Told = tuple[Source, tuple[int, ...]]


def _operand(term: Op, layout: Layout, place: Ref, given: list[Any], refs: list[int]) -> _Operand:
    """An operand of the epilogue, whose arguments are noted."""
    batch, unknown, names = _strides(layout.strides)
    refs.append(len(given))
    given += (place, batch, *unknown)
    return DTYPE_NAMES[term.type.dtype], names


@lru_cache(maxsize=1 << 12)
def _strides(strides: tuple[int, ...]) -> tuple[int, tuple[int, ...], tuple[str, ...]]:
    """The stride from matrix to matrix, those of rows and columns that a kernel does not know, and what it does."""
    batch, *inner = strides
    names = tuple(["0" if s == 0 else "1" if s == 1 else "s" for s in inner])
    return batch, tuple([s for s in inner if s not in (0, 1)]), names


@lru_cache(maxsize=1 << 12)
def _epilogue(
    epilogues: Epilogues,
    form: Hashable,
    dtype: str,
    loads: tuple[_Operand, ...],
    steps: tuple[ScalarStep, ...],
    stores: tuple[tuple[Value, _Operand], ...],
    buffers: tuple[int, ...],
) -> _Told:
    """The epilogue with these operands: the product comes first, then the loads, then the steps."""
    steps, numbers, literals = constants(steps)
    done, number = _numbered(steps, len(loads) + 1)
    operands_of = (Operand(dtype, _IN_ROWS), *(Operand(*load) for load in loads))
    stored = tuple((number(value), Operand(*store)) for value, store in stores)
    nest = MapNest(2, operands_of, done, stored, buffers)
    return epilogues.render(form, nest, literals), numbers


@lru_cache(maxsize=1 << 12)
def _prologue(
    dtype: str, loads: tuple[_Operand, ...], steps: tuple[ScalarStep, ...], value: Value, follows: bool
) -> _Told:
    """What computes an operand of a dtype of these."""
    steps, numbers, literals = constants(steps)
    done, number = _numbered(steps, len(loads))
    stored = ((number(value), Operand(dtype, _IN_ROWS)),)
    nest = MapNest(2, tuple(Operand(*load) for load in loads), done, stored, tuple(range(len(loads) + 1)))
    return render_prologue(nest, literals, follows), numbers


def _numbered(steps: tuple[ScalarStep, ...], first: int) -> tuple[tuple[Step, ...], Callable[[Value], int]]:
    """The steps of a nest, and the numbers that its values have if steps begin with `first`."""

    def number(value: Value) -> int:
        return value + first if value >= 0 else -value - 1

    found = list[Step]()
    for op, kind, operands, attribute in steps:
        found.append(Step(op, kind, tuple(map(number, operands)), tuple(attributes(op, attribute).items())))
    return tuple(found), number
