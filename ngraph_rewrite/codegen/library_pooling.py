# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of pooling: what a window sees is in the code, so that neighbours are computed at once."""

from collections.abc import Sequence
from functools import cache, reduce
from itertools import product

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import expression, literal
from ngraph_rewrite.codegen.source import Source

_DTYPES = ("float32", "float64")
_COMBINED = {"max": "maximum", "min": "minimum", "sum": "add"}
_BLOCK = 128

Three = tuple[int, int, int]


@cache
def render_pooling(kind: str, dtype: str, sizes: Three, strides: Three, dilations: Three) -> Source:
    """Return the kernel y[l, z, y, x] = max, min or sum (`kind`) of a window of x[l], along z, y and x.

    ``lines`` is the number of lines of y; ``x_sl`` is the stride of l in bytes, ``x_sz`` and ``x_sy`` are the strides
    from window to window, ``x_dz`` and ``x_dy`` those inside a window. Elements of lines have unit stride.

    >>> render_pooling("max", "float32", (1, 2, 2), (1, 2, 2), (1, 1, 1)).signature
    ('x', 'out', 'lines', 'oz', 'oy', 'ox', 'x_sl', 'x_sz', 'x_sy', 'x_dz', 'x_dy')
    """
    has_dtype(dtype, _DTYPES, "pooling")
    reach = (sizes[2] - 1) * dilations[2] + 1
    names = ("x", "out", "lines", "oz", "oy", "ox", "x_sl", "x_sz", "x_sy", "x_dz", "x_dy")
    rows = [f"load_{dtype}(first + {z} * x_dz + {y} * x_dy, at + i, 0)" for z, y in product(*map(range, sizes[:2]))]
    columns = [f"load_{dtype}(both, i * {strides[2]} + {c * dilations[2]}, 1)" for c in range(sizes[2])]
    holes = {
        "dtype": dtype,
        "block": str(_BLOCK),
        "step": str(strides[2]),
        "reach": str(reach),
        "room": str((_BLOCK - 1) * strides[2] + reach),
        "rows": _combined(kind, dtype, rows),
        "columns": _combined(kind, dtype, columns),
    }
    return rendered("pooling", names, **holes)


def _combined(kind: str, dtype: str, values: Sequence[str]) -> str:
    """Lines that make ``total`` of values, pair by pair."""
    op = _COMBINED[kind]
    lines = [f"v{i} = {value}" for i, value in enumerate(values)]
    every = [f"v{i}" for i in range(len(values))]
    while len(every) > 1:
        pairs = [every[i : i + 2] for i in range(0, len(every), 2)]
        for left, *right in pairs:
            lines += [f"{left} = {expression(op, dtype, [left, *right], {}, [dtype, dtype])}" for _ in right]
        every = [left for left, *_ in pairs]
    return "\n".join([*lines, f"total = {every[0]}"])


@cache
def render_unpooling(dtype: str, sizes: Three, strides: Three, dilations: Three) -> Source:
    """Return the kernel that adds d[w] / n to each element of y that stands where one of x is equal to r[w].

    There are n of these in the window w. ``leads`` is the number of parts of x, y has ``plane`` elements for each; the
    strides of x are those of `render_pooling`, and ``o_sz``, ... those of y in elements. r and d are contiguous.

    >>> render_unpooling("float32", (1, 2, 2), (1, 2, 2), (1, 1, 1)).signature[:5]
    ('x', 'r', 'd', 'out', 'leads')
    """
    has_dtype(dtype, _DTYPES, "unpooling")
    given = "x r d out leads plane oz oy ox x_sl x_sz x_sy x_dz x_dy o_sz o_sy o_dz o_dy"
    overlap = any((n - 1) * e >= s for n, s, e in zip(sizes, strides, dilations, strict=True))
    one, none = literal(1, dtype), literal(0, dtype)
    ties, stores, masks = [], [], []
    for number, (z, y, c) in enumerate(product(*map(range, sizes))):
        at = f"i * {strides[2]} + {c * dilations[2]}"
        ties += [
            f"x{number} = load_{dtype}(row + {z} * x_dz + {y} * x_dy, {at}, 0)",
            f"m{number} = select(x{number} == greatest, {one}, {none})",
        ]
        masks.append(f"m{number}")
        place = f"to + {z} * o_dz + {y} * o_dy + {at}"
        value = f"share * m{number}"
        value = f"load_{dtype}(begin, {place}, 1) + {value}" if overlap else value
        stores.append(f"store_{dtype}(begin, {place}, {value}, 1)")
    count = reduce(lambda x, y: expression("add", dtype, [x, y], {}, [dtype, dtype]), masks)
    holes = {
        "dtype": dtype,
        "size": "4" if dtype == "float32" else "8",
        "zero": none,
        "ties": "\n".join(ties),
        "share": expression("divide", dtype, [f"load_{dtype}(d, at + i, 3)", f"({count})"], {}, [dtype, dtype]),
        "stores": "\n".join(stores),
    }
    return rendered("unpooling", tuple(given.split()), **holes)
