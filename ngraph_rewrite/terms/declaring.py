# SPDX-License-Identifier: Apache-2.0
"""What the functions of a declaration give back: anyone may have written them, and an op is built only of what is right.

An error says where the function stands, as its author has to mend it; the line that built the op is added there.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.keys import is_simple
from ngraph_rewrite.types.tensor import TensorType


def place_of(function: Callable[..., Any]) -> str:
    """``file:line`` of a function, or its name if it is not written in Python.

    >>> place_of(len)
    'builtins.len'
    """
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None) or getattr(getattr(type(function), "__call__", None), "__code__", None)
    if code is not None:
        return f"{code.co_filename}:{code.co_firstlineno}"
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', repr(function))}"


def checked_type(name: str, type_rule: Callable[..., Any], found: object) -> TensorType:
    """What a type rule gives, if it is a type.

    Raises:
        ArgumentError: if it is anything else.
    """
    if isinstance(found, TensorType):
        return found
    do = f"let the type rule at {place_of(type_rule)} return a TensorType, or raise"
    raise ArgumentError(f"the type rule of {name} gives {found!r}, which is no type", do=do)


def checked_attributes(
    name: str, attributes: tuple[str, ...], normalise: Callable[..., Any], found: object
) -> Mapping[str, Any]:
    """What is to be stored for the attributes of an op, if it is a value for each of them.

    Raises:
        ArgumentError: if it is not.
    """
    if isinstance(found, Mapping) and len(found) == len(attributes) and all(a in found for a in attributes):
        return found
    do = f"let the function at {place_of(normalise)} return a dict of {', '.join(attributes) or 'nothing'}"
    raise ArgumentError(f"`normalise` of {name} gives {found!r}, and not each attribute", do=do)


def check_hashes(name: str, attributes: tuple[str, ...], values: tuple[Any, ...]) -> None:
    """Whether attributes are such as can be stored: terms are shared by them.

    Raises:
        ArgumentError: for one without a hash.
    """
    if is_simple(values):
        return
    for attribute, value in zip(attributes, values, strict=True):
        try:
            hash(value)
        except TypeError as error:
            do = "give a tuple, a number, a word, or what else has a hash"
            raise ArgumentError(f"the attribute {attribute} of {name} has no hash ({error})", do=do) from None
