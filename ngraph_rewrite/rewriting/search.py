# SPDX-License-Identifier: Apache-2.0
"""Matching by search, for what stands at no fixed place: several sequences in one list, and operands of nests.

It is complete and backtracks in an order that depends on structure alone. Runs of arguments are tried from the left,
the shortest first. Operands of an associative and commutative op are found through indexes (see `multisets`); of the
patterns that are left the one with the fewest candidates is matched first, and candidates are tried as they stand.
See Benanav, Kapur and Narendran, *Complexity of matching problems* (1987): with variables that repeat the problem is
NP-complete, so indexes decide what it costs in practice, and what one search may take is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting import bounds
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.conditional import matchings, new_names, pattern_names
from ngraph_rewrite.rewriting.multisets import Multiset
from ngraph_rewrite.rewriting.nests import has_identity, is_flat, is_nest, operands
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, is_of
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.sharing import Bag
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

Bound = Mapping[str, Any]
# What says of a term whether it has one user only, among what is bound; where nothing does, all terms may have more.
ALONE = " alone"
_NOTHING = object()
# What trying something takes beside what it looks at, in operands.
_TRY = 32


class Search:
    """The matches of one left side, as the values of its names: variables first, then attributes.

    Args:
        left: Gives the left side, when it is first needed.
    """

    def __init__(self, left: Callable[[], App]) -> None:
        self._left = left
        self._each: _Each | None = None

    def __call__(self, term: Op) -> Iterator[tuple[Any, ...]]:
        """The values of each match at the root of a term, each once."""
        if self._each is None:
            left = self._left()
            self._each = _Each(left, pattern_names(left))
        return self._each(term, {})


class Answers:
    """The matches of a condition of a rule, as the values of the names that it binds.

    Args:
        rule: Gives the rule, when it is first needed.
        index: Its number among others.
        place: The number of the condition among those that match.
    """

    def __init__(self, rule: Callable[[], Rule], index: int, place: int) -> None:
        self._rule, self.index, self._place = rule, index, place
        self._each: _Each | None = None
        self._given: list[str] = []

    def __call__(self, term: Op, *given: Any) -> Iterator[tuple[Any, ...]]:
        """The values of each match of a normal form, each once, where names that were bound before have these."""
        if self._each is None:
            rule = self._rule()
            pattern, new = matchings(rule)[self._place].pattern, new_names(rule)[self._place]
            self._given = [name for name in pattern_names(pattern) if name not in new]
            self._each = _Each(pattern, new)
        return self._each(term, fixed(self._given, given))


def fixed(names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """What names are bound to for good: a sequence in the order that it has."""
    pairs = zip(names, values, strict=True)
    return {name: tuple(value) if isinstance(value, Bag) else value for name, value in pairs}


class _Each:
    """The values of names in each match of a pattern, no match twice."""

    def __init__(self, pattern: Pattern, names: Sequence[str]) -> None:
        self.pattern, self.names = pattern, names
        self.orders: dict[int, Sequence[int]] = {}

    def __call__(self, term: Op, given: Bound) -> Iterator[tuple[Any, ...]]:
        names, seen = self.names, set[Any]()
        for bound in _Matching(self.pattern, self.orders).matches(self.pattern, term, given):
            values = tuple([bound[name] for name in names])
            if not seen or tuple(map(_key, values)) not in seen:
                yield values
                seen.add(tuple(map(_key, values)))  # only now: mostly the first match is all that is asked for


def _key(value: Any) -> Any:
    """Equal for two values only if they are the same: 0.0 equals -0.0, and 1 equals True."""
    if isinstance(value, Bag):
        return frozenset(Counter(value).items())
    if isinstance(value, Op) or (isinstance(value, tuple) and value and isinstance(value[0], Op)):
        return value
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value, repr(value)


def matches(pattern: Pattern, term: Op, bound: Bound) -> Iterator[Bound]:
    """What a pattern binds, beside what is bound, in each of the ways in which it matches a term.

    Raises:
        NGraphRewriteError: if the search takes more steps than `bounds.SEARCHED`.

    >>> import ngraph_rewrite as ng
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify axes\\nrule r: add(x, -x, y...) => add(y...)\\n", "r.rules", "r")
    >>> a, b, c = (ng.placeholder([], name=name) for name in "abc")
    >>> [sorted(found.items()) for found in matches(rule.left, (a + b) + (c + -b), {})]
    [[('x', b), ('y', (a, c))]]
    """
    return _Matching(pattern, {}).matches(pattern, term, bound)


class _Matching:
    """One search: what it tries is counted, so that a stranger's pattern does not search for ever.

    Args:
        orders: The orders of the arguments of parts of the pattern, by their identities, as far as they are known.
    """

    def __init__(self, pattern: Pattern, orders: dict[int, Sequence[int]]) -> None:
        self.pattern, self.orders, self.left = pattern, orders, bounds.SEARCHED

    def count(self, operands: int) -> None:
        """Note down that something is tried that looks at so many operands."""
        self.left -= operands + _TRY
        if self.left < 0:
            what = f"`{self.pattern}` can match here in more ways than can be tried"
            raise NGraphRewriteError(what, do="match fewer operands at once, in several rules")

    def matches(self, pattern: Pattern, term: Op, bound: Bound) -> Iterator[Bound]:
        if isinstance(pattern, Var):
            if is_of(term, pattern.sort):
                yield from _bind(pattern.name, term, bound)
        elif isinstance(pattern, Num):
            if term.definition.name == "core.constant" and term.attrs[0].is_number(pattern.value):
                yield bound
        elif isinstance(pattern, App) and term.definition is pattern.definition:
            if pattern.once and ALONE in bound and not bound[ALONE](term):
                return
            known = _attributes(pattern, term, bound)
            if known is not None:
                yield from self.arguments(pattern, term, known)
        elif isinstance(pattern, App) and has_identity(pattern):
            yield from self.nest(pattern, [] if _is_identity(term, pattern.definition) else [term], bound)

    def arguments(self, pattern: App, term: Op, bound: Bound) -> Iterator[Bound]:
        if is_nest(pattern):
            flat = is_flat(term.definition)
            found = term.args if flat else operands(term, bounds.OPERANDS + 1)
            if flat or len(found) <= bounds.OPERANDS:
                yield from self.nest(pattern, found, bound)
            return
        args, terms = pattern.args, term.args
        order = self.order(pattern) if len(args) == len(terms) else ()
        if order:
            args, terms = tuple([args[i] for i in order]), tuple([terms[i] for i in order])
        yield from self.run(args, terms, bound)
        exchanged = pattern.definition.commutative and term.args[0] is not term.args[1]
        if exchanged and args[0] != args[1]:
            yield from self.run(args, terms[::-1], bound)

    def order(self, pattern: App) -> Sequence[int]:
        """In which order arguments are matched: what has one way only, then others; nothing if that is from the left.

        Where sequences share operands in very many ways, other arguments are first: they may say what is shared.
        """
        found = self.orders.get(id(pattern))
        if found is None:
            args = pattern.args
            fixed = not any(isinstance(a, SeqVar) for a in args)
            order = sorted(range(len(args)), key=lambda i: (isinstance(args[i], App), _is_shared(args[i])))
            found = self.orders[id(pattern)] = order if fixed and order != list(range(len(args))) else ()
        return found

    def nest(self, pattern: App, terms: Sequence[Op], bound: Bound) -> Iterator[Bound]:
        if pattern.definition.commutative:
            yield from Multiset(self, pattern.args, terms).matches(bound)
        else:
            yield from self.run(pattern.args, terms, bound)

    def run(self, patterns: Sequence[Pattern], terms: Sequence[Op], bound: Bound, at: int = 0) -> Iterator[Bound]:
        """Patterns for terms from `at` on, in order; each sequence is first as short as it can be."""
        if not patterns:
            if at == len(terms):
                yield bound
            return
        first, rest = patterns[0], patterns[1:]
        most = len(terms) - at - sum(not isinstance(p, SeqVar) for p in rest)
        if not isinstance(first, SeqVar):
            for now in self.matches(first, terms[at], bound) if most > 0 else ():
                yield from self.run(rest, terms, now, at + 1)
            return
        least = 0 if any(isinstance(p, SeqVar) for p in rest) else max(most, 0)
        if first.name in bound:
            least, most = max(least, len(bound[first.name])), min(most, len(bound[first.name]))
        if first.sort is not None:  # as far as operands are of the sort
            fitting = (i for i in range(most) if not is_of(terms[at + i], first.sort))
            most = next(fitting, most)
        for count in range(least, most + 1):
            self.count(count)
            for now in _bind(first.name, tuple(terms[at : at + count]), bound):
                yield from self.run(rest, terms, now, at + count)


def _bind(name: str, value: Any, bound: Bound) -> Iterator[Bound]:
    """A term is the same if it is the same object, a sequence if its terms are; a row orders those of a bag."""
    have = bound.get(name, _NOTHING)
    if have is _NOTHING or (isinstance(have, Bag) and have.is_as(value)):
        yield {**bound, name: value}
    elif have == value:
        yield bound


def _is_shared(pattern: Pattern) -> bool:
    """Whether several sequences share operands in it, in very many ways if nothing else says what they are."""
    if not isinstance(pattern, App):
        return False
    shared = pattern.definition.commutative and sum(isinstance(a, SeqVar) for a in pattern.args) > 1
    return shared or any(map(_is_shared, pattern.args))


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


def _is_identity(term: Op, of: OpDef) -> bool:
    return of.profile is not None and term.definition.name == of.profile.identity
