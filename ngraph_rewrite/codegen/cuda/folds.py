# SPDX-License-Identifier: Apache-2.0
"""Renders, for a GPU, the kernel that adds overlapping windows up: each element gathers what windows have for it."""

from __future__ import annotations

from functools import cache

from ngraph_rewrite.codegen.cuda.pooling import Sliding, around, indices
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression, literal
from ngraph_rewrite.codegen.source import Source


@cache
def render_gathered_fold(dtype: str, windows: tuple[Sliding, ...], rank: int) -> Source:
    """Return the kernel of a fold in which each element of y, of a rank, adds what windows have for it.

    Axis k of y has the length ``n`` and the stride ``x`` in x; along one with windows that is the stride from window to
    window, of which there are ``m``, and places in them are ``p`` apart. The places along the axes of `windows` are
    gone through in the order of these. Where there are elements before the first one of y, they are ``b``. y is
    contiguous.

    >>> render_gathered_fold("float32", (Sliding(1, 3, 2, 1, False),), 2).signature
    ('n0', 'x0', 'n1', 'x1', 'm1', 'p1', 'x', 'y')
    """
    has_dtype(dtype, tuple(d for d in DTYPES if d != "bool"), "fold")
    windowed = {one.dim: "nxmpb" if one.padded else "nxmp" for one in windows}
    names = [f"{letter}{k}" for k in range(rank) for letter in windowed.get(k, "nx")]
    begin = " + ".join(f"i{k} * x{k}" for k in range(rank) if k not in windowed) or "0"
    total = expression("add", dtype, ["total", "value"], {}, [dtype, dtype])
    at = " + ".join(["begin", *(f"w{one.dim} * x{one.dim} + {_place(one)} * p{one.dim}" for one in windows)])
    loops = around(windows, [f"value = load_{dtype}(x, {at}, 0)", f"total = {total}"])
    holes = {"dtype": dtype, "zero": literal(0, dtype), "begin": begin, "loops": "\n".join(loops)}
    return rendered("fold", (*names, "x", "y"), "cuda", **indices(rank), **holes)


def _place(one: Sliding) -> str:
    """Which place in a window that is."""
    return f"quotient(rest{one.dim}, {one.dilation})" if one.dilation > 1 else f"rest{one.dim}"
