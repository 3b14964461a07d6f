# SPDX-License-Identifier: Apache-2.0
"""What rules say of one term in a reverse sweep: its adjoints, or the simpler terms it stands for.

A rule may look deeper than its op's own arguments. Where it would pass over a term whose derivative is asked
for, only rules that look at one op take part: who asks is told which terms a rule passes over, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from typing import Any

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.counting import counted
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, library, usable_once
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.matcher import Make, Matcher
from ngraph_rewrite.rewriting.pattern import App, Pattern
from ngraph_rewrite.rewriting.remembered import chosen
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.watched import without
from ngraph_rewrite.terms.calls_told import located
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.keys import keyed
from ngraph_rewrite.terms.op import Op

# Whether one of some terms that a rule passes over is asked for.
Asked = Callable[[set[Op]], bool]


# The sweep knows no target: what rules are told of has no ops of its own.
_OPS = frozenset[str]()
_TARGET = Target(base=_OPS)


class DeriveRules:
    """The derive and lower rules of a set, compiled when they are first needed."""

    def __init__(self, rules: RuleSet) -> None:
        self._cache = Cache()
        self._rules = usable_once(rules.of_class(SAFE_CLASSES), _OPS, self._cache)
        self._matchers: dict[tuple[str, bool], Matcher] = {}

    def adjoints(self, term: Op, d: Op, asked: Asked) -> list[tuple[Op, Op]] | None:
        """Pairs of a term below `term` and what it gets from the adjoint `d`; None if no derive rule fires."""
        found = _step(self.matcher("derive"), term, _maker(term, []), d)
        if found is not None and _passes_over(found[0], term, _receivers(found[1]), asked):
            found = _step(self.matcher("derive", True), term, _maker(term, []), d)
        return None if found is None else list(_pairs(found[1]))

    def expansion(self, term: Op, asked: Asked) -> tuple[Op, list[Op]] | None:
        """What a lower rule makes of `term`, and the terms it built, arguments first; None if none fires."""
        made: list[Op] = []
        found = _step(self.matcher("lower"), term, _maker(term, made), _TARGET)
        if found is not None and _passes_over(found[0], term, _kept(found[1], made), asked):
            made.clear()
            found = _step(self.matcher("lower", True), term, _maker(term, made), _TARGET)
        return None if found is None else (found[1], _under(found[1], made))

    def matcher(self, kind: str, shallow: bool = False) -> Matcher:
        """The decision trees of the rules of a kind, or of those that look at one op."""
        if (kind, shallow) not in self._matchers:
            self._matchers[kind, shallow] = self._compiled(kind, shallow)
        return self._matchers[kind, shallow]

    def _compiled(self, kind: str, shallow: bool) -> Matcher:
        rules = self._rules.of_kind(kind)
        return Matcher(chosen(rules, _of_one_op, self._cache, "of one op") if shallow else rules, self._cache)


class _Without(DeriveRules):
    """The same rules but for some that are off; the decision trees are not made again."""

    def __init__(self, rules: DeriveRules, off: tuple[str, ...]) -> None:
        self._every, self._off = rules, off
        self._matchers = {}

    def _compiled(self, kind: str, shallow: bool) -> Matcher:
        return without(self._every.matcher(kind, shallow), self._off)


@lru_cache(maxsize=8)
def derive_rules(own: RuleSet | None = None, off: tuple[str, ...] = ()) -> DeriveRules:
    """The library's rules, after those of one's own, but for those whose names are off."""
    if off:
        return _Without(derive_rules(own), off)
    return DeriveRules(library() if own is None else own + library())


def _of_one_op(rules: RuleSet) -> RuleSet:
    return RuleSet(r for r in rules if _depth(r.left) == 1)


def _depth(pattern: Pattern) -> int:
    """How many levels of ops a pattern looks at."""
    return 1 + max(map(_depth, pattern.args), default=0) if isinstance(pattern, App) else 0


def _step(matcher: Matcher, term: Op, make: Make, target: Any) -> tuple[Rule, Any] | None:
    """The first rule of `matcher` that fires on `term`, and what it gives, or None."""
    try:
        return counted(matcher).step(term, make, target)
    except NGraphRewriteError as error:
        raise located(error, term.definition, term.args, term.info.place) from error


def _maker(origin: Op, made: list[Op]) -> Make:
    """Builds handles that stand at the line of the op they belong to; in one step equal ones are one."""
    known: dict[Any, Op] = {}
    info = origin.info._replace(name=None, initial=None)

    def make(definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op:
        stored, type_ = definition.infer(tuple([a.type for a in args]), attrs)
        key = (definition, args, stored) if keyed(stored) else None
        term = known.get(key) if key is not None else None
        if term is None:
            term = Op(definition, args, stored, type_, info)
            made.append(term)
            if key is not None:
                known[key] = term
        return term

    return make


def _pairs(found: Iterable[tuple[Any, Any]]) -> Iterable[tuple[Op, Op]]:
    """The pairs of a derive rule's result, one for each term of a sequence."""
    for value, adjoint in found:
        if adjoint is not None:
            yield from zip(value, adjoint, strict=True) if isinstance(value, tuple) else [(value, adjoint)]


def _receivers(found: Iterable[tuple[Any, Any]]) -> set[Op]:
    return {v for value, _ in found for v in (value if isinstance(value, tuple) else (value,))}


def _kept(root: Op, made: Collection[Op]) -> set[Op]:
    """The terms that were there before, on which an expansion is built."""
    new = set(made)
    return {a for t in made for a in t.args if a not in new} | ({root} - new)


def _under(root: Op, made: list[Op]) -> list[Op]:
    """The new terms that `root` needs, in the order in which they were built: arguments first."""
    new, needed, pending = set(made), set(), [root]
    while pending:
        term = pending.pop()
        if term in new and term not in needed:
            needed.add(term)
            pending.extend(term.args)
    return [t for t in made if t in needed]


def _passes_over(rule: Rule, term: Op, reached: Collection[Op], asked: Asked) -> bool:
    """Whether a wanted term lies between `term` and what the rule reached: it saw through it."""
    level = {a for a in term.args if a not in reached}
    for _ in range(_depth(rule.left) - 1):
        if asked(level):
            return True
        level = {a for t in level for a in t.args if a not in reached}
    return False
