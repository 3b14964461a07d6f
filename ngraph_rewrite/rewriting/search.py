# SPDX-License-Identifier: Apache-2.0
"""Matching by search, for what stands at no fixed place: several sequences in one list, and operands of nests.

It is complete and backtracks in an order that depends on structure alone. Runs of arguments are tried from the left,
the shortest first. Operands of an associative and commutative op are found through indexes by op, by what stands below
it and by identity; of the patterns that are left the one with the fewest candidates is matched first, and candidates
are tried as they stand. See Benanav, Kapur and Narendran, *Complexity of matching problems* (1987): with variables
that repeat the problem is NP-complete, so indexes decide what it costs in practice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.rewriting.interpret import value_of
from ngraph_rewrite.rewriting.nests import has_identity, is_flat, is_nest, operands
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, attribute_names, variables
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op

Bound = Mapping[str, Any]
# What says of a term whether it has one user only, among what is bound; where nothing does, all terms may have more.
ALONE = " alone"
_NOTHING = object()


class Search:
    """The matches of one left side, as the values of its names: variables first, then attributes.

    Args:
        left: Gives the left side, when it is first needed.
    """

    def __init__(self, left: Callable[[], App]) -> None:
        self._left = left
        self._known: tuple[App, list[str]] | None = None

    def __call__(self, term: Op) -> Iterator[tuple[Any, ...]]:
        """The values of each match at the root of a term, each once."""
        if self._known is None:
            left = self._left()
            self._known = left, [*variables(left), *attribute_names(left)]
        left, names = self._known
        seen: set[Any] = set()
        for bound in matches(left, term, {}):
            values = tuple([bound[name] for name in names])
            if not seen or tuple(map(_key, values)) not in seen:
                yield values
                seen.add(tuple(map(_key, values)))  # only now: mostly the first match is all that is asked for


def _key(value: Any) -> Any:
    """Equal for two values only if they are the same: 0.0 equals -0.0, and 1 equals True."""
    if isinstance(value, Op) or (isinstance(value, tuple) and value and isinstance(value[0], Op)):
        return value
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value, repr(value)


def matches(pattern: Pattern, term: Op, bound: Bound) -> Iterator[Bound]:
    """What a pattern binds, beside what is bound, in each of the ways in which it matches a term.

    >>> import ngraph_rewrite as ng
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify axes\\nrule r: add(x, -x, y...) => add(y...)\\n", "r.rules", "r")
    >>> a, b, c = (ng.placeholder([], name=name) for name in "abc")
    >>> [sorted(found.items()) for found in matches(rule.left, (a + b) + (c + -b), {})]
    [[('x', b), ('y', (a, c))]]
    """
    if isinstance(pattern, Var):
        yield from _bind(pattern.name, term, bound)
    elif isinstance(pattern, Num):
        if term.definition.name == "core.constant" and term.attrs[0].is_number(pattern.value):
            yield bound
    elif isinstance(pattern, App) and term.definition is pattern.definition:
        if pattern.once and ALONE in bound and not bound[ALONE](term):
            return
        known = _attributes(pattern, term, bound)
        if known is not None:
            yield from _arguments(pattern, term, known)
    elif isinstance(pattern, App) and has_identity(pattern):
        yield from _nest(pattern, [] if _is_identity(term, pattern.definition) else [term], bound)


def _bind(name: str, value: Any, bound: Bound) -> Iterator[Bound]:
    """A term is the same if it is the same object, a sequence if its terms are."""
    have = bound.get(name, _NOTHING)
    if have is _NOTHING:
        yield {**bound, name: value}
    elif have == value:
        yield bound


def _attributes(pattern: App, term: Op, bound: Bound) -> Bound | None:
    if any(term.attribute(a) != value_of(e, {}) for a, e in pattern.compares):
        return None
    for attribute, name in pattern.binds:
        value = term.attribute(attribute)
        if name not in bound:
            bound = {**bound, name: value}
        elif bound[name] != value:
            return None
    return bound


def _arguments(pattern: App, term: Op, bound: Bound) -> Iterator[Bound]:
    if is_nest(pattern):
        yield from _nest(pattern, term.args if is_flat(term.definition) else operands(term), bound)
        return
    yield from _run(pattern.args, term.args, bound)
    exchanged = pattern.definition.commutative and term.args[0] is not term.args[1]
    if exchanged and pattern.args[0] != pattern.args[1]:
        yield from _run(pattern.args, term.args[::-1], bound)


def _nest(pattern: App, terms: Sequence[Op], bound: Bound) -> Iterator[Bound]:
    if pattern.definition.commutative:
        yield from _Multiset(pattern.args, terms).matches(bound)
    else:
        yield from _run(pattern.args, terms, bound)


def _is_identity(term: Op, of: OpDef) -> bool:
    return of.profile is not None and term.definition.name == of.profile.identity


def _run(patterns: Sequence[Pattern], terms: Sequence[Op], bound: Bound, at: int = 0) -> Iterator[Bound]:
    """Patterns for terms from `at` on, in order; each sequence is first as short as it can be."""
    if not patterns:
        if at == len(terms):
            yield bound
        return
    first, rest = patterns[0], patterns[1:]
    most = len(terms) - at - sum(not isinstance(p, SeqVar) for p in rest)
    if not isinstance(first, SeqVar):
        for now in matches(first, terms[at], bound) if most > 0 else ():
            yield from _run(rest, terms, now, at + 1)
        return
    least = 0 if any(isinstance(p, SeqVar) for p in rest) else max(most, 0)
    for count in range(least, most + 1):
        for now in _bind(first.name, tuple(terms[at : at + count]), bound):
            yield from _run(rest, terms, now, at + count)


class _Multiset:
    """Patterns for the operands of an associative and commutative nest."""

    def __init__(self, patterns: Sequence[Pattern], terms: Sequence[Op]) -> None:
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
            yield from self._rest(self.sequences, bound, used)
            return
        options = [self._candidates(p, bound) for p in left]
        chosen = min(range(len(left)), key=lambda i: len(options[i]))
        tried: set[Op] = set()
        for i in options[chosen]:
            term = self.terms[i]
            if i not in used and term not in tried:
                tried.add(term)
                for now in matches(left[chosen], term, bound):
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
            return self._any(pattern) if term is None else self.same(term)
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

    def _rest(self, sequences: Sequence[SeqVar], bound: Bound, used: frozenset[int]) -> Iterator[Bound]:
        """The terms that are not used go to the sequence that is not bound; one that is takes its own first."""
        names = [s.name for s in sequences]
        for name in [n for n in names if n in bound]:
            taken = self._taken(bound[name], used)
            if taken is None:
                return
            used = taken
        rest = tuple([term for i, term in enumerate(self.terms) if i not in used])
        free = [n for n in names if n not in bound]
        if free:
            yield {**bound, free[0]: rest}
        elif not rest:
            yield bound

    def _taken(self, terms: Sequence[Op], used: frozenset[int]) -> frozenset[int] | None:
        """What is used when each of these terms is as well; None if some is not there."""
        for term in terms:
            at = next((i for i in self.same(term) if i not in used), None)
            if at is None:
                return None
            used |= {at}
        return used
