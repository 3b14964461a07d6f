# SPDX-License-Identifier: Apache-2.0
"""Effects are put in order before anything is rewritten: each read of a variable names the write it follows.

``sequential`` threads a state (the last write of each variable) through its items; a read of ``x`` after
the write ``a`` becomes ``after(x, a)``. Reads of different states are then different terms, so sharing
equal terms is right and no rule has to know about effects. What no sequence orders reads the state at the
start of the computation, and its writes happen in the order in which they are met.

Should a sequence be met after something that it has to come before, everything is done anew with that sequence
first. If that does not help, there is no order: `write_orders.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType

from ngraph_rewrite.errors import SequencingError
from ngraph_rewrite.lowering.reads import ByState, Reads, State
from ngraph_rewrite.lowering.spans import united
from ngraph_rewrite.lowering.write_orders import Listing, Opposed, WriteOrders, aside, contradiction, items
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.waiting import Waiting, finished

# What was written in a place: of each variable the last write, if it is later than the one that the place sees.
Wrote = Mapping[Op, Op]
Evaluation = Waiting[tuple[Op, Wrote]]
_NOTHING: Wrote = MappingProxyType({})
_ORDERED = ("core.sequential", "core.doall", "core.assign", "core.after")
_NAMED = frozenset((*_ORDERED, "core.present"))


@dataclass
class Sequenced:
    """The roots as terms whose reads name their state, and all writes in order.

    Attributes:
        terms: What became of each handle that was changed.
        final: The last write of each variable.
        order: All terms under roots and writes, arguments first.
    """

    roots: list[Op]
    writes: list[Op]
    terms: dict[Op, Op]
    final: dict[Op, Op]
    order: list[Op]


def sequence(roots: Iterable[Op], order: list[Op] | None = None) -> Sequenced:
    """Put the effects under `roots` in order.

    Args:
        order: All terms under the roots, arguments first, for those who have them.

    Raises:
        SequencingError: for an assignment to something that is no variable, a temporary read before it
            is written, or sequences that contradict each other.
    """
    roots = list(roots)
    order = topological(roots) if order is None else order
    special = _special(order)
    if not special:
        return Sequenced(roots, [], {}, {}, order)
    effectful = _above(order, {t for t in order if t.definition.name in _ORDERED})
    written = [t.args[0] for t in order if t.definition.name == "core.assign"]
    within, ahead = _within(order, roots), dict[Op, int]()
    tried = set[Op]()
    while True:
        try:
            reads = Reads(written)
            return _Sequencing(special, effectful, ahead, reads, ByState(reads)).sequenced(roots, within)
        except Opposed as found:
            if found.sequence in tried:
                raise contradiction(found, order) from None
            tried.add(found.sequence)
            ahead |= dict.fromkeys(_above(order, {found.sequence}), -len(tried))


def _within(order: list[Op], roots: list[Op]) -> set[Op]:
    """The roots that stand inside another root: that one says where they are placed."""
    inside: set[Op] = set()
    wanted = set(roots)
    for term in reversed(order):
        if term in inside or term in wanted:
            inside.update(term.args)
    return inside.intersection(roots)


def _special(order: list[Op]) -> set[Op]:
    """Terms that cannot be taken as they are: above an effect, a listed handle, or a scratch variable."""
    definitions = set(map(attrgetter("definition"), order))
    special = {d for d in definitions if d.name in _NAMED}
    variables = {d for d in definitions if d.name == "core.variable"}
    own = {t for t in order if t.definition in special} if special else set[Op]()
    own.update([t for t in order if t.definition in variables and t.attribute("scratch")])
    items = [item for t in own if t.definition.name == "core.sequential" for item in t.args]
    own.update(item for item in items if item.definition.name != "core.variable")
    return _above(order, own) if own else own


def _above(order: list[Op], found: set[Op]) -> set[Op]:
    """These terms, and all terms that contain one."""
    found = set(found)
    for term in order:
        if not found.isdisjoint(term.args):
            found.add(term)
    return found


@dataclass
class _Sequencing:
    """One way through all terms.

    Attributes:
        ahead: What is run before other things with effects, the least number first.
        number: All writes, in order.
    """

    special: set[Op]
    effectful: set[Op]
    ahead: Mapping[Op, int]
    reads: Reads
    memo: ByState[tuple[Op, Wrote]]
    placed: dict[Op, tuple[Op, Wrote]] = field(default_factory=dict)
    done: dict[Op, Op] = field(default_factory=dict)
    terms: dict[Op, Op] = field(default_factory=dict)
    last: dict[Op, Op] = field(default_factory=dict)
    number: dict[Op, int] = field(default_factory=dict)
    orders: WriteOrders = field(default_factory=WriteOrders)

    def sequenced(self, roots: list[Op], within: set[Op]) -> Sequenced:
        """The roots in order; those that stand inside others are met last."""
        final = dict[Op, Op]()
        for root in sorted(self.effects_first(roots), key=within.__contains__):
            if root.definition.name != "core.variable":
                self.add(self.run(root), final)
        values = [self.read(r, final) if r.definition.name == "core.variable" else self.done[r] for r in roots]
        terms = {handle: term for handle, term in self.terms.items() if handle is not term}
        writes = list(self.number)
        return Sequenced(values, writes, terms, final, topological([*values, *writes]))

    def effects_first(self, terms: Sequence[Op]) -> list[Op]:
        """Terms with effects before those without, so that a listed handle is placed before it is read."""
        return sorted(terms, key=lambda t: (t not in self.effectful, self.ahead.get(t, 0)))  # the sort is stable

    def run(self, root: Op) -> Wrote:
        """Evaluate, with a stack of its own, so that depth is no limit; what was written."""
        self.done[root], wrote = finished(self.evaluate(root, self.reads.start))
        return wrote

    def evaluate(self, term: Op, state: State) -> Evaluation:
        if term in self.placed:
            value, wrote = self.placed[term]
            return value, self.newer(state.writes, wrote)
        bits = state.bits
        if term not in self.special:
            bits = self.reads.differs(term, state)
            if not bits:
                return term, _NOTHING
        name = term.definition.name
        if name == "core.variable":
            return self.read(term, state.writes), _NOTHING
        if name == "core.present":
            return self.read(term.args[0], self.last), _NOTHING
        if name in _ORDERED:
            value, wrote = yield from self.effect(name, term, state)
            self.place(term, value, wrote)
            return value, wrote
        found = self.memo.find(term, state, bits)
        if found is None:
            args, wrote = yield from self.arguments(term, state)
            value = term if args == term.args else Op(term.definition, args, term.attrs, term.type, term.info)
            found = self.memo.add(term, state, bits, (value, wrote))
            self.terms.setdefault(term, value)
        value, wrote = found
        return value, self.newer(state.writes, wrote)

    def arguments(self, term: Op, state: State) -> Waiting[tuple[tuple[Op, ...], Wrote]]:
        """All arguments see the same state; what they write is seen afterwards."""
        values, changed = {}, dict[Op, Op]()
        for arg in self.effects_first(term.args):
            values[arg], wrote = yield self.evaluate(arg, state)
            self.add(wrote, changed)
        return tuple([values[arg] for arg in term.args]), changed

    def effect(self, name: str, term: Op, state: State) -> Evaluation:
        if name == "core.assign":
            return (yield from self.write(term, state))
        if name == "core.doall":
            args, wrote = yield from self.arguments(term, state)
            self.orders.lists(term, united(map(self.orders.listed, term.args)))
            return Op(term.definition, args, term.attrs, term.type, term.info), wrote
        if (first := aside(term)) is not None:
            return (yield from self.derived(term, first, state))
        value, every, listing = term, dict[Op, Op](), Listing(term, self.orders)
        for item in items(term):
            value, wrote = yield self.evaluate(item, state)
            listing.add(item)
            if name == "core.sequential" and item not in self.placed and item.definition.name != "core.variable":
                self.place(item, value, wrote)
            state = self.reads.after(state, wrote)
            every.update(wrote)
        listing.close()
        return value, every

    def derived(self, term: Op, first: int, state: State) -> Evaluation:
        """What a derivative is made of: the last item reads what the others wrote, whatever was written since.

        Args:
            first: How many items are read in `state`, and their writes by no other item.
        """
        value, listing = term, Listing(term, self.orders)
        inside, every = state, dict[Op, Op]()
        for number, item in enumerate(items(term)):
            value, changed = yield self.evaluate(item, state if number < first else inside)
            listing.add(item)
            if item not in self.placed and item.definition.name != "core.variable":
                self.place(item, value, changed)
            wrote = self.placed[item][1] if item in self.placed else _NOTHING
            self.add(wrote, every)
            inside = self.reads.after(inside, wrote) if number >= first else inside
        listing.close()
        return value, self.newer(state.writes, every)

    def place(self, term: Op, value: Op, wrote: Wrote) -> None:
        """Note where a handle has run: its value, and what it wrote."""
        self.placed[term] = value, wrote
        self.terms[term] = value

    def newer(self, writes: Wrote, wrote: Wrote) -> Wrote:
        """Those of what was written that are later than other writes."""
        if not wrote or not writes:
            return wrote
        number, known = self.number, writes.get
        return {v: w for v, w in wrote.items() if (last := known(v)) is None or number[last] < number[w]}

    def add(self, wrote: Wrote, every: dict[Op, Op]) -> None:
        """Add what was written to all that was; of two writes of a variable the later one counts."""
        every.update(self.newer(every, wrote))

    def write(self, term: Op, state: State) -> Evaluation:
        target, value = term.args
        if target.definition.name != "core.variable":
            raise SequencingError(
                f"assign to {describe(target, 1)}, which is not storage",
                where=term.info.place,
                do="assign to a variable, a persistent tensor or a temporary",
            )
        value, wrote = yield self.evaluate(value, state)
        written = Op(term.definition, (target, value), term.attrs, term.type, term.info)
        self.number[written] = len(self.number)
        self.orders.add(term)
        self.last[target] = written
        return _after(target, written), {**wrote, target: written}

    def read(self, variable: Op, writes: Wrote) -> Op:
        written = writes.get(variable)
        if written is not None:
            return _after(variable, written)
        if variable.attribute("scratch"):
            raise SequencingError(
                f"the temporary {describe(variable)} is read before it is assigned",
                where=variable.info.place,
                do="put the assignment before the read in ng.sequential",
            )
        return variable


def _after(variable: Op, written: Op) -> Op:
    return Op(lookup("core.after"), (variable, written), (), variable.type, variable.info)
