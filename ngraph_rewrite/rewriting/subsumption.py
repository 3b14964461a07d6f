# SPDX-License-Identifier: Apache-2.0
"""A rule can never fire if another takes all its terms, or rewrites what it looks for inside them before it is asked.

The first is an earlier rule whose left side is more general and whose guard, if it has one, says no more. The second
is due to rewriting from the inside out: a subterm that some rule always rewrites is in no term a rule is asked about.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations

from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.implication import implied, literals_of
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, subpatterns
from ngraph_rewrite.rewriting.rule import CLASSES, Rule, Where
from ngraph_rewrite.types.sorts import SortType

# Of so many operands all orders are looked at.
EXCHANGED = 5


def subsumed(rules: Iterable[Rule]) -> list[tuple[Rule, Rule]]:
    """Pairs of a rule that can never fire and the earlier rule that takes all its terms."""
    rules = list(rules)
    earlier = Earlier(rules)
    found = ((rule, (r for r in earlier.that_may_take(rule) if r.kind == rule.kind)) for rule in rules)
    return [pair for rule, others in found for pair in [(rule, o) for o in others if subsumes(o, rule)][:1]]


class Earlier:
    """Rules in the order in which they are tried, by the rarest of what whoever they take has too.

    Args:
        rules: Each once.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = list(rules)
        self._has = {id(rule): _parts(rule.left) | _said(rule) for rule in rules}
        self._places = {id(rule): place for place, rule in enumerate(rules)}
        frequent = Counter(part for own in self._has.values() for part in own)
        self._by: dict[object, list[Rule]] = defaultdict(list)
        for rule in rules:
            wanted = _parts(rule.left) | literals_of([] if rule.guard is None else [rule.guard])
            rarest = min(wanted, key=lambda part: frequent[part])
            self._by[rule.left.definition, rarest].append(rule)

    def that_may_take(self, rule: Rule) -> list[Rule]:
        """The rules before one, but for those that do not take its terms, in order."""
        at, places = self._places[id(rule)], self._places
        found = [r for part in self._has[id(rule)] for r in self._by.get((rule.left.definition, part), ())]
        return sorted((r for r in found if places[id(r)] < at), key=lambda r: places[id(r)])


def _parts(left: App) -> dict[object, None]:
    """The ops and numbers in a left side. What takes it has no others: an op that is a constant may take a number."""
    ops = [p.definition for p in subpatterns(left) if isinstance(p, App) and p.definition.name != "core.constant"]
    numbers = [p for p in subpatterns(left) if isinstance(p, Num)]
    return dict.fromkeys([left.definition, *ops, *numbers])


def _said(rule: Rule) -> dict[object, None]:
    """The literals that a rule compares with: a guard that holds wherever its own does has no others."""
    compared = [e for p in subpatterns(rule.left) if isinstance(p, App) for _, e in p.compares]
    asked = [c.expression for c in rule.clauses if isinstance(c, Where)] + ([] if rule.guard is None else [rule.guard])
    return literals_of([*compared, *asked])


def subsumes(general: Rule, special: Rule) -> bool:
    """Whether `general` may fire whenever `special` may, matches all it matches, and has no guard that says more.

    >>> from ngraph_rewrite.ops import semi
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> a, b = parse_rules("simplify semi\\nrule a: -(-x) => x\\nrule b: -(-exp(x)) => exp(x)\\n", "r.rules", "r")
    >>> subsumes(a, b), subsumes(b, a)
    (True, False)
    """
    return _takes(general, special, special.left)


def eaten(rule: Rule, rules: Mapping[object, Iterable[Rule]]) -> tuple[Rule, App] | None:
    """A rule that rewrites a subterm of the left side wherever it could match, and the subterm; None if there is none.

    Args:
        rules: Those that fire in the same pass, by the definition of the op at their root.
    """
    for part in subpatterns(rule.left):
        if isinstance(part, App) and part is not rule.left:
            for other in rules.get(part.definition, ()):
                if _takes(other, rule, part):
                    return other, part
    return None


def _takes(general: Rule, special: Rule, part: App) -> bool:
    """Whether `general` fires on whatever the part of the left side of `special` matches."""
    if general.graph:
        return False  # it asks for more than its left side says
    if CLASSES.index(general.grade) > CLASSES.index(special.grade):
        return False  # it may be turned off while the other is not
    if general.conditions:
        return False  # what terms become is not known here
    return any(implied(general, special, _meaning(found, part is special.left)) for found in _match(general, part))


def _match(general: Rule, part: App) -> Iterator[_Found]:
    return _instances(general.left, part, _Found()) if _may_match(general.left, part) else iter(())


