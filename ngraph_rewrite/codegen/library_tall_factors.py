# SPDX-License-Identifier: Apache-2.0
"""The kernels of orthogonal and triangular factors of matrices with many rows and few columns, by blocks of rows.

Blocks depend on shapes alone, so that any number of threads gives the same.
"""

from collections.abc import Iterator
from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.library_reflections import block
from ngraph_rewrite.codegen.parting import BEGIN, MOST, alone_lines, launch_lines
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.runtime.panel_sizes import WIDTH

# Rows of a block are so many times its columns, or fill so many bytes; each level has that part of rows at most.
_TIMES, _BYTES = 16, 1 << 14
_LINE = 64  # bytes of a line of a cache
_LEVELS = 16  # as many as shapes of 64 bits have, and some more
# Sums of squares next to these are far from what a dtype has.
_FAR = {"float32": ("2.0**100", "2.0**-60", "2.0**60"), "float64": ("2.0**900", "2.0**-600", "2.0**600")}
_LEVEL = ("rows", "blocks", "v", "factors", "triangles")


def rows_of_blocks(n: int, dtype: str) -> int:
    """How many rows of n columns a block has, at most.

    >>> rows_of_blocks(2, "float64"), rows_of_blocks(16, "float64"), rows_of_blocks(16, "float32")
    (1024, 256, 256)
    """
    return max(_TIMES * n, _BYTES // (max(n, 1) * int(dtype[-2:]) // 8))


def room_of_rows(n: int, dtype: str) -> int:
    """The bytes that a thread needs for a block of n columns, twice.

    >>> room_of_rows(2, "float64")
    33280
    """
    size = int(dtype[-2:]) // 8
    return 2 * n * (rows_of_blocks(n, dtype) * size + 2 * _LINE)


def blocks_of_rows(m: int, n: int, dtype: str) -> Iterator[int]:
    """How many blocks there are of m rows of n columns, of their triangles, and so on.

    >>> list(blocks_of_rows(100_000, 16, "float64"))
    [391, 25, 2, 1]
    """
    found = max(-(-m // rows_of_blocks(n, dtype)), 1)
    yield found
    if found > 1:
        yield from blocks_of_rows(found * n, n, dtype)


def room_of_tall_qr(m: int, n: int, dtype: str) -> int:
    """The bytes that a thread needs for triangles of all blocks, and for what reflections are to each other."""
    return 2 * sum(blocks_of_rows(m, n, dtype)) * n * n * int(dtype[-2:]) // 8


def most_chunks(m: int, n: int, dtype: str) -> int:
    """How many threads may share one matrix."""
    return min(next(blocks_of_rows(m, n, dtype)), MOST)


@cache
def render_tall_qr(dtype: str) -> Source:
    """Return the kernel of factors Q and R, one below the other, of ``count`` matrices (m, n) with strides.

    Blocks have ``most`` rows, or fewer. Each thread has ``room`` bytes of ``space`` and ``across`` of ``own``.
    ``factor`` is where the kernel of `render_factor_rows` is, and ``multiply`` where that of `render_multiply_rows`.
    Without ``vectors`` R alone is right, but for the signs of its rows.

    >>> render_tall_qr("float32").signature[7:]
    ('y', 'vectors', 'space', 'room', 'own', 'across', 'most', 'factor', 'multiply')
    """
    has_dtype(dtype, DTYPES, "qr")
    size, room = int(dtype[-2:]) // 8, ["own + thread * across", "across"]
    asked = ["source", "down", "along", "rows", "blocks", "n", "v", "triangles", "factors", "vectors", *room]
    time = f"rows * n * (n + 4) * {0.06 * size}"
    read = ["place = 5 * (level - 1 - back)"]
    read += [f"{name} = load_int64(levels, place + {i}, 4)" for i, name in enumerate(_LEVEL)]
    given = ["v", "rows", "blocks", "n", "factors", "triangles", "v", "top", *room]
    first = [*given[:5], "corner", "corner", *given[7:]]
    holes = {
        "factor": launch_lines("factor", asked, "blocks", time),
        "read": read,
        "first_rows": alone_lines("multiply", first),
        "multiply": launch_lines("multiply", given, "blocks", time),
    }
    names = tuple("count m n x x_between x_down x_along y vectors space room own across most factor multiply".split())
    texts = {name: block(lines) for name, lines in holes.items()}
    texts |= {"begin": BEGIN, "width": str(WIDTH), "size": str(size), "levels": str(_LEVELS)}
    texts["nothing"] = f"2.0**{-21 if dtype == 'float32' else -50}"  # four units of the last place of a one
    return rendered("tall_qr", names, dtype=dtype, **texts)


@cache
def render_factor_rows(dtype: str) -> Source:
    """Return the kernel of triangles of ``blocks`` of rows, and of the reflections ``v`` that give them.

    >>> render_factor_rows("float32").signature[:6]
    ('x', 'down', 'along', 'rows', 'blocks', 'n')
    """
    up, small, large = _FAR[dtype]
    limits = {"low": "2.0**-20", "high": "2.0**20", "more": "2.0**20", "less": "2.0**-20", "up": up}
    limits |= {"small": small, "large": large}
    names = tuple("x down along rows blocks n v triangles factors vectors space room".split())
    return rendered("factor_rows", names, dtype=dtype, **_sizes(dtype), **limits)


@cache
def render_multiply_rows(dtype: str) -> Source:
    """Return the kernel of reflections of ``blocks`` of rows times ``squares`` with zeros below them.

    With ``top`` they are the first rows of each block alone.

    >>> render_multiply_rows("float32").signature[:6]
    ('v', 'rows', 'blocks', 'n', 'factors', 'squares')
    """
    names = tuple("v rows blocks n factors squares y top space room".split())
    each, value = [], []
    for i in range(4):
        each.append(f"a{i} = lesser(k + {i}, n - 1) * pitch")
        weight = f"load_{dtype}(turned, lesser(k + {i}, n - 1) * {WIDTH} + j, 5)"
        each.append(f"f{i} = select(k + {i} < n, {weight}, np.{dtype}(0))")
        value.append(f"f{i} * load_{dtype}(columns, a{i} + i, 3)")
    holes = {"each": block(each), "value": f"value = {' + '.join(value)}"}
    return rendered("multiply_rows", names, dtype=dtype, width=str(WIDTH), **holes, **_sizes(dtype))


def _sizes(dtype: str) -> dict[str, str]:
    """Of a number, in bytes, and of a line of a cache, in numbers: columns are an odd number of these apart."""
    size = int(dtype[-2:]) // 8
    return {"size": str(size), "line": str(_LINE // size)}
