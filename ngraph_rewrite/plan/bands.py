# SPDX-License-Identifier: Apache-2.0
"""A loop by bands of samples: what a step does with some rows of all states, if it needs no others for these.

Threads that share each step of a recurrence wait for each other in every one, and pass on what they computed. Samples
know nothing of each other: a band of them goes through all steps in one thread, without a wait.

The body for a band is the body with fewer rows. From what it assigns and returns, the rows are followed back through
all terms to states and arguments: *along* some axis, a term has a row for each sample; *whole*, it is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from ngraph_rewrite.plan.closing import LoopBody
from ngraph_rewrite.plan.scan_changes import made_like
from ngraph_rewrite.rewriting.attributes_positions import others
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.tensor import TensorType

# Rows of a band, at least: tiles of products have 14, and a line of memory belongs to one band.
_ROWS, _MOST = 16, 64
# Bytes of what is the same for all: each thread reads it in each step, so it has to stay in its own cache.
_SHARED = 1 << 19


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
    rows = {_shape(term)[:1] for term in every}
    count = min(next(iter(rows))[0] // _ROWS, _MOST) if len(rows) == 1 and () not in rows else 0
    if count < 2:
        return None
    (length,) = rows.pop()
    ends = [length * i // count for i in range(count + 1)]
    cuts: dict[int, tuple[LoopBody, _Cut]] = {}
    try:
        for n in {end - first for first, end in zip(ends, ends[1:], strict=False)}:
            cut = _Cut(body, n)
            cuts[n] = cut.body(results), cut
    except _Mixed:
        return None
    origins = {new: old for _, cut in cuts.values() for (old, _), new in cut.made.items()}
    bands = tuple([(first, cuts[end - first][0]) for first, end in zip(ends, ends[1:], strict=False)])
    return Banded(bands, origins) if _fits(bands[0][1], body) else None


def _fits(band: LoopBody, body: LoopBody) -> bool:
    """Whether what all bands read stays in the cache of a thread."""
    pairs = zip((*band.slices, *band.captured), (*body.slices, *body.captured), strict=True)
    return sum(prod(_shape(leaf)) * leaf.dtype.itemsize for leaf, was in pairs if leaf is was) <= _SHARED


def _shape(term: Op) -> tuple[int, ...]:
    return tuple([int(n) for n in term.shape])  # type: ignore[arg-type]


class _Cut:
    """The terms of a body with so many rows.

    Attributes:
        made: By a term and the axis along which it has its rows.
    """

    def __init__(self, body: LoopBody, rows: int) -> None:
        self._body, self._rows = body, rows
        self._states = {variable for _, variable in body.states}
        self._leaves = self._states.union(body.slices, body.captured)
        self._whole = set[Op]()  # leaves that are the same for all
        self.made: dict[tuple[Op, int], Op] = {}

    def body(self, results: Sequence[tuple[int, Op]]) -> LoopBody:
        """The body.

        Raises:
            _Mixed: if its rows depend on others.
        """
        made = [(number, self.along(term, 0)) for number, term in results]
        writes = [self._assigned(write) for write in self._body.writes]
        if any((leaf, 0) in self.made for leaf in self._whole):
            raise _Mixed
        return replace(
            self._body,
            states=tuple([(number, self.along(variable, 0)) for number, variable in self._body.states]),
            slices=tuple([self._own(leaf) for leaf in self._body.slices]),
            captured=tuple([self._own(leaf) for leaf in self._body.captured]),
            writes=tuple(writes),
            results=tuple(made),
        )

    def _own(self, leaf: Op) -> Op:
        return self.made.get((leaf, 0), leaf)

    def _assigned(self, write: Op) -> Op:
        variable, value = (self.along(term, 0) for term in write.args)
        found = self.made[write, 0] = Op(write.definition, (variable, value), (Uid(),), variable.type, write.info)
        return found

    def along(self, term: Op, axis: int) -> Op:
        """A term with fewer places along an axis, along which it has a row for each sample."""
        found = self.made.get((term, axis))
        if found is None:
            if term in self._leaves:
                found = self._leaf(term, axis)
            else:
                follow = _FOLLOWED.get(term.definition.name)
                if "elementwise" in term.definition.traits:
                    follow = _Cut._each
                if follow is None:
                    raise _Mixed
                found = follow(self, term, axis)
            self.made[term, axis] = found
        return found

    def whole(self, term: Op) -> Op:
        """A term that is the same for all samples."""
        for below in topological([term]):
            if below in self._states or below.definition.traits & {"draw"}:
                raise _Mixed
            if below in self._leaves:
                self._whole.add(below)
        return term

    def _leaf(self, term: Op, axis: int) -> Op:
        if axis:
            raise _Mixed  # its rows would lie apart
        return self._sized(term, axis, uid=Uid())

    def _sized(self, term: Op, axis: int, **attributes: Any) -> Op:
        """A source with fewer places."""
        axes = Axes([a.with_length(self._rows) if i == axis else a for i, a in enumerate(term.axes)])
        found = dict(zip(term.definition.attributes, term.attrs, strict=True)) | {"axes": axes} | attributes
        return Op(term.definition, (), tuple(found.values()), TensorType(term.dtype, axes), term.info)

    def _like(self, term: Op, args: Sequence[Op], **attributes: Any) -> Op:
        found = dict(zip(term.definition.attributes, term.attrs, strict=True)) | attributes
        return made_like(term.definition, tuple(args), tuple(found.values()), term)

    def _put(self, lengths: Sequence[Any], axis: int) -> tuple[Any, ...]:
        """Lengths of all axes, with fewer places along one."""
        return (*lengths[:axis], self._rows, *lengths[axis + 1 :])

    # -- by what a term is ---------------------------------------------------------------------------------------------

    def _each(self, term: Op, axis: int) -> Op:
        return self._like(term, [self.along(a, axis) for a in term.args])

    def _constant(self, term: Op, axis: int) -> Op:
        if term.attrs[0].scalar is None:
            raise _Mixed
        return self._sized(term, axis)

    def _broadcast(self, term: Op, axis: int) -> Op:
        (x,), dims = term.args, term.attribute("dims")
        inner = dims.index(axis) if axis in dims else None
        repeated = inner is None or x.shape[inner] != term.shape[axis]
        arg = self.whole(x) if repeated else self.along(x, inner or 0)
        return self._like(term, [arg], shape=self._put(_shape(term), axis))

    def _transpose(self, term: Op, axis: int) -> Op:
        return self._like(term, [self.along(term.args[0], term.attribute("perm")[axis])])

    def _reshape(self, term: Op, axis: int) -> Op:
        own, given = _shape(term), _shape(term.args[0])
        before = prod(own[:axis])
        places = (i for i, n in enumerate(given) if n == own[axis] and prod(given[:i]) == before)
        place = next(places, None)
        if place is None:
            raise _Mixed
        return self._like(term, [self.along(term.args[0], place)], shape=self._put(own, axis))

    def _slice(self, term: Op, axis: int) -> Op:
        starts, stops, steps = (term.attribute(name)[axis] for name in ("starts", "stops", "steps"))
        if (starts, stops, steps) != (0, term.args[0].shape[axis], 1):
            raise _Mixed
        return self._like(term, [self.along(term.args[0], axis)], stops=self._put(term.attribute("stops"), axis))

    def _pad(self, term: Op, axis: int) -> Op:
        if any(term.attribute(name)[axis] for name in ("before", "after", "interior")):
            raise _Mixed
        return self._each(term, axis)

    def _beside(self, term: Op, axis: int) -> Op:
        """Something is done along another axis."""
        if axis == term.attribute("axis") % term.rank:
            raise _Mixed
        return self._each(term, axis)

    def _reduced(self, term: Op, axis: int) -> Op:
        kept = others(term.attribute("axes"), term.args[0].rank)
        return self._like(term, [self.along(term.args[0], kept[axis])])

    def _strip(self, term: Op, axis: int) -> Op:
        return self._each(term, axis)

    def _product(self, term: Op, axis: int) -> Op:
        """Of matrices, or of as many in each operand."""
        (x, y), (ta, tb), rows = term.args, term.attrs or (False, False), term.rank - 2
        if axis < rows:
            return self._each(term, axis)
        if axis == rows:
            return self._like(term, [self.along(x, axis + ta), self.whole(y)])
        return self._like(term, [self.whole(x), self.along(y, axis - tb)])


_FOLLOWED: Mapping[str, Callable[[_Cut, Op, int], Op]] = {
    "core.constant": _Cut._constant,
    "core.strip": _Cut._strip,
    "semi.broadcast": _Cut._broadcast,
    "semi.transpose": _Cut._transpose,
    "semi.reshape": _Cut._reshape,
    "semi.slice": _Cut._slice,
    "semi.pad": _Cut._pad,
    **{f"semi.{name}": _Cut._beside for name in ("concat", "cumsum", "cumprod", "cummax", "cummin", "sort", "argsort")},
    **{f"semi.{name}": _Cut._reduced for name in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")},
    "cpu.gemm": _Cut._product,
    "cpu.batch_gemm": _Cut._product,
    "semi.batch_dot": _Cut._product,
}
