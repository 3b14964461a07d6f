# SPDX-License-Identifier: Apache-2.0
"""Effects: assignments to variables and to parts of them, and the order in which they happen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, SequencingError
from ngraph_rewrite.frontend.building import Operand, terms_of
from ngraph_rewrite.frontend.places import place_of, stored, value_for
from ngraph_rewrite.frontend.storage import as_op, as_ops
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.lengths import Length


def assign(lvalue: Op, rvalue: Operand) -> Op:
    """Store a value in a variable, or in a part of one. The term's own value is the variable as it is then.

    Args:
        lvalue: A variable, a persistent tensor or a temporary; or a part of one, such as ``x[1:3]`` or
            ``x[0][::-2]``, without names also of an array of indices, ``x[i]``: of equal ones the last counts.
        rvalue: A term, number, or array of the shape of `lvalue`. Its axes are some of those, in any
            order: it is spread over the others. Without names it broadcasts as in NumPy. Its dtype is cast if it
            is of the same kind or a lesser one.

    Raises:
        SequencingError: if `lvalue` is no storage and no part of any.
        UnmatchedAxesError: if the value has an axis that `lvalue` lacks.
        DTypeError: if the value would have to become another kind of number, such as float to int.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable([], name="x")
    >>> ng.assign(x, x + 1)
    assign(x, axes.add(x, 1.0))
    >>> y = ng.variable({"H": 4}, initial_value=[1.0, 2.0, 3.0, 4.0])
    >>> with ng.make_transformer("reference") as transformer:
    ...     transformer.computation(ng.assign(y[::-2], y[1:3]))()
    array([1., 3., 3., 2.], dtype=float32)
    """
    place = place_of(lvalue) if isinstance(lvalue, Op) else None
    if place is None:
        shown = describe(lvalue, 1) if isinstance(lvalue, Op) else repr(lvalue)
        raise SequencingError(
            f"assign: {shown} is not storage",
            where=user_line(),
            do="assign to a variable, a persistent tensor or a temporary, to a slice of one or to x[i] of indices i; "
            "for several indices assign ng.numpy.at(x)[i, j].set(value) to x",
        )
    return build(lookup("core.assign"), (place.variable, stored(place, value_for("assign", lvalue, rvalue))), uid=Uid())


def set_item(tensor: Op, item: Any, value: Operand) -> Op:
    """Store a value in the part of a variable that an index takes: ``assign(tensor[item], value)``.

    Args:
        tensor: A variable, or a part of one.
        item: Integers, slices of any step but 0, and `...`, in a tuple if there are several.
        value: As for `assign`.

    Raises:
        SequencingError: if `tensor` is no storage and no part of any.
        OutOfRangeError, AttributeValueError: if `item` is no index of it.
        UnmatchedAxesError, DTypeError: if the value does not fit.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable({"H": 2, "W": 3}, name="x")
    >>> with ng.make_transformer("reference") as transformer:
    ...     transformer.computation(ng.set_item(x, (0, slice(1, None)), 7))()
    array([[0., 7., 7.],
           [0., 0., 0.]], dtype=float32)
    """
    if not isinstance(tensor, Op):
        raise SequencingError(
            f"set_item: {tensor!r} is not storage", where=user_line(), do="give a variable, or a part of one"
        )
    return assign(tensor[item], value)


def fill(x: Op, scalar: Operand) -> Op:
    """Store one number in every element of a variable, or of a part of one.

    Raises:
        AttributeValueError: if `scalar` is not a number or a constant of one.
        SequencingError: if `x` is no storage and no part of any.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable({"H": 3}, name="x")
    >>> ng.fill(x, 0).type, ng.fill(x[1:], 0).type
    (float32[H:3], float32[H:3])
    """
    number = scalar.attribute("value").scalar if isinstance(scalar, Op) and _is_constant(scalar) else scalar
    if isinstance(number, Op | Length) or number is None or np.ndim(number):
        raise AttributeValueError(
            f"fill: {scalar!r} is not one number", where=user_line(), do="give a number, or use assign"
        )
    return assign(x, number)


def sequential(ops: Iterable[Operand]) -> Op:
    """Run the terms in order, each handle once; the value is that of the last.

    Every term sees the assignments before it, and none after it. A term that is listed once more, here or in a
    sequence inside, does not run again.

    Raises:
        SequencingError: if there are no terms. A computation raises it too, if another sequence of it lists two
            assignments to one variable the other way round.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable([], name="x")
    >>> six = ng.sequential([ng.assign(x, 5), x + 1])
    """
    return build(lookup("core.sequential"), tuple(as_ops(terms_of("sequential", ops))))


def doall(ops: Iterable[Op]) -> Op:
    """Run all the terms, each seeing the state from before. It has no value of its own.

    Of two that write the same place of a variable the later one in the list counts, and the other is lost: what should
    see what another one wrote stands in `sequential`.

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
