# SPDX-License-Identifier: Apache-2.0
"""An array of expressions, which NumPy's ufuncs and operators compute with as if they were numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from ngraph_rewrite.testing.proof.elementary import (
    REDUCTIONS,
    Undecided,
    bitcast,
    cast,
    elementwise,
    loop,
    name_of,
    reduced,
)
from ngraph_rewrite.testing.proof.objects import as_objects, lines_of, mapped, normal_axes
from ngraph_rewrite.testing.proof.symbols import NUMBER, Scalar, number, symbol
from ngraph_rewrite.types.dtypes import promote


class Symbols(NDArrayOperatorsMixin):
    """An array whose elements are expressions of one dtype.

    It does what the meanings of ops ask of an array. Where they ask for a value that is not known, `Undecided`
    says so.

    >>> x = symbols("x", "float32", (2,))
    >>> np.add.reduce(np.exp(x) * 2)
    sum(multiply(exp(x[0]), 2.0), multiply(exp(x[1]), 2.0))
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: Any, dtype: Any) -> None:
        self.data, self.dtype = as_objects(data), np.dtype(dtype)

    # -- what an array is -------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return repr(self.data.tolist())

    def items(self) -> list[Scalar]:
        """The elements in row-major order."""
        return list(self.data.flat)

    @property
    def known(self) -> bool:
        """Whether all elements are numbers."""
        return all(s.op is NUMBER for s in self.data.flat)

    def numbers(self) -> NDArray[Any]:
        """The elements as numbers.

        Raises:
            Undecided: if some are not.
        """
        unknown = [s for s in self.data.flat if s.op is not NUMBER]
        if unknown:
            raise Undecided(f"the value of {unknown[0]!r} is asked for", unknown)
        return np.array([s.value for s in self.data.flat], self.dtype).reshape(self.shape)

    def __bool__(self) -> bool:
        return bool(self.numbers())

    def __int__(self) -> int:
        return int(self.numbers())

    __index__ = __int__

    def __float__(self) -> float:
        return float(self.numbers())

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return self.numbers() if dtype is None else self.numbers().astype(dtype)

    # -- parts ------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Symbols:
        return Symbols(self.data[plain_index(index)], self.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        new = symbolic(value).astype(self.dtype).data
        self.data[plain_index(index)] = new if new.ndim else new[()]

    def __iter__(self) -> Iterator[Symbols]:
        return (self[i] for i in range(len(self)))

    @property
    def T(self) -> Symbols:
        return self.transpose()

    def moved(self, function: Callable[..., Any], *args: Any, **options: Any) -> Symbols:
        """A NumPy function that moves elements and looks at none."""
        return Symbols(function(self.data, *args, **options), self.dtype)

    def reshape(self, *shape: Any) -> Symbols:
        return Symbols(self.data.reshape(*shape), self.dtype)

    def transpose(self, *axes: Any) -> Symbols:
        return Symbols(self.data.transpose(*axes), self.dtype)

    def swapaxes(self, one: int, other: int) -> Symbols:
        return self.moved(np.swapaxes, one, other)

    def copy(self) -> Symbols:
        return Symbols(self.data.copy(), self.dtype)

    def astype(self, dtype: Any, copy: bool = True) -> Symbols:
        dtype = np.dtype(dtype)
        return self.each(lambda s: cast(s, dtype), dtype) if dtype != self.dtype else self

    def view(self, dtype: Any) -> Symbols:
        dtype = np.dtype(dtype)
        return self.each(lambda s: bitcast(s, dtype), dtype)

    def each(self, function: Callable[[Scalar], Scalar], dtype: Any = None) -> Symbols:
        """A function of every element."""
        return Symbols(mapped(function, self.data), dtype or self.dtype)

    # -- ufuncs -----------------------------------------------------------------------------------------

    def sum(self, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Symbols:
        return reduce(np.add, self, axis, dtype, keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Symbols:
        return reduce(np.logical_or, self, axis, None, keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Symbols:
        return reduce(np.logical_and, self, axis, None, keepdims)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:  # what is added to in place
            out[0][...] = getattr(ufunc, method)(*inputs, **options)
            return out[0]
        if method == "__call__" and not options and ufunc.signature is None:
            return applied(ufunc, *inputs)
        if method == "reduce":
            return reduce(ufunc, *inputs, **options)
        if method == "accumulate":
            return accumulate(ufunc, *inputs, **options)
        if method == "outer":
            x, y = map(symbolic, inputs)
            return applied(ufunc, x.reshape(x.shape + (1,) * y.ndim), y)
        if method == "at":
            return add_at(ufunc, *inputs)
        raise Undecided(f"NumPy's {ufunc.__name__} ({method}) is not known for symbols")

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> NoReturn:
        raise Undecided(f"NumPy's {function.__name__} is not known for symbols")


# -- making them --------------------------------------------------------------------------------------


def symbols(name: str, dtype: Any, shape: tuple[int, ...]) -> Symbols:
    """An array of unknown numbers, ``name[i, j]``."""
    places = list(np.ndindex(*shape))
    data = np.empty(len(places), object)
    data[:] = [symbol(f"{name}[{', '.join(map(str, place))}]" if shape else name, dtype) for place in places] or None
    return Symbols(data.reshape(shape), dtype)


def symbolic(value: Any, dtype: Any = None) -> Symbols:
    """An array of numbers as expressions; one of expressions as it is."""
    if isinstance(value, Symbols):
        return value if dtype is None else value.astype(dtype)
    array = np.asarray(value, dtype)
    data = np.empty(array.size, object)
    data[:] = [number(v, array.dtype) for v in array.flat] or None
    return Symbols(data.reshape(array.shape), array.dtype)


def plain_index(index: Any) -> Any:
    """An index in which every expression is a number, for NumPy."""
    if isinstance(index, tuple):
        return tuple(map(plain_index, index))
    return index.numbers() if isinstance(index, Symbols) else index


def together(values: Sequence[Any]) -> tuple[Any, list[Symbols]]:
    """Operands in the dtype that NumPy promotes them to."""
    dtype = promote(*map(_kind, values))
    return dtype, [symbolic(v).astype(dtype) for v in values]


def _kind(value: Any) -> Any:
    """What NumPy promotes an operand by: numbers of Python are weak."""
    if type(value) in (int, float, bool):
        return value
    return value.dtype if isinstance(value, Symbols) else np.asarray(value).dtype


# -- what ufuncs do -----------------------------------------------------------------------------------

# What takes "not zero" for true.
_LOGICAL = frozenset({np.logical_and, np.logical_or, np.logical_xor, np.logical_not})


def _weak(value: Any) -> Any:
    """The dtype of an operand, or the Python type of a number that has none."""
    if type(value) in (int, float):
        return type(value)
    return value.dtype if isinstance(value, Symbols) else np.asarray(value).dtype


def applied(ufunc: np.ufunc, *inputs: Any) -> Symbols:
    """A ufunc of operands, one of which at least has expressions."""
    *takes, gives = loop(ufunc, tuple(map(_weak, inputs)))
    if ufunc in _LOGICAL:
        takes = [np.dtype(bool)] * len(takes)
    operands = [
        symbolic(x, None if isinstance(x, Symbols) else d).astype(d) for x, d in zip(inputs, takes, strict=True)
    ]
    op = name_of(ufunc)
    return Symbols(mapped(lambda *s: elementwise(op, ufunc, gives, *s), *(x.data for x in operands)), gives)


def reduce(
    ufunc: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, initial: Any = None
) -> Symbols:
    """A reduction over axes, the elements in row-major order."""
    x = symbolic(x)
    if ufunc not in REDUCTIONS:
        raise Undecided(f"reductions by numpy.{ufunc.__name__} are not known for symbols")
    if dtype is None:
        dtype = ufunc.reduce(np.ones(1, x.dtype)).dtype
    if ufunc in (np.logical_or, np.logical_and):
        dtype = np.dtype(bool)
    axes = normal_axes(axis, x.ndim)
    start = [] if initial is None else symbolic(initial).astype(dtype).items()
    lines = lines_of(x.astype(dtype).data, axes)
    op = REDUCTIONS[ufunc]
    result = mapped(lambda line: reduced(op, ufunc, np.dtype(dtype), [*start, *line.items]), lines)
    return Symbols(np.expand_dims(result, axes) if keepdims else result, dtype)


def accumulate(ufunc: np.ufunc, x: Symbols, axis: int = 0, dtype: Any = None) -> Symbols:
    """What a ufunc gives of the elements so far."""
    found = np.moveaxis(x.astype(dtype or x.dtype).data, axis, 0).copy()
    total = Symbols(found, dtype or x.dtype)
    for i in range(1, len(found)):
        total[i] = applied(ufunc, total[i - 1], total[i])
    return total.moved(np.moveaxis, 0, axis)


def add_at(ufunc: np.ufunc, x: Symbols, index: Any, values: Any) -> None:
    """A ufunc done at places one after the other, in place."""
    places = np.empty(x.shape, np.int64)
    places.reshape(-1)[:] = range(x.size)
    chosen = places[plain_index(index)]
    flat = np.broadcast_to(symbolic(values).astype(x.dtype).data, chosen.shape)
    for place, value in zip(chosen.flat, flat.flat, strict=True):
        where = np.unravel_index(int(place), x.shape)
        x.data[where] = elementwise(name_of(ufunc), ufunc, x.dtype, x.data[where], value)
