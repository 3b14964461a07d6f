# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels that sort long lines where the processor compresses vectors: buckets, pivots, short pieces."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_order import signed_zeros
from ngraph_rewrite.codegen.parting import BEGIN, MOST, launch_lines
from ngraph_rewrite.codegen.source import Source, nested
from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.types.dtypes import as_dtype

DTYPES = ("int32", "uint32", "float32", "int64", "uint64", "float64")
BUCKETS, _EACH = 8, 16  # buckets of a line, and elements that are looked at for each
_MANY = 1 << 16  # elements of a line that is parted as it is read
_STEP_TIMES = (0.05, 0.09, 0.22)  # nanoseconds of a byte of a key, to find the least one, to count, and to move
_PART = 1 << 14  # elements that are worth a part
# Keys of a piece that is sorted by a network; less, but not less than some, if a line is not so many pieces.
_SHORT, _LESS, _PIECES = 256, 48, 16
_STACK = 64
_INSERTED = 32  # keys that are sorted by insertion


def kind_of(dtype: str, descending: bool, order: bool) -> str:
    """How words name the keys of a line, or of its places.

    >>> kind_of("float32", True, False), kind_of("int32", False, True)
    ('reverse_float32', 'places_int32')
    """
    return f"{'reverse_' * descending}{'places_' * order}{dtype}"


def _size(dtype: str, order: bool) -> int:
    """The bytes of a key."""
    return 8 if order else as_dtype(dtype).itemsize


def _shortened(dtype: str, order: bool) -> bool:
    """Whether a position leaves no room for all bits of an element."""
    return order and as_dtype(dtype).itemsize == 8


@cache
def render_long_lines(dtype: str, descending: bool, order: bool) -> Source:
    """Return the kernel that sorts ``rows`` lines of n elements of x, or their places, into y, both contiguous.

    The last arguments are where its parts are.

    >>> render_long_lines("float32", False, False).signature
    ('rows', 'n', 'x', 'y', 'buckets', 'pieces')
    """
    has_dtype(dtype, DTYPES, "sort_long_lines")
    size, names = _size(dtype, order), ("rows", "n", "x", "y", "buckets", "pieces")
    shortened = _shortened(dtype, order)
    holes = {
        "kind": kind_of(dtype, descending, order),
        "team": BEGIN,
        "itemsize": str(as_dtype(dtype).itemsize),
        "size": str(size),
        "many": str(_MANY),
        "buckets": str(BUCKETS),
        "each": str(_EACH),
        "samples": str(BUCKETS * _EACH),
        "most": str(MOST),
        "part": str(_PART),
        "key": f"int{8 * size}",
        "least": str(-(1 << (8 * size - 1))),
        "greatest": str((1 << (8 * size - 1)) - 1),
        "range": _range(size) if shortened else "",
        "count": _bucket_step(size, 1),
        "move": _bucket_step(size, 2),
        "sort": "\n".join(_sorted("some", "goal", f"n * {size}")),
        "signed_zeros": signed_zeros(dtype, f"load_{dtype}(line, j, 0)", "goal, place", descending)
        if "float" in dtype and not order
        else "",
        "positions": _positions(dtype, descending) if shortened else "",
    }
    return rendered("sort_long_lines", names, dtype=dtype, **holes)


def _bucket_step(size: int, step: int) -> str:
    """Lines that launch a step of what finds buckets."""
    given = ["line", "n", "parts", "told", "counts", str(step)]
    return "\n".join(launch_lines("buckets", given, "parts", f"n * {size} * {_STEP_TIMES[step]}"))


def _sorted(count: str, goal: str, time: str) -> list[str]:
    """Lines that launch what sorts buckets."""
    return launch_lines("pieces", [count, "table", goal], count, time)


def _range(size: int) -> str:
    """Lines that find the first bits in which keys differ: as many as leave room for a position."""
    return f"""\
{_bucket_step(size, 0)}
low, high = load_int64(counts, 0, 12), load_int64(counts, 1, 12)
for part in range(parts):
    low = lesser(low, load_int64(counts, part * {BUCKETS}, 12))
    high = max(high, load_int64(counts, part * {BUCKETS} + 1, 12))
below, span = 1, high - low
while (n - 1) >> below > 0:
    below += 1
shift = select(span < 0, below, 0)
while span >= 0 and span >> shift >> (64 - below) > 0:
    shift += 1
store_int64(told, {BUCKETS - 1}, low, 11)
store_int64(told, {BUCKETS}, shift, 11)
store_int64(told, {BUCKETS + 1}, below, 11)"""


