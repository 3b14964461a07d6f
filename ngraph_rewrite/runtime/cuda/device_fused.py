# SPDX-License-Identifier: Apache-2.0
"""A product and a sum that are rounded once, where a kernel says so: the compiler fuses none by itself."""

from typing import Any

from numba.core import types
from numba.core.typing import signature
from numba.cuda.extending import intrinsic

from ngraph_rewrite.runtime import scalar_functions

__all__ = ["fused"]


def _fused(context: Any, x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return scalar_functions.llvm_function(builder, "llvm.fma", list(args))

    return (signature(x, x, x, x), generate) if isinstance(x, types.Float) else None


_fused.__name__ = _fused.__qualname__ = "fused"
fused: Any = intrinsic(_fused)
