# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel of singular values, with their vectors or without."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_bidiagonal import bidiagonal_holes
from ngraph_rewrite.codegen.library_factors import DTYPES, THREADS
from ngraph_rewrite.codegen.library_panels import product_lines
from ngraph_rewrite.codegen.library_reflections import (
    Matrix,
    block,
    multiplied_lines,
)
from ngraph_rewrite.codegen.library_rotations import (
    PARTS,
    RUNS,
    TURNS,
    block_lines,
    number,
    rotate_lines,
    scale_lines,
    used_lines,
)
from ngraph_rewrite.codegen.library_singular_steps import singular_step_lines
from ngraph_rewrite.codegen.library_vectors import (
    ordered_lines,
    ordered_strip_lines,
    sign_lines,
    sign_lines_of_strip,
    turned_lines,
)
from ngraph_rewrite.codegen.parting import BEGIN
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.ops.rotations import STEPS
from ngraph_rewrite.runtime.panel_sizes import WIDTH as PANEL

_RIGHT = "(m + 1) * n"  # where the right vectors are
Lines = list[str]


def space_of_svd(m: int, n: int, dtype: str, vectors: bool, target: str = "cpu") -> int:
    """How many bytes of workspace the kernel has for a matrix."""
    size = int(dtype[-2:]) // 8
    strip = (m + n) * n if target == "cuda" else m * (PANEL + 1)
    elements = 5 * n + (4 * TURNS * n + strip if vectors else m * n)
    return -(-elements * size // 8) * 8 + 8 * (RUNS * n + n + 4)


def _memory(dtype: str, vectors: bool) -> list[str]:
    """Lines that say where the parts of the workspace are."""
    size = int(dtype[-2:]) // 8
    lines = ["runs = d", f"told = d + {RUNS} * n * 8", "order = told + 32", "d = order + n * 8"]
    lines += [f"{name} = d + {k} * n * {size}" for k, name in enumerate(["e", "v", "sums", "signs"], 1)]
    rest = f"d + 5 * n * {size}"
    if not vectors:
        return [*lines, f"z = {rest}"]
    sides = [f"left = {rest}", f"right = left + {2 * TURNS} * n * {size}", f"strip = right + {2 * TURNS} * n * {size}"]
    return [*lines, *sides, f"panel, reached = strip, strip + m * {PANEL * size}"]


def _kept(dtype: str, target: str) -> list[str]:
    """Lines that keep the reflection of row k as a column of the right side."""
    stored = f"store_{dtype}(z, {_RIGHT} + j * n + k + 1, load_{dtype}(z, k * n + j, 2), 2)"
    if target == "cpu":
        return ["for j in range(k + 2, n):", f"    {stored}"]
    return ["j = k + 2 + lane()", "while j < n:", f"    {stored}", "    j += lanes()"]


def _sides(first: tuple[str, ...], second: tuple[str, ...], names: str, lines: Lines) -> Lines:
    """Lines that are the same for both sides but for what these are."""
    chosen = [f"{names} = {', '.join(first)}", "if side == 1:", f"    {names} = {', '.join(second)}"]
    return ["for side in range(2):", *nested([*chosen, *lines])]


def _gather(dtype: str, target: str) -> list[str]:
    """Lines that make the products of the reflections of both sides."""
    first = [f"store_{dtype}(z, {_RIGHT} + j, {number(dtype, 0.0)}, 2)"]
    first += [f"store_{dtype}(z, {_RIGHT} + j * n, {number(dtype, 0.0)}, 2)"]
    first += ["if j == 0:", f"    store_{dtype}(z, {_RIGHT}, {number(dtype, 1.0)}, 2)"]
    names, left, right = "corner, high, cols", ("0", "m", "n"), (f"{_RIGHT} + n + 1", "n - 1", "n - 1")
    matrix = Matrix(dtype, "z", "corner", "high", "cols")
    if target == "cpu":
        return ["for j in range(n):", *nested(first), *_sides(left, right, names, product_lines(matrix))]
    both = _sides(left, right, names, multiplied_lines(matrix))
    both = ["j = lane()", "while j < n:", *nested([*first, "j += lanes()"]), "barrier()", *both]
    return [*both, *turned_lines(dtype, "0", "m", "(m + n)"), *turned_lines(dtype, _RIGHT, "n", "(m + n)", "m + ")]


# -- the kernel --------------------------------------------------------------------------------------------------------


def _vectors(dtype: str, target: str) -> tuple[Lines, Lines]:
    """Lines that rotate columns, and that put them in order."""
    turned = _turned(dtype)
    if target == "cpu":
        left, right = ("0", "m", "left"), (_RIGHT, "n", "right")
        apply = _sides(left, right, "corner, high, turns", rotate_lines(dtype, "corner", "high"))
        return apply, finish_lines(dtype)
    used = ["turns = left", "if w >= m:", "    turns = right", *used_lines(dtype, "(m + n)"), "w += lanes()"]
    finish = [*sign_lines_of_strip(dtype, "m", "(m + n)"), "j = lane()", "while j < n:"]
    finish += [*nested([*turned, "j += lanes()"]), "barrier()"]
    finish += ordered_strip_lines(dtype, "0", "m", "(m + n)", "", "sums")
    finish += ordered_strip_lines(dtype, _RIGHT, "n", "(m + n)", "m + ", "signs")
    return ["w = lane()", "while w < m + n:", *nested(used)], finish


def _turned(dtype: str) -> Lines:
    """Lines that find the sign of a right vector."""
    turned = [f"value = load_{dtype}(sums, j, 4)", f"if load_{dtype}(d, j, 5) < 0:", "    value = -value"]
    return [*turned, f"store_{dtype}(signs, j, value, 4)"]


def finish_lines(dtype: str) -> Lines:
    """Lines for a CPU that give vectors of both sides their signs and their order."""
    ordered = ordered_lines(dtype, "corner", "of_side", "sign_of")
    sides = _sides(("0", "m", "sums"), (_RIGHT, "n", "signs"), "corner, of_side, sign_of", ordered)
    return [*sign_lines(dtype, "m"), "for j in range(n):", *nested(_turned(dtype)), *sides]


@cache
def render_svd(dtype: str, vectors: bool, target: str = "cpu") -> Source:
    """Return the kernel of singular values of ``count`` matrices with strides, between their vectors or without.

    ``space`` has ``room`` bytes for each thread, or on a GPU for each block. On the CPU ``tiles`` has ``across``, and
    ``add_rows`` to ``reflect`` are where kernels are that it launches.

    >>> render_svd("float32", True).signature[8:]
    ('space', 'room', 'add_rows', 'reflect_rows', 'rotate', 'strips', 'reflect', 'tiles', 'across')
    """
    has_dtype(dtype, DTYPES, "svd")
    size = int(dtype[-2:]) // 8
    place, kept, gather = [f"values = y + matrix * n * {size}"], Lines(), Lines()
    apply, finish = Lines(), Lines()
    if vectors:
        place = [f"z = y + matrix * (m + 1 + n) * n * {size}", f"values = z + m * n * {size}"]
        kept, gather = _kept(dtype, target), _gather(dtype, target)
        apply, finish = _vectors(dtype, target)
    holes = {
        "memory": _memory(dtype, vectors),
        "place": place,
        "scale": scale_lines(dtype),
        "kept": kept,
        "gather": gather,
        "iterate": block_lines(dtype, "low >= high", vectors, singular_step_lines(dtype, vectors)),
        "apply": apply,
        "finish": finish,
    }
    holes |= bidiagonal_holes(dtype, target)
    names = tuple("count m n x x_between x_down x_along y space room".split())
    names += ("add_rows", "reflect_rows", *(PARTS if vectors else ())) if target == "cpu" else ()
    texts = {name: block(lines) for name, lines in holes.items()}
    return rendered("svd", names, target, dtype=dtype, steps=str(STEPS), threads=str(THREADS), begin=BEGIN, **texts)
