# SPDX-License-Identifier: Apache-2.0
"""Arrays worth trying: small numbers, and what stands at the edges of a dtype."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.given import check_terms
from ngraph_rewrite.types.dtypes import DType, finfo, is_float
from ngraph_rewrite.types.lengths import known
from ngraph_rewrite.types.tensor import TensorType

# How values are drawn: moderate ones, ones at the edges of the dtype, ones far from one another, and a few small whole
# numbers, most of them 0, with an infinity here and there.
PLAIN, WILD, DISTINCT, FEW = KINDS = ("plain", "wild", "distinct", "few")
# The part of arrays that have one or two values only: there are ties, and what is large is not alone.
_FEW = 0.25


def lengths(term: Op) -> tuple[int, ...]:
    """The shape of a term whose lengths are known."""
    return tuple(int(n) for n in term.shape)  # type: ignore[arg-type]


def valued_leaves(term: Op) -> dict[Op | Uid, Op]:
    """What under a term must be given a value: leaves, by themselves, and random draws and parameters, by their uid."""
    return {
        t.attribute("uid") if t.definition.traits & {"draw", "parameter"} else t: t
        for t in topological([term])
        if t.definition.meaning is None and not t.args
    }


# -- drawn from a generator -------------------------------------------------------------------------


def random_values(random: Random, leaves: Mapping[Op | Uid, Op], kind: str) -> dict[Op | Uid, Array]:
    """Values of a kind for leaves with known lengths."""
    if kind == DISTINCT:
        return distinct(random, leaves)
    return {k: random_array(random, t.dtype, lengths(t), kind) for k, t in leaves.items()}


def random_array(random: Random, dtype: DType, shape: tuple[int, ...], kind: str) -> Array:
    """An array whose elements come from the table of a dtype and a kind; now and then from two edges in it."""
    table = values_of(dtype, kind)
    count = int(np.prod(shape))
    places = [random.randrange(len(table)) for _ in range(count)]
    if random.random() < _FEW:
        some = random.choice((_large_places(dtype, kind), range(0, len(table), 2)))
        few = [random.choice(some) for _ in range(random.choice((1, 2)))]
        places = [random.choice(few) for _ in range(count)]
    return np.asarray(table[places]).reshape(shape)


@cache
def _large_places(dtype: DType, kind: str) -> Sequence[int]:
    """Where the largest numbers stand in a table, of which two overflow."""
    table = values_of(dtype, kind)
    if dtype.kind == "b":
        return range(len(table))
    size = np.abs(table.astype(np.float64))
    largest = float(size[np.isfinite(size)].max())
    return [int(i) for i in np.flatnonzero(np.isfinite(size) & (size > 0.6 * largest))]


def distinct(random: Random, leaves: Mapping[Op | Uid, Op]) -> dict[Op | Uid, Array]:
    """Values for leaves of sizes from 0.1 to 0.9, no two of one size; all positive, or of either sign."""
    signs = random.choice(((1,), (1, -1)))
    count = max(300, sum(int(np.prod(lengths(t))) for t in leaves.values()))
    numbers = [size * random.choice(signs) for size in np.linspace(0.1, 0.9, count)]
    random.shuffle(numbers)
    values = {}
    for key, term in leaves.items():
        own, numbers = np.array(numbers[: int(np.prod(lengths(term)))]), numbers[int(np.prod(lengths(term))) :]
        if term.dtype.kind in "iu":  # indices: some inside of axes, some outside, some twice
            own = np.abs(own * 4) if term.dtype.kind == "u" else own * 4
        values[key] = (own > 0.5 if term.dtype.kind == "b" else own).astype(term.dtype).reshape(lengths(term))
    return values


# -- drawn by Hypothesis ----------------------------------------------------------------------------


def arrays(type_: TensorType, kind: str = WILD) -> st.SearchStrategy[Array]:
    """Arrays of a type, that shrink to zeros.

    Args:
        type_: Its lengths are known.
        kind: `WILD`: small numbers, and what stands at the edges of the dtype: NaN, infinities, signed zeros,
            subnormals, integer limits, very large and very small ones. `PLAIN`: small numbers alone. `DISTINCT`: no two
            elements of one size, all from 0.1 to 0.9 or its negative. `FEW`: 0, 1, 2, -1, -0.5 and -inf alone.

    Raises:
        ArgumentError: for another kind.
        LengthError: if a length is not known.

    >>> from hypothesis import find, settings
    >>> same = settings(max_examples=100, database=None, derandomize=True)
    >>> find(arrays(TensorType("float32", {"H": 2})), lambda a: bool(a.sum() < 0), settings=same)
    array([ 0., -1.], dtype=float32)
    """
    if kind not in KINDS:
        raise ArgumentError(f"no values are called {kind!r}", do=f"choose among {', '.join(KINDS)}")
    shape = tuple(known(n) for n in type_.shape)
    count = int(np.prod(shape))
    if kind == DISTINCT and type_.dtype.kind != "b":
        return st.permutations(range(count)).map(lambda order: _apart(order, type_.dtype).reshape(shape))
    elements = st.one_of([st.sampled_from(table) for table in _tables(type_.dtype, kind)])
    drawn = max(1, count)  # an empty array is no simpler than one of an element
    numbers = st.lists(elements, min_size=drawn, max_size=drawn)
    return numbers.map(lambda chosen: np.array(chosen[:count], type_.dtype).reshape(shape))


def _apart(order: list[int], dtype: DType) -> Array:
    sizes = 0.1 + 0.8 * (np.array(order) + 0.5) / max(1, len(order))
    return np.asarray(sizes * 4 if dtype.kind in "iu" else sizes).astype(dtype)


@st.composite
def leaf_values(draw: st.DrawFn, term: Op, kind: str = WILD) -> dict[Op | Uid, Array]:
    """A value for each leaf under a term, and for each random draw by its uid; all lengths are known."""
    check_terms("leaf_values", [term])
    return {key: draw(arrays(leaf.type, kind)) for key, leaf in valued_leaves(term).items()}


# -- what they are made of --------------------------------------------------------------------------


@cache
def _tables(dtype: DType, kind: str) -> list[list[Any]]:
    """Small whole numbers, fractions, what is not finite, and the edges, each from the simplest on."""
    if dtype.kind == "b":
        return [[False, True]]
    if kind == FEW:
        return [list(dict.fromkeys(_few_values(dtype).tolist()))]
    tables = [np.array([0, 1, 2, 3, 5, 9] if dtype.kind == "u" else [0, 1, -1, 2, -2, 3, -3, 5, 9])]
    if is_float(dtype):
        tables.append(np.array([0.5, -0.5, 1.5, 0.1, -0.3]))
    if kind == WILD and is_float(dtype):
        tables.append(np.array([-0.0, np.inf, -np.inf, np.nan]))
    if kind == WILD:
        tables.append(_special_integers(dtype) if dtype.kind in "iu" else _special_floats(dtype))
    return [list({v.tobytes(): v for v in table.astype(dtype)}.values()) for table in tables]


@cache
def values_of(dtype: DType, kind: str) -> Array:
    """The 256 values that arrays of this dtype and kind are made of."""
    random = np.random.default_rng(0)
    if dtype.kind == "b":
        return np.asarray(np.arange(256) % 2 == 1)
    if kind == FEW:
        return _few_values(dtype)
    few = np.array([0, 1, 2, 3, 1, 2, 0, 1] if dtype.kind == "u" else [0, 1, 2, 3, -1, -2, 0, 1])
    if dtype.kind in "iu":
        plain = np.concatenate([np.resize(few, 128), random.integers(0 if dtype.kind == "u" else -9, 10, 128)])
    else:
        plain = np.concatenate([np.resize(few, 64) / 2, np.resize(few, 64), random.normal(0, 2, 128)])
    table = plain.astype(dtype)
    if kind == WILD:
        table[::2] = np.resize(_special_integers(dtype) if dtype.kind in "iu" else _special_floats(dtype), 128)
    table.setflags(write=False)
    return table


def _few_values(dtype: DType) -> Array:
    """Numbers that are soon equal, or add up to 0; one in twelve is infinite."""
    few: list[float] = [0, 1, 0, 2, 1, 3, 0, 1, 2, 0] if dtype.kind == "u" else [0, 1, 0, -1, 1, 2, 0, 1, -1, 0]
    if is_float(dtype):
        few = [*few, -0.5, -np.inf]
    table = np.resize(np.array(few, np.float64), 256).astype(dtype)
    table.setflags(write=False)
    return table


def _special_integers(dtype: DType) -> Array:
    """The limits, a number whose square wraps, and numbers that a float cannot hold; the last may be rounded twice."""
    limits = np.iinfo(dtype)
    often = [limits.max, limits.min, limits.max - 1, limits.min + 1, limits.max // 2 + 1, 0, 1]
    wrapping = int(1.125 * math.isqrt(limits.max)) + 1
    odd = [n for n in (2**24 + 1, 2**53 + 1, 2**54 + 2**30 + 1) if n < limits.max]
    return np.array([*often, *often, wrapping, *odd], dtype)


def _special_floats(dtype: DType) -> Array:
    """The frequent ones first, and once more between the others."""
    limits = finfo(dtype)
    large, small = float(limits.max) ** 0.5, float(limits.tiny) ** 0.5
    often = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    edges = [limits.max, limits.min, limits.tiny, -limits.tiny, float(limits.tiny) / 3]
    edges += [limits.smallest_subnormal, -limits.smallest_subnormal, limits.eps, 1 + limits.eps, 1 - limits.epsneg]
    middle = [large, -large, small, -small, large * 1.5, small / 1.5, 10.0, -10.0, 100.0, 1e4]
    middle += [2.0**n for n in (24, 31, 53, 63) if n < limits.maxexp]
    middle += [1 + 2.0**-11 + 2.0**-30, 1 + 2.0**-24 + 2.0**-50]  # rounded twice, they are rounded the wrong way
    middle += [0.75 * float(limits.max), -0.75 * float(limits.max)]  # two of them overflow, one does not
    far = float(np.log(limits.max))  # where exp ends
    middle += [0.98 * far, -0.98 * far, 1.02 * far, -1.02 * far]
    return np.array([*often, *edges, *often, *middle], dtype)
