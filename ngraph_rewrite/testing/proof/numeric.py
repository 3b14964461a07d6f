# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions evaluated with NumPy, for many values of their symbols at once: what refutes, and confirms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, reduce
from typing import Any

import numpy as np

from ngraph_rewrite.ops import functions, rejection
from ngraph_rewrite.ops.elementwise import BINARY, CLASSIFYING, COMPARISONS, LOGIC, ROUNDING, UNARY
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.proof.symbols import NUMBER, SYMBOL, Scalar, parts
from ngraph_rewrite.types.dtypes import FLOAT64, DType, finfo, is_float

# The values of symbols, all of one shape; and those of expressions.
Point = Mapping[Scalar, Array]
Values = dict[Scalar, Array]

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{row.name: row.function for row in (*UNARY, *CLASSIFYING, *BINARY, *LOGIC, *COMPARISONS)},
    **{name: function for name, (function, _) in ROUNDING.items()},
    **{name: getattr(np, name) for name in "log2 log10 sinh cosh trunc signbit hypot copysign nextafter".split()},
    **{name: getattr(np, name) for name in "logaddexp left_shift right_shift".split()},
    **{f"a{name}": getattr(np, f"arc{name}") for name in "sin cos tan sinh cosh tanh".split()},
    **{f"bitwise_{name}": getattr(np, f"bitwise_{name}") for name in "and or xor".split()},
    **{name: getattr(rejection, name) for name in rejection.DRAWS},
    "bitwise_invert": np.invert,
    "cbrt": functions.cbrt,
    "atan2": np.arctan2,
    "select": np.where,
}
_ROUNDING = (*ROUNDING, "trunc")
_OTHERS = (NUMBER, SYMBOL, "cast", "bitcast")
# Reductions: the function, and the value of nothing.
REDUCTIONS: Mapping[str, tuple[Callable[..., Any], Any]] = {
    "sum": (np.add, 0),
    "dot": (np.add, 0),
    "prod": (np.multiply, 1),
    "any": (np.logical_or, False),
    "all": (np.logical_and, True),
    "max": (np.maximum, -np.inf),
    "min": (np.minimum, np.inf),
}


def known(roots: Sequence[Scalar]) -> bool:
    """Whether NumPy can evaluate these expressions."""
    return all(t.op in FUNCTIONS or t.op in REDUCTIONS or t.op in _OTHERS for t in parts(roots))


def symbols_of(roots: Sequence[Scalar]) -> list[Scalar]:
    """The symbols in expressions, in the order in which they are met."""
    return [t for t in parts(roots) if t.op == SYMBOL]


def evaluate(root: Scalar, at: Point, wide: Any = None) -> tuple[Array, Array, Array]:
    """The value of an expression, where it is defined, and where all that is computed for it is finite.

    It is not where a float is cast to an integer that it does not fit, and where the bits of a NaN are read.

    Args:
        wide: A float dtype to compute in instead of each float dtype, for values over the reals.
    """
    values: Values = {}
    shape = np.shape(next(iter(at.values()))) if at else ()
    defined, finite = np.ones(shape, bool), np.ones(shape, bool)
    with np.errstate(all="ignore"):
        for term in parts([root]):
            value = _value(term, values, at, wide)
            if term.op == "cast":
                defined &= fits(values[term.args[0]], term.dtype)
            if term.op == "bitcast" and is_float(term.args[0].dtype):
                defined &= ~np.isnan(values[term.args[0]])
            if is_float(value.dtype):
                finite &= np.isfinite(value)
            values[term] = value
    return np.broadcast_to(values[root], shape), defined, finite


def _value(term: Scalar, values: Values, at: Point, wide: Any) -> Array:
    dtype = np.dtype(wide) if wide is not None and is_float(term.dtype) else term.dtype
    if term.op == NUMBER:
        return np.asarray(term.value, dtype)
    if term.op == SYMBOL:
        return np.asarray(at[term]).astype(dtype, copy=False)
    args = [values[a] for a in term.args]
    if term.op == "cast":
        return args[0].astype(dtype)
    if term.op == "bitcast":
        return args[0].astype(term.args[0].dtype).view(term.dtype).astype(dtype)
    if term.op in REDUCTIONS:
        if not args:
            return nothing(term.op, dtype)
        return np.asarray(reduce(REDUCTIONS[term.op][0], [a.astype(dtype) for a in args]))
    if term.op in _ROUNDING and not is_float(dtype):
        return args[0]
    return np.asarray(FUNCTIONS[term.op](*args)).astype(dtype, copy=False)


