# SPDX-License-Identifier: Apache-2.0
"""Renders kernels of large symmetric matrices: of vectors, which divides what is tridiagonal, and of values alone."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_blocks import BLOCK, COLUMNS, TAKEN, TILE, pitch_of, room_of_blocks, room_of_rows
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.library_joining import LEAST, TOLD, room_of_numbers, space_lines
from ngraph_rewrite.codegen.library_reflections import block
from ngraph_rewrite.codegen.library_rotations import block_lines, scale_lines
from ngraph_rewrite.codegen.library_spectra import step_lines
from ngraph_rewrite.codegen.library_vectors import ordered_lines, sign_lines
from ngraph_rewrite.codegen.parting import BEGIN, alone_lines, launch_lines
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.ops.rotations import STEPS

_REDUCING = ("reduce", "multiply", "update", "make_blocks", "reflect")
_JOINING = ("find", "deflate", "solve", "weigh", "gather", "join")
PARTS = (*_REDUCING, *_JOINING)  # where kernels are that it launches
_PIECE = ("begin", "middle", "end")
_OWN_TILE = ("tile", "tile_rows", "tile_columns")  # of a kernel that takes steps, which have a `high` of their own


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


def _reduced(tile: tuple[str, ...] = TILE) -> list[str]:
    """Lines that make a matrix tridiagonal, by products with such tiles."""
    given = ["n", "z", "d", "e", "reflections", "reached", "rows", "pitch", "row_sums", "multiply", "update", *tile]
    return alone_lines("reduce", [*given, "workers", "pool"])


def _launches(dtype: str) -> dict[str, list[str]]:
    """Lines that launch each of the kernels that it takes."""
    size = int(dtype[-2:]) // 8
    room = f"n * {COLUMNS * size}"
    panels, some = [f"panels + thread * {room}", room], [*TOLD, *_PIECE, "z"]
    roots, groups = "chunk_start(kept + 7, 1, 8)", f"chunk_start(end - begin + {COLUMNS - 1}, 1, {COLUMNS})"
    reflected = ["n", "n", "n - 1", "1", "z", "reflections", "blocks", *panels, *TILE]
    return {
        "tridiagonal": _reduced(),
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


# -- without vectors ---------------------------------------------------------------------------------------------------


def space_of_blocked_eigvalsh(n: int, dtype: str) -> int:
    """How many bytes of workspace the kernel has for a matrix."""
    return -(-(3 * n + 2 * n * n + room_of_rows(n, dtype)) * int(dtype[-2:]) // 64) * 8


@cache
def render_blocked_eigvalsh(dtype: str) -> Source:
    """Return the kernel of eigenvalues of ``count`` large symmetric matrices with strides, without their vectors.

    ``space`` has ``room`` bytes for each thread; ``reduce``, ``multiply`` and ``update`` are where the kernels are that
    make a matrix tridiagonal.

    >>> render_blocked_eigvalsh("float32").signature[7:]
    ('space', 'room', 'reduce', 'multiply', 'update', 'tile', 'tile_rows', 'tile_columns')
    """
    has_dtype(dtype, DTYPES, "eigvalsh")
    size = int(dtype[-2:]) // 8
    line = 64 // size
    memory = [f"{name} = d + {k} * n * {size}" for k, name in enumerate(["e", "reached", "z"], 1)]
    memory += [f"reflections = z + n * n * {size}", f"rows = reflections + n * n * {size}"]
    memory += [f"pitch = (chunk_start(n + {line - 1}, 1, {line}) + 1) * {line}"]
    memory += [f"row_sums = rows + {3 * TAKEN} * pitch * {size}"]
    iterate = block_lines(dtype, "low <= high", False, step_lines(dtype, vectors=False))
    holes = {"memory": memory, "scale": scale_lines(dtype), "tridiagonal": _reduced(_OWN_TILE), "iterate": iterate}
    texts = {name: block(lines) for name, lines in holes.items()} | {"steps": str(STEPS), "size": str(size)}
    names = (*"count n x x_between x_down x_along y space room reduce multiply update".split(), *_OWN_TILE)
    return rendered("blocked_eigvalsh", names, dtype=dtype, begin=BEGIN, **texts)
