# SPDX-License-Identifier: Apache-2.0
"""One scalar is often differentiated by one term after another: what these sweeps have in common is done once.

A sweep towards one term goes through what stands between it and the scalar. The adjoint that a term in between has
got by then is the same for every term that is asked for, as all its users lie in between too. So a `SharedSweep` keeps
the adjoints it has worked out, and goes on from them: each term under the scalar is swept once, however many
derivatives are asked for. A derivative is the same term as if it had been asked for alone, but for the terms that it
has in common with others; it is a handle of its own, so that a sequence can give it a place of its own.

That holds where what a term passes on depends on the term and its adjoint alone. It does not of scans, loops and
sequences, whose adjoints are made for those who ask, of a derivative that a user's function gives, and of a rule that
passes over the term that is asked for: then there is no shared answer (`Apart`), and a sweep of its own finds one.

Which derivatives share a sweep is said in `continued_sweep.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ngraph_rewrite.lowering.adjoints import SPECIALS, asks_nothing
from ngraph_rewrite.lowering.derive_rules import DeriveRules
from ngraph_rewrite.lowering.fitting import Adjoint, accumulated, has_slope, zero
from ngraph_rewrite.lowering.sweep import Pair, Sweep
from ngraph_rewrite.terms.binders import NONE, free_parameters
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# So many levels of terms a rule looks through at most, to what it gives an adjoint.
_DEEPEST = 8


class Apart(Exception):
    """What is asked for cannot be shared."""


class SharedSweep:
    """A reverse sweep from one scalar that goes only as far as it is asked to, and goes on from there.

    Args:
        rules: The derive and lower rules.
        dependent: The scalar.
        seed: Its adjoint.

    Attributes:
        swept: How many terms have been swept.
    """

    def __init__(self, rules: DeriveRules, dependent: Op, seed: Op) -> None:
        self.swept = 0
        self._rules, self._dependent = rules, dependent
        self._plain = Sweep(rules, SPECIALS, (), "")
        self._order = topological([dependent])
        self._number = {term: i for i, term in enumerate(self._order)}
        self._free = free_parameters(self._order)
        self._sloping = [has_slope(term.type) for term in self._order]
        self._leading = self._that_lead_to_leaves()
        self._users = self._of_each()  # those through which a derivative may pass
        self._done = bytearray(len(self._order))
        self._given: dict[Op, list[tuple[int, Adjoint]]] = {dependent: [(0, seed)]}  # with what number it came from
        self._adjoints: dict[Op, Adjoint] = {}
        self._passed: set[Op] = set()  # what rules saw through

    def adjoint(self, wanted: Op) -> Op:
        """The adjoint of a term.

        Raises:
            Apart: if it has to be found by a sweep of its own, or there is none.
        """
        number = self._number.get(wanted)
        free = self._free if number is not None else free_parameters(topological([wanted]))
        if not free.get(wanted, NONE) <= self._free.get(self._dependent, NONE):
            raise Apart
        if number is None:
            return zero(wanted.type)
        if wanted in self._passed or number not in self._leading:
            raise Apart
        for above in sorted(self._unswept_above(number), reverse=True):
            self._sweep(above, wanted)
        return self._as_handle(self._total(wanted), wanted)

    def holds(self, term: Op) -> bool:
        """Whether a term is part of the graph that is swept."""
        return term in self._number

    # -- what stands where ---------------------------------------------------------------------------

    def _that_lead_to_leaves(self) -> set[int]:
        """The terms that are no constants, nor made of them alone, and that a derivative may pass through."""
        found = set[int]()
        for i, term in enumerate(self._order):
            leaf = not term.args and term.definition.name != "core.constant"
            if self._sloping[i] and (leaf or any(self._number[a] in found for a in term.args)):
                found.add(i)
        return found

    def _of_each(self) -> list[list[int]]:
        users: list[list[int]] = [[] for _ in self._order]
        for i, term in enumerate(self._order):
            if self._sloping[i]:
                for a in term.args:
                    users[self._number[a]].append(i)
        return users

    def _unswept_above(self, number: int) -> set[int]:
        found, pending = set[int](), [number]
        while pending:
            for user in self._users[pending.pop()]:
                if not self._done[user] and user not in found:
                    found.add(user)
                    pending.append(user)
        return found

    def _as_handle(self, found: Adjoint | None, wanted: Op) -> Op:
        if not isinstance(found, Op):
            return zero(wanted.type)
        return found if self.holds(found) else Op(found.definition, found.args, found.attrs, found.type, found.info)

    # -- sweeping ------------------------------------------------------------------------------------

    def _sweep(self, number: int, wanted: Op) -> None:
        """Hand on what a term has got."""
        term = self._order[number]
        adjoint = self._total(term)
        if adjoint is not None:
            passed = set[Op]()
            found = self._below(term, adjoint, _asked(wanted, passed))
            self._check_ways(term, {receiver for receiver, _ in found})
            self._passed |= passed
            for receiver, part in found:
                self._given.setdefault(receiver, []).append((-number, part))
        self._done[number] = True
        self.swept += 1

    def _total(self, term: Op) -> Adjoint | None:
        """What a term has got, in the order in which one sweep adds it up: that of the last user first."""
        total = self._adjoints.get(term)
        if total is None and term in self._given:
            for _, part in sorted(self._given.pop(term), key=lambda one: one[0]):
                total = accumulated(total, part, term.type)
            assert total is not None
            self._adjoints[term] = total
        return total

    def _below(self, term: Op, adjoint: Adjoint, asked: Callable[[set[Op]], bool]) -> list[Pair]:
        """What the terms of the graph below one get, through whatever that is lowered to."""
        found: list[Pair] = []
        own: dict[Op, Adjoint] = {term: adjoint}
        alive, pending = {term}, [term]
        while pending:
            one = pending.pop()
            if one in own:
                pairs = self._passed_on(one, own[one], asked)
                if pairs is None:
                    pairs, new = self._expanded(one, own[one], asked, alive)
                    pending += new
                for receiver, part in pairs:
                    if receiver in self._number:
                        found.append((receiver, part))
                    elif receiver in alive:
                        own[receiver] = accumulated(own.get(receiver), part, receiver.type)
        return [(receiver, part) for receiver, part in found if self._number[receiver] in self._leading]

    def _passed_on(self, term: Op, adjoint: Adjoint, asked: Callable[[set[Op]], bool]) -> list[Pair] | None:
        special = SPECIALS.get(term.definition.name)
        if special is not None:
            if not asks_nothing(term):
                raise Apart
            pairs = special(term, adjoint, self._plain)
            assert isinstance(pairs, list)
            return pairs
        found = self._rules.adjoints(term, adjoint, asked) if isinstance(adjoint, Op) else None
        return None if found is None else [*found]

    def _expanded(
        self, term: Op, adjoint: Adjoint, asked: Callable[[set[Op]], bool], alive: set[Op]
    ) -> tuple[list[Pair], list[Op]]:
        expansion = self._rules.expansion(term, asked)
        if expansion is None:
            raise Apart  # the sweep that is made instead says so
        root, new = expansion
        for one in new:
            if has_slope(one.type) and any(a in alive or self._number.get(a) in self._leading for a in one.args):
                alive.add(one)
        return [(root, adjoint)], new

    def _check_ways(self, term: Op, receivers: Collection[Op]) -> None:
        """A rule that reaches a term through one that has no slope says more than a sweep towards that term asks."""
        missing, level = {*receivers}.difference(term.args), list(term.args)
        for _ in range(_DEEPEST):
            if not missing:
                return
            level = [a for t in dict.fromkeys(level) if has_slope(t.type) for a in t.args]
            missing.difference_update(level)
        if missing:
            raise Apart


def _asked(wanted: Op, passed: set[Op]) -> Callable[[set[Op]], bool]:
    def asked(terms: set[Op]) -> bool:
        if wanted in terms:
            raise Apart
        passed.update(terms)
        return False

    return asked
