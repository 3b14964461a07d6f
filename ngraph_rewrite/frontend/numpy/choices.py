# SPDX-License-Identifier: Apache-2.0
"""For each element one of several things: what a function makes of it, or what stands at its place in another array."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import full, zeros_like
from ngraph_rewrite.frontend.numpy.data_types import astype, result_type
from ngraph_rewrite.frontend.numpy.elementwise import equal, where
from ngraph_rewrite.frontend.numpy.joining import unstack
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, as_terms
from ngraph_rewrite.frontend.numpy.outside import brought_inside, mode_of, refuse_outside
from ngraph_rewrite.ops.stretching import stretched
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, INT64


def piecewise(
    x: Array, condlist: Any, funclist: Sequence[Array | Callable[..., Array]], /, *args: Any, **kwargs: Any
) -> Op:
    """For each element what the function of the last condition that holds makes of it, in the dtype of `x`; else 0.

    Each function is called once, with all elements, as it is not known where conditions hold: what it gives elsewhere
    is left out. If its slope is not finite there, that of the whole is NaN: keep such elements from it by `where`.

    Args:
        condlist: Conditions that broadcast to `x`: one, or a list of them.
        funclist: A function of elements, or a number or an array, for each condition; one more is for where none holds.
        args, kwargs: What functions are given beside the elements.

    Raises:
        ArgumentError: if there are not as many functions as conditions, or one more.
        DTypeError: for a condition that is not bool.
        IncompatibleAxesError: for a condition, or what a function makes, that does not broadcast to `x`.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3,))
    >>> ng.numpy.piecewise(x, [x < 0, x > 1], [0, ng.numpy.sqrt, lambda x: x * x]).type
    float32[3]
    """
    term = as_term(x)
    if not isinstance(funclist, Iterable):
        raise ArgumentError(f"piecewise: funclist is {funclist!r}", where=user_line(), do="give functions in a list")
    conditions, functions = _conditions(term, condlist), list(funclist)
    if len(functions) - len(conditions) not in (0, 1):
        what = f"piecewise: {len(functions)} functions for {len(conditions)} conditions"
        raise ArgumentError(what, where=user_line(), do="give one for each, and at most one for where none holds")

    def piece(function: Any) -> Op:
        made = as_terms("piecewise", term, function(term, *args, **kwargs) if callable(function) else function)[1]
        return broadcast_to(astype(made, term.dtype), term.shape)

    found = zeros_like(term)
    if len(functions) > len(conditions):
        found = piece(functions.pop())
    for condition, function in zip(conditions, functions, strict=True):
        found = where(condition, piece(function), found)
    return found


def _conditions(x: Op, given: Any) -> list[Op]:
    """Conditions in a list, or one alone: what has an axis more than `x` is a list, as NumPy reads it."""
    if isinstance(given, list | tuple) and any(isinstance(c, Op | np.ndarray | list | tuple) for c in given):
        conditions = [as_term(c, given) for c in given]
    else:
        whole = as_term(given, [x])
        conditions = list(unstack(whole)) if whole.rank == x.rank + 1 else [whole]
    for condition in conditions:
        if condition.dtype != BOOL:
            what = f"piecewise: a condition is {condition.type!r}"
            raise DTypeError(what, where=user_line(), do="compare it with something, or cast it to bool")
    return [broadcast_to(condition, x.shape) for condition in conditions]


def choose(a: Array, choices: Array | Sequence[Array], *, mode: str = "raise") -> Op:
    """For each element of `a` the element of that choice whose number it is; all are broadcast, choices promoted.

    Args:
        a: Integers, or bool.
        choices: Arrays, or one array of them along its first axis.
        mode: What a number means that no choice has: ``"wrap"``, what is left when divided by how many there are;
            ``"clip"``, the nearest. With ``"raise"`` numbers that are known are refused, and elsewhere there are zeros.

    Raises:
        ArgumentError: for no choices, or one that is no list.
        AttributeValueError: for another mode.
        DTypeError: for numbers of choices that are not integers.
        IncompatibleAxesError: for what does not broadcast.
        OutOfRangeError: for a number that is known, and outside.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.choose(ng.placeholder((3,), "int8"), [ng.placeholder((2, 3)), 0.5]).type
    float32[2, 3]
    """
    mode_of("choose", mode)
    numbers = as_term(a)
    if numbers.dtype.kind not in "biu":
        raise DTypeError(f"choose: expected integers, got {numbers.type!r}", where=user_line(), do="cast them")
    given = choices if isinstance(choices, list | tuple) else _choices(as_term(choices))  # type: ignore[arg-type]
    if not len(given):
        raise ArgumentError("choose: there are no choices", where=user_line(), do="give at least one")
    if mode == "raise" and not isinstance(a, Op):
        refuse_outside("choose", a, 0, len(given), "choices")
    return _chosen(astype(numbers, INT64), list(given), mode)


def _choices(array: Op) -> tuple[Op, ...]:
    """The choices in an array."""
    if not array.rank:
        raise ArgumentError("choose: the choices are a number", where=user_line(), do="give arrays in a list")
    return unstack(array)


def _chosen(numbers: Op, choices: list[Array], mode: str) -> Op:
    numbers = brought_inside(numbers, len(choices), mode)
    terms = as_terms("choose", *choices)
    dtype = result_type(*terms)
    shape = checked("choose", stretched, numbers.shape, *(t.shape for t in terms))
    found = full(shape, 0, dtype=dtype)
    for number, term in enumerate(terms):
        found = where(equal(numbers, number), term, found)
    return found
