# SPDX-License-Identifier: Apache-2.0
"""How functions of this package build terms: numbers are weak, arrays and lists are constants of features."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.storage import as_op, constant
from ngraph_rewrite.ops import simple as _simple  # noqa: F401  (the family declares its ops when imported)
from ngraph_rewrite.ops.simple_marks import Key, Marker, N, R, features, keys, keys_of
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Length
from ngraph_rewrite.types.tensor import TensorType

# A term, a number, an array, or nested lists of numbers.
Array = Op | ArrayLike | Length
# Lengths of features, and N or R (or N(32), R(5)) where they stand.
Shape = Any
# Some axes of a tensor: features by number, N, R.
Keys = Key | Iterable[Key]

__all__ = ["Array", "Keys", "Marker", "N", "R", "Shape", "apply", "as_term", "documented", "reduced", "several"]


def as_term(x: Array, beside: Iterable[Any] = ()) -> Op:
    """`x` if it is a term, else a constant of it, whose axes are features, as `as_op` makes it."""
    return as_op(x, beside)


def apply(short: str, *operands: Array, **attributes: Any) -> Op:
    """The simple op called `short`; Python's numbers take the dtype of the terms beside them."""
    call = f"simple.{short}"
    known = (Op, bool, int, float, np.generic, list, tuple, Length)
    arrays = [x if isinstance(x, known) else checked(call, constant, x) for x in operands]
    return build_term(call, *arrays, **attributes)


def several(call: str, arrays: Any) -> list[Op]:
    """The terms in a list or tuple of arrays.

    Raises:
        ArgumentError: for what is no list, or an empty one.
    """
    if isinstance(arrays, Op) or not isinstance(arrays, Iterable):
        raise ArgumentError(f"{call}: expected a list of tensors, got {arrays!r}", where=user_line())
    arrays = list(arrays)
    terms = [as_term(x, arrays) for x in arrays]
    if not terms:
        raise ArgumentError(f"{call}: there are no tensors", where=user_line(), do="give at least one")
    return terms


def reduced(call: str, x: TensorType, axes: Keys | None, keep: Keys | None) -> tuple[Key, ...]:
    """The axes to reduce: those given, all but those to keep, or all features.

    Raises:
        AttributeValueError: if both are given.
    """
    if axes is not None and keep is not None:
        raise AttributeValueError(f"{call}: both axes and keep are given", where=user_line(), do="give one of them")
    if axes is not None:
        return checked(call, keys_of, x, axes)
    if keep is None:
        return tuple(range(len(features(x.axes))))
    kept = checked(call, keys_of, x, keep)
    return tuple(k for k in keys(x.axes) if k not in kept)


def documented(function: Callable[..., Op], name: str, call: str, dtype: str, more: str = "") -> None:
    """Give a function its name, and the documentation of its op with an example."""
    function.__name__ = function.__qualname__ = name
    made = [f'{x} = ng.placeholder((3, ng.simple.N), "{dtype}", name="{x}")' for x in call.split(", ")]
    made = [line.replace("ng.placeholder", "ng.simple.placeholder") for line in made]
    lines = ["import ngraph_rewrite as ng", *made, f"ng.simple.{name}({call})"]
    example = "\n".join(f">>> {line}" for line in lines)
    function.__doc__ = f"{lookup(f'simple.{name}').doc}\n\n{more}{example}\nsimple.{name}({call})\n"
