# SPDX-License-Identifier: Apache-2.0
"""The kernel of orthogonal and triangular factors: on a CPU columns are reflected some at a time, at some others.

Both lie in workspace, side by side; columns that are not there are zeros.
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
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.runtime.panel_sizes import TILE, WIDTH


@cache
def render_qr(dtype: str, target: str = "cpu") -> Source:
    """Return the kernel of factors Q and R, one below the other, of ``count`` matrices (m, n) with strides.

    >>> render_qr("float32", "cuda").signature
    ('count', 'm', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y')
    """
    has_dtype(dtype, DTYPES, "qr")
    names = tuple("count m n x x_between x_down x_along y".split())
    if target == "cpu":
        return rendered("qr", (*names, "space", "room"), target, dtype=dtype, **_panels(dtype))
    matrix = Matrix(dtype)
    made_zero, reflected = block(column_lines(matrix, target)), block(reflect_lines(matrix, target))
    holes = {"column": made_zero, "reflect": reflected, "multiply": block(multiplied_lines(matrix, target))}
    return rendered("qr", names, target, dtype=dtype, **holes)


def room_of_panels(m: int, n: int, itemsize: int) -> int:
    """The bytes that a thread needs: for a panel, a tile if there are others, and how far each reflection reaches.

    >>> room_of_panels(1000, 5, 4), room_of_panels(1000, 17, 4), room_of_panels(1000, 80, 4)
    (64020, 128068, 320320)
    """
    others = max(n - WIDTH, 0)
    tile = TILE if others > TILE // 2 else min(others, 1) * WIDTH
    return (m * (WIDTH + tile) + n) * itemsize


def _panels(dtype: str) -> dict[str, str]:
    panel = Matrix(dtype, "panel", at="-first", down=str(WIDTH), buffer=3)
    return {
        "width": str(WIDTH),
        "tile": str(TILE),
        "size": f"({dtype[-2:]} // 8)",
        "column": block(column_lines(panel, "cpu")),
        "reach": block(reach_lines(panel)),
        "read": block(_read(dtype, "panel", 3, str(WIDTH), "first", "0")),
        "write": block(_write(dtype, "panel", 3, str(WIDTH), "first", "wide")),
        "read_tile": block(_read(dtype, "tile", 5, "some", "left", "zero")),
        "write_tile": block(_write(dtype, "tile", 5, "some", "left", "lesser(some, n - left)")),
        "reflect": block(_reflect(dtype)),
    }


def _read(dtype: str, into: str, buffer: int, width: str, left: str, zero: str) -> list[str]:
    """Lines that bring columns from `left` on into workspace, from row `first` on, of which so many rows are zeros."""
    return [
        "for i in range(first, m):",
        f"    there = select(i < first + {zero}, 0, lesser({width}, n - {left}))",
        "    for j in range(there):",
        f"        value = load_{dtype}(y, at + i * n + {left} + j, 2)",
        f"        store_{dtype}({into}, i * {width} + j, value, {buffer})",
        f"    for j in range(there, {width}):",
        f"        store_{dtype}({into}, i * {width} + j, np.{dtype}(0), {buffer})",
    ]


def _write(dtype: str, source: str, buffer: int, width: str, left: str, count: str) -> list[str]:
    """Lines that put so many of them back."""
    return [
        "for i in range(first, m):",
        f"    for j in range({count}):",
        f"        value = load_{dtype}({source}, i * {width} + j, {buffer})",
        f"        store_{dtype}(y, at + i * n + {left} + j, value, 2)",
    ]


def _reflect(dtype: str) -> list[str]:
    """Lines that reflect a tile, or few columns, at a column of the panel."""
    given = "panel, step, first + step, m, twice, tile"
    return [
        f"if some == {TILE}:",
        f"    reflect_tile_{dtype}({given})",
        "else:",
        f"    reflect_few_{dtype}({given})",
    ]
