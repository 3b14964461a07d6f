# SPDX-License-Identifier: Apache-2.0
"""Parts of a kernel that are shared out while it runs: kernels of their own, which it launches and waits for.

A kernel whose launch is told of no chunks runs once, in the thread that calls, and may ask the workers of the pool for
help as often as it likes. Without a pool, or while another thread has its workers, it does all of it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.intrinsics import mark_buffer
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I64, loop

_KERNEL = ir.FunctionType(ir.VoidType(), [I64] * 4)
_BUFFER = 13  # of the block of arguments
_SHARE = ir.FunctionType(ir.VoidType(), [I64] * 6)  # of `ngraph_rewrite.runtime.pool_code`, whose address is in a pool


def _launch_parts(
    context: Any, part: Any, block: Any, words: Any, chunks: Any, workers: Any, pool: Any, weight: Any
) -> Any:
    """Run a kernel in so many chunks, which takes about so many nanoseconds, by a pool or alone.

    Its arguments are written into a block first.
    """
    if not isinstance(words, types.BaseTuple):
        return None

    def generate(context: Any, builder: Any, sig: Any, given: Any) -> Any:
        part, block, group, chunks, workers, pool, weight = given
        for i in range(len(words)):
            place = builder.add(block, I64(8 * i))
            stored = builder.store(builder.extract_value(group, i), builder.inttoptr(place, I64.as_pointer()))
            mark_buffer(builder.module, stored, _BUFFER)
        with builder.if_else(builder.icmp_signed("==", pool, I64(0))) as (alone, shared):
            with alone:
                kernel = builder.inttoptr(part, _KERNEL.as_pointer())
                with loop(builder, I64(0), chunks) as chunk:
                    builder.call(kernel, [block, chunk, chunks, I64(0)])
            with shared:
                share = builder.load(builder.inttoptr(pool, I64.as_pointer()))
                share = builder.inttoptr(share, _SHARE.as_pointer())
                builder.call(share, [pool, part, block, chunks, workers, weight])
        return context.get_dummy_value()

    group = types.UniTuple(types.int64, len(words))
    return signature(types.none, types.int64, types.int64, group, *[types.int64] * 4), generate


launch_parts = named("launch_parts", _launch_parts)
