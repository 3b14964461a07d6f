# SPDX-License-Identifier: Apache-2.0
"""Attention as one call: how its rows and keys are cut into blocks that stay in the cache."""

from __future__ import annotations

import struct
from math import prod

from ngraph_rewrite.codegen.library_attention import render_attention
from ngraph_rewrite.plan.blocking import product_time
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import Load
from ngraph_rewrite.plan.operands import OUTPUT, Call, Scratch, all_in_memory
from ngraph_rewrite.plan.shapes import DTYPE_NAMES, known
from ngraph_rewrite.plan.shares import Share
from ngraph_rewrite.terms.op import Op

# Rows and keys of a block at most: the products of both stay in the second cache, with what they are multiplied with.
_ROWS, _KEYS = 84, 256
# The widest tile has so many columns, of float32.
_WIDEST = 32


def attention_call(term: Op, groups: Groups) -> Call:
    """The call that computes what is weighted with a softmax: of products, or of given numbers.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    q, *keys, v = all_in_memory(term.args, groups)
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
    scores_at = _aligned(max(block, e, 1) * _WIDEST * size)
    state_at = scores_at + _aligned(rows * block * size)
    space = Scratch((state_at + _aligned(rows * 16)) * share.chunks)
    (scale,) = struct.unpack("<q", struct.pack("<d", float(term.attrs[0].scalar)))
    operands = [x for load in (q, k, v) for x in (load, *_steps(load, size))]
    cut = (space, space.bytes // share.chunks, scores_at, state_at, pieces, down, rows, block, packs)
    words = [f"product {word} {dtype}" for word in ("rows", "columns", "tile", "pack")]
    inner = batch[-1] if len(batch) == 2 else 1
    arguments = (inner, m, n, e, d, scale, *operands, OUTPUT, *cut, *words)
    return Call(render_attention(dtype), arguments, share, (space,))


def _steps(load: Load, size: int) -> list[int]:
    """The strides in bytes, of one axis of batches or two."""
    *batch, down, along = load.layout.strides
    outer, inner = batch if len(batch) == 2 else (*batch, 0)
    return [step * size for step in (outer, inner, down, along)]


def _aligned(size: int) -> int:
    return -(-size // 64) * 64
