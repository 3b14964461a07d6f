# SPDX-License-Identifier: Apache-2.0
"""Renders the kernel that finds elements in the middle of a sorted line without sorting it."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_long_lines import DTYPES, kind_of, ninther
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.types.dtypes import as_dtype

_SHORT = 32  # keys that are sorted by insertion
_STACK = 64

# A key goes to the front, if it is not above the pivot, and what stood there to its place: no branch depends on keys.
_PART = """\
before = 0
for j in range(n):
    own = load_{key}(line, j, 1)
    store_{key}(line, j, load_{key}(line, before, 1), 1)
    store_{key}(line, before, own, 1)
    before += select(own <= pivot, 1, 0)"""

_SIGNED_ZEROS = """\
if signs > 0:
    place = 0
    for j in range(length):
        place += select(load_{dtype}(source, j, 0) {before} 0, 1, 0)
    for j in range(length):
        if load_{dtype}(source, j, 0) == 0:
            if place >= begin and place < end:
                store_{dtype}(goal, place - begin, load_{dtype}(source, j, 0), 2)
            place += 1"""


@cache
def render_middle_elements(dtype: str, descending: bool, compressed: bool) -> Source:
    """Return the kernel of the elements ``begin`` to ``end`` of ``rows`` sorted lines x[r, :]; all is contiguous.

    ``space`` has ``room`` bytes for each thread, the keys of a line.

    Args:
        compressed: Whether the processor compresses vectors to the keys on one side of a pivot.

    >>> render_middle_elements("float32", False, False).signature
    ('rows', 'length', 'begin', 'end', 'x', 'space', 'room', 'y')
    """
    has_dtype(dtype, DTYPES, "middle_elements")
    size = as_dtype(dtype).itemsize
    key, least = f"int{8 * size}", -(1 << (8 * size - 1))
    stored, value = _value(dtype, descending, least)
    holes = {
        "size": str(size),
        "stack": str(_STACK),
        "short": str(_SHORT),
        "key": key,
        "least": str(least),
        "greatest": str(-least - 1),
        "pivot": "\n".join(ninther(key)),
        "read": _read(dtype, descending, compressed, key, least),
        "part": f"before = partition_{key}(line, n, pivot)" if compressed else _PART.format(key=key),
        "stored": stored,
        "value": value,
        "signed_zeros": _SIGNED_ZEROS.format(dtype=dtype, before=">" if descending else "<")
        if "float" in dtype
        else "",
    }
    names = ("rows", "length", "begin", "end", "x", "space", "room", "y")
    return rendered("middle_elements", names, **holes)


def _read(dtype: str, descending: bool, compressed: bool, key: str, least: int) -> str:
    """Lines that make keys of a line, and count zeros with a sign."""
    if compressed:
        return f"signs = line_keys_{kind_of(dtype, descending, False)}(source, 0, length, 0, keys)"
    own = f"{'reverse_' * descending}order_key(load_{dtype}(source, j, 0)) ^ {least}"
    lines = [f"    store_{key}(keys, j, {own}, 1)"]
    if "float" in dtype:
        lines.append(f"    signs += select(load_{key}(source, j, 0) == {least}, 1, 0)")
    return "\n".join(["signs = 0", "for j in range(length):", *lines])


def _value(dtype: str, descending: bool, least: int) -> tuple[str, str]:
    """As which dtype an element is stored, and what it is, given the number of its key."""
    bits = f"number ^ {least}"
    if "float" in dtype:
        unsigned = bits if least == -(1 << 63) else f"number + {-least}"
        return dtype, f"{'reverse_' * descending}{dtype}_of_key({unsigned})"
    text = bits if dtype.startswith("u") else "number"
    return f"int{8 * as_dtype(dtype).itemsize}", f"~({text})" if descending else text
