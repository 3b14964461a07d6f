# SPDX-License-Identifier: Apache-2.0
"""Eigenvectors of a tridiagonal matrix by division: those of short pieces are found, and of two pieces those of both.

What joins two pieces is of rank one. So eigenvalues are roots of a function, all of which are found apart; vectors are
products of matrices. Cuppen 1981; Gu and Eisenstat, *A Divide-and-Conquer Algorithm for the Symmetric Tridiagonal
Eigenproblem*, 1995. Values and roots are float64, whatever vectors are.
"""

from functools import cache

from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.library_blocks import COLUMNS
from ngraph_rewrite.codegen.library_reflections import block
from ngraph_rewrite.codegen.library_rotations import RUNS, TURNS, block_lines
from ngraph_rewrite.codegen.library_spectra import step_lines
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.ops.rotations import LIMITS, STEPS
from ngraph_rewrite.runtime.panel_sizes import STRIP

LEAST = 32  # rows of a piece, at most
_DEEP = 256  # rows of them that are multiplied before others: they stay in the first cache
_ROOM = 8  # numbers beside arrays
# Where numbers are of which each matrix has as many as rows: float64, and int64.
_NUMBERS = ("values", "z", "poles", "weights", "shifts", "rhos")
_WHOLE = ("ranked", "columns", "origins", "merged", "kinds", "places", "told")
_SQUARES = "(own + pole)"  # what makes the difference of two numbers that of their squares
_STEPS_OF_ROOT = 80  # of which each eighth halves what is left
TOLD = ("numbers", "whole", "n")  # what all kernels are told


def room_of_numbers(n: int) -> int:
    """The bytes that they take.

    >>> room_of_numbers(100)
    11232
    """
    return 8 * (len(_NUMBERS) + len(_WHOLE)) * (n + _ROOM)


def _place_lines() -> list[str]:
    """Lines that say where they are, from the addresses of the first float64 and of the first int64 on."""
    return [
        f"{name} = {first} + {8 * i} * (n + {_ROOM})"
        for first, names in (("numbers", _NUMBERS), ("whole", _WHOLE))
        for i, name in enumerate(names)
    ]


def space_lines() -> list[str]:
    """Lines that say where they are from the address ``numbers`` on, and what follows them, ``d``."""
    whole = f"whole = numbers + {8 * len(_NUMBERS)} * (n + {_ROOM})"
    return [whole, *_place_lines(), f"d = whole + {8 * len(_WHOLE)} * (n + {_ROOM})"]


def part_of(kernel: str, names: str, dtype: str = "float64", **holes: str) -> Source:
    """Return a kernel that is told of the numbers of a matrix, and of others."""
    return rendered(kernel, (*TOLD, *names.split()), dtype=dtype, places=block(_place_lines()), **holes)


@cache
def render_pieces(dtype: str) -> Source:
    """Return the kernel that finds the values of pieces of a tridiagonal matrix, and their vectors.

    >>> render_pieces("float32").signature
    ('numbers', 'whole', 'n', 'pieces', 'diagonal', 'beside_it', 'q')
    """
    size = int(dtype[-2:]) // 8
    holes = {"turns": 2 * TURNS * LEAST, "each": RUNS, "most": LEAST, "width": STRIP, "size": size, "steps": STEPS}
    iterate = block(block_lines(dtype, "low <= high", True, step_lines(dtype, vectors=True)))
    texts = {name: str(value) for name, value in holes.items()}
    return part_of("tridiagonal_pieces", "pieces diagonal beside_it q", dtype, iterate=iterate, **texts)


