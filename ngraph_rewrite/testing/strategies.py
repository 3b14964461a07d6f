# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for instances of rules: terms with known lengths, and arrays for their leaves.

An example is made of one drawn seed. Hypothesis repeats and simplifies what it draws, which suits parsers;
here it would draw empty arrays of ones, so what is to be uniform is taken from a generator with that seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from random import Random
from typing import NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ngraph_rewrite.rewriting.domain import COMMON_FIRST, Domain
from ngraph_rewrite.rewriting.instances import Choices, Instance, TrialBank, first_match
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, topological
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import DType, is_float

# How values are drawn: moderate ones, ones at the edges of the dtype, and ones far from one another.
PLAIN, WILD, DISTINCT = "plain", "wild", "distinct"
# Bits: for an integer Hypothesis would also try the numbers in modules around, and keep them in a folder .hypothesis.
_SEED = st.tuples(*[st.booleans()] * 32)


class Example(NamedTuple):
    """An instance of a rule, the bank it lives in, and some choices of a value for each leaf and each random draw."""

    instance: Instance
    bank: TrialBank
    choices: list[dict[Op | Uid, Array]]


def random_domain(random: Random, dtypes: tuple[DType, ...] = COMMON_FIRST) -> Domain:
    """A domain of known lengths from 0 to 3, mostly above 1, with one dtype put before the others."""
    lengths = random.choices((2, 3, 1, 0), (6, 6, 3, 1), k=7)
    floats = [d for d in dtypes if is_float(d)]
    first = random.choice(random.choice((dtypes, floats)))
    axes = tuple(Axis(name, n) for name, n in zip("HWNC", lengths[3:], strict=True))
    return Domain((lengths[0], lengths[1], lengths[2]), axes, (first, *(d for d in dtypes if d != first)))


@st.composite
def instances_of(
    draw: st.DrawFn,
    rule: Rule,
    dtypes: tuple[DType, ...] = COMMON_FIRST,
    kinds: Sequence[str] = (PLAIN, WILD, WILD, WILD),
) -> Example:
    """Well-typed instances of a rule's left side for which its guard holds, with values.

    Lengths and ranks go from 0 to 3, dtypes over all that `dtypes` allows, attributes over their edges.
    Values are moderate, or come from the edges of the dtype: NaN, infinities, signed zeros, subnormals,
    large and small ones, integer limits.

    Args:
        kinds: How values are drawn, for each choice of values.
    """
    random, bank = Random("".join("01"[b] for b in draw(_SEED))), TrialBank()
    found = first_match(rule, random_domain(random, dtypes), begin(random), bank, 100)
    assume(found is not None)
    assert found is not None
    leaves = {
        t.attribute("uid") if t.definition.traits & {"draw", "parameter"} else t: t
        for t in topological([found.term])
        if t.definition.meaning is None and not t.args
    }
    return Example(found, bank, [_values(random, leaves, kind) for kind in kinds])


def _values(random: Random, leaves: Mapping[Op | Uid, Op], kind: str) -> dict[Op | Uid, Array]:
    if kind == DISTINCT:
        return distinct(random, leaves)
    return {k: random_array(random, t.dtype, lengths(t), kind) for k, t in leaves.items()}


def lengths(term: Op) -> tuple[int, ...]:
    """The shape of a term whose lengths are known."""
    return tuple(int(n) for n in term.shape)  # type: ignore[arg-type]


def begin(random: Random) -> Choices:
    """Where each search begins: chosen when it is first asked for, the same when it is asked for again."""
    offsets: dict[str, int] = {}

    def offset(site: str, count: int) -> int:
        if site not in offsets:
            offsets[site] = random.getrandbits(32)
        return offsets[site] % count

    return offset


# -- values -----------------------------------------------------------------------------------------


def random_array(random: Random, dtype: DType, shape: tuple[int, ...], kind: str) -> Array:
    """An array whose elements come from the table of a dtype and a kind."""
    table = values_of(dtype, kind)
    places = [random.randrange(len(table)) for _ in range(int(np.prod(shape)))]
    return np.asarray(table[places]).reshape(shape)


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


@cache
def values_of(dtype: DType, kind: str) -> Array:
    """The 256 values that arrays of this dtype and kind are made of."""
    random = np.random.default_rng(0)
    if dtype.kind == "b":
        return np.asarray(np.arange(256) % 2 == 1)
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


def _special_integers(dtype: DType) -> Array:
    limits = np.iinfo(dtype)
    return np.array([limits.max, limits.min, limits.max - 1, limits.min + 1, limits.max // 2 + 1, 0, 1], dtype)


def _special_floats(dtype: DType) -> Array:
    """The frequent ones first, and once more between the others."""
    limits = np.finfo(dtype)
    large, small = float(limits.max) ** 0.5, float(limits.tiny) ** 0.5
    often = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    edges = [limits.max, limits.min, limits.tiny, -limits.tiny, float(limits.tiny) / 3]
    edges += [limits.smallest_subnormal, -limits.smallest_subnormal, limits.eps, 1 + limits.eps, 1 - limits.epsneg]
    middle = [large, -large, small, -small, large * 1.5, small / 1.5, 10.0, -10.0, 100.0, 1e4]
    return np.array([*often, *edges, *often, *middle], dtype)
