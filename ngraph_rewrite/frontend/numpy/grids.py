# SPDX-License-Identifier: Apache-2.0
"""Places in grids: as one index for each axis, or as one into all elements in row-major order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.frontend.building import checked, function_of
from ngraph_rewrite.frontend.numpy.creation import zeros
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import add, floor_divide, multiply, remainder
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_to, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, several
from ngraph_rewrite.frontend.numpy.outside import brought_inside, mode_of
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.ops.checks import extents, listed
from ngraph_rewrite.ops.stretching import Shape, stretched
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT32
from ngraph_rewrite.types.lengths import Extent


def broadcast_shapes(*shapes: Any) -> Shape:
    """The one shape in which these meet.

    Raises:
        IncompatibleAxesError: if there is none.

    >>> broadcast_shapes((2, 1), 3, (4, 1, 1))
    (4, 2, 3)
    """
    return checked("broadcast_shapes", stretched, *(_shape("broadcast_shapes", s) for s in shapes))


def indices(dimensions: Any, /, dtype: Any = None, sparse: bool = False) -> Op | tuple[Op, ...]:
    """The index of each place of a grid: one row for each axis of it.

    Args:
        dtype: int64 unless given.
        sparse: Whether the rows stay of length 1 along other axes than their own, and come as a tuple.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.indices((2, 3)).type, [row.shape for row in ng.numpy.indices((2, 3), sparse=True)]
    (int64[2, 2, 3], [(2, 1), (1, 3)])
    """
    shape = _shape("indices", dimensions)
    count = len(shape)
    rows = [
        reshape(arange(n, dtype="int64" if dtype is None else dtype), (1,) * k + (n,) + (1,) * (count - k - 1))
        for k, n in enumerate(shape)
    ]
    if sparse:
        return tuple(rows)
    if not rows:
        return zeros((0,), dtype="int64" if dtype is None else dtype)
    return apply("stack", *(broadcast_to(row, shape) for row in rows), axis=0)


def fromfunction(function: Callable[..., Any], shape: Any, /, *, dtype: Any = None, **kwargs: Any) -> Any:
    """What a function makes of the index of each place along each axis of a grid: it is called once, with `indices`.

    Args:
        function: From as many arrays as the grid has axes.
        dtype: Of the indices; float32 unless given.
        kwargs: What the function is given beside them.

    Raises:
        ArgumentError: for what is no function.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fromfunction(lambda i, j: ng.numpy.hypot(i, j), (2, 3)).type
    float32[2, 3]
    """
    function_of("fromfunction", function, "function")
    lengths = _shape("fromfunction", shape)
    rows = indices(lengths, dtype=FLOAT32 if dtype is None else dtype)
    return function(*(rows[k] for k in range(len(lengths))), **kwargs)


def unravel_index(places: Array, /, shape: Any) -> tuple[Op, ...]:
    """One index for each axis of a grid, from places among all of its elements in row-major order.

    A term that has places outside gives an index that is outside of the first axis.

    Raises:
        DTypeError: for places that are not integers.

    >>> import ngraph_rewrite as ng
    >>> [index.type for index in ng.numpy.unravel_index(ng.placeholder((5,), "int32"), (2, 3))]
    [int64[5], int64[5]]
    """
    left, lengths = _integers("unravel_index", places), _shape("unravel_index", shape)
    found = []
    for length in lengths[:0:-1]:
        found.append(remainder(left, length))
        left = floor_divide(left, length)
    return (left, *found[::-1]) if lengths else ()


def ravel_multi_index(multi_index: Sequence[Array], dims: Any, mode: str | Sequence[str] = "raise") -> Op:
    """The places among all elements of a grid in row-major order, from one index for each axis.

    Args:
        mode: What an index outside of its axis means: ``"wrap"``, what is left when divided by the length; ``"clip"``,
            the nearest one inside; ``"raise"``, NumPy's default, leaves it open, as an index is not known here. One
            for all axes, or one for each.

    Raises:
        AxesError: if there are not as many indices as axes.
        AttributeValueError: for another mode.
        DTypeError: for indices that are not integers.

    >>> import ngraph_rewrite as ng
    >>> row, column = ng.placeholder((5,), "int32"), ng.placeholder((5,), "int64")
    >>> ng.numpy.ravel_multi_index((row, column), (2, 3)).type
    int64[5]
    """
    lengths = _shape("ravel_multi_index", dims)
    modes = [mode] * len(lengths) if isinstance(mode, str) else list(listed(mode))
    parts = [_integers("ravel_multi_index", index) for index in several("ravel_multi_index", multi_index)]
    if not len(parts) == len(modes) == len(lengths) or not parts:
        what = f"ravel_multi_index: {len(parts)} indices and {len(modes)} modes for {len(lengths)} axes"
        raise AxesError(what, where=user_line(), do="give one for each axis")
    strides = list(accumulate(reversed(lengths[1:]), mul, initial=1))[::-1]
    inside = [_inside(*each) for each in zip(parts, lengths, modes, strict=True)]
    found = multiply(inside[0], strides[0])
    for index, stride in zip(inside[1:], strides[1:], strict=True):
        found = add(found, multiply(index, stride))
    return found


def _inside(index: Op, length: Extent, mode: str) -> Op:
    return brought_inside(index, length, mode_of("ravel_multi_index", mode))


def _integers(call: str, places: Array) -> Op:
    term = as_term(places)
    if term.dtype.kind not in "iu":
        raise DTypeError(f"{call}: expected integers, got {term.type!r}", where=user_line(), do="cast them")
    return astype(term, "int64")


def _shape(call: str, shape: Any) -> Shape:
    return checked(call, extents, listed(shape))
