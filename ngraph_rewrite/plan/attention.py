# SPDX-License-Identifier: Apache-2.0
"""Attention as one call: how its rows and keys are cut into blocks that stay in the cache."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from typing import Any

from ngraph_rewrite.codegen.library_attention import render_attention
from ngraph_rewrite.plan.blocking import product_time
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.memory import aligned
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, all_in_memory
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, known
from ngraph_rewrite.plan.shares import Share
from ngraph_rewrite.terms.op import Op

# Rows and keys of a block at most: the products of both stay in the second cache, with what they are multiplied with.
_ROWS, _KEYS = 84, 256
# The widest tile has so many columns, of float32.
_WIDEST = 32
# What a mask does: nothing, keep scores, or add to them.
_NONE, _KEEPS, _ADDS = range(3)


def attention_call(term: Op, groups: Groups) -> Call:
    """The call that computes what is weighted with a softmax: of products, or of given numbers.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    factors = 3 if term.definition.name == "fused.attention" else 2
    (q, *keys, v), (kind, mask) = _factors_of(term, groups, factors)
    dtype, size = DTYPE_NAMES[term.type.dtype], term.type.dtype.itemsize
    *batch, m, d = known(term)
    n, e = v.layout.shape[-2], q.layout.shape[-1] if keys else -1
    down = -(-m // _ROWS) or 1
    rows, block = -(-m // down), max(min(n, _KEYS), 1)
    k = keys[0] if keys else q
    packs = int(k.layout.strides[-1] != 1) + 2 * int(v.layout.strides[-1] != 1)
    pieces, count = prod(batch) * down, prod(batch)
    time = product_time(count, m, n, max(e, 0), size) + product_time(count, m, d, n, size) + count * m * n * size // 4
    share = Share(pieces, time)
    scores_at = aligned(max(block, e, 1) * _WIDEST * size)
    state_at = scores_at + aligned(rows * block * size)
    space = Scratch(state_at + aligned(rows * 16), share.chunks)
    operands = [x for load in (q, k, v) for x in (load, *_steps(load))]
    cut = (space, space.bytes, scores_at, state_at, pieces, down, rows, block, packs)
    inner = batch[-1] if len(batch) == 2 else 1
    numbers = (inner, m, n, e, d, bits(term, "scale"), bits(term, "fill"), kind)
    arguments = (*numbers, *operands, *mask, OUTPUT, *cut, *_words(dtype))
    return Call(render_attention(dtype), arguments, share, (space,))


def _factors_of(term: Op, groups: Groups, count: int) -> tuple[list[Load], tuple[int, tuple[Any, ...]]]:
    """So many operands as they lie in memory; and what a mask does, where it lies, and its strides but for the last.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    loads = all_in_memory(term.args, groups)
    if len(loads) == count:
        return loads, (_NONE, (0, 0, 0, 0))
    mask = loads.pop()
    if mask.layout.strides[-1] != 1 and mask.layout.shape[-1] > 1:
        raise CopyFirst(term.args[-1])
    return loads, (_KEEPS if mask.base.dtype.name == "bool" else _ADDS, (mask, *_steps(mask)[:3]))


def _words(dtype: str) -> Sequence[str]:
    """What the processor decides about tiles."""
    return [f"product {word} {dtype}" for word in ("rows", "columns", "tile", "pack")]


def bits(term: Op, name: str) -> int:
    """A number among the attributes, as the bits of a float64."""
    (found,) = struct.unpack("<q", struct.pack("<d", float(term.attribute(name).scalar)))
    return int(found)


def _steps(load: Load) -> list[int]:
    """The strides in bytes, of one axis of batches or two."""
    *batch, down, along = load.layout.strides
    outer, inner = batch if len(batch) == 2 else (*batch, 0)
    return [step * load.base.type.dtype.itemsize for step in (outer, inner, down, along)]
