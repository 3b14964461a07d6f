# SPDX-License-Identifier: Apache-2.0
"""What Numba asks again and again, remembered: what functions give for operands, what computes it, and sizes of types.

It asks for the former when it finds out the types of a kernel, and once or twice more when it translates an operator.
"""

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

from numba.core import types


class Resolved:
    """A typing context of Numba that asks another one, once for each function and types of operands."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._found: dict[Any, Any] = {}
        self._operators: dict[Any, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The signature of a call."""
        if kws or not isinstance(func, types.Function):
            return self._context.resolve_function_type(func, args, kws)
        key = func, tuple(args)
        if key not in self._found:
            self._found[key] = self._context.resolve_function_type(func, args, kws)
        return self._found[key]

    def resolve_value_type(self, value: Any) -> Any:
        """The type of a value; of a function one that remembers its signatures."""
        found = self._context.resolve_value_type(value)
        if type(found) is not types.Function:
            return found
        if found not in self._operators:
            self._operators[found] = _remembering(found)
        return self._operators[found]


def _remembering(function: types.Function) -> types.Function:
    """The same function for Numba; a copy, as what Numba itself has is everybody's."""
    made = object.__new__(types.Function)
    made.__dict__.update(function.__dict__)
    signatures: dict[Any, Any] = {}

    def get_call_type(context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return function.get_call_type(context, args, kws)
        key = tuple(args)
        if key not in signatures:
            signatures[key] = function.get_call_type(context, args, kws)
        return signatures[key]

    made.__dict__["get_call_type"] = get_call_type
    return made


def resolving(target: Any, typing: Resolved) -> Any:
    """A target context as another one that remembers: signatures and code of operators, and sizes of types.

    For the size of each variable Numba asks LLVM, by a module of its own.
    """
    made = copy(target)
    made.__class__ = _finding(type(target))
    made.typing_context = typing
    size: Callable[[Any], int] = target.get_abi_sizeof
    made.get_abi_sizeof = cache(size)
    return made


def _finding(kind: type) -> type:
    """A class of target contexts that look once for what computes a function: each time Numba reads its parameters."""
    computing: dict[Any, Any] = {}

    class Finding(kind):  # type: ignore[misc]
        def get_function(self, function: Any, signature: Any, _firstcall: bool = True) -> Any:
            if not isinstance(function, (str, types.Function)):
                return super().get_function(function, signature, _firstcall)
            key = function, signature
            if key not in computing:
                computing[key] = super().get_function(function, signature, _firstcall)
            return _in_context(computing[key], self)

    return Finding


def _in_context(computing: Any, context: Any) -> Any:
    """The same of another context, such as one where a division by zero is no error."""
    made = object.__new__(type(computing))
    made.__dict__.update(computing.__dict__, _context=context)
    return made
