# SPDX-License-Identifier: Apache-2.0
"""How far a left side matches a term: the part of the pattern that first does not, and what stands there instead.

Whether a left side matches is for `search` to say. For one that does not, orders of commutative arguments, splits of
sequences and choices of operands are tried, up to a number, and the attempt that came furthest is kept.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ngraph_rewrite.lowering.layout import shown
from ngraph_rewrite.lowering.operand_ways import MOST, Agenda, Left, operands_of, too_many, wanted, ways
from ngraph_rewrite.rewriting.attribute_values import value_of
from ngraph_rewrite.rewriting.bounds import OPERANDS
from ngraph_rewrite.rewriting.nests import has_identity
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var, is_of
from ngraph_rewrite.rewriting.sharing import Bag, shares
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op

# And so many to say which operand of a nest is nearest to a part of a pattern.
FEW = 20
Bindings = Mapping[str, Any]


@dataclass(frozen=True)
class Attempt:
    """One way to match, to its end or to the first part that does not.

    Attributes:
        term: What it was tried on.
        passed: Two for each part of the pattern that matches, and one for each that almost does.
        bindings: What the names stand for, as far as it got.
        part: The part that does not match; None if all do.
        says: What was expected there, and what stands there.
        at: The term that stands there.
    """

    term: Op
    passed: int
    bindings: Bindings
    part: Pattern | None = None
    says: str = ""
    at: Op | None = None


def best_attempt(left: App, term: Op, bindings: Bindings = MappingProxyType({}), root: bool = True) -> Attempt:
    """The first of the attempts at a term that does not match which came furthest.

    Args:
        bindings: What names stand for already.
        root: Whether it is a left side: such a pattern is not tried on one operand that stands alone.
    """
    if root and term.definition is not left.definition:
        says = f"expected {named_op(left.definition)}, here stands {_named(term)}"
        return Attempt(term, 0, bindings, left, says, term)
    found: Attempt | None = None
    for attempt in itertools.islice(attempts(left, term, bindings), MOST):
        if attempt.part is not None and (found is None or attempt.passed > found.passed):
            found = attempt
    return found or Attempt(term, 1, {}, left, f"here stands {_named(term)}, which no order of its parts fits", term)


def attempts(left: App, term: Op, bindings: Bindings = MappingProxyType({})) -> Iterator[Attempt]:
    """Every way in which `left` matches `term` or comes to a part that does not, in a fixed order.

    The parts behind the first that does not match are tried too: of two ways that fail, that is nearer in which more
    of them match.
    """
    return _Matching(term).run(((left, term),), Attempt(term, 0, bindings))


class _Matching:
    def __init__(self, term: Op) -> None:
        self.term = term

    def run(self, agenda: Agenda, so_far: Attempt) -> Iterator[Attempt]:
        if not agenda:
            yield so_far
            return
        (part, term), rest = agenda[0], agenda[1:]
        if isinstance(part, App) and isinstance(term, Left):
            yield from self.left_over(part, term, rest, so_far)
        elif isinstance(part, App):
            yield from self.application(part, term, rest, so_far)
        elif isinstance(part, Num):
            says, near = _other_number(part, term)
            yield from self.run(
                rest, _failed(so_far, part, says, term, near) if says else _passed(so_far, so_far.bindings)
            )
        else:
            yield from self.variable(part, term, rest, so_far)

    def variable(self, part: Var | SeqVar, found: Any, rest: Agenda, so_far: Attempt) -> Iterator[Attempt]:
        before = so_far.bindings.get(part.name, found)
        wrong = [t for t in (found if isinstance(found, tuple) else (found,)) if not is_of(t, part.sort)]
        if wrong:
            says = f"expected {part.sort}, here stands {_named(wrong[0])} of sort {wrong[0].type}"
            yield from self.run(rest, _failed(so_far, part, says, wrong[0], 1))
        elif before is found or (isinstance(found, tuple) and before == found) or _is_as(before, found):
            yield from self.run(rest, _passed(so_far, {**so_far.bindings, part.name: found}))
        else:
            says = f"{part} is {_named(before)} already, and here stands {_named(found)}"
            yield from self.run(rest, _failed(so_far, part, says, found if isinstance(found, Op) else None, 1))

    def left_over(self, part: App, left: Left, rest: Agenda, so_far: Attempt) -> Iterator[Attempt]:
        """The operands that are left of a nest go to its sequences: those that are bound take their own first."""
        terms, runs = list(left), [a for a in part.args if isinstance(a, SeqVar)]
        for run in [run for run in runs if run.name in so_far.bindings]:
            for term in so_far.bindings[run.name]:
                if term not in terms:
                    says = f"{run} is {_named(so_far.bindings[run.name])} already, and here are left {_named(left)}"
                    yield from self.run(rest, _failed(so_far, run, says, None, 1))
                    return
                terms.remove(term)
        free = Counter(run for run in runs if run.name not in so_far.bindings)
        ways = list(itertools.islice(shares(terms, free), FEW)) if free else [] if terms else [{}]
        for way in ways:
            yield from self.run(rest, _passed(so_far, {**so_far.bindings, **way}))
        if not ways:
            strange = next((one for one in terms if not any(is_of(one, run.sort) for run in free)), None)
            says = f"here are left {_named(tuple(terms))}, which cannot be shared out"
            says = says if strange is None or not free else f"here is left {_named(strange)}, a {strange.type}"
            yield from self.run(rest, _failed(so_far, runs[-1], says, strange, 1))

    def application(self, part: App, term: Op, rest: Agenda, so_far: Attempt) -> Iterator[Attempt]:
        if term.definition is not part.definition and not has_identity(part):
            says = f"expected {named_op(part.definition)}, here stands {_named(term)}"
            yield from self.run(rest, _failed(so_far, part, says, term))
            return
        here = so_far
        if term.definition is part.definition:
            bound, says = _attributes(part, term, so_far.bindings)
            here = _failed(so_far, part, says, term, 1) if says else _passed(so_far, bound)
        count = too_many(part, term)
        if count:
            says = f"a nest of {count} operands stands here, and patterns look through {OPERANDS} at most"
            yield from self.run(rest, _failed(here, part, says, term, 1))
            return
        any_way = False
        for way in itertools.islice(ways(part, term, _likeness), MOST):
            any_way = True
            yield from self.run((*way, *rest), here)
        if not any_way:
            says = f"expected {wanted(part)}, here are {len(operands_of(part, term))}: {_named(term)}"
            yield from self.run(rest, _failed(here, part, says, term))


def _is_as(before: Any, found: Any) -> bool:
    """Whether operands in any order are these terms."""
    return isinstance(before, Bag) and isinstance(found, tuple) and before.is_as(found)


def _passed(so_far: Attempt, bindings: Bindings) -> Attempt:
    return replace(so_far, passed=so_far.passed + 2, bindings=bindings)


def _failed(so_far: Attempt, part: Pattern, says: str, at: Op | None, near: int = 0) -> Attempt:
    """A part does not match; `near` is 1 if it almost does. The first such part is the one that is told."""
    passed = so_far.passed + near
    return (
        replace(so_far, passed=passed) if so_far.part else replace(so_far, passed=passed, part=part, says=says, at=at)
    )


def _attributes(part: App, term: Op, bindings: Bindings) -> tuple[Bindings, str]:
    """The bindings with those of the attributes, and what is wrong with one of them."""
    bound = dict(bindings)
    for attribute, expression in part.compares:
        wanted, value = value_of(expression, {}), term.attribute(attribute)
        if value != wanted:
            return bound, f"expected {attribute}={wanted!r}, here {attribute} is {value!r}"
    for attribute, name in part.binds:
        value = term.attribute(attribute)
        if name in bound and bound[name] != value:
            return bound, f"{name} is {_named(bound[name])} already, and here {attribute} is {value!r}"
        bound[name] = value
    return bound, ""


def _likeness(part: Pattern, term: Op) -> int:
    """How much of a part of a pattern a term matches for itself."""
    if not isinstance(part, App) or term.definition is not part.definition:
        return int(isinstance(part, Num) and not _other_number(part, term)[0])
    return max((one.passed for one in itertools.islice(attempts(part, term), FEW)), default=0)


def _other_number(part: Num, term: Op) -> tuple[str, int]:
    """Why a term is not the number that is expected, and 1 if it is another one; nothing if it is."""
    says = f"expected the number {part}, here stands {_named(term)}"
    if term.definition is not lookup("core.constant"):
        return says, 0
    return ("", 0) if term.attribute("value").is_number(part.value) else (f"{says} of {term.dtype}", 1)


def named_op(definition: OpDef) -> str:
    """An op as derivations call it."""
    short = definition.family == "core" or definition.profile is not None
    return definition.short if short else definition.name


def _named(value: Any) -> str:
    """A value, and for a term the line that built it."""
    if not isinstance(value, Op):
        inside = ", ".join(map(shown, value)) if isinstance(value, tuple) and value and isinstance(value[0], Op) else ""
        return f"({inside})" if inside else repr(value)
    place = f" (from {value.info.place})" if value.info.lineno and value.args else ""
    return f"{shown(value)}{place}"
