# SPDX-License-Identifier: Apache-2.0
"""Kernels that make a large symmetric matrix tridiagonal, and reflect another one, by blocks of reflections.

Those of a block are used together, in products of matrices. Reflection k is row k of a matrix: a 1 at column k + 1,
zeros before it; how far it reaches is beside it.
"""

from functools import cache

from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.library_reflections import Matrix, block, column_lines, reach_lines
from ngraph_rewrite.codegen.parting import MOST, ROOM, launch_lines
from ngraph_rewrite.codegen.source import Source, nested

BLOCK = 28  # reflections of a block
COLUMNS = 32  # of a matrix that are reflected together: a multiple of any tile's
TILE = ("tile", "high", "wide")  # what the processor decides of products
TAKEN = 24  # rows whose reflections are taken from what is below them together
_EACH = 128  # rows that have sums of their own
_TOGETHER = 4  # rows that are multiplied together


def pitch_of(n: int, dtype: str) -> int:
    """How far rows of n numbers lie apart that tiles read: whole lines, and one more.

    >>> pitch_of(100, "float32"), pitch_of(100, "float64")
    (128, 112)
    """
    line = 512 // int(dtype[-2:])
    return (-(-n // line) + 1) * line


def room_of_blocks(n: int) -> int:
    """The elements that all blocks of a matrix of n rows take."""
    return BLOCK * (n + BLOCK)


def room_of_rows(n: int, dtype: str) -> int:
    """The elements that rows take whose reflections are not yet taken from others, and the sums of products."""
    return (3 * TAKEN + min(MOST, -(-n // _EACH) + 1)) * pitch_of(n, dtype)


@cache
def render_tridiagonal(dtype: str) -> Source:
    """Return the kernel that makes a matrix tridiagonal, and launches others: ``workers`` of a ``pool`` may help.

    >>> render_tridiagonal("float32").signature[:8]
    ('n', 'z', 'd', 'e', 'reflections', 'reached', 'rows', 'pitch')
    """
    row, size = Matrix(dtype, "z", "1", "n - 1", down="1", along="n"), int(dtype[-2:]) // 8
    given = ["n", "first", "z", "v", "sums", "pitch", "parts"]
    product = launch_lines("multiply", given, "parts", f"(n - k) * (n - k) * {0.008 * size}", often=True)
    given = ["n", "first", "z", "rows", "pitch", *TILE]
    chunks, time = "lesser(chunk_start(n - k, 1, high) + 1, 8 * workers + 8)", f"(n - k) * (n - k) * {0.1 * size}"
    holes = {
        "row": block(column_lines(row, "cpu")),
        "reach": block(reach_lines(row)),
        "product": block(product),
        "update": block(launch_lines("update", given, chunks, time)),
    }
    counts = {"room": ROOM, "wide": TAKEN, "each": _EACH, "most": MOST, "size": size}
    names = "n z d e reflections reached rows pitch sums multiply update tile high wide workers pool".split()
    return rendered("tridiagonal", tuple(names), dtype=dtype, **holes, **{k: str(v) for k, v in counts.items()})


@cache
def render_symmetric_product(dtype: str) -> Source:
    """Return the kernel that multiplies a symmetric matrix, from row ``first`` on, by a vector, in some parts.

    >>> render_symmetric_product("float32").signature
    ('n', 'first', 'z', 'v', 'sums', 'pitch', 'parts')
    """
    several, one = (block(_multiplied_rows(dtype, count)) for count in (_TOGETHER, 1))
    holes = {"several": several, "one": one, "together": str(_TOGETHER), "size": str(int(dtype[-2:]) // 8)}
    return rendered("symmetric_product", tuple("n first z v sums pitch parts".split()), dtype=dtype, **holes)


def _multiplied_rows(dtype: str, count: int) -> list[str]:
    """Lines that multiply so many rows from row i on, right of the diagonal and left of it."""
    rows, own, v = range(count), f"load_{dtype}(own, {{}}, 2)", f"load_{dtype}(v, {{}}, 1)"
    element = f"load_{dtype}(z, (i + {{}}) * n + {{}}, 0)"
    lines = [f"f{r}, t{r} = {v.format(f'i + {r}')}, np.{dtype}(0)" for r in rows]
    for r in rows:
        lines += [f"t{r} += {element.format(r, f'i + {r}')} * f{r}"]
        for c in range(r + 1, count):
            lines += [f"x = {element.format(r, f'i + {c}')}", f"t{r} += x * f{c}", f"t{c} += x * f{r}"]
    inside = [f"factor, value = {v.format('j')}, {own.format('j')}"]
    for r in rows:
        inside += [f"x = {element.format(r, 'j')}", f"t{r} = add_reassociated(t{r}, x * factor)"]
        inside += [f"value = value + x * f{r}"]
    stored = [f"store_{dtype}(own, i + {r}, {own.format(f'i + {r}')} + t{r}, 2)" for r in rows]
    inside += [f"store_{dtype}(own, j, value, 2)"]
    return [*lines, f"for j in range(i + {count}, n):", *nested(inside), *stored, f"i += {count}"]


@cache
def render_symmetric_blocks(dtype: str) -> Source:
    """Return the kernel that takes reflections of some rows from a symmetric matrix, from row ``first`` on.

    >>> render_symmetric_blocks("float32").signature
    ('n', 'first', 'z', 'rows', 'pitch', 'tile', 'high', 'wide')
    """
    names = ("n", "first", "z", "rows", "pitch", *TILE)
    return rendered("symmetric_blocks", names, taken=str(TAKEN), size=str(int(dtype[-2:]) // 8))


@cache
def render_blocks(dtype: str) -> Source:
    """Return the kernel that makes blocks of ``count`` reflections of so many ``rows``.

    Number k has its 1 at row k + ``ahead``.

    >>> render_blocks("float32").signature
    ('rows', 'count', 'ahead', 'v', 'reached', 't')
    """
    return rendered("reflector_blocks", ("rows", "count", "ahead", "v", "reached", "t"), dtype=dtype, wide=str(BLOCK))


@cache
def render_reflect_blocks(dtype: str) -> Source:
    """Return the kernel that reflects a matrix (rows, n) by blocks, in tiles of ``high`` and ``wide``.

    >>> render_reflect_blocks("float32").signature[:7]
    ('n', 'rows', 'count', 'ahead', 'z', 'v', 't')
    """
    holes = {"size": str(int(dtype[-2:]) // 8), "columns": str(COLUMNS), "block": str(BLOCK)}
    return rendered(
        "reflect_blocks", tuple("n rows count ahead z v t columns room tile high wide".split()), dtype=dtype, **holes
    )
