# SPDX-License-Identifier: Apache-2.0
"""A long line is read: its elements become keys, and go to buckets, which are counted first, so that all lie in order.

A bucket has the keys above one splitter and not above the next. Parts of a line are counted, and moved, by themselves.
Where positions of 64-bit elements are sorted, a key has as many bits of an element as a position leaves: the first ones
in which elements of the line differ. Words after the splitters say which these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature

from ngraph_rewrite.runtime.compressing import compressed, first_lanes, number_of
from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.runtime.line_keys import INFINITY, Keys, Lines, long_keys
from ngraph_rewrite.runtime.partitions import Sides
from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I32, I64, declared, everywhere, loop

BUCKETS = 8


class _Elements:
    """The code that reads vectors of a line's elements as keys, and notes zeros with a sign.

    Args:
        told: Where splitters are; after them the least key, by how much others are shifted, and a position's bits; and
            where buckets are.
    """

    def __init__(self, builder: Any, keys: Keys, x: Any, told: Any) -> None:
        self.builder, self.keys, self.x, self.told = builder, keys, x, told
        self.signs = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(ir.IntType(1), keys.lanes), None))
        self.shortened: list[Any] = []

    def shorten(self) -> None:
        """From here on keys are those bits that a position leaves, above it."""
        if self.keys.order and self.keys.size == 8:
            told = words(self.builder, self.told, BUCKETS + 2)[BUCKETS - 1 :]
            self.shortened = [everywhere(self.builder, word, self.keys.lanes) for word in told]

    def keys_from(self, begin: Any, end: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Vectors of keys between two places, each with the number of its first one and a mask of what is there.

        The body of a loop over them is emitted twice: for what is no whole vector, and for these, where all is there.
        """
        builder, lanes = self.builder, self.keys.lanes
        left = builder.and_(builder.sub(end, begin), I64(lanes - 1))
        whole = builder.sub(end, left)
        there = first_lanes(builder, left, lanes)
        yield whole, self._read(whole, there), there
        with loop(builder, begin, whole, lanes) as index:
            there = ir.Constant(ir.VectorType(ir.IntType(1), lanes), [1] * lanes)
            yield index, self._read(index, there), there

    def _read(self, index: Any, there: Any) -> Any:
        builder, keys = self.builder, self.keys
        bits = Lines.over(builder, keys).read(builder.add(self.x, builder.mul(index, I64(keys.size))), there)
        if keys.alone and not keys.order and keys.dtype in INFINITY:
            found = builder.or_(builder.load(self.signs), keys.is_negative_zero(builder, bits))
            builder.store(found, self.signs)
        numbers = ir.Constant(keys.vector, list(range(keys.lanes)))
        first = builder.trunc(index, keys.vector.element) if keys.width < 64 else index
        positions = builder.add(everywhere(builder, first, keys.lanes), numbers)
        if not (keys.order and keys.size == 8):
            return keys.of(builder, bits, positions)
        key = keys._replace(order=False).of(builder, bits, positions)
        return self._short(key, positions) if self.shortened else key

    def _short(self, key: Any, positions: Any) -> Any:
        """As `shorten` says, as integers with a sign."""
        builder, (least, shift, below) = self.builder, self.shortened
        key = builder.shl(builder.lshr(builder.sub(key, least), shift), below)
        return builder.xor(builder.or_(key, positions), self.keys.constant(1 << 63))

    def noted(self) -> Any:
        """1 if there was a zero with a sign, else 0."""
        builder = self.builder
        bits = builder.bitcast(builder.load(self.signs), ir.IntType(self.keys.lanes))
        return builder.zext(builder.icmp_unsigned("!=", bits, bits.type(0)), I64)

    def splitters(self) -> list[Any]:
        """Vectors of each splitter."""
        builder, keys = self.builder, self.keys
        values = words(builder, self.told, BUCKETS - 1)
        values = [builder.trunc(value, keys.vector.element) if keys.width < 64 else value for value in values]
        return [everywhere(builder, value, keys.lanes) for value in values]

    def store(self, value: Any, address: Any, there: Any) -> None:
        """Store the keys that are there."""
        own = self.keys._replace(order=False, dtype=f"int{self.keys.width}")
        Lines.over(self.builder, own).write(value, address, there)


def places(builder: Any, address: Any, count: int) -> list[Any]:
    """The places of some int64."""
    first = builder.inttoptr(address, I64.as_pointer())
    return [builder.gep(first, [I64(k)]) for k in range(count)]


def words(builder: Any, address: Any, count: int) -> list[Any]:
    """Some int64 at an address."""
    return [builder.load(place) for place in places(builder, address, count)]


# -- words for kernels -------------------------------------------------------------------------------------------------


