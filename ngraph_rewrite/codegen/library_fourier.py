# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of Fourier transforms, each for all lengths that have small prime factors only."""

from __future__ import annotations

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.source import Source, nested

LINE = 64  # bytes; rows of what is computed side by side are so many, or a multiple
_STEPS = (8, 4, 2, 3, 5, 7, 11, 13)


@cache
def render_fourier(dtype: str) -> Source:
    """Return the kernel of the first ``wanted`` sums of ``count`` lines of ``own`` numbers, row by row.

    A line has ``first * second`` complex numbers, whose steps are the digits of two numbers of base 16, the last one
    first; ``together`` lines are transformed at once. ``kind`` is 0 for lines x + iy (``y`` may be 0), 1 for real ones
    of twice as many numbers, 2 for real sums of twice as many numbers, of which these are one side. If ``swap`` is 1,
    parts are exchanged, as the inverse has it; ``sign`` is that of imaginary parts of the other kinds. Real sums are
    alone, unless ``both``. At ``roots`` are those of the steps, from ``turns_at`` on those of twice as many numbers,
    from ``between_at`` on those between the steps of columns and of rows; planes of these.

    >>> render_fourier("float32").signature[:5]
    ('count', 'own', 'wanted', 'first', 'second')
    """
    sizes = "count own wanted first second first_steps second_steps together"
    return _rendered("fourier", dtype, sizes, "roots turns_at between_at")


@cache
def render_fourier_across(dtype: str) -> Source:
    """Return the kernel of the first ``wanted`` sums along the second axis of (``outer``, ``own``, ``inner``).

    Lines have ``size`` complex numbers, and are transformed ``strip`` at a time. What the other arguments say is in
    `render_fourier`.

    >>> render_fourier_across("float32").signature[:5]
    ('outer', 'own', 'inner', 'wanted', 'size')
    """
    sizes = "outer own inner wanted size all_steps strip"
    return _rendered("fourier_across", dtype, sizes, "roots turns_at")


def _rendered(kernel: str, dtype: str, sizes: str, tables: str) -> Source:
    has_dtype(dtype, DTYPES, kernel)
    size, lines = int(dtype[-2:]) // 8, list[str]()
    for step in _STEPS:
        lines.append(f"{'el' if lines else ''}if radix == {step}:")
        lines += nested([f"fourier_{step}_{dtype}(source, target, plane, table, length, row)"])
    names = tuple(f"{sizes} kind swap sign both x y z {tables} space room".split())
    return rendered(kernel, names, dtype=dtype, size=str(size), lanes=str(LINE // size), step="\n".join(lines))
