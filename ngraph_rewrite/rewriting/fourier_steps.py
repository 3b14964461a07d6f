# SPDX-License-Identifier: Apache-2.0
"""Sums of a discrete Fourier transform by an op of the CPU, which has steps for lengths with small prime factors.

Longer ones, and those with another small factor, are taken in two steps. All others become a convolution of lines that
the op suits.
"""

from __future__ import annotations

from math import ceil, log

from ngraph_rewrite.ops.fourier_lengths import smooth_part, suits
from ngraph_rewrite.rewriting.fourier_products import (
    STEP,
    at_once,
    by_lines,
    convolved,
    down,
    factors_between,
    grids,
)
from ngraph_rewrite.rewriting.fourier_terms import Parts, Sums, Terms, each, length_of
from ngraph_rewrite.rewriting.matcher import Make
from ngraph_rewrite.rewriting.registry import term_function
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op

_BESIDE = 8  # so many lines or more stay side by side
_ONCE, _ALONE = 1 << 16, 1 << 14  # products of each of many lines with one matrix, at most, and of a single line
_VECTORS, _SQUARE, _LONG = 16, 256, 1024  # convolutions are rows of vectors, or columns and rows if they are long


@term_function(consumes="semi.fourier")
def fourier_steps(make: Make, term: Op) -> Op:
    """The sums, by the op for all lengths that it suits, and by products of matrices."""
    inner = term.args[0].shape[2]
    if suits(term.attribute("n")) and not (isinstance(inner, int) and 1 < inner < _BESIDE):
        return make(lookup("cpu.fourier"), term.args, term.attrs)
    return by_lines(Terms(make, term.dtype), term, _fourier)


def _fourier(terms: Terms, x: Op, y: Op | None, sums: Sums) -> Parts:
    """The sums of lines ``x + iy``, which have at most `n` elements: those that are not there are 0."""
    if suits(sums.n):
        parts = _stepped(terms, *(terms.shaped(z, *z.shape, 1) for z in (x, y) if z is not None), sums=sums)
        return each(parts, lambda z: terms.shaped(z, z.shape[0], sums.wanted))
    products = length_of(x) * (1 if y is None else 2) * sums.wanted * (2 - sums.real)
    if products <= (_ALONE if x.shape[0] == 1 else _ONCE):
        return at_once(terms, x, y, sums)
    first = _first_step(sums.n)
    if first is not None:
        return _in_two(terms, x, y, sums, first)
    return convolved(terms, x, y, sums, _fourier, _VECTORS if sums.n < _LONG else _SQUARE)


def _stepped(terms: Terms, *args: Op, sums: Sums) -> Parts:
    """What the op gives, in parts."""
    found = terms.make(lookup("cpu.fourier"), args, tuple(sums))
    if sums.real:
        return found, None
    first, second = (terms.shaped(terms.part(found, 0, k, k + 1), *found.shape[1:]) for k in (0, 1))
    return first, second


def _in_two(terms: Terms, x: Op, y: Op | None, sums: Sums, first: int) -> Parts:
    """Elements j2 + n2 j1 stand in columns j2, which become sums k1; those are summed along j2, for k1 + n1 k2."""
    second, count = sums.n // first, x.shape[0]
    rows, step = ceil(length_of(x) / second), Sums(first, sums.sign, first)
    if suits(first):
        padded = [terms.padded(z, rows * second) for z in (x, y) if z is not None]
        columns = _stepped(terms, *(terms.shaped(z, count, rows, second) for z in padded), sums=step)
    else:
        products = down(terms, grids(terms, x, y, rows, second), step, rows, y is not None)
        columns = each(products, lambda z: terms.turned(z, 1, 0, 2))
    scaled = terms.multiplied(*columns, factors_between(sums, first), 1, 2)
    step = sums._replace(n=second, wanted=ceil(sums.wanted / first))
    real, imag = (terms.shaped(z, count * first, second) for z in scaled)
    found = each(
        _fourier(terms, real, imag, step), lambda z: terms.turned(terms.shaped(z, count, first, step.wanted), 0, 2, 1)
    )
    return each(found, lambda z: terms.part(terms.shaped(z, count, step.wanted * first), 1, 0, sums.wanted))


def _first_step(n: int) -> int | None:
    """How long the first of two steps of n elements is; None if n is not made of factors that are short or smooth.

    >>> _first_step(1 << 20), _first_step(1700), _first_step(289), _first_step(1009)
    (64, 17, None, None)
    """
    smooth = smooth_part(n)
    rest = n // smooth
    if rest == 1:
        return min((d for d in range(2, STEP**2) if n % d == 0), key=lambda d: abs(log(d / STEP)))
    return rest if rest <= STEP and suits(smooth) else None
