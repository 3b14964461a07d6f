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

from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I64, loop

_KERNEL = ir.FunctionType(ir.VoidType(), [I64] * 4)
_SHARE = ir.FunctionType(ir.VoidType(), [I64] * 6)  # of `ngraph_rewrite.runtime.pool_code`, whose address is in a pool


def _launch_parts(context: Any, part: Any, arguments: Any, chunks: Any, workers: Any, pool: Any, weight: Any) -> Any:
    """Run a kernel with its arguments in so many chunks, which takes about so many nanoseconds, by a pool or alone."""

    def generate(context: Any, builder: Any, sig: Any, given: Any) -> Any:
        part, arguments, chunks, workers, pool, weight = given
        with builder.if_else(builder.icmp_signed("==", pool, I64(0))) as (alone, shared):
            with alone:
                kernel = builder.inttoptr(part, _KERNEL.as_pointer())
                with loop(builder, I64(0), chunks) as chunk:
                    builder.call(kernel, [arguments, chunk, chunks, I64(0)])
            with shared:
                share = builder.load(builder.inttoptr(pool, I64.as_pointer()))
                share = builder.inttoptr(share, _SHARE.as_pointer())
                builder.call(share, [pool, part, arguments, chunks, workers, weight])
        return context.get_dummy_value()

    return signature(types.none, *[types.int64] * 6), generate


launch_parts = named("launch_parts", _launch_parts)
