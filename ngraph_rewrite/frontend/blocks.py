# SPDX-License-Identifier: Apache-2.0
"""Channels moved into space and back: each pixel becomes a block of pixels, which its channels hold."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, LengthError
from ngraph_rewrite.frontend.building import Operand, apply, checked
from ngraph_rewrite.frontend.places import plain
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.lengths import Extent, Length

_ORDERS = ("blocks", "channels")


def depth_to_space(x: Operand, channels: Any, blocks: Mapping[Any, int], order: str = "blocks") -> Op:
    """`x` with blocks of pixels in the place of each pixel: so many along each of some axes, taken from the channels.

    Args:
        channels: The axis of channels, by its name, or by its position where axes have no names.
        blocks: How many pixels a block has along an axis, by axis; the first axis counts slowest in the channels.
        order: What counts slower in the channels: places in ``"blocks"`` (DCR in ONNX), or the ``"channels"`` that are
            left (CRD in ONNX; PyTorch's ``pixel_shuffle``).

    Raises:
        ArgumentError: if `blocks` is no mapping.
        AttributeValueError: for another order, a block that is no integer of at least 1, or an axis twice.
        UnmatchedAxesError, OutOfRangeError: for an axis that `x` does not have.
        LengthError: if the channels are no multiple of what a block has.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"C": 12, "H": 5, "W": 7})
    >>> ng.depth_to_space(x, "C", {"H": 2, "W": 2}).type
    float32[C:3, H:10, W:14]
    """
    term = as_op(x)
    channel, sizes = _read("depth_to_space", term, channels, blocks, order)
    left = _quotient("depth_to_space", term, channel, prod(sizes.values()))
    split: list[tuple[Extent, ...]] = [(n,) for n in term.shape]
    split[channel] = (*sizes.values(), left) if order == "blocks" else (left, *sizes.values())
    first = channel if order == "blocks" else channel + 1
    inner = {axis: first + k for k, axis in enumerate(sizes)}  # where the block of each axis stands now
    own = {k: k if k < channel else k + len(sizes) for k in range(term.rank)}
    own[channel] = channel + len(sizes) if order == "blocks" else channel
    order_now = [p for k in range(term.rank) for p in ((own[k], inner[k]) if k in sizes else (own[k],))]
    parts = apply("semi.reshape", plain(term), shape=[n for group in split for n in group])
    lengths = [left if k == channel else n * sizes.get(k, 1) for k, n in enumerate(term.shape)]
    return _named(term, apply("semi.transpose", parts, perm=order_now), lengths)


def space_to_depth(x: Operand, channels: Any, blocks: Mapping[Any, int], order: str = "blocks") -> Op:
    """What `depth_to_space` undoes: the pixels of each block as channels of one pixel. The arguments are its own.

    Raises:
        LengthError: if an axis is no multiple of its block. Other errors are those of `depth_to_space`.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"C": 3, "H": 10, "W": 14})
    >>> ng.space_to_depth(x, "C", {"H": 2, "W": 2}).type
    float32[C:12, H:5, W:7]
    """
    term = as_op(x)
    channel, sizes = _read("space_to_depth", term, channels, blocks, order)
    fewer = {axis: _quotient("space_to_depth", term, axis, size) for axis, size in sizes.items()}
    split = [(fewer[k], sizes[k]) if k in sizes else (n,) for k, n in enumerate(term.shape)]
    starts = [sum(len(group) for group in split[:k]) for k in range(term.rank)]
    inner = [starts[axis] + 1 for axis in sizes]
    together = [*inner, starts[channel]] if order == "blocks" else [starts[channel], *inner]
    order_now = [p for k in range(term.rank) for p in (together if k == channel else (starts[k],))]
    parts = apply("semi.reshape", plain(term), shape=[n for group in split for n in group])
    lengths = [n * prod(sizes.values()) if k == channel else fewer.get(k, n) for k, n in enumerate(term.shape)]
    return _named(term, apply("semi.transpose", parts, perm=order_now), lengths)


def _named(x: Op, parts: Op, lengths: list[Extent]) -> Op:
    new = apply("semi.reshape", parts, shape=lengths)
    axes = Axes(a.with_length(n) for a, n in zip(x.axes, lengths, strict=True))
    return new if new.axes == axes else apply("core.label", new, axes=axes)


def _read(call: str, x: Op, channels: Any, blocks: Any, order: str) -> tuple[int, dict[int, int]]:
    """The place of the channels, and the size of a block by place."""
    if not isinstance(blocks, Mapping):
        raise ArgumentError(f"{call}: the blocks are {blocks!r}", where=user_line(), do='write {"H": 2, "W": 2}')
    if order not in _ORDERS:
        what = f"{call}: order is {order!r}"
        raise AttributeValueError(what, where=user_line(), do=f"use one of {', '.join(_ORDERS)}")
    sizes = {_place(call, x, axis): size for axis, size in blocks.items()}
    channel = _place(call, x, channels)
    if len(sizes) < len(blocks) or channel in sizes:
        raise AttributeValueError(f"{call}: {blocks!r} has an axis twice, or the channels", where=user_line())
    for size in sizes.values():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            what = f"{call}: a block is {size!r}"
            raise AttributeValueError(what, where=user_line(), do="give integers of at least 1")
    return channel, sizes


def _place(call: str, x: Op, axis: Any) -> int:
    if isinstance(axis, str | Axis):
        return x.axes.index(checked(call, axis_of, x.axes, axis))
    return checked(call, position, axis, x.rank)


def _quotient(call: str, x: Op, axis: int, size: int) -> int:
    length = x.shape[axis]
    if isinstance(length, Length) or length % size:
        what = f"{call}: axis {x.axes[axis].name or axis} of {x.type!r} in parts of {size}"
        raise LengthError(what, where=user_line(), do=f"give it a length that is a multiple of {size}")
    return length // size
