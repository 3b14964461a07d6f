# SPDX-License-Identifier: Apache-2.0
"""What a kernel says about its launches: distances become literal, and no thread gets more registers than there are."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.cuda.cudadrv import nvvm
from numba.cuda.extending import intrinsic

from ngraph_rewrite.runtime.cuda.porting import device_function

__all__ = ["anew", "lanes_of", "launch_bounds"]

_KIND = ir.FunctionType(ir.IntType(64), [ir.IntType(64)])


def _launch_bounds(context: Any, threads: Any, blocks: Any) -> Any:
    """A block has at most so many threads, and so many blocks fit into a multiprocessor: both are literal."""
    if not all(isinstance(given, types.IntegerLiteral) for given in (threads, blocks)):
        return None

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        nvvm.set_launch_bounds(builder.function, (threads.literal_value, blocks.literal_value))
        return context.get_dummy_value()

    return signature(types.none, threads, blocks), generate


_launch_bounds.__name__ = _launch_bounds.__qualname__ = "launch_bounds"
launch_bounds: Any = intrinsic(_launch_bounds)


@device_function(types.int64(types.int64))
def lanes_of(count: int) -> int:
    """How many threads a block has, which is what the kernel says."""
    return count


def _anew(context: Any, value: Any) -> Any:
    """The value, of which the compiler does not know that it is the same in each turn of a loop.

    What is computed from it is then not computed before the loop, to wait in registers.
    """

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.asm(_KIND, "mov.u64 $0, $1;", "=l,l", args, True)

    return signature(types.int64, types.int64), generate


_anew.__name__ = _anew.__qualname__ = "anew"
anew: Any = intrinsic(_anew)
