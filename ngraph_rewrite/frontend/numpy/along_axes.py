# SPDX-License-Identifier: Apache-2.0
"""Functions done along axes: one of vectors for each vector of an array, and a reduction along several axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.frontend.building import checked, function_of
from ngraph_rewrite.frontend.numpy.manipulation import expand_dims, moveaxis, permute_dims, reshape
from ngraph_rewrite.frontend.numpy.mapping import vmap
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, each
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import product


def apply_along_axis(func1d: Callable[..., Array], axis: int, x: Array, /, *args: Any, **kwargs: Any) -> Op:
    """What a function makes of each vector along an axis; the axes of its result stand where the vectors did.

    The function is called once, with a term that stands for any of the vectors, as by `vmap`: what it does is done for
    all of them at once where that goes.

    Args:
        func1d: From a vector to an array.
        args, kwargs: What it is given beside the vector.

    Raises:
        ArgumentError: for what is no function.
        OutOfRangeError: for an axis that is not there.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.apply_along_axis(lambda v: v[:2] / ng.numpy.sum(v), 0, ng.placeholder((4, 3))).type
    float32[2, 3]
    """
    function_of("apply_along_axis", func1d, "func1d")
    term = as_term(x)
    place = checked("apply_along_axis", position, axis, term.rank)
    if term.rank == 1:
        return as_term(func1d(term, *args, **kwargs))
    lines = moveaxis(term, place, -1)
    rest = lines.shape[:-1]
    rows = reshape(lines, (product(rest), lines.shape[-1]))
    found = vmap(lambda row: as_term(func1d(row, *args, **kwargs)))(rows)
    assert isinstance(found, Op)
    new, count = found.shape[1:], len(rest)
    order = (*range(place), *range(count, count + len(new)), *range(place, count))
    return permute_dims(reshape(found, (*rest, *new)), order)


def apply_over_axes(func: Callable[..., Array], x: Array, axes: Any, /) -> Op:
    """What a function makes of `x` along one axis, then of that along the next one, and so on.

    Where the function takes the axis away, it is put back with a length of 1.

    Args:
        func: From an array and an axis to an array with as many axes, or one less.
        axes: One, or several.

    Raises:
        ArgumentError: for what is no function.
        OutOfRangeError: for an axis that is not there.
        AxesError: if the function gives another number of axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.apply_over_axes(ng.numpy.sum, ng.placeholder((2, 3, 4)), (0, -1)).type
    float32[1, 3, 1]
    """
    function_of("apply_over_axes", func, "func")
    found = as_term(x)
    rank = found.rank
    for axis in each(axes):
        place = checked("apply_over_axes", position, axis, rank)
        made = as_term(func(found, place))
        if made.rank not in (rank, rank - 1):
            what = f"apply_over_axes: of {found.type!r} the function makes {made.type!r}"
            raise AxesError(what, where=user_line(), do="let it keep the axes, or take away the one it is given")
        found = made if made.rank == rank else expand_dims(made, axis=place)
    return found
