# SPDX-License-Identifier: Apache-2.0
"""The kernel of orthogonal and triangular factors: on a CPU columns are reflected some at a time, at some others.

Both lie in workspace, side by side; columns that are not there are zeros. What is right of a panel is reflected by a
kernel of its own, which may be shared out.
"""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.library_reflections import (
    Matrix,
    block,
    column_lines,
    multiplied_lines,
    reach_lines,
    reflect_lines,
)
from ngraph_rewrite.codegen.parting import BEGIN, MOST, is_shared, launch_lines
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.runtime.panel_sizes import TILE, WIDTH

_REFLECT = tuple("y down m n first wide back panel reached unit tiles".split())


@cache
def render_qr(dtype: str, target: str = "cpu") -> Source:
    """Return the kernel of factors Q and R, one below the other, of ``count`` matrices (m, n) with strides.

    On the CPU ``space`` has ``room`` bytes for each thread, ``tiles`` has ``across``, and ``reflect`` is where the
    kernel of `render_reflect` is.

    >>> render_qr("float32", "cuda").signature
    ('count', 'm', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y')
    """
    has_dtype(dtype, DTYPES, "qr")
    names = tuple("count m n x x_between x_down x_along y".split())
    if target == "cpu":
        parts = ("space", "room", "reflect", "tiles", "across")
        return rendered("qr", (*names, *parts), target, dtype=dtype, **_panels(dtype))
    matrix = Matrix(dtype)
    made_zero, reflected = block(column_lines(matrix, target)), block(reflect_lines(matrix))
    holes = {"column": made_zero, "reflect": reflected, "multiply": block(multiplied_lines(matrix))}
    return rendered("qr", names, target, dtype=dtype, **holes)


@cache
def render_reflect(dtype: str) -> Source:
    """Return the kernel that reflects what is right of a panel of ``wide`` columns at all of them.

    The first of ``n`` columns is at ``y``, rows are ``down`` elements apart. Chunks have multiples of ``unit`` columns,
    which are the most that are reflected together. ``tiles`` has room for so many of each thread.

    >>> render_reflect("float32").signature[:7]
    ('y', 'down', 'm', 'n', 'first', 'wide', 'back')
    """
    matrix = Matrix(dtype, at="0", down="down", buffer=0)
    holes = {
        "width": str(WIDTH),
        "tile": str(TILE),
        "size": f"({dtype[-2:]} // 8)",
        "read": block(_read(matrix, "tile", 2, "some", "left", "there", "zero")),
        "write": block(_write(matrix, "tile", 2, "some", "left", "there")),
    }
    return rendered("reflect", _REFLECT, dtype=dtype, **holes)


def room_of_panel(m: int, n: int, itemsize: int) -> int:
    """The bytes that a thread needs for a panel, and for how far the reflection of each column reaches.

    >>> room_of_panel(1000, 16, 4)
    64064
    """
    return (m * WIDTH + n) * itemsize


def room_of_tile(m: int, n: int, itemsize: int) -> int:
    """The bytes that a thread needs for columns right of a panel, where a matrix has any.

    >>> room_of_tile(1000, 5, 4), room_of_tile(1000, 17, 4), room_of_tile(1000, 80, 4)
    (0, 64000, 256000)
    """
    others = max(n - WIDTH, 0)
    return m * (TILE if others > WIDTH else min(others, 1) * WIDTH) * itemsize


