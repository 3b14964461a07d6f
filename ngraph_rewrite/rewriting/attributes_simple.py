# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of simple tensors: where a target wants N and R, and how operands are brought there.

An *order* lists the positions of some axes. The *working order* of a result is the one in which it is computed:
N and R first or last as the target wants, both in the order of the result's type; where the target has no
preference, as they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.ops import simple_marks as marks
from ngraph_rewrite.ops import simple_order, simple_parts
from ngraph_rewrite.ops.indexing import Entry, Index
from ngraph_rewrite.ops.simple_marks import Key
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.lengths import Extent

Order = tuple[int, ...]
ANY = "any"


@attribute_function
def working_order(axes: Axes, target: Any) -> Order:
    """The positions of `axes` in the order in which the target wants them.

    >>> from ngraph_rewrite.ops.simple_marks import N, R, marked
    >>> from ngraph_rewrite.rewriting.asked_target import Target
    >>> working_order(marked((R, 3, N)), Target(sample="first", recurrent="last"))
    (2, 1, 0)
    >>> working_order(marked((3, N, 4)), Target(sample="any"))
    (0, 1, 2)
    """
    wishes = [getattr(target, m.role) for m in marks.keys(axes) if isinstance(m, marks.Marker)]
    return tuple(range(len(axes))) if set(wishes) <= {ANY} else block_order(axes, target)


@attribute_function
def block_order(axes: Axes, target: Any) -> Order:
    """As `working_order`, with the features side by side.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> from ngraph_rewrite.rewriting.asked_target import Target
    >>> block_order(marked((3, N, 4)), Target(sample="any"))
    (0, 2, 1)
    """
    own, stand = marks.keys(axes), simple_order.blocked(axes)
    block = [i for i in stand if isinstance(own[i], int)]
    before = stand[: stand.index(block[0])] if block else stand
    first = [i for i in stand if i not in block and _is_first(own[i], i in before, target)]
    return (*first, *block, *(i for i in stand if i not in block and i not in first))


def _is_first(key: Key, stands_first: bool, target: Any) -> bool:
    assert isinstance(key, marks.Marker)
    wish = getattr(target, key.role)
    return stands_first if wish == ANY else wish == "first"


@attribute_function
def where_from(have: Axes, want: Axes, order: Order) -> Order:
    """The positions in `have` of those of its axes that `want` has, in this order of `want`.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> where_from(marked((3, 4)), marked((N, 3, 4)), (1, 2, 0))
    (0, 1)
    """
    own, wanted = marks.keys(have), marks.keys(want)
    return tuple(own.index(wanted[i]) for i in order if wanted[i] in own)


@attribute_function
def where_to(have: Axes, want: Axes, order: Order) -> Order:
    """The places, in this order of `want`, of the axes that `have` has.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> where_to(marked((3, 4)), marked((N, 3, 4)), (1, 2, 0))
    (0, 1)
    """
    own, wanted = marks.keys(have), marks.keys(want)
    return tuple(place for place, i in enumerate(order) if wanted[i] in own)


@attribute_function
def spread_from(have: Axes, want: Axes, new: Sequence[int], order: Order) -> Order:
    """As `where_from`, if the features of `want` numbered `new` are not in `have`.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> spread_from(marked((4,)), marked((N, 3, 4)), (0,), (1, 2, 0))
    (0,)
    """
    own, wanted = marks.keys(have), marks.old_keys(want, new)
    return tuple(own.index(k) for k in (wanted[i] for i in order) if k is not None and k in own)


@attribute_function
def spread_to(have: Axes, want: Axes, new: Sequence[int], order: Order) -> Order:
    """As `where_to`, if the features of `want` numbered `new` are not in `have`.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> spread_to(marked((4,)), marked((N, 3, 4)), (0,), (1, 2, 0))
    (1,)
    """
    own, wanted = marks.keys(have), marks.old_keys(want, new)
    return tuple(place for place, i in enumerate(order) if wanted[i] is not None and wanted[i] in own)


@attribute_function
def features_among(keys: Sequence[Key]) -> tuple[int, ...]:
    """Those of some keys that are features.

    >>> from ngraph_rewrite.ops.simple_marks import N
    >>> features_among((0, 2, N))
    (0, 2)
    """
    return tuple(k for k in keys if isinstance(k, int))


@attribute_function
def places_of(axes: Axes, keys: Sequence[Key]) -> Order:
    """The positions of the axes with these keys: features by number, N and R.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> places_of(marked((N, 3, 4)), (1, N))
    (0, 2)
    """
    return marks.places(axes, keys)


@attribute_function
def place_of(axes: Axes, key: Key) -> int:
    """The position of the axis with this key.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> place_of(marked((N, 3, 4)), 1)
    2
    """
    return marks.keys(axes).index(key)


@attribute_function
def found_in(order: Sequence[int], places: Sequence[int]) -> Order:
    """Where these positions stand in an order.

    >>> found_in((2, 1, 0), (0, 2))
    (2, 0)
    """
    return tuple(order.index(p) for p in places)


