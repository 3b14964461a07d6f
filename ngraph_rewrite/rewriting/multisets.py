# SPDX-License-Identifier: Apache-2.0
"""Patterns for the operands of an associative and commutative nest: what fewest operands can be is matched first.

Operands are found through indexes by op, by what stands below them and by identity. What no pattern takes is shared
out to the sequences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from ngraph_rewrite.rewriting.nests import has_identity, is_nest
from ngraph_rewrite.rewriting.pattern import App, Pattern, SeqVar, Var, is_of
from ngraph_rewrite.rewriting.sharing import shares
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op

Bound = Mapping[str, Any]


class Searches(Protocol):
    """The search that these patterns are a part of."""

    def count(self, operands: int) -> None:
        """Note down that something is tried that looks at so many operands."""

    def matches(self, pattern: Pattern, term: Op, bound: Bound) -> Iterator[Bound]:
        """What a pattern binds, beside what is bound, in each of the ways in which it matches a term."""


class Multiset:
    """Patterns for the operands of an associative and commutative nest."""

    def __init__(self, search: Searches, patterns: Sequence[Pattern], terms: Sequence[Op]) -> None:
        self.search = search
        self.singles: list[Pattern] = [p for p in patterns if not isinstance(p, SeqVar)]
        self.sequences = [p for p in patterns if isinstance(p, SeqVar)]
        self.terms = terms
        self._of_op: dict[OpDef, list[int]] | None = None
        self._of_child: dict[tuple[OpDef, Op], list[int]] = {}
        self._indexed: set[OpDef] = set()
        self._same: dict[Op, list[int]] | None = None
        self._asked = 0

    def matches(self, bound: Bound) -> Iterator[Bound]:
        spare = len(self.terms) - len(self.singles)
        if spare == 0 or (spare > 0 and self.sequences):
            yield from self._each(self.singles, bound, frozenset())

    def _each(self, left: list[Pattern], bound: Bound, used: frozenset[int]) -> Iterator[Bound]:
        """The matches of the patterns that are left with terms that are not used."""
        if not left:
            yield from self._rest(bound, used)
            return
        options = [self._candidates(p, bound) for p in left]
        chosen = min(range(len(left)), key=lambda i: len(options[i]))
        tried: set[Op] = set()
        for i in options[chosen]:
            term = self.terms[i]
            if i not in used and term not in tried:
                tried.add(term)
                self.search.count(0)
                for now in self.search.matches(left[chosen], term, bound):
                    yield from self._each(left[:chosen] + left[chosen + 1 :], now, used | {i})

    def _any(self, pattern: Var) -> Sequence[int]:
        """The places of all terms; of a variable that stands several times, of those that do as well."""
        times = sum(p == pattern for p in self.singles)
        if times == 1:
            return range(len(self.terms))
        counts = Counter(self.terms)
        return [i for i, term in enumerate(self.terms) if counts[term] >= times]

    def _candidates(self, pattern: Pattern, bound: Bound) -> Sequence[int]:
        """The places of the terms that a pattern may match."""
        if isinstance(pattern, Var):
            term = bound.get(pattern.name)
            found = self._any(pattern) if term is None else self.same(term)
            return found if pattern.sort is None else [i for i in found if is_of(self.terms[i], pattern.sort)]
        if has_identity(pattern):
            return range(len(self.terms))
        definition = pattern.definition if isinstance(pattern, App) else lookup("core.constant")
        found = self.of_op.get(definition, ())
        for arg in pattern.args if isinstance(pattern, App) and len(found) > 1 and not is_nest(pattern) else ():
            if isinstance(arg, Var) and arg.name in bound:
                return self._above(definition, found).get((definition, bound[arg.name]), ())
        return found

    @property
    def of_op(self) -> dict[OpDef, list[int]]:
        """The places of the terms of each op that a pattern asks for."""
        if self._of_op is None:
            wanted = {p.definition if isinstance(p, App) else lookup("core.constant") for p in self.singles}
            self._of_op = {definition: [] for definition in wanted}
            for i, definition in enumerate([term.definition for term in self.terms]):
                if definition in wanted:
                    self._of_op[definition].append(i)
        return self._of_op

    def same(self, term: Op) -> Sequence[int]:
        """The places of a term; from the third time on, an index of all of them tells."""
        self._asked += 1
        if self._asked < 3:
            return [i for i, one in enumerate(self.terms) if one is term]
        if self._same is None:
            self._same = {}
            for i, one in enumerate(self.terms):
                self._same.setdefault(one, []).append(i)
        return self._same.get(term, ())

    def _above(self, definition: OpDef, places: Sequence[int]) -> dict[tuple[OpDef, Op], list[int]]:
        """The places of the terms of an op by each of their arguments."""
        if definition not in self._indexed:
            self._indexed.add(definition)
            for i in places:
                for arg in dict.fromkeys(self.terms[i].args):
                    self._of_child.setdefault((definition, arg), []).append(i)
        return self._of_child

    def _rest(self, bound: Bound, used: frozenset[int]) -> Iterator[Bound]:
        """The terms that are not used go to the sequences that are not bound; one that is takes its own first."""
        for sequence in self.sequences:
            if sequence.name in bound:
                own = bound[sequence.name]
                fits = sequence.sort is None or all(is_of(t, sequence.sort) for t in own)
                taken = self._taken(own, used) if fits else None
                if taken is None:
                    return
                used = taken
        rest = [term for i, term in enumerate(self.terms) if i not in used]
        free = Counter(s for s in self.sequences if s.name not in bound)
        self.search.count(len(self.terms))
        if not free and not rest:
            yield bound
        for shared in shares(rest, free) if free else ():
            self.search.count(len(rest))
            yield {**bound, **shared}

    def _taken(self, terms: Sequence[Op], used: frozenset[int]) -> frozenset[int] | None:
        """What is used when each of these terms is as well; None if some is not there."""
        for term in terms:
            at = next((i for i in self.same(term) if i not in used), None)
            if at is None:
                return None
            used |= {at}
        return used
