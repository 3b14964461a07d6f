# SPDX-License-Identifier: Apache-2.0
"""Results that are too large for caches pass them by: they are written in whole lines, which nobody reads before.

An ordinary store reads the line it writes to first, so a result costs twice its size of what memory can move. Numbers
are collected in a small array in the first cache, from which whole vectors are stored past the caches.

The other way, a kernel that is busy with a row asks for the next one, which is there when its turn comes.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic

from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.runtime.vector_code import I64, ask, loop

__all__ = ["ask_ahead", "stream_block", "stream_end", "stream_float32", "stream_float64"]

_LINE = 64  # bytes that come together
BLOCK = 4096  # bytes that are collected: what is written ends at multiples of so many
_TYPES = {"float32": ir.FloatType(), "float64": ir.DoubleType()}


@intrinsic
def ask_ahead(context: Any, address: Any, first: Any, count: Any, size: Any) -> Any:
    """Ask for elements of a size, from the first one on; they need not be there."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        address, first, count, size = arguments
        begin = builder.add(address, builder.mul(first, size))
        with loop(builder, I64(0), builder.mul(count, size), _LINE) as offset:
            ask(builder, builder.add(begin, offset), 3)
        return context.get_dummy_value()

    return signature(types.none, types.int64, types.int64, types.int64, types.int64), generate


@intrinsic
def stream_block(context: Any, address: Any, index: Any, size: Any) -> Any:
    """How many elements of a size there are from one of them to the end of its block."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        address, index, size = arguments
        place = builder.add(address, builder.mul(index, size))
        left = builder.sub(I64(BLOCK), builder.and_(place, I64(BLOCK - 1)))
        # an address may be no multiple of the size
        return builder.udiv(builder.add(left, builder.sub(size, I64(1))), size)

    return signature(types.int64, types.int64, types.int64, types.int64), generate


@intrinsic
def stream_end(context: Any) -> Any:
    """What was stored past the caches is seen by whoever sees what is stored from now on."""

    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        if platform.machine().lower() in ("x86_64", "amd64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            module, name = builder.module, "llvm.x86.sse.sfence"
            builder.call(module.globals.get(name) or ir.Function(module, kind, name), [])
        return context.get_dummy_value()

    return signature(types.none), generate


def _stream(dtype: str) -> Any:
    """Store elements of an array whose memory is aligned: ``(source, address, index, count)``."""
    element = _TYPES[dtype]
    size = 4 if dtype == "float32" else 8

    def typing(context: Any, source: Any, address: Any, index: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            source, address, index, count = arguments
            own, lanes = vectors().bytes, vectors().lanes(dtype)
            vector = ir.VectorType(element, lanes)
            here = builder.add(address, builder.mul(index, I64(size)))
            given = builder.inttoptr(source, element.as_pointer())
            there = builder.inttoptr(here, element.as_pointer())

            def at(base: Any, i: Any, kind: Any = element) -> Any:
                return builder.bitcast(builder.gep(base, [i]), kind.as_pointer())

            def one_by_one(first: Any, last: Any) -> None:
                with loop(builder, first, last) as i:
                    builder.store(builder.load(at(given, i), align=size), at(there, i), align=1)

            def lesser(x: Any, y: Any) -> Any:
                return builder.select(builder.icmp_signed("<", x, y), x, y)

            before = builder.and_(builder.neg(here), I64(own - 1))  # bytes up to the first whole vector
            fits = builder.icmp_signed("==", builder.and_(here, I64(size - 1)), I64(0))
            head = builder.select(fits, lesser(builder.udiv(before, I64(size)), count), count)
            rest = builder.sub(count, head)
            whole = builder.sub(count, builder.srem(rest, I64(lanes)))
            one_by_one(I64(0), head)
            with loop(builder, head, whole, lanes) as i:
                stored = builder.store(builder.load(at(given, i, vector), align=size), at(there, i, vector), align=own)
                stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
            one_by_one(whole, count)
            return context.get_dummy_value()

        return signature(types.none, *[types.int64] * 4), generate

    typing.__name__ = typing.__qualname__ = f"stream_{dtype}"
    return intrinsic(typing)


stream_float32, stream_float64 = _stream("float32"), _stream("float64")
