# SPDX-License-Identifier: Apache-2.0
"""Arrays made of nothing but numbers and shapes; a length may be one that is not known yet, such as ``x.shape[0]``.

Where NumPy makes float64 without being asked, these make float32, the default of this library.
"""

from __future__ import annotations

import builtins
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.frontend.building import checked, dimensions
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_number, as_term, on_device, several
from ngraph_rewrite.frontend.storage import constant
from ngraph_rewrite.ops.checks import extents, flag, listed, one_of
from ngraph_rewrite.ops.stretching import Shape, stretched
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.operands import lengths_of
from ngraph_rewrite.types.axes import anonymous
from ngraph_rewrite.types.dtypes import INT64, as_dtype
from ngraph_rewrite.types.lengths import Extent, Length


def asarray(obj: Array, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None) -> Op:
    """A term: the one given, or a constant of an array, a number or nested lists; in another dtype if one is given.

    A length that is not known yet, such as ``x.shape[0]``, is an int64 without axes, and a list with such is a vector.

    Args:
        copy: False for no copy: nothing but a term can be taken as it is, as a constant keeps values of its own.

    Raises:
        DTypeError: if it is no array of numbers, or does not fit the dtype.
        AttributeValueError: if there has to be a copy, and `copy` is False.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.asarray([[1, 2], [3, 4]]).type
    int64[2, 2]
    >>> x = ng.placeholder((None, 4))
    >>> ng.numpy.asarray(x.shape[0]).type, ng.numpy.asarray(x.shape).type
    (int64[], int64[2])
    """
    on_device("asarray", device)
    if copy is False and not (isinstance(obj, Op) and dtype in (None, obj.dtype)):
        what = f"asarray: {obj!r} is copied, and copy is False"
        raise AttributeValueError(what, where=user_line(), do="leave copy out: terms are immutable")
    if isinstance(obj, Length):
        return as_number(obj, dtype)
    if (vector := lengths_of(obj, INT64 if dtype is None else dtype)) is not None:
        return vector
    if not isinstance(obj, Op):
        return constant(obj, dtype=dtype)
    return obj if dtype is None else astype(obj, dtype)


def full(shape: Any, fill_value: Array, dtype: Any = None, *, device: Any = None) -> Op:
    """An array filled with a number, or with a term without axes.

    Raises:
        LengthError: for a negative length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.full((2, 3), 0.5).type
    float32[2, 3]
    """
    on_device("full", device)
    lengths = _shape("full", shape)
    if isinstance(fill_value, Op | Length) or dimensions("full", fill_value):
        return apply("broadcast_to", asarray(fill_value, dtype=dtype), shape=lengths)
    return constant(fill_value, anonymous(lengths), dtype)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Op:
    """An array of zeros, float32 if no dtype is given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.zeros(3).type
    float32[3]
    """
    on_device("zeros", device)
    return constant(0, anonymous(_shape("zeros", shape)), checked("zeros", as_dtype, dtype))


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Op:
    """An array of ones, float32 if no dtype is given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.ones((2, 3), dtype="int8").type
    int8[2, 3]
    """
    on_device("ones", device)
    return constant(1, anonymous(_shape("ones", shape)), checked("ones", as_dtype, dtype))


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Op:
    """An array whose values nobody should rely on: zeros, as a graph has no memory that is left as it was.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.empty(3).type
    float32[3]
    """
    return zeros(shape, dtype=dtype, device=device)


def full_like(x: Array, /, fill_value: Array, dtype: Any = None, *, device: Any = None, shape: Any = None) -> Op:
    """An array of the shape and of the dtype of `x`, where no other ones are given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.full_like(ng.placeholder((None, 3)), 7).type
    float32[n0, 3]
    """
    on_device("full_like", device)
    like = as_term(x)
    wanted = like.shape if shape is None else shape
    return full(wanted, fill_value, dtype=like.dtype if dtype is None else dtype)


