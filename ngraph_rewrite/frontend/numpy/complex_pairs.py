# SPDX-License-Identifier: Apache-2.0
"""A complex array is a pair of terms, its real part and its imaginary one: nothing in a graph is complex itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.frontend.arrangement import stop_gradient
from ngraph_rewrite.frontend.numpy.creation import zeros_like
from ngraph_rewrite.frontend.numpy.elementwise import abs as size_of
from ngraph_rewrite.frontend.numpy.elementwise import add, atan2, conj, divide, maximum, multiply, negative, subtract
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul
from ngraph_rewrite.frontend.numpy.operands import Array, Parts, as_term
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import is_float


class Complex(Parts):
    """A complex array: ``real`` and ``imag``, two terms of one shape and dtype.

    A computation of it gives a pair of arrays, of which ``np.asarray`` makes a complex one. It has ``+``, ``-``, ``*``,
    ``/``, ``@`` and ``abs``, also beside numbers, arrays and terms, complex or not, and ``z[...]``. Whatever else
    treats both parts alike, as a sum or another shape, is done by `apply`; to go through it gives the two parts.

    >>> import numpy as np
    >>> import ngraph_rewrite as ng
    >>> z = ng.numpy.fft.Complex(ng.placeholder((2,), name="x"), ng.placeholder((2,), name="y"))
    >>> with ng.make_transformer("cpu") as transformer:
    ...     np.asarray(transformer.computation(z * 1j, *z)([1, 2], [3, 4]))
    array([-3.+1.j, -4.+2.j], dtype=complex64)
    """

    __slots__ = ()
    __array_ufunc__ = None  # an array beside it leaves the operator to it

    def apply(self, function: Callable[[Any], Any]) -> Complex:
        """What a function makes of each part.

        >>> import ngraph_rewrite as ng
        >>> ng.numpy.fft.rfft(ng.placeholder((3, 8))).apply(ng.numpy.mean).shape
        ()
        """
        return Complex(function(self.real), function(self.imag))

    def conj(self) -> Complex:
        """The same with the other sign of its imaginary part."""
        found: Complex = conj(self)
        return found

    def angle(self) -> Op:
        """Its angle, in radians from -pi to pi."""
        return atan2(self.imag, self.real)

    @property
    def shape(self) -> Any:
        """The lengths of its axes; none, of Python's numbers."""
        return getattr(self.real, "shape", ())

    @property
    def dtype(self) -> np.dtype:
        """The complex dtype of what is computed, and of Python's numbers that of theirs."""
        own = _dtype_of(self)
        return np.dtype("complex128" if own is None or own == "float64" else "complex64")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The complex array of what was computed.

        Raises:
            DTypeError: if it was not: terms have no values.
        """
        if isinstance(self.real, Op) or isinstance(self.imag, Op):
            what = "a pair of terms, a complex array that is not computed, has no values"
            raise DTypeError(what, where=user_line(), do="compute it: np.asarray(transformer.computation(z)())")
        found = np.empty(np.shape(self.real), self.dtype if dtype is None else dtype)
        found.real, found.imag = self.real, self.imag
        return found

    def __getitem__(self, index: Any) -> Complex:
        return self.apply(lambda part: part[index])

    def __neg__(self) -> Complex:
        return self.apply(negative)

    def __abs__(self) -> Op:
        return size_of(self)

    def __add__(self, other: Any) -> Complex:
        return self._with(other, add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Complex:
        return self._with(other, subtract)

    def __rsub__(self, other: Any) -> Complex:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Complex:
        return _product(*_both(self, other), multiply)

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> Complex:
        return _product(*_both(self, other), matmul)

    def __rmatmul__(self, other: Any) -> Complex:
        return _product(*_both(other, self), matmul)

    def __truediv__(self, other: Any) -> Complex:
        (a, b), (x, y) = _both(self, other)
        return Complex(divide(a, x), divide(b, x)) if y is None else _product((a, b), _inverse(x, y), multiply)

    def __rtruediv__(self, other: Any) -> Complex:
        (a, b), (x, y) = _both(self, other)
        return _product((x, y), _inverse(a, b), multiply)

    def _with(self, other: Any, function: Callable[[Any, Any], Op]) -> Complex:
        (a, b), (x, y) = _both(self, other)
        return Complex(function(a, x), function(b, zeros_like(x) if y is None else y))


def _both(left: Any, right: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The parts of two operands; Python's numbers take the dtype of the other one."""
    return parts_of(left, _dtype_of(right)), parts_of(right, _dtype_of(left))


def _product(left: tuple[Any, Any], right: tuple[Any, Any], product: Callable[[Any, Any], Op]) -> Complex:
    """The product of two operands, of which one is complex."""
    (a, b), (x, y) = left, right
    if y is None:
        return Complex(product(a, x), product(b, x))
    if b is None:
        return Complex(product(a, x), product(a, y))
    return Complex(subtract(product(a, x), product(b, y)), add(product(a, y), product(b, x)))


def _dtype_of(z: Any) -> Any:
    """The dtype of real parts; None, of Python's numbers."""
    found = [part.dtype for part in (z if isinstance(z, Complex) else (z,)) if hasattr(part, "dtype")]
    return np.empty(0, found[0]).real.dtype if found else None


def parts_of(z: Any, dtype: Any = None) -> tuple[Op, Op | None]:
    """The real part and the imaginary one; None for the latter, if `z` is real.

    Args:
        dtype: Of Python's numbers; None has them take their own.

    Raises:
        DTypeError: for what is no array of numbers.
    """
    if isinstance(z, Complex):
        own = dtype if _dtype_of(z) is None else _dtype_of(z)
        return _part(z.real, own), _part(z.imag, own)
    if isinstance(z, complex) and not isinstance(z, np.generic):
        return _part(z.real, dtype), _part(z.imag, dtype)
    if not isinstance(z, Op) and np.iscomplexobj(z):
        array = np.asarray(z)
        return as_term(array.real), as_term(array.imag)
    return _part(z, dtype), None


def _part(x: Any, dtype: Any) -> Any:
    """A part as it is, but a number of Python as a term, of a dtype that holds it."""
    if isinstance(x, Op) or isinstance(x, np.ndarray):
        return x
    if type(x) in (int, float) and dtype is not None and (type(x) is int or is_float(dtype)):
        return as_term(np.asarray(x, dtype))
    return as_term(x)


def _inverse(x: Op, y: Op) -> Complex:
    """One over a complex number. It is scaled first, so that its square is neither infinite nor 0."""
    scale = stop_gradient(maximum(size_of(x), size_of(y)))
    x, y = divide(x, scale), divide(y, scale)
    square = multiply(add(multiply(x, x), multiply(y, y)), scale)
    return Complex(divide(x, square), negative(divide(y, square)))


def real_term(x: Array | Complex) -> Op:
    """A term of real numbers.

    Raises:
        DTypeError: for a complex array.
    """
    real, imag = parts_of(x)
    if imag is not None:
        what = "expected real numbers, got complex ones"
        raise DTypeError(what, where=user_line(), do="take z.real, z.imag or abs(z)")
    return real
