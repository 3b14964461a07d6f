# SPDX-License-Identifier: Apache-2.0
"""NumPy's functions, on arrays of expressions: what the meanings of ops call instead, when they are run on symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ngraph_rewrite.ops import functions, gammas, rejection
from ngraph_rewrite.testing.proof.arrays import Symbols, reduce, symbolic, together
from ngraph_rewrite.testing.proof.elementary import elementwise, pick, select
from ngraph_rewrite.testing.proof.objects import Line, lines_of, mapped, normal_axes
from ngraph_rewrite.testing.proof.products import dot, einsum, inner, matmul, tensordot, vecdot
from ngraph_rewrite.testing.proof.symbols import Scalar, apply, number
from ngraph_rewrite.types.dtypes import INT64

Function = Callable[..., Any]


def _symbols_in(value: Any) -> bool:
    return isinstance(value, Symbols) or (isinstance(value, list | tuple) and any(map(_symbols_in, value)))


def _for_symbols(plain: Function, own: Function) -> Function:
    """`own` where an argument has expressions, else `plain`."""

    @wraps(own)
    def chosen(*args: Any, **options: Any) -> Any:
        with_symbols = any(map(_symbols_in, args)) or any(map(_symbols_in, options.values()))
        return (own if with_symbols else plain)(*args, **options)

    return chosen


# -- making arrays ------------------------------------------------------------------------------------


def _asarray(x: Any, dtype: Any = None, copy: Any = None) -> Symbols:
    return symbolic(x if isinstance(x, Symbols) else _stack(x), dtype)


def _array(x: Any, dtype: Any = None, copy: Any = None) -> Symbols:
    return _asarray(x, dtype).copy()


def zeros(shape: Any, dtype: Any = float) -> Symbols:
    """Zeros that symbols can be put among."""
    return symbolic(np.zeros(shape, dtype))


def ones(shape: Any, dtype: Any = float) -> Symbols:
    """Ones that symbols can be put among."""
    return symbolic(np.ones(shape, dtype))


def full(shape: Any, value: Any, dtype: Any = None) -> Symbols:
    """One number everywhere, that symbols can be put among."""
    return symbolic(np.full(shape, value, dtype))


# -- choosing and moving ------------------------------------------------------------------------------


def _where(condition: Any, x: Any, y: Any) -> Symbols:
    dtype, (x, y) = together([x, y])
    return Symbols(mapped(select, symbolic(condition, bool).data, x.data, y.data), dtype)


def _moving(function: Function) -> Function:
    def moved(x: Symbols, *args: Any, **options: Any) -> Symbols:
        return x.moved(function, *args, **options)

    return moved


def _joining(function: Function) -> Function:
    def joined(arrays: Sequence[Any], axis: int = 0) -> Symbols:
        dtype, several = together(arrays)
        return Symbols(function([s.data for s in several], axis), dtype)

    return joined


_stack = _joining(np.stack)


def _triangle(function: Function) -> Function:
    def kept(x: Symbols, k: int = 0) -> Symbols:
        return _where(function(np.ones(x.shape, bool), k), x, x.dtype.type(0))

    return kept


def _pad(x: Symbols, width: Any, constant_values: Any = 0) -> Symbols:
    places = np.pad(np.arange(1, x.size + 1).reshape(x.shape), width)
    elements = [symbolic(constant_values).astype(x.dtype).items()[0], *x.items()]
    return Symbols(mapped(lambda place: elements[place], places), x.dtype)


def _broadcast_arrays(*arrays: Any) -> list[Symbols]:
    shape = np.broadcast_shapes(*(np.shape(a) if not isinstance(a, Symbols) else a.shape for a in arrays))
    return [symbolic(a).moved(np.broadcast_to, shape) for a in arrays]


def _take(x: Any, indices: Any, axis: int) -> Symbols:
    """What indices inside of the axis read: a choice between its elements where an index is not known."""
    x, at = symbolic(x), symbolic(indices)
    lines = lines_of(x.data, normal_axes(axis, x.ndim))
    before = lines.reshape((*lines.shape[:axis], *(1,) * at.ndim, *lines.shape[axis:]))
    places = at.data.reshape((1,) * axis + at.shape + (1,) * (x.ndim - axis - 1))
    return Symbols(mapped(lambda line, i: pick(i, line.items), before, places), x.dtype)


def _take_along_axis(x: Any, indices: Any, axis: int) -> Symbols:
    x, at = symbolic(x), symbolic(indices)
    lines = np.expand_dims(lines_of(x.data, normal_axes(axis, x.ndim)), axis)
    return Symbols(mapped(lambda line, i: pick(i, line.items), lines, at.data), x.dtype)


# -- reductions and orders ----------------------------------------------------------------------------


def _reduction(ufunc: np.ufunc) -> Function:
    def reduction(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Symbols:
        return reduce(ufunc, x, axis, dtype, keepdims, initial)

    return reduction


def _count_nonzero(x: Symbols, axis: Any = None, keepdims: bool = False) -> Symbols:
    return reduce(np.add, x.astype(bool), axis, INT64, keepdims)


def _of_line(op: str) -> Function:
    """A function of a whole line that only repeats: equal lines give equal results."""

    def place(line: Line) -> Scalar:
        return number(0, INT64) if len(line.items) == 1 else apply(op, INT64, *line.items)

    def found(x: Symbols, axis: int = -1) -> Symbols:
        return Symbols(mapped(place, lines_of(x.data, normal_axes(axis, x.ndim))), INT64)

    return found


def _argsort(x: Symbols, axis: int = -1, kind: str = "stable") -> Symbols:
    """Where the elements of a line come in order: one function for each place in it."""
    (axis,) = normal_axes(axis, x.ndim)
    lines = np.expand_dims(lines_of(x.data, (axis,)), axis)
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    places = np.arange(x.shape[axis]).reshape(shape)
    return Symbols(mapped(lambda line, i: apply(f"argsort.{i}", INT64, *line.items), lines, places), INT64)


def _searchsorted(x: Any, v: Any, side: str = "left") -> Symbols:
    x, v = symbolic(x), symbolic(v)
    return Symbols(mapped(lambda s: apply(f"searchsorted.{side}", INT64, s, *x.items()), v.data), INT64)


# -- the library's own functions ----------------------------------------------------------------------


def _named(op: str, plain: np.ufunc | Function) -> Function:
    """An elementwise function of the catalogue that NumPy has not, as one function instead of its formula."""

    def named(*operands: Any) -> Symbols:
        dtype, several = together(operands)
        data = mapped(lambda *s: elementwise(op, _of_one(plain), dtype, *s), *(x.data for x in several))
        return Symbols(data, dtype)

    return named


def _of_one(function: Function) -> Function:
    return lambda *values: np.asarray(function(*map(np.asarray, values)))[()]


_MOVING = (
    np.transpose, np.reshape, np.moveaxis, np.swapaxes, np.broadcast_to, np.expand_dims, np.squeeze, np.flip, np.roll,
    np.repeat, np.tile, np.diagonal, np.lib.stride_tricks.sliding_window_view, np.ravel
)  # fmt: skip
_OWN: dict[Any, Function] = {
    np.asarray: _asarray, np.array: _array, np.ascontiguousarray: _asarray, np.copy: _array,
    np.where: _where, np.concatenate: _joining(np.concatenate), np.stack: _stack, np.tril: _triangle(np.tril),
    np.triu: _triangle(np.triu), np.pad: _pad, np.broadcast_arrays: _broadcast_arrays, np.take: _take,
    np.take_along_axis: _take_along_axis, np.sum: _reduction(np.add), np.prod: _reduction(np.multiply),
    np.max: _reduction(np.maximum), np.min: _reduction(np.minimum), np.any: _reduction(np.logical_or),
    np.all: _reduction(np.logical_and), np.count_nonzero: _count_nonzero, np.argmax: _of_line("argmax"),
    np.argmin: _of_line("argmin"), np.argsort: _argsort, np.searchsorted: _searchsorted, np.tensordot: tensordot,
    np.inner: inner, np.dot: dot, np.einsum: einsum, np.matmul: matmul, np.vecdot: vecdot,
    **{f: _moving(f) for f in _MOVING},
    **{
        getattr(functions, op): _named(op, getattr(functions, op))
        for op in ("cbrt", "erf", "erfinv", "sigmoid", "reciprocal", "power")
    },
    **{getattr(gammas, op): _named(op, getattr(gammas, op)) for op in ("lgamma", "digamma", "trigamma")},
    **{getattr(rejection, op): _named(op, getattr(rejection, op)) for op in rejection.DRAWS},
}  # fmt: skip
# What a meaning calls: what it gets instead.
SUBSTITUTES: dict[Any, Function] = {
    **{plain: _for_symbols(plain, own) for plain, own in _OWN.items()},
    np.zeros: zeros, np.ones: ones, np.full: full, np.empty: zeros,
}  # fmt: skip
