# SPDX-License-Identifier: Apache-2.0
"""Functions that put arrays together, take them apart, and repeat them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, DTypeError
from ngraph_rewrite.frontend.building import checked, dimensions
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.manipulation import ravel
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term, several
from ngraph_rewrite.frontend.storage import constant
from ngraph_rewrite.ops.checks import position
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import as_dtype, can_cast
from ngraph_rewrite.types.lengths import Extent

# -- joins --------------------------------------------------------------------------------------------


def concat(arrays: Iterable[Array], /, axis: int | None = 0, *, dtype: Any = None) -> Op:
    """The arrays, promoted, one after the other along an axis; if it is None, of all elements in row-major order.

    Args:
        dtype: What to cast them to instead of promoting them.

    Raises:
        ArgumentError: if there are none.
        AxesError: if their other lengths differ.
        DTypeError: if one does not cast to that dtype, as floats do not to integers.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.concat([ng.placeholder((2, 3)), ng.placeholder((1, 3))]).type
    float32[3, 3]
    """
    terms = in_dtype("concat", several("concat", arrays), dtype)
    if axis is None:
        return apply("concat", *map(ravel, terms), axis=0)
    return apply("concat", *terms, axis=axis)


def concatenate(arrays: Iterable[Array], /, axis: int | None = 0, *, dtype: Any = None) -> Op:
    """`concat` under NumPy's name.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.concatenate([[1, 2], [3]]).type
    int64[3]
    """
    return concat(arrays, axis=axis, dtype=dtype)


def stack(arrays: Iterable[Array], /, axis: int = 0, *, dtype: Any = None) -> Op:
    """The arrays, promoted and of one shape, side by side along a new axis at this position.

    Args:
        dtype: What to cast them to instead of promoting them.

    Raises:
        ArgumentError: if there are none.
        AxesError: if their shapes differ.
        DTypeError: if one does not cast to that dtype, as floats do not to integers.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.stack([ng.placeholder((3,)), ng.placeholder((3,))], axis=1).type
    float32[3, 2]
    """
    return apply("stack", *in_dtype("stack", several("stack", arrays), dtype), axis=axis)


def in_dtype(call: str, terms: Sequence[Op], dtype: Any) -> Sequence[Op]:
    """The terms cast to a dtype of their kind or of a greater one, as NumPy does it; as they are for None.

    Raises:
        DTypeError: if one does not cast to it.

    >>> import ngraph_rewrite as ng
    >>> [x.dtype for x in in_dtype("stack", [ng.placeholder(()), ng.placeholder((), "int8")], "float64")]
    [dtype('float64'), dtype('float64')]
    """
    if dtype is None:
        return terms
    wanted = checked(call, as_dtype, dtype)
    for x in terms:
        if not can_cast(x.dtype, wanted, "same_kind"):
            what = f"{call}: {x.dtype} does not cast to {wanted}"
            raise DTypeError(what, where=user_line(), do="cast the arrays if that is meant")
    return [astype(x, wanted) for x in terms]


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Op, ...]:
    """The parts of `x` along an axis, without it.

    Raises:
        AxesError: for a term without axes.
        LengthError: if the length is not known.

    >>> import ngraph_rewrite as ng
    >>> [part.type for part in ng.numpy.unstack(ng.placeholder((2, 3)))]
    [float32[3], float32[3]]
    """
    term = as_term(x)
    place = checked("unstack", position, axis, term.rank)
    count = checked("unstack", known_length, term.shape[place], f"axis {place}")
    whole: tuple[Any, ...] = (slice(None),) * place
    return tuple(apply("tensor_slice", term, items=(*whole, i)) for i in range(count))


# -- repetitions --------------------------------------------------------------------------------------


def tile(x: Array, /, reps: Any) -> Op:
    """`x` laid side by side, so many times along each axis; missing axes are put in front.

    Raises:
        LengthError: for a negative repetition.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.tile(ng.placeholder((2, 3)), (2, 1)).type
    float32[4, 3]
    """
    return apply("tile", as_term(x), reps=reps)


def repeat(x: Array, /, repeats: Any, axis: int | None = None) -> Op:
    """`x` with each element along an axis repeated in place; without an axis, each in row-major order.

    Args:
        repeats: How often: one number, or one for each element; they have to be known where the graph is built.

    Raises:
        ArgumentError: if the repeats are a term.
        AttributeValueError: if there are not as many as elements.
        LengthError: for a negative one.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.repeat(ng.placeholder((2, 3)), 2, axis=1).type, ng.numpy.repeat([5, 6], [2, 1]).type
    (float32[2, 6], int64[3])
    """
    term = ravel(x) if axis is None else as_term(x)
    if isinstance(repeats, Op):
        raise ArgumentError(
            "repeat: how often is a term, so that the shape would depend on values",
            where=user_line(),
            do="give a number, or one for each element",
        )
    along = 0 if axis is None else checked("repeat", position, axis, term.rank)
    if dimensions("repeat", repeats) == 0:
        return apply("repeat", term, repeats=_single(repeats), axis=along)
    return apply("gather", term, constant(_indices(term, repeats, along)), axis=along)


def _single(repeats: Any) -> Extent:
    return operator.index(repeats) if isinstance(repeats, np.ndarray) else repeats


def _indices(term: Op, repeats: Any, along: int) -> Any:
    """Each position as often as it is repeated."""
    counts = np.asarray(repeats)
    length = checked("repeat", known_length, term.shape[along], f"axis {along}")
    if counts.dtype.kind not in "iu":
        raise DTypeError(f"repeat: the repeats are {counts.dtype}", where=user_line(), do="give integers")
    if counts.ndim != 1 or len(counts) not in (1, length) or (counts < 0).any():
        raise AttributeValueError(
            f"repeat: repeats of shape {counts.shape} for {length} elements",
            where=user_line(),
            do="give one for each element, of at least 0",
        )
    return np.repeat(np.arange(length), counts)
