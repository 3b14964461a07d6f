# SPDX-License-Identifier: Apache-2.0
"""Leaves of a graph with N and R marked, and lengths as terms."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ngraph_rewrite.frontend import functions, storage
from ngraph_rewrite.frontend.arrangement import label
from ngraph_rewrite.frontend.arrangement import strip as forget
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.simple.operands import Array, Keys, Shape, apply, as_term
from ngraph_rewrite.frontend.storage import Initial
from ngraph_rewrite.ops.simple_marks import keys, marked
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import FLOAT32, is_float

__all__ = [
    "constant",
    "mark",
    "normal",
    "parameter",
    "persistent_tensor",
    "placeholder",
    "tensor_size",
    "uniform",
    "variable",
]


def placeholder(shape: Shape, dtype: Any = None, name: str | None = None) -> Op:
    """A tensor that every call of a computation supplies, in the layout of `shape`.

    Args:
        shape: Lengths of features, and `N` or `R` where the samples and the time steps stand: alone they are of
            unknown length, bound by each call anew; ``N(32)`` has length 32.
        dtype: Its dtype; None is float32.
        name: What to call it in messages.

    Raises:
        AxesError: if N or R stands twice.
        FamilyError: for an axis with a name.
        AttributeValueError: for what is no length.
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> N, R = ng.simple.N, ng.simple.R
    >>> ng.simple.placeholder((28, R(28), N)).type
    float32[28, recurrent:28, sample:N]
    """
    return storage.placeholder(checked("placeholder", marked, shape), dtype, name)


def parameter(shape: Shape, dtype: Any = None, name: str | None = None) -> Op:
    """A parameter of a function (`ngraph_rewrite.function`), with the shape and errors of `placeholder`.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.parameter((3, ng.simple.N), name="x").type
    float32[3, sample:N]
    """
    return functions.parameter(checked("parameter", marked, shape), dtype, name)


def variable(
    shape: Shape,
    dtype: Any = None,
    initial_value: Initial | None = None,
    name: str | None = None,
    trainable: bool = True,
) -> Op:
    """A tensor that a transformer keeps between calls, and that training changes; usually features alone.

    Arguments and errors are those of `ngraph_rewrite.variable`, with the shape of `placeholder`; lengths are known.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.variable((10, 28), name="w").type
    float32[10, 28]
    """
    return storage.variable(checked("variable", marked, shape), dtype, initial_value, name, trainable)


def persistent_tensor(
    shape: Shape, dtype: Any = None, initial_value: Initial | None = None, name: str | None = None
) -> Op:
    """A tensor that a transformer keeps between calls, and that is no parameter of a model.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.persistent_tensor((3,)).variables()
    []
    """
    return storage.persistent_tensor(checked("persistent_tensor", marked, shape), dtype, initial_value, name)


def constant(value: ArrayLike, shape: Shape = None, dtype: Any = None, name: str | None = None) -> Op:
    """An immutable value.

    Args:
        value: A number or an array.
        shape: Which of its dimensions N and R are; without it all are features. A number fills any shape.

    Raises:
        UnmatchedAxesError: if the shape has more or fewer axes than the array.
        AxesError: if a length differs.
        DTypeError: if the value does not fit the dtype, or is no array of numbers.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.constant([[1.0, 2.0]], (1, ng.simple.N(2))).type
    float32[1, sample:2]
    """
    axes = None if shape is None else checked("constant", marked, shape)
    return storage.constant(value, axes, dtype, name)


def mark(x: Array, shape: Shape) -> Op:
    """`x` with N and R marked, or marked otherwise, position by position: where a tensor of another family comes in.

    Raises:
        UnmatchedAxesError: if `shape` does not have the lengths of `x`.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.mark(ng.placeholder((3, 32)), (3, ng.simple.N(32))).type
    float32[3, sample:32]
    """
    term, axes = as_term(x), checked("mark", marked, shape)
    if term.axes == axes:
        return term
    plain = term if term.axes == marked(term.shape) else forget(term)
    return plain if plain.axes == axes else label(plain, axes)


def uniform(x: Op | Shape, low: float = 0.0, high: float = 1.0, dtype: Any = None) -> Op:
    """Independent draws from [low, high), fresh in every call of a computation, the same for one seed.

    The numbers do not depend on where a transformer wants N and R.

    Args:
        x: The shape of the result, or a term whose axes (and float dtype) it takes; its value is not used.
        dtype: A float dtype; by default that of `x`, or float32.

    Raises:
        DTypeError: if the dtype is not a float.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.uniform((3, ng.simple.N(4)), -1.0, 1.0).type
    float32[3, sample:4]
    """
    axes, kind = _like("uniform", x, dtype)
    return apply("uniform", axes=axes, dtype=kind, low=low, high=high, uid=Uid())


def normal(x: Op | Shape, loc: float = 0.0, scale: float = 1.0, dtype: Any = None) -> Op:
    """Independent draws from the normal distribution of mean `loc` and standard deviation `scale`.

    Other arguments and errors are those of `uniform`.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.normal(ng.simple.placeholder((3, ng.simple.N), "float64")).type
    float64[3, sample:N]
    """
    axes, kind = _like("normal", x, dtype)
    return apply("normal", axes=axes, dtype=kind, loc=loc, scale=scale, uid=Uid())


def tensor_size(x: Array, axes: Keys | None = None, dtype: Any = None) -> Op:
    """The number of elements of `x` along some axes (by default all), a scalar; ``tensor_size(x, N)`` is the batch.

    >>> import ngraph_rewrite as ng
    >>> ng.simple.tensor_size(ng.simple.placeholder((3, ng.simple.N), name="x"), ng.simple.N)
    simple.tensor_size(x, axes=(N,), dtype=dtype('float32'))
    """
    term = as_term(x)
    return apply("tensor_size", term, axes=keys(term.axes) if axes is None else axes, dtype=dtype)


def _like(call: str, x: Any, dtype: Any) -> tuple[Axes, Any]:
    if isinstance(x, Op):
        return x.axes, dtype if dtype is not None else x.dtype if is_float(x.dtype) else FLOAT32
    return checked(call, marked, x), dtype