def _positions(dtype: str, descending: bool) -> str:
    """Lines that leave the positions: where keys are the same, their other bits are sorted first."""
    key = f"{'reverse_' * descending}order_key"
    sort = nested(nested(_sorted("1", "goal + j * 8", "(end - j) * 8")))
    return f"""\
mask, same = (1 << below) - 1, 0
if shift > 0:
    for j in range(n - 1):
        same += select((load_int64(goal, j, 1) ^ load_int64(goal, j + 1, 1)) >> below == 0, 1, 0)
j = select(same > 0, 0, n)
while j < n:
    end = j + 1
    while end < n and (load_int64(goal, j, 1) ^ load_int64(goal, end, 1)) >> below == 0:
        end += 1
    others = 0
    if end - j > 1:
        first = 0
        for k in range(j, end):
            place = load_int64(goal, k, 1) & mask
            rest = (({key}(load_{dtype}(line, place, 0)) ^ {-(1 << 63)}) - low) & ((1 << shift) - 1)
            first = select(k == j, rest, first)
            others = others | (rest ^ first)
            store_int64(goal, k, (rest << below | place) ^ {-(1 << 63)}, 1)
    if others != 0 and end - j > {_INSERTED}:
        store_int64(table, 1, end - j, 7)
        store_int64(table, {2 * BUCKETS + 1}, {(1 << 63) - 1}, 7)
{chr(10).join(sort)}
    elif others != 0:
        for k in range(j + 1, end):
            own, at = load_int64(goal, k, 1), k
            while at > j and load_int64(goal, at - 1, 1) > own:
                store_int64(goal, at, load_int64(goal, at - 1, 1), 1)
                at -= 1
            store_int64(goal, at, own, 1)
    j = end
for j in range(n):
    store_int64(goal, j, load_int64(goal, j, 1) & mask, 1)"""


@cache
def render_buckets(dtype: str, descending: bool, order: bool) -> Source:
    """Return the kernel that counts what goes to buckets in some parts of a line, or moves it there.

    >>> render_buckets("float32", False, False).signature
    ('x', 'n', 'parts', 'told', 'counts', 'step')
    """
    has_dtype(dtype, DTYPES, "buckets")
    names = ("x", "n", "parts", "told", "counts", "step")
    kind = kind_of(dtype, descending, order)
    ends = f"if step == 0:\n    range_of_keys_{kind}(x, begin, end, told, own)" if _shortened(dtype, order) else ""
    holes = {"kind": kind, "buckets": str(BUCKETS), "range": ends}
    return rendered("buckets", names, **holes)


@cache
def render_sort_pieces(dtype: str, descending: bool, order: bool) -> Source:
    """Return the kernel that sorts ``count`` buckets of keys at y, of which a table tells.

    >>> render_sort_pieces("float32", False, False).signature
    ('count', 'table', 'y')
    """
    has_dtype(dtype, DTYPES, "sort_pieces")
    if _shortened(dtype, order):
        return render_sort_pieces("int64", False, False)
    size, kind = _size(dtype, order), kind_of(dtype, descending, order)
    holes = {
        "kind": kind,
        "size": str(size),
        "width": str(8 * size),
        "short": str(_SHORT),
        "less": str(_LESS),
        "pieces": str(_PIECES),
        "classes": str(_SHORT // 16),
        "groups": str(_SHORT // 16 + 1),
        "lanes": str(vectors().bytes // size),
        "stack": str(_STACK),
        "low": str(BUCKETS + 1),
        "high": str(2 * BUCKETS + 1),
        "pivot": "\n".join(ninther(f"int{8 * size}")),
        "fill": "pass" if order else f"fill_pieces_{kind}(line, n, low)",
    }
    return rendered("sort_pieces", ("count", "table", "y"), **holes)


def ninther(key: str) -> list[str]:
    """Lines that find the median of the medians of three times three keys (Tukey, *The ninther*, 1978).

    >>> ninther("int32")[0]
    'step = n // 9'
    """
    lines = ["step = n // 9", "at = step // 2"]
    for i in range(3):
        lines += [f"{name} = load_{key}(line, at + step * {3 * i + k}, 5)" for k, name in enumerate("abc")]
        lines += [f"m{i} = {_median('a', 'b', 'c')}"]
    return [*lines, f"pivot = {_median('m0', 'm1', 'm2')}"]


def _median(a: str, b: str, c: str) -> str:
    return f"max(lesser({a}, {b}), lesser(max({a}, {b}), {c}))"
