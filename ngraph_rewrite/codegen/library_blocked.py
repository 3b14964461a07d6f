# SPDX-License-Identifier: Apache-2.0
"""The kernel of orthogonal and triangular factors of matrices with many rows, reflected at whole panels at once."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_factors import DTYPES
from ngraph_rewrite.codegen.library_reflections import block
from ngraph_rewrite.codegen.parting import BEGIN, launch_lines
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.runtime.panel_sizes import WIDTH

_BLOCK = 14  # columns of a panel that others follow: as many as a tile of the widest vectors has rows
# Rows whose products are added up before others, and into how many parts many rows are divided, at most: sums of few
# sums of few products round less, which counts where all columns are alike.
_DEEP, _PARTS = 16, 128
_WIDEST = 32  # columns of any tile
# Squares of what is next to these are far from what a dtype has; below the least nothing is reflected.
_FAR = {"float32": ("2.0**100", "2.0**-80", "2.0**-100"), "float64": ("2.0**900", "2.0**-800", "2.0**-900")}


@cache
def render_blocked_qr(dtype: str) -> Source:
    """Return the kernel of factors Q and R, one below the other, of ``count`` matrices (m, n) with strides.

    ``space`` has ``room`` bytes for each thread, ``reflect`` is where the kernel of `render_reflect_panel` is, and
    ``tile`` of ``high`` and ``across`` multiplies. Without ``vectors`` R alone is right.

    >>> render_blocked_qr("float32").signature[7:]
    ('y', 'vectors', 'space', 'room', 'reflect', 'tile', 'high', 'across')
    """
    has_dtype(dtype, DTYPES, "qr")
    size = int(dtype[-2:]) // 8
    given = [f"y + (corner + wide) * {size}", f"n * {size}", "n - first - wide", "rows", "wide", "panel", "factors"]
    time = f"(rows * (n - first) * {0.14 * size})"
    chunks = "chunk_start(n - first - wide + across - 1, 1, across)"
    launch = launch_lines("reflect", [*given, "back", "tile", "high", "across"], chunks, time)
    up, small, least = _FAR[dtype]
    limits = {"low": "2.0**-20", "high": "2.0**20", "more": "2.0**20", "less": "2.0**-20", "up": up}
    limits |= {"small": small, "least": least}
    names = tuple("count m n x x_between x_down x_along y vectors space room reflect tile high across".split())
    return rendered("blocked_qr", names, dtype=dtype, begin=BEGIN, launch=block(launch), **limits, **_sizes(size))


@cache
def render_reflect_panel(dtype: str) -> Source:
    """Return the kernel that reflects so many columns at all columns of a panel, forwards or ``back``.

    >>> render_reflect_panel("float32").signature
    ('y', 'pitch', 'columns', 'rows', 'steps', 'panel', 'factors', 'back', 'tile', 'high', 'wide')
    """
    names = tuple("y pitch columns rows steps panel factors back tile high wide".split())
    holes = _sizes(int(dtype[-2:]) // 8)
    holes = {name: holes[name] for name in ("size", "line", "deep", "parts")}
    return rendered("reflect_panel", names, dtype=dtype, room=str(WIDTH * _WIDEST), **holes)


def room_of_blocked_qr(m: int, n: int, dtype: str) -> int:
    """The bytes that a thread needs for a panel, and for what reflections of all panels are together.

    >>> room_of_blocked_qr(100, 15, "float32"), room_of_blocked_qr(100, 16, "float64")
    (8576, 17152)
    """
    rows = m + 2 + WIDTH * (max(n - 1, 0) // _BLOCK + 1)
    return rows * WIDTH * int(dtype[-2:]) // 8


def blocked_names(dtype: str) -> list[str]:
    """What the processor decides of products, as arguments of a call say it."""
    return [f"product {word} {dtype}" for word in ("tile", "rows", "columns")]


def _sizes(size: int) -> dict[str, str]:
    numbers = {"width": WIDTH, "block": _BLOCK, "deep": _DEEP, "parts": _PARTS, "size": size, "line": WIDTH * size}
    return {name: str(value) for name, value in numbers.items()}
