# SPDX-License-Identifier: Apache-2.0
"""Renders triangular factors for a GPU, and equations solved by them: a thread has a row, or a column, of a panel.

What it has is in registers, so that lines for each number are written out; what all threads of a block need of a panel
is in shared memory, of which four neighbours are read at once. Products and differences are rounded one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES, THREADS
from ngraph_rewrite.codegen.source import Source

WIDTH = 16  # columns of a panel
COLUMNS = 32  # beside a panel that threads have at a time, some threads each
SIDE = 8  # columns of a right side that a block has
_HEIGHT = 32  # rows of a panel in shared memory at a time
_FEW = 16  # threads that look through what all have found


@cache
def render_cholesky(dtype: str, width: int = WIDTH) -> Source:
    """Return the kernel of lower factors of ``count`` matrices of n rows and columns with strides, in elements.

    Panels of so many columns, a multiple of four, are finished from column ``begin``, where one begins, to ``end``;
    ``parts`` blocks share the rows of a matrix: if there are several, only one panel may be asked for.

    >>> render_cholesky("float32").signature
    ('count', 'n', 'x', 'x_between', 'x_down', 'x_along', 'y', 'begin', 'end', 'parts')
    """
    has_dtype(dtype, DTYPES, "cholesky")
    every = range(width)
    finished = [line for j in every for line in (f"v{j} = v{j} / read_{dtype}(roots, {j})", *_below(dtype, width, j))]
    place = "origin + row * x_down + (left + {j}) * x_along"
    holes = {
        "begun": [f"v{j} = np.{dtype}(0)" for j in every],
        "loaded": [f"v{j} = load_{dtype}(x, {place.format(j=j)}, 0)" for j in every],
        "taken": _each_four(dtype, "others", f"q * {width}", every, "v{n} = v{n} - factor * {four}"),
        "finished": [*finished, *(f"store_{dtype}(y, mine + left + {j}, v{j}, 2)" for j in every)],
    }
    names = tuple("count n x x_between x_down x_along y begin end parts".split())
    return _rendered("cholesky", names, dtype, width, holes)


@cache
def render_lu(dtype: str, width: int = WIDTH, columns: int = COLUMNS) -> Source:
    """Return the kernel of factors of ``count`` matrices with exchanged rows, and of the row that each was.

    Panels are finished from column ``begin`` to ``end``: in phase 1 a panel itself, by one block for each matrix; in
    phase 2 all beside it, by ``parts`` blocks; in ``phases`` 3 both, by one block. ``exchanged`` has n integers for
    each matrix: the row that each was exchanged with.

    >>> render_lu("float32").signature[6:]
    ('y', 'exchanged', 'begin', 'end', 'phases', 'parts')
    """
    has_dtype(dtype, DTYPES, "lu")
    every, place = range(width), "at + (left + {k}) * n + column"
    holes = {
        "begun": [f"v{k} = np.{dtype}(0)" for k in every],
        "solved": [
            *(f"v{k} = load_{dtype}(y, {place.format(k=k)}, 2)" for k in every),
            *(line for k in every for line in _below(dtype, width, k)),
        ],
        "stored": [f"store_{dtype}(y, {place.format(k=k)}, v{k}, 2)" for k in every],
        "taken": _each_four(dtype, "rows", f"i * {width}", every, "value = value - {four} * v{n}"),
    }
    sizes = {"height": _HEIGHT, "columns": columns, "few": _FEW, "threads": THREADS}
    names = tuple("count n x x_between x_down x_along y exchanged begin end phases parts".split())
    return _rendered("lu", names, dtype, width, holes, **sizes)


@cache
def render_triangular_solve(dtype: str, lower: bool, unit: bool, width: int = WIDTH, columns: int = SIDE) -> Source:
    """Return the kernel of solutions (count, n, m) of triangles `a` and right sides `b` with strides, in elements.

    A block has so many columns.

    >>> render_triangular_solve("float32", True, False).signature[:8]
    ('count', 'n', 'm', 'a', 'a_between', 'a_down', 'a_along', 'b')
    """
    has_dtype(dtype, DTYPES, "triangular_solve")
    step = 1 if lower else -1
    factor = f"load_{dtype}(a, line + {{k}} * a_along, 1)"
    row = f"read_{dtype}(rows, {{at}} + j)"
    taken = [f"value = value - {factor.format(k=step * k)} * {row.format(at=k * columns)}" for k in range(width)]
    ways = {"step": "1", "first": "done", "below": "done + wide"} if lower else {"step": "-1", "below": "0"}
    ways = {"first": "n - 1 - done", "divided": "value" if unit else "value / pivot"} | ways
    names = tuple("count n m a a_between a_down a_along b b_between b_down b_along y".split())
    holes = {name: [line] for name, line in ways.items()} | {"taken": taken}
    return _rendered("triangular_solve", names, dtype, width, holes, columns=columns)


def _rendered(
    kernel: str, names: tuple[str, ...], dtype: str, width: int, holes: dict[str, list[str]], **sizes: int
) -> Source:
    texts = {name: "\n".join(lines) for name, lines in holes.items()}
    numbers = {name: str(size) for name, size in {"width": width, "square": width * width, **sizes}.items()}
    return rendered(kernel, names, "cuda", dtype=dtype, **numbers, **texts)


def _below(dtype: str, width: int, k: int) -> Iterator[str]:
    """The lines that take multiples of number k from all after it; ``square`` has how often."""
    for first in range((k + 1) // FOUR * FOUR, width, FOUR):
        some = range(max(first, k + 1), first + FOUR)
        yield from _four(dtype, "square", str(k * width + first), some, f"v{{n}} = v{{n}} - v{k} * {{four}}")


def _each_four(dtype: str, tile: str, place: str, numbers: range, line: str) -> list[str]:
    """A line for each number, which has what a row of a tile has there."""
    firsts = range(0, len(numbers), FOUR)
    return [one for k in firsts for one in _four(dtype, tile, f"{place} + {k}", numbers[k : k + FOUR], line)]


def _four(dtype: str, tile: str, place: str, numbers: Iterable[int], line: str) -> list[str]:
    """The same for up to four, which are read at once."""
    read = f"b0, b1, b2, b3 = read4_{dtype}({tile}, {place})"
    return [read, *(line.format(n=n, four=f"b{n % FOUR}") for n in numbers)]
