# SPDX-License-Identifier: Apache-2.0
"""Functions of kernels for the CPU, as functions of kernels for a GPU: the same text, with other words in it."""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from types import CellType, FunctionType
from typing import Any

from numba import cuda
from numba.cuda.core import config
from numba.cuda.extending import intrinsic

Words = Mapping[str, Any]


def named(name: str, typing: Callable[..., Any]) -> Any:
    """A word that kernels call, of which Numba is told the types and the instructions."""
    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


def renamed(function: Callable[..., Any], words: Words) -> Any:
    """Return the function with other words where it names some, in its module or around its definition."""
    scope = {**getattr(function, "__globals__", {}), **words}
    closure = getattr(function, "__closure__", None) or ()
    cells = tuple(CellType(_word(cell.cell_contents, words)) for cell in closure)
    return FunctionType(function.__code__, scope, function.__name__, None, cells)


def _word(value: Any, words: Words) -> Any:
    """The word of the same name, if this is a word."""
    name = getattr(value, "__name__", None)
    return words.get(name, value) if callable(value) and isinstance(name, str) else value


def device_function(kind: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a Python function of a signature one that kernels call: compiled with them, or run by the simulator.

    The signature may be a function of the operands' types. Numba's own way needs a device where kernels are compiled.
    """

    def generate(function: Callable[..., Any]) -> Any:
        def typing(context: Any, *operands: Any) -> Any:
            def body(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                return context.compile_internal(builder, function, sig, args)

            return kind(*operands) if callable(kind) else kind, body

        own = signature(function)
        names = [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD), *own.parameters.values()]
        vars(typing)["__signature__"] = own.replace(parameters=names)  # Numba asks for it
        return named(function.__name__, typing)

    return cuda.jit(device=True) if config.ENABLE_CUDASIM else generate
