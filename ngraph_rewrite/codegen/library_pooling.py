# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of pooling: what a window sees is in the code, so that neighbours are computed at once."""

from collections.abc import Sequence
from functools import cache, reduce
from itertools import product
from typing import NamedTuple

import numpy as np

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, expression, held, literal
from ngraph_rewrite.codegen.source import Source, indented

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
    has_dtype(dtype, DTYPES[1:], "pooling")
    own, reach = held(dtype), (sizes[2] - 1) * dilations[2] + 1
    names = ("x", "out", "lines", "oz", "oy", "ox", "x_sl", "x_sz", "x_sy", "x_dz", "x_dy")
    rows = [f"load_{dtype}(first + {z} * x_dz + {y} * x_dy, at + i, 0)" for z, y in product(*map(range, sizes[:2]))]
    columns = [f"load_{own}(both, i * {strides[2]} + {c * dilations[2]}, 1)" for c in range(sizes[2])]
    holes = {
        "dtype": dtype,
        "held": own,
        "block": str(_BLOCK),
        "step": str(strides[2]),
        "reach": str(reach),
        "room": str((_BLOCK - 1) * strides[2] + max(reach, strides[2])),
        "lines": str(_BLOCK if reach <= strides[2] else 1),  # those that overlap would see the next line
        "rows": combined(kind, own, rows),
        "columns": combined(kind, own, columns),
    }
    return rendered("pooling", names, **holes)


def combined(kind: str, dtype: str, values: Sequence[str]) -> str:
    """Lines that make ``total`` of values, pair by pair, by the operation of a kind of pooling."""
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
def render_unpooling(kind: str, dtype: str, sizes: Three, strides: Three, dilations: Three, padded: bool) -> Source:
    """Return the kernel that adds d[w] / n to each element of y that stands where one of x is the greatest of w.

    There are n of these in the window w; the least ones count if `kind` is "min". ``leads`` is the number of parts of
    x, ``n`` their lengths, after padding if they are `padded`. The strides of x are those of `render_pooling`,
    ``o_sz``, ... those of y. ``fills`` is 1 if y has to be zero before. What is padded begins at ``p``, has the lengths
    ``l`` and the strides ``x_rz``, ``x_ry``; the strides before are then those of copies in ``space``, of which a
    thread has ``room`` bytes. d and y are contiguous.

    >>> render_unpooling("max", "float32", (1, 2, 2), (1, 2, 2), (1, 1, 1), False).signature[:4]
    ('x', 'd', 'out', 'leads')
    """
    has_dtype(dtype, _DTYPES, "unpooling")
    window = _Window(kind, dtype, sizes, strides, dilations)
    holes = {"aside": "", "framed": "", "cropped": "", "windows": window.apart()}
    if any((n - 1) * e >= s for n, s, e in zip(sizes, strides, dilations, strict=True)):
        holes["aside"] = f"most, share = workspace_{dtype}({window.room}), workspace_{dtype}({window.room})"
        holes["windows"] = window.over_each_other()
    names = _UNPOOLING
    if padded:
        names += _PADDED
        value = literal(-np.inf if kind == "max" else np.inf, dtype)
        holes["framed"] = _FRAMED.format(dtype=dtype, value=value, size=window.size)
        holes["cropped"] = _CROPPED.format(dtype=dtype, size=window.size)
    return rendered("unpooling", tuple(names.split()), dtype=dtype, zero=literal(0, dtype), **holes)


_UNPOOLING = "x d out leads fills nz ny nx oz oy ox x_sl x_sz x_sy x_dz x_dy o_sl o_sz o_sy o_dz o_dy"
_PADDED = " space room pz py px lz ly lx x_rz x_ry"
_FRAMED = """\
seen = space + thread * room
begin = seen + nz * ny * nx * {size}
for z in range(nz):
    for y in range(ny):
        line, source = seen + (z * ny + y) * nx * {size}, x + lead * x_sl + (z - pz) * x_rz + (y - py) * x_ry
        left, right = px, px + lx
        if z < pz or y < py or z >= pz + lz or y >= py + ly:
            left, right = nx, nx
        for i in range(left):
            store_{dtype}(line, i, {value}, 0)
        inside = line + px * {size}
        for i in range(right - left):
            store_{dtype}(inside, i, load_{dtype}(source, i, 4), 0)
        for i in range(right, nx):
            store_{dtype}(line, i, {value}, 0)"""
_CROPPED = """\
for z in range(lz):
    for y in range(ly):
        source = begin + (((z + pz) * ny + y + py) * nx + px) * {size}
        for i in range(lx):
            store_{dtype}(out, ((lead * lz + z) * ly + y) * lx + i, load_{dtype}(source, i, 1), 5)"""


