# SPDX-License-Identifier: Apache-2.0
"""How a matrix becomes bidiagonal: reflections of columns and of rows in turn; on a CPU in two walks through memory.

One adds up what is taken from columns; one reflects each row at a column, and then at a row.
"""

from functools import cache

from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.library_reflections import (
    Matrix,
    block,
    column_lines,
    reach_lines,
    reflect_lines,
    summed_lines,
)
from ngraph_rewrite.codegen.library_rotations import number
from ngraph_rewrite.codegen.parting import launch_lines
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.ops.singular_values import LANES

_UNIT = 64  # columns that are worth a chunk of their own


@cache
def render_column_sums(dtype: str) -> Source:
    """Return the kernel that adds up rows of a matrix (m, n) from row k on, times what is below k in column k.

    >>> render_column_sums("float32").signature
    ('z', 'm', 'n', 'k', 'sums')
    """
    matrix = Matrix(dtype, "z", "0", columns="right", buffer=0)
    added = block(summed_lines(matrix, matrix.load("{i}", "k")))
    return rendered("column_sums", ("z", "m", "n", "k", "sums"), dtype=dtype, unit=str(_UNIT), added=added)


@cache
def render_reflect_rows(dtype: str) -> Source:
    """Return the kernel that reflects the rows of a matrix (m, n) below row k at column k, and at row k.

    How far both reach is in ``factors``; 0 is nowhere.

    >>> render_reflect_rows("float32").signature
    ('z', 'm', 'n', 'k', 'sums', 'v', 'factors')
    """
    names = ("z", "m", "n", "k", "sums", "v", "factors")
    project = block(_projected(dtype, "cpu"))
    return rendered("reflect_rows", names, dtype=dtype, lanes=str(LANES), project=project)


def bidiagonal_holes(dtype: str, target: str) -> dict[str, list[str]]:
    """What reflects column k and row k: lines that find reflections, and use them or launch what does."""
    column, row = Matrix(dtype, "z", "0"), Matrix(dtype, "z", "1", "n - 1", down="1", along="n")
    holes = {"column": column_lines(column, target), "row": column_lines(row, target), "reach": reach_lines(row)}
    if target == "cuda":
        return holes | {"reflect": reflect_lines(column), "project": _projected(dtype, target)}
    given = ["z", "m", "n", "k", "sums"]
    chunks = f"lesser(chunk_start(n - k - 2 + {_UNIT}, 1, {_UNIT}), 2 * workers + 2)"
    rows = "lesser(chunk_start(m - k - 1 + 7, 1, 8), 4 * workers + 4)"
    return holes | {
        "reach_down": reach_lines(column),
        "sum": launch_lines("add_rows", given, chunks, "(m - k) * (n - k) * 0.06", often=True),
        "reflect": launch_lines("reflect_rows", [*given, "v", "factors"], rows, "(m - k) * (n - k) * 0.15", often=True),
    }


def _projected(dtype: str, target: str) -> list[str]:
    """Lines that find the ``total`` that the reflection of row k takes from row i: of products in lanes."""
    each, zero = f"load_{dtype}(z, row + j + {{t}}, 2) * load_{dtype}(v, j + {{t}}, 9)", number(dtype, 0.0)
    begin = ["row, end = i * n + k + 1, n - k - 1", "j = 0", f"while j + {LANES} <= end:"]
    if target == "cpu":
        loaded = f"load_{dtype}(lane_sums, t, 4)"
        added = f"    store_{dtype}(lane_sums, t, {loaded} + {each.format(t='t')}, 4)"
        return [
            f"for t in range({LANES}):",
            f"    store_{dtype}(lane_sums, t, {zero}, 4)",
            *begin,
            *nested([f"for t in range({LANES}):", added, f"j += {LANES}"]),
            "for t in range(end - j):",
            added,
            f"total = {zero}",
            f"for t in range({LANES}):",
            f"    total = total + {loaded}",
            "total = twice * total",
        ]
    whole = [f"s{t} = s{t} + {each.format(t=t)}" for t in range(LANES)]
    last = [text for t, line in enumerate(whole) for text in (f"if j + {t} < end:", f"    {line}")]
    sums = [f"total = total + s{t}" for t in range(LANES)]
    zeros = [f"s{t} = {zero}" for t in range(LANES)]
    return [
        *zeros,
        *begin,
        *nested([*whole, f"j += {LANES}"]),
        *last,
        f"total = {zero}",
        *sums,
        "total = twice * total",
    ]
