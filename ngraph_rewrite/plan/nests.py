# SPDX-License-Identifier: Apache-2.0
"""A group of terms becomes a scalar program over an index space: loads with strides, then scalar steps."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.plan.fusion import Groups, is_scalar_constant
from ngraph_rewrite.plan.kinds import LEAF, MAP, VIEW
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, known
from ngraph_rewrite.plan.views import IDENTITIES, Layout, Load, row_major, view
from ngraph_rewrite.terms.op import Op

# A load or a step of a program: the number of the step, or of the load less one and negative.
Value = int
# What it does, its dtype, its operands, and what else it needs to know: a literal, a length, a position.
ScalarStep = tuple[str, str, tuple[Value, ...], object]


class CopyFirst(Exception):
    """Terms whose elements no strides can name: they have to be in memory by themselves."""

    def __init__(self, *terms: Op) -> None:
        super().__init__(*terms)
        self.terms = terms


def resolve(term: Op, groups: Groups) -> Load:
    """The memory a term lies in and the layout of its elements there.

    Raises:
        CopyFirst: if a view on the way needs its argument in memory.
    """
    found = located(term, groups)
    if isinstance(found, Load):
        return found
    raise CopyFirst(found)


def located(term: Op, groups: Groups) -> Load | Op:
    """As `resolve`, for those who go on if a view needs its argument in memory: that argument then."""
    known_layouts = groups.layouts
    found = known_layouts.get(term)
    if found is not None:
        return found
    path, kinds, group_of = [], groups.kinds, groups.group_of
    while found is None and kinds[term.definition] == VIEW and group_of.get(term) is not term:
        path.append(term)
        term = term.args[0]
        found = known_layouts.get(term)
    if found is None:
        found = known_layouts[term] = Load(term, row_major(known(term)))
    base, layout = found
    for step in reversed(path):
        seen = view(step, layout)
        if seen is None:
            return step.args[0]
        if seen is not layout:
            layout, found = seen, Load(base, seen)
        known_layouts[step] = found
    return found


class Position(NamedTuple):
    """The value ``offset + sum(stride * index)``: what an iota seen through views is."""

    layout: Layout
    dtype: str


class Body:
    """The scalar program of a group over the index space `shape`."""

    __slots__ = ("_same", "_values", "group", "groups", "loads", "shape", "steps")

    def __init__(self, shape: tuple[int, ...], groups: Groups, group: Op) -> None:
        self.shape, self.groups, self.group = shape, groups, group
        self.loads: list[Load] = []
        self.steps: list[ScalarStep] = []
        self._values: dict[Op | tuple[Op, tuple[Op, ...]], Value] = {}
        self._same: dict[Load | ScalarStep, Value] = {}

    def value(self, term: Op, path: tuple[Op, ...] = ()) -> Value:
        """The value of `term` seen through the views in `path` (the one next to the loops first)."""
        values, first, begun = self._values, term, path
        found = None if path else values.get(term)
        if found is not None:
            return found
        kinds, group_of = self.groups.kinds, self.groups.group_of
        kind = kinds[term.definition]
        while kind == VIEW and group_of.get(term) is not term:
            path = path if term.definition.name in IDENTITIES else (*path, term)
            term = term.args[0]
            kind = kinds[term.definition]
        key = (term, path) if path else term
        found = values.get(key)
        if found is None:
            if kind == MAP and (group_of.get(term) is self.group or term in self.groups.again):
                found = self._mapped(term, path)
            else:
                found = self._new(term, kind, path, (first, begun))
            values[key] = found
        return found

    def _new(self, term: Op, kind: str, path: tuple[Op, ...], start: tuple[Op, tuple[Op, ...]]) -> Value:
        """The value of what is no view nor map of the group.

        Args:
            start: What sees it by its own views, and through which others.
        """
        if kind != LEAF and self.groups.group_of.get(term) is self.group:
            inside = self._reduction(term, path)
            if inside is not None:
                return inside
        if kind == LEAF and is_scalar_constant(term):
            return self.step("constant", DTYPE_NAMES[term.type.dtype], (), term.attrs[0])
        load = located(start[0], self.groups)
        if not isinstance(load, Load):
            raise CopyFirst(load)
        if start[1]:
            load = Load(term, self._seen(load.layout, start[1]))
        new = -len(self.loads) - 1
        found = self._same.setdefault(load, new)
        if found == new:
            self.loads.append(load)
        return found

    def _mapped(self, term: Op, path: tuple[Op, ...]) -> Value:
        """A value that is computed of others at the same index; most have one operand or two."""
        args, dtype = term.args, DTYPE_NAMES[term.type.dtype]
        if len(args) == 2:
            given: tuple[Value, ...] = self.value(args[0], path), self.value(args[1], path)
        elif args:
            given = tuple([self.value(arg, path) for arg in args])
        else:
            return self._source(term, path)
        return self.step(term.definition.short, dtype, given, None)

    def _reduction(self, term: Op, path: tuple[Op, ...]) -> Value | None:
        """A value that is found of a row, where loops go over rows; None if it is in memory."""
        return None

    def _source(self, term: Op, path: tuple[Op, ...]) -> Value:
        """A value that no memory holds."""
        name, dtype = term.definition.name, DTYPE_NAMES[term.type.dtype]
        if name == "semi.size":
            return self.step("constant", dtype, (), term.attribute("value"))
        if name == "semi.iota":
            axis, shape = term.attribute("axis"), known(term)
            layout = Layout(0, shape, tuple([int(k == axis) for k in range(len(shape))]))
            return self.step("position", dtype, (), Position(self._seen(layout, path), dtype))
        return self.step(term.definition.short, dtype, (), None)

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
        made = (op, dtype, operands, attribute)
        new = len(self.steps)
        found = self._same.setdefault(made, new)
        if found == new:
            self.steps.append(made)
        return found


__all__ = ["Body", "CopyFirst", "Load", "Position", "ScalarStep", "Value", "located", "resolve"]
