# SPDX-License-Identifier: Apache-2.0
"""What the rules that ship with the library compute: pure functions of axes and lengths.

Those of dtypes and literals are in `attributes_numbers`, those of permutations in `attributes_positions`, those of
slices in `attributes_slices`. A third party registers its own with `attribute_function`.
"""

from __future__ import annotations

from functools import lru_cache

from ngraph_rewrite.ops import alignment
from ngraph_rewrite.rewriting import (
    attributes_adjoints,  # noqa: F401  (registers its functions)
    attributes_einsum,  # noqa: F401
    attributes_numbers,  # noqa: F401
    attributes_numpy,  # noqa: F401
    attributes_positions,  # noqa: F401
    attributes_products,  # noqa: F401
    attributes_running,  # noqa: F401
    attributes_scan,  # noqa: F401
    attributes_schema,  # noqa: F401
    attributes_simple,  # noqa: F401
    attributes_simple_windows,  # noqa: F401
    attributes_slices,  # noqa: F401
    attributes_windows,  # noqa: F401
)
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.types.axes import Axes, AxesLike, Axis, anonymous, parted
from ngraph_rewrite.types.lengths import Extent

# -- axes, by name ----------------------------------------------------------------------------------


@attribute_function
def union(left: AxesLike, right: AxesLike) -> Axes:
    """The axes of an elementwise result of operands with these axes.

    >>> union({"H": 2, "W": 3}, {"W": 3, "N": 4})
    Axes(H:2, W:3, N:4)
    """
    return alignment.combine(Axes(left), Axes(right))


@attribute_function
def shared(left: AxesLike, right: AxesLike) -> Axes:
    """The axes of `left` that `right` has too, in the order of `left`.

    >>> shared({"H": 2, "W": 3}, {"N": 4, "W": 3})
    Axes(W:3)
    """
    return _parted(left, right)[1]


@attribute_function
def without(left: AxesLike, right: AxesLike) -> Axes:
    """The axes of `left` that `right` does not have, in the order of `left`.

    >>> without({"H": 2, "W": 3}, {"W": 3})
    Axes(H:2)
    """
    return _parted(left, right)[0]


@attribute_function
def disjoint(left: AxesLike, right: AxesLike) -> bool:
    """Whether no axis of `left` is in `right`.

    >>> disjoint({"H": 2}, {"W": 3})
    True
    """
    return not _parted(left, right)[1].lengths


def _parted(left: AxesLike, right: AxesLike) -> tuple[Axes, Axes]:
    if type(left) is Axes is type(right):
        return parted(left, right)
    return parted(Axes(left), Axes(right))


@attribute_function
def positions(axes: AxesLike, have: AxesLike) -> tuple[int, ...]:
    """Where each of `axes` stands in `have`.

    >>> positions({"W": 3, "H": 2}, {"H": 2, "N": 4, "W": 3})
    (2, 0)
    """
    if type(axes) is Axes is type(have):
        return _positions(axes, have)
    return _positions(Axes(axes), Axes(have))


@lru_cache(maxsize=1 << 12)
def _positions(axes: Axes, have: Axes) -> tuple[int, ...]:
    return tuple([have.index(a) for a in axes])


@attribute_function
def position(axis: Axis | str, have: AxesLike) -> int:
    """Where an axis, or the axis of that name, stands in `have`.

    >>> position("W", {"H": 2, "W": 3})
    1
    """
    return Axes(have).index(axis)


@attribute_function
def axes_of(*axes: Axis) -> Axes:
    """These axes as a set; none for a scalar.

    >>> axes_of(Axis("H", 2)), axes_of()
    (Axes(H:2), Axes())
    """
    return Axes(axes)


@attribute_function
def plain_axes(axes: AxesLike) -> Axes:
    """The same lengths without names and roles.

    >>> plain_axes({"H": 2, "N": None})
    Axes(2, N)
    """
    return anonymous(Axes(axes).lengths)


@attribute_function
def is_plain(axes: AxesLike) -> bool:
    """Whether no axis has a name or a role.

    >>> is_plain(plain_axes({"H": 2})), is_plain({"H": 2})
    (True, False)
    """
    return (axes if type(axes) is Axes else Axes(axes)).plain


@attribute_function
def lengths(axes: AxesLike) -> tuple[Extent, ...]:
    """The lengths in order.

    >>> lengths({"H": 2, "N": None})
    (2, N)
    """
    return (axes if type(axes) is Axes else Axes(axes)).lengths


@attribute_function
def size(axes: AxesLike) -> Extent:
    """The product of the lengths.

    >>> size({"H": 2, "N": None})
    2*N
    """
    return (axes if type(axes) is Axes else Axes(axes)).size


@attribute_function
def with_length(axis: Axis, length: Extent) -> Axis:
    """The same axis with another length.

    >>> with_length(Axis("T", 5), 1)
    T:1
    """
    return axis.with_length(length)


@attribute_function
def flattened(axes: AxesLike) -> Axis:
    """One axis made of several, row-major.

    >>> flattened({"H": 2, "W": 3})
    (H,W):6
    """
    return Axis.flattened(axes)


@attribute_function
def components(axis: Axis) -> Axes:
    """The axes a flattened axis is made of.

    >>> components(flattened({"H": 2, "W": 3}))
    Axes(H:2, W:3)
    """
    return alignment.not_flattened(axis)


@attribute_function
def batch_length(axes: AxesLike) -> Extent:
    """The length of the sample axis.

    >>> batch_length({"H": 2, "N": 4})
    4
    """
    return Axes(axes).batch_axes().size


@attribute_function
def is_known(length: Extent) -> bool:
    """Whether a length is a number and not a symbol.

    >>> is_known(3), is_known(Axis("N", None).length)
    (True, False)
    """
    return isinstance(length, int)
