# SPDX-License-Identifier: Apache-2.0
"""What a computation has ready for calls, by the shapes of their arguments: planned for each when it is first met."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.garbage import no_garbage_collection
from ngraph_rewrite.lowering.passes import Lowering
from ngraph_rewrite.lowering.table import user_place
from ngraph_rewrite.ops.open_places import check_places, open_places
from ngraph_rewrite.plan.binding import bind_graph, bind_lengths, closed_terms
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.ready import Ready, Shapes, Signature, machine_call, same_dtype
from ngraph_rewrite.runtime.aligned import result_array
from ngraph_rewrite.standing import Standing
from ngraph_rewrite.state import State
from ngraph_rewrite.targets.target import Program, Target
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.tuples import tensors

# Sets of lengths a computation stays ready for; on the host more, of few terms each: that is about 15 megabytes.
MOST_PLANS, MOST_TERMS = 32, 1 << 14
_BESIDE = 8  # what else a plan has takes as much as so many terms


class _Stands:
    """What is ready for a set of shapes.

    Attributes:
        entry: Machine code that makes a call with those shapes; None where there is none.
        turn: When it became the latest, by count.
    """

    __slots__ = ("entry", "ready", "turn")

    def __init__(self, ready: Ready, entry: Any) -> None:
        self.ready, self.entry, self.turn = ready, entry, 0


class Preparation:
    """The plans of a lowering.

    Args:
        handles: What the user asked for, as it was before lowering.
        roots: The terms of the lowering whose values are wanted.

    Attributes:
        signature: What calls have in common.
        latest: What was asked for last.
        entry: Machine code that makes a call with those shapes; None where there is none.
    """

    def __init__(
        self,
        target: Target,
        lowering: Lowering,
        handles: Sequence[Op],
        roots: Sequence[Op],
        inputs: Sequence[Op],
        state: State,
        cache: Cache,
        threads: int,
        signature: Signature,
    ) -> None:
        self._target, self._lowering, self._inputs = target, lowering, inputs
        self._handles, self._roots = handles, list(roots)
        self._state, self._cache, self._threads, self.signature = state, cache, threads, signature
        self._ready: dict[Shapes, _Stands] = {}
        self._turn = 0
        self._shared: dict[str, Any] = {}  # by all that is ready
        self._standing: Standing | None = None
        self._order: tuple[Sequence[Op], Sequence[Op]] | None = None
        self._words = state.words
        self.latest: Ready | None = None
        self.entry: Any = None

    def __len__(self) -> int:
        return len(self._ready)

    def find(self, shapes: Shapes) -> Ready:
        """What is ready for a set of shapes; it becomes the latest."""
        found = self._ready.get(shapes)
        if found is None:
            ready = self.made(shapes)
            while len(self._ready) >= self._most(ready):
                del self._ready[min(self._ready.items(), key=_turn)[0]]  # the one that was used longest ago
            found = self._ready[shapes] = _Stands(ready, machine_call(ready, self.signature))
        self._take(found)
        return found.ready

    def other(self, arrays: Sequence[Any]) -> Any | None:
        """Machine code for arrays, if there is any that is ready and not what was asked for last: now it is that."""
        if len(self._ready) < 2:
            return None
        found = self._ready.get(tuple([array.shape for array in arrays if type(array) is np.ndarray]))
        if found is None or found.entry is None or found.ready is self.latest:
            return None
        self._take(found)
        return found.entry

    def _take(self, found: _Stands) -> None:
        self._turn = found.turn = self._turn + 1
        self.latest, self.entry = found.ready, found.entry

    def _most(self, ready: Ready) -> int:
        """How many sets of lengths may be ready, each about as large as this one."""
        if self._target.arrays is not None:
            return MOST_PLANS
        return max(MOST_PLANS, MOST_TERMS // (len(ready.bound) + _BESIDE))

    def made(self, shapes: Shapes, apart: bool = False) -> Ready:
        """What is planned for a set of shapes, now.

        Args:
            apart: Whether it may stand still while others run: then it shares no memory with them.
        """
        with no_garbage_collection():
            return self._planned(shapes, {} if apart else self._shared)

    @cached_property
    def _places(self) -> list[Op]:
        """What takes places of axes of unknown length; asked for where there are some."""
        return open_places(topological(self._handles))

    def _planned(self, shapes: Shapes, shared: dict[str, Any]) -> Ready:
        binding = bind_lengths(self._inputs, shapes)
        if binding:
            check_places(self._places, binding)
        standing, lowering = self._stood(), self._lowering
        order, closed = self._ordered(standing, bool(binding))
        try:
            computed = [*standing.roots, *standing.writes]
            bound = bind_graph(computed, binding, order, lambda term: user_place(lowering.table, term), closed)
        except NGraphRewriteError:
            bind_graph(self._handles, binding)  # what the user wrote says best what does not fit
            raise
        if binding and any(0 in one.shape for term in bound.values() for one in tensors(term.type)):
            bind_graph(self._handles, binding)  # of no elements none is the greatest, whatever a maximum was lowered to
        placeholders = {t.attribute("uid"): b for t, b in bound.items() if t.definition.name == "core.placeholder"}
        program = Program(
            results=[bound[r] for r in standing.roots],
            writes=[bound[w] for w in standing.writes],
            inputs=[placeholders.get(p.attribute("uid"), p) for p in self._inputs],
            storage=self._state.storage,
            streams=self._state.streams,
            seed=self._state.seed,
            cache=self._cache,
            order=None if binding else list(bound),
            threads=self._threads,
            shared=shared,
        )
        ready = Ready(self._target.executable(program), standing.lowered(bound), program.results, shapes)
        ready.once, ready.inside = standing.values, standing.inside
        return ready

    def _ordered(self, standing: Standing, binding: bool) -> tuple[Sequence[Op], Sequence[Op]]:
        """All terms of the graph, arguments first, and those that lengths which are bound have no part in."""
        if self._order is None:
            lowered = not standing and self._roots == self._lowering.roots
            order = self._lowering.order if lowered else topological([*standing.roots, *standing.writes])
            self._order = order, closed_terms(order) if binding else ()
        return self._order

    def _stood(self) -> Standing:
        """The graph, in which what constants alone make was computed, if the target computes by kernels."""
        if self._standing is None:
            writes, order = self._lowering.writes, self._lowering.order if self._target.base is not None else ()
            self._standing = Standing(self._roots, writes, order, self._computed)
        return self._standing

    def _computed(self, terms: Sequence[Op]) -> list[Any]:
        """The values of terms of constants alone."""
        results = [result_array(known(term), same_dtype(term.dtype)) for term in terms]
        if self._target.arrays is not None:
            terms = [make_op("semi.transfer", term, to="host") for term in terms]
        state = self._state
        program = Program(terms, [], [], state.storage, state.streams, state.seed, self._cache, threads=self._threads)
        self._target.executable(program).run([], results, 0)
        return results

    @property
    def stale(self) -> bool:
        """Whether the state was restored since, maybe with another seed."""
        return self._words is not self._state.words

    def forget(self) -> None:
        """Drop all; the next call prepares it again."""
        self._words = self._state.words
        for found in self._ready.values():
            found.ready.dropped.value = 1
        self._ready.clear()
        self._shared.clear()
        self.latest = self.entry = self._standing = self._order = None


def _turn(item: tuple[Shapes, _Stands]) -> int:
    return item[1].turn
