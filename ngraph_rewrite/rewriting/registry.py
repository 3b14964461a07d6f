# SPDX-License-Identifier: Apache-2.0
"""The pure functions a rule may call: of attributes in `where` and `if`, of terms for a whole right side.

They are registered by name, and rules can call nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.declaring import place_of
from ngraph_rewrite.terms.op import Op

Function = TypeVar("Function", bound=Callable[..., Any])
_FUNCTIONS: dict[str, Callable[..., Any]] = {}
_TERM_FUNCTIONS: dict[str, Callable[..., Any]] = {}
_CONSUMED: dict[str, str] = {}


def attribute_function(function: Function) -> Function:
    """Register a pure function under its own name, so that rules can call it.

    It must not read or write anything but its arguments, and must accept unknown lengths
    (`ngraph_rewrite.types.lengths.Length`) wherever it takes a length.

    Raises:
        AttributeValueError: if the name is taken by another function.
        ArgumentError: for what has no name that rules could call.
    """
    name = _name_of(function)
    if _FUNCTIONS.get(name, function) is not function or name in _TERM_FUNCTIONS:
        raise AttributeValueError(f"an attribute function called {name} is registered already", do="choose a new name")
    _FUNCTIONS[name] = function
    return function


def term_function(*, consumes: str) -> Callable[[Function], Function]:
    """Register a pure function from terms to a term, so that it can be the right side of a rule.

    It is called with a function that makes terms, ``make(definition, args, attributes)``, and then the terms that
    the rule names. What it returns has the type of the left side: rewriting refuses anything else. It stands where no
    pattern could say what it does; every other right side is an equation.

    Args:
        consumes: The name of the op it removes: one such op becomes a term with fewer of them, so that rewriting
            ends. A rule may call it only where its left side is this op.

    Raises:
        AttributeValueError: if the name is taken by another function.
        ArgumentError: for what has no name that rules could call.
        UnknownOpError: if it consumes no op that is declared.
    """
    removed = lookup(consumes).name

    def register(function: Function) -> Function:
        name = _name_of(function)
        if _TERM_FUNCTIONS.get(name, function) is not function or name in _FUNCTIONS:
            raise AttributeValueError(f"a function called {name} is registered already", do="choose a new name")
        _TERM_FUNCTIONS[name], _CONSUMED[name] = function, removed
        return function

    return register


def _name_of(function: object) -> str:
    """The name of a function, if rules can call it by that."""
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str) or not name.isidentifier():
        what = f"{function!r} cannot be called in rules: it is no function with a name"
        raise ArgumentError(what, do="define it with `def`, and register that")
    return name


def term_functions() -> Mapping[str, Callable[..., Any]]:
    """All registered functions of terms by name."""
    return MappingProxyType(_TERM_FUNCTIONS)


def term_of(name: str, *args: Any) -> Op:
    """What the term function called `name` makes.

    Args:
        args: What makes terms, and then those that the rule names.

    Raises:
        ArgumentError: for what is no term, and where `make` is called with something else than it takes.
    """
    try:
        made = _TERM_FUNCTIONS[name](*args)
    except (AttributeError, TypeError):
        _TERM_FUNCTIONS[name](_Checked(name, args[0]), *args[1:])  # once more: it is pure, and others need not wait
        raise
    if not isinstance(made, Op):
        raise ArgumentError(f"the term function {name} gives {made!r}, which is no term", do="let it return a term")
    return made


class _Checked:
    """What makes terms, and says what it is called with wrongly."""

    def __init__(self, name: str, make: Callable[..., Op]) -> None:
        self.name, self.make = name, make

    def __call__(self, *given: Any, **named: Any) -> Op:
        definition, operands, attrs = given if len(given) == 3 else (None, None, None)
        if len(given) != 3 or named:
            what = f"{len(given) + len(named)} arguments, and it takes 3 by their places"
        elif not isinstance(definition, OpDef):
            what = f"the definition {definition!r}"
        elif not isinstance(operands, tuple) or not all(isinstance(t, Op) for t in operands):
            what = f"the terms {operands!r}"
        elif not isinstance(attrs, tuple) or len(attrs) != len(definition.attributes):
            what = f"the attributes {attrs!r}, and {definition} has ({', '.join(definition.attributes)})"
        else:
            return self.make(*given)
        do = "write make(lookup('semi.exp'), (x,), ()): a definition, a tuple of terms, one of all attributes in order"
        where = place_of(_TERM_FUNCTIONS[self.name])
        raise ArgumentError(f"the term function {self.name} calls `make` with {what}", where=where, do=do)


def consumed(name: str) -> str:
    """The op that the term function called `name` removes."""
    return _CONSUMED[name]


def attribute_functions() -> Mapping[str, Callable[..., Any]]:
    """All registered functions by name."""
    return MappingProxyType(_FUNCTIONS)
