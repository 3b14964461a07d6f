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

from collections.abc import Callable, Collection, Iterable, Mapping

from ngraph_rewrite.errors import DerivativeError
from ngraph_rewrite.lowering.derive_rules import DeriveRules
from ngraph_rewrite.lowering.fitting import Adjoint, accumulated, has_slope
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe

__all__ = ["Adjoint", "Pair", "Special", "Specials", "Sweep"]

Pair = tuple[Op, Adjoint]
# From a term, its adjoint and the sweep to pairs of terms below it and what they get (see `adjoints.py`).
Special = Callable[[Op, Adjoint, "Sweep"], Iterable[Pair]]
Specials = Mapping[str, Special]


class Sweep:
    """A reverse sweep towards some terms.

    Args:
        rules: The derive and lower rules.
        specials: What is differentiated by a function, by the name of the op.
        wanted: The terms whose adjoints are asked for.
        place: ``file:line`` of the user's call, for errors of terms that have no line.
        leaves: Whether the wanted terms count as independent of each other: nothing passes through them.

    Attributes:
        adjoints: What has been found so far.
    """

    def __init__(
        self, rules: DeriveRules, specials: Specials, wanted: Collection[Op], place: str, leaves: bool = False
    ) -> None:
        self.adjoints: dict[Op, Adjoint] = {}
        self.wanted, self.place = frozenset(wanted), place
        self._rules, self._specials, self._leaves = rules, specials, leaves
        self._needed: set[Op] = set()
        self._origin: dict[Op, Op] = {}

    def run(self, seeds: Iterable[Pair]) -> dict[Op, Adjoint]:
        """The adjoints of the wanted terms that are connected to `seeds`, results with their adjoints.

        Raises:
            DerivativeError: for an op without an adjoint on the way.
        """
        pairs = list(seeds)
        stack = topological(term for term, _ in pairs)
        self._mark(stack)
        for term, adjoint in pairs:
            self._add(term, adjoint)
        while stack:
            term = stack.pop()
            if self._passes_through(term):
                stack += self._step(term, self.adjoints[term])
        return {term: self.adjoints[term] for term in self.wanted if term in self.adjoints}

    def needs(self, term: Op) -> bool:
        """Whether a derivative passes through `term`: a special may leave out what is not needed."""
        return term in self._needed

    def inner(self, seeds: Iterable[Pair], wanted: Collection[Op]) -> dict[Op, Adjoint]:
        """A sweep of its own, as through a body, with the same rules; the wanted terms are its leaves."""
        return Sweep(self._rules, self._specials, wanted, self.place, leaves=True).run(seeds)

    def _mark(self, order: Iterable[Op]) -> None:
        """Find the terms through which the wanted ones are reached, themselves included."""
        for term in order:
            if term in self.wanted or (has_slope(term.type) and any(a in self._needed for a in term.args)):
                self._needed.add(term)

    def _passes_through(self, term: Op) -> bool:
        if self._leaves and term in self.wanted:
            return False
        return term in self.adjoints and any(a in self._needed for a in term.args)

    def _step(self, term: Op, adjoint: Adjoint) -> list[Op]:
        """Hand the adjoint on; what comes back are new terms that stand for this one, to be swept next."""
        special = self._specials.get(term.definition.name)
        if special is not None:
            pairs: Iterable[Pair] | None = special(term, adjoint, self)
        else:
            pairs = self._rules.adjoints(term, adjoint, self.wanted) if isinstance(adjoint, Op) else None
        if pairs is None:
            return self._expand(term, adjoint)
        for receiver, part in pairs:
            self._add(receiver, part)
        return []

    def _expand(self, term: Op, adjoint: Adjoint) -> list[Op]:
        found = self._rules.expansion(term, self.wanted)
        if found is None:
            raise self._no_adjoint(term)
        root, new = found
        self._origin.update(dict.fromkeys(new, self._origin.get(term, term)))
        self._mark(new)
        self._add(root, adjoint)
        return new

    def _add(self, term: Op, adjoint: Adjoint) -> None:
        if term not in self._needed or not has_slope(term.type):
            return
        self.adjoints[term] = accumulated(self.adjoints.get(term), adjoint, term.type)

    def _no_adjoint(self, term: Op) -> DerivativeError:
        user = self._origin.get(term, term)
        inside = f" (to which {user.definition} is lowered)" if user is not term else ""
        return DerivativeError(
            f"{term.definition}{inside} has no adjoint, and a derivative has to pass through it: {describe(user, 2)}",
            where=user.info.place if user.info.lineno else self.place,
            do="add a rule to a derive file, or cut the path with ng.stop_gradient",
        )
