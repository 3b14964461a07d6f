# SPDX-License-Identifier: Apache-2.0
"""Renders stable sorts for a CPU: by digits, by counting, or several lines side by side."""

from functools import cache

import numpy as np

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, held
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.types.dtypes import as_dtype

_SHORT = 32  # lines of up to so many elements for each byte of a key are faster sorted by counting than by digits
# Lines up to so long are sorted side by side, by a network, where digits are not few; each element is a vector then.
_SIDE_BY_SIDE, _VECTOR = 1024, 8
_SIDE_BY_SIDE_BYTES, _SIDE_BY_SIDE_PLACES_OF_BYTES = 512, 128
_MOST = 0xFFFFFFFF  # a position up to here fits below a key of four bytes
# Lines of so many elements are sorted by fewer digits that are longer: to as many places can be written in the second
# cache, if the lines are there too.
_LONG_DIGITS, _LONG_DIGITS_BYTES = 4096, 1 << 22
# Where a key is wider than what a position leaves of a number, the number has its lower half first, then the upper one.
_RAISED = f"""\
if place > 3 and raised == 0:
    raised = 1
    for j in range(n):
        number = load_int64(source, j, 1) & {_MOST}
        store_int64(source, j, {{key}}(load_{{dtype}}(x, line + number * inner, 0)) >> 32 << 32 | number, 1)"""


@cache
def render_sort(dtype: str, descending: bool, n: object = None) -> Source:
    """Return the kernel that sorts x[o, :, i] into y, both contiguous; ``rows`` counts the pairs (o, i).

    ``first`` and ``second`` are workspaces of ``rows * n`` elements; ``first`` may be ``y`` if ``inner`` is 1.

    Args:
        n: The length, if it is known, by which digits are chosen.

    >>> render_sort("float32", False).signature
    ('rows', 'n', 'inner', 'x', 'first', 'second', 'y')
    """
    item, key = f"load_{dtype}(x, line + j * inner, 0)", _key(descending)
    by_digits = {"number": item, "number_key": f"{key}(number)", "number_result": "number"}
    moved = dtype
    if dtype in ("float32", "float64"):
        moved = "uint32" if dtype == "float32" else "int64"
        by_digits = {
            "number": f"{key}({item})",
            "number_key": "number",
            "number_result": f"{'reverse_' * descending}{dtype}_of_key(number)",
        } | _signs(dtype, item, descending)
    return _sorting(dtype, moved, dtype, descending, n, item=item, **by_digits)


def _signs(dtype: str, item: str, descending: bool) -> dict[str, str]:
    """What finds zeros with a sign, and in a line that has some puts all zeros where they belong, as they stood."""
    width = 8 * as_dtype(dtype).itemsize
    return {
        "no_signs": "signs = 0",
        "sign": f"signs += select(load_int{width}(x, line + j * inner, 0) == {-(1 << (width - 1))}, 1, 0)",
        "signed_zeros": signed_zeros(dtype, item, "y, line + place * inner", descending),
    }


def signed_zeros(dtype: str, item: str, target: str, descending: bool) -> str:
    """Lines that put all zeros of a line where they belong, as they stood, if some have a sign.

    Args:
        item: The text of number ``j`` of the line.
        target: Where its ``place`` in the result is.
    """
    return f"""\
if signs > 0:
    place = 0
    for j in range(n):
        place += select({item} {">" if descending else "<"} 0, 1, 0)
    for j in range(n):
        if {item} == 0:
            store_{dtype}({target}, {item}, 1)
            place += 1"""


@cache
def render_argsort(dtype: str, descending: bool, n: object = None) -> Source:
    """As `render_sort`, for the positions of the elements: y and the workspaces are int64.

    Args:
        n: The length, if it is known: a position then goes with its key, or half of it, in one number, if it fits.

    >>> render_argsort("float32", False).signature
    ('rows', 'n', 'inner', 'x', 'first', 'second', 'y')
    """
    key = _key(descending)
    by_digits = {
        "number": "j",
        "number_key": f"{key}(load_{dtype}(x, line + number * inner, 0))",
        "number_result": "number",
    }
    if isinstance(n, int) and n <= _MOST:
        own = f"{key}(load_{dtype}(x, line + j * inner, 0))"
        by_digits |= {
            "number": f"{own} << 32 | j",
            "number_key": "(number >> 32)",
            "number_result": f"number & {_MOST}",
        }
        if _bytes(dtype) == 8:
            by_digits |= {
                "counted_key": own,
                "shift": "(place & 3) * 8",
                "raised": _RAISED.format(key=key, dtype=dtype),
            }
    return _sorting(dtype, "int64", "int64", descending, n, item="j", **by_digits)


