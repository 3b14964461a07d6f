# SPDX-License-Identifier: Apache-2.0
"""Attributes as keys of what is remembered: 0, 0.0, -0.0 and False are equal, and not the same attribute."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DTYPES


def keyed(attrs: tuple[Any, ...]) -> bool:
    """Whether equal attributes are the same attributes: lists have no hash, and 0.0 equals -0.0.

    >>> keyed(((1, 2), "sum")), keyed(([1],)), keyed((0.0,))
    (True, False, False)
    """
    if is_simple(attrs):
        return True
    try:
        hash(attrs)
    except TypeError:
        return False
    return not _holds_float(attrs)


# Classes that are asked for often: each time a union of them is written it is made.
_FLOATS, _TRUTHS = (float, np.floating), (bool, np.bool_)
# Of values that hold neither floats nor truth values, and have a hash.
_SIMPLE = frozenset({int, str, type(None), Axes, *map(type, DTYPES)})


def is_simple(attrs: tuple[Any, ...]) -> bool:
    """Whether a look at their types is enough to say that there is neither a float nor a truth value in them.

    >>> is_simple(((1, 2), "sum")), is_simple(((True,),))
    (True, False)
    """
    for value in attrs:
        kind = type(value)
        if kind not in _SIMPLE and (kind is not tuple or not _SIMPLE.issuperset(map(type, value))):
            return False
    return True


def _holds_float(value: Any) -> bool:
    return any(map(_holds_float, value)) if isinstance(value, tuple) else isinstance(value, _FLOATS)


def truths(value: Any) -> Any:
    """Where truth values stand, None for nowhere: True equals 1, and is not the same attribute.

    >>> truths((1, (True, 2))), truths((1, 2))
    ((None, (True, None)), None)
    """
    if isinstance(value, tuple):
        inside = tuple([truths(v) for v in value])
        return inside if any(inside) else None
    return isinstance(value, _TRUTHS) or None


class Apart(tuple[Any, ...]):
    """Attributes that equal only the same attributes: of numbers the type counts, and the sign of a zero.

    >>> (0.0, 1) == (-0.0, True), Apart((0.0, 1)) == (-0.0, 1), Apart((0.0, 1)) == (0.0, True), Apart((0.0,)) == (0.0,)
    (True, False, False, True)
    """

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and _same(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def apart(attrs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The attributes as those that equal only the same ones, if there are others that Python calls equal.

    >>> type(apart((1, "sum"))), type(apart((1, 2.0)))
    (<class 'tuple'>, <class 'ngraph_rewrite.terms.keys.Apart'>)
    """
    return attrs if type(attrs) is Apart or is_simple(attrs) else Apart(attrs)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if one is other:
        return True
    if not isinstance(one, _NUMBERS) and not isinstance(other, _NUMBERS):
        return bool(one == other)
    if type(one) is not type(other) or one != other:
        return False
    return not isinstance(one, float | np.floating) or math.copysign(1, one) == math.copysign(1, other)


_NUMBERS = (int, float, np.bool_, np.number)


class TableApart(dict[Any, Any]):
    """A table whose keys end in attributes, which it tells apart.

    >>> table = TableApart()
    >>> table[(), (True,)] = "yes"
    >>> table.get(((), (1,))), table.get(((), (True,)))
    (None, 'yes')
    """

    __slots__ = ()

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(_apart(key), default)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(_apart(key), value)


def _apart(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*key[:-1], apart(key[-1])) if key and type(key[-1]) is tuple else key


class Tables(dict[Any, dict[Any, Any]]):
    """A table for each op, made when it is asked for: for one whose attributes are told apart, such a table."""

    __slots__ = ()

    def __missing__(self, definition: Any) -> dict[Any, Any]:
        found = self[definition] = TableApart() if definition.apart else {}
        return found
