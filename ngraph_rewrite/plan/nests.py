# SPDX-License-Identifier: Apache-2.0
"""A group of terms becomes a loop nest: loads with strides, scalar steps, stores; dimensions collapsed.

Neighbouring loops along which every operand is one stretch are one loop, and loops of length 1 vanish: an
elementwise group over contiguous operands is one loop whatever its rank, a reduction at most two or three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.loops import MapNest, Operand, ReduceNest, Step
from ngraph_rewrite.plan.fusion import Groups, is_elementwise, is_leaf, is_scalar_constant
from ngraph_rewrite.plan.views import IDENTITIES, Layout, is_view, row_major, view
from ngraph_rewrite.terms.op import Op


class CopyFirst(Exception):
    """A term whose elements no strides can name: it has to be in memory by itself."""

    def __init__(self, term: Op) -> None:
        super().__init__(term)
        self.term = term


class Load(NamedTuple):
    """An operand: the term whose memory it is, and where its elements lie for the loops."""

    base: Op
    layout: Layout


@dataclass(frozen=True)
class Value:
    """A load or a step, by its number of its kind: loads are numbered before steps in the end."""

    kind: str
    number: int


class _Position(NamedTuple):
    """The value ``offset + sum(stride * index)``: what an iota seen through views is."""

    layout: Layout
    dtype: str


@dataclass
class Body:
    """The scalar program of a group over the index space `shape`."""

    shape: tuple[int, ...]
    groups: Groups
    group: Op
    loads: list[Load] = field(default_factory=list)
    steps: list[tuple[str, str, tuple[Value, ...], object]] = field(default_factory=list)
    _values: dict[tuple[Op, tuple[Op, ...]], Value] = field(default_factory=dict)
    _same: dict[object, Value] = field(default_factory=dict)

    def value(self, term: Op, path: tuple[Op, ...] = ()) -> Value:
        """The value of `term` seen through the views in `path` (the one next to the loops first)."""
        while is_view(term) and self.groups.group_of.get(term) is not term:
            path = path if term.definition.name in IDENTITIES else (*path, term)
            term = term.args[0]
        key = (term, path)
        if key not in self._values:
            self._values[key] = self._new(term, path)
        return self._values[key]

    def _new(self, term: Op, path: tuple[Op, ...]) -> Value:
        dtype = term.dtype.name
        if is_scalar_constant(term):
            return self.step("constant", dtype, (), term.attrs[0])
        inside = term is self.group or self.groups.group_of.get(term) is self.group
        if term.definition.name == "semi.size" and inside:
            return self.step("constant", dtype, (), term.attribute("value"))
        if term.definition.name == "semi.iota" and inside:
            axis = term.attribute("axis")
            shape = _known(term.shape)
            layout = Layout(0, shape, tuple(int(k == axis) for k in range(len(shape))))
            return self.step("position", dtype, (), _Position(self._seen(layout, path), dtype))
        if is_elementwise(term) and inside and not is_leaf(term):
            args = tuple(self.value(a, path) for a in term.args)
            return self.step(term.definition.short, dtype, args, None)
        load = Load(term, self._seen(row_major(_known(term.shape)), path))
        return self._once(("load", load), lambda: self._load(load))

    def _load(self, load: Load) -> Value:
        self.loads.append(load)
        return Value("load", len(self.loads) - 1)

    def _seen(self, layout: Layout, path: tuple[Op, ...]) -> Layout:
        """The layout after the views in `path`, the innermost (last) applied first."""
        for step in reversed(path):
            seen = view(step, layout)
            if seen is None:
                raise CopyFirst(step.args[0])
            layout = seen
        return layout

    def step(self, op: str, dtype: str, operands: tuple[Value, ...], attribute: object) -> Value:
        """A new step, or an equal earlier one."""
        return self._once((op, dtype, operands, attribute), lambda: self._add(op, dtype, operands, attribute))

    def _add(self, op: str, dtype: str, operands: tuple[Value, ...], attribute: object) -> Value:
        self.steps.append((op, dtype, operands, attribute))
        return Value("step", len(self.steps) - 1)

    def _once(self, key: object, make: Callable[[], Value]) -> Value:
        if key not in self._same:
            self._same[key] = make()
        return self._same[key]


def _known(shape: Sequence[object]) -> tuple[int, ...]:
    return tuple(int(n) for n in shape)  # type: ignore[call-overload]


class Nest(NamedTuple):
    """A nest ready to be rendered, with the run-time numbers its kernel takes."""

    nest: MapNest | ReduceNest
    sizes: tuple[int, ...]
    loads: tuple[Load, ...]
    store: Layout


def map_nest(body: Body, result: Value, store: Layout, dtype: str, in_place: Sequence[bool] = ()) -> Nest:
    """Store `result` at every index; loads for which `in_place` is true are the stored memory."""
    space = _Space(body, [store], [False] * len(body.shape))
    loads = tuple(space.operand(load.base.dtype.name, load.layout) for load in body.loads)
    places = [*(in_place or [False] * len(loads))]
    buffers = tuple(len(loads) if same else i for i, same in enumerate(places)) + (len(loads),)
    number, steps = _numbered(body, space)
    nest = MapNest(
        len(space.sizes), loads, steps, ((number[result], space.operand(dtype, store)),), buffers
    )
    return Nest(nest, space.sizes, space.loads(), space.collapsed(store))


def reduce_nest(body: Body, kind: str, value: Value, axes: Sequence[int], store: Layout, dtype: str) -> Nest:
    """Reduce `value` over the loops `axes`, and store the result over the others."""
    reduced = [k in axes for k in range(len(body.shape))]
    strides = iter(store.strides)
    spread = Layout(store.offset, body.shape, tuple(0 if r else next(strides) for r in reduced))
    space = _Space(body, [spread], reduced)
    loads = tuple(space.operand(load.base.dtype.name, load.layout) for load in body.loads)
    number, steps = _numbered(body, space)
    result = len(loads) + len(steps)
    nest = ReduceNest(
        len(space.sizes),
        loads,
        steps,
        ((result, space.operand(dtype, spread)),),
        tuple(range(len(loads) + 1)),
        tuple(space.reduced),
        ((kind, number[value]),),
    )
    return Nest(nest, space.sizes, space.loads(), space.collapsed(spread))


class _Space:
    """The collapsed loops of a body: how each dimension of each layout maps to them."""

    def __init__(self, body: Body, stores: Sequence[Layout], reduced: Sequence[bool]) -> None:
        self.body = body
        positions = [a.layout for op, _, _, a in body.steps if op == "position" and isinstance(a, _Position)]
        layouts = [load.layout for load in body.loads] + positions + list(stores)
        self.groups = _stretches(body.shape, [x.strides for x in layouts], reduced)
        self.sizes = tuple(prod(body.shape[d] for d in g) for g in self.groups)
        self.reduced = [reduced[g[0]] for g in self.groups]

    def strides(self, layout: Layout) -> tuple[int, ...]:
        """The strides of a layout for the collapsed loops: those of the last dimension of each stretch."""
        return tuple(layout.strides[g[-1]] for g in self.groups)

    def collapsed(self, layout: Layout) -> Layout:
        return Layout(layout.offset, self.sizes, self.strides(layout))

    def operand(self, dtype: str, layout: Layout) -> Operand:
        return Operand(dtype, tuple("0" if s == 0 else "1" if s == 1 else "s" for s in self.strides(layout)))

    def loads(self) -> tuple[Load, ...]:
        return tuple(Load(x.base, self.collapsed(x.layout)) for x in self.body.loads)


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


def _numbered(body: Body, space: _Space) -> tuple[dict[Value, int], tuple[Step, ...]]:
    """Steps with the numbers loops.py wants: loads first, then steps; a position becomes arithmetic."""
    number = {Value("load", i): i for i in range(len(body.loads))}
    steps: list[Step] = []

    def emit(op: str, dtype: str, operands: tuple[int, ...] = (), **attributes: object) -> int:
        steps.append(Step(op, dtype, operands, tuple(attributes.items())))
        return len(body.loads) + len(steps) - 1

    for i, (op, dtype, operands, attribute) in enumerate(body.steps):
        if op == "position":
            assert isinstance(attribute, _Position)
            found = _position(attribute, space, emit)
        elif op == "constant":
            found = emit("constant", dtype, value=getattr(attribute, "scalar", attribute))
        else:
            found = emit(op, dtype, tuple(number[v] for v in operands))
        number[Value("step", i)] = found
    return number, tuple(steps)


def _position(position: _Position, space: _Space, emit: Callable[..., int]) -> int:
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
