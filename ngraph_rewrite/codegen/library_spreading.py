# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel that gives what windows have to their elements: along lines, what a window sees is in the code."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod
from string import Template
from typing import NamedTuple

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_pooling import Three
from ngraph_rewrite.codegen.scalar import cast, expression, literal
from ngraph_rewrite.codegen.source import Source, indented

_BLOCK = 128
_LARGEST = 64  # elements of a window for which there is code for each
_NAMES = "d out leads lz ly lx oz oy ox pz py px".split()
_APART = """\
for lead in range(chunk_start(leads, chunk, nchunks), chunk_start(leads, chunk + 1, nchunks)):
    $filled
    for z in range(oz):
        for y in range(oy):
            given = ((lead * oz + z) * oy + y) * ox
            to = ((lead * lz + z * $stride_z) * ly + y * $stride_y) * lx
            for i in range(ox):
                part = $part
                $stores"""
_FILLED = """\
for i in range(lz * ly * lx):
    store_$dtype(out, lead * lz * ly * lx + i, $zero, 2)"""
_GATHERED = """\
sums, parts = workspace_$dtype($room), workspace_$dtype($room)
begins = chunk_start(px, 1, $step)
stretches = chunk_start(px + lx + $step - 1, 1, $step) - begins
lines, first_line = leads * lz * ly, chunk_start(leads * lz * ly, chunk, nchunks)
for line in range(first_line, chunk_start(lines, chunk + 1, nchunks)):
    place = chunk_start(line, 1, ly)
    y = line - place * ly + py
    lead = chunk_start(place, 1, lz)
    z = place - lead * lz + pz
    to = line * lx - px
    for left in range(0, stretches, $block):
        begin, count = begins + left, lesser($block, stretches - left)
        low, end = begin - $over, lesser(begin + count, ox)
        low -= low * (low < 0)
        for i in range(count + $over):
            store_$dtype(sums, i, $zero, 1)
        $counted
        for cz in range($size_z):
            wz = chunk_start(z - cz * $dilation_z, 1, $stride_z)
            if z >= cz * $dilation_z and wz * $stride_z == z - cz * $dilation_z and wz < oz:
                for cy in range($size_y):
                    wy = chunk_start(y - cy * $dilation_y, 1, $stride_y)
                    if y >= cy * $dilation_y and wy * $stride_y == y - cy * $dilation_y and wy < oy:
                        $number
                        given, at = ((lead * oz + wz) * oy + wy) * ox + low, low - begin + $over
                        for i in range(end - low):
                            total = load_$dtype(sums, at + i, 1)
                            value = load_$dtype(d, given + i, 0)
                            $added
                            store_$dtype(sums, at + i, total, 1)
        head = lesser(count, 1 * (begin * $step < px))
        whole = lesser(count, chunk_start(px + lx, 1, $step) - begin)
        whole += (head - whole) * (whole < head)
        for i in range(head):
            $edge
        for i in range(head, whole):
            $inside
        for i in range(whole, count):
            $edge"""


@cache
def render_spread(
    kind: str, dtype: str, sizes: Three, strides: Three, dilations: Three, apart: bool = False, covered: bool = False
) -> Source:
    """Return the kernel in which each element of y[l] adds d[l, w] / n over the windows w that it is in.

    n is 1 if `kind` is "sum", the number of elements of a window if it is "counted", else of those of them that are in
    y, at least 1. Along the axes z, y and x there are ``oz``, ``oy`` and ``ox`` windows, of which the first begins
    ``pz``, ``py``, ``px`` before the first element of y, which has the lengths ``lz``, ``ly`` and ``lx``; ``leads`` is
    the number of l. Both are contiguous.

    Args:
        apart: Whether all windows lie in y, and no two have an element in common.
        covered: Whether each element is then in one.

    >>> render_spread("sum", "float32", (1, 2, 2), (1, 2, 2), (1, 1, 1)).signature[:4]
    ('d', 'out', 'leads', 'lz')
    """
    has_dtype(dtype, ("float32", "float64"), "spread")
    write = _apart if apart else _gathered
    lines, holes = write(kind, dtype, sizes, strides, dilations)
    holes |= {"dtype": dtype, "zero": literal(0, dtype), "filled": "" if covered else _FILLED}
    holes |= {f"stride_{axis}": str(stride) for axis, stride in zip("zy", strides, strict=False)}
    return rendered("spread", tuple(_NAMES), dtype=dtype, lines=_filled(lines, holes))


def _filled(lines: str, holes: dict[str, str]) -> str:
    """Lines with their holes filled, which may have holes too; each as far from the left as its hole."""
    while "$" in lines:
        found = []
        for line in lines.split("\n"):
            alone = line.strip()
            if alone.startswith("$") and alone[1:] in holes:
                found += indented(holes[alone[1:]], len(line) - len(alone)).split("\n") if holes[alone[1:]] else []
            else:
                found.append(Template(line).substitute(holes))
        lines = "\n".join(found)
    return lines


