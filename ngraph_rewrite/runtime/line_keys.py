# SPDX-License-Identifier: Apache-2.0
"""Keys of lines that are sorted side by side: integers with a sign in the order of the numbers, a line in each lane.

Where positions are asked for, they stand below the keys, so that no two are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from llvmlite import ir

from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.runtime.vector_code import I32, I64, declared, everywhere
from ngraph_rewrite.types.dtypes import DTYPES, as_dtype

# The bits of the infinities of dtypes: what is more is no number.
INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF << 52}


class Keys(NamedTuple):
    """What is compared: numbers of a dtype, in one order or the other; with their positions if these are sorted.

    Attributes:
        below: The bits of a position.
        alone: Whether keys without positions tell all: zeros have one key, and so have all NaN.
    """

    dtype: str
    descending: bool
    order: bool
    below: int = 16
    alone: bool = False

    @property
    def size(self) -> int:
        """The bytes of a number."""
        return as_dtype(self.dtype).itemsize

    @property
    def width(self) -> int:
        """The bits of a key."""
        return 64 if self.order or self.size == 8 else 32

    @property
    def lanes(self) -> int:
        """How many lines are sorted at once."""
        return 8 * vectors().bytes // self.width

    @property
    def numbers(self) -> Any:
        """A vector of numbers, as bits."""
        return ir.VectorType(ir.IntType(8 * self.size), self.lanes)

    @property
    def vector(self) -> Any:
        """A vector of keys."""
        return ir.VectorType(ir.IntType(self.width), self.lanes)

    @property
    def results(self) -> Any:
        """A vector of what is stored: numbers, or positions."""
        return ir.VectorType(I64, self.lanes) if self.order else self.numbers

    def constant(self, value: int, kind: Any = None) -> Any:
        """A number in all lanes."""
        kind = kind or self.vector
        return ir.Constant(kind, [value] * self.lanes)

    @property
    def last(self) -> Any:
        """What comes after all keys."""
        return self.constant((1 << (self.width - 1)) - 1)

    def turned(self, builder: Any, bits: Any) -> Any:
        """Bits of numbers as integers with a sign in their order, and back."""
        top = 8 * self.size - 1
        if self.dtype in INFINITY:
            others = self.constant((1 << top) - 1, self.numbers)
            return builder.xor(bits, builder.and_(builder.ashr(bits, self.constant(top, self.numbers)), others))
        return bits if self.dtype.startswith("int") else builder.xor(bits, self.constant(1 << top, self.numbers))

    def is_nan(self, builder: Any, bits: Any) -> Any:
        """Which lanes are no number."""
        magnitude = builder.and_(bits, self.constant((1 << (8 * self.size - 1)) - 1, self.numbers))
        return builder.icmp_unsigned(">", magnitude, self.constant(INFINITY[self.dtype], self.numbers))

    def is_negative_zero(self, builder: Any, bits: Any) -> Any:
        """Which lanes are zeros with a sign, which equal those without."""
        return builder.icmp_signed("==", bits, self.constant(1 << (8 * self.size - 1), self.numbers))

    def _canonical(self, builder: Any, bits: Any) -> tuple[Any, Any]:
        """Which lanes are no number; and all bits, where zeros have no sign: a sum has none."""
        if self.size < 4:
            zero = self.is_negative_zero(builder, bits)
            return self.is_nan(builder, bits), builder.select(zero, self.constant(0, self.numbers), bits)
        kind = ir.VectorType(ir.FloatType() if self.size == 4 else ir.DoubleType(), self.lanes)
        value = builder.fadd(builder.bitcast(bits, kind), ir.Constant(kind, [0.0] * self.lanes))
        return builder.fcmp_unordered("uno", value, value), builder.bitcast(value, self.numbers)

    def of(self, builder: Any, bits: Any, places: Any) -> Any:
        """The keys of numbers that stand at these places."""
        nan = None
        if self.dtype in INFINITY and (self.order or self.alone):
            nan, bits = self._canonical(builder, bits)
        key = builder.sext(self.turned(builder, bits), self.vector)
        key = builder.xor(key, self.constant(-1)) if self.descending else key
        if nan is not None:
            key = builder.select(nan, self.constant((1 << 31) - 1) if self.order else self.last, key)
        return builder.or_(builder.shl(key, self.constant(self.below)), places) if self.order else key

    def result(self, builder: Any, key: Any) -> Any:
        """What is stored of a key."""
        if self.order:
            return builder.and_(key, self.constant((1 << self.below) - 1))
        key = builder.xor(key, self.constant(-1)) if self.descending else key
        return self.turned(builder, builder.trunc(key, self.numbers))


def long_keys() -> Iterator[tuple[str, Keys]]:
    """The keys of long lines, each with the name by which functions of them are called.

    >>> [name for name, _ in long_keys()][:4]
    ['int32', 'reverse_int32', 'places_int32', 'reverse_places_int32']
    """
    for dtype in map(str, DTYPES):
        for order, descending in product((False, True), repeat=2):
            if as_dtype(dtype).itemsize >= 4:
                name = f"{'reverse_' * descending}{'places_' * order}{dtype}"
                yield name, Keys(dtype, descending, order, below=32, alone=True)


class Lines(NamedTuple):
    """Lines that are sorted: where they begin, their length, how far apart elements are, how many lines there are."""

    builder: Any
    keys: Keys
    x: Any
    y: Any
    n: Any
    inner: Any
    some: Any
    space: Any

    @classmethod
    def over(cls, builder: Any, keys: Keys, space: Any = None) -> Lines:
        """What is known of others than lines that lie beside each other."""
        return cls(builder, keys, None, None, None, None, None, space)

    def at(self, index: Any) -> Any:
        """The place of a vector of keys in the workspace."""
        builder, size = self.builder, I64(self.keys.width * self.keys.lanes // 8)
        return builder.inttoptr(builder.add(self.space, builder.mul(index, size)), self.keys.vector.as_pointer())

    def keep(self, index: Any, value: Any) -> None:
        """Store a vector of keys."""
        self.builder.store(value, self.at(index), align=self.keys.width * self.keys.lanes // 8)

    def kept(self, index: Any) -> Any:
        """A vector of keys."""
        return self.builder.load(self.at(index), align=self.keys.width * self.keys.lanes // 8)

    def first(self, count: Any) -> Any:
        """The first lanes, as many as there are."""
        numbers = ir.Constant(ir.VectorType(I64, self.keys.lanes), list(range(self.keys.lanes)))
        return self.builder.icmp_signed("<", numbers, everywhere(self.builder, count, self.keys.lanes))

    def read(self, address: Any, there: Any) -> Any:
        """A vector of numbers; zeros in lanes that are not there."""
        kind, size = self.keys.numbers, self.keys.size
        place = self.builder.inttoptr(address, kind.as_pointer())
        name = f"llvm.masked.load.v{self.keys.lanes}i{8 * size}.p0"
        load = declared(self.builder, name, [place.type, I32, there.type, kind], kind)
        return self.builder.call(load, [place, I32(size), there, ir.Constant(kind, None)])

    def write(self, value: Any, address: Any, there: Any) -> None:
        """Store a vector of results, the lanes that are there."""
        size = 8 if self.keys.order else self.keys.size
        place = self.builder.inttoptr(address, value.type.as_pointer())
        name = f"llvm.masked.store.v{self.keys.lanes}i{8 * size}.p0"
        store = declared(self.builder, name, [value.type, place.type, I32, there.type], ir.VoidType())
        self.builder.call(store, [value, place, I32(size), there])
