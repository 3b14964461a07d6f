# SPDX-License-Identifier: Apache-2.0
"""Expressions in a form in which those that are plainly equal are one: operands in order, sums and sets flat.

Over floats a class that allows rounding allows more; under ``exact`` only what changes no bit is done.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ngraph_rewrite.rewriting.rule import EXACT
from ngraph_rewrite.testing.proof.symbols import NUMBER, Scalar, apply, number, parts
from ngraph_rewrite.types.dtypes import BOOL, DType, can_cast, finfo, is_float

_COMMUTATIVE = frozenset(
    "add multiply maximum minimum logical_and logical_or logical_xor equal not_equal bitwise_and bitwise_or"
    " bitwise_xor hypot logaddexp".split()
)
# Ops of which repeating or regrouping operands changes nothing, and what such a set is called.
_SETS = {
    "max": "max", "maximum": "max", "min": "min", "minimum": "min", "any": "any", "logical_or": "any", "all": "all",
    "logical_and": "all",
}  # fmt: skip
# What depends only on which elements are less than others.
_ORDERS = frozenset({"argmax", "argmin", "argsort", "searchsorted"})
# What makes a whole number, or is what it is applied to.
_WHOLE = frozenset({"floor", "ceil", "round", "trunc"})
_SUMS = {"sum": "sum", "add": "sum", "dot": "sum", "prod": "prod", "multiply": "prod"}


class Normal:
    """The normal forms of a class; each is worked out once."""

    def __init__(self, grade: str) -> None:
        self._exact = grade == EXACT
        self._known: dict[Scalar, Scalar] = {}

    def __call__(self, root: Scalar) -> Scalar:
        """The normal form of an expression."""
        if root not in self._known:
            for part in parts([root]):
                if part not in self._known:
                    self._known[part] = self._form(part, tuple([self._known[a] for a in part.args]))
        return self._known[root]

    def _form(self, term: Scalar, args: tuple[Scalar, ...]) -> Scalar:
        if not args or term.op == "bitcast":  # the bits of a number are those of its dtype
            return term
        if term.op in _SETS:
            return _set(_SETS[term.op], term, args)
        rounds = is_float(term.dtype) and self._exact
        if term.op in _SUMS and not rounds and term.dtype != BOOL:
            return _sum(_SUMS[term.op], term, args)
        if term.op.partition(".")[0] in _ORDERS:
            args = _without_casts(args)
        if term.op in _WHOLE and args[0].op in _WHOLE:
            return args[0]
        if term.op == args[0].op == "cast" and _passes(args[0].args[0].dtype, args[0].dtype, term.dtype):
            args = args[0].args
            if args[0].dtype == term.dtype:
                return args[0]
        if term.op == "cast" and is_float(term.dtype) and is_float(args[0].dtype) and not self._exact:
            return args[0]
        if term.op in _COMMUTATIVE:
            args = _sorted(args)
        return term if args == term.args else Scalar(term.op, term.dtype, args)


def _sorted(args: Sequence[Scalar]) -> tuple[Scalar, ...]:
    return tuple(sorted(args, key=lambda a: a.digest))


def _without_casts(args: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """What is cast, where all args are casts from one dtype that keep every value."""
    if any(a.op != "cast" for a in args) or len({a.args[0].dtype for a in args}) != 1:
        return args
    return tuple([a.args[0] for a in args]) if _holds(args[0].dtype, args[0].args[0].dtype) else args


def _passes(first: DType, middle: DType, last: DType) -> bool:
    """Whether a cast through a dtype in the middle is the direct one: integers wrap, and floats do not fit."""
    alike = is_float(first) == is_float(middle) or is_float(last) or last.kind == "b"
    return alike and _holds(middle, first)


def _holds(wanted: DType, have: DType) -> bool:
    """Whether every value of a dtype is one of another, too."""
    if have.kind in "iu" and is_float(wanted):
        return int(np.iinfo(have).bits) <= int(finfo(wanted).nmant)
    return can_cast(have, wanted)


def _set(op: str, term: Scalar, args: tuple[Scalar, ...]) -> Scalar:
    flat = dict.fromkeys(b for a in args for b in (a.args if a.op == op else (a,)))
    return next(iter(flat)) if len(flat) == 1 else apply(op, term.dtype, *_sorted(list(flat)))


def _sum(op: str, term: Scalar, args: tuple[Scalar, ...]) -> Scalar:
    flat = [b for a in args for b in (a.args if a.op == op and a.dtype == term.dtype else (a,))]
    neutral = number(op == "prod", term.dtype)
    flat = [a for a in flat if not (a.op is NUMBER and (a is neutral or (op == "sum" and a.value == 0)))]
    if not flat:
        return neutral
    return flat[0] if len(flat) == 1 else apply(op, term.dtype, *_sorted(flat))
