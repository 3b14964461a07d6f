# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel of eigenvectors of large symmetric matrices, which divides what it made tridiagonal."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_blocks import BLOCK, COLUMNS, TAKEN, TILE, pitch_of, room_of_blocks, room_of_rows
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.library_joining import LEAST, TOLD, room_of_numbers, space_lines
from ngraph_rewrite.codegen.library_reflections import block
from ngraph_rewrite.codegen.library_rotations import scale_lines
from ngraph_rewrite.codegen.library_vectors import ordered_lines, sign_lines
from ngraph_rewrite.codegen.parting import BEGIN, alone_lines, launch_lines
from ngraph_rewrite.codegen.source import Source

_REDUCING = ("reduce", "multiply", "update", "make_blocks", "reflect")
_JOINING = ("find", "deflate", "solve", "weigh", "gather", "join")
PARTS = (*_REDUCING, *_JOINING)  # where kernels are that it launches
_PIECE = ("begin", "middle", "end")


def space_of_divided(n: int, dtype: str) -> int:
    """How many bytes of workspace the kernel has for a matrix."""
    elements = 5 * n + n * n + n * pitch_of(n, dtype) + room_of_blocks(n) + room_of_rows(n, dtype)
    return room_of_numbers(n) + -(-elements * int(dtype[-2:]) // 64) * 8


def _memory(dtype: str) -> list[str]:
    """Lines that say where the parts of the workspace are."""
    size = int(dtype[-2:]) // 8
    line = 64 // size
    rows = [f"{name} = d + {k} * n * {size}" for k, name in enumerate(["e", "v", "sums", "reached", "reflections"], 1)]
    return [
        *space_lines(),
        "order = merged",
        *rows,
        f"pitch = (chunk_start(n + {line - 1}, 1, {line}) + 1) * {line}",
        f"packed = reflections + n * n * {size}",
        f"blocks = packed + n * pitch * {size}",
        f"rows = blocks + {BLOCK} * (n + {BLOCK}) * {size}",
        f"row_sums = rows + {3 * TAKEN} * pitch * {size}",
    ]


def _launches(dtype: str) -> dict[str, list[str]]:
    """Lines that launch each of the kernels that it takes."""
    size = int(dtype[-2:]) // 8
    room = f"n * {COLUMNS * size}"
    panels, some = [f"panels + thread * {room}", room], [*TOLD, *_PIECE, "z"]
    roots, groups = "chunk_start(kept + 7, 1, 8)", f"chunk_start(end - begin + {COLUMNS - 1}, 1, {COLUMNS})"
    reduced = ["n", "z", "d", "e", "reflections", "reached", "rows", "pitch", "row_sums", "multiply", "update", *TILE]
    reflected = ["n", "n", "n - 1", "1", "z", "reflections", "blocks", *panels, *TILE]
    return {
        "tridiagonal": alone_lines("reduce", [*reduced, "workers", "pool"]),
        "pieces": launch_lines("find", [*TOLD, "pieces", "d", "e", "z"], "pieces", "30000 * pieces"),
        "deflate": alone_lines("deflate", [*some, "e"]),
        "roots": launch_lines("solve", [*TOLD, "begin"], roots, "kept * kept * 10"),
        "weigh": launch_lines("weigh", TOLD, roots, "kept * kept"),
        "gather": launch_lines(
            "gather", [*some[:-1], "end", "z", "packed", "pitch"], "chunk_start(count + 7, 1, 8)", "count * count"
        ),
        "multiply": launch_lines(
            "join",
            [*some[:-1], "end", "z", "packed", "pitch", *panels, *TILE],
            groups,
            f"kept * count * (4 + {0.005 * size} * count)",
        ),
        "blocks": launch_lines(
            "make_blocks",
            ["n", "n - 1", "1", "reflections", "reached", "blocks"],
            f"chunk_start(n, 1, {BLOCK}) + 1",
            "n * n",
        ),
        "reflect": launch_lines(
            "reflect", reflected, f"chunk_start(n + {COLUMNS - 1}, 1, {COLUMNS})", f"n * n * n * {0.007 * size}"
        ),
    }


@cache
def render_divided_eigh(dtype: str) -> Source:
    """Return the kernel of eigenvalues of ``count`` symmetric matrices with strides, under their vectors.

    ``space`` has ``room`` bytes for each thread, ``panels`` room for some columns; ``reduce`` to ``join`` are where the
    kernels are that it launches.

    >>> render_divided_eigh("float32").signature[9:14]
    ('reduce', 'multiply', 'update', 'make_blocks', 'reflect')
    """
    has_dtype(dtype, DTYPES, "eigh")
    finish = [*sign_lines(dtype, "n"), *ordered_lines(dtype, "0", "n", "sums")]
    holes = {"memory": _memory(dtype), "scale": scale_lines(dtype), "finish": finish, **_launches(dtype)}
    texts = {name: block(lines) for name, lines in holes.items()}
    names = (*"count n x x_between x_down x_along y space room".split(), *PARTS, "panels", *TILE)
    size = str(int(dtype[-2:]) // 8)
    return rendered("divided_eigh", names, dtype=dtype, begin=BEGIN, size=size, least=str(LEAST), **texts)