def zeros_like(x: Array, /, dtype: Any = None, *, device: Any = None, shape: Any = None) -> Op:
    """Zeros of the shape and of the dtype of `x`, where no other ones are given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.zeros_like(ng.placeholder((2,), "int8")).type
    int8[2]
    """
    return full_like(x, 0, dtype=dtype, device=device, shape=shape)


def ones_like(x: Array, /, dtype: Any = None, *, device: Any = None, shape: Any = None) -> Op:
    """Ones of the shape and of the dtype of `x`, where no other ones are given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.ones_like(ng.placeholder((2,)), dtype="bool").type
    bool[2]
    """
    return full_like(x, 1, dtype=dtype, device=device, shape=shape)


def empty_like(x: Array, /, dtype: Any = None, *, device: Any = None, shape: Any = None) -> Op:
    """`empty` of the shape and of the dtype of `x`, where no other ones are given.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.empty_like(ng.placeholder((2,))).type
    float32[2]
    """
    return full_like(x, 0, dtype=dtype, device=device, shape=shape)


def eye(n_rows: Extent, n_cols: Extent | None = None, /, k: int = 0, dtype: Any = None, *, device: Any = None) -> Op:
    """1 on the diagonal that lies `k` above the main one, 0 elsewhere.

    Raises:
        LengthError: for a negative length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.eye(2, 3).type
    float32[2, 3]
    """
    on_device("eye", device)
    return apply("eye", rows=n_rows, columns=n_rows if n_cols is None else n_cols, offset=k, dtype=dtype)


def tril(x: Array, /, k: int = 0) -> Op:
    """The matrices in the last two axes of `x`, 0 above the diagonal that lies `k` above the main one.

    Each row of a matrix made of a vector is that vector.

    Raises:
        AxesError: for a term without axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.tril(ng.placeholder((2, 3), name="x"))
    numpy.tril(x, k=0)
    """
    return apply("tril", _matrix(as_term(x)), k=k)


def triu(x: Array, /, k: int = 0) -> Op:
    """The matrices in the last two axes of `x`, 0 below the diagonal that lies `k` above the main one.

    Each row of a matrix made of a vector is that vector.

    Raises:
        AxesError: for a term without axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.triu(ng.placeholder((2, 3), name="x"), k=1)
    numpy.triu(x, k=1)
    """
    return apply("triu", _matrix(as_term(x)), k=k)


def _matrix(x: Op) -> Op:
    return apply("broadcast_to", x, shape=x.shape * 2) if x.rank == 1 else x


def meshgrid(*arrays: Array, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> tuple[Op, ...]:
    """Coordinate arrays of a grid: each of the vectors repeated along the axes of the others.

    Args:
        indexing: "ij": the axes stand in the order of the vectors; "xy": the first two are exchanged.
        sparse: Whether they stay of length 1 along other axes than their own: what they are in is broadcast.
        copy: Makes no difference: terms are immutable.

    Raises:
        AttributeValueError: for another indexing, or a `sparse` that is neither True nor False.

    >>> import ngraph_rewrite as ng
    >>> [x.shape for x in ng.numpy.meshgrid([1, 2, 3], [4, 5])]
    [(2, 3), (2, 3)]
    """
    checked("meshgrid", one_of, indexing, ("xy", "ij"), "indexing")
    if not arrays:
        return ()
    terms = several("meshgrid", arrays)
    count = len(terms)
    order = list(builtins.range(count))
    if indexing == "xy" and count > 1:
        order[:2] = [1, 0]
    shaped = [_along(x, order[i], count) for i, x in enumerate(terms)]
    if checked("meshgrid", flag, sparse, "sparse"):
        return tuple(shaped)
    shape = stretched(*(x.shape for x in shaped))
    return tuple(apply("broadcast_to", x, shape=shape) for x in shaped)


def _along(x: Op, place: int, count: int) -> Op:
    if x.rank > 1:
        raise ArgumentError(f"meshgrid: {x!r} has {x.rank} axes", where=user_line(), do="give vectors")
    return apply("reshape", x, shape=(1,) * place + (x.size,) + (1,) * (count - place - 1))


def _shape(call: str, shape: Any) -> Shape:
    return checked(call, extents, listed(shape))