@attribute_function
def undo(order: Sequence[int]) -> Order:
    """The permutation that brings axes left in an order of positions back into increasing order.

    >>> undo((5, 2, 9))
    (1, 0, 2)
    """
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@attribute_function
def like_order(axes: Axes, have: Axes, order: Order) -> Order:
    """An order of `axes` with N and R as in this order of `have`: `axes` has other features, side by side.

    >>> from ngraph_rewrite.ops.simple_marks import N, R, marked
    >>> like_order(marked((R, 5, 4, N)), marked((R, 20, N)), (2, 1, 0))
    (3, 1, 2, 0)
    """
    lies, own = [marks.keys(have)[i] for i in order], marks.keys(axes)
    cut = lies.index(0) if 0 in lies else len(lies)
    numbers = [k for k in own if isinstance(k, int)]
    wanted = [*lies[:cut], *numbers, *(k for k in lies[cut:] if isinstance(k, marks.Marker))]
    return tuple(own.index(k) for k in wanted)


@attribute_function
def sources(axes: Axes, keys: Sequence[Key], order: Order) -> Order:
    """The positions in `axes` of the axes with these keys, in an order of the keys.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> sources(marked((3, 4, N)), (1, N, 0), (1, 0, 2))
    (2, 1, 0)
    """
    own = marks.keys(axes)
    return tuple(own.index(keys[i]) for i in order)


# -- parts --------------------------------------------------------------------------------------------


@attribute_function
def feature_index(axes: Axes, items: Index) -> Index:
    """An index of the features as one of all axes.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> feature_index(marked((N(2), 3, 4)), (1, (0, 4, 2)))
    ((0, 2, 1), 1, (0, 4, 2))
    """
    return simple_parts.full_index(axes, items)


@attribute_function
def axis_index(axes: Axes, axis: Key, item: Entry) -> Index:
    """An index of one axis as one of all.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> axis_index(marked((N(2), 3)), N, 1)
    (1, (0, 3, 1))
    """
    return simple_parts.one_index(axes, axis, item)


@attribute_function
def kept(order: Order, items: Index) -> Order:
    """The positions in an order that an index keeps.

    >>> kept((2, 0, 1), (1, (0, 4, 2), (0, 3, 1)))
    (2, 1)
    """
    return tuple(i for i in order if isinstance(items[i], tuple))


@attribute_function
def per_axis(axes: Axes, numbers: tuple[Extent, ...]) -> tuple[Extent, ...]:
    """A number per feature as one per axis, 0 for N and R.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> per_axis(marked((N, 3, 4)), (1, 2))
    (0, 1, 2)
    """
    return simple_parts.spread_out(axes, numbers)


@attribute_function
def own_length(axes: Axes, like: Axes, axis: Key) -> Axes:
    """`axes` with the length that `like` has along one axis.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> own_length(marked((5, N(2))), marked((3,)), 0)
    Axes(3, sample:2)
    """
    return simple_parts.lengthened(axes, axis, marks.length_of(like, axis))


@attribute_function
def one_feature(axes: Axes, number: int) -> Axes:
    """The axes with a feature of length 1 in the place of one.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> one_feature(marked((5, N(2), 3)), 0)
    Axes(1, sample:2, 3)
    """
    return simple_parts.lengthened(axes, number, 1)


@attribute_function
def less_feature(axes: Axes, number: int) -> Axes:
    """The axes without one feature.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> less_feature(marked((5, N(2), 3)), 0)
    Axes(sample:2, 3)
    """
    return simple_parts.without_feature(axes, number)


@attribute_function
def taken_order(result: Axes, indices: Axes, order: Order) -> Order:
    """The axes of what is taken from a table: those of the indices in this order, then an entry's.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> taken_order(marked((5, 7, N)), marked((5, N)), (1, 0))
    (2, 0, 1)
    """
    own, have = marks.keys(result), marks.keys(indices)
    first = [own.index(have[i]) for i in order]
    return (*first, *(i for i in range(len(own)) if i not in first))


@attribute_function
def both_axes(left: Axes, right: Axes) -> Axes:
    """The axes of an elementwise result.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> both_axes(marked((3,)), marked((N(2),)))
    Axes(3, sample:2)
    """
    return marks.together(left, right)


@attribute_function
def feature_count(axes: Axes) -> int:
    """The number of features.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> feature_count(marked((5, N(2), 3)))
    2
    """
    return len(marks.features(axes))


@attribute_function
def feature_shape(axes: Axes) -> tuple[Extent, ...]:
    """The lengths of the features.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> feature_shape(marked((5, N(2), 3)))
    (5, 3)
    """
    return marks.features(axes)


@attribute_function
def turned_back(axes: Axes, order: Sequence[Key]) -> tuple[Key, ...]:
    """The order that undoes bringing `axes` into an order of its keys.

    >>> from ngraph_rewrite.ops.simple_marks import N, marked
    >>> turned_back(marked((3, 4, N)), (N, 1, 0))
    (1, 0, N)
    """
    numbers = [k for k in order if isinstance(k, int)]
    return tuple(numbers.index(k) if isinstance(k, int) else k for k in marks.keys(axes))
