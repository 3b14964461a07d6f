# SPDX-License-Identifier: Apache-2.0
"""Attributes as keys of what is remembered: 0, 0.0, -0.0 and False are equal, and not the same attribute."""

from __future__ import annotations

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
    return any(map(_holds_float, value)) if type(value) is tuple else isinstance(value, float | np.floating)


def truths(value: Any) -> Any:
    """Where truth values stand, None for nowhere: True equals 1, and is not the same attribute.

    >>> truths((1, (True, 2))), truths((1, 2))
    ((None, (True, None)), None)
    """
    if type(value) is tuple:
        inside = tuple([truths(v) for v in value])
        return inside if any(inside) else None
    return isinstance(value, bool | np.bool_) or None