def _apart(kind: str, dtype: str, sizes: Three, strides: Three, dilations: Three) -> tuple[str, dict[str, str]]:
    """The lines of windows that do not overlap, and what their holes are filled with."""
    part, places = f"load_{dtype}(d, given + i, 0)", product(*map(range, sizes))
    if kind != "sum":
        part = expression("divide", dtype, [part, literal(prod(sizes), dtype)], {}, [dtype, dtype])
    if prod(sizes) > _LARGEST:
        at = f"to + (cz * {dilations[0]} * ly + cy * {dilations[1]}) * lx + i * {strides[2]} + cx * {dilations[2]}"
        loops = [
            f"{'    ' * k}for c{axis} in range({size}):"
            for k, (axis, size) in enumerate(zip("zyx", sizes, strict=True))
        ]
        return _APART, {"part": part, "stores": "\n".join([*loops, f"            store_{dtype}(out, {at}, part, 2)"])}
    stores = []
    for z, y, x in places:
        line = f"to + ({z * dilations[0]} * ly + {y * dilations[1]}) * lx"
        stores.append(f"store_{dtype}(out, {line} + i * {strides[2]} + {x * dilations[2]}, part, 2)")
    return _APART, {"part": part, "stores": "\n".join(stores)}


def _gathered(kind: str, dtype: str, sizes: Three, strides: Three, dilations: Three) -> tuple[str, dict[str, str]]:
    """The lines of windows that may overlap, and what their holes are filled with."""
    line = _Line(dtype, sizes[2], strides[2], dilations[2])
    holes = {"block": str(_BLOCK), "step": str(line.step), "over": str(line.over), "room": str(_BLOCK + line.over)}
    holes |= {f"size_{axis}": str(size) for axis, size in zip("zy", sizes, strict=False)}
    holes |= {f"dilation_{axis}": str(dilation) for axis, dilation in zip("zy", dilations, strict=False)}
    holes |= {"added": _added(kind, dtype, prod(sizes)), "edge": line.stored(True), "inside": line.stored(False)}
    seen = kind == "seen"
    holes["counted"], holes["number"] = (
        line.counted() if seen else "",
        _number(dtype, sizes, strides, dilations) if seen else "",
    )
    return _GATHERED, holes


def _added(kind: str, dtype: str, number: int) -> str:
    """The lines that add the part of a window to the sum of its column."""
    by = {"counted": literal(1 / number, dtype), "seen": f"(load_{dtype}(parts, at + i, 3) * part)"}.get(kind)
    share = "value" if by is None else f"value * {by}"
    return f"total = {expression('add', dtype, ['total', f'({share})'], {}, [dtype, dtype])}"


def _number(dtype: str, sizes: Three, strides: Three, dilations: Three) -> str:
    """The lines that count the lines that a window sees, at least 1, for its part."""
    lines = ["seen_z, seen_y = 0, 0"]
    for axis, size, stride, dilation in zip("zy", sizes, strides, dilations, strict=False):
        at = f"w{axis} * {stride} + c * {dilation} - p{axis}"
        lines += [f"for c in range({size}):", f"    seen_{axis} += 1 * (({at} >= 0) & ({at} < l{axis}))"]
    number = cast("(seen_z * seen_y + 1 * (seen_z * seen_y == 0))", "int64", dtype)
    part = expression("divide", dtype, [literal(1, dtype), number], {}, [dtype, dtype])
    return "\n".join([*lines, f"part = {part}"])


class _Line(NamedTuple):
    """The windows along a line."""

    dtype: str
    size: int
    step: int
    dilation: int

    @property
    def over(self) -> int:
        """How many windows before see what the first element of one is part of."""
        return (self.size - 1) * self.dilation // self.step

    def counted(self) -> str:
        """The lines that find by what a window's part is divided in a line: once, if lines are one stretch each."""
        dtype, one, none = self.dtype, literal(1, self.dtype), literal(0, self.dtype)
        lines = [
            f"for i in range(count + {self.over}):",
            f"    first, seen = (begin + i - {self.over}) * {self.step} - px, {none}",
        ]
        for c in range(self.size):
            at = f"first + {c * self.dilation}"
            lines.append(f"    seen += select(({at} >= 0) & ({at} < lx), {one}, {none})")
        part = expression("divide", dtype, [one, f"select(seen < {one}, {one}, seen)"], {}, [dtype, dtype])
        lines.append(f"    store_{dtype}(parts, i, {part}, 3)")
        return "\n".join([f"if line == first_line or stretches > {_BLOCK}:", indented("\n".join(lines), 4)])

    def stored(self, guarded: bool) -> str:
        """The lines that store a stride of elements: each adds up the columns of the windows that it is in.

        All are read before any is stored, so that LLVM puts those of several strides in whole vectors.
        """
        dtype, step = self.dtype, self.step
        found, stores = list[str](), list[str]()
        for phase in range(step):
            seen = [c * self.dilation // step for c in range(self.size) if c * self.dilation % step == phase]
            terms = [f"load_{dtype}(sums, i + {self.over - back}, 1)" for back in seen]
            found.append(f"t{phase} = {terms[0] if terms else literal(0, dtype)}")
            found += [f"t{phase} = {expression('add', dtype, [f't{phase}', x], {}, [dtype, dtype])}" for x in terms[1:]]
            at = f"(begin + i) * {step} + {phase}"
            store = f"store_{dtype}(out, to + {at}, t{phase}, 2)"
            stores += [f"if {at} >= px and {at} < px + lx:", indented(store, 4)] if guarded else [store]
        return "\n".join([*found, *stores])
