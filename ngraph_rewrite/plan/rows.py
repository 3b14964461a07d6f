# SPDX-License-Identifier: Apache-2.0
"""A group over rows as a job: one kernel that reduces rows and computes with what it found about each.

Its index space is what the reductions reduce. What there is one of for each row, such as the result of a reduction, is
seen in it as repeated along the row; in any other way no pass over the row could use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from ngraph_rewrite.plan.collapsing import Collapsed, collapsed_rows
from ngraph_rewrite.plan.fusion import REDUCTIONS, Groups, RowGroup
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.matrices import Matrix
from ngraph_rewrite.plan.nests import Body, Load, Position, ScalarStep, Value
from ngraph_rewrite.plan.operands import Scratch
from ngraph_rewrite.plan.products import Product
from ngraph_rewrite.plan.reciprocals import has_fair_reciprocal, multiplied
from ngraph_rewrite.plan.renderer import Renderer
from ngraph_rewrite.plan.row_facts import thin
from ngraph_rewrite.plan.row_order import along_memory, inward, longest_first
from ngraph_rewrite.plan.scalar_programs import RowProgram
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, known
from ngraph_rewrite.plan.splitting import Split, split
from ngraph_rewrite.plan.views import Layout, row_major
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op

_NOTHING: Mapping[Op, Value] = MappingProxyType({})
# For each loop the place of a stride, if it moves.
_Places = tuple[int | None, ...]


class ScalarSteps(Protocol):
    """A scalar program with what it reads."""

    loads: list[Load]
    layouts: list[Layout]
    steps: list[ScalarStep]


class OutOfStep(Exception):
    """What a group reads of another row than the one it is at."""


class RowBody(Body):
    """The scalar program of a group over rows; reductions are steps of it."""

    __slots__ = ("_once", "_spread", "_varying", "axes")

    def __init__(self, rows: RowGroup, groups: Groups, group: Op) -> None:
        super().__init__(rows.shape, groups, group)
        self.axes = rows.axes
        self._varying: list[bool] = []  # for each step that was asked about
        self._spread = once_a_row(rows.shape, rows.axes)
        self._once = tuple(k for k in range(len(rows.shape)) if k not in rows.axes)

    def _reduction(self, term: Op, path: tuple[Op, ...]) -> Value | None:
        if term.definition.name not in REDUCTIONS:
            return None
        if not self._is_once(self._seen(row_major(known(term)), path)):
            raise OutOfStep
        return self._reduced(term)

    def _reduced(self, term: Op) -> Value:
        return self.step(
            term.definition.short, DTYPE_NAMES[term.type.dtype], (self.value(self.groups.reduced(term)),), None
        )

    def _is_once(self, seen: Layout) -> bool:
        """Whether each row sees its own number."""
        if seen == self._spread or 0 in self.shape:
            return True
        pairs = zip(self.shape, seen.strides, self._spread.strides, strict=True)
        return seen.offset == 0 and all(n == 1 or s == t for n, s, t in pairs)

    def step(self, op: str, dtype: str, operands: tuple[Value, ...], attribute: object) -> Value:
        """A new step, or an equal earlier one; a row is multiplied by a reciprocal where that does for a quotient."""
        if op == "divide" and has_fair_reciprocal(operands[1], self.steps):
            if self._varies(operands[0]) and not self._varies(operands[1]):
                return multiplied(operands[0], operands[1], dtype, partial(super().step, attribute=None))
        return super().step(op, dtype, operands, attribute)

    def _varies(self, value: Value) -> bool:
        """Whether a value is another one at each place of a row; found out for each step once, operands first."""
        if value < 0:
            return self._moves(self.loads[-value - 1].layout)
        for op, _, operands, attribute in self.steps[len(self._varying) : value + 1]:
            if isinstance(attribute, Position):
                self._varying.append(self._moves(attribute.layout))
            else:
                self._varying.append(f"semi.{op}" not in REDUCTIONS and any(map(self._varies, operands)))
        return self._varying[value]

    def _moves(self, layout: Layout) -> bool:
        """Whether a layout has another element at each place of a row."""
        return any(layout.strides[axis] for axis in self.axes)

    def output(self, term: Op) -> tuple[Value, Layout]:
        """The value of a term of the group, and how it is stored."""
        if term.definition.name in REDUCTIONS:
            return self._reduced(term), self._spread
        if known(term) == self.shape:
            return self.value(term), row_major(self.shape)
        views = list[Op]()
        if known(term) == thin(self.shape, self.axes):
            views.append(_viewed("semi.reshape", term, tuple([self.shape[k] for k in self._once])))
        views.append(_viewed("semi.broadcast", views[0] if views else term, self.shape, self._once))
        return self.value(term, tuple(reversed(views))), self._spread


def _viewed(name: str, term: Op, *attributes: Any) -> Op:
    """A view of a term, for the planner alone."""
    definition = lookup(name)
    attrs, type_ = definition.infer((term.type,), attributes)
    return Op(definition, (term,), attrs, type_)


@lru_cache(maxsize=1 << 12)
def once_a_row(shape: tuple[int, ...], axes: tuple[int, ...]) -> Layout:
    """Where what there is one of for each row lies, seen at every index.

    >>> once_a_row((2, 5, 3), (1,)).strides
    (3, 0, 1)
    """
    strides = iter(row_major(tuple(n for k, n in enumerate(shape) if k not in axes)).strides)
    return Layout(0, shape, tuple(0 if k in axes else next(strides) for k in range(len(shape))))


def row_program(body: RowBody, rows: RowGroup) -> RowProgram:
    """All that decides the kernel of a group over rows.

    Raises:
        OutOfStep: if it needs of one row what was found about another.
        CopyFirst: if a view in it needs its argument in memory.
    """
    found = [(body.output(term), DTYPE_NAMES[term.type.dtype]) for term in rows.outputs if term not in rows.totals]
    stores = tuple([(value, dtype, layout) for (value, layout), dtype in found])
    totals = tuple([body.value(term.args[0]) for term in rows.totals])
    loads = tuple([(DTYPE_NAMES[base.type.dtype], layout) for base, layout in body.loads])
    return along_memory(inward(RowProgram(body.shape, loads, tuple(body.steps), stores, body.axes, totals)))


def _totalling(rows: RowGroup, chunks: int, stride: int) -> RowProgram:
    """What makes sums over all rows of those of the chunks, which lie so many float64 apart."""
    row = tuple([n for k, n in enumerate(rows.shape) if k in rows.axes])
    shape, strides = (chunks, *row), row_major(row).strides
    steps: list[ScalarStep] = []
    stores = []
    for i, term in enumerate(rows.totals):
        dtype = DTYPE_NAMES[term.type.dtype]
        steps += [("sum", "float64", (-i - 1,), None), ("cast", dtype, (len(steps),), None)]
        stores.append((len(steps) - 1, dtype, Layout(0, shape, (0, *strides))))
    loads = (("float64", Layout(0, shape, (stride, *strides))),) * len(rows.totals)
    return RowProgram(shape, loads, tuple(steps), tuple(stores), (0,))


class Kernels(NamedTuple):
    """The kernels of a job over rows, of one step or two.

    Attributes:
        spare: Their workspaces, then the memory of sums over all rows: those of each kernel.
        split: What the steps are, if a reduction has two.
        partial: The memory of the results of parts, if so.
    """

    found: tuple[Collapsed, ...]
    spare: tuple[tuple[Scratch, ...], ...]
    split: Split | None = None
    partial: tuple[Scratch, ...] = ()


@dataclass(eq=False)
class RowJob(Job):
    """The job of a group over rows.

    Attributes:
        stored: The terms it stores.
        totals: Those that are sums over all rows.
        given: The product that it is, if it is one of single rows with single columns.
        inlined: What is computed by it and nowhere stored.
    """

    body: RowBody | None = None
    stored: tuple[Op, ...] = ()
    totals: tuple[Op, ...] = ()
    kernels: Kernels = Kernels((), ())
    given: Product | None = None
    inlined: tuple[Op, ...] = ()

    @property
    def is_one_map(self) -> bool:
        """It is none: rows are read more than once."""
        return False

    @property
    def outputs(self) -> tuple[Op, ...]:
        """The terms whose memory it fills."""
        return self.stored

    @property
    def scratch(self) -> tuple[Scratch, ...]:
        """The memory it needs beside its operands."""
        spare = [scratch for each in self.kernels.spare for scratch in each]
        return (*spare, *self.kernels.partial)

    def operands(self) -> list[Load]:
        """What it reads, worked out."""
        assert self.body is not None
        return self.body.loads


def row_job(term: Op, groups: Groups) -> RowJob:
    """The work that computes a group over rows.

    Raises:
        CopyFirst: if a view in it needs its argument in memory.
    """
    rows = groups.rows[term]
    if term in groups.programs:
        body, program = groups.programs.pop(term)  # a body knows the groups: a cycle that would keep the graph
    else:
        body = RowBody(rows, groups, term)
        program = row_program(body, rows)
    return RowJob(
        term, body=body, stored=rows.outputs, totals=rows.totals, kernels=_kernels(rows, program, groups.renderer)
    )


def thin_job(
    term: Op, given: Product, groups: Groups, program: ScalarSteps | None = None, stored: Mapping[Op, Value] = _NOTHING
) -> RowJob:
    """The work that computes products of single rows with single columns: sums over what both are.

    Args:
        program: What is computed of the products, which are its value -1; other loads follow them.
        stored: The terms that are stored, and their values; the product itself, if there are none.
    """
    (count, m, n, k), dtype = given.sizes, given.dtype
    rows = RowGroup((count, m, n, k), (3,), (term,))
    body = RowBody(rows, groups, term)
    left, right = _factor(body, given.a, (0, 1, None, 2)), _factor(body, given.b, (0, None, 2, 1))
    values = [body.step("sum", dtype, (body.step("multiply", dtype, (left, right), None),), None)]
    stored, once = stored or {term: -1}, once_a_row(body.shape, rows.axes)
    if program is not None:
        values += [
            _load(body, load, at, (0, 1, 2, None)) for load, at in zip(program.loads, program.layouts, strict=True)
        ]
    numbers = _steps(body, () if program is None else program.steps, values)
    stores = tuple([(numbers(value), DTYPE_NAMES[one.type.dtype], once) for one, value in stored.items()])
    loads = tuple([(DTYPE_NAMES[base.type.dtype], layout) for base, layout in body.loads])
    whole = RowProgram(body.shape, loads, tuple(body.steps), stores, rows.axes)
    kernels, first = _kernels(rows, whole, groups.renderer), next(iter(stored))
    return RowJob(first, body=body, stored=tuple(stored), kernels=kernels, given=given)


def _factor(body: RowBody, matrix: Matrix, places: _Places) -> Value:
    """An operand of a product, whose matrices, rows and columns are these loops: what is in memory, or is computed."""
    found = matrix.map
    if found is None:
        (base, layout), strides = matrix.load, matrix.strides
        return _load(body, Load(base, layout), Layout(layout.offset, (), strides), places)
    if found.turned:
        places = tuple([None if p is None else (0, 2, 1)[p] for p in places])
    values = [_load(body, load, at, places) for load, at in zip(found.loads, found.layouts, strict=True)]
    return _steps(body, found.steps, values)(found.value)


def _load(body: RowBody, load: Load, layout: Layout, places: _Places) -> Value:
    """A load whose strides are those of a layout at these places, for each loop."""
    strides = tuple([0 if p is None else layout.strides[p] for p in places])
    body.loads.append(Load(load.base, Layout(layout.offset, body.shape, strides)))
    return -len(body.loads)


def _steps(body: RowBody, steps: Iterable[ScalarStep], loads: Sequence[Value]) -> Callable[[Value], Value]:
    """Add steps to those of a body; what their values, of which these are the loads, are in it."""
    numbers: list[Value] = []

    def number(value: Value) -> Value:
        return numbers[value] if value >= 0 else loads[-value - 1]

    for op, dtype, operands, attribute in steps:
        numbers.append(body.step(op, dtype, tuple(map(number, operands)), attribute))
    return number


def _kernels(rows: RowGroup, program: RowProgram, renderer: Renderer) -> Kernels:
    program = longest_first(program) if renderer.outermost else program
    if rows.totals:
        whole = collapsed_rows(program, renderer)
        ends = collapsed_rows(_totalling(rows, whole.share.chunks, whole.workspaces[-1] // 8), renderer)
        return Kernels((whole, ends), (_spare(whole, len(rows.totals)), _spare(ends)))
    steps = split(program, renderer)
    if steps is None:
        whole = collapsed_rows(program, renderer)
        return Kernels((whole,), (_spare(whole),))
    found = tuple([collapsed_rows(one, renderer) for one in (*steps.parts, steps.ends)])
    return Kernels(found, tuple(map(_spare, found)), steps, tuple(map(Scratch, steps.sizes)))


def _spare(kernel: Collapsed, totals: int = 0) -> tuple[Scratch, ...]:
    """Workspaces, and in the end so many that hold what each chunk has found when all of them are done."""
    chunks, first = kernel.share.chunks, len(kernel.workspaces) - totals
    own = [Scratch(size, chunks) for size in kernel.workspaces[:first]]
    return (*own, *(Scratch(size * chunks) for size in kernel.workspaces[first:]))
