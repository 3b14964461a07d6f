# SPDX-License-Identifier: Apache-2.0
"""Simple ops that take parts of tensors and put them together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, FamilyError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import extent, extents, integer_only, known_shape, literal, position, several
from ngraph_rewrite.ops.indexing import Entry, Index, canonical_index, count, numpy_index
from ngraph_rewrite.ops.simple_marks import Key, align, common, features, key_of, keys, marked, placed, simple, together
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType, as_dtype, promote
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def full_index(axes: Axes, items: Index) -> Index:
    """An index of the features as one of all axes: N and R are taken whole."""
    return tuple(items[k] if isinstance(k, int) else (0, a.length, 1) for k, a in zip(keys(axes), axes, strict=True))


def one_index(axes: Axes, axis: Key, item: Entry) -> Index:
    """An index of one axis as one of all."""
    return tuple(item if k == axis else (0, a.length, 1) for k, a in zip(keys(axes), axes, strict=True))


def _sliced(x: TensorType, items: Index) -> TensorType:
    pairs = [(a, count(i)) for a, i in zip(x.axes, items, strict=True) if isinstance(i, tuple)]
    return x.with_axes(a if n == a.length else a.with_length(n) for a, n in pairs)


def _items(x: TensorType, *, items: Any) -> Attributes:
    simple(x)
    return {"items": canonical_index(items, features(x.axes))}


def _tensor_slice(term: Op, x: Any) -> Any:
    return np.asarray(x[numpy_index(full_index(term.args[0].axes, term.attribute("items")))])


@op("simple.tensor_slice", "view", meaning=_tensor_slice, normalise=_items)
def tensor_slice(x: TensorType, *, items: Index) -> TensorType:
    """NumPy basic indexing of the features: integers drop theirs, slices keep it; N and R are taken whole."""
    return _sliced(x, full_index(x.axes, items))


def _item(x: TensorType, *, axis: Any, item: Any) -> Attributes:
    simple(x)
    key = key_of(x, axis)
    return {"axis": key, "item": canonical_index((item,), (x.shape[keys(x.axes).index(key)],))[0]}


def _slice_axis(term: Op, x: Any) -> Any:
    return np.asarray(x[numpy_index(one_index(term.args[0].axes, *term.attrs))])


@op("simple.slice_axis", "view", meaning=_slice_axis, normalise=_item)
def slice_axis(x: TensorType, *, axis: Key, item: Entry) -> TensorType:
    """`x` at a position of one axis, a feature or N or R, which it drops; or a slice of it."""
    return _sliced(x, one_index(x.axes, axis, item))


def _place(x: TensorType, *, items: Any, axes: Any) -> Attributes:
    simple(x)
    wanted = marked(axes)
    return {"items": canonical_index(items, wanted.lengths), "axes": wanted}


def _unslice(term: Op, x: Any) -> Any:
    result = np.zeros(known_shape(term.axes), term.dtype)
    result[numpy_index(term.attribute("items"))] = x
    return result


@op("simple.unslice", meaning=_unslice, normalise=_place)
def unslice(x: TensorType, *, items: Index, axes: Axes) -> TensorType:
    """Zeros of `axes` with `x` where `items`, one for each of them, point: a slice, put back."""
    whole = x.with_axes(axes)
    if _sliced(whole, items) != x:
        raise AxesError(f"{x!r} is not a part {items} of {axes!r}", do="it must have the axes that a slice gives")
    return whole


def _paddings(x: TensorType, *, before: Any, after: Any, value: Any) -> Attributes:
    simple(x)
    number = len(features(x.axes))
    if not len(several(before, "before")) == len(several(after, "after")) == number:
        raise AttributeValueError(f"before {before}, after {after}", do=f"give {number} of each, one per feature axis")
    around = {"before": extents(before, "padding"), "after": extents(after, "padding")}
    return {**around, "value": literal(value, x.dtype)}


def spread_out(axes: Axes, values: tuple[Extent, ...]) -> tuple[Extent, ...]:
    """A number per feature as one per axis, 0 for N and R."""
    return tuple(values[k] if isinstance(k, int) else 0 for k in keys(axes))


def _pad(term: Op, x: Any) -> Any:
    before, after, value = term.attrs
    pairs: Any = tuple(zip(spread_out(term.axes, before), spread_out(term.axes, after), strict=True))
    return np.pad(x, pairs, constant_values=value.array(())) if x.ndim else x


@op("simple.pad", meaning=_pad, normalise=_paddings)
def pad(x: TensorType, *, before: tuple[Extent, ...], after: tuple[Extent, ...], value: Literal) -> TensorType:
    """`x` with `value` before and after it, per feature axis."""
    around = zip(x.axes, spread_out(x.axes, before), spread_out(x.axes, after), strict=True)
    return x.with_axes(a.with_length(b + a.length + c) for a, b, c in around)


# -- several tensors ----------------------------------------------------------------------------------


def _concat_axis(x: TensorType, *xs: TensorType, axis: Any) -> Attributes:
    simple(x, *xs)
    key = key_of(x, axis)
    for other in xs:
        key_of(other, key)
    return {"axis": key}


def lengthened(axes: Axes, axis: Key, length: Extent) -> Axes:
    """The axes with another length of the one with this key."""
    return Axes(a.with_length(length) if k == axis else a for k, a in zip(keys(axes), axes, strict=True))


def _concat(term: Op, *xs: Any) -> Any:
    axis = term.attribute("axis")
    parts = []
    for x, arg in zip(xs, term.args, strict=True):
        own = lengthened(term.axes, axis, arg.shape[keys(arg.axes).index(axis)])
        parts.append(np.broadcast_to(align(x, arg.axes, own), known_shape(own)).astype(term.dtype, copy=False))
    return np.concatenate(parts, keys(term.axes).index(axis))


@op("simple.concat", meaning=_concat, normalise=_concat_axis)
def concat(x: TensorType, *xs: TensorType, axis: Key) -> TensorType:
    """The arguments one after the other along `axis`, a feature or N or R that all have; the others combine."""
    total: Extent = 0
    for other in (x, *xs):
        total = total + other.shape[keys(other.axes).index(axis)]
    axes = together(*(lengthened(other.axes, axis, total) for other in (x, *xs)))
    return TensorType(promote(*(t.dtype for t in (x, *xs))), axes)


def _stack_position(x: TensorType, *xs: TensorType, pos: Any) -> Attributes:
    simple(x, *xs)
    return {"pos": position(pos, len(features(x.axes)) + 1, "pos")}


def _stack(term: Op, *xs: Any) -> Any:
    at = keys(term.axes).index(term.attribute("pos"))
    shape = known_shape(term.axes)
    one = without_feature(term.axes, term.attribute("pos"))
    parts = [
        np.broadcast_to(align(x, a.axes, one), shape[:at] + shape[at + 1 :]).astype(term.dtype, copy=False)
        for x, a in zip(xs, term.args, strict=True)
    ]
    return np.stack(parts, at)


def without_feature(axes: Axes, number: int) -> Axes:
    """The axes without one feature: those behind it are counted anew."""
    return Axes(a for k, a in zip(keys(axes), axes, strict=True) if k != number)


@op("simple.stack", meaning=_stack, normalise=_stack_position)
def stack(x: TensorType, *xs: TensorType, pos: int) -> TensorType:
    """The arguments, of equal features, side by side along a new feature axis, which becomes number `pos`."""
    own = features(x.axes)
    for other in xs:
        if features(other.axes) != own:
            raise AxesError(f"expected the features {own}, got {other!r}", do="reshape or broadcast it")
    axes = placed((*own[:pos], 1 + len(xs), *own[pos:]), x.axes, *(other.axes for other in xs))
    return TensorType(promote(*(t.dtype for t in (x, *xs))), axes)


# -- classes and tables -------------------------------------------------------------------------------


def _classes(x: TensorType, *, length: Any, dtype: Any) -> Attributes:
    return {"length": extent(length), "dtype": as_dtype(dtype)}


def _one_hot(term: Op, x: Any) -> Any:
    at, length = keys(term.axes).index(0), known_shape(term.axes)[keys(term.axes).index(0)]
    index = np.expand_dims(align(x, term.args[0].axes, without_feature(term.axes, 0)), at)
    wrapped, valid = functions.wrap(index, length)
    classes = np.arange(length).reshape([-1 if i == at else 1 for i in range(term.rank)])
    return ((classes == wrapped) & valid).astype(term.dtype)


@op("simple.one_hot", meaning=_one_hot, normalise=_classes)
def one_hot(x: TensorType, *, length: Extent, dtype: DType) -> TensorType:
    """1 where the new first feature, of this length, is at the integer `x`, 0 elsewhere.

    Negative integers count from the end; what lies outside gives zeros.
    """
    simple(x)
    integer_only(x)
    return TensorType(dtype, placed((length, *features(x.axes)), x.axes))


def _take(term: Op, table: Any, indices: Any) -> Any:
    have, count_ = term.args[1].axes, len(features(term.args[1].axes))
    own = Axes(a for a in have if a in tuple(common(have).values()))
    first = [keys(have).index(m) for m in keys(own)] + [keys(have).index(i) for i in range(count_)]
    taken = functions.gather(table, np.transpose(indices, first), 0)
    order = [*keys(own), *range(taken.ndim - len(own))]
    return np.transpose(taken, [order.index(k) for k in keys(term.axes)])


@op("simple.take", meaning=_take)
def take(table: TensorType, indices: TensorType) -> TensorType:
    """The entries of `table` along its first axis at the integers `indices`: their features, then an entry's.

    Negative integers count from the end; what lies outside gives zeros. The table has neither N nor R.
    """
    simple(table, indices)
    integer_only(indices)
    if common(table.axes):
        raise FamilyError(f"a table has neither N nor R, got {table!r}", do="take from it before it is repeated")
    if not table.rank:
        raise AxesError(f"cannot take from the scalar {table!r}", do="give a table with an axis of entries")
    return TensorType(table.dtype, placed((*features(indices.axes), *table.shape[1:]), indices.axes))
