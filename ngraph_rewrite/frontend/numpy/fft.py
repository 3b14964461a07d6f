# SPDX-License-Identifier: Apache-2.0
"""``ng.numpy.fft``: the array API standard's extension. Complex arrays are pairs of terms, of the class `Complex`.

Sums along an axis are one op, of which targets make products of matrices, or steps: so they run everywhere, and have
derivatives. The axis that is transformed has a known length; others need none.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.absent import refused
from ngraph_rewrite.frontend.numpy.complex_pairs import Complex, parts_of, real_term
from ngraph_rewrite.frontend.numpy.creation import zeros_like
from ngraph_rewrite.frontend.numpy.elementwise import multiply
from ngraph_rewrite.frontend.numpy.fourier import fourier, real_fourier
from ngraph_rewrite.frontend.numpy.fourier_axes import (
    NORMS,
    as_floats,
    chosen_axes,
    float_dtype,
    known_length,
    lines_of,
    positive_count,
    scale_of,
    spacing,
)
from ngraph_rewrite.frontend.numpy.manipulation import roll
from ngraph_rewrite.frontend.numpy.operands import Array, Axis, as_term, each, on_device
from ngraph_rewrite.ops.checks import one_of, position
from ngraph_rewrite.terms.op import Op


def fft(a: Array | Complex, n: int | None = None, axis: int = -1, norm: str | None = None) -> Complex:
    """The sums ``X[k]`` of ``a[j] exp(-2 pi i j k / n)``, with k for j along an axis.

    Numbers of 16 bits are summed in float32, and integers in float64, as NumPy does.

    Args:
        n: How many elements are summed: `a` is cut off, or has zeros behind it. All of them without it.
        norm: What is divided by n: ``"forward"`` says these sums, ``"backward"`` those of the inverse, ``"ortho"``
            both, by its root.

    Raises:
        AxesError: if there is no such axis.
        LengthError: if the axis has an unknown length.
        AttributeValueError: for an `n` below 1, or another `norm`.
        DTypeError: for what is no array of numbers.

    >>> import numpy as np
    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((4,), name="x")
    >>> with ng.make_transformer("cpu") as transformer:
    ...     np.asarray(transformer.computation(ng.numpy.fft.fft(x), x)([1, 2, 3, 4]))
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    return _whole("fft", a, n, axis, norm, -1)


def ifft(a: Array | Complex, n: int | None = None, axis: int = -1, norm: str | None = None) -> Complex:
    """The inverse of `fft`, whose arguments and errors it has.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.ifft(ng.numpy.fft.fft(ng.placeholder((2, 8)))).real.type
    float32[2, 8]
    """
    return _whole("ifft", a, n, axis, norm, 1)


def rfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Complex:
    """The first ``n // 2 + 1`` sums of `fft` of real numbers, in half of the time: the others are their conjugates.

    Arguments and errors are those of `fft`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.rfft(ng.placeholder((2, 8))).shape
    (2, 5)
    """
    (x, _), size, at = lines_of("rfft", real_term(a), n, axis)
    return _scaled(fourier(x, None, at, size, -1, size // 2 + 1), scale_of("rfft", norm, size, -1))


def irfft(a: Array | Complex, n: int | None = None, axis: int = -1, norm: str | None = None) -> Op:
    """The inverse of `rfft`: n real numbers, whose first ``n // 2 + 1`` sums are given.

    Args:
        n: How many there are; ``2 * (m - 1)`` without it, if there are m sums. Arguments and errors but for that are
            those of `fft`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.irfft(ng.numpy.fft.rfft(ng.placeholder((2, 9))), n=9).type
    float32[2, 9]
    """
    (x, y), size, at = lines_of("irfft", a, n, axis, halves=True)
    kept = known_length("irfft", x, at)
    twice = np.where(2 * np.arange(kept) % size == 0, 1, 2)  # those that have a conjugate on the other side
    factors = (twice * scale_of("irfft", norm, size, 1)).astype(x.dtype).reshape(-1, *[1] * (x.rank - 1 - at))
    halves = multiply(x, as_term(factors)), None if y is None else multiply(y, as_term(factors))
    return real_fourier(*halves, at, size, 1)


def fft2(a: Array | Complex, s: Sequence[int] | None = None, axes: Axis = (-2, -1), norm: str | None = None) -> Complex:
    """`fft` along two axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.fft2(ng.placeholder((3, 8, 6))).shape
    (3, 8, 6)
    """
    return fftn(a, s, axes, norm)


def ifft2(
    a: Array | Complex, s: Sequence[int] | None = None, axes: Axis = (-2, -1), norm: str | None = None
) -> Complex:
    """`ifft` along two axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.ifft2(ng.placeholder((3, 8, 6))).shape
    (3, 8, 6)
    """
    return ifftn(a, s, axes, norm)


def fftn(a: Array | Complex, s: Sequence[int] | None = None, axes: Axis = None, norm: str | None = None) -> Complex:
    """`fft` along some axes, or all of them; twice along one that is named twice, as in NumPy.

    Args:
        s: How many elements there are along each of the axes; without `axes`, along the last ones.

    Raises:
        AttributeValueError: if there are not as many lengths as axes; other errors are those of `fft`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.fftn(ng.placeholder((3, 8, 6)), s=(16, 4)).shape
    (3, 16, 4)
    """
    return _as_complex("fftn", _each("fftn", a, chosen_axes("fftn", a, s, axes), norm, -1))


def ifftn(a: Array | Complex, s: Sequence[int] | None = None, axes: Axis = None, norm: str | None = None) -> Complex:
    """The inverse of `fftn`, whose arguments and errors it has.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.ifftn(ng.placeholder((3, 8, 6)), axes=(0, 1)).shape
    (3, 8, 6)
    """
    return _as_complex("ifftn", _each("ifftn", a, chosen_axes("ifftn", a, s, axes), norm, 1))


def rfft2(a: Array, s: Sequence[int] | None = None, axes: Axis = (-2, -1), norm: str | None = None) -> Complex:
    """`rfft` along the last of two axes, and `fft` along the other.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.rfft2(ng.placeholder((3, 8, 6))).shape
    (3, 8, 4)
    """
    return rfftn(a, s, axes, norm)


def irfft2(a: Array | Complex, s: Sequence[int] | None = None, axes: Axis = (-2, -1), norm: str | None = None) -> Op:
    """The inverse of `rfft2`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.irfft2(ng.placeholder((3, 8, 4))).shape
    (3, 8, 6)
    """
    return irfftn(a, s, axes, norm)


def rfftn(a: Array, s: Sequence[int] | None = None, axes: Axis = None, norm: str | None = None) -> Complex:
    """`rfft` along the last of some axes, and `fft` along the others; arguments and errors are those of `fftn`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.rfftn(ng.placeholder((3, 8, 6))).shape
    (3, 8, 4)
    """
    *others, (axis, size) = chosen_axes("rfftn", a, s, axes, least=1)
    found: Complex = _each("rfftn", rfft(a, size, axis, norm), others, norm, -1)
    return found


def irfftn(a: Array | Complex, s: Sequence[int] | None = None, axes: Axis = None, norm: str | None = None) -> Op:
    """The inverse of `rfftn`; the last of `s` is how many real numbers there are, as `n` of `irfft`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.irfftn(ng.placeholder((3, 8, 4)), s=(3, 8, 7)).shape
    (3, 8, 7)
    """
    *others, (axis, size) = chosen_axes("irfftn", a, s, axes, least=1)
    return irfft(_each("irfftn", a, others, norm, 1), None if s is None else size, axis, norm)


def hfft(a: Array | Complex, n: int | None = None, axis: int = -1, norm: str | None = None) -> Op:
    """The n real sums of `fft` of a signal whose second half, of conjugates, is left out; arguments as of `irfft`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.hfft(ng.placeholder((2, 5))).shape
    (2, 8)
    """
    x, y = parts_of(a)
    return irfft(x if y is None else Complex(x, y).conj(), n, axis, _other_way("hfft", norm))


def ihfft(a: Array, n: int | None = None, axis: int = -1, norm: str | None = None) -> Complex:
    """The inverse of `hfft`: half a signal, of real sums; arguments and errors are those of `rfft`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.ihfft(ng.placeholder((2, 8))).shape
    (2, 5)
    """
    return rfft(a, n, axis, _other_way("ihfft", norm)).conj()


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Op:
    """The frequencies of the sums of `fft`, in periods for each unit of `d`: 0, those above 0, then those below.

    Args:
        d: How far two elements are apart.
        dtype: float32 by default, as of all that is created.

    Raises:
        AttributeValueError: for an `n` below 1, or a `d` that is 0 or no number.
        DTypeError: for a `dtype` that is no float.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.fft.fftfreq(5, 0.2))().tolist()
    [0.0, 1.0, 2.0, -2.0, -1.0]
    """
    on_device("fftfreq", device)
    found = np.fft.fftfreq(positive_count("fftfreq", n), spacing("fftfreq", d))
    return as_term(found.astype(float_dtype("fftfreq", dtype)))


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None) -> Op:
    """The frequencies of the sums of `rfft`; arguments and errors are those of `fftfreq`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.rfftfreq(5, 0.2).type
    float32[3]
    """
    on_device("rfftfreq", device)
    found = np.fft.rfftfreq(positive_count("rfftfreq", n), spacing("rfftfreq", d))
    return as_term(found.astype(float_dtype("rfftfreq", dtype)))


def fftshift(x: Array | Complex, axes: Axis = None) -> Any:
    """The same with the sum of frequency 0 in the middle of each of some axes, or of all.

    Raises:
        LengthError: for an axis of unknown length.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.fftshift(ng.numpy.fft.fft(ng.placeholder((2, 8))), axes=-1).shape
    (2, 8)
    """
    return _shifted("fftshift", x, axes, 1)


def ifftshift(x: Array | Complex, axes: Axis = None) -> Any:
    """The inverse of `fftshift`.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fft.ifftshift(ng.placeholder((2, 8))).shape
    (2, 8)
    """
    return _shifted("ifftshift", x, axes, -1)


def _whole(call: str, a: Array | Complex, n: int | None, axis: int, norm: str | None, sign: int) -> Complex:
    (x, y), size, at = lines_of(call, a, n, axis)
    return _scaled(fourier(x, y, at, size, sign, size), scale_of(call, norm, size, sign))


def _each(call: str, z: Any, axes: Sequence[tuple[int, int]], norm: str | None, sign: int) -> Any:
    """The transform along each of some axes, the last one first; without any the array itself."""
    for axis, size in reversed(axes):
        z = _whole(call, z, size, axis, norm, sign)
    return z


def _as_complex(call: str, z: Any) -> Complex:
    x, y = (None if part is None else as_floats(call, part) for part in parts_of(z))
    assert x is not None
    return Complex(x, zeros_like(x) if y is None else y)


def _scaled(parts: tuple[Op, Op], scale: float) -> Complex:
    found = Complex(*parts)
    return found if scale == 1 else found.apply(lambda part: multiply(part, scale))


def _other_way(call: str, norm: str | None) -> str:
    return NORMS["backward" if norm is None else checked(call, one_of, norm, NORMS, "norm")]


def _shifted(call: str, x: Array | Complex, axes: Axis, sign: int) -> Any:
    real, imag = parts_of(x)
    named = range(real.rank) if axes is None else each(axes)
    chosen = tuple(checked(call, position, axis, real.rank) for axis in named)
    by = tuple(sign * (known_length(call, real, axis) // 2) for axis in chosen)

    def shifted(part: Op) -> Op:
        return roll(part, by, chosen) if chosen else part

    return shifted(real) if imag is None else Complex(real, imag).apply(shifted)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Nothing: what to write instead is said."""
        raise refused(sys.modules[__name__], name)

    def __dir__() -> list[str]:
        """What is public."""
        return sorted(__all__)


__all__ = [
    "Complex",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
