# SPDX-License-Identifier: Apache-2.0
"""Leaves of a graph: what a call supplies, what a transformer keeps, and what never changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ngraph_rewrite.errors import ArgumentError, AxesError, LengthError, UnmatchedAxesError
from ngraph_rewrite.frontend.building import Operand, checked
from ngraph_rewrite.frontend.graphs import listed
from ngraph_rewrite.ops.alignment import contained, spread
from ngraph_rewrite.ops.checks import known_shape
from ngraph_rewrite.ops.initial import initial_term, initial_value
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.families import unmixed
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.literal import Literal, own_dtype
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.operands import as_constant, lengths_of
from ngraph_rewrite.types.axes import Axes, AxesLike, anonymous
from ngraph_rewrite.types.dtypes import DType, as_dtype
from ngraph_rewrite.types.lengths import Length
from ngraph_rewrite.types.tensor import TensorType

# An array or number, a term, or a function from the axes to one of these.
Initial = Op | ArrayLike | Callable[[Axes], Op | ArrayLike]


def placeholder(axes: AxesLike, dtype: Any = None, name: str | None = None) -> Op:
    """A tensor that every call of a computation supplies.

    Args:
        axes: Its axes; one of unknown length is bound by each call anew.
        dtype: Its dtype; None is float32.
        name: What to call it in messages.

    Raises:
        AxesError: if `axes` are no axes.
        DTypeError: if the dtype is not supported.

    >>> import ngraph_rewrite as ng
    >>> ng.placeholder([ng.Axis("H", 8), ng.Axis("N")]).type
    float32[H:8, N:N]
    """
    attributes = {"axes": checked("placeholder", Axes, axes), "dtype": checked("placeholder", as_dtype, dtype)}
    return build(lookup("core.placeholder"), (), name=name, uid=Uid(), **attributes)


def variable(
    axes: AxesLike,
    dtype: Any = None,
    initial_value: Initial | None = None,
    name: str | None = None,
    trainable: bool = True,
) -> Op:
    """A tensor that a transformer keeps between calls, and that training changes.

    Args:
        axes: Its axes.
        dtype: Its dtype; None is float32.
        initial_value: What it holds at first: a number (which fills it), an array of its shape, a term whose
            axes it has, or a function from its axes to one of these. None is zero. A term is computed once,
            before anything else; in it another variable stands for its own initial value, and a random draw has
            the numbers of the transformer's seed.
        name: What to call it in messages and in saved files.
        trainable: Whether `variables()` lists it.

    Raises:
        AxesError: if the axes are none, or the initial value has another shape.
        DTypeError: if the dtype is not supported, or the initial value does not fit it.
        AttributeValueError: if the initial value is a term that depends on a placeholder, or has effects.
        FamilyError: if it is a term of another family. A constant of its shape is not, but in ``coercion("error")``.
        LengthError: if the length of an axis is not known.

    >>> import ngraph_rewrite as ng
    >>> w = ng.variable([ng.Axis("H", 2)], initial_value=[0.5, 1.0], name="w")
    >>> w.type, ng.tanh(w).variables()
    (float32[H:2], [w])
    """
    return _stored("variable", axes, dtype, initial_value, name, trainable=trainable, scratch=False)


def persistent_tensor(
    axes: AxesLike, dtype: Any = None, initial_value: Initial | None = None, name: str | None = None
) -> Op:
    """A tensor that a transformer keeps between calls, and that is no parameter of a model: `variables()` omits it.

    The arguments and errors are those of `variable`.

    >>> import ngraph_rewrite as ng
    >>> steps = ng.persistent_tensor([], "int64", initial_value=0, name="steps")
    >>> (steps + 1).variables()
    []
    """
    return _stored("persistent_tensor", axes, dtype, initial_value, name, trainable=False, scratch=False)


def temporary(axes: AxesLike, dtype: Any = None, name: str | None = None) -> Op:
    """Scratch storage: it holds what was assigned to it, until the computation ends.

    Raises:
        AxesError: if `axes` are no axes.
        DTypeError: if the dtype is not supported.
        LengthError: if the length of an axis is not known.

    >>> import ngraph_rewrite as ng
    >>> t = ng.temporary([])
    >>> twice = ng.sequential([ng.assign(t, 3.0), t + t])
    """
    return _stored("temporary", axes, dtype, None, name, trainable=False, scratch=True)


def constant(const: ArrayLike, axes: AxesLike = None, dtype: Any = None, name: str | None = None) -> Op:
    """An immutable value.

    Args:
        const: A number or an array.
        axes: One axis for each dimension, of its length; a number fills any axes. An array without axes gets
            anonymous ones: it is matched by position, as the `semi` family does.
        dtype: Its dtype. By default arrays and NumPy scalars keep theirs, and Python's numbers, also in lists,
            are bool, int64 or float32.
        name: What to call it in messages.

    Raises:
        UnmatchedAxesError: if there are more or fewer axes than dimensions.
        AxesError: if a length differs.
        DTypeError: if the value does not fit the dtype, or is no array of numbers.

    >>> import ngraph_rewrite as ng
    >>> ng.constant([[1.0, 2.0]], [ng.Axis("H", 1), ng.Axis("W", 2)]).type
    float32[H:1, W:2]
    >>> ng.constant(0, {"H": 3}).type
    int64[H:3]
    """
    if isinstance(const, Op):
        raise ArgumentError("constant: the value is a term already", where=user_line(), do="use the term itself")
    dtype = checked("constant", as_dtype, dtype) if dtype is not None else checked("constant", own_dtype, const)
    value = checked("constant", Literal, const, dtype)
    chosen = checked("constant", _constant_axes, np.shape(const), axes)
    return build(lookup("core.constant"), (), name=name, value=value, axes=chosen)


def as_op(x: Operand | ArrayLike | Length, beside: Iterable[Any] = ()) -> Op:
    """`x` if it is a term, else a constant of it.

    A length that is not known yet is an int64, and a list with such is a vector.

    Args:
        beside: What it stands beside: floats of Python's, also in lists, are not rounded to less than what comes of
            them and these.

    Raises:
        DTypeError: if it is no number and no array of numbers.

    >>> as_op(2.5).dtype, as_op([2.5], [constant(np.ones(1))]).dtype
    (dtype('float32'), dtype('float64'))
    """
    if (vector := lengths_of(x)) is not None:
        return vector
    if isinstance(x, list | tuple) or type(x) is float:
        return constant(x, dtype=checked("constant", own_dtype, x, dtypes_of(beside)))
    if isinstance(x, Length):
        return as_constant(x)
    return x if isinstance(x, Op) else constant(x)


def dtypes_of(arrays: Iterable[Any]) -> list[DType]:
    """The dtypes of terms and of NumPy's arrays and numbers, of which Python's have none.

    >>> dtypes_of([constant(2), np.ones(3), 2.5])
    [dtype('int64'), dtype('float64')]
    """
    return [x.dtype for x in arrays if isinstance(x, Op | np.ndarray | np.generic) and x.dtype != object]


def as_ops(xs: Iterable[Operand]) -> list[Op]:
    """A list of terms: each as `as_op` makes it.

    Raises:
        ArgumentError: for what is no list.
        DTypeError: for an element that is no number and no array of numbers.

    >>> [x.dtype for x in as_ops([True, 2])]
    [dtype('bool'), dtype('int64')]
    """
    return [as_op(x) for x in listed("as_ops", xs)]


def _constant_axes(shape: tuple[int, ...], axes: AxesLike) -> Axes:
    if axes is None:
        return anonymous(shape)
    given = Axes(axes)
    if shape and len(given) != len(shape):
        raise UnmatchedAxesError(
            f"{len(given)} axes {given!r} for a value of shape {shape}", do="give one axis for each dimension"
        )
    if shape and given.lengths != shape:
        raise AxesError(f"the axes {given!r} for a value of shape {shape}", do="give axes of these lengths")
    return given


def _stored(call: str, axes: AxesLike, dtype: Any, initial: Initial | None, name: str | None, **kind: bool) -> Op:
    chosen, kept = checked(call, Axes, axes), checked(call, as_dtype, dtype)
    checked(call, _known_lengths, chosen)
    value = checked(call, _initial, initial, chosen, kept)
    return build(lookup("core.variable"), (), name=name, initial=value, uid=Uid(), axes=chosen, dtype=kept, **kind)


def _known_lengths(axes: Axes) -> None:
    """Storage outlives a call, so that no argument of a call can bind a length of it."""
    for axis in axes:
        if not isinstance(axis.length, int):
            raise LengthError(
                f"the length of axis {axis.name} is not known", do="give the axis a length: only placeholders can wait"
            )


def _initial(initial: Any, axes: Axes, dtype: DType) -> Any:
    """The initial value, checked as far as it is known: a function, a term, a read-only array, or None."""
    if initial is None or (callable(initial) and not isinstance(initial, Op)):
        return initial
    if isinstance(initial, Op):
        return _initial_of_term(initial, axes, dtype)
    return initial_value(initial, axes, dtype)


def _initial_of_term(term: Op, axes: Axes, dtype: DType) -> Any:
    """A constant as an array, by its shape if it has no names; any other term as it is, once it is known to fit."""
    unmixed(term.type, TensorType(dtype, axes))
    if term.definition.name != "core.constant":
        initial_term(term, TensorType(dtype, axes), "the variable")
        return term
    alike = not term.axes.named and term.axes.lengths == axes.lengths
    if term.rank and not alike:
        initial_term(term, TensorType(term.dtype, axes), "the variable")
    literal = term.attribute("value").cast(dtype)
    if literal.scalar is not None:
        return literal.array(())
    array = literal.array(known_shape(term.axes))
    if alike:
        return array
    contained(term.axes, axes)
    return spread(array, term.axes, axes)
