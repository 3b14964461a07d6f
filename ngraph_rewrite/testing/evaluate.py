# SPDX-License-Identifier: Apache-2.0
"""Terms evaluated by their meanings, with every intermediate value at hand and open to change.

Beside the plain evaluation there are two that say how far it can be trusted: one in which whatever is not
finite becomes NaN and spreads, and one in which every rounded result is moved by as much as rounding may
have moved it (Monte Carlo arithmetic; Parker, *Monte Carlo Arithmetic*, 1997).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.targets.evaluation import meant
from ngraph_rewrite.terms.binders import Body, evaluated
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.exactness import is_exact, is_exact_sum
from ngraph_rewrite.testing.overflow import adds, has_parts, magnitude, overflows
from ngraph_rewrite.types.dtypes import DType, finfo, is_float
from ngraph_rewrite.types.tuples import TupleType, tensors

Array = NDArray[Any]
# The values of leaves by term, and of random draws by the identity they carry.
Values = Mapping["Op | Uid", Array]
# From a term, its value and those of its arguments to what is used instead.
Change = Callable[[Op, Array, list[Array]], Array]

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


# What a float that does not fit an integer becomes where nothing may depend on it.
UNFIT = 85


class Undefined(Exception):
    """The meaning of a term is not defined for these values."""


class Unknown(Exception):
    """Nothing is known of what a term means."""


def evaluate(
    root: Op, values: Values, change: Change | None = None, strict: bool = True, known: Mapping[Op, Any] | None = None
) -> dict[Op, Array]:
    """The value of every term under `root`, in row-major layout.

    Args:
        values: The value of each leaf that has no meaning, and of each random draw by its ``uid``.
        change: What becomes of each value before it is used.
        strict: Whether a cast of what does not fit is an error, or gives a number that no processor gives.
        known: Values of terms that are not evaluated again; what stands below them has none.

    Raises:
        Undefined: where the ops leave the value open: a float cast to an integer it does not fit,
            a negative power of an integer, the bits of a NaN that was computed.
        ArgumentError: if a leaf has no value.
    """

    def value(term: Op, args: list[Array], body: Body | None) -> Any:
        if known is not None and term in known:
            return known[term]
        own = _value(term, args, values, body)
        if term.definition.short == "bitcast":
            _check_bits(args[0], term, strict)
        elif args and "dtype" in term.definition.attributes:  # a cast, or what casts before it sums
            own = _cast(args[0], own, term, strict)
        if isinstance(term.type, TupleType):
            return own
        array = np.ascontiguousarray(own).reshape(_shape(term))
        return array if change is None else change(term, array, list(_arrays(args)))

    return evaluated([root], value, {k: v for k, v in values.items() if isinstance(k, Uid)}, known)


def varied(root: Op, values: Values, leaf: Op) -> Callable[[Array], Array]:
    """The value of a term as a function of that of a leaf: what does not depend on it is evaluated once, at first."""
    fixed: dict[Op, Array] | None = None

    def at(array: Array) -> Array:
        nonlocal fixed
        if fixed is None:
            fixed = _without(root, values, leaf)
        return evaluate(root, {**values, leaf: array}, known=fixed)[root]

    return at


def _without(root: Op, values: Values, leaf: Op) -> dict[Op, Array]:
    """The values of the terms under `root` that do not depend on a leaf."""
    known, moved = evaluate(root, values), {leaf}
    for term in topological([root]):
        if any(arg in moved for arg in term.args):
            moved.add(term)
    return {term: found for term, found in known.items() if term not in moved}


def _arrays(values: Iterable[Any]) -> Iterator[Array]:
    """Values with tuples taken apart."""
    for value in values:
        if isinstance(value, tuple):
            yield from _arrays(value)
        else:
            yield value


def _shape(term: Op) -> tuple[int, ...]:
    return tuple(int(n) for n in term.shape)  # type: ignore[arg-type]


def _value(term: Op, args: list[Array], values: Values, body: Body | None) -> Any:
    if term in values:
        return values[term]
    if "draw" in term.definition.traits:
        return values[term.attribute("uid")]
    if term.definition.name == "core.assign" or _reads_what_was_written(term):
        return args[1]
    if term.definition.meaning is None:
        raise ArgumentError(f"{describe(term)} has no value here", do="give it one in values")
    try:
        return meant(term, args, body)
    except ValueError as error:
        if term.definition.short == "power":
            raise Undefined(str(error)) from error
        raise


def _reads_what_was_written(term: Op) -> bool:
    """Whether it is a variable after a write of it."""
    if term.definition.name != "core.after" or len(term.args) != 2:
        return False
    variable, write = term.args
    return write.definition.name == "core.assign" and write.args[0] is variable


def _cast(value: Array, found: Array, term: Op, strict: bool) -> Array:
    """What a cast gives; processors differ in what becomes of a float that does not fit an integer."""
    if not is_float(value.dtype) or term.dtype.kind not in "iu":
        return found
    limits = np.iinfo(term.dtype)
    with np.errstate(all="ignore"):
        inside = (np.trunc(value) >= float(limits.min)) & (np.trunc(value) < float(limits.max) + 1)
    if inside.all():
        return found
    if strict:
        raise Undefined(f"a value does not fit {term.dtype}")
    return np.where(inside, found, found.dtype.type(UNFIT)) if term.definition.short == "cast" else found


def _check_bits(value: Array, term: Op, strict: bool) -> None:
    """Processors differ in the bits of a NaN that they compute, and one of 16 bits may turn quiet."""
    (x,) = term.args
    given = not x.args or (x.definition.short == "bitcast" and x.dtype.itemsize > 2)
    with np.errstate(invalid="ignore"):
        if strict and not given and is_float(value.dtype) and np.isnan(value).any():
            raise Undefined("the bits of a NaN are read")


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
    return np.asarray(meant(term, [moved, *args[1:]], None)).reshape(_shape(term))


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
