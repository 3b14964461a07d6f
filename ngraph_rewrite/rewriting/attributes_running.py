# SPDX-License-Identifier: Apache-2.0
"""Attribute functions that single out one axis: shifting along it, or ordering by it."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.rewriting.bounds import counted
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.types.lengths import Extent


@attribute_function
def at_axis(value: int, axis: int, rank: int) -> tuple[int, ...]:
    """A number for each of `rank` axes: `value` for one of them, 0 for the others.

    >>> at_axis(1, 2, 4)
    (0, 0, 1, 0)
    """
    return tuple(value if k == axis else 0 for k in range(counted(rank)))


@attribute_function
def sums(left: Sequence[Extent], right: Sequence[Extent]) -> tuple[Extent, ...]:
    """The lengths of one shape added to those of another.

    >>> sums((2, 3), (0, 1))
    (2, 4)
    """
    return tuple(n + m for n, m in zip(left, right, strict=True))


@attribute_function
def replaced(shape: Sequence[Extent], axis: int, length: Extent) -> tuple[Extent, ...]:
    """The lengths with that of one axis replaced.

    >>> replaced((2, 3), 1, 5)
    (2, 5)
    """
    return (*shape[:axis], length, *shape[axis + 1 :])
