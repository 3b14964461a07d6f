# SPDX-License-Identifier: Apache-2.0
"""The adjoint of a scan is a scan the other way: adjoints of states go from each step to the one before it.

Its body is one reverse sweep through the body of the scan, whose values it computes anew: the slices are there
as before, and the states as they were before each step are outputs of the scan. It binds the same parameters,
so that what is computed anew are the same terms. What the steps read from outside gets a sum over all steps,
which is one more state.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ngraph_rewrite.errors import SequencingError
from ngraph_rewrite.lowering.fitting import added, has_slope, labelled, zero
from ngraph_rewrite.lowering.sweep import Adjoint, Pair, Sweep, Waiting
from ngraph_rewrite.terms.binders import NONE, Free, body_terms, is_binder, is_parameter
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid, scope
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.tensor import TensorType


def scan_adjoint(term: Op, adjoint: Adjoint, sweep: Sweep) -> Waiting[list[Pair]]:
    """What the initial states, the sequences and the terms read from outside get from the adjoints of the parts."""
    assert isinstance(adjoint, Mapping)
    parts = {i: _tensor(part) for i, part in adjoint.items()}
    scan = ScanParts(term, sweep.free_parameters(term.args))
    states = _active(scan, sweep)
    outside = [t for t in scan.outside if sweep.needs(t)]
    sequences = [i for i, x in enumerate(scan.sequences) if sweep.needs(x)]
    backward = _Backward(scan, parts)
    for i in states:
        backward.state(scan.inits[i].type, parts.get(i))
    found = yield from _swept(scan, backward, states, [*outside, *scan.slices(sequences)], sweep)
    following = [backward.passed_on(i, found.get(scan.state(i))) for i in states]
    for t in outside:
        following.append(backward.total(t, found.get(t)))
    made = [i for i in sequences if scan.slice(i) in found]
    result = backward.built(following, [_tensor(found[scan.slice(i)]) for i in made])
    pairs: list[Pair] = [(scan.inits[i], result[at]) for at, i in enumerate(states)]
    pairs += [(t, relabelled(result[at], t.axes)) for at, t in enumerate(outside, len(states))]
    return pairs + [(scan.sequences[i], result[at]) for at, i in enumerate(made, len(following))]


def _swept(
    scan: ScanParts, backward: _Backward, states: Sequence[int], others: Sequence[Op], sweep: Sweep
) -> Waiting[Mapping[Op, Adjoint]]:
    """The adjoints of what a step is made of, from those of its next states and its outputs."""
    seeds: list[Pair] = [(scan.following[i], backward.states[at]) for at, i in enumerate(states)]
    seeds += [(y, d) for i, y in enumerate(scan.outputs) if (d := backward.slice_of(len(scan.inits) + i)) is not None]
    mark = object()
    with scope(mark):
        found = yield from sweep.inner(seeds, [*(scan.state(i) for i in states), *others], scan.read)
    _check_undrawn(found.values(), {*scan.body, *scan.read}, mark)
    return found


def _check_undrawn(found: Iterable[Adjoint], known: Container[Op], mark: object) -> None:
    """Refuse what a derivative of the user's own draws: it would be drawn once for all times."""
    for term in topological([_tensor(d) for d in found], known):
        if mark in term.info.scope and "draw" in term.definition.traits:
            what = f"the derivative of a step draws random numbers, {term.definition} of {term.type!r}"
            do = "draw in the step, and give the draw to the handler as one of its terms"
            raise SequencingError(f"{what}, once for all times", where=term.info.place, do=do)


def _active(scan: ScanParts, sweep: Sweep) -> list[int]:
    """The states through which a derivative passes, at first or after some steps."""
    active = {i for i, x in enumerate(scan.inits) if sweep.needs(x) and has_slope(x.type)}
    sources = {t for t in scan.outside if sweep.needs(t)}
    sources.update(scan.slices(i for i, x in enumerate(scan.sequences) if sweep.needs(x)))
    while True:
        reached = sources | {scan.state(i) for i in active}
        for t in scan.body:
            if has_slope(t.type) and any(a in reached for a in t.args):
                reached.add(t)
        more = {i for i, t in enumerate(scan.following) if t in reached} - active
        if not more:
            return sorted(active)
        active |= more


class ScanParts:
    """The arguments of a scan or a loop by kind, its body, and what the body reads from outside.

    Args:
        free: The free parameters of the terms under it.

    Attributes:
        sequences: Those of a scan, or the terms that a loop passes to each step.
    """

    def __init__(self, term: Op, free: Free) -> None:
        self._is_scan = "sequences" in term.definition.attributes
        n, m = term.attribute("states"), term.attribute("sequences" if self._is_scan else "passed")
        self.term, self.parameters = term, term.attribute("parameters")
        self.inits, self.sequences = term.args[:n], term.args[n : n + m]
        self.following, self.outputs = term.args[n + m : n + m + n], term.args[n + m + n :]
        roots = (*self.following, *self.outputs)
        self._free, self._bound = free, _bound_inside(roots, self.parameters, free)
        self.body = body_terms(roots, self._bound, free)

    @cached_property
    def read(self) -> dict[Op, None]:
        """The terms that do not depend on a step and that the body reads as they are."""
        read = [*(a for t in self.body for a in t.args), *self.following, *self.outputs]
        return dict.fromkeys(t for t in read if self._bound.isdisjoint(self._free.get(t, NONE)))

    @cached_property
    def outside(self) -> list[Op]:
        """Those through which a derivative may pass."""
        return [t for t in self.read if has_slope(t.type)]

    @cached_property
    def _own(self) -> dict[Uid, Op]:
        """The parameters as terms; one that the body does not use is made."""
        used = {t.attribute("uid"): t for t in self.body if is_parameter(t)}
        types = [x.type for x in self.inits] + [self._slice_type(x) for x in self.sequences]
        pairs = zip(self.parameters, types, strict=True)
        return {uid: used[uid] if uid in used else parameter(uid, t) for uid, t in pairs}

    def _slice_type(self, sequence: Op) -> TensorType:
        if "axis" in self.term.definition.attributes:
            return sequence.type.with_axes(sequence.axes - self.term.attribute("axis"))
        return sequence.type.with_axes(sequence.axes[1:]) if self._is_scan else sequence.type

    def state(self, number: int) -> Op:
        """The term that stands for a state before the step."""
        return self._own[self.parameters[number]]

    def slice(self, number: int) -> Op:
        """The term that stands for the slice of a sequence, or for what is passed."""
        return self._own[self.parameters[len(self.inits) + number]]

    def slices(self, numbers: Iterable[int]) -> list[Op]:
        """The terms that stand for slices."""
        return [self.slice(i) for i in numbers]


