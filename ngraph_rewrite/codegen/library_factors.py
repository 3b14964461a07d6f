# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of triangular factors and of equations that are solved by them.

What costs most is the same in all of them, and written out here: multiples of some rows, which lie in workspace, are
taken from all others, one after the other, and each product and each difference is rounded.
"""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.source import Source, nested

DTYPES = ("float32", "float64")
WIDTH = 16  # columns of a panel, and rows that are known before others are updated
COLUMNS = 128  # of rows in workspace, so that they stay in the first cache
THREADS = 256  # of a block on a GPU


def _update(dtype: str, place: str, factor: str) -> str:
    """Lines that update row i between columns by all rows in workspace, and go on with i.

    Args:
        place: Where element j of row i is.
        factor: How often row k is taken.
    """
    factors = [f"f{k} = {factor.format(k=k)}" for k in range(WIDTH)]
    rows = [f"load_{dtype}(rows, {k * COLUMNS} + j - left, 4)" for k in range(WIDTH)]
    taken = [f"value = value - f{k} * {row}" for k, row in enumerate(rows)]
    lines = [f"value = load_{dtype}(y, {place}, 2)", *taken, f"store_{dtype}(y, {place}, value, 2)"]
    return "\n".join([*factors, "for j in range(left, end):", *nested(lines), "i += 1"])


def _factors(kernel: str, dtype: str, target: str) -> Source:
    has_dtype(dtype, DTYPES, kernel)
    names = tuple("count n x x_between x_down x_along y".split())
    update = _update(dtype, "at + i * n + j", f"load_{dtype}(panel, i * {WIDTH} + {{k}}, 3)")
    holes = {"dtype": dtype, "width": str(WIDTH), "columns": str(COLUMNS), "size": dtype[-2:] + " // 8"}
    names = (*names, "space", "room") if target == "cpu" else names
    return rendered(kernel, names, target, update=update, threads=str(THREADS), **holes)


@cache
def render_cholesky(dtype: str, target: str = "cpu") -> Source:
    """Return the kernel of lower factors of ``count`` matrices of n rows and columns with strides, in elements.

    On the CPU ``space`` has ``room`` bytes for each thread.

    >>> render_cholesky("float32").signature
    ('count', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y', 'space', 'room')
    """
    return _factors("cholesky", dtype, target)


@cache
def render_lu(dtype: str, target: str = "cpu") -> Source:
    """Return the kernel of factors of ``count`` matrices with exchanged rows, and of the row that each was.

    >>> render_lu("float32", "cuda").signature
    ('count', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y')
    """
    return _factors("lu", dtype, target)


@cache
def render_triangular_solve(dtype: str, lower: bool, unit: bool, target: str = "cpu") -> Source:
    """Return the kernel of solutions (count, n, m) of triangles `a` and right sides `b` with strides, in elements.

    On a GPU a block has some ``columns``.

    >>> render_triangular_solve("float32", True, False).signature[:8]
    ('count', 'n', 'm', 'a', 'a_between', 'a_down', 'a_along', 'b')
    """
    has_dtype(dtype, DTYPES, "triangular_solve")
    names = tuple("count n m a a_between a_down a_along b b_between b_down b_along y".split())
    factor = f"load_{dtype}(a, triangle + i * a_down + (first {'+' if lower else '-'} {{k}}) * a_along, 1)"
    update = _update(dtype, "at + i * m + j", factor)
    ways = {"step": "1", "first": "done", "begin": "done", "last": "n", "row": "done", "below": "done + 1"}
    if not lower:
        ways = {"step": "-1", "first": "n - 1 - done", "begin": "0", "last": "n - done", "row": "n - 1 - done"}
        ways["below"] = "0"
    ways |= {"divided": "value" if unit else "value / pivot"}
    holes = {"dtype": dtype, "width": str(WIDTH), "columns": str(COLUMNS)}
    names = (*names, "space", "room") if target == "cpu" else (*names, "columns")
    return rendered("triangular_solve", names, target, update=update, **holes, **ways)
