# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel of eigenvalues of symmetric matrices, with their vectors or without."""

from functools import cache, partial

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES, THREADS
from ngraph_rewrite.codegen.library_panels import product_lines
from ngraph_rewrite.codegen.library_reflections import (
    Matrix,
    block,
    column_lines,
    multiplied_lines,
    reach_lines,
)
from ngraph_rewrite.codegen.library_rotations import (
    PARTS,
    RUNS,
    TURNS,
    beside,
    block_lines,
    diagonal,
    kept_lines,
    number,
    rotate_lines,
    rotation_lines,
    run_lines,
    scale_lines,
    used_lines,
)
from ngraph_rewrite.codegen.library_tridiagonal import tridiagonal_holes
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


def space_of_eigh(n: int, dtype: str, vectors: bool, target: str = "cpu") -> int:
    """How many bytes of workspace the kernel has for a matrix."""
    size = int(dtype[-2:]) // 8
    elements = (4 if target == "cuda" else 6) * n
    elements += 2 * TURNS * n + (n * n if target == "cuda" else n * (PANEL + 1)) if vectors else n * n
    return -(-elements * size // 8) * 8 + 8 * (RUNS * n + n + 4)


def _memory(dtype: str, vectors: bool, target: str) -> list[str]:
    """Lines that say where the parts of the workspace are."""
    size = int(dtype[-2:]) // 8
    names = ["e", "v", "sums", *([] if target == "cuda" else ["other_v", "other_sums"])]
    end = f"{len(names) + 1} * n * {size}"
    lines = ["runs = d", f"told = d + {RUNS} * n * 8", "order = told + 32", "d = order + n * 8"]
    lines += [f"{name} = d + {k} * n * {size}" for k, name in enumerate(names, 1)]
    if not vectors:
        return [*lines, f"z = d + {end}"]
    lines += [f"turns = d + {end}", f"strip = turns + {2 * TURNS} * n * {size}"]
    return [*lines, f"panel, reached = strip, strip + n * {PANEL * size}"]


def step_lines(dtype: str, vectors: bool) -> list[str]:
    """Lines of one implicit step, from the far end of a block to the near one."""
    one, two, zero = (number(dtype, value) for value in (1.0, 2.0, 0.0))
    d, e = partial(diagonal, dtype), partial(beside, dtype)
    inside = [
        "t = length - 1 - back",
        "i = near + step * t",
        "j = beside + step * t",
        f"f, b = s * {e('j')}, c * {e('j')}",
        *rotation_lines(dtype, "c", "s", "g", "f"),
        "if back > 0:",
        f"    store_{dtype}(e, j + step, r, 8)",
        f"g = {d('i + step')} - p",
        f"r = ({d('i')} - g) * s + {two} * c * b",
        "p = s * r",
        f"store_{dtype}(d, i + step, g + p, 5)",
        "g = c * r - b",
        *(kept_lines(dtype, "turns", "c", "-s") if vectors else []),
        *(["filled += 1"] if vectors else []),
    ]
    return [
        f"g = ({d('near + step')} - {d('near')}) / ({two} * {e('beside')})",
        f"r = sqrt(g * g + {one})",
        "if g < 0:",
        "    r = -r",
        f"g = {d('near + step * length')} - {d('near')} + {e('beside')} / (g + r)",
        f"c, s, p = {one}, {one}, {zero}",
        "for back in range(length):",
        *nested(inside),
        f"store_{dtype}(d, near, {d('near')} - p, 5)",
        f"store_{dtype}(e, beside, g, 8)",
        *(run_lines(forward=False) if vectors else []),
    ]


def _gather(dtype: str, target: str) -> list[str]:
    """Lines that make the product of the reflections, which stand a column too far to the left."""
    zero, one = number(dtype, 0.0), number(dtype, 1.0)
    moved = [
        "for back in range(1, i):",
        f"    store_{dtype}(z, i * n + i - back, load_{dtype}(z, i * n + i - back - 1, 2), 2)",
        f"store_{dtype}(z, i * n, {zero}, 2)",
        f"store_{dtype}(z, i, {zero}, 2)",
        "if i == 0:",
        f"    store_{dtype}(z, 0, {one}, 2)",
    ]
    rows = ["for i in range(n):", *nested(moved)]
    if target == "cuda":
        rows = ["i = lane()", "while i < n:", *nested([*moved, "i += lanes()"]), "barrier()"]
    corner = Matrix(dtype, "z", "n + 1", "n - 1", "n - 1")
    if target == "cpu":
        return [*rows, *product_lines(corner)]
    return [*rows, *multiplied_lines(corner), *turned_lines(dtype, "0", "n", "n")]


def _columns(dtype: str) -> dict[str, list[str]]:
    """Lines for a GPU that find the reflection of a column."""
    column = Matrix(dtype, "z", "n", "n - 1")
    return {"column": column_lines(column, "cuda"), "reach": reach_lines(column)}


@cache
def render_eigh(dtype: str, vectors: bool, target: str = "cpu") -> Source:
    """Return the kernel of eigenvalues of ``count`` symmetric matrices with strides, under their vectors or without.

    ``space`` has ``room`` bytes for each thread, or on a GPU for each block. On the CPU ``tiles`` has ``across``, and
    ``update``, ``rotate`` and ``reflect`` are where kernels are that it launches.

    >>> render_eigh("float32", True).signature[7:]
    ('space', 'room', 'update', 'rotate', 'strips', 'reflect', 'tiles', 'across')
    """
    has_dtype(dtype, DTYPES, "eigh")
    size, on_cpu = int(dtype[-2:]) // 8, target == "cpu"
    place = [f"values = y + matrix * n * {size}"]
    apply = finish = gather = list[str]()
    if vectors:
        place = [f"z = y + matrix * (n + 1) * n * {size}", f"values = z + n * n * {size}"]
        gather = _gather(dtype, target)
        apply = rotate_lines(dtype, "0", "n")
        finish = [*sign_lines(dtype, "n"), *ordered_lines(dtype, "0", "n", "sums")]
        if not on_cpu:
            apply = ["w = lane()", "while w < n:", *nested([*used_lines(dtype, "n"), "w += lanes()"])]
            finish = [*sign_lines_of_strip(dtype, "n", "n"), *ordered_strip_lines(dtype, "0", "n", "n", "", "sums")]
    holes = {
        "memory": _memory(dtype, vectors, target),
        "place": place,
        "scale": scale_lines(dtype),
        "gather": gather,
        "iterate": block_lines(dtype, "low <= high", vectors, step_lines(dtype, vectors)),
        "apply": apply,
        "finish": finish,
    }
    holes |= tridiagonal_holes(dtype, vectors) if on_cpu else _columns(dtype)
    names = tuple("count n x x_between x_down x_along y space room".split())
    names += ("update", *(PARTS if vectors else ())) if on_cpu else ()
    texts = {name: block(lines) for name, lines in holes.items()}
    return rendered("eigh", names, target, dtype=dtype, steps=str(STEPS), threads=str(THREADS), begin=BEGIN, **texts)
