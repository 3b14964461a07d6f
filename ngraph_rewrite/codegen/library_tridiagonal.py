# SPDX-License-Identifier: Apache-2.0
"""How a CPU makes a matrix tridiagonal: a reflection is taken from it in the walk that multiplies by the next one.

A matrix of more than a cache is read and written once for each column, not read for the product and then once more.
"""

from functools import cache

from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.library_reflections import Matrix, block, column_lines, reach_lines
from ngraph_rewrite.codegen.parting import launch_lines
from ngraph_rewrite.codegen.source import Source, nested

_TOGETHER = 4  # rows that are updated together
_UNIT = 64  # columns that are worth a chunk of their own


@cache
def render_symmetric_update(dtype: str) -> Source:
    """Return the kernel that takes a reflection from both sides of a symmetric matrix, from row ``first`` on.

    It is that of ``other_v``, and ``other_sums`` are what is taken; products with ``v`` are added to ``sums``.

    >>> render_symmetric_update("float32").signature
    ('z', 'n', 'first', 'v', 'sums', 'other_v', 'other_sums')
    """
    several, one = (block(_updated_rows(dtype, count)) for count in (_TOGETHER, 1))
    names = ("z", "n", "first", "v", "sums", "other_v", "other_sums")
    holes = {"several": several, "one": one, "together": str(_TOGETHER), "unit": str(_UNIT)}
    return rendered("symmetric_update", names, dtype=dtype, **holes)


def _updated_rows(dtype: str, count: int) -> list[str]:
    """Lines that update so many rows from row i on, and add their products."""
    names = {"a": "other_v", "b": "other_sums", "g": "v"}
    factors = [f"{name}{r} = load_{dtype}({of}, i + {r}, 1)" for r in range(count) for name, of in names.items()]
    lines = [f"o, u = load_{dtype}(other_sums, j, 1), load_{dtype}(other_v, j, 1)", f"value = load_{dtype}(sums, j, 2)"]
    for r in range(count):
        element = f"z, (i + {r}) * n + j"
        lines += [f"x = load_{dtype}({element}, 0) - (a{r} * o + b{r} * u)", f"store_{dtype}({element}, x, 0)"]
        lines += [f"value = value + g{r} * x"]
    lines += [f"store_{dtype}(sums, j, value, 2)"]
    return [*factors, "for j in range(left, right):", *nested(lines), f"i += {count}"]


def tridiagonal_holes(dtype: str, vectors: bool) -> dict[str, list[str]]:
    """What makes a matrix tridiagonal: lines of the reflection of row k, and that launch the kernel with it."""
    row = Matrix(dtype, "z", "1", "n - 1", down="1", along="n")
    kept = _kept_row(dtype) if vectors else []
    return {"row": column_lines(row, "cpu"), "reach": reach_lines(row), "kept": kept, "pass": _pass()}


def _pass() -> list[str]:
    """Lines that launch it for what is right of and below column k."""
    given = ["z", "n", "k + 1", "v", "sums", "other_v", "other_sums"]
    chunks = f"lesser(chunk_start(n - k - 1 + {_UNIT - 1}, 1, {_UNIT}), 2 * workers + 2)"
    return launch_lines("update", given, chunks, "(n - k - 1) * (n - k - 1) * 0.1", often=True)


def _kept_row(dtype: str) -> list[str]:
    """Lines that keep the vector of the reflection of row k as column k."""
    return ["for i in range(k + 2, n):", f"    store_{dtype}(z, i * n + k, load_{dtype}(v, i, 9), 2)"]