def tiles_of(n: int) -> int:
    """How many of them threads need that share one matrix: narrow ones take a quarter of it.

    >>> tiles_of(17), tiles_of(80), tiles_of(10_000)
    (1, 2, 64)
    """
    return min(-(-n // TILE), MOST)


def _panels(dtype: str) -> dict[str, str]:
    matrix, panel = Matrix(dtype), panel_of(dtype, "m")
    return {
        "begin": BEGIN,
        "size": f"({dtype[-2:]} // 8)",
        "width": str(WIDTH),
        "column": block(column_lines(panel, "cpu")),
        "reach": block(reach_lines(panel)),
        "read": block(_read(matrix, "panel", 3, str(WIDTH), "first", "wide", "0")),
        "write": block(_write(matrix, "panel", 3, str(WIDTH), "first", "wide")),
        "launch": block(_launched(matrix, "0")),
        "multiply": block(product_lines(matrix, known=True)),
    }


def panel_of(dtype: str, rows: str) -> Matrix:
    """The panel that begins with column ``first``, as a matrix whose columns are numbered as they were."""
    return Matrix(dtype, "panel", at="-first", rows=rows, down=str(WIDTH), buffer=3)


def product_lines(matrix: Matrix, known: bool = False) -> list[str]:
    """Lines for a CPU that put the product of the reflections of all columns in their place, some columns at a time.

    Args:
        known: Whether it was kept how far each of them reaches.
    """
    dtype, panel = matrix.dtype, panel_of(matrix.dtype, matrix.rows)
    stored = f"store_{dtype}(panel, k * {WIDTH} + step, np.{dtype}(1) - twice, 3)"
    element = f"load_{dtype}(panel, i * {WIDTH} + step, 3)"
    reached = ["k = first + step", *reach_lines(panel), f"store_{dtype}(reached, k, twice, 14)"]
    own = [
        "step = wide - 1 - back",
        f"k, twice = first + step, load_{dtype}(reached, first + step, 14)",
        "for j in range(step + 1, wide):",
        f"    store_{dtype}(panel, k * {WIDTH} + j, np.{dtype}(0), 3)",
        "if step + 1 < wide:",
        f"    reflect_panel_{dtype}(panel, step, k, {matrix.rows}, twice, panel)",
        stored,
        f"for i in range(k + 1, {matrix.rows}):",
        f"    store_{dtype}(panel, i * {WIDTH} + step, -(twice * {element}), 3)",
    ]
    lines = [
        f"wide = lesser({WIDTH}, {matrix.columns} - first)",
        *_read(matrix, "panel", 3, str(WIDTH), "first", "wide", "0"),
        *([] if known else ["for step in range(wide):", *nested(reached)]),
        *_launched(matrix, "1"),
        "for back in range(wide):",
        *nested(own),
        *_write(matrix, "panel", 3, str(WIDTH), "first", "wide"),
        f"first -= {WIDTH}",
    ]
    return [f"first = ({matrix.columns} - 1) // {WIDTH} * {WIDTH}", "while first >= 0:", *nested(lines)]


def _launched(matrix: Matrix, back: str) -> list[str]:
    """Lines that reflect all columns right of the panel at its columns, from the last one back or from the first on."""
    size = f"({matrix.dtype[-2:]} // 8)"
    left = f"({matrix.columns} - first - wide)"
    address = f"{matrix.address} + ({matrix.at}) * {size}"
    given = [address, matrix.down, matrix.rows, matrix.columns, "first", "wide", back, "panel", "reached", "unit"]
    given += ["tiles + thread * across"]
    chunks = "lesser(chunk_start(right_of + unit - 1, 1, unit), 4 * workers + 4)"
    time = f"(({matrix.rows} - first) * right_of * 0.5)"
    narrow = f"{is_shared(time)} and right_of <= {2 * TILE} * (workers + 1)"
    begin = [f"right_of = {left}", f"unit = select({narrow}, {WIDTH}, {TILE})"]
    return [f"if first + wide < {matrix.columns}:", *nested([*begin, *launch_lines("reflect", given, chunks, time)])]


def _read(matrix: Matrix, into: str, buffer: int, width: str, left: str, count: str, zero: str) -> list[str]:
    """Lines that bring so many columns from `left` on into workspace, from row `first` on; some rows are zeros."""
    dtype = matrix.dtype
    return [
        f"for i in range(first, {matrix.rows}):",
        f"    inside = select(i < first + {zero}, 0, {count})",
        "    for j in range(inside):",
        f"        value = {matrix.load('i', f'({left} + j)')}",
        f"        store_{dtype}({into}, i * {width} + j, value, {buffer})",
        f"    for j in range(inside, {width}):",
        f"        store_{dtype}({into}, i * {width} + j, np.{dtype}(0), {buffer})",
    ]


def _write(matrix: Matrix, source: str, buffer: int, width: str, left: str, count: str) -> list[str]:
    """Lines that put so many of them back."""
    return [
        f"for i in range(first, {matrix.rows}):",
        f"    for j in range({count}):",
        f"        value = load_{matrix.dtype}({source}, i * {width} + j, {buffer})",
        f"        {matrix.store('i', f'({left} + j)', 'value')}",
    ]