def _may_match(general: App, special: App) -> bool:
    """Whether the ops that arguments must be are among those that they are: most pairs of rules end here."""
    wanted = {a.definition for a in general.args if isinstance(a, App) and a.definition.name != "core.constant"}
    return wanted <= {a.definition for a in special.args if isinstance(a, App)}


@dataclass(frozen=True)
class _Found:
    """What the general pattern's variables and names of attributes stand for."""

    terms: Mapping[str, Pattern | tuple[Pattern, ...]] = field(default_factory=dict)
    names: Mapping[str, object] = field(default_factory=dict)

    def term(self, name: str, value: Pattern | tuple[Pattern, ...]) -> Iterator[_Found]:
        if self.terms.get(name, value) == value:
            yield _Found({**self.terms, name: value}, self.names)

    def attribute(self, name: str, value: object) -> _Found | None:
        if self.names.get(name, value) != value:
            return None
        return _Found(self.terms, {**self.names, name: value})


def _meaning(found: _Found, at_root: bool) -> Callable[[str], ast.expr | None]:
    """What the names of the general rule are called in the special one."""

    def meaning(name: str) -> ast.expr | None:
        if name == "self":
            return ast.Name("self", ast.Load()) if at_root else None
        stands = found.terms.get(name, found.names.get(name))
        if isinstance(stands, tuple) and len(stands) == 1 and isinstance(stands[0], SeqVar):
            stands = stands[0]
        if isinstance(stands, Expression):
            return stands.tree
        called = stands.name if isinstance(stands, Var | SeqVar) else stands
        return ast.Name(called, ast.Load()) if isinstance(called, str) else None

    return meaning


def _instances(general: Pattern, special: Pattern, found: _Found) -> Iterator[_Found]:
    """What `general` binds when `special` is taken as a term whose variables are constants."""
    if isinstance(general, Var):
        if not isinstance(special, SeqVar) and _is_of(special, general.sort):
            yield from found.term(general.name, special)
    elif isinstance(general, Num):
        if general == special:
            yield found
    elif isinstance(general, App) and isinstance(special, App) and general.definition is special.definition:
        bound = _attributes(general, special, found)
        for args in _orders(special) if bound is not None else ():
            assert bound is not None
            yield from _arguments(general.args, args, bound)
    elif isinstance(general, App) and isinstance(special, Num) and general.definition.name == "core.constant":
        bound = _attributes(general, App(general.definition, ()), found)
        if bound is not None:
            yield bound


def _is_of(special: Pattern, sort: SortType | None) -> bool:
    """Whether all that a pattern matches is of a sort, as far as the pattern says."""
    if sort is None or isinstance(special, Num):
        return sort is None
    if isinstance(special, App):
        return special.definition.profile is not None and special.definition.profile.result.fits(sort)
    return special.sort is not None and special.sort.fits(sort)


def _orders(special: App) -> Iterable[tuple[Pattern, ...]]:
    """The orders of operands that are looked at: of a nest with many, only the written one."""
    exchanged = special.definition.commutative and len(special.args) <= EXCHANGED
    return permutations(special.args) if exchanged else [special.args]


def _attributes(general: App, special: App, found: _Found) -> _Found | None:
    """What names stand for if attributes are compared alike, and names repeated alike; None if they are not."""
    compared = dict(special.compares)
    if any(compared.get(attribute) != expression for attribute, expression in general.compares):
        return None
    values: dict[str, object] = {**dict(special.binds), **compared}
    for attribute, name in general.binds:
        now = found.attribute(name, values.get(attribute, object()))  # one that nobody names may be anything
        if now is None:
            return None
        found = now
    return found


def _arguments(general: tuple[Pattern, ...], special: tuple[Pattern, ...], found: _Found) -> Iterator[_Found]:
    at = next((i for i, g in enumerate(general) if isinstance(g, SeqVar)), None)
    if at is None:
        yield from _each(general, special, found)
        return
    run, after = general[at], len(general) - at - 1
    assert isinstance(run, SeqVar)
    if len(special) >= at + after and all(_is_of(s, run.sort) for s in special[at : len(special) - after]):
        rest = special[:at] + special[len(special) - after :]
        for bound in found.term(run.name, special[at : len(special) - after]):
            yield from _each(general[:at] + general[at + 1 :], rest, bound)


def _each(general: tuple[Pattern, ...], special: tuple[Pattern, ...], found: _Found) -> Iterator[_Found]:
    if len(general) != len(special):
        return
    if not general:
        yield found
        return
    for bound in _instances(general[0], special[0], found):
        yield from _each(general[1:], special[1:], bound)
