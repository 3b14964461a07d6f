# SPDX-License-Identifier: Apache-2.0
"""A network of comparisons that sorts lines in the lanes of vectors: merges of odd and even elements.

It asks for minima and maxima of whole vectors, and nothing depends on elements (Batcher, *Sorting networks and their
applications*, 1968). Sixteen elements at a time are sorted in registers, and runs of these are merged in a workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils

from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.runtime.line_keys import Lines
from ngraph_rewrite.runtime.vector_code import I64, declared, loop

GROUP = 16  # elements of a line that are sorted in registers
_AT_ONCE = 4  # pairs that are read before any is stored


def _in_order(lines: Lines, x: Any, y: Any) -> tuple[Any, Any]:
    """The lesser one of two vectors in each lane, and the greater one.

    Where one instruction turns bits by three vectors, it tells what is left of both without the lesser one, sooner than
    a maximum does, which waits for the unit that minima need.
    """
    builder, kind = lines.builder, lines.keys.vector
    name = f"v{kind.count}i{kind.element.width}"
    least = builder.call(declared(builder, f"llvm.smin.{name}", [kind] * 2, kind), [x, y])
    if vectors().bytes == 64:
        return least, builder.xor(builder.xor(x, y), least)
    return least, builder.call(declared(builder, f"llvm.smax.{name}", [kind] * 2, kind), [x, y])


def network(n: int) -> Iterator[tuple[int, int]]:
    """The comparisons that sort n elements, a power of two.

    >>> list(network(4))
    [(0, 1), (2, 3), (0, 2), (1, 3), (1, 2)]
    """
    p = 1
    while p < n:
        k = p
        while k:
            for j in range(k % p, n - k, 2 * k):
                yield from ((i + j, i + j + k) for i in range(k) if (i + j) // (2 * p) == (i + j + k) // (2 * p))
            k //= 2
        p *= 2


def sort_groups(lines: Lines, length: Any) -> None:
    """Sort each group in registers."""
    with loop(lines.builder, I64(0), length, GROUP) as begin:
        places = [lines.builder.add(begin, I64(k)) for k in range(GROUP)]
        held = [lines.kept(place) for place in places]
        for i, j in network(GROUP):
            held[i], held[j] = _in_order(lines, held[i], held[j])
        for place, value in zip(places, held, strict=True):
            lines.keep(place, value)


def merge(lines: Lines, length: Any) -> None:
    """Merge runs as long as a group, then runs twice as long, and so on: see `network`."""
    builder, shortest = lines.builder, GROUP.bit_length() - 1
    leading = declared(builder, "llvm.ctlz.i64", [I64, ir.IntType(1)], I64)
    levels = builder.sub(I64(64), builder.call(leading, [builder.sub(length, I64(1)), ir.IntType(1)(0)]))
    with loop(builder, I64(shortest), levels) as level:
        run = builder.shl(I64(1), level)
        both = builder.shl(run, I64(1))
        pairs = builder.lshr(builder.sub(builder.add(length, both), I64(1)), builder.add(level, I64(1)))
        with loop(builder, I64(0), builder.sub(level, I64(shortest - 1))) as step:
            whole = builder.icmp_signed("==", step, I64(0))
            apart = builder.lshr(run, step)
            first = builder.select(whole, I64(0), apart)
            count = builder.select(whole, I64(1), builder.sub(builder.shl(I64(1), step), I64(1)))
            with loop(builder, I64(0), pairs) as pair, loop(builder, I64(0), count) as block:
                begin = builder.add(builder.mul(pair, both), first)
                begin = builder.add(begin, builder.shl(builder.mul(block, apart), I64(1)))
                _compare(lines, begin, apart, builder.sub(length, builder.add(begin, apart)))
        with loop(builder, I64(0), pairs) as pair:
            begin = builder.mul(pair, both)
            end = builder.add(begin, both)
            _finish(lines, begin, builder.select(builder.icmp_signed("<", end, length), end, length))


def _compare(lines: Lines, begin: Any, apart: Any, most: Any) -> None:
    """Put so many neighbours in order with those that are so far apart, at most so many: some at a time."""
    builder = lines.builder
    many = builder.select(builder.icmp_signed("<", most, apart), most, apart)
    with loop(builder, begin, builder.add(begin, many), _AT_ONCE) as start:
        places = [builder.add(start, I64(k)) for k in range(_AT_ONCE)]
        others = [builder.add(place, apart) for place in places]
        pairs = [(lines.kept(low), lines.kept(high)) for low, high in zip(places, others, strict=True)]
        for low, high, pair in zip(places, others, pairs, strict=True):
            lesser, greater = _in_order(lines, *pair)
            lines.keep(low, lesser)
            lines.keep(high, greater)


def _finish(lines: Lines, begin: Any, end: Any) -> None:
    """The comparisons of elements that are 8, 4, 2 and 1 apart, in one pass over two runs.

    A group is read while the one before it, but for its first element, is in registers; what is then done with all four
    distances is stored.
    """
    builder = lines.builder
    kept = [cgutils.alloca_once(builder, lines.keys.vector) for _ in range(GROUP - 1)]
    for k, place in enumerate(kept, 1):
        builder.store(lines.kept(builder.add(begin, I64(k))), place)
    with loop(builder, builder.add(begin, I64(GROUP)), end, GROUP) as group:
        held = [builder.load(place) for place in kept]
        held += [lines.kept(builder.add(group, I64(k))) for k in range(GROUP)]
        _compare_in(lines, held, GROUP)
        for k, value in enumerate(held[:GROUP], 1 - GROUP):
            lines.keep(builder.add(group, I64(k)), value)
        for value, place in zip(held[GROUP:], kept, strict=True):
            builder.store(value, place)
    held = [builder.load(place) for place in kept]
    _compare_in(lines, held, 0)
    for k, value in enumerate(held, 1 - GROUP):
        lines.keep(builder.add(end, I64(k)), value)


def _compare_in(lines: Lines, held: list[Any], reach: int) -> None:
    """Compare what is in registers: elements of a group from its second one on, and so many of the next one."""
    for apart in (8, 4, 2, 1):
        for first in range(apart, GROUP, 2 * apart):
            if first + apart < GROUP + reach:
                for i in range(first - 1, first - 1 + apart):
                    held[i], held[i + apart] = _in_order(lines, held[i], held[i + apart])
