# SPDX-License-Identifier: Apache-2.0
"""The functions of the semi family that read at indices and put something there.

A negative index counts from the end. One outside of its axis reads zeros, and puts nothing. Where several put something
at one place, they do so one after the other, in row-major order, on every target.
"""

from __future__ import annotations

from ngraph_rewrite.frontend.building import Operand, apply
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.op import Op


def scatter_add(x: Operand, indices: Operand, updates: Operand, axis: int = 0) -> Op:
    """`x` plus `updates` at `indices` along `axis`; `updates` has the shape of ``gather(x, indices, axis)``.

    >>> import ngraph_rewrite as ng
    >>> table, rows = ng.placeholder((9, 3)), ng.placeholder((4, 3))
    >>> ng.semi.scatter_add(table, ng.placeholder((4,), "int64"), rows).type
    float32[9, 3]
    """
    return apply("semi.scatter_add", as_op(x), as_op(indices), as_op(updates), axis=axis)


def scatter(x: Operand, indices: Operand, updates: Operand, axis: int = 0, how: str = "set") -> Op:
    """`x` with `updates` put at `indices` along `axis`; `updates` has the shape of ``gather(x, indices, axis)``.

    Args:
        x, updates: Of one dtype.
        indices: Integers of any shape.
        how: What is there then: ``"set"`` the last update, or the sum (``"add"``), product (``"multiply"``), greatest
            (``"max"``) or least (``"min"``) of what was there and all updates; NaN if any of them is.

    Raises:
        AttributeValueError: for another `how`.
        AxesError: for updates of another shape.
        DTypeError: for indices that are not integers, other dtypes, or bools that are not set.

    >>> import ngraph_rewrite as ng
    >>> x = ng.semi.scatter(ng.constant([1.0, 2.0, 3.0]), ng.constant([2, 0, 2]), ng.constant([7.0, 8.0, 9.0]))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(x)()
    array([8., 2., 9.], dtype=float32)
    """
    if how == "add":
        return scatter_add(x, indices, updates, axis)
    return apply("semi.scatter", as_op(x), as_op(indices), as_op(updates), axis=axis, how=how)


def take_along(x: Operand, indices: Operand, axis: int = -1) -> Op:
    """Each line of `x` along `axis` at the indices of the same line of `indices`; outside reads zeros.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.take_along(ng.placeholder((2, 5)), ng.placeholder((2, 3), "int64")).type
    float32[2, 3]
    """
    return apply("semi.take_along", as_op(x), as_op(indices), axis=axis)


def add_along(x: Operand, indices: Operand, updates: Operand, axis: int = -1) -> Op:
    """`x` plus `updates` at the indices of the same line along `axis`; those outside add nothing.

    >>> import ngraph_rewrite as ng
    >>> ng.semi.add_along(ng.placeholder((2, 5)), ng.placeholder((2, 3), "int64"), ng.placeholder((2, 3))).type
    float32[2, 5]
    """
    return apply("semi.add_along", as_op(x), as_op(indices), as_op(updates), axis=axis)


def put_along(x: Operand, indices: Operand, updates: Operand, axis: int = -1, how: str = "set") -> Op:
    """`x` with `updates` put at the indices of the same line along `axis`; `indices` and `updates` have one shape.

    That is the shape of `x` but along `axis`. What `how` says, and the errors, are those of `scatter`.

    >>> import ngraph_rewrite as ng
    >>> places, values = ng.placeholder((2, 3), "int64"), ng.placeholder((2, 3))
    >>> ng.semi.put_along(ng.placeholder((2, 5)), places, values, how="max").type
    float32[2, 5]
    """
    if how == "add":
        return add_along(x, indices, updates, axis)
    return apply("semi.put_along", as_op(x), as_op(indices), as_op(updates), axis=axis, how=how)
