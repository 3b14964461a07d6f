# SPDX-License-Identifier: Apache-2.0
"""How far a left side matches a term: the part of the pattern that first does not, and what stands there instead.

Whether a left side matches is for `search` to say. For one that does not, orders of commutative arguments, splits of
sequences and choices of operands are tried, up to a number, and the attempt that came furthest is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ngraph_rewrite.lowering.derivation import shown
from ngraph_rewrite.rewriting.interpret import value_of
from ngraph_rewrite.rewriting.nests import is_nest, nests, operands
from ngraph_rewrite.rewriting.pattern import App, Num, Pattern, SeqVar, Var
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op

# So many attempts are made, for patterns that can be matched in very many ways.
MOST = 2000
Bindings = Mapping[str, Any]
# What is still to be matched: parts of the pattern, each with a term, or with several for a sequence.
Agenda = tuple[tuple[Pattern, Any], ...]


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


def best_attempt(left: App, term: Op) -> Attempt:
    """The first of the attempts at a term that does not match which came furthest."""
    found: Attempt | None = None
    for attempt in itertools.islice(attempts(left, term), MOST):
        if attempt.part is not None and (found is None or attempt.passed > found.passed):
            found = attempt
    return found or Attempt(term, 1, {}, left, f"here stands {_named(term)}, which no order of its parts fits", term)


def attempts(left: App, term: Op) -> Iterator[Attempt]:
    """Every way in which `left` matches `term` or comes to a part that does not, in a fixed order.

    The parts behind the first that does not match are tried too: of two ways that fail, that is nearer in which more
    of them match.
    """
    return _Matching(term).run(((left, term),), Attempt(term, 0, {}))


class _Matching:
    def __init__(self, term: Op) -> None:
        self.term = term

    def run(self, agenda: Agenda, so_far: Attempt) -> Iterator[Attempt]:
        if not agenda:
            yield so_far
            return
        (part, term), rest = agenda[0], agenda[1:]
        if isinstance(part, App):
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
        if before is found or (isinstance(found, tuple) and before == found):
            yield from self.run(rest, _passed(so_far, {**so_far.bindings, part.name: found}))
        else:
            says = f"{part} is {_named(before)} already, and here stands {_named(found)}"
            yield from self.run(rest, _failed(so_far, part, says, found if isinstance(found, Op) else None, 1))

    def application(self, part: App, term: Op, rest: Agenda, so_far: Attempt) -> Iterator[Attempt]:
        if term.definition is not part.definition:
            says = f"expected {named_op(part.definition)}, here stands {_named(term)}"
            yield from self.run(rest, _failed(so_far, part, says, term))
            return
        bound, says = _attributes(part, term, so_far.bindings)
        here = _failed(so_far, part, says, term, 1) if says else _passed(so_far, bound)
        ways = list(_ways(part, term))
        if not ways:
            says = f"expected {_count(part)}, here are {len(_operands(part, term))}"
            yield from self.run(rest, _failed(here, part, says, term))
        for way in ways:
            yield from self.run((*way, *rest), here)


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


def _ways(part: App, term: Op) -> Iterator[Agenda]:
    """The parts of the pattern beside the arguments: in both orders if they may be exchanged, in each split."""
    args = part.args
    if is_nest(part):
        yield from _choices(part, _operands(part, term))
        return
    if not any(isinstance(a, SeqVar) for a in args):
        if len(args) == len(term.args):
            yield tuple(zip(args, term.args, strict=True))
            if part.definition.commutative and args[0] != args[1]:
                yield tuple(zip(args[::-1], term.args, strict=True))
        return
    yield from _splits(args, term.args)


def _operands(part: App, term: Op) -> Sequence[Op]:
    """What the arguments of a pattern stand for: those of a term, or the operands of the nest it is."""
    return operands(term) if is_nest(part) and nests(part.definition) else term.args


def _choices(part: App, found: Sequence[Op]) -> Iterator[Agenda]:
    """Operands of a nest for the parts of a pattern, in any order; a sequence gets those that are left."""
    single = [a for a in part.args if not isinstance(a, SeqVar)]
    runs = [a for a in part.args if isinstance(a, SeqVar)]
    if len(single) > len(found) or (not runs and len(single) != len(found)):
        return
    for chosen in itertools.islice(itertools.permutations(range(len(found)), len(single)), MOST):
        left = tuple(found[i] for i in range(len(found)) if i not in chosen)
        ends = [(run, () if i else left) for i, run in enumerate(runs)]
        yield (*((p, found[i]) for p, i in zip(single, chosen, strict=True)), *ends)


def _splits(parts: tuple[Pattern, ...], args: tuple[Op, ...]) -> Iterator[Agenda]:
    if not parts:
        if not args:
            yield ()
        return
    if isinstance(parts[0], SeqVar):
        single = sum(not isinstance(p, SeqVar) for p in parts[1:])
        last = len(args) - single
        only = not any(isinstance(p, SeqVar) for p in parts[1:])
        for n in range(max(last, 0) if only else 0, last + 1):
            yield from (((parts[0], args[:n]), *way) for way in _splits(parts[1:], args[n:]))
    elif args:
        yield from (((parts[0], args[0]), *way) for way in _splits(parts[1:], args[1:]))


def _other_number(part: Num, term: Op) -> tuple[str, int]:
    """Why a term is not the number that is expected, and 1 if it is another one; nothing if it is."""
    says = f"expected the number {part}, here stands {_named(term)}"
    if term.definition is not lookup("core.constant"):
        return says, 0
    return ("", 0) if term.attribute("value").is_number(part.value) else (f"{says} of {term.dtype}", 1)


def _count(part: App) -> str:
    single = sum(not isinstance(a, SeqVar) for a in part.args)
    least = "at least " if single < len(part.args) else ""
    return f"{least}{single} argument{'' if single == 1 else 's'}"


def named_op(definition: OpDef) -> str:
    """An op as derivations call it."""
    return definition.short if definition.family == "core" else definition.name


def _named(value: Any) -> str:
    """A value, and for a term the line that built it."""
    if not isinstance(value, Op):
        inside = ", ".join(map(shown, value)) if isinstance(value, tuple) and value and isinstance(value[0], Op) else ""
        return f"({inside})" if inside else repr(value)
    place = f" (from {value.info.place})" if value.info.lineno and value.args else ""
    return f"{shown(value)}{place}"
