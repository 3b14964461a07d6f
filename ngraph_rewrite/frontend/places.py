# SPDX-License-Identifier: Apache-2.0
"""Parts that are replaced: where an assignment writes, and what is there then.

A place is a variable, or a part of one that an index takes, or a part of a part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.building import Operand, apply, checked, dimensions
from ngraph_rewrite.frontend.storage import as_op, constant
from ngraph_rewrite.ops.fitting import castable, fitted
from ngraph_rewrite.ops.indexing import Index, count
from ngraph_rewrite.ops.simple_parts import full_index, one_index
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.operands import as_constant
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import anonymous

# What one array of indices takes.
_PICKED = "numpy.gather"


class Place(NamedTuple):
    """A variable, and the parts that lead to what is written: each a term that takes a part of the next."""

    variable: Op
    parts: tuple[Op, ...]


def set_slice(x: Operand, item: Any, value: Operand) -> Op:
    """`x` with another value in the part that an index takes; nothing is assigned.

    Args:
        item: Integers, slices of any step but 0, and `...`, in a tuple if there are several.
        value: A term, number or array that is spread over the part and cast, as `assign` does.

    Raises:
        OutOfRangeError, AttributeValueError: if `item` is no index of `x`.
        UnmatchedAxesError, DTypeError: if the value does not fit the part.

    >>> import ngraph_rewrite as ng
    >>> x = ng.constant([1.0, 2.0, 3.0], {"H": 3})
    >>> with ng.make_transformer("reference") as transformer:
    ...     transformer.computation(ng.set_slice(x, slice(None, None, 2), 0))()
    array([0., 2., 0.], dtype=float32)
    """
    whole = as_op(x)
    part = whole[item]
    if part.definition.short != "tensor_slice":  # elements that are picked, or a new axis
        raise AttributeValueError(f"set_slice: the index {item!r}", where=user_line(), do="give integers or slices")
    return replaced(part, whole, value_for("set_slice", part, value))


def place_of(lvalue: Op) -> Place | None:
    """What an assignment to `lvalue` writes, or None if that is neither storage nor a part of it."""
    parts, term = [], lvalue
    while term.definition.short in ("tensor_slice", "slice_axis") or term.definition.name == _PICKED:
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
        wholes.append(build(part.definition, (wholes[-1], *part.args[1:]), **part.attributes))
    for part, whole in zip(place.parts, reversed(wholes), strict=True):
        value = replaced(part, whole, value)
    return value


def replaced(part: Op, whole: Op, value: Op) -> Op:
    """`whole` with `value`, which has the type of the part, where the part is taken from it."""
    if part.definition.name == _PICKED:
        return apply("semi.scatter", whole, part.args[1], value, axis=part.attribute("axis"), how="set")
    items = _index(part)
    if whole.axes.named or not whole.rank:
        return apply("axes.set_slice", whole, value, items=items)
    each = [i if isinstance(i, tuple) else (i, i + 1, 1) for i in items]
    starts, stops, steps = (tuple(i[k] for i in each) for k in range(3))
    kept = tuple(count(i) for i in each)
    new = apply("semi.update", plain(whole), _reshaped(plain(value), kept), starts=starts, stops=stops, steps=steps)
    return new if new.axes == whole.axes else apply("core.label", new, axes=whole.axes)


def _index(part: Op) -> Index:
    """The index of a part, with an entry for every axis of what it is taken from."""
    axes = part.args[0].axes
    if part.definition.short == "slice_axis":
        return one_index(axes, *part.attrs)
    items = part.attribute("items")
    return full_index(axes, items) if part.definition.family == "simple" else items


def plain(x: Op) -> Op:
    """`x` without marks, or names, of axes."""
    return x if x.axes == anonymous(x.shape) else apply("core.strip", x)


def _reshaped(x: Op, shape: tuple[object, ...]) -> Op:
    return x if x.shape == shape else apply("semi.reshape", x, shape=shape)


def value_for(call: str, part: Op, value: Any) -> Op:
    """The value with exactly the type of the part."""
    if not isinstance(value, Op) and dimensions(call, value):
        given = np.asarray(value)
        if hasattr(value, "dtype"):
            checked(call, castable, given.dtype, part.dtype, describe(part))
        if not part.axes.named and given.shape != part.shape:
            return checked(call, fitted, constant(value, dtype=part.dtype), part.type, describe(part))
        return constant(value, part.axes, part.dtype)
    term = value if isinstance(value, Op) else as_constant(value, [part])
    return checked(call, fitted, term, part.type, describe(part))