def alike(dtype: str, n: object) -> int | None:
    """The least length whose lines are sorted by the same code as those of `n`: that is not written for each anew.

    >>> alike("float32", 40), alike("float32", 5000), alike("float32", 5001)
    (0, 4096, 4096)
    """
    steps = (0, _LONG_DIGITS, _LONG_DIGITS_BYTES // _bytes(dtype) + 1, 1 << 31, _MOST + 1)
    return max(step for step in steps if step <= n) if isinstance(n, int) else None


def _key(descending: bool) -> str:
    return "reverse_order_key" if descending else "order_key"


def _bytes(dtype: str) -> int:
    """How many bytes a key has."""
    return np.dtype(held(dtype)).itemsize


def _sorting(dtype: str, moved: str, result: str, descending: bool, n: object, **holes: str) -> Source:
    """A short line's keys have the position below them where there is room, and are never equal then."""
    digits = _digits(_bytes(dtype), n, can_be_long="raised" not in holes)
    own = {"counted_key": holes["number_key"], "shift": f"place * {digits['bits']}", "raised": ""}
    holes = own | dict.fromkeys(("no_signs", "sign", "signed_zeros"), "") | digits | holes
    has_dtype(dtype, DTYPES, "sort")
    names = ("rows", "n", "inner", "x", "first", "second", "y")
    key, size = f"{_key(descending)}(load_{dtype}(x, line + j * inner, 0))", _bytes(dtype)
    holes |= {"short_key": f"{key} << 8 | j", "ranking": "rank_unequal"} | _network(
        dtype, holes["item"] == "j", descending
    )
    if size == 8:
        holes |= {"short_key": f"{key} ^ {-(1 << 63)}", "ranking": "rank"}  # in the order of integers with a sign
    holes |= {"itemsize": str(np.dtype(moved).itemsize), "short": str(_SHORT * size)}
    return rendered("sort", names, moved=moved, result=result, **holes)


def _digits(size: int, n: object, can_be_long: bool) -> dict[str, str]:
    """How many bits the digits of keys of so many bytes have, how many there are, and what counts elements."""
    is_long = isinstance(n, int) and _LONG_DIGITS <= n <= _LONG_DIGITS_BYTES // size and size > 2 and can_be_long
    bits = 11 if is_long else 8
    count = "int32" if isinstance(n, int) and n < 1 << 31 else "int64"
    return {"bits": str(bits), "radix": str(1 << bits), "digits": str(-(-8 * size // bits)), "count": count}


def is_side_by_side(dtype: str, order: bool, n: int) -> bool:
    """Whether lines of n elements are sorted several at once, if there are several.

    >>> is_side_by_side("float32", True, 1000), is_side_by_side("float64", True, 1000)
    (True, False)
    """
    return 1 < n <= _longest(dtype, order)


def _longest(dtype: str, order: bool) -> int:
    """The length up to which they are; 0 where neither a key nor a position has room in one number."""
    if _bytes(dtype) == 8 and order:
        return 0
    if as_dtype(dtype).itemsize > 1:
        return _SIDE_BY_SIDE
    return _SIDE_BY_SIDE_PLACES_OF_BYTES if order else _SIDE_BY_SIDE_BYTES


def _network(dtype: str, order: bool, descending: bool) -> dict[str, str]:
    """What sorts several lines at once."""
    most = _longest(dtype, order)
    if not most:
        return {"side_by_side": "", "lines": ""}
    kind, size = "argsort" if order else "sort", as_dtype(dtype).itemsize
    word = f"{'reverse_' * descending}{kind}_lines_{dtype}"
    return {
        "side_by_side": f"space = workspace_int64({most * _VECTOR})",
        "lines": f"""\
if n > 1 and n <= {most}:
    o = chunk_start(begin, 1, inner)
    i = begin - o * inner
    some = lesser({kind}_lanes_{dtype}(), end - begin)
    if inner > 1:
        some = lesser(some, inner - i)
    if some > 1:
        line = o * n * inner + i
        done = {word}(x + line * {size}, y + line * {8 if order else size}, n, inner, some, space)""",
    }
