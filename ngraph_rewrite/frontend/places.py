# SPDX-License-Identifier: Apache-2.0
"""Where an assignment writes: a variable, or a part of one that an index takes, or a part of a part."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.frontend.building import apply
from ngraph_rewrite.ops.indexing import Index, count
from ngraph_rewrite.ops.simple_parts import full_index, one_index
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.types.axes import anonymous


class Place(NamedTuple):
    """A variable, and the parts that lead to what is written: each a term that takes a part of the next."""

    variable: Op
    parts: tuple[Op, ...]


def place_of(lvalue: Op) -> Place | None:
    """What an assignment to `lvalue` writes, or None if that is neither storage nor a part of it."""
    parts, term = [], lvalue
    while term.definition.short in ("tensor_slice", "slice_axis"):
        parts.append(term)
        term = term.args[0]
    if term.definition.name == "core.after" and parts:  # what a part is taken from in an ordered block
        term = term.args[0]
    return Place(term, tuple(parts)) if term.definition.name == "core.variable" else None


def stored(place: Place, value: Op) -> Op:
    """The whole variable once `value`, which has the type of the part, stands there.

    The rest of it stays as the write finds it: other writes may come between a read and this one.
    """
    if not place.parts:
        return value
    wholes = [place.variable if place.variable.user_deps else apply("core.present", place.variable)]
    for part in place.parts[:0:-1]:
        wholes.append(build(part.definition, (wholes[-1],), **part.attributes))
    for part, whole in zip(place.parts, reversed(wholes), strict=True):
        value = _replaced(part, whole, value)
    return value


def _replaced(part: Op, whole: Op, value: Op) -> Op:
    items = _index(part)
    if whole.axes.named or not whole.rank:
        return apply("axes.set_slice", whole, value, items=items)
    each = [i if isinstance(i, tuple) else (i, i + 1, 1) for i in items]
    starts, stops, steps = (tuple(i[k] for i in each) for k in range(3))
    kept = tuple(count(i) for i in each)
    new = apply("semi.update", _plain(whole), _reshaped(_plain(value), kept), starts=starts, stops=stops, steps=steps)
    return new if new.axes == whole.axes else apply("core.label", new, axes=whole.axes)


def _index(part: Op) -> Index:
    """The index of a part, with an entry for every axis of what it is taken from."""
    axes = part.args[0].axes
    if part.definition.short == "slice_axis":
        return one_index(axes, *part.attrs)
    items = part.attribute("items")
    return full_index(axes, items) if part.definition.family == "simple" else items


def _plain(x: Op) -> Op:
    return x if x.axes == anonymous(x.shape) else apply("core.strip", x)


def _reshaped(x: Op, shape: tuple[object, ...]) -> Op:
    return x if x.shape == shape else apply("semi.reshape", x, shape=shape)
