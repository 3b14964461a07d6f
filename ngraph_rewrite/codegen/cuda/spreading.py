# SPDX-License-Identifier: Apache-2.0
"""Renders the derivative of sums and averages of windows for a GPU: each element gathers what its windows have."""

from __future__ import annotations

from functools import cache
from math import prod

from ngraph_rewrite.codegen.cuda.pooling import Sliding, around, indices
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import cast, expression, literal
from ngraph_rewrite.codegen.source import Source


@cache
def render_spread(kind: str, dtype: str, windows: tuple[Sliding, ...], rank: int) -> Source:
    """Return the kernel in which each element of y adds d[w] / n over the windows w that it is in.

    n is 1 if `kind` is "sum", the number of elements of a window if it is "counted", else of those of them that are in
    y, at least 1. Axis k of y has the length ``n`` and the stride ``d`` in d; of windows along it there are ``m``, and
    ``b`` is what pads it before. y is contiguous.

    >>> render_spread("sum", "float32", (Sliding(1, 2, 2, 1, False),), 2).signature
    ('n0', 'd0', 'n1', 'd1', 'm1', 'd', 'y')
    """
    has_dtype(dtype, ("float32", "float64"), "spread")
    letters = {one.dim: "ndmb" if one.padded else "ndm" for one in windows}
    names = [f"{letter}{k}" for k in range(rank) for letter in letters.get(k, "nd")]
    begin = " + ".join(f"i{k} * d{k}" for k in range(rank) if k not in letters) or "0"
    holes = {
        "dtype": dtype,
        "zero": literal(0, dtype),
        "begin": begin,
        "windows": "\n".join(around(windows, _added(kind, dtype, windows))),
    }
    return rendered("spread", (*names, "d", "y"), "cuda", **indices(rank), **holes)


def _added(kind: str, dtype: str, windows: tuple[Sliding, ...]) -> list[str]:
    """The lines that add the part that a window has for an element."""
    at, both = " + ".join(["begin", *(f"w{one.dim} * d{one.dim}" for one in windows)]), [dtype, dtype]
    lines = [f"value = load_{dtype}(d, {at}, 0)"]
    if kind == "seen":
        lines += ["seen = 1", *(line for one in windows for line in _seen(one))]
        number = cast("max(seen, 1)", "int64", dtype)
    else:
        number = literal(prod(one.size for one in windows), dtype)
    if kind != "sum":
        lines.append(f"value = {expression('divide', dtype, ['value', number], {}, both)}")
    return [*lines, f"total = {expression('add', dtype, ['total', 'value'], {}, both)}"]


def _seen(one: Sliding) -> list[str]:
    """The lines that count the elements of y along an axis that a window has."""
    k, first = one.dim, f"w{one.dim} * {one.stride}{f' - b{one.dim}' if one.padded else ''}"
    return [
        f"own{k} = 0",
        f"for c{k} in range({one.size}):",
        f"    at{k} = {first} + c{k} * {one.dilation}",
        f"    own{k} += select((at{k} >= 0) & (at{k} < n{k}), np.int64(1), np.int64(0))",
        f"seen = seen * own{k}",
    ]
