# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel that adds overlapping windows up, with as many loops as the windows have dimensions."""

from collections.abc import Sequence

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression, literal
from ngraph_rewrite.codegen.source import Source


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
