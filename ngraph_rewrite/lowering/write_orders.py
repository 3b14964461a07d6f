# SPDX-License-Identifier: Apache-2.0
"""What sequences say of the order of writes, and whether that is the order in which they happen.

Writes have numbers, in the order in which they happen. A sequence *lists* a write if that is one of its items, or is
listed by one: not what an item is computed of, whose value may be used anywhere. A write that is listed once more,
in the same sequence or in one inside it, has happened: the place where it is listed first counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence, Set

from ngraph_rewrite.errors import SequencingError
from ngraph_rewrite.lowering.spans import Spans, span, united, without
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe

_SEQUENCES = ("core.sequential", "core.after")
_LISTS = (*_SEQUENCES, "core.doall")


class Aside:
    """Among ``info.scope``, the mark of a sequence that says where the last item is read, and orders no writes.

    Attributes:
        count: How many items, the first ones, do not say so: they are read in the state from before.
    """

    def __init__(self, count: int) -> None:
        self.count = count


def aside(sequence: Op) -> int | None:
    """How many items of a sequence with a mark are read in the state from before; None if it orders its items."""
    return next((m.count for m in reversed(sequence.info.scope) if isinstance(m, Aside)), None)


class Opposed(Exception):
    """A sequence lists a write before one that has happened already.

    Attributes:
        sequence: The sequence.
        before: The write that it lists first.
        behind: The one that has happened first.
    """

    def __init__(self, sequence: Op, before: Op, behind: Op) -> None:
        self.sequence, self.before, self.behind = sequence, before, behind
        super().__init__()


class WriteOrders:
    """The writes of a computation, while they are put in order."""

    def __init__(self) -> None:
        self.handles: list[Op] = []
        self.around: Spans = ()  # what has happened, or is listed, where the sequence stands that is looked at
        self._listed: dict[Op, Spans] = {}
        self._numbers: dict[Op, list[int]] = defaultdict(list)

    def add(self, write: Op) -> None:
        """One more write has happened."""
        number = len(self.handles)
        self.handles.append(write)
        self._listed[write] = ((number, number + 1),)
        self._numbers[write.args[0]].append(number)

    def listed(self, term: Op) -> Spans:
        """The writes that a term lists, which has happened."""
        return self._listed.get(term, ())

    def lists(self, term: Op, spans: Spans) -> None:
        """Note what a term lists that has happened."""
        if spans and aside(term) is None:
            self._listed[term] = spans

    def check(self, sequence: Op, before: Spans, item: Spans) -> None:
        """Refuse an item whose writes happened before those of the items before it.

        Raises:
            Opposed: if two of them write the same variable.
        """
        for start, stop in without(item, self.around):
            for number in range(start, min(stop, before[-1][1])):
                last = self._last(self.handles[number].args[0], before)
                if last > number:
                    raise Opposed(sequence, self.handles[last], self.handles[number])

    def _last(self, variable: Op, spans: Spans) -> int:
        """The last of these writes that writes a variable; -1 if none does."""
        numbers = self._numbers[variable]
        for start, stop in reversed(spans):
            at = bisect_left(numbers, stop) - 1
            if at >= 0 and numbers[at] >= start:
                return numbers[at]
        return -1


class Listing:
    """A sequence whose items are looked at one by one, as they happen."""

    def __init__(self, sequence: Op, orders: WriteOrders) -> None:
        self._sequence, self._orders = sequence, orders
        self._outside, self._start = orders.around, len(orders.handles)
        self._seen: Spans = ()
        self._checked = aside(sequence) is None

    def add(self, item: Op) -> None:
        """The next item has happened."""
        orders, spans = self._orders, self._orders.listed(item)
        if self._checked and spans and self._seen and spans[0][0] < self._seen[-1][1]:
            orders.check(self._sequence, self._seen, spans)
        self._seen = united((self._seen, spans))
        orders.around = united((self._outside, self._seen, span(self._start, len(orders.handles))))

    def close(self) -> None:
        """That was the last one."""
        self._orders.around = self._outside
        self._orders.lists(self._sequence, self._seen)


def items(term: Op) -> tuple[Op, ...]:
    """What a `sequential` or an `after` runs, in order."""
    return term.args if term.definition.name == "core.sequential" else (*term.args[1:], term.args[0])


def contradiction(found: Opposed, order: Sequence[Op]) -> SequencingError:
    """The error that names a sequence, the two writes, and the sequence that has them the other way round.

    Args:
        order: All terms of the computation, arguments first.
    """
    first, second = (f"{describe(w, 2)} ({w.info.place})" for w in (found.before, found.behind))
    before, behind = _listers(found.before, order), _listers(found.behind, order)
    sequences = [t for t in order if t in behind and t.definition.name in _SEQUENCES]
    opposite = [t for t in sequences if t in before and _first(t, before | behind) not in before]
    others = opposite or [t for t in sequences if t is not found.sequence] or [found.sequence]
    if opposite:
        what = f"sequences contradict each other: {first} comes before {second} in one, and after it in the other"
        do = "list them in one order; to write twice, build an assignment for each time"
    else:
        what = f"{first} is listed before {second}, but that one happens earlier, in another sequence"
        do = "list one of the sequences in the other, so that it is known which comes first"
    return SequencingError(what, where=f"{found.sequence.info.place} and {others[0].info.place}", do=do)


def _first(sequence: Op, listers: Set[Op]) -> Op:
    return next(t for t in items(sequence) if t in listers)


def _listers(write: Op, order: Sequence[Op]) -> set[Op]:
    """A write, and all that lists it."""
    found = {write}
    for term in order:
        if term.definition.name in _LISTS and not found.isdisjoint(term.args):
            found.add(term)
    return found
