# SPDX-License-Identifier: Apache-2.0
"""Numbers as integers without a sign whose order is that of the numbers: by their digits lines are sorted.

Both zeros have one key, and so have all NaNs, the largest one, in either direction.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.scalar_functions import named
from ngraph_rewrite.runtime.vector_code import I64, everywhere, loop

_LANES, _LINE = 16, 64
_VECTOR = ir.VectorType(I64, _LANES)


def _integer(builder: Any, x: Any, is_signed: bool) -> Any:
    """One bit turned, where the sign is."""
    if not is_signed:
        return x
    return builder.xor(x, ir.Constant(x.type, 1 << (x.type.width - 1)))


def _real(builder: Any, x: Any, descending: bool) -> Any:
    """The bits, all turned of negative numbers, the sign of others (Herf, *Radix Tricks*, 2001)."""
    width = 32 if x.type == ir.FloatType() else 64
    kind = ir.IntType(width)
    bits = builder.bitcast(builder.fadd(x, ir.Constant(x.type, 0.0)), kind)  # which makes -0 to 0
    turned = builder.or_(builder.ashr(bits, kind(width - 1)), kind(1 << (width - 1)))
    key = builder.xor(bits, builder.not_(turned) if descending else turned)
    return builder.select(builder.fcmp_unordered("uno", x, x), kind(-1), key)


def _key(name: str, descending: bool) -> Any:
    def typing(context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            (value,) = args
            if isinstance(x, types.Float):
                key = _real(builder, value, descending)
            else:
                key = _integer(builder, value, bool(getattr(x, "signed", False)))
                key = builder.not_(key) if descending else key
            return key if key.type == I64 else builder.zext(key, I64)

        return signature(types.int64, x), generate

    return named(name, typing)


order_key, reverse_order_key = _key("order_key", descending=False), _key("reverse_order_key", descending=True)


def _keyed(name: str, real: Any, descending: bool) -> Any:
    """The float that has a key: a zero without a sign, and some NaN, of those that share one."""

    def typing(context: Any, key: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            kind = context.get_value_type(real)
            width = 32 if kind == ir.FloatType() else 64
            bits = args[0] if width == 64 else builder.trunc(args[0], ir.IntType(width))
            bits = builder.not_(bits) if descending else bits
            turned = builder.or_(builder.not_(builder.ashr(bits, bits.type(width - 1))), bits.type(1 << (width - 1)))
            return builder.bitcast(builder.xor(bits, turned), kind)

        return signature(real, types.int64), generate

    return named(name, typing)


float32_of_key = _keyed("float32_of_key", types.float32, descending=False)
float64_of_key = _keyed("float64_of_key", types.float64, descending=False)
reverse_float32_of_key = _keyed("reverse_float32_of_key", types.float32, descending=True)
reverse_float64_of_key = _keyed("reverse_float64_of_key", types.float64, descending=True)


# -- few keys ----------------------------------------------------------------------------------------------------------


def _ranking(name: str, equal: bool) -> Any:
    """How many of some keys, integers with a sign, precede each; there is room for whole vectors."""

    def typing(context: Any, keys: Any, count: Any, ranks: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            keys, count, ranks = args
            _rank(builder, keys, count, ranks, equal)
            return context.get_dummy_value()

        return signature(types.none, types.int64, types.int64, types.int64), generate

    return named(name, typing)


def _rank(builder: Any, keys: Any, count: Any, ranks: Any, equal: bool) -> None:
    """A vector of them at a time; of equal ones the earlier precedes, and so do all before the vector."""
    with builder.goto_entry_block():
        total = builder.alloca(_VECTOR)
    with loop(builder, I64(0), count, _LANES) as first:
        builder.store(ir.Constant(_VECTOR, None), total)
        own = builder.load(_place(builder, keys, first, _VECTOR), align=_LINE)
        begin, end = I64(0), count
        if equal:
            last = builder.add(first, I64(_LANES))
            begin, end = first, builder.select(builder.icmp_signed("<", last, count), last, count)
            _count(builder, keys, own, total, (I64(0), begin), "<=")
            _count(builder, keys, own, total, (end, count), "<")
        _count(builder, keys, own, total, (begin, end), "<", first if equal else None)
        builder.store(builder.load(total), _place(builder, ranks, first, _VECTOR), align=_LINE)


def _count(builder: Any, keys: Any, own: Any, total: Any, ends: Any, sign: str, first: Any = None) -> None:
    """Add, for each of a vector, how many keys are before it; equal ones too that stand before, from `first` on."""
    with loop(builder, *ends) as number:
        key = everywhere(builder, builder.load(_place(builder, keys, number, I64)), _LANES)
        before = builder.icmp_signed(sign, key, own)
        if first is not None:
            numbers = ir.Constant(_VECTOR, list(range(_LANES)))
            earlier = builder.icmp_signed("<", everywhere(builder, builder.sub(number, first), _LANES), numbers)
            before = builder.or_(before, builder.and_(builder.icmp_signed("==", key, own), earlier))
        builder.store(builder.add(builder.load(total), builder.zext(before, _VECTOR)), total)


def _place(builder: Any, base: Any, number: Any, kind: Any) -> Any:
    return builder.inttoptr(builder.add(base, builder.mul(number, I64(8))), kind.as_pointer())


rank, rank_unequal = _ranking("rank", equal=True), _ranking("rank_unequal", equal=False)
