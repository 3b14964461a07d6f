# SPDX-License-Identifier: Apache-2.0
"""The terms of a step for all steps at once, op by op; a scan in a step becomes one scan with larger states."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from ngraph_rewrite.lowering.batch import Batch
from ngraph_rewrite.lowering.batched_forms import batched
from ngraph_rewrite.lowering.step_body import ITEM, SCAN, StepBody
from ngraph_rewrite.ops.scanning import parts
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import anonymous


class Batched:
    """What holds terms of a step at all steps.

    Args:
        step: The step.
        batch: All steps.
        moved: The parameters of batched scans, by what they were and how many steps there are.

    Attributes:
        terms: By the term of the step.
    """

    def __init__(self, step: StepBody, batch: Batch, moved: MutableMapping[Any, Uid]) -> None:
        self._step, self._batch, self._moved = step, batch, moved
        self.terms: dict[Op, Op] = {}

    def whole(self, term: Op) -> Op:
        """What holds a term at all steps, be it the same in all of them."""
        return self.terms[term] if self._step.varies(term) else self._batch.spread(term)

    def form(self, term: Op) -> Op:
        """What is to hold a term that has a form, and whose arguments are in `terms` if they vary."""
        if self._step.moves(term):
            return self._parameter(term)
        if term.definition.name == SCAN:
            return self._scan(term)
        if term.definition.name == ITEM:
            return self._part(term)
        varies = self._step.varies
        return batched(term, [(self.terms.get(a, a), not varies(a)) for a in term.args], self._batch)

    def _parameter(self, term: Op) -> Op:
        """What stands for a state or a slice of a batched scan."""
        axes = anonymous((self._batch.length, *term.shape))
        return self._batch.again(term, uid=self._uid(term.attribute("uid")), axes=axes)

    def _uid(self, was: Uid) -> Uid:
        return self._moved.setdefault((was, self._batch.length), Uid())

    def _scan(self, term: Op) -> Op:
        """A scan whose states and slices are batched, as far as they depend on the step."""
        inits, sequences, following, outputs = parts(term.args, term.attribute("states"), term.attribute("sequences"))
        uids = term.attribute("parameters")
        moves = [uid in self._step.moving for uid in uids]
        n = len(inits)
        args = (
            *(self.whole(x) if move else x for x, move in zip(inits, moves[:n], strict=True)),
            *(self._swapped(self.whole(x)) if move else x for x, move in zip(sequences, moves[n:], strict=True)),
            *(self.whole(x) if move else x for x, move in zip(following, moves[:n], strict=True)),
            *(self.terms.get(x, x) for x in outputs),
        )
        new = tuple(self._uid(uid) if move else uid for uid, move in zip(uids, moves, strict=True))
        return self._batch.again(term, *args, parameters=new)

    def _part(self, term: Op) -> Op:
        """A part of a batched scan: what its own steps give stands along its own axis first."""
        (scan,), number = term.args, term.attribute("index")
        n, m = scan.attribute("states"), scan.attribute("sequences")
        _, _, _, outputs = parts(scan.args, n, m)
        found = self._batch.again(term, self.terms[scan])
        stacked = number >= n
        if n <= number < n + len(outputs):
            varies = self._step.varies(outputs[number - n])
        else:
            state = number - n - len(outputs) if stacked else number
            varies = scan.attribute("parameters")[state] in self._step.moving
        if not varies:
            return self._batch.spread(found)
        return self._swapped(found) if stacked else found

    def _swapped(self, x: Op) -> Op:
        """`x` with its first two axes exchanged."""
        return self._batch.turned(x, 1, 0, *range(2, x.rank))
