# SPDX-License-Identifier: Apache-2.0
"""Memory that is fetched ahead of its use: some neighbours go into shared memory while a thread computes.

Of GPUs since Ampere an instruction begins the copy, and another waits for all that the thread began; on others the copy
is done at once. A slot of four neighbours belongs to the thread that fetches into it; what others are to read takes a
barrier after the wait.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.cuda.extending import intrinsic

from ngraph_rewrite.runtime.cuda.generation import AMPERE, is_since
from ngraph_rewrite.runtime.cuda.hardware import WIDEST
from ngraph_rewrite.runtime.intrinsics import MEMORY, VALUES, from_memory

__all__ = ["arrived"]

_GLOBAL, _SHARED = 1, 3  # the address spaces
_NOTHING = ir.FunctionType(ir.VoidType(), [])
_COPY = ir.FunctionType(ir.VoidType(), [ir.IntType(32), ir.IntType(64)])


def _named(name: str, typing: Any) -> Any:
    typing.__name__ = typing.__qualname__ = name
    return intrinsic(typing)


def _size(dtype: str) -> int:
    """The bytes of an element in memory."""
    memory = MEMORY[dtype]
    if isinstance(memory, ir.DoubleType | ir.FloatType):
        return 8 if isinstance(memory, ir.DoubleType) else 4
    return max(1, int(memory.width) // 8)


def _begun(builder: Any, tile: Any, place: Any, size: int) -> None:
    """Begin the copy of so many bytes: the widest go past the first cache."""
    cached = "cg" if size == WIDEST else "ca"
    code = f"cp.async.{cached}.shared.global [$0], [$1], {size};"
    builder.asm(_COPY, code, "r,l,~{memory}", [builder.trunc(tile, ir.IntType(32)), place], True)


def _copied(builder: Any, tile: Any, place: Any, size: int) -> None:
    """Copy so many bytes."""
    kind = ir.VectorType(ir.IntType(8), size)
    source, target = (
        builder.inttoptr(x, ir.PointerType(kind, space)) for x, space in ((place, _GLOBAL), (tile, _SHARED))
    )
    builder.store(builder.load(source, align=size), target, align=size)


def _fetch(dtype: str, count: int) -> Any:
    def typing(context: Any, tile: Any, slot: Any, address: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            size = ir.Constant(ir.IntType(64), _size(dtype))
            target = builder.add(args[0], builder.mul(args[1], size))
            source = builder.add(args[2], builder.mul(args[3], size))
            whole = count * _size(dtype)
            each = min(whole, WIDEST)
            for done in range(0, whole, each):
                step = ir.Constant(ir.IntType(64), done)
                copy = _begun if is_since(AMPERE) else _copied
                copy(builder, builder.add(target, step), builder.add(source, step), each)
            return context.get_dummy_value()

        return signature(types.none, *[types.int64] * 4), generate

    return _named(f"fetch{count}_{dtype}", typing)


def _fetched_four(dtype: str) -> Any:
    def typing(context: Any, tile: Any, slot: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            bits = ir.IntType(8 * _size(dtype))
            each = min(4, WIDEST // _size(dtype))
            kind = ir.PointerType(ir.VectorType(bits, each), _SHARED)
            begin = builder.add(args[0], builder.mul(args[1], ir.Constant(ir.IntType(64), _size(dtype))))
            start = builder.inttoptr(begin, kind)
            found = []
            for n in range(4 // each):
                place = builder.gep(start, [ir.Constant(ir.IntType(64), n)], inbounds=True)
                vector = builder.load(place, align=each * _size(dtype))
                found += [builder.extract_element(vector, ir.Constant(ir.IntType(32), k)) for k in range(each)]
            values = [from_memory(builder, builder.bitcast(x, MEMORY[dtype]), dtype) for x in found]
            return context.make_tuple(builder, sig.return_type, values)

        return signature(types.UniTuple(VALUES[dtype], 4), types.int64, types.int64), generate

    return _named(f"fetched4_{dtype}", typing)


def _arrived(context: Any) -> Any:
    """All that this thread began to fetch is in its slots."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if is_since(AMPERE):
            builder.asm(_NOTHING, "cp.async.wait_all;", "~{memory}", [], True)
        return context.get_dummy_value()

    return signature(types.none), generate


arrived: Any = _named("arrived", _arrived)
_MADE = [_fetch("uint16", 8), *(word for _dtype in VALUES for word in (_fetch(_dtype, 4), _fetched_four(_dtype)))]
for _word in _MADE:
    globals()[_word.__name__] = _word
    __all__.append(_word.__name__)
