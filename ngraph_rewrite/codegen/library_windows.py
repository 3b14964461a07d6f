# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel that adds overlapping windows up, with as many loops as the windows have dimensions."""

from collections.abc import Sequence
from functools import cache

from ngraph_rewrite.codegen.cuda.lanes import decomposed, product
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression, literal
from ngraph_rewrite.codegen.source import Source, indented


def render_fold(dtype: str, units: Sequence[tuple[bool, bool]]) -> Source:
    """Return the kernel y[l, sum(i * ys)] += x[l * x_l + sum(i * xs)] over the loops i0, i1, ..., with y zero before.

    ``lead`` is the number of l, ``block`` the number of elements of y for each; ``n0, xs0, ys0`` are the length of
    loop 0 and its strides in x and y. Each of `units` says of a loop whether its stride in x, and in y, is 1.

    >>> render_fold("float32", [(False, True)]).signature
    ('lead', 'block', 'x', 'x_l', 'y', 'n0', 'xs0')
    """
    has_dtype(dtype, tuple(d for d in DTYPES if d != "bool"), "fold")
    names = ["lead", "block", "x", "x_l", "y"]
    x, y = "l * x_l", "l * block"
    for i, (x_unit, y_unit) in enumerate(units):
        names += [f"n{i}", *([] if x_unit else [f"xs{i}"]), *([] if y_unit else [f"ys{i}"])]
        x += f" + i{i}" if x_unit else f" + i{i} * xs{i}"
        y += f" + i{i}" if y_unit else f" + i{i} * ys{i}"
    total = expression("add", dtype, ["total", "value"], {}, [dtype, dtype])
    body = [
        f"value = load_{dtype}(x, {x}, 0)",
        f"total = load_{dtype}(y, {y}, 1)",
        f"store_{dtype}(y, {y}, {total}, 1)",
    ]
    for i in reversed(range(len(units))):
        body = [f"for i{i} in range(n{i}):", *(f"    {line}" for line in body)]
    return rendered("fold", tuple(names), dtype=dtype, zero=literal(0, dtype), loops="\n".join(body))


@cache
def render_gathered_fold(dtype: str, windowed: tuple[int, ...], rank: int) -> Source:
    """Return the kernel, for a GPU, of a fold in which each element of y, of a rank, adds what windows have for it.

    Axis k of y has the length ``n`` and the stride ``x`` in x; along one that is `windowed` that is the stride from
    window to window, of ``m`` windows with ``w`` places, which are ``p`` apart in x and ``d`` in y; windows begin
    ``s`` apart. The places of the axes in `windowed` are gone through in its order. y is contiguous.

    >>> render_gathered_fold("float32", (1,), 2).signature
    ('n0', 'x0', 'n1', 'x1', 'm1', 'w1', 'p1', 's1', 'd1', 'x', 'y')
    """
    has_dtype(dtype, tuple(d for d in DTYPES if d != "bool"), "fold")
    dims = range(rank)
    names = [f"{letter}{k}" for k in dims for letter in ("nxmwpsd" if k in windowed else "nx")]
    begin = " + ".join(f"i{k} * x{k}" for k in dims if k not in windowed) or "0"
    total = expression("add", dtype, ["total", "value"], {}, [dtype, dtype])
    at = " + ".join(["begin", *(f"q{k} * x{k} + j{k} * p{k}" for k in windowed)])
    body = [f"value = load_{dtype}(x, {at}, 0)", f"total = {total}"]
    for k in reversed(windowed):
        inside = [f"if q{k} * s{k} == first{k} and q{k} < m{k}:", indented("\n".join(body), 4)]
        inside = [f"q{k} = quotient(first{k}, s{k})", *inside]
        found = [f"first{k} = i{k} - j{k} * d{k}", f"if first{k} >= 0:", indented("\n".join(inside), 4)]
        body = [f"for j{k} in range(w{k}):", indented("\n".join(found), 4)]
    holes = {"count": product(dims), "decomposed": "\n".join(decomposed("number", dims)), "begin": begin}
    names += ["x", "y"]
    return rendered("fold", tuple(names), "cuda", dtype=dtype, zero=literal(0, dtype), loops="\n".join(body), **holes)