class _Window(NamedTuple):
    """A window of which the greatest or least elements are found."""

    kind: str
    dtype: str
    sizes: Three
    strides: Three
    dilations: Three

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return 4 if self.dtype == "float32" else 8

    @property
    def over(self) -> int:
        """How many windows before see what the first element of one is part of, in a line."""
        return (self.sizes[2] - 1) * self.dilations[2] // self.strides[2]

    @property
    def room(self) -> int:
        """The elements that are put aside for a block of windows, with such as are none around."""
        return _BLOCK + 2 * self.over

    @property
    def lines(self) -> list[tuple[int, int]]:
        """The lines of a window."""
        return list(product(range(self.sizes[0]), range(self.sizes[1])))

    def shares(self, at: str, of: str) -> list[str]:
        """The lines that find the greatest of a window, which elements it is, and what these get."""
        dtype, one, none = self.dtype, literal(1, self.dtype), literal(0, self.dtype)
        every = list(product(self.lines, range(self.sizes[2])))
        places = [f"{at} * {self.strides[2]} + {c * self.dilations[2]}" for _, c in every]
        found = [
            f"x{i} = load_{dtype}(row + {z} * x_dz + {y} * x_dy, {place}, 0)"
            for i, (((z, y), _), place) in enumerate(zip(every, places, strict=True))
        ]
        found += [combined(self.kind, dtype, [f"x{i}" for i in range(len(every))])]
        found += [f"m{i} = select(x{i} == total, {one}, {none})" for i in range(len(every))]
        masks = [f"m{i}" for i in range(len(every))]
        count = reduce(lambda x, y: expression("add", dtype, [x, y], {}, [dtype, dtype]), masks)
        share = expression("divide", dtype, [f"load_{dtype}(d, {of}, 3)", f"({count})"], {}, [dtype, dtype])
        return [*found, f"part = {share}"]

    def apart(self) -> str:
        """Store what the elements of windows that meet nowhere get."""
        stores = [
            f"store_{self.dtype}(to + {z} * o_dz + {y} * o_dy, i * {self.strides[2]} + {c * self.dilations[2]}, "
            f"part * m{i}, 1)"
            for i, ((z, y), c) in enumerate(product(self.lines, range(self.sizes[2])))
        ]
        return "\n".join(["for i in range(ox):", indented("\n".join([*self.shares("i", "at + i"), *stores]), 4)])

    def over_each_other(self) -> str:
        """Put shares aside, and add them up."""
        dtype, over, step = self.dtype, self.over, self.strides[2]
        around = ["most", literal(np.nan, dtype)], ["share", literal(0, dtype)]
        outside = [f"    store_{dtype}({name}, i, {value}, {n})" for n, (name, value) in enumerate(around, 6)]
        own = [f"store_{dtype}(most, i + {over}, total, 6)", f"store_{dtype}(share, i + {over}, part, 7)"]
        lines = [
            f"for left in range(0, ox, {_BLOCK}):",
            f"    count = lesser({_BLOCK}, ox - left)",
            f"    for i in range({over}):",
            *indented("\n".join(outside), 4).split("\n"),
            "    for i in range(count):",
            *indented("\n".join([*self.shares("(left + i)", "at + left + i"), *own]), 8).split("\n"),
            f"    for i in range(count + {over}, count + {2 * over}):",
            *indented("\n".join(outside), 4).split("\n"),
            f"    whole = lesser(count + {over}, chunk_start(nx - left * {step}, 1, {step}))",
        ]
        for z, y in self.lines:
            lines += [f"    line, target = row + {z} * x_dz + {y} * x_dy, to + {z} * o_dz + {y} * o_dy"]
            lines += ["    for i in range(whole):", *self._sums("")]
            lines += [f"    for i in range(whole, lesser(count + {over}, whole + 1)):"]
            lines += self._sums(f"if (left + i) * {step} + {{phase}} < nx:")
        return "\n".join(lines)

    def _sums(self, guard: str) -> list[str]:
        """Add to the elements of a step from window to window what the windows give that see them.

        All are read before any is written, so that LLVM puts those of several steps in whole vectors.
        """
        dtype, (step, each) = self.dtype, (self.strides[2], self.dilations[2])
        added, stored = list[str](), list[str]()
        for phase in range(step):
            seen = [c * each // step for c in range(self.sizes[2]) if c * each % step == phase]
            at, total = f"(left + i) * {step} + {phase}", f"t{phase}"
            body = [f"value, {total} = load_{dtype}(line, {at}, 0), load_{dtype}(target, {at}, 1)"]
            for back in seen:
                where = f"i + {self.over - back}"
                mask = f"select(value == load_{dtype}(most, {where}, 6), {literal(1, dtype)}, {literal(0, dtype)})"
                given = f"(load_{dtype}(share, {where}, 7) * {mask})"
                body += [f"{total} = {expression('add', dtype, [total, given], {}, [dtype, dtype])}"]
            store = [f"store_{dtype}(target, {at}, {total}, 1)"]
            if seen and guard:
                stored += [guard.format(phase=phase), *indented("\n".join(body + store), 4).split("\n")]
            elif seen:
                added, stored = added + body, stored + store
        return indented("\n".join(added + stored), 8).split("\n")
