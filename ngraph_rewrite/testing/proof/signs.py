# SPDX-License-Identifier: Apache-2.0
"""Float expressions in a form that IEEE 754 says has the same bits: signs outside, differences as sums.

What these laws show z3 would have to find among all significands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ngraph_rewrite.testing.proof.symbols import NUMBER, Scalar, apply, number, parts
from ngraph_rewrite.types.dtypes import is_float

Maker = Callable[..., Scalar]


def without_signs(root: Scalar) -> Scalar:
    """The same value to the bit: no sign inside a product or a quotient, operands in one order, rounded once.

    >>> from ngraph_rewrite.testing.proof.symbols import symbol
    >>> x, y = symbol("x", "float64"), symbol("y", "float64")
    >>> without_signs(apply("divide", "float64", apply("negative", "float64", x), y))
    negative(divide(x, y))
    """
    known: dict[Scalar, Scalar] = {}
    for term in parts([root]):
        args = [known[a] for a in term.args]
        rewrites = term.args and is_float(term.args[-1].dtype) and term.op in _LAWS
        known[term] = (
            _LAWS[term.op](term, *args) if rewrites else Scalar(term.op, term.dtype, tuple(args), term.value, term.name)
        )
    return known[root]


def _negative(x: Scalar) -> Scalar:
    if x.op == NUMBER:
        return number(-x.value, x.dtype)
    return x.args[0] if x.op == "negative" else apply("negative", x.dtype, x)


def _size(x: Scalar) -> tuple[bool, Scalar]:
    """Whether a sign was taken from an operand, and what is left."""
    if x.op == NUMBER and x.value < 0:
        return True, number(-x.value, x.dtype)
    return (True, x.args[0]) if x.op == "negative" else (False, x)


def _scaled(term: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """A product or a quotient: its sign is the product of the signs."""
    (turned, x), (other, y) = _size(x), _size(y)
    found = x if _is_one(y) else y if _is_one(x) and term.op == "multiply" else _ordered(term, x, y)
    return _negative(found) if turned != other else found


def _is_one(x: Scalar) -> bool:
    return x.op == NUMBER and bool(x.value == 1)


def _ordered(term: Scalar, x: Scalar, y: Scalar) -> Scalar:
    if term.op in ("add", "multiply", "equal", "not_equal") and y.digest < x.digest:
        x, y = y, x
    return Scalar(term.op, term.dtype, (x, y))


def _sum(term: Scalar, x: Scalar, y: Scalar) -> Scalar:
    return _ordered(apply("add", term.dtype, x, y), x, y)


def _square(term: Scalar, x: Scalar) -> Scalar:
    x = _size(x)[1]
    x = x.args[0] if x.op == "absolute" else x
    return apply("multiply", x.dtype, x, x)


def _absolute(term: Scalar, x: Scalar) -> Scalar:
    x = _size(x)[1]
    return x if x.op == "absolute" else apply("absolute", x.dtype, x)


_WHOLE = ("floor", "ceil", "round", "trunc")


def _rounded(term: Scalar, x: Scalar) -> Scalar:
    """What is whole is left as it is."""
    return x if x.op in _WHOLE else apply(term.op, term.dtype, x)


_LAWS: Mapping[str, Maker] = {
    **dict.fromkeys(_WHOLE, _rounded),
    "negative": lambda t, x: _negative(x),
    "absolute": _absolute,
    "square": _square,
    "reciprocal": lambda t, x: _scaled(apply("divide", t.dtype, x, x), number(1, t.dtype), x),
    "multiply": _scaled,
    "divide": _scaled,
    "add": _sum,
    "subtract": lambda t, x, y: _sum(t, x, _negative(y)),
    "equal": _ordered,
    "not_equal": _ordered,
    "greater": lambda t, x, y: apply("less", t.dtype, y, x),
    "greater_equal": lambda t, x, y: apply("less_equal", t.dtype, y, x),
}
