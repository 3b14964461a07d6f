# SPDX-License-Identifier: Apache-2.0
"""Changes of values that say how far an evaluation can be trusted, and what of it nobody may rely on.

In one whatever is not finite becomes NaN and spreads; in another every rounded result is moved by as much as rounding
may have moved it (Monte Carlo arithmetic; Parker, *Monte Carlo Arithmetic*, 1997).
"""

from __future__ import annotations

import zlib
from functools import lru_cache

import numpy as np

from ngraph_rewrite.targets.evaluation import meant
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.evaluate import Array, Change, shape_of
from ngraph_rewrite.testing.exactness import is_exact, is_exact_sum
from ngraph_rewrite.testing.overflow import adds, has_parts, magnitude, overflows
from ngraph_rewrite.types.dtypes import DType, finfo, is_float
from ngraph_rewrite.types.tuples import tensors

# Ops that pass values on, or compute them without rounding.
_EXACT = frozenset(
    "negative absolute sign maximum minimum max min floor ceil round select bitcast constant concat stack pad gather"
    " iota one_hot size tensor_size batch_size relu unslice assign after item".split()
)
# Functions that are nowhere zero, though their results may be.
_UNDERFLOWING = frozenset("exp exp2 sigmoid softplus power reciprocal softmax prod cumulative_prod".split())
# Ops that choose among elements: of zeros of both signs any one, as no meaning says which is the greater.
_CHOOSING = frozenset("maximum minimum max min relu cummax cummin".split())
# And those that do so or add up, as an attribute says.
_COMBINING = {"pooling": "kind", "scatter": "how", "put_along": "how"}
# Ops whose result tells no more of a matrix than of one beside it, however far apart what they make of both is.
_OF_MATRICES = frozenset({"pinv"})


def poisoned(term: Op, value: Array, args: list[Array]) -> Array:
    """A change: what is not finite becomes NaN, which spreads."""
    return np.where(np.isfinite(value), value, value.dtype.type(np.nan)) if is_float(value.dtype) else value


def overflown(term: Op, value: Array, args: list[Array]) -> Array:
    """A change: what is not finite although it is computed from finite values becomes NaN, which spreads."""
    made = _made(value, args)
    return np.where(made, value.dtype.type(np.nan), value) if made.any() else value


def settled(term: Op, value: Array, args: list[Array]) -> Array:
    """A change: a zero that a maximum or minimum chose is the positive one."""
    return value + value.dtype.type(0) if _chooses(term) and is_float(value.dtype) else value


def _chooses(term: Op) -> bool:
    short = term.definition.short
    return short in _CHOOSING or (short in _COMBINING and term.attribute(_COMBINING[short]) in ("max", "min"))


def refilled(seed: int, every: bool) -> Change:
    """A change: what is not finite becomes any number; unless `every`, only what is computed from finite values."""

    def change(term: Op, value: Array, args: list[Array]) -> Array:
        bad = ~np.isfinite(value) if every and is_float(value.dtype) else _made(value, args)
        if not bad.any():
            return value
        random = np.random.default_rng([seed, zlib.crc32(f"{describe(term, 8)}{term.shape}".encode())])
        return np.where(bad, random.choice((-1e3, -1, -0.1, 0.1, 1, 1e3), value.shape).astype(value.dtype), value)

    return change


def _made(value: Array, args: list[Array]) -> Array:
    """Where a value is not finite, and nothing that it is computed from is so."""
    if not is_float(value.dtype) or not args:
        return np.zeros(value.shape, bool)
    bad, given = ~np.isfinite(value), [~np.isfinite(a) for a in args if a is not None and is_float(a.dtype)]
    for one in given:
        if one.any():
            bad = bad & ~one if one.shape == value.shape else np.zeros(value.shape, bool)
    return bad


