# SPDX-License-Identifier: Apache-2.0
"""The kernel of singular values of matrices with many more rows than columns, which takes those of a triangle."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.library_reflections import block
from ngraph_rewrite.codegen.library_rotations import number, scale_lines
from ngraph_rewrite.codegen.parting import BEGIN, launch_lines
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.ops.rotations import LARGE

# What it is given beside a matrix, its own workspace, and what the kernels are given that it calls.
_GIVEN = ("multiply", "panels", "panels_room", "tile", "high", "across")
GROUP = 256  # rows that are worth a chunk


def space_of_tall_svd(m: int, n: int, dtype: str) -> int:
    """How many bytes of workspace the kernel has for a matrix, beside what it hands on."""
    return -(-((m + n) * n + (2 * n + 1) * n + 2 * n) * int(dtype[-2:]) // 64) * 8


@cache
def render_turned_rows(dtype: str) -> Source:
    """Return the kernel that multiplies rows of ``q`` (rows, n) by ``turn`` (n, n), in tiles of ``high`` and ``wide``.

    >>> render_turned_rows("float32").signature
    ('rows', 'n', 'q', 'turn', 'y', 'panels', 'room', 'tile', 'high', 'wide')
    """
    names = tuple("rows n q turn y panels room tile high wide".split())
    return rendered("turned_rows", names, dtype=dtype, size=str(int(dtype[-2:]) // 8))


@cache
def render_tall_svd(dtype: str, vectors: bool, some: int, more: int) -> Source:
    """Return the kernel of singular values of ``count`` matrices (m, n) with strides, between their vectors or without.

    Args:
        some: How many arguments the kernel of factors has from its workspace on.
        more: How many the kernel of singular values has from there on.

    >>> render_tall_svd("float32", True, 1, 2).signature[-6:]
    ('across', 'factor', 'some_0', 'decompose', 'more_0', 'more_1')
    """
    has_dtype(dtype, DTYPES, "svd")
    size, names = int(dtype[-2:]) // 8, (*"count m n x x_between x_down x_along y space room".split(), *_GIVEN)
    given, handed = [f"some_{i}" for i in range(some)], [f"more_{i}" for i in range(more)]
    factor = ["1", "m", "n", "source", "0", "down", "along", "q", str(int(vectors)), *given]
    of_r = ["1", "n", "n", f"q + m * n * {size}", "0", "n", "1", "found"]
    holes = {
        "scale": scale_lines(dtype),
        "factor": _called("factor", factor),
        "decompose": _called("decompose", [*of_r, *handed]),
        "vectors": _vectors(dtype) if vectors else [],
    }
    texts = {name: block(lines) for name, lines in holes.items()}
    texts |= {"values": "n * n" if vectors else "0", "place": "m * n" if vectors else "0"}
    texts |= {"result": "(m + 1 + n) * n" if vectors else "n", "size": str(size), "begin": BEGIN}
    texts["told"] = str(len(factor) + len(of_r) + more)
    names = (*names, "factor", *given, "decompose", *handed)
    return rendered("tall_svd", names, dtype=dtype, **texts)


def _called(kernel: str, given: list[str]) -> list[str]:
    """Lines that call a kernel which may share out parts of itself, if this one may."""
    told = [f"store_int64(told, {i}, {value}, 14)" for i, value in enumerate(given)]
    shared, alone = f"call_words({kernel}, (told, workers, 0, pool))", f"call_words({kernel}, (told, 0, 1, thread))"
    return [*told, "if pool != 0:", f"    {shared}", "else:", f"    {alone}"]


def _vectors(dtype: str) -> list[str]:
    """Lines that turn left vectors, and give them and right ones their signs."""
    size, one = int(dtype[-2:]) // 8, number(dtype, 1.0)
    given = ["m", "n", "q", "found", "z", "panels + thread * panels_room", "panels_room", "tile", "high", "across"]
    multiply = launch_lines("multiply", given, f"chunk_start(m - 1, 1, {GROUP}) + 1", f"m * n * n * {0.005 * size}")
    value, most, sign = (f"load_{dtype}({text}, 4)" for text in ("z, i * n + j", "most_of, j", "signs, j"))
    searched = [
        "for j in range(n):",
        f"    value = {value}",
        f"    if {sign} == 0 and fabs(value) > {number(dtype, LARGE)} * {most}:",
        f"        store_{dtype}(signs, j, {one}, 4)",
        "        left -= 1",
        "        if value < 0:",
        f"            store_{dtype}(signs, j, -{one}, 4)",
        "            turned = 1",
        "i += 1",
    ]
    right, of_right = "z, (m + 1 + i) * n + j", f"load_{dtype}(found, (n + 1 + i) * n + j, 3)"
    return [
        *multiply,
        "for j in range(n):",
        f"    store_{dtype}(most_of, j, np.{dtype}(0), 4)",
        f"    store_{dtype}(signs, j, np.{dtype}(0), 4)",
        "for i in range(m):",
        "    for j in range(n):",
        f"        store_{dtype}(most_of, j, maximum({most}, fabs({value})), 4)",
        "left, turned, i = n, 0, 0",
        "while left > 0 and i < m:",
        *nested(searched),
        "for i in range(select(turned == 1, m, 0)):",
        "    for j in range(n):",
        f"        store_{dtype}(z, i * n + j, {value} * {sign}, 4)",
        "for i in range(n):",
        "    for j in range(n):",
        f"        store_{dtype}({right}, {of_right} * {sign}, 4)",
        "if wrong != 0:",
        "    for i in range((m + 1 + n) * n):",
        f"        store_{dtype}(z, i, np.{dtype}(np.nan), 4)",
    ]
