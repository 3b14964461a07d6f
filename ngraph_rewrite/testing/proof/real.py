# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions over the real numbers, brought to a normal form, case by case of the signs they depend on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from fractions import Fraction

from ngraph_rewrite.testing.proof.field import (
    EXP,
    NONNEGATIVE,
    NONZERO,
    POSITIVE,
    Field,
    Need,
)
from ngraph_rewrite.testing.proof.polynomials import ONE, Poly, Ratio, TooLarge
from ngraph_rewrite.testing.proof.reading import Case, Reader, Undecided
from ngraph_rewrite.testing.proof.real_functions import Unknown
from ngraph_rewrite.testing.proof.reals_smt import refuted
from ngraph_rewrite.testing.proof.symbols import SYMBOL, Scalar, parts

# Larger expressions, and those that depend on more signs, are given up.
MOST_PARTS, MOST_CASES = 600, 250
# Products of terms that are computed in a second, about; the clock is for the rest.
_WORK, _CLOCK = 150_000, 2
NO_VALUE = "no value"


def equal_over_reals(left: Scalar, right: Scalar, seconds: float) -> str | None:
    """How it was shown that two expressions are equal for all real numbers for which the left one has a value.

    The right one then has a value as well. None if it was not shown.

    >>> from ngraph_rewrite.testing.proof.symbols import apply, symbol
    >>> x = symbol("x", "float32")
    >>> equal_over_reals(apply("log", "float32", apply("exp", "float32", x)), x, 1.0)
    'over the reals, by normal form'
    """
    if sum(1 for _ in parts([left, right])) > MOST_PARTS:
        return None
    until = time.process_time() + _CLOCK * seconds
    try:
        if _shown_at_once(left, right, Field(int(_WORK * seconds))):
            return "over the reals, by normal form"
        cases = _cases(left, right, Field(int(_WORK * seconds)), until)
    except (TooLarge, Unknown, ZeroDivisionError, RecursionError, OverflowError):
        return None
    if cases is None:
        return None
    return "over the reals, by z3" if cases == 1 else f"over the reals, in {cases} cases of signs"


def _shown_at_once(left: Scalar, right: Scalar, field: Field) -> bool:
    try:
        return _shown(left, right, field, Case(), False)
    except (Undecided, TooLarge, Unknown, ZeroDivisionError):
        return False


def _cases(left: Scalar, right: Scalar, field: Field, until: float) -> int | None:
    """In how many cases both were shown to be equal; None if not in all."""
    waiting, done = [Case()], 0
    while waiting:
        case = waiting.pop()
        done += 1
        if done > MOST_CASES or time.process_time() > until:
            return None
        try:
            if not _shown(left, right, field, case, True, until):
                return None
        except Undecided as which:
            waiting.extend(_split(field, case, which.what))
            done -= 1
        except ZeroDivisionError:  # the left side has no value here, or the right one has none
            return None
    return done


def _split(field: Field, case: Case, what: Poly | Scalar) -> Iterator[Case]:
    if isinstance(what, Scalar):
        yield from (case._replace(truths={**case.truths, what: truth}) for truth in (False, True))
        return
    for sign in (-1, 1):
        yield case._replace(signs={**case.signs, what: sign})
    found = _solved(field, what)
    values = case.values if found is None else {**case.values, found[0]: found[1]}
    yield Case({**case.signs, what: 0}, case.truths, values)


def _solved(field: Field, p: Poly) -> tuple[Scalar, Ratio] | None:
    """A symbol for which ``p = 0`` can be solved, and what it is."""
    for monomial, coefficient in p.terms.items():
        if len(monomial) == 1 and monomial[0][1] == 1 and field.keys[monomial[0][0]][0] == SYMBOL:
            symbol = field.keys[monomial[0][0]][1]
            rest = p - Poly({monomial: coefficient})
            if isinstance(symbol, Scalar) and not _mentions(field, rest, symbol):
                return symbol, Ratio(rest.scaled(-1 / coefficient))
    return None


def _mentions(field: Field, p: Poly, symbol: Scalar) -> bool:
    """Whether a polynomial depends on a symbol; that of a function of anything may."""
    return any(field.keys[a][0] != SYMBOL or field.keys[a][1] is symbol for m in p.terms for a, _ in m)


def _shown(left: Scalar, right: Scalar, field: Field, case: Case, splits: bool, until: float = 0.0) -> bool:
    field.needs.clear()
    try:
        one = Reader(field, case, splits, assumes=True).of(left)
    except ZeroDivisionError:
        return splits  # no value at all
    given = list(field.needs)
    field.needs.clear()
    try:
        other = Reader(field, case, splits).of(right)
    except ZeroDivisionError:
        return splits and refuted(field, case.signs, given, [], None, until)
    if isinstance(one, bool) or isinstance(other, bool):
        pair, same = None, one is other
    else:
        pair, same = (one, other), field.equal(one, other)
    missing = [n for n in field.needs if not _follows(field, n, given, case.signs)]
    if same:
        return not missing or (splits and refuted(field, case.signs, given, missing, None, until))
    return splits and refuted(field, case.signs, given, missing if pair else [], pair, until)


def _follows(field: Field, need: Need, given: list[Need], signs: Mapping[Poly, int]) -> bool:
    """Whether a condition holds where others do; False if this cannot be seen."""
    kind, p = need
    value = p.constant
    if value is not None:
        return value > 0 or (value == 0 and kind == NONNEGATIVE) or (value < 0 and kind == NONZERO)
    if field.is_positive(p) or (kind == NONNEGATIVE and field.is_nonnegative(p)):
        return True
    known = {(n.kind, q) for n in given for q in (n.of, *([n.of.scaled(-1)] if n.kind == NONZERO else []))}
    sign = signs.get(p, None if p.scaled(-1) not in signs else -signs[p.scaled(-1)])
    if (kind, p) in known or (POSITIVE, p) in known or sign == 1 or (sign == -1 and kind == NONZERO):
        return True
    return kind == NONZERO and _factors_follow(field, p, given, signs)


def _factors_follow(field: Field, p: Poly, given: list[Need], signs: Mapping[Poly, int]) -> bool:
    """Whether each factor of a product is not 0."""
    known = {f for n in given if n.kind in (NONZERO, POSITIVE) for f in factors(field, n.of)}
    known |= {f for q, sign in signs.items() if sign for f in factors(field, q)}
    return all(f in known or field.is_positive(f) for f in factors(field, p))


def factors(field: Field, p: Poly) -> set[Poly]:
    """The atoms that a polynomial is divisible by, and what remains, its leading coefficient 1."""
    if not p:
        return {p}
    _, monomial, rest = field.parted(p)
    return {Poly.atom(a) for a, _ in monomial if field.keys[a][0] != EXP} | ({rest} - {ONE})


def value_at(term: Scalar, case: Case) -> Fraction | bool | str | None:
    """The value of an expression in a case that gives one to each symbol, if it is a rational number or a truth.

    `NO_VALUE` if it has none, None if it was not found out.
    """
    field = Field()
    try:
        found = Reader(field, case, True).of(term)
    except ZeroDivisionError:
        return NO_VALUE
    except (Undecided, TooLarge, Unknown, RecursionError, OverflowError):
        return None
    if any(need.of.constant is not None and not _follows(field, need, [], {}) for need in field.needs):
        return NO_VALUE
    return found if isinstance(found, bool) else found.constant
