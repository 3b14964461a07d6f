# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of simple windows: N and R around an image, features that windows have more, scales they lack."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.ops import simple_marks as marks
from ngraph_rewrite.ops import simple_normalisation, simple_windows
from ngraph_rewrite.ops.simple_marks import Key
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.lengths import Extent


@attribute_function
def marks_around(axes: Axes, order: Sequence[int]) -> tuple[int, int]:
    """How many of N and R stand before the features, and how many behind them, in an order of `axes`.

    >>> from ngraph_rewrite.ops.simple_marks import N, R, marked
    >>> marks_around(marked((R, 3, 4, N)), (0, 1, 2, 3)), marks_around(marked((3, N)), (1, 0))
    ((1, 1), (1, 0))
    """
    own = [marks.keys(axes)[i] for i in order]
    first = next((i for i, k in enumerate(own) if isinstance(k, int)), len(own))
    return first, len(own) - first - len(marks.features(axes))


@attribute_function
def with_features(axes: Axes, shape: Sequence[Extent]) -> Axes:
    """The axes that a result of these features has, standing as `axes` do.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> with_features(marked((3, N)), (3, 5))
    Axes(3, 5, sample:N)
    """
    return marks.placed(shape, axes)


@attribute_function
def with_marks_of(axes: Axes, other: Axes) -> Axes:
    """The axes with N and R of others too.

    >>> from ngraph_rewrite.ops.simple_marks import N, R, marked
    >>> with_marks_of(marked((3, R(2))), marked((5, N)))
    Axes(3, recurrent:2, sample:N)
    """
    missing = [a for m, a in marks.common(axes, other).items() if m not in marks.keys(axes)]
    return Axes([*axes, *missing])


@attribute_function
def window_order(axes: Axes, have: Axes, order: Sequence[int]) -> tuple[int, ...]:
    """The positions in `axes`, which have features more, of the axes of `have` in an order, then those more.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> window_order(marked((6, 2, N)), marked((7, N)), (1, 0))
    (2, 0, 1)
    """
    return simple_windows.window_order(axes, have, order)


@attribute_function
def scaled_new(axes: Axes, have: Axes, kept: Sequence[Key]) -> tuple[int, ...]:
    """The features of `axes` that a scale lacks: all of a scalar, else those that are not `kept`.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> scaled_new(marked((3, 8, N)), marked((3,)), (0, N))
    (1,)
    """
    return simple_normalisation.new_features(axes, have, tuple(kept))


@attribute_function
def other_keys(axes: Axes, keys: Sequence[Key]) -> tuple[Key, ...]:
    """The keys of `axes` that are not among these.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> other_keys(marked((3, 8, N)), (1, N))
    (0,)
    """
    return tuple(k for k in marks.keys(axes) if k not in keys)


@attribute_function
def around(
    shape: Sequence[Extent], over: Sequence[int], before: Sequence[Extent], after: Sequence[Extent]
) -> tuple[Extent, ...]:
    """The lengths of features, some of them padded.

    >>> around((3, 5), (1,), (1,), (2,))
    (3, 8)
    """
    more = {k: b + a for k, b, a in zip(over, before, after, strict=True)}
    return tuple(n + more.get(k, 0) for k, n in enumerate(shape))