def nothing(reduction: str, dtype: DType) -> Array:
    """The value of a reduction of nothing; the least or greatest number for max and min."""
    value = REDUCTIONS[reduction][1]
    if value in (np.inf, -np.inf) and not is_float(dtype):
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        value = high if value > 0 else low
    return np.asarray(value, dtype)


def fits(value: Array, dtype: DType) -> Array:
    """Where a cast to `dtype` is defined."""
    if not is_float(value.dtype) or dtype.kind not in "iu":
        return np.ones(value.shape, bool)
    limits = np.iinfo(dtype)
    return np.asarray((np.trunc(value) >= float(limits.min)) & (np.trunc(value) < float(limits.max) + 1))


# -- which values to look at --------------------------------------------------------------------------


def every(symbols: Sequence[Scalar], most: int) -> Point | None:
    """All values that the symbols can have, if these are no more than `most`."""
    sizes = [2 if s.dtype.kind == "b" else 256**s.dtype.itemsize for s in symbols]
    if math.prod(sizes) > most:
        return None
    grid = np.meshgrid(*(all_values(s.dtype) for s in symbols), indexing="ij")
    return {s: g.ravel() for s, g in zip(symbols, grid, strict=True)}


@cache
def all_values(dtype: DType) -> Array:
    """Every value of a dtype of at most 16 bits."""
    if dtype.kind == "b":
        return np.array([False, True])
    values = np.arange(256**dtype.itemsize, dtype=f"u{dtype.itemsize}").view(dtype)
    if is_float(dtype):  # there is one NaN, and it is quiet
        with np.errstate(invalid="ignore"):
            values[np.isnan(values)] = np.nan
    return values


def special(symbols: Sequence[Scalar], count: int = 400) -> Point:
    """Values at the edges of the dtypes, in many combinations, and random ones."""
    random = np.random.default_rng(len(symbols))
    tables = [edges(s.dtype) for s in symbols]
    found = {s: t[random.integers(0, len(t), count)] for s, t in zip(symbols, tables, strict=True)}
    for row, one in enumerate(itertools.islice(itertools.product(*(t[:7] for t in tables)), count // 2)):
        for s, value in zip(symbols, one, strict=True):
            found[s][row] = value
    return found


@cache
def edges(dtype: DType) -> Array:
    """The values of a dtype at which laws fail, first those at which most fail."""
    if dtype.kind == "b":
        return np.array([False, True])
    random = np.random.default_rng(0)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        first = [0, 1, limits.min, limits.max, 2, 3 if dtype.kind == "u" else -1, limits.max // 2 + 1]
        others = [limits.max - 1, limits.min + 1, 7, 8, dtype.itemsize * 8, 100, 10, 5, 127]
        drawn = random.integers(limits.min, limits.max, 16, dtype, endpoint=True)
        return np.concatenate([np.array(first + others, dtype), drawn])
    info = finfo(dtype)
    floats: list[Any] = [0.0, -0.0, np.nan, 1.0, np.inf, -np.inf, -1.5]
    floats += [2.5, 0.5, -1, 3, info.max, info.min, info.tiny, -info.smallest_subnormal, info.smallest_subnormal]
    floats += [1 + info.eps, 1 - info.epsneg, float(info.max) ** 0.5, float(info.tiny) ** 0.5, 0.1, -10.0, 4.0]
    with np.errstate(over="ignore"):
        return np.concatenate([np.array(floats, dtype), random.normal(0, 3, 16).astype(dtype)])


def moderate(symbols: Sequence[Scalar], count: int = 64) -> Point:
    """Values of either sign and of moderate size, for laws over the reals: small numbers, and random ones."""
    random = np.random.default_rng(count)
    found = {}
    for s in symbols:
        if s.dtype.kind == "b":
            found[s] = random.integers(0, 2, count) == 1
            continue
        few = random.integers(0 if s.dtype.kind == "u" else -4, 5, count)
        drawn = random.uniform(-3, 3, count)
        drawn[: count // 4] = np.abs(drawn[: count // 4])
        if s.dtype.kind in "iu":
            found[s] = few.astype(s.dtype)
        else:
            found[s] = np.where(np.arange(count) % 4 == 3, few / 2, drawn).astype(FLOAT64)
    return found
