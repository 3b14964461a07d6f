# SPDX-License-Identifier: Apache-2.0
"""The words in which LLVM IR for vectors of the processor is written: memory by address, masks, sums of products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, NamedTuple

from llvmlite import ir

from ngraph_rewrite.runtime.features import Tile, features, multiplies_quads, tile_shape

I32, I64 = ir.IntType(32), ir.IntType(64)


class Words(NamedTuple):
    """What the functions of a dtype are written in.

    Attributes:
        parts: How many integers a number is made of, of which the products are added.
        signed: Whether bytes of A are the ones with a sign, and not those of B.
        flushes: Whether numbers below 2**-126 are zeros, among what is multiplied and among sums.
    """

    element: Any
    vector: Any
    size: int
    tile: Tile
    parts: int = 1
    signed: bool = False
    flushes: bool = False

    @property
    def kind(self) -> str:
        """How names of LLVM's functions call a vector."""
        return f"v{self.tile.lanes}{'i' if self.whole else 'f'}{8 * self.size}"

    @property
    def whole(self) -> bool:
        """Whether numbers are integers, which wrap: LLVM does not ask whether they have a sign."""
        return isinstance(self.element, ir.IntType)


_ELEMENTS: Mapping[str, Any] = MappingProxyType(
    {
        "float32": ir.FloatType(),
        "float_pairs": ir.FloatType(),
        "flushed_pairs": ir.FloatType(),
        "float64": ir.DoubleType(),
        "int64": I64,
        "uint64": I64,
    }
    | dict.fromkeys(("int32", "uint32", "pairs", "quads", "signed_quads"), I32)
)
_PARTS: Mapping[str, int] = MappingProxyType(
    {"pairs": 2, "float_pairs": 2, "flushed_pairs": 2, "quads": 4, "signed_quads": 4}
)


# By lanes, what multiplies pairs and adds both products, and what a processor has to have for it.
_PAIRS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        16: ("llvm.x86.avx512.pmaddw.d.512", "+avx512bw"),
        8: ("llvm.x86.avx2.pmadd.wd", "+avx2"),
        4: ("llvm.x86.sse2.pmadd.wd", "+sse2"),
    }
)


def words(dtype: str) -> Words:
    """The types of numbers of 32 or 64 bits, of pairs of 16 bits, or of quads of bytes, and the tile of the processor.

    Pairs of bfloat16 are held as float32, which their sums are, whatever number their bits would be.
    """
    element, tile = _ELEMENTS[dtype], tile_shape(dtype)
    size = 8 if dtype.endswith("64") else 4
    parts, signed, flushes = _PARTS.get(dtype, 1), dtype.startswith("signed"), dtype.startswith("flushed")
    return Words(element, ir.VectorType(element, tile.lanes), size, tile, parts, signed, flushes)


@contextmanager
def loop(builder: Any, start: Any, stop: Any, step: int = 1) -> Iterator[Any]:
    """The body is emitted inside a loop over numbers from `start`, as long as they are less than `stop`."""
    before = builder.block
    head, body, end = (builder.append_basic_block(name) for name in ("head", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    number = builder.phi(I64)
    number.add_incoming(start, before)
    builder.cbranch(builder.icmp_signed("<", number, stop), body, end)
    builder.position_at_end(body)
    yield number
    number.add_incoming(builder.add(number, I64(step)), builder.block)
    builder.branch(head)
    builder.position_at_end(end)


def pointer(builder: Any, address: Any, own: Words) -> Any:
    """An address as that of a vector."""
    return builder.inttoptr(address, own.vector.as_pointer())


def everywhere(builder: Any, number: Any, lanes: int) -> Any:
    """A number in all lanes."""
    undefined = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, number, I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))


