# SPDX-License-Identifier: Apache-2.0
"""What the sweeps of one derivative know of the terms that they go through: worked out once, however they nest."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from typing import NamedTuple

from ngraph_rewrite.lowering.fitting import has_slope
from ngraph_rewrite.terms.binders import FreeParameters
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological


class Variables(NamedTuple):
    """Sets of variables, as bits of integers.

    Attributes:
        used: Those that a term reads or writes, or a term under it.
        written: Those that are written.
    """

    used: int
    written: int


class SweptTerms:
    """The terms under some results.

    Args:
        results: Where adjoints come from.
        wanted: Where they go to.
        ends: Terms that nothing is looked for under.
        outer: The terms of the sweep that this one is part of: what is known of a term in there holds here, too.

    Attributes:
        order: All terms, arguments first.
        number: Where each stands in that.
        needed: Those through which the wanted ones are reached, themselves included.
        free: Their free parameters.
    """

    def __init__(
        self,
        results: Iterable[Op],
        wanted: frozenset[Op],
        ends: Container[Op] | None = None,
        outer: SweptTerms | None = None,
    ) -> None:
        self.order = topological(results, ends)
        self.number = {term: i for i, term in enumerate(self.order)}
        self.needed: set[Op] = set()
        self._wanted = wanted
        self._variables: dict[Op, Variables] = {} if outer is None else outer._variables
        self._bits: dict[Op, int] = {} if outer is None else outer._bits
        self.free: FreeParameters = FreeParameters() if outer is None else outer.free
        self.mark(self.order)

    def mark(self, order: Iterable[Op]) -> None:
        """Find those of some more terms, arguments first, that are needed."""
        for term in order:
            if term in self._wanted or (has_slope(term.type) and any(a in self.needed for a in term.args)):
                self.needed.add(term)

    def variables(self, terms: Collection[Op]) -> Variables:
        """The variables under some terms."""
        known = self._variables
        for term in topological(terms, known):
            if term not in known:
                known[term] = self._own(term, _united(map(known.__getitem__, term.args)))
        return _united(map(known.__getitem__, terms))

    def _own(self, term: Op, below: Variables) -> Variables:
        if term.definition.name == "core.variable":
            return Variables(self._bits.setdefault(term, 1 << len(self._bits)), 0)
        if term.definition.name == "core.assign":
            return below._replace(written=below.written | self._bits.get(term.args[0], 0))
        return below


def _united(parts: Iterable[Variables]) -> Variables:
    used = written = 0
    for part in parts:
        used |= part.used
        written |= part.written
    return Variables(used, written)