@cache
def render_deflate(dtype: str) -> Source:
    """Return the kernel that finds which values two pieces keep, as they are or after a rotation, when they are joined.

    >>> render_deflate("float32").signature
    ('numbers', 'whole', 'n', 'begin', 'middle', 'end', 'q', 'e')
    """
    joined = [
        f"rho, root = np.float64(load_{dtype}(e, middle - 1, 1)), sqrt(0.5)",
        "least, first_kept, first_end, second_begin = -np.inf, 0, middle, middle",
        "for j in range(begin, end):",
        "    row = select(j < middle, middle - 1, middle)",
        f"    part = np.float64(load_{dtype}(q, row * n + j, 0)) * root",
        "    if j >= middle and rho < 0:",
        "        part = -part",
        "    store_float64(z, j, part, 12)",
        "    store_int64(kinds, j, select(j < middle, 0, 2), 15)",
        "rho = 2.0 * fabs(rho)",
    ]
    return render_deflating("begin middle end q e", dtype, joined, turn_lines(dtype, "q", "end"))


def render_deflating(names: str, dtype: str, joined: list[str], turn: list[str]) -> Source:
    """Return a kernel that finds what two pieces keep, by lines that join them and lines that rotate columns."""
    holes = {"joined": block(joined), "turn": block(turn), "nothing": repr(8 * LIMITS[dtype].unit)}
    return part_of("deflate", names, dtype, **holes)


def turn_lines(dtype: str, q: str, bottom: str, buffer: int = 0) -> list[str]:
    """Lines that rotate columns ``last`` and ``number`` of a matrix by c and s, so that only the other one is left."""
    one, other = (f"load_{dtype}({q}, row * n + {j}, {buffer})" for j in ("last", "number"))
    turned = ["np.{0}(c) * x - np.{0}(s) * y", "np.{0}(c) * y + np.{0}(s) * x"]
    stored = [
        f"store_{dtype}({q}, row * n + {j}, {value.format(dtype)}, {buffer})"
        for j, value in zip(("last", "number"), turned, strict=True)
    ]
    return [f"for row in range(begin, {bottom}):", f"    x, y = {one}, {other}", *nested(stored)]


@cache
def render_secular(dtype: str, squares: bool = False) -> Source:
    """Return the kernel that finds the values of two pieces that are joined, as exactly as vectors of a dtype ask for.

    >>> render_secular("float32").signature
    ('numbers', 'whole', 'n', 'begin')
    """
    unit = LIMITS["float64"].unit * (1 if dtype == "float64" else 2.0**13)
    value = "sqrt(pole * pole + shift)" if squares else "pole + shift"
    own = {"also": _SQUARES if squares else "1.0", "value": value}
    return part_of("secular", "begin", unit=repr(unit), turns=str(_STEPS_OF_ROOT), **own)


@cache
def render_weights(squares: bool = False) -> Source:
    """Return the kernel that finds the numbers of which these values are exact."""
    also, apart = (_SQUARES, "(other + own)") if squares else ("1.0", "1.0")
    return part_of("secular_weights", "", also=also, apart=apart)


@cache
def render_gathered(dtype: str) -> Source:
    """Return the kernel that puts columns of two pieces in the order in which they are multiplied."""
    return part_of("deflated_columns", "begin middle end bottom q packed pitch", dtype)


@cache
def render_multiplied(dtype: str, squares: bool = False) -> Source:
    """Return the kernel that multiplies them by the vectors of what is joined, by tiles of ``high`` and ``wide``.

    Args:
        squares: Whether these are singular vectors: ``of_left`` then tells, by 1 or 0, of which side.
    """
    holes = {"size": str(int(dtype[-2:]) // 8), "columns": str(COLUMNS), "deep": str(_DEEP)}
    holes |= {"also": "1.0", "weigh": "", "set": "", "first": "0.0"}
    names = "begin middle end bottom q packed pitch panels room tile high wide"
    if squares:
        norm, place = f"np.{dtype}(-load_float64(norms, j, 18))", "load_int64(places, 0, 6) * wide + j"
        stored = f"    store_{dtype}(panel, {place}, {norm}, 19)"
        holes |= {"also": _SQUARES, "weigh": block(["if of_left == 1:", "    weight = weight * own"])}
        holes |= {"first": "float(of_left)", "set": block(["for j in range(width * of_left):", stored])}
        names += " of_left"
    return part_of("secular_columns", names, dtype, **holes)
