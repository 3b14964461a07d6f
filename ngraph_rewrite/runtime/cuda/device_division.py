# SPDX-License-Identifier: Apache-2.0
"""Division of numbers that are not negative: the compiler makes it one of 32 bits where both have no more."""

from typing import Any

from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.cuda.porting import named

__all__ = ["quotient", "remainder"]


def _division(name: str, instruction: str) -> Any:
    """A division by one instruction."""

    def typing(context: Any, i: Any, n: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, instruction)(*args)

        return signature(types.int64, types.int64, types.int64), generate

    return named(name, typing)


quotient, remainder = _division("quotient", "udiv"), _division("remainder", "urem")
