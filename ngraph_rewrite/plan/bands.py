# SPDX-License-Identifier: Apache-2.0
"""A loop by bands of samples: what a step does with some rows of all states, if it needs no others for these.

Threads that share each step of a recurrence wait for each other in every one, and pass on what they computed. Samples
know nothing of each other: a band of them goes through all steps in one thread, without a wait.

The body for a band is the body with fewer rows. From what it assigns and returns, the rows are followed back through
all terms to states and arguments: a term has a row for each sample along some axis, or it is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from ngraph_rewrite.plan.closing import LoopBody
from ngraph_rewrite.plan.scan_changes import made_like
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.rewriting.attributes_positions import others
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.tensor import TensorType

# Rows of a band, at least: tiles of products have 14, and a line of memory belongs to one band.
_ROWS, _MOST = 16, 64
# Bytes of what is the same for all: each thread reads it in each step, so it has to stay in its own cache.
_SHARED = 1 << 19
# So many times more is computed for samples than all bands repeat for themselves.
_REPEATED = 8


class Banded(NamedTuple):
    """A loop by bands.

    Attributes:
        bands: The first row of each, and its body.
        origins: What terms of these bodies are with all rows.
    """

    bands: tuple[tuple[int, LoopBody], ...]
    origins: Mapping[Op, Op]


class _Mixed(Exception):
    """Rows depend on each other, or nothing is known of a term."""


def banded(body: LoopBody, results: Sequence[tuple[int, Op]]) -> Banded | None:
    """A loop by bands, if there are several, decided by shapes alone.

    Args:
        results: Those that are read.
    """
    every = [*(variable for _, variable in body.states), *(result for _, result in results)]
    rows = {known(term)[:1] for term in every}
    count = min(next(iter(rows))[0] // _ROWS, _MOST) if len(rows) == 1 and () not in rows else 0
    if count < 2:
        return None
    (length,) = rows.pop()
    ends = [length * i // count for i in range(count + 1)]
    try:
        rows_of = _Rows(body, results)
    except _Mixed:
        return None
    if rows_of.bytes > _SHARED or _REPEATED * (count - 1) * rows_of.repeated > rows_of.computed:
        return None
    cuts = {n: _Cut(rows_of, n) for n in {end - first for first, end in zip(ends, ends[1:], strict=False)}}
    origins = {new: old for cut in cuts.values() for (old, _), new in cut.made.items()}
    return Banded(tuple([(first, cuts[end - first].body) for first, end in zip(ends, ends[1:], strict=False)]), origins)


class _Step(NamedTuple):
    """How a term has its rows: the axis along which each argument has them, if it does, and attributes that change."""

    axes: tuple[int | None, ...]
    changed: Mapping[str, Any] = {}


class _Rows:
    """Along which axes the terms of a body have rows.

    Attributes:
        order: All terms, arguments first.
        axes: By term, those along which rows of it are wanted.
        steps: By a term and one of these, if it is no source.
        shared: What has to be the same for all samples.

    Raises:
        _Mixed: if rows depend on others.
    """

    def __init__(self, body: LoopBody, results: Sequence[tuple[int, Op]]) -> None:
        self.body, self.results = body, results
        self.states = {variable for _, variable in body.states}
        self.leaves = self.states.union(body.slices, body.captured)
        read = [term for _, term in results]
        self.order = topological([*read, *self.states, *body.writes])
        self.axes: dict[Op, set[int]] = {term: {0} for term in (*read, *self.states)}
        self.axes |= {write.args[1]: {0} for write in body.writes}
        self.steps: dict[tuple[Op, int], _Step] = {}
        self.shared = set[Op]()
        self._follow()

    def _follow(self) -> None:
        whole = set[Op]()
        for term in reversed(self.order):
            if term in whole:
                self._share(term)
                whole.update(term.args)
            for axis in () if term.definition.name == "core.assign" else self.axes.get(term, ()):
                if term in self.leaves:
                    if axis:
                        raise _Mixed  # its rows lie apart
                    continue
                step = self.steps[term, axis] = _step(term, axis)
                for arg, own in zip(term.args, step.axes, strict=True):
                    if own is None:
                        whole.add(arg)
                    else:
                        self.axes.setdefault(arg, set()).add(own)
        if any(term in self.leaves and term in self.axes for term in self.shared):
            raise _Mixed

    def _share(self, term: Op) -> None:
        if term in self.states or "draw" in term.definition.traits:
            raise _Mixed
        self.shared.add(term)

    @property
    def bytes(self) -> int:
        """Of arguments that are the same for all samples."""
        return sum(prod(known(term)) * term.dtype.itemsize for term in self.leaves & self.shared)

    @property
    def repeated(self) -> int:
        """How many numbers each band computes of these alone."""
        return _numbers(self.shared)

    @property
    def computed(self) -> int:
        """How many numbers are computed for all samples."""
        return _numbers(term for term, _ in self.steps)


def _numbers(terms: Iterable[Op]) -> int:
    return sum(prod(known(term)) for term in terms if not term.definition.traits & {"view", "source"})


class _Cut:
    """The terms of a body with so many rows.

    Attributes:
        made: By a term and the axis along which it has its rows.
        body: The body.
    """

    def __init__(self, given: _Rows, rows: int) -> None:
        self._rows = rows
        self.made: dict[tuple[Op, int], Op] = {}
        for term in given.order:
            for axis in given.axes.get(term, ()):
                self.made[term, axis] = self._cut(term, axis, given)
        body, made = given.body, self.made
        self.body = replace(
            body,
            states=tuple([(number, made[variable, 0]) for number, variable in body.states]),
            slices=tuple([made.get((leaf, 0), leaf) for leaf in body.slices]),
            captured=tuple([made.get((leaf, 0), leaf) for leaf in body.captured]),
            writes=tuple([self._assigned(write) for write in body.writes]),
            results=tuple([(number, made[term, 0]) for number, term in given.results]),
        )

    def _cut(self, term: Op, axis: int, given: _Rows) -> Op:
        if term in given.leaves:
            return self._sized(term, axis, uid=Uid())
        step = given.steps[term, axis]
        if not term.args:
            return self._sized(term, axis)
        args = [a if own is None else self.made[a, own] for a, own in zip(term.args, step.axes, strict=True)]
        changed = {name: (*at[:axis], self._rows, *at[axis + 1 :]) for name, at in step.changed.items()}
        found = dict(zip(term.definition.attributes, term.attrs, strict=True)) | changed
        return made_like(term.definition, tuple(args), tuple(found.values()), term)

    def _assigned(self, write: Op) -> Op:
        variable, value = (self.made[term, 0] for term in write.args)
        found = self.made[write, 0] = Op(write.definition, (variable, value), (Uid(),), variable.type, write.info)
        return found

    def _sized(self, term: Op, axis: int, **attributes: Any) -> Op:
        """A source with fewer places."""
        axes = Axes([a.with_length(self._rows) if i == axis else a for i, a in enumerate(term.axes)])
        found = dict(zip(term.definition.attributes, term.attrs, strict=True)) | {"axes": axes} | attributes
        return Op(term.definition, (), tuple(found.values()), TensorType(term.dtype, axes), term.info)


# -- by what a term is -------------------------------------------------------------------------------------------------


def _step(term: Op, axis: int) -> _Step:
    follow = _each if "elementwise" in term.definition.traits else _FOLLOWED.get(term.definition.name)
    if follow is None:
        raise _Mixed
    return follow(term, axis)


def _each(term: Op, axis: int) -> _Step:
    return _Step((axis,) * len(term.args))


def _constant(term: Op, axis: int) -> _Step:
    if term.attrs[0].scalar is None:
        raise _Mixed
    return _Step(())


def _broadcast(term: Op, axis: int) -> _Step:
    (x,), dims = term.args, term.attribute("dims")
    inner = dims.index(axis) if axis in dims else None
    repeated = inner is None or x.shape[inner] != term.shape[axis]
    return _Step((None if repeated else inner,), {"shape": known(term)})


def _transpose(term: Op, axis: int) -> _Step:
    return _Step((term.attribute("perm")[axis],))


def _reshape(term: Op, axis: int) -> _Step:
    own, given = known(term), known(term.args[0])
    before = prod(own[:axis])
    place = next((i for i, n in enumerate(given) if n == own[axis] and prod(given[:i]) == before), None)
    if place is None:
        raise _Mixed
    return _Step((place,), {"shape": own})


def _slice(term: Op, axis: int) -> _Step:
    starts, stops, steps = (term.attribute(name) for name in ("starts", "stops", "steps"))
    if (starts[axis], stops[axis], steps[axis]) != (0, term.args[0].shape[axis], 1):
        raise _Mixed
    return _Step((axis,), {"stops": stops})


def _pad(term: Op, axis: int) -> _Step:
    if any(term.attribute(name)[axis] for name in ("before", "after", "interior")):
        raise _Mixed
    return _Step((axis,))


def _beside(term: Op, axis: int) -> _Step:
    """Something is done along another axis."""
    if axis == term.attribute("axis") % term.rank:
        raise _Mixed
    return _each(term, axis)


def _reduced(term: Op, axis: int) -> _Step:
    return _Step((others(term.attribute("axes"), term.args[0].rank)[axis],))


def _product(term: Op, axis: int) -> _Step:
    """Of matrices, or of as many in each operand."""
    (ta, tb), rows = term.attrs or (False, False), term.rank - 2
    if axis < rows:
        return _each(term, axis)
    return _Step((axis + ta, None) if axis == rows else (None, axis - tb))


_FOLLOWED: Mapping[str, Callable[[Op, int], _Step]] = {
    "core.constant": _constant,
    "core.strip": _each,
    "semi.broadcast": _broadcast,
    "semi.transpose": _transpose,
    "semi.reshape": _reshape,
    "semi.slice": _slice,
    "semi.pad": _pad,
    **{f"semi.{name}": _beside for name in ("concat", "cumsum", "cumprod", "cummax", "cummin", "sort", "argsort")},
    **{f"semi.{name}": _reduced for name in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")},
    "cpu.gemm": _product,
    "cpu.batch_gemm": _product,
    "semi.batch_dot": _product,
}
