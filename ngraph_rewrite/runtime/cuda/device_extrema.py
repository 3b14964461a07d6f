# SPDX-License-Identifier: Apache-2.0
"""The larger and the smaller of two numbers, NaN if one is: of float32 one instruction, where the GPU has it."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime import scalar_functions
from ngraph_rewrite.runtime.cuda.generation import AMPERE, is_since
from ngraph_rewrite.runtime.cuda.porting import named

_KIND = ir.FunctionType(ir.FloatType(), [ir.FloatType(), ir.FloatType()])


def _extremum(name: str, word: str) -> Any:
    by_steps: Callable[..., Any] = vars(scalar_functions)[name]._defn

    def typing(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if x == types.float32 and is_since(AMPERE):
                return builder.asm(_KIND, f"{word}.NaN.f32 $0, $1, $2;", "=f,f,f", args, False)
            return by_steps(context, x, y)[1](context, builder, sig, args)

        return signature(x, x, x), generate

    return named(name, typing)


EXTREMA = {"maximum": _extremum("maximum", "max"), "minimum": _extremum("minimum", "min")}
