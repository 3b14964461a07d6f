# SPDX-License-Identifier: Apache-2.0
"""How a product of matrices is cut up: into groups that threads share, and those into what fits the caches.

It is decided by shapes and strides alone, for caches that nearly every processor has, so that results depend neither on
the processor's caches nor on the number of threads.
"""

from __future__ import annotations

from ngraph_rewrite.plan.blocks import (
    COLUMNS,
    DOTS,
    FETCHES,
    PACKS_A,
    PACKS_B,
    PACKS_CROWDED,
    SWEEPS,
    Blocking,
    Lies,
    rounded,
)
from ngraph_rewrite.plan.shares import SHARED_TIME

# A group takes about so many nanoseconds or more, and there need not be more groups than so many.
_GROUP_TIME, _GROUPS = 15_000, 64
# Where B is packed for each group, or A, these are the numbers; and there are more groups where they take so long.
_PACKED_TIME, _PACKED_GROUPS, _LARGE_TIME = 100_000, 8, 8_000_000
# Groups have at most so many rows and columns: what is packed of B for one stays in the second cache with a block of A.
_LARGEST = 512
# With fewer rows and columns, groups would pack too much again: if B is packed, and A as well; of few rows, A, or none.
_PACKED_B, _PACKED_BOTH, _PACKED_A, _AS_THEY_LIE = (256, 64), (252, 256), (126, 128), (64, 64)
# Of so many bytes A and C together lie in no cache: each is read from memory while what is before it is multiplied, B
# is packed for so many rows, and groups have about so many columns, in stretches of k of so many bytes at most: each
# more reads C and stores it once more, and an epilogue may have all C of a group in workspace then.
_OUTSIDE, _MANY, _BROAD_OUTSIDE, _DEEP_BYTES = 16 << 20, 1024, 256, 2048
# Blocks are at most so long.
_BLOCK = 84
# Of k about so much is multiplied at once, if B is packed: panels of it are in the first cache.
_DEEP = 400
# If B is not packed, so much; a longer k, or where rows of A fall on the same places, in stretches of about so many.
_DEEPEST, _HALF = 1024, 512
# B is packed for more rows of A than so many, A for more columns of B.
_FEW = 84
# Where A has few rows, each number of B is used so seldom that reading it is what takes time, from so many bytes on: it
# is read in long rows, and packed in stretches of so many bytes of a column. For a handful of rows fewer bytes do.
_STREAMED, _WIDE, _SHALLOW_BYTES = 1 << 22, 1024, 512
_HANDFUL, _STREAMED_BY_FEW = 4, 1 << 18
# For so many rows of A, or fewer, nothing of B is packed: its rows are multiplied as they are read, some at a time,
# along so many columns. The second cache holds C of these.
_SWEPT, _LONG_ROW = 28, 2048
# Dot products of few rows of A with columns of B are multiplied as both lie, if they lie along k: of so many rows, and
# of one for so many bytes of k, for lanes have to be added up. So much of k is multiplied at once that some of both are
# in the first cache; less, of columns that are computed for it. Of bfloat16 each number becomes a float32 for it, which
# other tiles have instructions for.
_DOTTED, _BYTES_OF_DOTS, _DOTTED_AT_ONCE, _DOTTED_COMPUTED = 16, 64, 2048, 512
_DOTTED_PAIRS, _MOST_PAIRS, _BYTES_OF_PAIRS = 4, 8, 256
# Rows a multiple of so many bytes apart fall on the same places of the first cache, rows so far apart are each on
# another page: A is packed then where that cache is crowded.
_SAME, _FAR = 4096, 8192
# Where A lies across and k, of all parts, is at least so long, of so many rows and columns or more, both are packed in
# stretches of k that fit the second cache, for a quarter of the rows, or parts: else a line of A would come from memory
# for each tile.
_LONG, _BROAD, _STRETCH_BYTES, _QUARTERS = 2048, 512, 1024, 4
# Parts of k that are summed apart have so much of it and take so many nanoseconds at least, for so many cores; together
# their sums have so many bytes at most.
_PART, _PART_TIME, _CORES, _SUMS = 1024, 20_000, 8, 16 << 20
# Rows of a group, and of a block, are tiles of 14 without rest.
_EVEN = 14


