# SPDX-License-Identifier: Apache-2.0
"""What normal forms leave open, asked of z3's real numbers: whether two of them can differ where some signs hold."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import z3

from ngraph_rewrite.testing.proof.field import (
    ABOVE_AT,
    COS,
    EXP,
    NONNEGATIVE,
    NONZERO,
    POSITIVE,
    ROOT,
    SIN,
    TRUE_AT,
    ZERO_AT,
    Field,
    Need,
)
from ngraph_rewrite.testing.proof.polynomials import Poly, Ratio

_SECONDS = 0.5


def refuted(
    field: Field,
    signs: Mapping[Poly, int],
    given: Iterable[Need],
    missing: Iterable[Need],
    pair: tuple[Ratio, Ratio] | None,
    until: float,
) -> bool:
    """Whether no real numbers with these signs and conditions lack a missing condition or tell a pair apart.

    Without either it is asked whether there are such numbers at all.
    """
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * min(_SECONDS, until - time.process_time()))))
    numbers = Numbers(field)
    for p, sign in signs.items():
        value = numbers.of(p)
        solver.add(value == 0 if sign == 0 else value > 0 if sign > 0 else value < 0)
    solver.add([numbers.holds(need) for need in given])
    wrong = [z3.Not(numbers.holds(need)) for need in missing]
    if pair is not None:
        wrong.append(numbers.ratio(pair[0]) != numbers.ratio(pair[1]))
    if wrong:
        solver.add(z3.Or(wrong))
    solver.add(numbers.facts)
    return bool(solver.check() == z3.unsat)


class Numbers:
    """Polynomials as z3's real terms: an unknown for each atom, of which a few things are known."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.facts: list[Any] = []
        self._known: dict[tuple[int, Fraction], Any] = {}

    def of(self, p: Poly) -> Any:
        """The term of a polynomial."""
        found = z3.RealVal(0)
        for monomial, coefficient in p.terms.items():
            product = z3.RealVal(str(coefficient))
            for atom, power in monomial:
                product = product * self._power(atom, Fraction(power))
            found = found + product
        return found

    def ratio(self, a: Ratio) -> Any:
        """The term of a quotient."""
        found = self.of(a.above)
        for factor, power in a.below:
            for _ in range(power):
                found = found / self.of(factor)
        return found

    def holds(self, need: Need) -> Any:
        """A condition as a term."""
        value = self.of(need.of)
        return {NONZERO: value != 0, POSITIVE: value > 0, NONNEGATIVE: value >= 0}[need.kind]

    def _power(self, atom: int, power: Fraction) -> Any:
        """A power of an atom: of one that is no integer the least part is an unknown."""
        unit = Fraction(1, power.denominator)
        if (atom, unit) not in self._known:
            self._known[atom, unit] = z3.FreshReal(f"atom{atom}")
            self._know(atom, self._known[atom, unit])
        base, found = self._known[atom, unit], z3.RealVal(1)
        for _ in range(abs(int(power / unit))):
            found = found * base
        return found if power > 0 else 1 / found

    def _know(self, atom: int, value: Any) -> None:
        kind, key = self.field.keys[atom]
        if kind == EXP:
            self.facts.append(value > 0)
        elif kind == "absolute":
            self.facts.append(value >= 0)
        elif kind == ROOT and isinstance(key, Poly):
            self.facts.append(z3.And(value >= 0, value * value == self.of(key)))
        elif kind in (ZERO_AT, ABOVE_AT, TRUE_AT):
            self.facts.append(z3.Or(value == 0, value == 1))
        elif kind == COS:
            sine = self.of(self.field.atom(SIN, key).above)
            self.facts.append(value * value + sine * sine == 1)