def shaken(seed: int) -> Change:
    """A change: each rounded result is moved, up or down, by the error its op may make."""

    def change(term: Op, value: Array, args: list[Array]) -> Array:
        ulps = _rounding(term)
        if not ulps or not is_float(value.dtype):
            return value
        value = _beside(seed, term, args) if term.definition.short in _OF_MATRICES and value.size else value
        steps = _steps(seed, f"{describe(term, 8)}{term.shape}", ulps, value.shape)
        size, parts = magnitude(term, value, args), has_parts(term)
        with np.errstate(all="ignore"):
            moved = value + np.spacing(size) * steps.astype(value.dtype)
        exact = (value == 0) & (size == 0) & (not _underflows(term, args)) | is_exact(term, value, args)
        exact |= is_exact_sum(term, value, size, args)
        moved = np.where(np.isfinite(value) & ~exact, moved, value)
        over = overflows(term, value, args) if parts else np.zeros(value.shape, bool)
        if over.any():
            moved = np.where(over, _anything(value, seed), moved).astype(value.dtype)
        return np.asarray(moved)

    return change


def _beside(seed: int, term: Op, args: list[Array]) -> Array:
    """What an op makes of a matrix that differs from the one it is given by what rounding its elements may do."""
    matrix, limits = args[0], finfo(term.dtype)
    with np.errstate(all="ignore"):
        size = np.abs(matrix).max(axis=(-2, -1), keepdims=True) * matrix.dtype.type(limits.eps)
        moved = matrix + np.random.default_rng(seed).uniform(-1, 1, matrix.shape).astype(matrix.dtype) * size
    return np.asarray(meant(term, [moved, *args[1:]])).reshape(shape_of(term))


@lru_cache(maxsize=64)
def _steps(seed: int, name: str, ulps: int, shape: tuple[int, ...]) -> Array:
    """By how many units in the last place the elements of a term are moved; the same for all of its values."""
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return np.asarray(random.integers(1, ulps + 2, shape) * random.choice((-1, 1), shape))


def _anything(value: Array, seed: int) -> Array:
    """What a sum may be whose parts overflow, or not: each kind of number in turn, from one seed to the next."""
    kinds = np.array([np.nan, np.inf, 0, float(finfo(value.dtype).max)])
    return kinds[(np.arange(value.size).reshape(value.shape) + seed) % len(kinds)]


def coarse(seed: int, dtype: DType) -> Change:
    """A change: each constant is moved by as much as rounding it to a float of 16 bits may have moved it."""
    limits = finfo(dtype)
    digits, parts = float(limits.eps), 2.0 ** (limits.nmant - 4)

    def change(term: Op, value: Array, args: list[Array]) -> Array:
        if term.definition.short != "constant" or not is_float(value.dtype):
            return value
        with np.errstate(all="ignore"):
            few = value * parts == np.round(value * parts)  # a number such as 2 or 0.5 is what it is
        random = np.random.default_rng([seed, zlib.crc32(repr(term.attrs[0]).encode())])
        return np.asarray(np.where(few, value, value * (1 + random.uniform(-0.5, 0.5) * digits)))

    return change


def _underflows(term: Op, args: list[Array]) -> bool:
    """Whether a result that is zero may stand for a number that is too small, and is not zero itself."""
    short = term.definition.short
    if short in _UNDERFLOWING:
        return True
    if short not in ("multiply", "divide", "square") and not (adds(term) and len(args) > 1):
        return False
    with np.errstate(all="ignore"):
        sizes = [np.abs(a[np.isfinite(a) & (a != 0)], dtype=np.float64) for a in args if a.dtype.kind != "b"]
        least = [s.min(initial=1) for s in sizes]
        if short == "divide" and len(sizes) == 2:
            least[1] = 1 / sizes[1].max(initial=1)
        return bool(np.prod(least) ** (2 if short == "square" else 1) < finfo(term.dtype).tiny)


def _rounding(term: Op) -> int:
    """How many units in the last place the op's result may be off."""
    definition = term.definition
    if not term.args or definition.short in _EXACT or definition.traits & {"view", "comparison"}:
        return 0
    if definition.short == "cast":
        return int(term.args[0].dtype != term.dtype)
    if "elementwise" in definition.traits:
        return 1 if definition.short in ("add", "subtract", "multiply", "divide", "sqrt", "square") else 2
    return 2 + max(int(n.size) for a in term.args for n in tensors(a.type))  # type: ignore[arg-type]
