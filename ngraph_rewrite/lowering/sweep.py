# SPDX-License-Identifier: Apache-2.0
"""One reverse sweep: adjoints go from results down to what they are built from, each op by the best it has.

An op is differentiated by the first of these that it has:

1. a function in the table `Specials` that the sweep was given: for what no equation can say;
2. a derive rule;
3. its lowering: the lower rule that fires on it is applied to it alone, and the sweep goes on in the terms that
   this makes. So every op that is lowered to differentiable ones is differentiable.

What has none of them, and a derivative has to pass through it, is an error. No derivative passes through
integers and bool.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from heapq import heappop, heappush
from typing import TypeAlias

from ngraph_rewrite.errors import DerivativeError
from ngraph_rewrite.lowering.derive_rules import DeriveRules
from ngraph_rewrite.lowering.fitting import Adjoint, accumulated, has_slope
from ngraph_rewrite.lowering.swept_terms import SweptTerms
from ngraph_rewrite.terms.binders import Free
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.waiting import Waiting, finished

__all__ = ["Adjoint", "Found", "Pair", "Pairs", "Special", "Specials", "Sweep", "Waiting"]

Pair = tuple[Op, Adjoint]
Found = dict[Op, Adjoint]
# What the terms below a term get; what needs a sweep inside for it waits for that.
Pairs: TypeAlias = list[Pair] | Waiting[list[Pair]]
# From a term, its adjoint and the sweep to pairs of terms below it and what they get (see `adjoints.py`).
Special = Callable[[Op, Adjoint, "Sweep"], Pairs]
Specials = Mapping[str, Special]


class Sweep:
    """A reverse sweep towards some terms.

    Args:
        rules: The derive and lower rules.
        specials: What is differentiated by a function, by the name of the op.
        wanted: The terms whose adjoints are asked for.
        place: ``file:line`` of the user's call, for errors of terms that have no line.
        inside: The terms it goes through, if it is part of another sweep. Then the wanted terms count as independent
            of each other: nothing passes through them.

    Attributes:
        adjoints: What has been found so far.
    """

    def __init__(
        self,
        rules: DeriveRules,
        specials: Specials,
        wanted: Collection[Op],
        place: str,
        inside: SweptTerms | None = None,
    ) -> None:
        self.adjoints: dict[Op, Adjoint] = {}
        self.wanted, self.place = frozenset(wanted), place
        self._rules, self._specials = rules, specials
        self._leaves, self._terms = inside is not None, inside or SweptTerms((), self.wanted)
        self._pending: list[int] = []  # a heap of what has an adjoint, the last in order first, as negative numbers
        self._new: list[Op] = []  # what stands for the term that was swept last: it comes before all others
        self._origin: dict[Op, Op] = {}

    def run(self, seeds: Iterable[Pair]) -> Found:
        """The adjoints of the wanted terms that are connected to `seeds`, results with their adjoints.

        Raises:
            DerivativeError: for an op without an adjoint on the way.
        """
        pairs = list(seeds)
        self._terms = SweptTerms([term for term, _ in pairs], self.wanted)
        return finished(self._swept(pairs))

    def needs(self, term: Op) -> bool:
        """Whether a derivative passes through `term`: a special may leave out what is not needed."""
        return term in self._terms.needed

    def overwritten(self, terms: Collection[Op], read: Op) -> bool:
        """Whether some of these terms write a variable that `read` reads."""
        return bool(self._terms.variables(terms).written & self._terms.variables([read]).used)

    def free_parameters(self, roots: Iterable[Op]) -> Free:
        """The parameters that terms under some roots depend on and do not bind."""
        return self._terms.free.under(roots)

    def inner(
        self, seeds: Iterable[Pair], wanted: Collection[Op], outside: Container[Op] | None = None
    ) -> Waiting[Found]:
        """A sweep of its own, as through a body, with the same rules; the wanted terms are its leaves.

        Args:
            outside: What a body reads as it is: nothing passes through that.
        """
        pairs = list(seeds)
        terms = SweptTerms([term for term, _ in pairs], frozenset(wanted), outside, self._terms)
        return (yield from self._inner(pairs, wanted, terms))

    def apart(self, term: Op, adjoint: Adjoint, leaves: Collection[Op] = ()) -> Waiting[Found]:
        """A sweep of its own from a term below this one's to the same wanted terms and some more, its leaves."""
        wanted = self.wanted.union(leaves) if leaves else self.wanted
        if term not in self._terms.number:
            return (yield from self.inner([(term, adjoint)], wanted))
        return (yield from self._inner([(term, adjoint)], wanted, self._terms))

    def _inner(self, pairs: list[Pair], wanted: Collection[Op], terms: SweptTerms) -> Waiting[Found]:
        found: Found = yield Sweep(self._rules, self._specials, wanted, self.place, terms)._swept(pairs)
        return found

    def _swept(self, pairs: list[Pair]) -> Waiting[Found]:
        self._hand_on(pairs)
        while self._new or self._pending:
            term = self._new.pop() if self._new else self._terms.order[-heappop(self._pending)]
            if self._passes_through(term):
                below = self._below(term, self.adjoints[term])
                if not (below is None or isinstance(below, list)):  # generators are told more slowly
                    below = yield from below
                if below is None:
                    self._expand(term)
                else:
                    self._hand_on(below)
        return {term: adjoint for term, adjoint in self.adjoints.items() if term in self.wanted}

    def _passes_through(self, term: Op) -> bool:
        if self._leaves and term in self.wanted:
            return False
        return term in self.adjoints and any(a in self._terms.needed for a in term.args)

    def _below(self, term: Op, adjoint: Adjoint) -> Pairs | None:
        """What the terms below get, or will get; None if only what `term` is lowered to can say."""
        special = self._specials.get(term.definition.name)
        if special is not None:
            return special(term, adjoint, self)
        pairs = self._rules.adjoints(term, adjoint, self._asks_for) if isinstance(adjoint, Op) else None
        return None if pairs is None else [*pairs]

    def _asks_for(self, terms: set[Op]) -> bool:
        return not self.wanted.isdisjoint(terms)

    def _hand_on(self, pairs: Iterable[Pair]) -> None:
        for receiver, part in pairs:
            self._add(receiver, part)

    def _expand(self, term: Op) -> None:
        """New terms that stand for this one, to be swept next."""
        found = self._rules.expansion(term, self._asks_for)
        if found is None:
            raise self._no_adjoint(term)
        root, new = found
        self._origin.update(dict.fromkeys(new, self._origin.get(term, term)))
        self._terms.mark(new)
        self._add(root, self.adjoints[term])
        self._new += new

    def _add(self, term: Op, adjoint: Adjoint) -> None:
        if term not in self._terms.needed or not has_slope(term.type):
            return
        if term not in self.adjoints and term in self._terms.number:
            heappush(self._pending, -self._terms.number[term])
        self.adjoints[term] = accumulated(self.adjoints.get(term), adjoint, term.type)

    def _no_adjoint(self, term: Op) -> DerivativeError:
        user = self._origin.get(term, term)
        inside = f" (to which {user.definition} is lowered)" if user is not term else ""
        return DerivativeError(
            f"{term.definition}{inside} has no adjoint, and a derivative has to pass through it: {describe(user, 2)}",
            where=user.info.place if user.info.lineno else self.place,
            do="add a rule to a derive file, or cut the path with ng.stop_gradient",
        )