def interleaved_halves(builder: Any, rows: list[Any]) -> list[Any]:
    """The columns of a square: halves are interleaved as often as the number of rows can be halved."""
    lanes = len(rows)
    kind = ir.VectorType(I32, lanes)
    low = ir.Constant(kind, [i // 2 + lanes * (i % 2) for i in range(lanes)])
    high = ir.Constant(kind, [lanes // 2 + i // 2 + lanes * (i % 2) for i in range(lanes)])
    for _ in range(lanes.bit_length() - 1):
        pairs = list(zip(rows[: lanes // 2], rows[lanes // 2 :], strict=True))
        rows = [builder.shuffle_vector(x, y, order) for x, y in pairs for order in (low, high)]
    return rows


def mask(builder: Any, own: Words, columns: Any, first: int) -> Any:
    """Which lanes of a vector whose first one is in some column are columns of C."""
    numbers = [first + i for i in range(own.tile.lanes)]
    numbers = ir.Constant(ir.VectorType(I64, own.tile.lanes), numbers)
    return builder.icmp_signed("<", numbers, everywhere(builder, columns, own.tile.lanes))


def declared(builder: Any, name: str, operands: list[Any], result: Any) -> Any:
    """A function of LLVM's, declared in the module once."""
    module = builder.module
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, operands), name)


def plus(builder: Any, own: Words, x: Any, y: Any) -> Any:
    """The sum of two vectors."""
    return builder.add(x, y) if own.whole else builder.fadd(x, y)


def times(builder: Any, own: Words, x: Any, y: Any) -> Any:
    """The product of two vectors; of pairs and of quads, the sum of all."""
    if own.parts == 4:
        return _sums_of_quads(builder, own, x, y, ir.Constant(own.vector, None))
    if own.parts == 2:
        zero = ir.Constant(own.vector, None)
        return _sums_of_pairs(builder, own, x, y) if own.whole else _sums_of_float_pairs(builder, own, x, y, zero)
    return builder.mul(x, y) if own.whole else builder.fmul(x, y)


def _sums_of_pairs(builder: Any, own: Words, x: Any, y: Any) -> Any:
    """Of pairs of int16, the sums of both products, by the processor's own instruction if it has one."""
    lanes = own.tile.lanes
    name, needed = _PAIRS.get(lanes, ("", ""))
    if needed in features():
        halves = ir.VectorType(ir.IntType(16), 2 * lanes)
        function = declared(builder, name, [halves] * 2, own.vector)
        return builder.call(function, [builder.bitcast(x, halves), builder.bitcast(y, halves)])
    bits = ir.Constant(own.vector, [16] * lanes)
    lower = builder.mul(*(builder.ashr(builder.shl(a, bits), bits) for a in (x, y)))
    return builder.add(lower, builder.mul(builder.ashr(x, bits), builder.ashr(y, bits)))


def _sums_of_quads(builder: Any, own: Words, x: Any, y: Any, z: Any) -> Any:
    """Of quads of A in `x` and of B in `y`, the sums of all products and `z`: nothing saturates on the way.

    Where no instruction does so, the bytes with even numbers are a pair, and those with odd ones another.
    """
    x, y = (y, x) if own.signed else (x, y)  # without a sign, and with one
    if multiplies_quads():
        name = f"llvm.x86.avx512.vpdpbusd.{32 * own.tile.lanes}"
        return builder.call(declared(builder, name, [own.vector] * 3, own.vector), [z, x, y])
    halves = ir.VectorType(ir.IntType(16), 2 * own.tile.lanes)
    x, y = builder.bitcast(x, halves), builder.bitcast(y, halves)
    byte, low = (ir.Constant(halves, [bits] * 2 * own.tile.lanes) for bits in (8, 255))
    for left, right in (
        (builder.and_(x, low), builder.ashr(builder.shl(y, byte), byte)),
        (builder.lshr(x, byte), builder.ashr(y, byte)),
    ):
        words = (builder.bitcast(value, own.vector) for value in (left, right))
        z = builder.add(_sums_of_pairs(builder, own, *words), z)
    return z


def _sums_of_float_pairs(builder: Any, own: Words, x: Any, y: Any, z: Any) -> Any:
    """Of pairs of bfloat16, each the upper half of a float32, the sums of both products and `z`."""
    if own.flushes:
        halves = _BFloats(2 * own.tile.lanes)
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * own.tile.lanes}"
        function = declared(builder, name, [own.vector, halves, halves], own.vector)
        return builder.call(function, [z, builder.bitcast(x, halves), builder.bitcast(y, halves)])
    numbers = ir.VectorType(I32, own.tile.lanes)
    x, y = builder.bitcast(x, numbers), builder.bitcast(y, numbers)
    half, upper = (ir.Constant(numbers, [bits] * own.tile.lanes) for bits in (16, 0xFFFF0000))
    plain = words("float32")
    for left, right in ((builder.shl(x, half), builder.shl(y, half)), (builder.and_(x, upper), builder.and_(y, upper))):
        z = multiply_add(builder, plain, builder.bitcast(left, own.vector), builder.bitcast(right, own.vector), z)
    return z


class _BFloats(ir.Type):  # type: ignore[misc]
    """A vector of bfloat16, which llvmlite has no type for."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes

    def _to_string(self) -> str:
        return f"<{self.lanes} x bfloat>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BFloats) and self.lanes == other.lanes

    def __hash__(self) -> int:
        return hash(self.lanes)


def multiply_add(builder: Any, own: Words, x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``, rounded once where the processor does that in one instruction."""
    if own.parts == 4:
        return _sums_of_quads(builder, own, x, y, z)
    if own.whole:
        return builder.add(times(builder, own, x, y), z)
    if own.parts == 2:
        return _sums_of_float_pairs(builder, own, x, y, z)
    name = f"llvm.fmuladd.{own.kind}"
    return builder.call(declared(builder, name, [own.vector] * 3, own.vector), [x, y, z])


def masked_load(builder: Any, own: Words, place: Any, lanes: Any) -> Any:
    """The lanes that a mask has, zeros in the others."""
    kinds = [place.type, I32, lanes.type, own.vector]
    load = declared(builder, f"llvm.masked.load.{own.kind}.p0", kinds, own.vector)
    return builder.call(load, [place, I32(own.size), lanes, ir.Constant(own.vector, None)])


def masked_store(builder: Any, own: Words, value: Any, place: Any, lanes: Any) -> None:
    """Store the lanes that a mask has."""
    kinds = [own.vector, place.type, I32, lanes.type]
    store = declared(builder, f"llvm.masked.store.{own.kind}.p0", kinds, ir.VoidType())
    builder.call(store, [value, place, I32(own.size), lanes])


def ask(builder: Any, address: Any, locality: int, writes: bool = False) -> None:
    """Ask for the line at an address, which need not be there.

    Args:
        locality: 3 if it is to come to the first cache, 2 if to the second.
        writes: Whether it is to be written.
    """
    line = ir.IntType(8).as_pointer()
    prefetch = declared(builder, "llvm.prefetch.p0", [line, I32, I32, I32], ir.VoidType())
    builder.call(prefetch, [builder.inttoptr(address, line), I32(int(writes)), I32(locality), I32(1)])  # as data
