# SPDX-License-Identifier: Apache-2.0
"""What is known of values after a call: its arguments and results, views of them, and what meanings make of these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import InvalidHandleError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.lowering.passes import Lowering
from ngraph_rewrite.ops.open_places import check_places, open_places
from ngraph_rewrite.plan.binding import bind_graph, bind_lengths
from ngraph_rewrite.ready import Ready
from ngraph_rewrite.state import State
from ngraph_rewrite.targets.evaluation import Draws, evaluate, through_views, viewed, without_identities
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe

if TYPE_CHECKING:
    from ngraph_rewrite.lowering import derivation
else:  # for those who ask
    derivation = lazy_module("ngraph_rewrite.lowering.derivation")

Array = NDArray[Any]
_ONCE = "once, before the first call"


class CallValues:
    """The values of a call, for the handles of its computation.

    Args:
        call: What was ready for it, its number, its arguments, and its results.
        handles: What the computation returns and keeps.
    """

    def __init__(
        self, call: tuple[Any, ...], lowering: Lowering, inputs: Sequence[Op], handles: Sequence[Op], state: State
    ) -> None:
        self.ready: Ready = call[0]
        self.number: int = call[1]
        self._arguments, self._results = call[2 : 2 + len(inputs)], call[2 + len(inputs) :]
        self._lowering, self._inputs, self._handles, self._state = lowering, inputs, handles, state

    def value(self, op: Op, recompute: bool) -> Array:
        """A copy of the value of a handle.

        Args:
            recompute: Evaluate the handle's meaning on the host if it has no value.

        Raises:
            InvalidHandleError: if it has none: the message says what became of it.
        """
        term = self._lowering.table.inside(op)
        for own in (term, self._lowering.table.snap(op)):
            found = self._there(own)
            if found is not None:
                return found.copy()
        if recompute:
            return self.recomputed(op)
        raise InvalidHandleError(
            f"{describe(op, 2)} has no value: {self._reason(op, term)}",
            where=op.info.place,
            do="list it in keep=[...], or ask with recompute=True",
        )

    def where(self, op: Op) -> str | None:
        """What computes a handle, or what it is a view of; None if nothing of it was left to compute."""
        term = self.ready.bound.get(self._lowering.table.inside(op))
        if term is None:
            return None
        own, base = without_identities(term), viewed(term)
        where = self.ready.executable.where
        if base in self._once():
            return _ONCE
        found, below = where(own), None if own is base else where(base)
        if found is None and below is not None:
            return f"as a view of {describe(base, 2)}, which is computed {below}"
        return found or "as a view"

    def _once(self) -> dict[Op, Array]:
        """What was computed before the first call, as constants of the graph that was planned."""
        bound = self.ready.bound
        return {bound[term]: value for term, value in self.ready.once.items() if term in bound}

    def _there(self, term: Op) -> Array | None:
        """The value of a term that the call has, or, of its own terms, of a view of one; None if it has none."""
        given, once, views = self._given(), self._once(), list[Op]()
        is_own, term = term in self.ready.bound, self.ready.bound.get(term, term)
        while (found := self._own(term, given, once)) is None and is_own and "view" in term.definition.traits:
            views.append(term)
            term = term.args[0]
        for view in reversed(views) if found is not None else ():
            found = np.asarray(view.definition.meaning(view, found))  # type: ignore[misc]
        return found

    def _own(self, term: Op, given: Mapping[Op, Array], once: Mapping[Op, Array]) -> Array | None:
        """The value of a term that is an argument, a result, or known before the call."""
        place = self.ready.places.get(term)
        if term in given or place is None:
            return given.get(term, once.get(term))
        return np.asarray(self._results[place])

    def _known(self) -> dict[Op, Array]:
        known = {**self._once(), **self._computed(), **self._given()}
        return through_views(known, self.ready.bound.values())

    def _given(self) -> dict[Op, Array]:
        """The arguments of the call, for placeholders and for what they became."""
        bound, table = self.ready.bound, self._lowering.table
        arrays = list(zip(self._inputs, map(np.asarray, self._arguments), strict=True))
        return {**dict(arrays), **{bound.get(table.snap(p), p): array for p, array in arrays}}

    def _computed(self) -> dict[Op, Array]:
        """What the call has computed and is still there."""
        return dict(zip(self.ready.results, map(np.asarray, self._results), strict=True))

    def _reason(self, op: Op, term: Op) -> str:
        if not self._lowering.table.knows(op) and op not in topological(self._handles):
            return "it is not part of this computation"
        while term not in self.ready.bound and "view" in term.definition.traits:
            term = term.args[0]
        bound = self.ready.bound.get(term)
        where = self.ready.executable.where(bound) if bound is not None else None
        if bound is None and term in self.ready.inside:
            where = f"{_ONCE}, on the way to a constant"
        if where is not None:
            return f"it is computed {where}, and not kept"
        if op.definition.name == "core.assign":  # it ran: effects are no part that rewriting removes
            return "it ran, and what it wrote is not kept"
        return derivation.reason_removed(self._lowering.table, op)

    def recomputed(self, op: Op) -> Array:
        """The value of a term for the arguments of the call, by the meanings of ops.

        Raises:
            InvalidHandleError: if it has none: inside a step of a scan, or after a write.
            OutOfRangeError: if it takes a place of an axis that is too short.
        """
        arrays = list(map(np.asarray, self._arguments))
        term = self._sequenced(op)
        binding = bind_lengths(self._inputs, tuple(a.shape for a in arrays))
        check_places(open_places(topological([term])), binding)
        bound = bind_graph([term], binding)
        values: dict[Op, Array] = {}
        by_uid = {p.attribute("uid"): a for p, a in zip(self._inputs, arrays, strict=True)}
        for leaf in bound.values():
            if leaf.definition.name == "core.placeholder":
                if leaf.attribute("uid") not in by_uid:
                    raise InvalidHandleError(f"{describe(leaf, 1)} was not an input", where=op.info.place)
                values[leaf] = by_uid[leaf.attribute("uid")]
            elif leaf.definition.name == "core.variable":
                values[leaf] = self._variable(leaf, op)
        found = evaluate([bound[term]], values, self._draws(bound.values()))
        return found[bound[term]].copy()

    def _sequenced(self, op: Op) -> Op:
        """A handle after the writes that it follows; parts of a tuple may be handles that the call does not know."""
        terms = self._lowering.sequenced.terms
        if op in terms or op.definition.name != "core.item":
            return terms.get(op, op)
        return Op(op.definition, (self._sequenced(op.args[0]),), op.attrs, op.type, op.info)

    def _variable(self, leaf: Op, op: Op) -> Array:
        """What a variable was when the call began.

        Raises:
            InvalidHandleError: if the call wrote it; the message names the handle that wants it.
        """
        if leaf.attribute("uid") in {w.args[0].attribute("uid") for w in self._lowering.sequenced.writes}:
            raise InvalidHandleError(
                f"{describe(op, 2)} cannot be recomputed: {describe(leaf, 1)} was written since",
                where=op.info.place,
                do="list it in keep=[...]",
            )
        return self._state.array(leaf)

    def _draws(self, terms: Iterable[Op]) -> Draws:
        """Where the random draws of terms come from in this call."""
        streams = {**self._state.streams}
        for leaf in terms:
            if "draw" in leaf.definition.traits:
                streams.setdefault(leaf.attribute("uid"), len(streams))
        return Draws(self._state.seed, streams, self.number)
