# SPDX-License-Identifier: Apache-2.0
"""Memory that is fetched ahead of its use: into a cache, or some neighbours into shared memory while a thread computes.

Of GPUs since Ampere an instruction begins the copy, and another waits for all that the thread began; on others the copy
is done at once. What others are to read takes a barrier after the wait.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ngraph_rewrite.runtime.cuda.generation import AMPERE, is_since
from ngraph_rewrite.runtime.cuda.hardware import WIDEST
from ngraph_rewrite.runtime.cuda.porting import named

__all__ = ["arrived", "ask_line", "fetch8_uint16"]

_GLOBAL, _SHARED = 1, 3  # the address spaces
_SIZE = 2  # bytes of an element
_NOTHING = ir.FunctionType(ir.VoidType(), [])
_COPY = ir.FunctionType(ir.VoidType(), [ir.IntType(32), ir.IntType(64)])


def _begun(builder: Any, tile: Any, place: Any) -> None:
    """Begin the copy of what an access has, past the first cache."""
    code = f"cp.async.cg.shared.global [$0], [$1], {WIDEST};"
    builder.asm(_COPY, code, "r,l,~{memory}", [builder.trunc(tile, ir.IntType(32)), place], True)


def _copied(builder: Any, tile: Any, place: Any) -> None:
    """Copy what an access has."""
    kind = ir.VectorType(ir.IntType(8), WIDEST)
    source, target = (
        builder.inttoptr(x, ir.PointerType(kind, space)) for x, space in ((place, _GLOBAL), (tile, _SHARED))
    )
    builder.store(builder.load(source, align=WIDEST), target, align=WIDEST)


def _fetch(context: Any, tile: Any, place: Any, address: Any, index: Any) -> Any:
    """Eight neighbours from an index on are fetched into a tile of such numbers."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        size = ir.Constant(ir.IntType(64), _SIZE)
        target, source = (builder.add(args[n], builder.mul(args[n + 1], size)) for n in (0, 2))
        copy = _begun if is_since(AMPERE) else _copied
        copy(builder, target, source)
        return context.get_dummy_value()

    return signature(types.none, *[types.int64] * 4), generate


def _arrived(context: Any) -> Any:
    """All that this thread began to fetch is there."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if is_since(AMPERE):
            builder.asm(_NOTHING, "cp.async.wait_all;", "~{memory}", [], True)
        return context.get_dummy_value()

    return signature(types.none), generate


def _ask_line(context: Any, address: Any) -> Any:
    """The line of memory at an address is asked for, into the second cache."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)])
        builder.asm(kind, "prefetch.global.L2 [$0];", "l", args, True)
        return context.get_dummy_value()

    return signature(types.none, types.int64), generate


ask_line: Any = named("ask_line", _ask_line)
arrived: Any = named("arrived", _arrived)
fetch8_uint16: Any = named("fetch8_uint16", _fetch)
