# SPDX-License-Identifier: Apache-2.0
"""What a declaration of an op may say, and what its functions give back: anyone may have written them.

What an op's functions give wrongly is found when it is built. Such an error says where the function stands, as its
author has to mend it; the line that built the op is added there.
"""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, NGraphRewriteError
from ngraph_rewrite.terms.keys import is_simple
from ngraph_rewrite.types.tensor import TensorType

# What a call that builds an op says beside the attributes, by keyword.
_TAKEN = frozenset({"definition", "args", "name", "initial"})
# Of an op with one of these the two operands are exchanged or regrouped.
_OF_TWO = ("commutative", "associative")
# The folder of this package: who reads a message cannot mend what stands in it.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def check_words(name: object, *words: object) -> None:
    """Whether the name of an op, its traits and the op that it stands below are words.

    Raises:
        ArgumentError: for what is none.
    """
    every = [name, *(w for word in words for w in (word if isinstance(word, tuple) else (word,)))]
    wrong = next((word for word in every if not isinstance(word, str)), None)
    if wrong is not None:
        do = 'write `@op("family.name", "trait", ...)` above the type rule'
        raise ArgumentError(f"an op is declared by words, and {wrong!r} is none", do=do)


def parameters(name: str, type_rule: Callable[..., Any]) -> tuple[int, tuple[str, ...], bool]:
    """How many arguments a type rule has, its attributes, and whether it takes any number of arguments more.

    `inspect.signature` knows of all that can be called; of plain functions, which most are, this is faster.

    Raises:
        ArgumentError: for what cannot be called, or takes attributes that it does not name.
        AttributeValueError: for an attribute that no call could give.
    """
    check_functions(name, type_rule=type_rule)
    args, attributes, variadic, open_ = _signature(type_rule)
    if open_:
        do = f"name each attribute in the type rule at {place_of(type_rule)}: `*, axis, ...`"
        raise ArgumentError(f"the type rule of {name} takes any attributes", do=do)
    taken = _TAKEN.intersection(attributes)
    if taken:
        what = f"{name} cannot have an attribute called {min(taken)}: what builds an op takes it for something else"
        raise AttributeValueError(what, do="choose another name")
    return args, attributes, variadic


def _signature(type_rule: Callable[..., Any]) -> tuple[int, tuple[str, ...], bool, bool]:
    """The arguments, the attributes, and whether it takes any number more of the former, and of the latter."""
    if type(type_rule) is FunctionType and not hasattr(type_rule, "__wrapped__"):
        code = type_rule.__code__
        end, flags = code.co_argcount + code.co_kwonlyargcount, code.co_flags
        attributes = code.co_varnames[code.co_argcount : end]
        return code.co_argcount, attributes, bool(flags & inspect.CO_VARARGS), bool(flags & inspect.CO_VARKEYWORDS)
    every = inspect.signature(type_rule).parameters.values()
    kinds = [p.kind for p in every]
    args = sum(kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)
    attributes = tuple(p.name for p in every if p.kind is p.KEYWORD_ONLY)
    return args, attributes, inspect.Parameter.VAR_POSITIONAL in kinds, inspect.Parameter.VAR_KEYWORD in kinds


def check_exchange(name: str, traits: Iterable[str], args: int, variadic: bool) -> None:
    """Whether an op of which operands are exchanged or regrouped has two.

    Raises:
        AttributeValueError: if it has not.
    """
    trait = next((t for t in _OF_TWO if t in traits), None)
    if trait is not None and (args != 2 or variadic):
        takes = f"at least {args}" if variadic else f"{args}"
        what = f"the op {name!r} cannot be {trait}: it takes {takes} arguments, and not 2"
        raise AttributeValueError(what, do=f"leave out the trait {trait}")


def check_functions(name: str, **functions: object) -> None:
    """Whether what is declared as a function of an op, if anything, can be called.

    Raises:
        ArgumentError: if it cannot.
    """
    for of, function in functions.items():
        if not callable(function) and (function is not None or of in ("type_rule", "domain")):
            raise ArgumentError(f"`{of}` of {name} is {function!r}, which cannot be called", do="give a function")


def check_steps(name: str, traits: Iterable[str], meaning: Callable[..., Any] | None) -> None:
    """Whether the meaning of a binder asks for no more than the term and arrays: its body it has by yielding.

    Raises:
        ArgumentError: if it does.
    """
    if "binder" not in traits or meaning is None:
        return
    more = [p.name for p in inspect.signature(meaning).parameters.values() if p.kind is p.KEYWORD_ONLY]
    if more:
        what = f"the meaning of {name} takes {more[0]} by keyword, and is given the term and arrays"
        do = f"let {place_of(meaning)} yield the parameters' values for each step: it is sent those of the arguments"
        raise ArgumentError(what, do=do)


def place_of(function: Callable[..., Any]) -> str:
    """``file:line`` of a function, or its name if it is not written in Python.

    >>> place_of(len)
    'builtins.len'
    """
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    call = vars(type(function)).get("__call__")  # of an object that is called, where its class says what it does
    code = getattr(function, "__code__", None) or getattr(call, "__code__", None)
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


def told(error: BaseException) -> str:
    """What an error says; of one that is not this library's also its class, and where somebody's function raised it.

    >>> told(AttributeValueError("axis is 3"))
    'axis is 3'
    >>> told(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    if isinstance(error, NGraphRewriteError):
        return error.what
    frames = traceback.extract_tb(error.__traceback__)
    own = frames and not frames[-1].filename.startswith(_PACKAGE) and not frames[-1].name.startswith("apply_")
    at = f", at {frames[-1].filename}:{frames[-1].lineno}" if own else ""
    return f"{type(error).__name__}: {error}{at}"
