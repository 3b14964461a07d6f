# SPDX-License-Identifier: Apache-2.0
"""Derivatives of scalar expressions: those of functions as sympy finds them, put together by the chain rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from typing import Any

import sympy

from ngraph_rewrite.testing.proof.symbols import NUMBER, Scalar, apply, number, parts
from ngraph_rewrite.types.dtypes import BOOL, is_float

A, B = sympy.symbols("a b", real=True)
# What functions mean, as formulas that sympy can differentiate.
FORMULAS: Mapping[str, Any] = {
    "negative": -A, "square": A**2, "sqrt": sympy.sqrt(A), "reciprocal": 1 / A, "exp": sympy.exp(A),
    "expm1": sympy.exp(A) - 1, "log": sympy.log(A), "log1p": sympy.log(1 + A), "log2": sympy.log(A) / sympy.log(2),
    "log10": sympy.log(A) / sympy.log(10), "sin": sympy.sin(A), "cos": sympy.cos(A), "tan": sympy.tan(A),
    "asin": sympy.asin(A), "acos": sympy.acos(A), "atan": sympy.atan(A), "sinh": sympy.sinh(A),
    "cosh": sympy.cosh(A), "tanh": sympy.tanh(A), "asinh": sympy.asinh(A), "acosh": sympy.acosh(A),
    "atanh": sympy.atanh(A), "sigmoid": 1 / (1 + sympy.exp(-A)), "erf": sympy.erf(A), "add": A + B,
    "subtract": A - B, "multiply": A * B, "divide": A / B, "power": A**B, "atan2": sympy.atan2(A, B),
    "erfinv": sympy.erfinv(A), "hypot": sympy.sqrt(A**2 + B**2), "logaddexp": sympy.log(sympy.exp(A) + sympy.exp(B)),
    "lgamma": sympy.loggamma(A), "digamma": sympy.digamma(A),
}  # fmt: skip
# Flat almost everywhere.
_FLAT = frozenset("sign floor ceil round trunc floordivide bitcast".split())
_FUNCTIONS = frozenset("exp log sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf erfinv".split())
_POLYGAMMA = ("digamma", "trigamma")


class NoDerivative(Exception):
    """A function whose derivative is not known here."""


def derivatives(outputs: Sequence[Scalar], weights: Sequence[Scalar], symbols: Iterable[Scalar]) -> list[Scalar]:
    """The derivative of a weighted sum of expressions by each of some symbols.

    Where there is a kink it is what the library says: half to each side of a tie.

    Raises:
        NoDerivative: if a function has none that is known.

    >>> from ngraph_rewrite.testing.proof.symbols import symbol
    >>> x, d = symbol("x", "float64"), symbol("d", "float64")
    >>> derivatives([apply("tanh", "float64", x)], [d], [x])
    [multiply(d, add(1.0, multiply(-1.0, power(tanh(x), 2.0))))]
    """
    arriving: dict[Scalar, list[Scalar]] = {}
    for output, weight in zip(outputs, weights, strict=True):
        arriving.setdefault(output, []).append(weight)
    for term in reversed(list(parts(outputs))):
        if term in arriving and is_float(term.dtype) and term.args:
            adjoint = total(arriving[term][::-1], term.dtype)
            for argument, slope in zip(term.args, slopes(term), strict=True):
                if slope is not None:
                    found = apply("multiply", term.dtype, adjoint, slope)
                    arriving.setdefault(argument, []).append(found)
    return [total(arriving.get(s, [])[::-1], s.dtype) for s in symbols]


def total(terms: Sequence[Scalar], dtype: Any) -> Scalar:
    """The sum of expressions."""
    if not terms:
        return number(0, dtype)
    return terms[0] if len(terms) == 1 else apply("sum", dtype, *terms)


def slopes(term: Scalar) -> list[Scalar | None]:
    """The partial derivatives of a function by its arguments; None where there is none."""
    dtype, args = term.dtype, term.args
    if term.op in _FLAT:
        return [None] * len(args)
    if term.op in _KINKED:
        return _KINKED[term.op](term)
    if term.op not in FORMULAS:
        raise NoDerivative(f"the derivative of {term.op} is not known")
    return [_written(slope(term.op, i), dtype, args) for i in range(len(args))]


@cache
def slope(op: str, place: int) -> Any:
    """A partial derivative, as sympy finds it."""
    return sympy.powsimp(sympy.diff(FORMULAS[op], (A, B)[place]))


def _written(formula: Any, dtype: Any, args: Sequence[Scalar]) -> Scalar:
    """A formula of sympy as an expression of some arguments."""

    def written(part: Any) -> Scalar:
        return _written(part, dtype, args)

    if formula in (A, B):
        return args[(A, B).index(formula)]
    if formula.is_Rational:
        above, below = number(int(formula.p), dtype), number(int(formula.q), dtype)
        return above if formula.q == 1 else apply("divide", dtype, above, below)
    if formula is sympy.pi:
        return number(math.pi, dtype)
    name = type(formula).__name__
    if name in ("Add", "Mul"):
        op = "add" if name == "Add" else "multiply"
        return reduce(
            lambda x, y: apply(op, dtype, x, y),
            map(written, formula.as_ordered_factors() if name == "Mul" else formula.as_ordered_terms()),
        )
    if name == "Pow":
        return _power(dtype, written(formula.base), formula.exp, written)
    if name == "polygamma":
        return apply(_POLYGAMMA[int(formula.args[0])], dtype, written(formula.args[1]))
    if name.lower() in _FUNCTIONS:
        return apply(name.lower(), dtype, *map(written, formula.args))
    raise NoDerivative(f"sympy's {name} has no counterpart")


def _power(dtype: Any, base: Scalar, exponent: Any, written: Callable[[Any], Scalar]) -> Scalar:
    if exponent.is_Rational and exponent < 0:
        found = base if exponent == -1 else _power(dtype, base, -exponent, written)
        return apply("reciprocal", dtype, found)
    if exponent == sympy.Rational(1, 2):
        return apply("sqrt", dtype, base)
    return apply("power", dtype, base, written(exponent))


# -- kinks, choices and reductions --------------------------------------------------------------------


def _extremum(term: Scalar) -> list[Scalar | None]:
    """All that are the greatest share evenly."""
    best = [apply("cast", term.dtype, apply("equal", BOOL, a, term)) for a in term.args]
    count = total(best, term.dtype)
    return [apply("divide", term.dtype, b, count) for b in best]


def _of_two(term: Scalar, wins: str) -> list[Scalar | None]:
    """At a tie each has half."""
    one, half, zero = (number(n, term.dtype) for n in (1, 0.5, 0))
    x, y = term.args
    tie = apply("select", term.dtype, apply("equal", BOOL, x, y), half, zero)
    return [apply("select", term.dtype, apply(wins, BOOL, *pair), one, tie) for pair in ((x, y), (y, x))]


def _absolute(term: Scalar) -> list[Scalar | None]:
    return [apply("sign", term.dtype, term.args[0])]


def _select(term: Scalar) -> list[Scalar | None]:
    one, zero = number(1, term.dtype), number(0, term.dtype)
    condition = term.args[0]
    sides = ((one, zero), (zero, one))
    return [None, *(apply("select", term.dtype, condition, *side) for side in sides)]


def _product(term: Scalar) -> list[Scalar | None]:
    """The product of the others."""
    return [apply("prod", term.dtype, *(a for j, a in enumerate(term.args) if j != i)) for i in range(len(term.args))]


def _mod(term: Scalar) -> list[Scalar | None]:
    quotient = apply("floordivide", term.dtype, *term.args)
    return [number(1, term.dtype), apply("negative", term.dtype, quotient)]


def _copysign(term: Scalar) -> list[Scalar | None]:
    x, y = term.args
    size = apply("copysign", term.dtype, number(1, term.dtype), y)
    return [apply("multiply", term.dtype, apply("sign", term.dtype, x), size), None]


def _cbrt(term: Scalar) -> list[Scalar | None]:
    """That of the real root: sympy's is complex for numbers below 0."""
    square = apply("power", term.dtype, term, number(2, term.dtype))
    return [apply("reciprocal", term.dtype, apply("multiply", term.dtype, number(3, term.dtype), square))]


