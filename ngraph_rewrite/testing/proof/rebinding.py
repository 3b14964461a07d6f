# SPDX-License-Identifier: Apache-2.0
"""A Python function run with other functions in the place of some that it calls, however deep.

Nothing is patched: a copy of the function, and of each that it calls, is made with the others in its globals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import CellType, FunctionType, ModuleType
from typing import Any

Function = Callable[..., Any]
_FOREIGN = frozenset(sys.stdlib_module_names) | {"numpy", "scipy"}


class Rebinding:
    """Functions by what they are to be replaced with.

    Args:
        substitutes: By function, what stands in its place; attributes of modules are looked up through it too.

    >>> import math
    >>> def circle(r): return round(math.pi * math.pow(r, 2), 2)
    >>> Rebinding({math.pow: lambda r, n: 100})(circle)(1)
    314.16
    """

    def __init__(self, substitutes: Mapping[Any, Any]) -> None:
        self._substitutes = dict(substitutes)
        self._globals: dict[int, dict[str, Any]] = {}
        self._functions: dict[FunctionType, FunctionType] = {}
        self._modules: dict[ModuleType, _Seen] = {}

    def __call__(self, value: Any) -> Any:
        """`value` with the substitutes in it: a function, a module, or a tuple of such."""
        try:
            if value in self._substitutes:
                return self._substitutes[value]
        except (TypeError, ValueError):  # not a thing that could be looked up
            return value
        if isinstance(value, ModuleType):
            return self._modules.setdefault(value, _Seen(value, self))
        if isinstance(value, FunctionType) and value.__module__.partition(".")[0] not in _FOREIGN:
            return self._function(value)
        if isinstance(value, tuple) and any(map(callable, value)):
            own = map(self, value)
            return type(value)(*own) if hasattr(value, "_fields") else tuple(own)
        return value

    def _function(self, function: FunctionType) -> FunctionType:
        if function not in self._functions:
            closure = function.__closure__ and tuple(CellType() for _ in function.__closure__)
            names = self._names(function.__globals__)
            copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, closure)
            copy.__kwdefaults__ = function.__kwdefaults__
            self._functions[function] = copy
            for cell, own in zip(function.__closure__ or (), closure or (), strict=True):
                own.cell_contents = self(cell.cell_contents)
        return self._functions[function]

    def _names(self, names: dict[str, Any]) -> dict[str, Any]:
        """The globals of a module, rebound once."""
        if id(names) not in self._globals:
            own = self._globals[id(names)] = dict(names)
            own.update((name, self(value)) for name, value in names.items() if not name.startswith("__"))
        return self._globals[id(names)]


class _Seen:
    """A module whose functions are rebound when they are looked up."""

    def __init__(self, module: ModuleType, rebinding: Rebinding) -> None:
        self._module, self._rebinding = module, rebinding

    def __getattr__(self, name: str) -> Any:
        return self._rebinding(getattr(self._module, name))