def _word(name: str, keys: Keys, body: Callable[..., Any]) -> Any:
    """A function of a line, where a part of it begins and ends, what its keys are told by, and where results are."""

    def typing(context: Any, x: Any, begin: Any, end: Any, told: Any, result: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            x, begin, end, told, result = arguments
            return body(_Elements(builder, keys, x, told), begin, end, result)

        return signature(types.int64, *[types.int64] * 5), generate

    return named(name, typing)


def _keys(elements: _Elements, begin: Any, end: Any, y: Any) -> Any:
    """Store keys; and whether zeros have a sign."""
    builder, size = elements.builder, I64(elements.keys.width // 8)
    elements.shorten()
    for index, key, there in elements.keys_from(begin, end):
        elements.store(key, builder.add(y, builder.mul(index, size)), there)
    return elements.noted()


def _range(elements: _Elements, begin: Any, end: Any, ends: Any) -> Any:
    """Store the least key and the greatest one."""
    builder, keys, kind = elements.builder, elements.keys, elements.keys.vector
    vector, none = f"v{kind.count}i{keys.width}", {"smin": keys.last, "smax": keys.constant(-(1 << keys.width - 1))}
    found = {word: cgutils.alloca_once_value(builder, value) for word, value in none.items()}
    for _, key, there in elements.keys_from(begin, end):
        for word, place in found.items():
            given = [builder.load(place), builder.select(there, key, none[word])]
            builder.store(builder.call(declared(builder, f"llvm.{word}.{vector}", [kind] * 2, kind), given), place)
    for (word, place), to in zip(found.items(), places(builder, ends, 2), strict=True):
        reduce = declared(builder, f"llvm.vector.reduce.{word}.{vector}", [kind], kind.element)
        builder.store(builder.call(reduce, [builder.load(place)]), to)
    return I64(0)


def _count(elements: _Elements, begin: Any, end: Any, counts: Any) -> Any:
    """Store how many keys are in each bucket."""
    builder, splitters, kind = elements.builder, elements.splitters(), elements.keys.vector
    elements.shorten()
    totals = [cgutils.alloca_once_value(builder, ir.Constant(kind, None)) for _ in splitters]
    for _, key, there in elements.keys_from(begin, end):
        for splitter, total in zip(splitters, totals, strict=True):
            above = builder.and_(builder.icmp_signed(">", key, splitter), there)
            builder.store(builder.sub(builder.load(total), builder.sext(above, kind)), total)
    least = [builder.sub(end, begin), *(_sum(builder, builder.load(total)) for total in totals), I64(0)]
    for k, place in enumerate(places(builder, counts, BUCKETS)):
        builder.store(builder.sub(least[k], least[k + 1]), place)
    return I64(0)


def _sum(builder: Any, value: Any) -> Any:
    """The sum of lanes that are not negative."""
    wide = ir.VectorType(I64, value.type.count)
    value = builder.zext(value, wide) if value.type.element.width < 64 else value
    return builder.call(declared(builder, f"llvm.vector.reduce.add.v{wide.count}i64", [wide], I64), [value])


def _move(elements: _Elements, begin: Any, end: Any, begins: Any) -> Any:
    """Store keys in buckets, of which it is told where a part's own begin; and whether zeros have a sign."""
    builder, splitters = elements.builder, elements.splitters()
    y = words(builder, elements.told, BUCKETS + 3)[-1]
    elements.shorten()
    with builder.goto_entry_block():
        moved = builder.alloca(ir.ArrayType(I64, BUCKETS))
    for k, first in enumerate(words(builder, begins, BUCKETS)):
        builder.store(first, builder.gep(moved, [I64(0), I64(k)]))
    for _, key, there in elements.keys_from(begin, end):
        above = [builder.icmp_signed(">", key, splitter) for splitter in splitters]
        if vectors().bytes < 64 and isinstance(there, ir.Constant):
            _append_each(elements, key, above, moved, y)
            continue
        least = [there, *(builder.and_(there, lanes) for lanes in above)]
        for k in range(BUCKETS):
            own = builder.xor(least[k], least[k + 1]) if k + 1 < BUCKETS else least[k]
            place = builder.gep(moved, [I64(0), I64(k)])
            _append(elements, compressed(builder, key, own), number_of(builder, own), place, y)
    return elements.noted()


def _halves(elements: _Elements, begin: Any, end: Any, result: Any) -> Any:
    """Store keys that are not above the first splitter, and from the end on the others; and how many the first are.

    Whether zeros have a sign is stored.
    """
    builder = elements.builder
    told = words(builder, elements.told, BUCKETS + 3)
    elements.shorten()
    sides = Sides(builder, elements.keys.vector, told[-1], builder.sub(end, begin), told[0])
    for _, key, there in elements.keys_from(begin, end):
        sides.put(key, None if isinstance(there, ir.Constant) else there)
    builder.store(elements.noted(), places(builder, result, 1)[0])
    return builder.load(sides.low)


def _append(elements: _Elements, value: Any, count: Any, moved: Any, y: Any) -> None:
    """Store so many keys after those of their bucket."""
    builder, keys = elements.builder, elements.keys
    first = builder.load(moved)
    address = builder.add(y, builder.mul(first, I64(keys.width // 8)))
    elements.store(value, address, first_lanes(builder, count, keys.lanes))
    builder.store(builder.add(first, count), moved)


def _append_each(elements: _Elements, key: Any, above: list[Any], moved: Any, y: Any) -> None:
    """Store lanes one by one, each after the keys of its bucket: where masks take long and a bucket gets few lanes."""
    builder, kind = elements.builder, key.type
    bucket = ir.Constant(kind, None)
    for lanes in above:
        bucket = builder.sub(bucket, builder.sext(lanes, kind))
    line = builder.inttoptr(y, kind.element.as_pointer())
    for lane in range(kind.count):
        own = builder.extract_element(bucket, I32(lane))
        place = builder.gep(moved, [I64(0), builder.zext(own, I64) if kind.element.width < 64 else own])
        at = builder.load(place)
        builder.store(builder.extract_element(key, I32(lane)), builder.gep(line, [at]))
        builder.store(builder.add(at, I64(1)), place)


_BODIES = {
    "line_keys": _keys,
    "range_of_keys": _range,
    "count_buckets": _count,
    "move_to_buckets": _move,
    "halve_line": _halves,
}
for _name, _own in long_keys():
    for _verb, _body in _BODIES.items():
        globals()[f"{_verb}_{_name}"] = _word(f"{_verb}_{_name}", _own, _body)
