# SPDX-License-Identifier: Apache-2.0
"""Sorts along an axis. They are stable, put NaN last in either direction, and take -0.0 and 0.0 as equal."""

from __future__ import annotations

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.operands import Array, apply
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.terms.op import Op


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Op:
    """The int64 places along an axis that put `x` in order; equal elements keep theirs.

    Args:
        descending: Whether the greatest comes first; NaN still comes last.
        stable: Sorts are stable either way.

    Raises:
        OutOfRangeError: for an axis that is not there.
        AttributeValueError: for a flag that is not True or False.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.argsort(ng.placeholder((2, 3))).type
    int64[2, 3]
    """
    checked("argsort", flag, stable, "stable")
    return apply("argsort", x, axis=axis, descending=descending)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Op:
    """`x` in order along an axis. The arguments and errors are those of `argsort`.

    The gradient of each element goes to where it came from.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.sort(ng.placeholder((2, 3)), axis=0, descending=True).type
    float32[2, 3]
    """
    checked("sort", flag, stable, "stable")
    return apply("sort", x, axis=axis, descending=descending)
