# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for instances of rules: terms with known lengths, and arrays for their leaves."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from ngraph_rewrite.rewriting.domains import COMMON_FIRST, Domain
from ngraph_rewrite.rewriting.instances import Choices, Instance, TrialBank, first_match
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.op import Op, Uid, topological
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import DType

# How values are drawn: moderate ones, ones at the edges of the dtype, and positive ones below 1.
PLAIN, WILD, UNIT = "plain", "wild", "unit"


class Example(NamedTuple):
    """An instance of a rule, the bank it lives in, and a value for each leaf and each random draw."""

    instance: Instance
    bank: TrialBank
    values: dict[Op | Uid, Array]


@st.composite
def domains(draw: st.DrawFn, dtypes: tuple[DType, ...] = COMMON_FIRST) -> Domain:
    """Domains of known lengths from 0 to 3, one dtype put before the others."""
    lengths = draw(st.lists(st.sampled_from((2, 3, 1, 0)), min_size=7, max_size=7))
    first = draw(st.sampled_from(dtypes))
    axes = tuple(Axis(name, n) for name, n in zip("HWNC", lengths[3:], strict=True))
    return Domain((lengths[0], lengths[1], lengths[2]), axes, (first, *(d for d in dtypes if d != first)))


@st.composite
def instances_of(draw: st.DrawFn, rule: Rule, dtypes: tuple[DType, ...] = COMMON_FIRST, kind: str | None = None) -> Example:
    """Well-typed instances of a rule's left side for which its guard holds, with values.

    Lengths and ranks go from 0 to 3, dtypes over all that `dtypes` allows, attributes over their edges.
    Values are moderate, or come from the edges of the dtype: NaN, infinities, signed zeros, subnormals,
    large and small ones, integer limits.

    Args:
        kind: How values are drawn; by default moderate and extreme ones in turn.
    """
    bank = TrialBank()
    found = first_match(rule, draw(domains(dtypes)), _drawn(draw), bank, 100)
    assume(found is not None)
    assert found is not None
    kind = kind or draw(st.sampled_from((PLAIN, WILD)))
    values: dict[Op | Uid, Array] = {}
    for term in topological([found.term]):
        if term.definition.meaning is None and not term.args:
            key = term.attribute("uid") if "draw" in term.definition.traits else term
            values[key] = draw(arrays(term.dtype, tuple(int(n) for n in term.shape), kind))  # type: ignore[arg-type]
    return Example(found, bank, values)


def _drawn(draw: st.DrawFn) -> Choices:
    """Where each search begins: drawn when it is first asked for, the same when it is asked for again."""
    offsets: dict[str, int] = {}

    def offset(site: str, count: int) -> int:
        if site not in offsets:
            offsets[site] = draw(st.integers(0, 255))
        return offsets[site] % count

    return offset


@st.composite
def arrays(draw: st.DrawFn, dtype: DType, shape: tuple[int, ...], kind: str) -> Array:
    """Arrays of a dtype and shape whose elements come from a table of 256 values, plain ones first."""
    size = int(np.prod(shape))
    places = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8)
    return values_of(dtype, kind)[places].reshape(shape)


@cache
def values_of(dtype: DType, kind: str) -> Array:
    """The 256 values that arrays of this dtype and kind are made of."""
    random = np.random.default_rng(0)
    if dtype.kind == "b":
        return np.arange(256) % 2 == 1
    if kind == UNIT:
        return random.permutation(np.linspace(0.1, 0.9, 256)).astype(dtype)
    special = _special_integers(dtype) if dtype.kind in "iu" else _special_floats(dtype)
    if dtype.kind in "iu":
        plain = np.concatenate([np.arange(8), random.integers(0 if dtype.kind == "u" else -9, 10, 248)]).astype(dtype)
    else:
        plain = np.concatenate([[1, 2, 0.5, 3, 0, -1, -2], random.normal(0, 2, 249)]).astype(dtype)
    if kind == WILD:
        plain[1::2] = np.resize(special, 128)
    plain.setflags(write=False)
    return plain


def _special_integers(dtype: DType) -> Array:
    limits = np.iinfo(dtype)
    values: list[Any] = [limits.max, limits.min, limits.max - 1, limits.min + 1, limits.max // 2 + 1, 0, 1]
    return np.array(values, dtype)


def _special_floats(dtype: DType) -> Array:
    limits = np.finfo(dtype)
    large, small = float(limits.max) ** 0.5, float(limits.tiny) ** 0.5
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, limits.max, limits.min, limits.tiny, -limits.tiny]
    values += [limits.smallest_subnormal, -limits.smallest_subnormal, limits.eps, 1 + limits.eps, 1 - limits.epsneg]
    values += [large, -large, small, -small, large * 1.5, small / 1.5, float(limits.tiny) / 3, 10.0, -10.0, 100.0, 1e4]
    return np.array(values, dtype)