def blocking(count: int, m: int, n: int, k: int, itemsize: int, lies: Lies) -> Blocking:
    """How to cut up `count` products of m, n and k.

    >>> blocking(1, 128, 512, 784, 4, Lies(784, 512, True))[:3]
    (128, 64, 392)
    >>> blocking(1, 512, 1600, 64, 4, Lies(64, 64, False))[:3]
    (512, 224, 64)
    >>> blocking(1, 512, 128, 1000, 4, Lies(1000, 1000, False))[:3]
    (266, 64, 334)
    >>> blocking(1, 784, 512, 8192, 4, Lies(784, 512, True, across=True))[:3]
    (196, 512, 256)
    >>> blocking(1, 16, 3000, 3000, 4, Lies(3000, 3000, True))[:3]
    (16, 1504, 500)
    """
    lies = lies.packed
    if 0 < m <= lies.dotted:
        return _dotted(count, m, n, k, itemsize, lies)
    outside = m > _FEW and count * m * (n + k) * itemsize >= _OUTSIDE
    fetches, most = (FETCHES, _MANY) if outside else (0, _LARGEST)
    if _is_long(count, m, n, k, lies):
        pieces = max(-(-_QUARTERS // count), -(-m // most))
        rows = min(rounded(-(-m // pieces), _EVEN), most)
        packs = PACKS_A + PACKS_B + fetches
        return _cut_up(count, m, n, rows, _equal(n, COLUMNS), _STRETCH_BYTES // itemsize, packs)
    packs_a, packs_b = _packs_a(m, itemsize, lies), PACKS_B * int(lies.maps.b.there or not lies.plain or m > _FEW)
    if _is_streamed(m, n, k, itemsize, lies):
        if m <= _SWEPT and not lies.maps.b.there:
            packs = SWEEPS + PACKS_A * int(not lies.maps.a.there)
            return _cut_up(count, m, n, m, _equal(n, COLUMNS, _LONG_ROW), stretch(k, _HALF), packs)
        columns = rounded(-(-n // (2 * -(-n // (2 * _WIDE)))), COLUMNS)
        return _cut_up(count, m, n, m, columns, min(k, _SHALLOW_BYTES // itemsize), PACKS_B + packs_a)
    packs_a *= int(n > _FEW)
    least = _least(packs_a > 0 or lies.maps.a.there, m, n)
    few = m <= _FEW and not (least == _PACKED_A and lies.plain)
    low, narrow = (least[0], max(least[1], _BROAD_OUTSIDE)) if outside else least
    rows, columns = _group(m, n, _wanted(count, m, n, k, itemsize, few), low, narrow, most)
    columns = min(columns, _equal(n, COLUMNS, _BROAD_OUTSIDE)) if outside else columns
    deep = stretch(k, _DEEP_BYTES // itemsize) if outside else _depth(k, packs_a, packs_b)
    return _cut_up(count, m, n, rows, columns, deep, packs_a + packs_b + fetches)


def _dotted(count: int, m: int, n: int, k: int, itemsize: int, lies: Lies) -> Blocking:
    """The parts of a product whose rows and columns are multiplied as they lie."""
    _, columns = _group(m, n, _wanted(count, m, n, k, itemsize, True), *_AS_THEY_LIE, _LARGEST)
    deep = stretch(k, _DOTTED_COMPUTED if lies.maps.b.there else _DOTTED_AT_ONCE)
    return _cut_up(count, m, n, m, columns, deep, DOTS + PACKS_A * int(not lies.rows_along))


def dotted_rows(k: int, itemsize: int, halves: bool) -> int:
    """Of how many rows of A, at most, dot products are taken as they lie; `halves` if numbers are pairs of bfloat16.

    >>> dotted_rows(64, 4, False), dotted_rows(4096, 4, False), dotted_rows(64, 4, True), dotted_rows(2048, 4, True)
    (4, 16, 4, 8)
    """
    length = k * itemsize
    if halves:
        return min(max(_DOTTED_PAIRS, length // _BYTES_OF_PAIRS), _MOST_PAIRS) if length >= 2 * _BYTES_OF_DOTS else 0
    return min(length // _BYTES_OF_DOTS, _DOTTED)


def _packs_a(m: int, itemsize: int, lies: Lies) -> int:
    """Whether A is packed, for many columns of B."""
    far, same = lies.a * itemsize >= _FAR, lies.a > 0 and lies.a * itemsize % _SAME == 0
    if lies.across:
        return PACKS_A if m > _FEW or far else 0
    return PACKS_CROWDED if m >= _EVEN and (far or same) else 0


def _wanted(count: int, m: int, n: int, k: int, itemsize: int, few: bool) -> int:
    """How many groups a product should make: each has enough to do, two if threads share it at all.

    Args:
        few: Whether A has so few rows that nothing is packed again for more groups.
    """
    time = product_time(count, m, n, k, itemsize)
    packed = max(min(time // _PACKED_TIME, _PACKED_GROUPS), min(time // _LARGE_TIME, _GROUPS))
    wanted = min(time // _GROUP_TIME, _GROUPS) if few else packed
    return int(max(wanted, 2 if time >= SHARED_TIME else 1) // max(count, 1))


def _depth(k: int, packs_a: int, packs_b: int) -> int:
    """How much of k is multiplied at once."""
    most, about = (_DEEP, _DEEP) if packs_b else (_HALF if packs_a else _DEEPEST, _HALF)
    return max(k, 1) if k <= most else stretch(k, about)


def stretch(k: int, about: int) -> int:
    """The length of equal parts of k, of so much at most."""
    return max(-(-k // max(-(-k // about), 1)), 1)


def _is_long(count: int, m: int, n: int, k: int, lies: Lies) -> bool:
    """Whether both operands are packed in stretches of k, which may be that of a part."""
    return lies.across and k >= _PART and count * k >= _LONG and min(m, n) >= _BROAD


def _is_streamed(m: int, n: int, k: int, itemsize: int, lies: Lies) -> bool:
    """Whether B is read once, in long rows, for few rows of A."""
    least = _STREAMED_BY_FEW if m <= _HANDFUL else _STREAMED
    return lies.plain and 0 < m <= _FEW and n >= _WIDE and k * n * itemsize >= least


def parts_of_sum(m: int, n: int, k: int, itemsize: int, lies: Lies) -> int:
    """In how many parts of k a product is summed apart: several, where the whole makes few groups, or would have them
    pack the same operand again.

    >>> parts_of_sum(784, 512, 8192, 4, Lies(784, 512, True, across=True))
    4
    >>> parts_of_sum(64, 64, 1 << 16, 4, Lies(64, 64, True, across=True))
    8
    >>> parts_of_sum(1024, 1024, 1024, 4, Lies(1024, 1024, True))
    1
    """
    most = min(k // _PART, _SUMS // max(m * n * itemsize, 1))
    if most < 2:
        return 1
    if _is_long(1, m, n, k, lies.packed):
        return min(most, _QUARTERS)
    wanted = min(product_time(1, m, n, k, itemsize) // _PART_TIME, _CORES)
    return max(1, min(most, wanted // max(blocking(1, m, n, k, itemsize, lies).groups, 1)))


def _cut_up(count: int, m: int, n: int, rows: int, columns: int, deep: int, packs: int) -> Blocking:
    """The parts of products whose groups have so many rows and columns."""
    down, across = -(-m // rows), -(-n // columns)
    block = rounded(-(-rows // -(-rows // _BLOCK)), _EVEN)  # all about as long
    return Blocking(rows, columns, deep, min(rows, block), packs, down, across, count * down * across)


def _least(packs_a: bool, m: int, n: int) -> tuple[int, int]:
    """The fewest rows and columns that a group may have: half of the rows, where there are few columns."""
    if m <= _FEW:
        low, narrow = _PACKED_A if packs_a else _AS_THEY_LIE
    else:
        low, narrow = _PACKED_BOTH if packs_a else _PACKED_B
    halved = (m > _FEW or packs_a) and n < 2 * narrow
    return max(min(low, m // 2), _EVEN) if halved else low, narrow


def _group(m: int, n: int, wanted: int, low: int, narrow: int, most: int) -> tuple[int, int]:
    """The rows and columns of a group: halved until there are as many groups as wanted.

    Columns are halved first, for what is packed of B is not packed again then.

    Args:
        low, narrow: Fewer rows and columns are not worth a group of their own.
        most: The most rows of a group.
    """
    rows, columns = min(_equal(m, _EVEN, most), max(m, 1)), _equal(n, COLUMNS)
    while -(-m // rows) * -(-n // columns) < wanted and (rows >= 2 * low or columns >= 2 * narrow):
        if columns >= 2 * narrow:
            columns = rounded(columns // 2, COLUMNS)
        else:
            rows = rounded(rows // 2, _EVEN)
    return rows, columns


def _equal(length: int, step: int, most: int = _LARGEST) -> int:
    """The length of parts that are all about as long, and as few as can be."""
    return min(rounded(-(-length // max(-(-length // most), 1)), step), most)


def product_time(count: int, m: int, n: int, k: int, itemsize: int) -> int:
    """About how many nanoseconds products take on one core: at 100 operations of float32 in a nanosecond.

    A row of C is whole cache lines.

    >>> product_time(1, 128, 10, 512, 4) == product_time(1, 128, 16, 512, 4)
    True
    """
    return 2 * count * m * rounded(n * itemsize, 64) * k // 400
