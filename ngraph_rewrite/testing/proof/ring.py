# SPDX-License-Identifier: Apache-2.0
"""Integer expressions as polynomials modulo a power of two: sums and products that wrap form a ring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce

from ngraph_rewrite.testing.proof.polynomials import ONE, ZERO, Poly, TooLarge
from ngraph_rewrite.testing.proof.symbols import NUMBER, Scalar, parts

_POWERS = 32


def equal_in_ring(left: Scalar, right: Scalar) -> bool:
    """Whether two integer expressions are the same polynomial, modulo 2 to the number of their bits.

    >>> from ngraph_rewrite.testing.proof.symbols import apply, symbol
    >>> x, y = symbol("x", "int64"), symbol("y", "int64")
    >>> squares = apply("subtract", "int64", apply("square", "int64", x), apply("square", "int64", y))
    >>> sides = apply("add", "int64", x, y), apply("subtract", "int64", x, y)
    >>> equal_in_ring(squares, apply("multiply", "int64", *sides))
    True
    """
    atoms: dict[object, int] = {}
    known: dict[Scalar, Poly] = {}
    try:
        for term in parts([left, right]):
            known[term] = _polynomial(term, known, atoms)
    except TooLarge:
        return False
    return known[left] == known[right]


def _polynomial(term: Scalar, known: Mapping[Scalar, Poly], atoms: dict[object, int]) -> Poly:
    args = [known[a] for a in term.args]
    if term.dtype.kind in "iu":
        size = 1 << 8 * term.dtype.itemsize
        if term.op == NUMBER:
            return _wrapped(Poly.number(int(term.value)), size)
        if term.op == "power" and _exponent(term) is not None:
            return _wrapped(reduce(Poly.__mul__, args[:1] * (_exponent(term) or 0), ONE), size)
        if term.op in _RING and all(a.dtype == term.dtype for a in term.args):
            return _wrapped(_RING[term.op](*args), size)
    key = (term.op, term.dtype.char, *args, *(a.dtype.char for a in term.args)) if args else term
    return Poly.atom(atoms.setdefault(key, len(atoms)))


def _wrapped(p: Poly, size: int) -> Poly:
    return Poly({m: Fraction(int(c) % size) for m, c in p.terms.items()})


def _exponent(term: Scalar) -> int | None:
    exponent = term.args[1]
    return int(exponent.value) if exponent.op == NUMBER and 0 <= exponent.value <= _POWERS else None


_RING: Mapping[str, Callable[..., Poly]] = {
    "negative": lambda x: x.scaled(-1),
    "bitwise_invert": lambda x: ZERO - x - ONE,
    "square": lambda x: x * x,
    "add": Poly.__add__,
    "subtract": Poly.__sub__,
    "multiply": Poly.__mul__,
    **{name: lambda *args: reduce(Poly.__add__, args, ZERO) for name in ("sum", "dot")},
    "prod": lambda *args: reduce(Poly.__mul__, args, ONE),
}
