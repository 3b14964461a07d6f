# SPDX-License-Identifier: Apache-2.0
"""NumPy's ufuncs applied to single expressions: worked out on numbers, written down on symbols.

Only what holds for every value, bit by bit, is simplified here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ngraph_rewrite.testing.proof.symbols import NUMBER, Scalar, apply, number
from ngraph_rewrite.types.dtypes import BOOL, DType, is_float

Function = Callable[..., Any]

# The names of the catalogue for ufuncs that NumPy calls otherwise.
_NAMES = {
    np.rint: "round", np.remainder: "mod", np.floor_divide: "floordivide", np.true_divide: "divide",
    np.invert: "bitwise_invert", np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan", np.arctan2: "atan2",
    np.arcsinh: "asinh", np.arccosh: "acosh", np.arctanh: "atanh",
}  # fmt: skip
# What arithmetic of truth values is.
_LOGIC = {
    "add": "logical_or", "multiply": "logical_and", "maximum": "logical_or", "minimum": "logical_and",
    "bitwise_or": "logical_or", "bitwise_and": "logical_and", "bitwise_xor": "logical_xor",
    "not_equal": "logical_xor", "bitwise_invert": "logical_not", "sum": "any", "prod": "all", "max": "any",
    "min": "all",
}  # fmt: skip
# The reductions, by the ufunc that is repeated.
REDUCTIONS = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_or: "any",
    np.logical_and: "all",
}  # fmt: skip
_IDEMPOTENT = frozenset({"max", "min", "any", "all"})


class Undecided(Exception):
    """A meaning asks for a value that is not known, of these expressions."""

    def __init__(self, says: str, on: Iterable[Scalar] = ()) -> None:
        super().__init__(says)
        self.on = tuple(on)


def name_of(ufunc: np.ufunc) -> str:
    """What the catalogue calls a ufunc."""
    return _NAMES.get(ufunc, ufunc.__name__)


@lru_cache(maxsize=4096)
def loop(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> tuple[DType, ...]:
    """The dtypes a ufunc computes in, the result's last; `int` and `float` stand for Python's weak numbers."""
    return ufunc.resolve_dtypes((*inputs, None))


def elementwise(op: str, function: Function, dtype: DType, *args: Scalar) -> Scalar:
    """`op` of expressions that have the dtypes it computes in; `function` works it out on numbers."""
    if args[0].dtype == BOOL and dtype == BOOL:
        op = _LOGIC.get(op, op)
    if all(a.op is NUMBER for a in args):
        with np.errstate(all="ignore"):
            return number(function(*[a.value for a in args]), dtype)
    if op in ("logical_and", "logical_or"):
        return _connected(op, args)
    return apply(op, dtype, *args)


def _connected(op: str, args: tuple[Scalar, ...]) -> Scalar:
    """A conjunction or disjunction, of which one side may be known."""
    for a, other in (args, args[::-1]):
        if a.op is NUMBER and other.dtype == BOOL and a.dtype == BOOL:
            return other if bool(a.value) == (op == "logical_and") else a
    return apply(op, BOOL, *args)


def cast(x: Scalar, dtype: DType) -> Scalar:
    """`x` in another dtype, as NumPy's ``astype`` makes it."""
    if x.dtype == dtype:
        return x
    if x.op is NUMBER:
        with np.errstate(all="ignore"):
            return number(x.value.astype(dtype), dtype)
    return apply("cast", dtype, x)


def bitcast(x: Scalar, dtype: DType) -> Scalar:
    """The bits of `x` read as another dtype, as NumPy's ``view`` does; those of a NaN are not told."""
    if x.op == "bitcast":
        x = x.args[0]
    if x.dtype == dtype:
        return x
    if x.op is NUMBER and x.value == x.value and (value := x.value.view(dtype)) == value:
        return number(value, dtype)
    return apply("bitcast", dtype, x)


def select(condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """`x` if the condition is true, else `y`."""
    if condition.op is NUMBER:
        return x if condition.value else y
    return x if x is y else apply("select", x.dtype, condition, x, y)


def pick(index: Scalar, items: Sequence[Scalar]) -> Scalar:
    """The item with this number, which is inside."""
    if index.op is NUMBER:
        return items[int(index.value)]
    return items[0] if all(i is items[0] for i in items) else apply("pick", items[0].dtype, index, *items)


def reduced(op: str, ufunc: np.ufunc, dtype: DType, items: Sequence[Scalar]) -> Scalar:
    """A reduction of expressions of one dtype, written down in their order."""
    if dtype == BOOL:
        op = _LOGIC.get(op, op)
    if not items:
        return number(ufunc.identity, dtype)
    if all(i.op is NUMBER for i in items):
        with np.errstate(all="ignore"):
            return number(ufunc.reduce(np.array([i.value for i in items], dtype), dtype=dtype), dtype)
    if op == "prod" and len(items) == 1:
        return items[0]
    if op not in _IDEMPOTENT:
        return apply(op, dtype, *items)
    items = [i for i in items if not (i.op is NUMBER and i is _neutral(op, dtype))]
    return items[0] if len(items) == 1 else apply(op, dtype, *items)


@lru_cache(maxsize=256)
def _neutral(op: str, dtype: DType) -> Scalar:
    """What changes no maximum, minimum, disjunction or conjunction."""
    if dtype == BOOL:
        return number(op == "all", BOOL)
    if is_float(dtype):
        return number(-np.inf if op == "max" else np.inf, dtype)
    limits = np.iinfo(dtype)
    return number(limits.min if op == "max" else limits.max, dtype)
