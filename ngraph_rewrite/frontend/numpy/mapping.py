# SPDX-License-Identifier: Apache-2.0
"""A function of one array as a function of many that lie along an axis: by position, as ``jax.vmap`` has it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import repeat
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AxesError
from ngraph_rewrite.frontend.building import checked, function_of
from ngraph_rewrite.frontend.numpy.manipulation import moveaxis
from ngraph_rewrite.frontend.numpy.operands import as_term
from ngraph_rewrite.frontend.scan import built
from ngraph_rewrite.frontend.structures import Structure, flat, like
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.lengths import Extent

# The axis of an operand that is mapped over; None is none. Several: one for each.
MappedAxes = int | None | tuple[int | None, ...]


def vmap(
    function: Callable[..., Structure], in_axes: MappedAxes = 0, out_axes: int | tuple[int, ...] = 0
) -> Callable[..., Structure]:
    """A function of arrays as a function of arrays with one axis more, along which it is done for each.

    `function` is called once, with terms that lack the axis. What it does for one place is done for all at once: as one
    product, one kernel, where that goes, and as a loop where it does not. It can be differentiated, and derivatives
    taken inside of it are those of each place. What it draws it draws for each place.

    Args:
        function: From terms, or tuples, lists and dicts of terms, to such, or None. It may use terms from outside.
        in_axes: Which axis of the operands is mapped over, or which of each argument; None for arguments that are the
            same for all. Of arguments given by name it is the first.
        out_axes: Where the axis stands in what the function returns, or in each part of the tuple that it returns.

    Returns:
        A function of the same arguments, with the axis.

    Raises:
        ArgumentError: for what is no function; (by that function) if nothing is mapped over, or `in_axes` or
            `out_axes` does not fit.
        AxesError: if an operand lacks the axis, or operands differ in its length.
        SequencingError: if the function assigns to a variable.

    >>> import ngraph_rewrite as ng
    >>> rows, w = ng.placeholder((7, 3)), ng.placeholder((3, 2))
    >>> ng.numpy.vmap(lambda row, w: ng.numpy.tanh(row @ w), in_axes=(0, None))(rows, w).type
    float32[7, 2]
    """

    function_of("vmap", function, "function")

    @wraps(function)
    def mapped(*args: Structure, **named: Structure) -> Structure:
        given = [*args, *named.values()]
        places = [*_places("in_axes", in_axes, len(args)), *(0 for _ in named)]
        pairs = [(as_term(x), axis) for part, axis in zip(given, places, strict=True) for x in flat(part)]
        sequences = [_moved(x, axis) for x, axis in pairs if axis is not None]
        length = _length(sequences)

        def step(_: Structure, slices: list[Op]) -> tuple[None, Structure]:
            left = iter(slices)
            own = like((args, named), [x if axis is None else next(left) for x, axis in pairs])
            return None, function(*own[0], **own[1])

        axes = [anonymous(x.shape[1:]) for x in sequences]
        found = built(
            "semi.scan", step, (None, []), (sequences, sequences), axes, call="vmap", length=length, reverse=False
        )[1]
        return _placed(found, out_axes)

    return mapped


def _places(name: str, axes: MappedAxes, count: int) -> list[Any]:
    """The axis of each of so many arguments."""
    if not isinstance(axes, tuple | list):
        return list(repeat(axes, count))
    if len(axes) != count:
        what = f"vmap: {name} is {axes!r}, for {count} {'arguments' if name == 'in_axes' else 'results'}"
        raise ArgumentError(what, where=user_line(), do="name one axis for each, or one for all")
    return list(axes)


def _moved(x: Op, axis: int) -> Op:
    """An operand with the axis first."""
    if not x.rank:
        what = f"vmap: {describe(x, 1)} is a number, which has no axis {axis}"
        raise AxesError(what, where=user_line(), do="say that it is the same for all: in_axes=None at its place")
    return moveaxis(x, checked("vmap", position, axis, x.rank), 0)


def _length(sequences: list[Op]) -> Extent:
    """The length of the axis."""
    if not sequences:
        raise ArgumentError("vmap: no operand is mapped over", where=user_line(), do="give in_axes an axis")
    for x in sequences[1:]:
        if x.shape[0] != sequences[0].shape[0]:
            what = f"vmap: the axis has {sequences[0].shape[0]!r} places in {describe(sequences[0], 1)} and "
            raise AxesError(f"{what}{x.shape[0]!r} in {describe(x, 1)}", where=user_line())
    return sequences[0].shape[0]


def _placed(found: Structure, axes: int | tuple[int, ...]) -> Structure:
    """Results with the axis where it is wanted."""
    if isinstance(axes, tuple | list):
        parts = found if isinstance(found, tuple | list) else (found,)
        placed = [_placed(part, axis) for part, axis in zip(parts, _places("out_axes", axes, len(parts)), strict=True)]
        return type(found)(placed) if isinstance(found, tuple | list) else placed[0]
    terms = [as_term(x) for x in flat(found)]
    return like(found, [x if axes == 0 else moveaxis(x, 0, checked("vmap", position, axes, x.rank)) for x in terms])
