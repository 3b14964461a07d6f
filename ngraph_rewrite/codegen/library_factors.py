# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of triangular factors and of equations that are solved by them.

What costs most is the same in all of them, and written out here: multiples of some rows, which lie in workspace, are
taken from all others, one after the other, and each product and each difference is rounded.
"""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.parting import BEGIN, launch_lines
from ngraph_rewrite.codegen.source import Source, nested

DTYPES = ("float32", "float64")
WIDTH = 16  # columns of a panel, and rows that are known before others are updated
COLUMNS = 128  # of rows in workspace, so that they stay in the first cache
THREADS = 256  # of a block on a GPU


def _update(dtype: str, place: str, factor: str, buffer: int = 2) -> str:
    """Lines that update row i between columns by all rows in workspace, and go on with i.

    Args:
        place: Where element j of row i is.
        factor: How often row k is taken.
        buffer: Which one y is.
    """
    factors = [f"f{k} = {factor.format(k=k)}" for k in range(WIDTH)]
    rows = [f"load_{dtype}(rows, {k * COLUMNS} + j - left, 4)" for k in range(WIDTH)]
    taken = [f"value = value - f{k} * {row}" for k, row in enumerate(rows)]
    lines = [f"value = load_{dtype}(y, {place}, {buffer})", *taken, f"store_{dtype}(y, {place}, value, {buffer})"]
    return "\n".join([*factors, "for j in range(left, end):", *nested(lines), "i += 1"])


def _factors(kernel: str, dtype: str) -> Source:
    has_dtype(dtype, DTYPES, kernel)
    size = f"{dtype[-2:]} // 8"
    matrix = f"y + at * {size}"
    unit = f"select(n - first > {2 * COLUMNS} * (workers + 1), {COLUMNS}, {2 * WIDTH})"
    given = [matrix, "n", "first", "unit"]
    chunks, time = "lesser(chunk_start(right_of + unit - 1, 1, unit), 4 * workers + 4)", "right_of * right_of"
    lines = [f"right_of, unit = n - first - wide, {unit}", *launch_lines("eliminate", given, chunks, time)]
    launch = "\n".join(["if first + wide < n:", *nested(lines)])
    names = tuple("count n x x_between x_down x_along y space room eliminate".split())
    return rendered(kernel, names, dtype=dtype, team=BEGIN, width=str(WIDTH), size=size, launch=launch)


@cache
def render_eliminate(dtype: str, symmetric: bool) -> Source:
    """Return the kernel that updates what is right of a panel which begins in column ``first`` of a matrix (n, n).

    Args:
        symmetric: Whether columns of the panel stand for rows, and only what is below the diagonal is updated.

    >>> render_eliminate("float32", False).signature
    ('y', 'n', 'first', 'unit')
    """
    element, kept = f"load_{dtype}(y, {{}}, 0)", f"rows, k * {COLUMNS} + j - left"
    each = f"for k in range({WIDTH}):"
    if symmetric:
        rows = [f"store_{dtype}({kept}, {element.format('j * n + first + k')}, 4)"]
        rows = [each, "    for j in range(left, right):", *nested(nested(rows))]
    else:
        taken = [
            f"part = factor * load_{dtype}(rows, q * {COLUMNS} + j - left, 4)",
            f"store_{dtype}(y, row + j, {element.format('row + j')} - part, 0)",
        ]
        factor = element.format("row + first + q")
        solved = ["for q in range(k):", f"    factor = {factor}", "    for j in range(left, right):"]
        solved += [*nested(nested(taken)), "for j in range(left, right):"]
        solved += [f"    store_{dtype}({kept}, {element.format('row + j')}, 4)"]
        rows = [each, *nested(["row = (first + k) * n", *solved])]
    holes = {
        "width": str(WIDTH),
        "columns": str(COLUMNS),
        "rows": "\n".join(rows),
        "begin": "left" if symmetric else "top",
        "end": "end = lesser(right, i + 1)" if symmetric else "",
        "update": _update(dtype, "i * n + j", element.format("i * n + first + {k}"), 0),
    }
    return rendered("eliminate", ("y", "n", "first", "unit"), dtype=dtype, **holes)


@cache
def render_cholesky(dtype: str) -> Source:
    """Return the kernel of lower factors of ``count`` matrices of n rows and columns with strides, in elements.

    ``space`` has ``room`` bytes for each thread, and ``eliminate`` is the kernel that updates columns.

    >>> render_cholesky("float32").signature
    ('count', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y', 'space', 'room', 'eliminate')
    """
    return _factors("cholesky", dtype)


@cache
def render_lu(dtype: str) -> Source:
    """Return the kernel of factors of ``count`` matrices with exchanged rows, and of the row that each was.

    >>> render_lu("float32").signature[-3:]
    ('space', 'room', 'eliminate')
    """
    return _factors("lu", dtype)


@cache
def render_triangular_solve(dtype: str, lower: bool, unit: bool) -> Source:
    """Return the kernel of solutions (count, n, m) of triangles `a` and right sides `b` with strides, in elements.

    >>> render_triangular_solve("float32", True, False).signature[:8]
    ('count', 'n', 'm', 'a', 'a_between', 'a_down', 'a_along', 'b')
    """
    has_dtype(dtype, DTYPES, "triangular_solve")
    names = tuple("count n m a a_between a_down a_along b b_between b_down b_along y space room".split())
    factor = f"load_{dtype}(a, triangle + i * a_down + (first {'+' if lower else '-'} {{k}}) * a_along, 1)"
    update = _update(dtype, "at + i * m + j", factor)
    ways = {"step": "1", "first": "done", "begin": "done", "last": "n"}
    if not lower:
        ways = {"step": "-1", "first": "n - 1 - done", "begin": "0", "last": "n - done"}
    ways |= {"divided": "value" if unit else "value / pivot"}
    holes = {"dtype": dtype, "width": str(WIDTH), "columns": str(COLUMNS)}
    return rendered("triangular_solve", names, update=update, **holes, **ways)
