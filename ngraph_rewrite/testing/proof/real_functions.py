# SPDX-License-Identifier: Apache-2.0
"""Functions of real numbers in normal form: what exponentials, logarithms and roots of sums and products are."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from ngraph_rewrite.testing.proof.field import COS, EXP, LOG, NONNEGATIVE, POSITIVE, ROOT, SIN, Field
from ngraph_rewrite.testing.proof.polynomials import ONE, ZERO, Monomial, Poly, Power, Ratio, inverse, over
from ngraph_rewrite.testing.proof.symbols import Scalar
from ngraph_rewrite.types.dtypes import is_float

# Numbers above this are not taken apart into primes.
_FACTORED = 10**8


class Unknown(Exception):
    """Something that is no function of real numbers, as far as is known here."""


def exp(field: Field, a: Ratio) -> Ratio:
    """e to the power of a sum is the product of those of its terms."""
    found = Ratio(ONE)
    for monomial, coefficient in a.above.terms.items():
        if not monomial and not a.below:
            factor = Ratio(Poly.atom(field.numbered(EXP, Ratio(ONE)), _whole(coefficient)))
        else:
            factor = _exp_of(field, monomial, coefficient, a.below)
        found = field.multiply(found, factor)
    return found


def _exp_of(field: Field, monomial: Monomial, coefficient: Fraction, below: tuple[tuple[Poly, int], ...]) -> Ratio:
    if not below and len(monomial) == 1 and monomial[0][1] == 1 and coefficient.denominator == 1:
        kind, key = field.keys[monomial[0][0]]
        if kind in (LOG, "logprime"):
            base = key if isinstance(key, Ratio) else Ratio.number(key)  # type: ignore[arg-type]
            return field.power(base, int(coefficient))
    one = Ratio(Poly({monomial: Fraction(1)}), below)
    return Ratio(Poly.atom(field.numbered(EXP, one), _whole(coefficient)))


def log(field: Field, a: Ratio) -> Ratio:
    """The logarithm of a product of what can be seen to be positive is the sum of theirs."""
    field.need(POSITIVE, field.sign_of(a))
    if not a.above:
        raise ZeroDivisionError
    found, left = Ratio(ZERO), a.above
    below = []
    for factor, power in a.below:
        if field.is_positive(factor):
            one = log(field, Ratio(factor))
            found = field.subtract(found, field.multiply(Ratio.number(power), one))
        else:
            below.append((factor, power))
    content = tuple((n, p) for n, p in left.content() if field.keys[n][0] == EXP)
    for atom, exponent in content:
        inside = field.keys[atom][1]
        assert isinstance(inside, Ratio)
        found = field.add(found, field.multiply(Ratio.number(exponent), inside))
    left = left.shifted(inverse(content))
    size = abs(left.terms[left.leading()])
    rest = Ratio(left.scaled(1 / size), tuple(below))
    found = field.add(found, _log_of(field, size))
    return found if rest == Ratio(ONE) else field.add(found, field.atom(LOG, rest))


def _log_of(field: Field, number: Fraction) -> Ratio:
    if max(number.numerator, number.denominator) > _FACTORED:
        return field.atom("logprime", number)
    found = Ratio(ZERO)
    for part, sign in ((number.numerator, 1), (number.denominator, -1)):
        for prime, power in primes(part):
            one = field.atom("logprime", Fraction(prime))
            found = field.add(found, field.multiply(Ratio.number(sign * power), one))
    return found


def sqrt(field: Field, a: Ratio) -> Ratio:
    """The root, of which the square is known; that of a square number or an exponential has none."""
    field.need(NONNEGATIVE, field.sign_of(a))
    if a.below:
        if not all(field.is_positive(f) for f, _ in a.below):
            return field.atom("sqrt", a)
        whole = over(a.below)
        return field.reduced(sqrt(field, Ratio(a.above * whole)).above, a.below)
    if not a.above:
        return a
    content = tuple((n, p) for n, p in a.above.content() if field.keys[n][0] == EXP)
    rest = a.above.shifted(inverse(content))
    size = abs(rest.terms[rest.leading()])
    half = Poly({tuple((n, _whole(Fraction(p) / 2)) for n, p in content): Fraction(1)})
    roots = [math.isqrt(size.numerator), math.isqrt(size.denominator)]
    if Fraction(roots[0], roots[1]) ** 2 == size:
        half, rest = half.scaled(Fraction(roots[0], roots[1])), rest.scaled(1 / size)
    if rest == ONE:
        return Ratio(half)
    if any(p < 0 for m in rest.terms for _, p in m):
        return Ratio(half * field.atom("sqrt", Ratio(rest)).above)
    return Ratio(half * Poly.atom(field.numbered(ROOT, rest)))


def odd(field: Field, name: str, a: Ratio) -> Ratio:
    """A function f with f(-x) = -f(x)."""
    turned, inside = oriented(field, a)
    found = field.atom(name, inside) if inside.above else inside
    return field.negative(found) if turned else found


def cos(field: Field, a: Ratio) -> Ratio:
    """The cosine, of which the square is known."""
    inside = oriented(field, a)[1]
    return field.atom(COS, inside) if inside.above else Ratio(ONE)


def oriented(field: Field, a: Ratio) -> tuple[bool, Ratio]:
    """Whether the leading coefficient is negative, and the one of the two signs with which it is not."""
    turned = bool(a.above) and a.above.terms[a.above.leading()] < 0
    return turned, field.negative(a) if turned else a


def _whole(power: Fraction | Power) -> Power:
    return int(power) if Fraction(power).denominator == 1 else Fraction(power)


def primes(number: int) -> list[tuple[int, int]]:
    """The prime factors of a number, with their powers.

    >>> primes(360)
    [(2, 3), (3, 2), (5, 1)]
    """
    found, divisor = [], 2
    while divisor * divisor <= number:
        power = 0
        while number % divisor == 0:
            number, power = number // divisor, power + 1
        if power:
            found.append((divisor, power))
        divisor += 1
    return [*found, (number, 1)] if number > 1 else found


# -- the functions of the catalogue ---------------------------------------------------------------------


def number(field: Field, term: Scalar) -> Ratio:
    """A number as it is; the nearest floats to some logarithms and roots stand for these."""
    value = term.value
    if not is_float(term.dtype):
        return Ratio.number(int(value))
    if not np.isfinite(value):
        raise Unknown
    for constant, make in _CONSTANTS:
        if term.dtype.type(abs(constant)) == abs(value) and constant:
            found = make(field)
            return field.negative(found) if value < 0 else found
    return Ratio.number(Fraction(float(value)))


def _ln(n: int) -> Callable[[Field], Ratio]:
    return lambda field: log(field, Ratio.number(n))


_CONSTANTS: tuple[tuple[float, Callable[[Field], Ratio]], ...] = (
    (math.log(2), _ln(2)),
    (math.log(10), _ln(10)),
    (1 / math.log(2), lambda f: f.divide(Ratio(ONE), _ln(2)(f))),
    (1 / math.log(10), lambda f: f.divide(Ratio(ONE), _ln(10)(f))),
    (math.pi, lambda f: f.atom("pi", None)),
    (math.gamma(1.5), lambda f: f.divide(sqrt(f, f.atom("pi", None)), Ratio.number(2))),
    (2 / math.sqrt(math.pi), lambda f: f.divide(Ratio.number(2), sqrt(f, f.atom("pi", None)))),
)


def _two(field: Field, a: Ratio) -> Ratio:
    return field.multiply(Ratio.number(2), a)


def _tanh(field: Field, a: Ratio) -> Ratio:
    e = exp(field, _two(field, a))
    return field.divide(field.subtract(e, Ratio(ONE)), field.add(e, Ratio(ONE)))


def _sigmoid(field: Field, a: Ratio) -> Ratio:
    e = exp(field, a)
    return field.divide(e, field.add(e, Ratio(ONE)))


def _halftotal(field: Field, a: Ratio, sign: int) -> Ratio:
    other = field.multiply(Ratio.number(sign), exp(field, field.negative(a)))
    return field.multiply(Ratio.number(Fraction(1, 2)), field.add(exp(field, a), other))


def _floor(field: Field, a: Ratio) -> Ratio:
    value = a.constant
    return Ratio.number(math.floor(value)) if value is not None else field.atom("floor", a)


def _quotient(field: Field, a: Ratio, b: Ratio) -> Ratio:
    return _floor(field, field.divide(a, b))


def _power(field: Field, a: Ratio, b: Ratio) -> Ratio:
    exponent = b.constant
    if exponent is None:
        return field.atom("power", (a, b))
    if exponent.denominator == 1:
        return field.power(a, int(exponent))
    if exponent.denominator == 2:
        return field.power(sqrt(field, a), int(2 * exponent))
    return field.atom("power", (a, b))


def total(field: Field, *args: Ratio) -> Ratio:
    found = Ratio(ZERO)
    for a in args:
        found = field.add(found, a)
    return found


def product(field: Field, *args: Ratio) -> Ratio:
    found = Ratio(ONE)
    for a in args:
        found = field.multiply(found, a)
    return found


def _logarithm(base: int) -> Callable[[Field, Ratio], Ratio]:
    return lambda f, a: f.divide(log(f, a), log(f, Ratio.number(base)))


FUNCTIONS: Mapping[str, Callable[..., Ratio]] = {
    "negative": Field.negative,
    "square": lambda f, a: f.multiply(a, a),
    "sqrt": sqrt,
    "reciprocal": lambda f, a: f.divide(Ratio(ONE), a),
    "exp": exp,
    "expm1": lambda f, a: f.subtract(exp(f, a), Ratio(ONE)),
    "log": log,
    "log1p": lambda f, a: log(f, f.add(a, Ratio(ONE))),
    "log2": _logarithm(2),
    "log10": _logarithm(10),
    "sin": lambda f, a: odd(f, SIN, a),
    "cos": cos,
    "tan": lambda f, a: f.divide(odd(f, SIN, a), cos(f, a)),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "sinh": lambda f, a: _halftotal(f, a, -1),
    "cosh": lambda f, a: _halftotal(f, a, 1),
    **{
        name: lambda f, a, name=name: odd(f, name, a)
        for name in ("cbrt", "erf", "erfinv", "asin", "atan", "asinh", "atanh")
    },
    **{name: lambda f, a, name=name: f.atom(name, a) for name in ("acosh", "lgamma", "digamma", "trigamma")},
    "floor": _floor,
    "ceil": lambda f, a: f.negative(_floor(f, f.negative(a))),
    "add": Field.add,
    "subtract": Field.subtract,
    "multiply": Field.multiply,
    "divide": Field.divide,
    "floordivide": _quotient,
    "mod": lambda f, a, b: f.subtract(a, f.multiply(b, _quotient(f, a, b))),
    "power": _power,
    "hypot": lambda f, a, b: sqrt(f, f.add(f.multiply(a, a), f.multiply(b, b))),
    "logaddexp": lambda f, a, b: log(f, f.add(exp(f, a), exp(f, b))),
    **dict.fromkeys(("sum", "dot"), total),
    "prod": product,
}
