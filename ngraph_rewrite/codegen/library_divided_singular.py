# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel of singular vectors of large matrices, which divides what it made bidiagonal, and its parts.

A row joins two pieces, with one more pole, which is 0 (Gu and Eisenstat, *A Divide-and-Conquer Algorithm for the
Bidiagonal SVD*, 1995). Squares of values are the roots of the same function; differences of squares are products.
"""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_bidiagonal import bidiagonal_holes
from ngraph_rewrite.codegen.library_blocks import BLOCK, COLUMNS, TILE, pitch_of, room_of_blocks
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.library_joining import (
    LEAST,
    TOLD,
    part_of,
    render_deflating,
    room_of_numbers,
    space_lines,
    turn_lines,
)
from ngraph_rewrite.codegen.library_reflections import block
from ngraph_rewrite.codegen.library_rotations import RUNS, TURNS, block_lines, rotation_lines, scale_lines
from ngraph_rewrite.codegen.library_singular_steps import singular_step_lines
from ngraph_rewrite.codegen.library_singular_values import finish_lines
from ngraph_rewrite.codegen.parting import BEGIN, alone_lines, launch_lines
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.ops.rotations import STEPS
from ngraph_rewrite.runtime.panel_sizes import STRIP

# Where kernels are that it launches.
PARTS = tuple("add_rows reflect_rows make_blocks reflect_by find deflate solve weigh_all gather_all join".split())


def space_of_divided_svd(m: int, n: int, dtype: str) -> int:
    """How many bytes of workspace the kernel has for a matrix."""
    elements = 7 * n + m * n + n * n + (n + 1) * pitch_of(n, dtype) + room_of_blocks(n)
    return room_of_numbers(n) + -(-elements * int(dtype[-2:]) // 64) * 8


def _memory(dtype: str) -> list[str]:
    """Lines that say where the parts of the workspace are."""
    size = int(dtype[-2:]) // 8
    line = 64 // size
    names = ["e", "v", "sums", "signs", "reached", "reached_right"]
    return [
        *space_lines(),
        "order = merged",
        *[f"{name} = d + {k} * n * {size}" for k, name in enumerate(names, 1)],
        f"left = d + {len(names) + 1} * n * {size}",
        f"right = left + m * n * {size}",
        f"pitch = (chunk_start(n + {line - 1}, 1, {line}) + 1) * {line}",
        f"packed = right + n * n * {size}",
        f"blocks = packed + (n + 1) * pitch * {size}",
    ]


@cache
def render_bidiagonal_pieces(dtype: str) -> Source:
    """Return the kernel that finds the values of pieces of a bidiagonal matrix, and their vectors.

    >>> render_bidiagonal_pieces("float32").signature[3:]
    ('pieces', 'diagonal', 'beside_it', 'q', 'other_q')
    """
    size = int(dtype[-2:]) // 8
    holes = {"turns": 2 * TURNS * LEAST, "each": RUNS, "most": LEAST, "width": STRIP, "size": size, "steps": STEPS}
    texts = {name: str(value) for name, value in holes.items()}
    texts["iterate"] = block(block_lines(dtype, "low >= high", True, singular_step_lines(dtype, vectors=True)))
    texts["rotation"] = block(rotation_lines(dtype, "c", "s", "f", "g"))
    return part_of("bidiagonal_pieces", "pieces diagonal beside_it q other_q", dtype, **texts)


@cache
def render_singular_deflate(dtype: str) -> Source:
    """Return the kernel that finds which values two pieces keep when the row between them joins them.

    >>> render_singular_deflate("float32").signature[3:]
    ('begin', 'middle', 'end', 'bottom', 'q', 'other_q', 'd', 'e')
    """
    right = f"load_{dtype}(other_q, {{}} * n + {{}}, 16)"
    of_end, of_middle = right.format("row", "end"), right.format("row", "middle")
    turned = [
        f"x, y = {of_middle}, {of_end}",
        f"store_{dtype}(other_q, row * n + middle, np.{dtype}(c) * x + np.{dtype}(s) * y, 16)",
        f"store_{dtype}(other_q, row * n + end, np.{dtype}(c) * y - np.{dtype}(s) * x, 16)",
    ]
    joined = [
        f"alpha, beta = np.float64(load_{dtype}(d, middle, 1)), np.float64(load_{dtype}(e, middle, 5))",
        "for j in range(begin, end):",
        f"    part = alpha * np.float64({right.format('middle', 'j')})",
        "    if j > middle:",
        f"        part = beta * np.float64({right.format('(middle + 1)', 'j')})",
        "    store_float64(z, j, part, 12)",
        "    store_int64(kinds, j, select(j < middle, 0, 2), 15)",
        "whole = load_float64(z, middle, 12)",
        "if bottom > end:",
        f"    one, other_one = whole, beta * np.float64({right.format('(middle + 1)', 'end')})",
        "    whole = sqrt(one * one + other_one * other_one)",
        "    if whole > nothing:",
        "        c, s = one / whole, other_one / whole",
        "        for row in range(begin, bottom):",
        *["            " + line for line in turned],
        "if fabs(whole) <= nothing:",
        "    whole = nothing",
        "store_float64(z, middle, whole, 12)",
        "store_int64(kinds, middle, 1, 15)",
        "store_float64(values, middle, 0.0, 10)",
        "store_int64(merged, 0, middle, 14)",
        "rho, least, first_kept, first_end, second_begin = 1.0, 0.5 * nothing, 1, middle, middle + 1",
        "kept = 1",
    ]
    turn = [*turn_lines(dtype, "q", "end"), *turn_lines(dtype, "other_q", "bottom", 16)]
    return render_deflating("begin middle end bottom q other_q d e", dtype, joined, turn)


def _launches(dtype: str) -> dict[str, list[str]]:
    """Lines that launch each of the kernels that it takes."""
    size = int(dtype[-2:]) // 8
    room = f"m * {COLUMNS * size}"
    panels, packed = [f"panels + thread * {room}", room], ["packed", "pitch"]
    ours = [*TOLD, "begin", "middle", "end", "end", "z", *packed]
    theirs = [*TOLD, "begin", "middle + 1", "end", "bottom", "other_z", *packed]
    roots, rows = "chunk_start(kept + 7, 1, 8)", "chunk_start(bottom - begin + 7, 1, 8)"
    groups, time = f"chunk_start(end - begin + {COLUMNS - 1}, 1, {COLUMNS})", "(end - begin) * (end - begin)"
    time_of_product = f"kept * (end - begin) * (4 + {0.005 * size} * (end - begin))"
    blocks = f"chunk_start(n, 1, {BLOCK}) + 1"
    left, right = ["m", "n", "0", "left"], ["n", "n - 1", "1", "right"]
    deflated = [*TOLD, "begin", "middle", "end", "bottom", "z", "other_z", "d", "e"]
    return {
        "pieces": launch_lines("find", [*TOLD, "pieces", "d", "e", "z", "other_z"], "pieces", "60000 * pieces"),
        "deflate": alone_lines("deflate", deflated),
        "roots": launch_lines("solve", [*TOLD, "begin"], roots, "kept * kept * 10"),
        "weigh": launch_lines("weigh_all", TOLD, roots, "kept * kept"),
        "gather": launch_lines("gather_all", ours, rows, time),
        "gather_right": launch_lines("gather_all", theirs, rows, time),
        "multiply": launch_lines("join", [*ours, *panels, *TILE, "1"], groups, time_of_product),
        "multiply_right": launch_lines("join", [*theirs, *panels, *TILE, "0"], groups, time_of_product),
        "blocks": launch_lines("make_blocks", [*left, "reached", "blocks"], blocks, "m * n"),
        "blocks_right": launch_lines("make_blocks", [*right, "reached_right", "blocks"], blocks, "n * n"),
        "turn": _turn_lines("z", left, panels, f"m * n * n * {0.007 * size}"),
        "turn_right": _turn_lines("other_z", right, panels, f"n * n * n * {0.007 * size}"),
    }


def _turn_lines(z: str, reflections: list[str], panels: list[str], time: str) -> list[str]:
    """Lines that reflect a matrix of n columns by blocks of reflections."""
    given = ["n", *reflections[:3], z, reflections[3], "blocks", *panels, *TILE]
    return launch_lines("reflect_by", given, f"chunk_start(n + {COLUMNS - 1}, 1, {COLUMNS})", time)


@cache
def render_divided_svd(dtype: str) -> Source:
    """Return the kernel of singular values of ``count`` matrices (m, n) with strides, between their vectors.

    >>> render_divided_svd("float32").signature[10:14]
    ('add_rows', 'reflect_rows', 'make_blocks', 'reflect_by')
    """
    has_dtype(dtype, DTYPES, "svd")
    holes = {"memory": _memory(dtype), "scale": scale_lines(dtype), "finish": finish_lines(dtype)}
    holes |= {**bidiagonal_holes(dtype, "cpu"), **_launches(dtype)}
    texts = {name: block(lines) for name, lines in holes.items()}
    names = (*"count m n x x_between x_down x_along y space room".split(), *PARTS, "panels", *TILE)
    size, tiny = str(int(dtype[-2:]) // 8), repr(2.0**-126 if dtype == "float32" else 2.0**-1022)
    return rendered("divided_svd", names, dtype=dtype, begin=BEGIN, size=size, tiny=tiny, least=str(LEAST), **texts)
