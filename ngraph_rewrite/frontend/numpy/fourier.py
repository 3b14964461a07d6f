# SPDX-License-Identifier: Apache-2.0
"""Sums of a discrete Fourier transform, as products with matrices of few rows.

A length that is a product n1 n2 is taken in two steps, of n1 and of n2, with factors between them (Cooley and Tukey,
*An algorithm for the machine calculation of complex Fourier series*, 1965). Steps have up to 64 elements: few large
products take less time than many small ones, though they have more to multiply. Lengths with large prime factors become
a convolution, which is done by transforms of other lengths (Bluestein, *A linear filtering approach to the computation
of the discrete Fourier transform*, 1970). Elements that are zeros, and results that nobody wants, are left out of the
first step and the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.frontend.numpy.elementwise import add, multiply, subtract
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul
from ngraph_rewrite.frontend.numpy.manipulation import reshape, swapaxes
from ngraph_rewrite.frontend.numpy.operands import as_term, part_along
from ngraph_rewrite.frontend.numpy.padding import pad
from ngraph_rewrite.terms.op import Op

_STEP = 64  # elements of a step, at most
_PRIME = 256  # primes up to this are one step
_SMALL = 7  # the largest prime factor of a length that is chosen


@dataclass(frozen=True)
class Sums:
    """``X[k]``, the sum of ``x[j] exp(sign 2 pi i j k / n)``, for each k below `wanted`.

    Attributes:
        is_real: Whether only the real part is wanted.
    """

    n: int
    sign: int
    wanted: int
    is_real: bool = False


def fourier(x: Op, y: Op | None, sums: Sums) -> tuple[Op, Op | None]:
    """The sums along the last axis of ``x + iy``, of at most `n` elements: those that are not there are 0."""
    first = _first_step(sums.n)
    if first == sums.n:
        side_by_side = x if y is None else concat([x, y], axis=-1)
        found = matmul(side_by_side, _constant(_matrix(sums, length_of(x), y is not None), x))
        return _halves(found, -1, sums)
    return _convolved(x, y, sums) if first is None else _in_two(x, y, sums, first)


def _in_two(x: Op, y: Op | None, sums: Sums, first: int) -> tuple[Op, Op | None]:
    """Elements j2 + n2 j1 stand in columns j2, which become sums k1; those are summed along j2, for k1 + n1 k2."""
    second = sums.n // first
    rows = ceil(length_of(x) / second)
    grids = [_grid(_padded(z, rows * second), rows) for z in (x, y) if z is not None]
    step = Sums(first, sums.sign, first)
    real, imag = _down(concat(grids, axis=-2) if y is not None else grids[0], step, rows, y is not None)
    assert imag is not None
    factors = _roots(np.outer(np.arange(first), np.arange(second)), sums.n, sums.sign)
    real, imag = _multiplied(real, imag, factors)
    step = replace(sums, n=second, wanted=ceil(sums.wanted / first))
    if _first_step(second) == second:
        parts = _down(_turned(concat([real, imag], axis=-1)), step, second, True)
    else:
        real, imag = fourier(real, imag, step)
        parts = _turned(real), None if imag is None else _turned(imag)
    found, other = (None if z is None else part_of(_line(z, step.wanted, first), -1, 0, sums.wanted) for z in parts)
    assert found is not None
    return found, other


def _down(columns: Op, sums: Sums, rows: int, is_complex: bool) -> tuple[Op, Op | None]:
    """The sums along the axis before the last, where real parts stand above imaginary ones."""
    matrix = _matrix(sums, rows, is_complex).T
    return _halves(matmul(_constant(matrix, columns), columns), -2, sums)


def _matrix(sums: Sums, rows: int, is_complex: bool) -> NDArray[np.float64]:
    """What a row is multiplied by, of real parts and imaginary ones side by side, for the sums in the same order."""
    turns = _roots(np.outer(np.arange(rows), np.arange(sums.wanted)), sums.n, sums.sign)
    c, s = turns.real, turns.imag
    blocks = [[c, s], [-s, c]] if is_complex else [[c, s]]
    return np.block([row[:1] if sums.is_real else row for row in blocks])


def _halves(found: Op, axis: int, sums: Sums) -> tuple[Op, Op | None]:
    if sums.is_real:
        return found, None
    return part_of(found, axis, 0, sums.wanted), part_of(found, axis, sums.wanted, 2 * sums.wanted)


def _convolved(x: Op, y: Op | None, sums: Sums) -> tuple[Op, Op | None]:
    """2jk is j² + k² - (k - j)²: a factor of j, a convolution, and a factor of k."""
    own = length_of(x)
    size = _smooth(own + sums.wanted - 1)
    chirp = _roots(np.arange(max(own, sums.wanted)) ** 2, 2 * sums.n, sums.sign)
    filtering = np.zeros(size, complex)
    filtering[: sums.wanted] = chirp[: sums.wanted].conj()
    filtering[size - own + 1 :] = chirp[own - 1 : 0 : -1].conj()
    real, imag = fourier(*_multiplied(x, y, chirp[:own]), Sums(size, -1, size))
    assert imag is not None
    real, imag = fourier(*_multiplied(real, imag, np.fft.fft(filtering) / size), Sums(size, 1, sums.wanted))
    assert imag is not None
    real, imag = _multiplied(real, imag, chirp[: sums.wanted])
    return real, None if sums.is_real else imag


def length_of(x: Op) -> int:
    """The length of the last axis, which is known."""
    length = x.shape[-1]
    assert isinstance(length, int)
    return length


def part_of(x: Op, axis: int, start: int, stop: int) -> Op:
    """Some elements along an axis, which counts from the last one; `x` itself, if they are all."""
    return x if (start, stop) == (0, x.shape[axis]) else part_along(x, x.rank + axis, start, stop)


@cache
def _first_step(n: int) -> int | None:
    """How long the first step of n elements is: n, if one is enough; None if its factors are all large.

    >>> _first_step(60), _first_step(1024), _first_step(2 * 1009), _first_step(1009)
    (60, 32, 2, None)
    """
    if n <= _STEP:
        return n
    steps = [d for d in range(2, min(n, _PRIME) + 1) if n % d == 0 and (d <= _STEP or _is_prime(d))]
    best = n ** (1 / ceil(log(n) / log(_STEP)))
    return min(steps, key=lambda d: abs(log(d / best)), default=None)


def _is_prime(n: int) -> bool:
    return all(n % d for d in range(2, int(n**0.5) + 1))


def _smooth(least: int) -> int:
    """The smallest length from `least` that has no large prime factor.

    >>> _smooth(17), _smooth(2041)
    (18, 2048)
    """
    while _rest(least) > 1:
        least += 1
    return least


def _rest(n: int) -> int:
    for prime in range(2, _SMALL + 1):
        while n % prime == 0:
            n //= prime
    return n


def _roots(powers: NDArray[np.integer], n: int, sign: int) -> NDArray[np.complex128]:
    """Powers of the n-th root of one. What is 0 is exactly 0, and the others do not lose digits as powers grow.

    >>> _roots(np.arange(4) + 4_000_000, 4, -1).tolist()
    [(1+0j), -1j, (-1+0j), 1j]
    """
    angles = 2 * np.pi * (powers % n) / n
    c, s = np.cos(angles), sign * np.sin(angles)
    return np.where(abs(c) < 1e-15, 0, c) + 1j * np.where(abs(s) < 1e-15, 0, s)


def _multiplied(x: Op, y: Op | None, factors: NDArray[np.complex128]) -> tuple[Op, Op]:
    c, s = _constant(factors.real, x), _constant(factors.imag, x)
    if y is None:
        return multiply(x, c), multiply(x, s)
    return subtract(multiply(x, c), multiply(y, s)), add(multiply(x, s), multiply(y, c))


def _constant(array: NDArray[np.float64], like: Op) -> Op:
    return as_term(array.astype(like.dtype))


def _padded(x: Op, length: int) -> Op:
    missing = length - length_of(x)
    return pad(x, [(0, 0)] * (x.rank - 1) + [(0, missing)]) if missing else x


def _grid(x: Op, rows: int) -> Op:
    return reshape(x, (*x.shape[:-1], rows, length_of(x) // rows))


def _line(x: Op, rows: int, columns: int) -> Op:
    return reshape(x, (*x.shape[:-2], rows * columns))


def _turned(x: Op) -> Op:
    return swapaxes(x, -1, -2)