_KINKED: Mapping[str, Callable[[Scalar], list[Scalar | None]]] = {
    **dict.fromkeys(("max", "min"), _extremum),
    "maximum": lambda t: _of_two(t, "greater"),
    "minimum": lambda t: _of_two(t, "less"),
    "absolute": _absolute,
    "select": _select,
    "cast": lambda t: [number(1, t.dtype) if is_float(t.args[0].dtype) else None],
    **{name: lambda t: [number(1, t.dtype)] * len(t.args) for name in ("sum", "dot")},
    "prod": _product,
    "mod": _mod,
    "copysign": _copysign,
    "cbrt": _cbrt,
    "nextafter": lambda t: [number(1, t.dtype), None],
}


def on_positive_bases(root: Scalar) -> Scalar:
    """With powers whose exponents are no numbers as exponentials: so they are where the base is positive."""
    known: dict[Scalar, Scalar] = {}
    for term in parts([root]):
        args = tuple([known[a] for a in term.args])
        if term.op == "power" and args[1].op != NUMBER and is_float(term.dtype):
            logarithm = apply("log", term.dtype, args[0])
            known[term] = apply("exp", term.dtype, apply("multiply", term.dtype, args[1], logarithm))
        else:
            known[term] = term if args == term.args else Scalar(term.op, term.dtype, args)
    return known[root]


def substituted(root: Scalar, values: Mapping[Scalar, Scalar]) -> Scalar:
    """The expression with some of its parts replaced."""
    known = dict(values)
    for term in parts([root]):
        if term not in known:
            args = tuple([known[a] for a in term.args])
            known[term] = term if args == term.args else Scalar(term.op, term.dtype, args)
    return known[root]


def has_general_power(roots: Sequence[Scalar]) -> bool:
    """Whether there is a power whose exponent is no number."""
    return any(t.op == "power" and t.args[1].op != NUMBER and is_float(t.dtype) for t in parts(roots))
