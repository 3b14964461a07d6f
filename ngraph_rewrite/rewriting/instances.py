# SPDX-License-Identifier: Apache-2.0
"""Well-typed instances of a rule's left side for which its guard holds, and the targets for which it does."""

from __future__ import annotations

import ast
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ngraph_rewrite.errors import LengthError, RuleFileError
from ngraph_rewrite.rewriting.asked_target import TARGETS, Target
from ngraph_rewrite.rewriting.domain import KNOWN, SYMBOLIC, Domain
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.rewriting.pattern_search import Bindings, Choices, Order, PatternSearch
from ngraph_rewrite.rewriting.rule import Rule, Where
from ngraph_rewrite.rewriting.rule_errors import GUARD, rule_error
from ngraph_rewrite.rewriting.said import long_domains, with_numbers
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.syntax import walk
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import BFLOAT16, is_float
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

TRIES = 400


class Instance(NamedTuple):
    """A term the rule's left side matches, the match, and a target for which the guard holds."""

    term: Op
    bindings: Bindings
    target: Target


def instances(rule: Rule, limit: int = 20, domain: Domain = SYMBOLIC) -> Iterator[Op]:
    """Up to `limit` terms of different types for which the rule fires; always the same ones.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> import ngraph_rewrite.ops
    >>> rule, = parse_rules("simplify semi\\nrule twice: -(-x) => x", "my.rules", "my")
    >>> next(instances(rule)), next(instances(rule)).type
    (semi.negative(semi.negative(x)), float32[a, b])
    """
    return (found.term for found in matches(rule, limit, domain))


def matches(
    rule: Rule,
    limit: int = 20,
    domain: Domain = SYMBOLIC,
    bank: TrialBank | None = None,
    tries: int = TRIES,
    solver: Solver | None = None,
) -> Iterator[Instance]:
    """As `instances`, with the match and the target; `tries` bounds the terms tried to find each."""
    bank = TrialBank() if bank is None else bank
    if rule.guard is not None and str(BFLOAT16) in rule.guard.text:  # else it is not among those of a domain
        domain = replace(domain, dtypes=tuple(dict.fromkeys((*domain.dtypes, BFLOAT16))))
    seen: set[Op] = set()
    for turn in range(4 * limit):
        found = first_match(rule, domain, _turns(turn), bank, tries, solver)
        if found is not None and found.term not in seen:
            seen.add(found.term)
            yield found
        if len(seen) >= limit or (turn > limit and not seen):
            return


def fitting_matches(rule: Rule, limit: int, bank: TrialBank, tries: int = TRIES) -> Iterator[Instance]:
    """As `matches`, for which the guard happens to hold; if there are none, such as are made to fit it.

    A guard may ask for known lengths, or for long ones: these are tried last.
    """
    for domain, solver in _ways(rule, bank):
        found = matches(rule, limit, domain, bank, tries, solver)
        first = next(found, None)
        if first is not None:
            yield first
            yield from found
            return


def _ways(rule: Rule, bank: TrialBank) -> Iterator[tuple[Domain, Solver | None]]:
    yield SYMBOLIC, None
    if rule.guard is not None:
        solver = Solver(rule, bank.make)
        yield from ((domain, solver) for domain in (SYMBOLIC, KNOWN, *long_domains(rule)))


def _turns(turn: int) -> Choices:
    def offset(site: str, count: int) -> int:
        return zlib.crc32(f"{site} {turn}".encode()) % count if turn else 0

    return offset


def first_match(
    rule: Rule,
    domain: Domain,
    choices: Choices,
    bank: TrialBank,
    tries: int = TRIES,
    solver: Solver | None = None,
    order: Order | None = None,
) -> Instance | None:
    """The first instance whose guard holds, in the order that `choices` sets; None if few tries find none.

    Args:
        solver: Of the rule's guard: what it rules out is not tried. Without it every instance of the left side is.
        order: Puts options in order before `choices` says where to begin.
    """
    return next(every_match(rule, domain, choices, bank, tries, solver, order), None)


def every_match(
    rule: Rule,
    domain: Domain,
    choices: Choices,
    bank: TrialBank,
    tries: int = TRIES,
    solver: Solver | None = None,
    order: Order | None = None,
) -> Iterator[Instance]:
    """As `first_match`, one after the other: each term with the first target for which the guard holds."""
    search = PatternSearch(with_numbers(rule, domain), choices, bank, tries, solver, order)
    for term, bindings in search.terms(rule.left, None, "", {}):
        if rule.kind == "derive" and (isinstance(term.type, TupleType) or not is_float(term.dtype)):
            continue
        for target in targets(rule, choices):
            found = Instance(term, bindings, target)
            if _guard_holds(rule, found, bank):
                yield found
                break


def terms_of(
    pattern: App,
    domain: Domain,
    choices: Choices,
    bank: TrialBank,
    tries: int = TRIES,
    order: Order | None = None,
    wish: TensorType | None = None,
) -> Iterator[Op]:
    """Well-typed terms that a pattern matches, in the order that `choices` sets; nobody asks for a guard.

    Args:
        wish: The type that they have; None for any.
    """
    search = PatternSearch(domain, choices, bank, tries, order=order)
    return (term for term, _ in search.terms(pattern, wish, "", {}) if wish is None or term.type == wish)


def targets(rule: Rule, choices: Choices) -> Iterator[Target]:
    """One of the usual targets; if the rule asks for them, all, those of the names in it, and one without base ops."""
    first = choices("target", len(TARGETS))
    yield TARGETS[first]
    if rule.asks_target:
        yield from TARGETS[first + 1 :] + TARGETS[:first]
        asking = [rule.guard, *(c.expression for c in rule.clauses if isinstance(c, Where))]
        parts = [part for e in asking if e is not None for part in walk(e.tree)]
        yield from (Target(p.value) for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str))
        yield Target(base=frozenset())


def _guard_holds(rule: Rule, found: Instance, bank: TrialBank) -> bool:
    try:
        return Application(rule, found.term, found.bindings, bank.make, found.target).guard_holds()
    except Exception as error:
        bank.failed = found.term
        raise failure(rule, found.term, error, GUARD) from error


def failure(rule: Rule, term: Op, error: Exception, part: str) -> RuleFileError:
    """What to say of a rule that cannot be applied to a term its left side matches; `part` is what fails."""
    what = told(error)
    do = error.do if isinstance(error, LengthError) else None
    return rule_error(rule, f"fails on {signature(term)}: {what}", do or "guard or mend the rule", part)


def signature(term: Op) -> str:
    """The term, and the types of its leaves."""
    leaves = [t for t in topological([term]) if not t.args]
    types = ", ".join(f"{t!r}: {t.type!r}" for t in leaves)
    return f"{term!r} with {types}" if leaves else repr(term)
