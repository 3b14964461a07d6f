# SPDX-License-Identifier: Apache-2.0
"""A loop by bands of samples: what a step does with some rows of all states, if it needs no others for these.

Threads that share each step of a recurrence wait for each other in every one, and pass on what they computed. Samples
know nothing of each other: a band of them goes through all steps in one thread, without a wait.

The body for a band is the body with fewer rows. From what it assigns and returns, the rows are followed back through
all terms to states and arguments: a term has a row for each sample along some axis, or it is the same for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

from ngraph_rewrite.plan.changed import made_like
from ngraph_rewrite.plan.followed import Mixed, Step, sized, step_of
from ngraph_rewrite.plan.loop_body import LoopBody
from ngraph_rewrite.plan.shapes import bytes_of, known
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# Rows of a band, at least: tiles of products have 14, and a line of memory belongs to one band. What computes so many
# numbers for each row has products for each.
_ROWS, _MOST, _MUCH = 16, 64, 1 << 16
# So many numbers a band computes in a step for each kernel, at least, as each is called in every step; about how many
# terms a kernel computes.
_LEAST, _TERMS = 1 << 9, 4
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


def banded(body: LoopBody, results: Sequence[tuple[int, Op]]) -> Banded | None:
    """A loop by bands, if there are several, decided by shapes alone.

    Args:
        results: Those that are read.
    """
    every = [*(variable for _, variable in body.states), *(result for _, result in results)]
    lengths = {known(term)[:1] for term in every}
    if len(lengths) != 1 or () in lengths:
        return None
    ((length,),) = lengths
    try:
        rows_of = _Rows(body, results)
    except Mixed:
        return None
    rows = 1 if rows_of.computed >= _MUCH * length else _ROWS
    count = min(length // rows, rows_of.computed // (_LEAST * rows_of.kernels), _MOST)
    if count < 2 or rows_of.bytes > _SHARED or _REPEATED * (count - 1) * rows_of.repeated > rows_of.computed:
        return None
    ends = [*(length // rows * i // count * rows for i in range(count)), length]
    cuts = {n: _Cut(rows_of, n) for n in {end - first for first, end in zip(ends, ends[1:], strict=False)}}
    origins = {new: old for cut in cuts.values() for (old, _), new in cut.made.items()}
    return Banded(tuple([(first, cuts[end - first].body) for first, end in zip(ends, ends[1:], strict=False)]), origins)


class _Rows:
    """Along which axes the terms of a body have rows.

    Attributes:
        order: All terms, arguments first.
        axes: By term, those along which rows of it are wanted.
        steps: By a term and one of these, if it is no source.
        shared: What has to be the same for all samples.

    Raises:
        Mixed: if rows depend on others.
    """

    def __init__(self, body: LoopBody, results: Sequence[tuple[int, Op]]) -> None:
        self.body, self.results = body, results
        self.states = {variable for _, variable in body.states}
        self.leaves = self.states.union(body.slices, body.captured)
        read = [term for _, term in results]
        self.order = topological([*read, *self.states, *body.writes])
        self.axes: dict[Op, set[int]] = {term: {0} for term in (*read, *self.states)}
        self.axes |= {write.args[1]: {0} for write in body.writes}
        self.steps: dict[tuple[Op, int], Step] = {}
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
                        raise Mixed  # its rows lie apart
                    continue
                step = self.steps[term, axis] = step_of(term, axis)
                for arg, own in zip(term.args, step.axes, strict=True):
                    if own is None:
                        whole.add(arg)
                    else:
                        self.axes.setdefault(arg, set()).add(own)
        if any(term in self.leaves and term in self.axes for term in self.shared):
            raise Mixed

    def _share(self, term: Op) -> None:
        if term in self.states or "draw" in term.definition.traits:
            raise Mixed
        self.shared.add(term)

    @property
    def bytes(self) -> int:
        """Of arguments that are the same for all samples."""
        return sum(map(bytes_of, self.leaves & self.shared))

    @property
    def repeated(self) -> int:
        """How many numbers each band computes of these alone."""
        return _numbers(self.shared)

    @property
    def computed(self) -> int:
        """How many numbers are computed for all samples."""
        return _numbers(term for term, _ in self.steps)

    @property
    def kernels(self) -> int:
        """About how many kernels compute these."""
        return max(1, len({term for term, _ in self.steps if _is_computed(term)}) // _TERMS)


def _numbers(terms: Iterable[Op]) -> int:
    return sum(prod(known(term)) for term in terms if _is_computed(term))


def _is_computed(term: Op) -> bool:
    return not term.definition.traits & {"view", "source"}


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
            return sized(term, axis, self._rows, uid=Uid())
        step = given.steps[term, axis]
        if not term.args:
            return sized(term, axis, self._rows)
        args = [a if own is None else self.made[a, own] for a, own in zip(term.args, step.axes, strict=True)]
        changed = {name: (*at[:axis], self._rows, *at[axis + 1 :]) for name, at in step.changed.items()}
        found = dict(zip(term.definition.attributes, term.attrs, strict=True)) | changed
        return made_like(term.definition, tuple(args), tuple(found.values()), term)

    def _assigned(self, write: Op) -> Op:
        variable, value = (self.made[term, 0] for term in write.args)
        found = self.made[write, 0] = Op(write.definition, (variable, value), (Uid(),), variable.type, write.info)
        return found
