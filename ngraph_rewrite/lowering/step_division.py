# SPDX-License-Identifier: Apache-2.0
"""What of a scan's step has to be done in the loop, and what can be done for all steps before it or after it.

The *core* of a step is what states go through from one step to the next, and what has no batched form. What the core
reads can be computed before the loop as far as it depends on slices alone, what only outputs read of the core after it.
A state to which each step adds something that does not depend on it is a *sum* over all steps, and no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from ngraph_rewrite.lowering.step_body import ITEM, StepBody
from ngraph_rewrite.ops.scanning import parts
from ngraph_rewrite.terms.binders import NONE, is_parameter
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tuples import TupleType

# What is worth a loop of its own; and how many numbers one may give in a step, as larger ones gain nothing.
_PRODUCTS = frozenset("semi.dot semi.batch_dot cpu.convolution cpu.convolution_of_quads cuda.convolution".split())
_LARGE = 1 << 16
# How many numbers all steps may give together: memory for them is needed, and nothing can interrupt a kernel.
_MOST = 1 << 28
_REARRANGED = frozenset("semi.reshape semi.transpose core.strip core.label".split())


class Division:
    """A step, divided.

    Args:
        scan: The scan.
        used: Which parts of its result are read.
        free: The parameters that each term depends on.

    Attributes:
        own: The places of its parameters: states first, then slices.
        step: What it is made of.
        states: Which states the loop has.
        sums: Which are sums over all steps instead.
        outputs: Which outputs are computed for all steps at once.
        stay: Which outputs the loop computes.
        core: What is computed in the loop, of what depends on the step.
        alone: Whether there is no loop.
    """

    def __init__(self, scan: Op, used: Iterable[int], free: Mapping[Op, frozenset[Uid]]) -> None:
        n, m = scan.attribute("states"), scan.attribute("sequences")
        self.scan, self.free, self.used = scan, free, frozenset(used)
        self.inits, self.sequences, self.following, self.given = parts(scan.args, n, m)
        self.own = {uid: place for place, uid in enumerate(scan.attribute("parameters"))}
        wanted = [i - n for i in sorted(self.used) if n <= i < n + len(self.given)]
        self.states = self._needed(wanted)
        roots = [*(self.following[i] for i in self.states), *(self.given[i] for i in wanted)]
        self.step = StepBody(roots, self.own, free)
        self.body = self.step.terms
        self.sums = self._sums()
        self._divide()
        self.outputs, self.stay = self._chosen(wanted)

    # -- what depends on what ------------------------------------------------------------------------------------------

    def place(self, term: Op) -> int | None:
        """The place of a parameter of this scan."""
        return self.own.get(term.attribute("uid")) if is_parameter(term) else None

    def _needed(self, outputs: Sequence[int]) -> list[int]:
        """The states that are read, or that what is read depends on."""
        n, k = len(self.inits), len(self.given)
        found = {i if i < n else i - n - k for i in self.used if i < n or i >= n + k}
        read = [self.given[i] for i in outputs] + [self.following[i] for i in found]
        while read:
            places = {self.own[uid] for term in read for uid in self.free.get(term, NONE) if uid in self.own}
            new = {place for place in places if place < n} - found
            found |= new
            read = [self.following[i] for i in new]
        return sorted(found)

    def _sums(self) -> list[int]:
        """The states that are sums over all steps, of which only the last value is read."""
        users: dict[Op, list[Op]] = {}
        for term in self.body:
            for arg in term.args:
                users.setdefault(arg, []).append(term)
        n, found = len(self.inits), []
        roots = [*self.following, *self.given]
        for i in self.states:
            after, stacked = self.following[i], n + len(self.given) + i
            state = self._state_in(after, i)
            alone = after not in users and roots.count(after) == 1
            summed = state is not None and users[state] == [after] and state not in roots and stacked not in self.used
            if alone and (summed or self.place(after) == i):  # or no step changes it, or reads it
                found.append(i)
        return found

    def _state_in(self, after: Op, number: int) -> Op | None:
        """The state, in what adds something else to it."""
        if after.definition.name != "semi.add" or after.args[0] is after.args[1]:
            return None
        return next((a for a in after.args if self.place(a) == number), None)

    def added(self, number: int) -> list[Op]:
        """What each step adds to a sum: a term, or nothing."""
        return [a for a in self.following[number].args if self.place(a) != number]

    # -- the core ------------------------------------------------------------------------------------------------------

    def _divide(self) -> None:
        """Find the core; sums that had better stay in the loop are states."""
        every = self.sums
        self._find_core()
        heavy = [i for i in every if not self._heavy.isdisjoint(self.added(i)) and self._pays(self.added(i))]
        kept = set(self._frontier([t for i in heavy for t in self.added(i)]))
        self.sums = [i for i in every if self.alone or i in heavy or kept.issuperset(self._frontier(self.added(i)))]
        if len(self.sums) < len(every):
            self._find_core()

    def _find_core(self) -> None:
        looping = [i for i in self.states if i not in self.sums]
        ends = {self.following[i] for i in looping}
        sources = {t for t in self.body if self.place(t) in looping}
        core, size = set(self.step.fixed), -1
        while len(core) > size:
            size = len(core)
            late, reached = set(sources | core), set(ends)
            for term in self.body:
                if any(a in late for a in term.args):
                    late.add(term)
            for term in reversed(self.body):
                if term in core or term in reached:
                    reached.update(term.args)
            core |= {t for t in late if self.place(t) is None and (t in reached or _is_part(t, core))}
        self.core, self._late = core, late
        self.alone = not looping and not core
        self._heavy = set[Op]()  # what is made of products, as far as these are not in the loop
        for term in self.body:
            if not self.stacks(term) and (_is_product(term) or any(a in self._heavy for a in term.args)):
                self._heavy.add(term)

    def stacks(self, term: Op) -> bool:
        """Whether a loop has to stack a term if it is read after it; what rearranges another one is made of that."""
        if term not in self.core or self.step.is_open(term):
            return False
        return term in self.step.fixed or term.definition.name not in _REARRANGED

    def in_loop(self, term: Op) -> bool:
        """Whether only the loop has what a term is made of: it depends on states or on the core."""
        return term in self._late

    def _chosen(self, wanted: Sequence[int]) -> tuple[list[int], list[int]]:
        """The outputs that are computed for all steps at once, and the others."""
        if self.alone:
            return list(wanted), []
        terms = {i: self.given[i] for i in wanted}
        free = [i for i, t in terms.items() if not self.step.varies(t) or self.place(t) is not None]
        apart = [i for i, t in terms.items() if t not in self.core and t in self._heavy]
        apart = [i for i in apart if self._pays([terms[i]])]
        return sorted({*free, *apart}), [i for i in wanted if i not in free and i not in apart]

    # -- what it is worth ----------------------------------------------------------------------------------------------

    def _apart(self, roots: Iterable[Op]) -> list[Op]:
        """The terms under roots that depend on the step and are not in the core, which is not looked into."""
        found, stack = dict[Op, None](), list(roots)
        while stack:
            term = stack.pop()
            if term not in found and not self.stacks(term) and self.step.varies(term):
                found[term] = None
                stack.extend(term.args)
        return list(found)

    def _frontier(self, roots: Iterable[Op]) -> list[Op]:
        """What terms outside the loop read of it: parts of the core, and states before the step."""
        own = self._apart(roots)
        read = [a for t in own for a in t.args if self.stacks(a)]
        read += [t for t in (*own, *roots) if self.stacks(t) or self._is_state(t)]
        return list(dict.fromkeys(read))

    def _is_state(self, term: Op) -> bool:
        place = self.place(term)
        return place is not None and place < len(self.inits)

    def _pays(self, roots: Sequence[Op]) -> bool:
        """Whether no more has to be written down for products than they give."""
        products = [t for t in self._apart(roots) if _is_product(t)]
        more = [t for t in self._frontier(roots) if t not in self.given]
        return _size(more) <= 2 * _size(products)

    def room(self, times: int) -> int:
        """How many numbers a step may give of what is computed for all steps at once."""
        length = self.scan.attribute("length")
        return min(times * _LARGE, _MOST // max(length, 1)) if isinstance(length, int) else times * _LARGE

    def before(self, roots: Iterable[Op]) -> list[Op]:
        """What is computed before the loop for terms in it: products of slices, with what is made of them there.

        Args:
            roots: What the loop computes.
        """
        found, seen, stack = dict[Op, None](), set[Op](), list(roots)
        while stack:
            term = stack.pop()
            if term in seen or not self.step.varies(term):
                continue
            seen.add(term)
            is_view = "view" in term.definition.traits
            apart = not self.in_loop(term) and not is_view and not self.step.is_open(term) and _is_tensor(term)
            if apart and _size([term]) <= self.room(1) and term in self._heavy:
                found[term] = None
            else:
                stack.extend(term.args)
        return list(found)


def is_small(division: Division) -> bool:
    """Whether a step gives so few numbers that a loop over it would be slower than all at once."""
    return all(_size([t]) <= division.room(4) for t in division.body if _is_tensor(t))


def _is_part(term: Op, of: Set[Op]) -> bool:
    """Whether it is a part of one of these terms, which have it anyway."""
    return term.definition.name == ITEM and term.args[0] in of


def _is_tensor(term: Op) -> bool:
    return not isinstance(term.type, TupleType)


def _is_product(term: Op) -> bool:
    return term.definition.name in _PRODUCTS and _size([term]) <= _LARGE


def _size(terms: Iterable[Op]) -> int:
    """How many numbers terms have, as far as that is known."""
    return sum(t.size for t in terms if isinstance(t.size, int))
