# SPDX-License-Identifier: Apache-2.0
"""Effects: assignments, and the order in which they happen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, DTypeError, FamilyError, SequencingError, UnmatchedAxesError
from ngraph_rewrite.frontend.building import Operand, apply, terms_of
from ngraph_rewrite.frontend.storage import as_op, as_ops, constant
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op, Uid, as_constant, build, describe, user_line
from ngraph_rewrite.types.dtypes import DType


def assign(lvalue: Op, rvalue: Operand) -> Op:
    """Store a value in a variable. The term's own value is what was stored.

    Args:
        lvalue: A variable, a persistent tensor or a temporary.
        rvalue: A term, number, or array of the variable's shape. Its axes are some of the variable's, in any
            order: it is spread over the others. Its dtype is cast if it is of the same kind or a lesser one.

    Raises:
        SequencingError: if `lvalue` is no storage.
        UnmatchedAxesError: if the value has an axis that the variable lacks.
        DTypeError: if the value would have to become another kind of number, such as float to int.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable([], name="x")
    >>> ng.assign(x, x + 1)
    assign(x, axes.add(x, 1.0))
    """
    if not isinstance(lvalue, Op) or lvalue.definition.name != "core.variable":
        shown = describe(lvalue, 1) if isinstance(lvalue, Op) else repr(lvalue)
        raise SequencingError(
            f"assign: {shown} is not storage",
            where=user_line(),
            do="assign to a variable, a persistent tensor or a temporary",
        )
    return build(lookup("core.assign"), (lvalue, _fitted(lvalue, rvalue)), uid=Uid())


def fill(x: Op, scalar: Operand) -> Op:
    """Store one number in every element of a variable.

    Raises:
        AttributeValueError: if `scalar` is not a number or a constant of one.
        SequencingError: if `x` is no storage.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable({"H": 3}, name="x")
    >>> ng.fill(x, 0).type
    float32[H:3]
    """
    number = scalar.attribute("value").scalar if isinstance(scalar, Op) and _is_constant(scalar) else scalar
    if isinstance(number, Op) or number is None or np.ndim(number):
        raise AttributeValueError(
            f"fill: {scalar!r} is not one number", where=user_line(), do="give a number, or use assign"
        )
    return assign(x, number)


def sequential(ops: Iterable[Operand]) -> Op:
    """Run the terms in order, each handle once; the value is that of the last.

    Every term sees the assignments before it, and none after it.

    Raises:
        SequencingError: if there are no terms.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable([], name="x")
    >>> six = ng.sequential([ng.assign(x, 5), x + 1])
    """
    return build(lookup("core.sequential"), tuple(as_ops(terms_of("sequential", ops))))


def doall(ops: Iterable[Op]) -> Op:
    """Run all the terms, each seeing the state from before. It has no value of its own.

    >>> import ngraph_rewrite as ng
    >>> x, y = ng.variable([], name="x"), ng.variable([], name="y")
    >>> swap = ng.doall([ng.assign(x, y), ng.assign(y, x)])
    """
    return build(lookup("core.doall"), tuple(as_ops(terms_of("doall", ops))))


def after(x: Operand, *effects: Op) -> Op:
    """`x`, once the effects have run, in order.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable([], name="x")
    >>> ng.after(x + 1, ng.assign(x, 5)).other_deps
    (assign(x, 5.0),)
    """
    return build(lookup("core.after"), tuple(as_ops((x, *effects))))


def value_of(x: Operand) -> Op:
    """A copy of what `x` is at this place: later assignments do not show in it. A constant is its own copy.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable([], name="x")
    >>> old = ng.value_of(x)
    >>> before = ng.sequential([old, ng.assign(x, x + 1), old])
    """
    term = as_op(x)
    return term if _is_constant(term) else build(lookup("core.value_of"), (term,))


def _is_constant(x: Op) -> bool:
    return x.definition.name == "core.constant"


def _fitted(storage: Op, value: Any) -> Op:
    """The value with exactly the type of the storage."""
    if not isinstance(value, Op) and np.ndim(value):
        given = np.asarray(value).dtype if hasattr(value, "dtype") else storage.dtype
        _castable(storage, given)
        return constant(value, storage.axes, storage.dtype)
    term = value if isinstance(value, Op) else as_constant(value, [storage])
    if term.dtype != storage.dtype:
        _castable(storage, term.dtype)
        term = apply(f"{'axes' if term.axes.named else 'semi'}.cast", term, dtype=storage.dtype)
    if term.axes == storage.axes:
        return term
    return _named(storage, term) if storage.axes.named else _positional(storage, term)


def _castable(storage: Op, dtype: DType) -> None:
    if not np.can_cast(dtype, storage.dtype, "same_kind"):
        raise DTypeError(
            f"assign: the value is {dtype}, {describe(storage)} is {storage.dtype}",
            where=user_line(),
            do=f"write ng.cast(value, {str(storage.dtype)!r}) if that is meant",
        )


def _named(storage: Op, term: Op) -> Op:
    if not term.axes.named:
        raise FamilyError(
            f"assign: {describe(term, 1)} has no names, {describe(storage)} has the axes {storage.axes!r}",
            where=user_line(),
            do="write ng.label(value, axes) to name its axes",
        )
    if not term.axes.is_sub_set(storage.axes):
        raise UnmatchedAxesError(
            f"assign: the value's axes {term.axes!r} are not among those of {describe(storage)}, {storage.axes!r}",
            where=user_line(),
            do="reduce the value over the others",
        )
    return apply("axes.broadcast", term, axes=storage.axes)


def _positional(storage: Op, term: Op) -> Op:
    if term.rank:
        raise UnmatchedAxesError(
            f"assign: the value's axes {term.axes!r} are not those of {describe(storage)}, {storage.axes!r}",
            where=user_line(),
            do="reshape it, or write ng.strip(value) to forget its names",
        )
    return apply("semi.broadcast", term, shape=storage.axes.lengths, dims=())
