# SPDX-License-Identifier: Apache-2.0
"""What functions give for operands of some types, found out once: Numba would do that anew for each call."""

from typing import Any

from numba.core import types


class Resolved:
    """A typing context of Numba that asks another one, once for each function and types of operands."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._found: dict[Any, Any] = {}

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
