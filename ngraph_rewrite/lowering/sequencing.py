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

from ngraph_rewrite.errors import SequencingError
from ngraph_rewrite.lowering.spans import united
from ngraph_rewrite.lowering.waiting import Waiting, finished
from ngraph_rewrite.lowering.write_orders import Listing, Opposed, WriteOrders, aside, contradiction, items
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe

# The last write of each variable that was written; immutable, shared between places.
State = Mapping[Op, Op]
Evaluation = Waiting[tuple[Op, State]]
_ORDERED = ("core.sequential", "core.doall", "core.assign", "core.after")
_NAMED = frozenset((*_ORDERED, "core.present"))


@dataclass
class Sequenced:
    """The roots as terms whose reads name their state, and all writes in order.

    Attributes:
        terms: What became of each handle that was changed.
        final: The last write of each variable.
        order: All terms under roots and writes, arguments first; None if nobody has worked it out.
    """

    roots: list[Op]
    writes: list[Op]
    terms: dict[Op, Op]
    final: dict[Op, Op]
    order: list[Op] | None = None


def sequence(roots: Iterable[Op]) -> Sequenced:
    """Put the effects under `roots` in order.

    Raises:
        SequencingError: for an assignment to something that is no variable, a temporary read before it
            is written, or sequences that contradict each other.
    """
    roots = list(roots)
    order = topological(roots)
    special = _special(order)
    if not special:
        return Sequenced(roots, [], {}, {}, order)
    effectful = _above(order, {t for t in order if t.definition.name in _ORDERED})
    within, ahead = _within(order, roots), dict[Op, int]()
    tried = set[Op]()
    while True:
        try:
            return _Sequencing(special, effectful, ahead).sequenced(roots, within)
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
    placed: dict[Op, tuple[Op, State]] = field(default_factory=dict)
    done: dict[Op, Op] = field(default_factory=dict)
    terms: dict[Op, Op] = field(default_factory=dict)
    last: dict[Op, Op] = field(default_factory=dict)
    number: dict[Op, int] = field(default_factory=dict)
    memo: dict[tuple[Op, tuple[tuple[Op, Op], ...]], tuple[Op, State]] = field(default_factory=dict)
    orders: WriteOrders = field(default_factory=WriteOrders)

    def sequenced(self, roots: list[Op], within: set[Op]) -> Sequenced:
        """The roots in order; those that stand inside others are met last."""
        final: State = {}
        for root in sorted(self.effects_first(roots), key=within.__contains__):
            if root.definition.name != "core.variable":
                _, state = self.run(root, {})
                final = self.later(final, state)
        values = [self.read(r, final) if r.definition.name == "core.variable" else self.done[r] for r in roots]
        terms = {handle: term for handle, term in self.terms.items() if handle is not term}
        return Sequenced(values, list(self.number), terms, dict(final))

    def effects_first(self, terms: Sequence[Op]) -> list[Op]:
        """Terms with effects before those without, so that a listed handle is placed before it is read."""
        return sorted(terms, key=lambda t: (t not in self.effectful, self.ahead.get(t, 0)))  # the sort is stable

    def run(self, root: Op, state: State) -> tuple[Op, State]:
        """Evaluate, with a stack of its own, so that depth is no limit."""
        value, state = finished(self.evaluate(root, state))
        self.done[root] = value
        return value, state

    def evaluate(self, term: Op, state: State) -> Evaluation:
        if term in self.placed:
            value, wrote = self.placed[term]
            return value, self.later(state, wrote)
        if not state and term not in self.special:
            return term, state
        name = term.definition.name
        if name == "core.variable":
            return self.read(term, state), state
        if name == "core.present":
            return self.read(term.args[0], self.last), state
        if name in _ORDERED:
            value, after = yield from self.effect(name, term, state)
            self.place(term, value, state, after)
            return value, after
        key = (term, tuple(state.items()))
        if key in self.memo:
            value, wrote = self.memo[key]
            return value, self.later(state, wrote)
        args, after = yield from self.arguments(term, state)
        value = term if args == term.args else Op(term.definition, args, term.attrs, term.type, term.info)
        self.memo[key] = value, _changed(state, after)
        self.terms.setdefault(term, value)
        return value, after

    def arguments(self, term: Op, state: State) -> Waiting[tuple[tuple[Op, ...], State]]:
        """All arguments see the same state; what they write is seen afterwards."""
        values, changed = {}, state
        for arg in self.effects_first(term.args):
            values[arg], after = yield self.evaluate(arg, state)
            changed = self.later(changed, _changed(state, after))
        return tuple([values[arg] for arg in term.args]), changed

    def effect(self, name: str, term: Op, state: State) -> Evaluation:
        if name == "core.assign":
            return (yield from self.write(term, state))
        if name == "core.doall":
            args, state = yield from self.arguments(term, state)
            self.orders.lists(term, united(map(self.orders.listed, term.args)))
            return Op(term.definition, args, term.attrs, term.type, term.info), state
        if (first := aside(term)) is not None:
            return (yield from self.derived(term, first, state))
        value, listing = term, Listing(term, self.orders)
        for item in items(term):
            value, after = yield self.evaluate(item, state)
            listing.add(item)
            if name == "core.sequential" and item not in self.placed and item.definition.name != "core.variable":
                self.place(item, value, state, after)
            state = after
        listing.close()
        return value, state

    def derived(self, term: Op, first: int, state: State) -> Evaluation:
        """What a derivative is made of: the last item reads what the others wrote, whatever was written since.

        Args:
            first: How many items are read in `state`, and their writes by no other item.
        """
        value, listing = term, Listing(term, self.orders)
        inside = after = state
        for number, item in enumerate(items(term)):
            before = state if number < first else inside
            value, changed = yield self.evaluate(item, before)
            listing.add(item)
            if item not in self.placed and item.definition.name != "core.variable":
                self.place(item, value, before, changed)
            wrote = self.placed[item][1] if item in self.placed else {}
            after = self.later(after, wrote)
            inside = {**inside, **wrote} if number >= first else inside
        listing.close()
        return value, after

    def place(self, term: Op, value: Op, before: State, after: State) -> None:
        """Note where a handle has run: its value, and what it wrote."""
        self.placed[term] = value, _changed(before, after)
        self.terms[term] = value

    def later(self, state: State, wrote: State) -> State:
        """The state once `wrote` has happened too; of two writes of a variable the later one counts."""
        number = self.number
        new = {v: w for v, w in wrote.items() if v not in state or number[state[v]] < number[w]}
        return {**state, **new} if new else state

    def write(self, term: Op, state: State) -> Evaluation:
        target, value = term.args
        if target.definition.name != "core.variable":
            raise SequencingError(
                f"assign to {describe(target, 1)}, which is not storage",
                where=term.info.place,
                do="assign to a variable, a persistent tensor or a temporary",
            )
        value, state = yield self.evaluate(value, state)
        written = Op(term.definition, (target, value), term.attrs, term.type, term.info)
        self.number[written] = len(self.number)
        self.orders.add(term)
        self.last[target] = written
        return _after(target, written), {**state, target: written}

    def read(self, variable: Op, state: State) -> Op:
        written = state.get(variable)
        if written is not None:
            return _after(variable, written)
        if variable.attribute("scratch"):
            raise SequencingError(
                f"the temporary {describe(variable)} is read before it is assigned",
                where=variable.info.place,
                do="put the assignment before the read in ng.sequential",
            )
        return variable


def _changed(before: State, after: State) -> State:
    """What was written between two states."""
    return {} if before is after else {v: w for v, w in after.items() if before.get(v) is not w}


def _after(variable: Op, written: Op) -> Op:
    return Op(lookup("core.after"), (variable, written), (), variable.type, variable.info)
