# SPDX-License-Identifier: Apache-2.0
"""Words that a GPU has instructions for: the larger of two float32, and what libdevice makes of its exponential."""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.cuda.extending import intrinsic

from ngraph_rewrite.runtime import exponentials, scalar_functions

__all__ = ["exp", "fused", "maximum", "minimum", "tanh"]

_FLOAT = ir.FloatType()


def _extremum(name: str, instruction: str) -> Any:
    """NaN wins, as in NumPy; sm_80 and later have an instruction for float32."""
    other = vars(scalar_functions)[name]._defn

    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = ir.FunctionType(_FLOAT, [_FLOAT, _FLOAT])
            return builder.call(ir.InlineAsm(kind, f"{instruction}.NaN.f32 $0, $1, $2;", "=f,f,f"), args)

        if x == types.float32 and y == types.float32:
            return signature(x, x, x), generate
        return other(context, x, y)

    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


maximum, minimum = _extremum("maximum", "max"), _extremum("minimum", "min")


def _of_libdevice(name: str) -> Any:
    """A function that of float32 is libdevice's, off by 2 ulp at most (CUDA programming guide); else the formula."""
    other = vars(exponentials)[name]._defn

    def typing(context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return scalar_functions.c_function(builder, name, list(args))

        return (signature(x, x), generate) if x == types.float32 else other(context, x)

    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


exp, tanh = _of_libdevice("exp"), _of_libdevice("tanh")


def _fused(context: Any, x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return scalar_functions.llvm_function(builder, "llvm.fma", list(args))

    return (signature(x, x, x, x), generate) if isinstance(x, types.Float) else None


_fused.__name__ = _fused.__qualname__ = "fused"
fused: Any = intrinsic(_fused)
