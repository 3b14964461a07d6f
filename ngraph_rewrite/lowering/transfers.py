# SPDX-License-Identifier: Apache-2.0
"""The pass that puts transfers where a graph meets a device: behind placeholders that it reads, and before results.

What kernels compute lies on the device, whatever was asked of it in between; what nothing computes is not moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.stage import ARGUMENTS, Forward, Replaced, Stage
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.labels import LABEL, LABELS, STRIP, unlabelled
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.lengths import Extent

_GIVEN, _TRANSFER = "core.placeholder", "semi.transfer"
_MAYBE_GIVEN = (_GIVEN, *LABELS)
_NO_VALUE = ("core.assign", "core.doall")


class Transfers(GraphPass):
    """Lets kernels read ``transfer(x, to='device')`` of a placeholder, and roots be ``transfer(y, to='host')``.

    Equal terms are one, so a value is moved once, however many kernels read it or results it is. A call may find that
    nothing is to be moved, as an argument is on the device already or a result is to stay there. The transfers that a
    graph had itself are gone afterwards.
    """

    name = "transfers"

    def __init__(self) -> None:
        super().__init__(after="select")

    def applied(self, roots: Sequence[Op], table: ReplacementTable, bank: TermBank, target: Any) -> list[Op]:
        """As `GraphPass.applied`."""
        work = _Placement(table, bank, table.stage(self.name))
        for term in topological(roots):
            work.bring(term)
        return [work.ended(root) for root in roots]


class _Placement:
    """Each term as a kernel on the device reads it, and as the host is given it."""

    def __init__(self, table: ReplacementTable, bank: TermBank, stage: Stage) -> None:
        self.table, self.bank = table, bank
        self.normal, self.forward = stage.normal, stage.forward
        self.there: dict[Op, Op] = {}

    def bring(self, term: Op) -> None:
        """Say what a term is on the device, once its arguments are there."""
        name, args = term.definition.name, tuple([self.there[a] for a in term.args])
        is_given = name in _MAYBE_GIVEN and _is_given(term)
        if name == _TRANSFER:
            self._goes(term, args[0], Replaced("all is computed on the device", "no transfer in between"))
        elif is_given and not any(a.name is not None or a.roles for a in term.axes):
            moved = self.bank.make(lookup(_TRANSFER), (term,), ("device",))
            self._goes(term, moved, Replaced("to the device", f"{_bytes(term)}, unless the argument is there"))
        elif args != term.args and not is_given:
            self._goes(term, self.bank.renewed(term, args), ARGUMENTS)
        else:
            self.there[term] = self.normal[term] = term

    def _goes(self, term: Op, to: Op, why: Replaced | str) -> None:
        self.there[term] = self.normal[term] = self.normal[to] = to
        self.forward[term] = Forward(to, why)
        if self.table.moved or term.info.metadata:
            self.table.carry(term, to)

    def ended(self, root: Op) -> Op:
        """A root as the host is given it."""
        if root.definition.name in _NO_VALUE:
            return self.there[root]
        given, here = self._given(root), self.there[root]
        if not _is_given(given):
            why = Replaced("to the host", f"{_bytes(root)}, unless it is to stay on the device")
            self.forward[here] = Forward(given, why)
            self.normal[root] = self.normal[here] = self.normal[given] = given
            self.table.carry(here, given)
        return given

    def _given(self, term: Op) -> Op:
        """What is on the host of a term: a placeholder as the call had it, else what is moved there."""
        name = term.definition.name
        if _is_given(term):
            return term
        if name == _TRANSFER:
            return self._given(term.args[0])
        if name == LABEL:
            return self.bank.renewed(term, (self._given(term.args[0]),))
        there = self.there[term]
        if not any(a.name is not None or a.roles for a in term.axes):
            return self.bank.make(lookup(_TRANSFER), (there,), ("host",))
        plain = self.bank.make(lookup(STRIP), (there,), ())
        moved = self.bank.make(lookup(_TRANSFER), (plain,), ("host",))
        return self.bank.make(lookup(LABEL), (moved,), (term.axes,))


def _is_given(term: Op) -> bool:
    """Whether a term is a placeholder, or one without its labels."""
    return unlabelled(term).definition.name == _GIVEN


def _bytes(term: Op) -> str:
    size: Extent = term.size * term.dtype.itemsize
    return f"{size:,} bytes" if isinstance(size, int) else f"{size!r} bytes"