def _bound_inside(roots: Iterable[Op], own: Iterable[Uid], free: Free) -> set[Uid]:
    """Parameters, and those that binders bind which are written with one of these: a step supplies them all."""
    bound, waiting, seen = set(own), list(roots), set[Op]()
    apart: dict[Uid, list[Op]] = {}  # terms that are not written with any yet, by what they are written with
    while waiting:
        term = waiting.pop()
        uids = free.get(term, NONE)
        if term in seen:
            continue
        if bound.isdisjoint(uids):
            for uid in uids:
                apart.setdefault(uid, []).append(term)
            continue
        seen.add(term)
        waiting += term.args
        if is_binder(term):
            more = set(term.attribute("parameters")) - bound
            bound |= more
            waiting += [other for uid in more for other in apart.pop(uid, ())]
    return bound


@dataclass
class _Backward:
    """The reverse scan while it is put together: states with their first values, and sequences with their slices."""

    scan: ScanParts
    adjoint: Mapping[int, Op]
    inits: list[Op] = field(default_factory=list)
    states: list[Op] = field(default_factory=list)
    sequences: dict[int, tuple[Op, Op]] = field(default_factory=dict)

    def state(self, type_: TensorType, init: Op | None) -> Op:
        """One more state; zero at first, unless there is something to begin with."""
        self.inits.append(zero(type_) if init is None else init)
        self.states.append(parameter(Uid(), type_))
        return self.states[-1]

    def slice_of(self, part: int) -> Op | None:
        """The slice of the adjoint of a stacked part of the scan; None if nothing came to it."""
        whole = self.adjoint.get(part)
        if whole is None:
            return None
        if part not in self.sequences:
            self.sequences[part] = whole, parameter(Uid(), whole.type.with_axes(whole.axes[1:]))
        return self.sequences[part][1]

    def passed_on(self, number: int, found: Adjoint | None) -> Op:
        """What the step before gets for a state: what came through this one, and what came to the stacked state."""
        stacked = self.slice_of(len(self.scan.inits) + len(self.scan.outputs) + number)
        own = zero(self.scan.inits[number].type) if found is None else _tensor(found)
        return own if stacked is None else added(own, stacked)

    def total(self, term: Op, found: Adjoint | None) -> Op:
        """The sum over the steps of what a term from outside gets, as a state: its value after a step."""
        like = term.type.with_axes(self._own_axes(term.axes, len(self.states)))
        before = self.state(like, None)
        return before if found is None else added(before, relabelled(_tensor(found), like.axes))

    def _own_axes(self, axes: Axes, number: int) -> Axes:
        """Axes of the family of the scan, and with names that none of its other axes has."""
        if self.scan.term.definition.family != "axes":
            return anonymous(axes.lengths)
        axis = self.scan.term.attribute("axis")
        if axes.named and axes.find(axis.name) is None:
            return axes
        return Axes(Axis(f"{axis.name} {number} {i}", n, ()) for i, n in enumerate(axes.lengths))

    def built(self, following: Sequence[Op], outputs: Sequence[Op]) -> Op:
        """The scan."""
        term, scan = self.scan.term, self.scan
        before = len(scan.inits) + len(scan.outputs)
        kept = [(term[before + i], scan.state(i)) for i in range(len(scan.inits))]
        walked = [*zip(scan.sequences, scan.slices(range(len(scan.sequences))), strict=True), *kept]
        walked += self.sequences.values()
        attributes = {**term.attributes, "states": len(self.states), "sequences": len(walked)}
        attributes["parameters"] = tuple(p.attribute("uid") for p in (*self.states, *(p for _, p in walked)))
        attributes["reverse"] = not term.attribute("reverse")
        args = (*self.inits, *(x for x, _ in walked), *following, *outputs)
        return build(term.definition, args, **attributes)


def parameter(uid: Uid, type_: TensorType) -> Op:
    """What a binder supplies under an identity."""
    return build(lookup("core.parameter"), (), uid=uid, axes=type_.axes, dtype=type_.dtype)


def _tensor(adjoint: Adjoint) -> Op:
    assert isinstance(adjoint, Op)
    return adjoint


def relabelled(x: Op, axes: Axes) -> Op:
    """`x` with these axes, position by position, with names or without."""
    if axes == x.axes:
        return x
    return build(lookup("core.strip"), (x,)) if axes == anonymous(axes.lengths) else labelled(x, axes)
