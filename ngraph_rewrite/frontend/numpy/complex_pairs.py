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
        """The lengths of its axes."""
        return self.real.shape

    @property
    def dtype(self) -> np.dtype:
        """The complex dtype of what is computed."""
        return np.dtype("complex128" if self.real.dtype == "float64" else "complex64")

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
        x, y = parts_of(other, self.real.dtype)
        return Complex(add(self.real, x), add(self.imag, zeros_like(x) if y is None else y))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Complex:
        x, y = parts_of(other, self.real.dtype)
        return Complex(subtract(self.real, x), subtract(self.imag, zeros_like(x) if y is None else y))

    def __rsub__(self, other: Any) -> Complex:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Complex:
        return self._times(other, multiply)

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> Complex:
        return self._times(other, matmul)

    def __rmatmul__(self, other: Any) -> Complex:
        x, y = parts_of(other, self.real.dtype)
        return Complex(x, zeros_like(x) if y is None else y)._times(self, matmul)

    def __truediv__(self, other: Any) -> Complex:
        x, y = parts_of(other, self.real.dtype)
        if y is None:
            return self.apply(lambda part: divide(part, x))
        return self._times(_inverse(x, y), multiply)

    def __rtruediv__(self, other: Any) -> Complex:
        return _inverse(self.real, self.imag)._times(other, multiply)

    def _times(self, other: Any, product: Callable[[Any, Any], Op]) -> Complex:
        x, y = parts_of(other, self.real.dtype)
        if y is None:
            return self.apply(lambda part: product(part, x))
        real = subtract(product(self.real, x), product(self.imag, y))
        return Complex(real, add(product(self.real, y), product(self.imag, x)))


def parts_of(z: Any, dtype: Any = None) -> tuple[Op, Op | None]:
    """The real part and the imaginary one; None for the latter, if `z` is real.

    Args:
        dtype: Of Python's numbers; None has them take their own.

    Raises:
        DTypeError: for what is no array of numbers.
    """
    if isinstance(z, Complex):
        return z.real, z.imag
    if isinstance(z, complex) and not isinstance(z, np.generic):
        z = np.asarray(z, None if dtype is None else Complex(np.empty(0, dtype), None).dtype)
    if not isinstance(z, Op) and np.iscomplexobj(z):
        array = np.asarray(z)
        return as_term(array.real), as_term(array.imag)
    if isinstance(z, int | float) and not isinstance(z, bool | np.generic) and dtype is not None:
        return as_term(np.asarray(z, dtype)), None
    return as_term(z), None


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
