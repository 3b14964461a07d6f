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

from collections.abc import Callable
from functools import cache
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.ops.fourier_lengths import next_smooth
from ngraph_rewrite.rewriting.fourier_terms import Parts, Sums, Terms, each, length_of, matrix_of, roots
from ngraph_rewrite.rewriting.matcher import Make
from ngraph_rewrite.rewriting.registry import term_function
from ngraph_rewrite.terms.op import Op

Transform = Callable[[Terms, Op, "Op | None", Sums], Parts]
STEP = 64  # elements of a step, at most
_PRIME = 256  # primes up to this are one step


@term_function(consumes="semi.fourier")
def fourier_products(make: Make, term: Op) -> Op:
    """The sums, by products of matrices alone."""
    return by_lines(Terms(make, term.dtype), term, _fourier)


def by_lines(terms: Terms, term: Op, transform: Transform) -> Op:
    """What an op gives, by a transform of lines (b, m)."""
    outer, own, inner = term.args[0].shape
    x, y = (*(terms.shaped(terms.turned(z, 0, 2, 1), outer * inner, own) for z in term.args), None)[:2]
    assert x is not None
    sums = Sums(*term.attrs)
    parts = transform(terms, x, y, sums)
    real, imag = each(parts, lambda z: terms.turned(terms.shaped(z, outer, inner, sums.wanted), 0, 2, 1))
    if imag is None:
        return real
    return terms.joined(*(terms.shaped(part, 1, *part.shape) for part in (real, imag)), axis=0)


def _fourier(terms: Terms, x: Op, y: Op | None, sums: Sums) -> Parts:
    """The sums of lines ``x + iy``, which have at most `n` elements: those that are not there are 0."""
    first = _first_step(sums.n)
    if first == sums.n:
        return at_once(terms, x, y, sums)
    return convolved(terms, x, y, sums, _fourier) if first is None else _in_two(terms, x, y, sums, first)


def at_once(terms: Terms, x: Op, y: Op | None, sums: Sums) -> Parts:
    """The sums by one product with a matrix."""
    matrix = terms.constant(matrix_of(sums, length_of(x), y is not None))
    return _halves(terms, terms.op("dot", terms.joined(x, y, axis=1), matrix), 1, sums)


def _in_two(terms: Terms, x: Op, y: Op | None, sums: Sums, first: int) -> Parts:
    """Elements j2 + n2 j1 stand in columns j2, which become sums k1; those are summed along j2, for k1 + n1 k2."""
    second, count = sums.n // first, x.shape[0]
    rows = ceil(length_of(x) / second)
    real, imag = down(terms, grids(terms, x, y, rows, second), Sums(first, sums.sign, first), rows, y is not None)
    assert imag is not None
    real, imag = terms.multiplied(real, imag, factors_between(sums, first), 0, 2)
    step = sums._replace(n=second, wanted=ceil(sums.wanted / first))
    if _first_step(second) == second:
        columns = terms.turned(terms.joined(real, imag, axis=2), 2, 1, 0)
        found = each(down(terms, columns, step, second, True), lambda z: terms.turned(z, 1, 0, 2))
    else:
        lines = [terms.shaped(z, count * first, second) for z in (real, imag)]
        parts = _fourier(terms, lines[0], lines[1], step)
        found = each(parts, lambda z: terms.turned(terms.shaped(z, first, count, step.wanted), 1, 2, 0))
    return each(found, lambda z: terms.part(terms.shaped(z, count, step.wanted * first), 1, 0, sums.wanted))


def grids(terms: Terms, x: Op, y: Op | None, rows: int, second: int) -> Op:
    """Lines as rows of a length, of their first elements, then of the next ones; imaginary parts below real ones."""
    padded = [terms.padded(z, rows * second) for z in (x, y) if z is not None]
    return terms.turned(terms.joined(*(terms.shaped(z, z.shape[0], rows, second) for z in padded), axis=1), 1, 0, 2)


def factors_between(sums: Sums, first: int) -> NDArray[np.complex128]:
    """What sums of columns are multiplied by, before they are summed along rows."""
    return roots(np.outer(np.arange(first), np.arange(sums.n // first)), sums.n, sums.sign)


def down(terms: Terms, columns: Op, sums: Sums, rows: int, is_complex: bool) -> Parts:
    """The sums along the first axis, where real parts stand above imaginary ones."""
    matrix = terms.constant(np.ascontiguousarray(matrix_of(sums, rows, is_complex).T))
    height, *others = columns.shape
    found = terms.op("dot", matrix, terms.shaped(columns, height, others[0] * others[1]))
    return _halves(terms, terms.shaped(found, found.shape[0], *others), 0, sums)


def _halves(terms: Terms, found: Op, axis: int, sums: Sums) -> Parts:
    if sums.real:
        return found, None
    return terms.part(found, axis, 0, sums.wanted), terms.part(found, axis, sums.wanted, 2 * sums.wanted)


def convolved(terms: Terms, x: Op, y: Op | None, sums: Sums, transform: Transform, least: int = 1) -> Parts:
    """2jk is j² + k² - (k - j)²: a factor of j, a convolution, and a factor of k.

    Args:
        least: What the length of the convolution is a multiple of.
    """
    own = length_of(x)
    size = least * next_smooth(ceil((own + sums.wanted - 1) / least))
    chirp = roots(np.arange(max(own, sums.wanted)) ** 2, 2 * sums.n, sums.sign)
    filtering = np.zeros(size, complex)
    filtering[: sums.wanted] = chirp[: sums.wanted].conj()
    filtering[size - own + 1 :] = chirp[own - 1 : 0 : -1].conj()
    real, imag = transform(terms, *terms.multiplied(x, y, chirp[:own], 1), Sums(size, -1, size))
    real, imag = terms.multiplied(real, imag, np.fft.fft(filtering) / size, 1)
    real, imag = transform(terms, real, imag, Sums(size, 1, sums.wanted))
    real, imag = terms.multiplied(real, imag, chirp[: sums.wanted], 1)
    return real, None if sums.real else imag


@cache
def _first_step(n: int) -> int | None:
    """How long the first step of n elements is: n, if one is enough; None if its factors are all large.

    >>> _first_step(60), _first_step(1024), _first_step(2 * 1009), _first_step(1009)
    (60, 32, 2, None)
    """
    if n <= STEP:
        return n
    steps = [d for d in range(2, min(n, _PRIME) + 1) if n % d == 0 and (d <= STEP or _is_prime(d))]
    best = n ** (1 / ceil(log(n) / log(STEP)))
    return min(steps, key=lambda d: abs(log(d / best)), default=None)


def _is_prime(n: int) -> bool:
    return all(n % d for d in range(2, int(n**0.5) + 1))
