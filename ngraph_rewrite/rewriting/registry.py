# SPDX-License-Identifier: Apache-2.0
"""The pure functions a rule may call in `where`, `if` and attributes: registered by name, nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from ngraph_rewrite.errors import AttributeValueError

Function = TypeVar("Function", bound=Callable[..., Any])
_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def attribute_function(function: Function) -> Function:
    """Register a pure function under its own name, so that rules can call it.

    It must not read or write anything but its arguments, and must accept unknown lengths
    (`ngraph_rewrite.types.lengths.Length`) wherever it takes a length.

    Raises:
        AttributeValueError: if the name is taken by another function.
    """
    name = function.__name__
    if _FUNCTIONS.get(name, function) is not function:
        raise AttributeValueError(f"an attribute function called {name} is registered already", do="choose a new name")
    _FUNCTIONS[name] = function
    return function


def attribute_functions() -> Mapping[str, Callable[..., Any]]:
    """All registered functions by name."""
    return MappingProxyType(_FUNCTIONS)
