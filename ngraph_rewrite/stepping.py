# SPDX-License-Identifier: Apache-2.0
"""A call that is made kernel by kernel, and stands still between two of them for who wants to look at values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.call_values import CallValues
from ngraph_rewrite.errors import ComputationError, InvalidHandleError
from ngraph_rewrite.lowering.passes import Lowering
from ngraph_rewrite.returns import check_handles, replaced, unboxed
from ngraph_rewrite.state import State
from ngraph_rewrite.targets.evaluation import evaluate
from ngraph_rewrite.targets.target import Ran
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.tuples import TupleType

Array = NDArray[Any]


class Stepped(NamedTuple):
    """What ran between two times that a call stood still.

    Attributes:
        number: The first is 0.
        kernels: The names of the kernels that ran; none where ops are evaluated by their meanings.
        terms: Terms that have been computed by that: those of the lowering, or handles where nothing is lowered.
        values: The value of each of them that has memory of its own.
    """

    number: int
    kernels: tuple[str, ...]
    terms: tuple[Op, ...]
    values: Mapping[Op, Array]

    def __str__(self) -> str:
        what = ", ".join(describe(term, 1) for term in self.terms)
        where = f", from {self.terms[-1].info.place}" if self.terms and self.terms[-1].info.lineno else ""
        return f"{self.number}: {' with '.join(dict.fromkeys(self.kernels)) or 'meaning'} computes {what}{where}"


class Stepping(Iterator[Stepped]):
    """A call that goes on each time it is asked to. Made by `Computation.step`.

    It has memory of its own, and keeps a copy of all that kernels stored: other calls may be made meanwhile. Variables
    have the values that kernels left there. What was written when it is let go before its end stays written. (Where
    ops are evaluated by their meanings, variables are written at the end.)

    Args:
        values: What is known of the values of this call.
        finished: What is done once all has run.
        packed: Puts results into the structure in which they are returned.
    """

    def __init__(
        self, values: StepValues, state: State, finished: Callable[[], None], packed: Callable[[Any], Any]
    ) -> None:
        self._values, self._state, self._finished, self._packed = values, state, finished, packed
        self._words, self._number, self._whole = state.words, 0, False
        self._rows = self._run()

    def _run(self) -> Iterator[Ran]:
        executable, values = self._values.ready.executable, self._values
        values.begin()
        run_rows = getattr(executable, "run_rows", None)
        if run_rows is not None:
            yield from run_rows(values.arguments, values.results, values.number)
        else:  # a target of somebody's own may have no rows
            executable.run(values.arguments, values.results, values.number)
        self._whole = True

    def __next__(self) -> Stepped:
        """Run the next kernel, or those that compute a term together.

        Raises:
            StopIteration: if there are no more: the call has ended.
            ComputationError: if the call was interrupted, or the transformer's state was restored since it began.
            ClosedError: if the transformer was closed.
        """
        with self._state.lock:
            if self._whole:
                raise StopIteration
            self._check()
            ran = next(self._rows, None)
            if ran is not None:
                return self._noted(ran)
            if not self._whole:
                raise ComputationError("this call was interrupted", where=user_line(), do="begin another one")
            self._values.whole = True
            self._finished()
            raise StopIteration

    def _check(self) -> None:
        self._state.check_open()
        if self._words is not self._state.words:
            what = "the state of the transformer was restored since this call began"
            raise ComputationError(what, where=user_line(), do="begin another one")

    def _noted(self, ran: Ran) -> Stepped:
        values = {term: read() for term, read in ran.computed if read is not None}
        for array in values.values():
            array.setflags(write=False)  # they are what `value` tells
        self._values.note(values, [term for term, _ in ran.computed])
        self._number += 1
        return Stepped(self._number - 1, ran.kernels, tuple(term for term, _ in ran.computed), values)

    def results(self) -> Any:
        """Run what is left, and give what a call gives."""
        for _ in self:
            pass
        return self._packed(self._values.results)

    def value(self, op: Op) -> Any:
        """The value of any handle, as far as this call has gone (of a tuple, a tuple).

        It is what a kernel has stored; what no kernel has stored is what the meanings of ops make of that. A variable
        has the value that this call wrote to it last, or its present one.

        Raises:
            ComputationError: for what is no handle, or has a value in a step of a scan only.
            InvalidHandleError: if it depends on what this computation does not have.
        """
        check_handles([op])
        if isinstance(op.type, TupleType):
            return replaced(unboxed(op), self.value)
        with self._state.lock:
            self._check()
            if op.definition.name == "core.variable":
                written = None if self._whole else self._values.written.get(op.attribute("uid"))
                return (self._state.array(op) if written is None else written).copy()
            return self._values.probed(op)


class StepValues(CallValues):
    """The values of a call that may not have ended.

    Attributes:
        written: The value of each variable that was written, as it was written last.
        whole: Whether the call has ended.
    """

    def __init__(self, call: tuple[Any, ...], lowering: Lowering, inputs: list[Op], handles: list[Op], state: State):
        super().__init__(call, lowering, inputs, handles, state)
        self._stored: dict[Op, Array] = {}
        self.written: dict[Uid, Array] = {}
        self.whole = False
        self._before: dict[Uid, Array] = {}

    def begin(self) -> None:
        """Keep what is written by the call as it is now, before its first kernel."""
        targets = [write.args[0] for write in self._lowering.sequenced.writes]
        self._before = {v.attribute("uid"): self._state.array(v).copy() for v in targets}

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self._arguments

    @property
    def results(self) -> tuple[Any, ...]:
        return self._results

    def note(self, values: Mapping[Op, Array], terms: list[Op]) -> None:
        """What has been stored now, and what was computed."""
        self._stored.update(values)
        for term in terms:
            if term.definition.name == "core.assign" and term in self._stored:
                self.written[term.args[0].attribute("uid")] = self._stored[term]

    def probed(self, op: Op) -> Array:
        """The value of a handle by what has been stored, else by the meanings of ops.

        Raises:
            InvalidHandleError: if it has none.
        """
        known, table = self._known(), self._lowering.table
        bound = [self.ready.bound.get(term, term) for term in (table.inside(op), table.snap(op))]
        found = next((known[term] for term in bound if term in known), None)
        if found is None and table.inside(op) in self.ready.bound:
            found = self._evaluated(bound[0], known)
        return np.array(found) if found is not None else self.recomputed(op)

    def _evaluated(self, term: Op, known: dict[Op, Array]) -> Array | None:
        """What meanings make of what is known; None if there is none."""
        terms = self.ready.bound.values()
        given = {v: self._variable(v, v) for v in terms if v.definition.name == "core.variable"} | known
        try:
            found = evaluate([term], given, self._draws(terms), ends=given).get(term)
        except InvalidHandleError:
            return None
        return None if found is None else np.asarray(found)

    def _computed(self) -> dict[Op, Array]:
        return {**self._stored, **(super()._computed() if self.whole else {})}

    def _variable(self, leaf: Op, op: Op) -> Array:
        """What it was before this call, which may have written it since."""
        before = self._before.get(leaf.attribute("uid"))
        return self._state.array(leaf) if before is None else before
