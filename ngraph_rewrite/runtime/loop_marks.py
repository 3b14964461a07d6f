# SPDX-License-Identifier: Apache-2.0
"""What a kernel asks of LLVM about its inner loops: to write out all, or none, or to take the rest as part of a vector.

LLVM goes by the length of what is written out, loop by loop. Of several short loops in a long one it would write out
those that do little and leave the others, so that neither they nor the long one become vectors.

The function of the kernel says it, by an attribute; what LLVM heeds stands at the jumps that close loops.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.extending import intrinsic

from ngraph_rewrite.runtime.features import vectors

_TRUE = ir.Constant(ir.IntType(1), 1)
_SAID = '"ngraph_rewrite_loops"="%s"'
_ASKED = {f"llvm.loop.unroll.{what}": list[Any]() for what in ("full", "disable", "runtime.disable")}
_ASKED["llvm.loop.vectorize.predicate.enable"] = [_TRUE]


@intrinsic
def write_out_loops(context: Any) -> Any:
    """Ask LLVM to write out all inner loops of this function, whose length it has to know, however much they do."""
    return signature(types.none), _saying("llvm.loop.unroll.full")


@intrinsic
def keep_loops(context: Any) -> Any:
    """Ask LLVM to write out no inner loop of this function: those of known length become vectors by themselves.

    It asks for nothing where vectors are narrower than 512 bits: a part of one is loaded number by number there.
    """
    return signature(types.none), _saying("llvm.loop.unroll.disable" if vectors().bytes == 64 else "")


@intrinsic
def plain_loops(context: Any) -> Any:
    """Ask LLVM to write out no turns of inner loops whose length it does not know: few are long, and code is less."""
    return signature(types.none), _saying("llvm.loop.unroll.runtime.disable")


@intrinsic
def fill_loops(context: Any) -> Any:
    """Ask LLVM to take what is left of inner loops of this function as a part of a vector, not number by number."""
    return signature(types.none), _saying("llvm.loop.vectorize.predicate.enable")


def _saying(asked: str) -> Any:
    def generate(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        if asked:
            set.add(builder.function.attributes, _SAID % asked)
        return context.get_dummy_value()

    return generate


def mark_loops(module: Any) -> None:
    """Put what the functions of a module ask for where LLVM looks for it."""
    for function in module.functions:
        for asked in _ASKED:
            if _SAID % asked in function.attributes:
                _mark(module, function, asked)


def _mark(module: Any, function: Any, asked: str) -> None:
    """At the end of each loop that has none in it: LLVM warns of one that it cannot write out."""
    told = module.add_metadata([ir.MetaDataString(module, asked), *_ASKED[asked]])
    for end in _ends(function):
        loop = ir.MDValue(module, [], str(len(module.metadata)))
        loop.operands = (loop, told)  # LLVM knows a loop by a node that begins with itself
        end.set_metadata("llvm.loop", loop)


def _ends(function: Any) -> list[Any]:
    """The jumps back of loops that have none in them."""
    back = _back(function)
    before: dict[Any, list[Any]] = {block: [] for block in function.blocks}
    for block in function.blocks:
        for following in _following(block):
            before[following].append(block)
    headers = {header for _, header in back}
    return [last.terminator for last, header in back if not _inside(last, header, before) & headers]


def _following(block: Any) -> list[Any]:
    return [one for one in block.terminator.operands if isinstance(one, ir.Block)]


def _back(function: Any) -> list[tuple[Any, Any]]:
    """The jumps to a block on the way to where they are, as a walk in depth meets them."""
    found, seen, way = list[tuple[Any, Any]](), {function.entry_basic_block}, list[tuple[Any, Any]]()
    way.append((function.entry_basic_block, iter(_following(function.entry_basic_block))))
    while way:
        block, others = way[-1]
        following = next(others, None)
        if following is None:
            way.pop()
        elif following not in seen:
            seen.add(following)
            way.append((following, iter(_following(following))))
        elif any(following is one for one, _ in way):
            found.append((block, following))
    return found


def _inside(last: Any, header: Any, before: dict[Any, list[Any]]) -> set[Any]:
    """The blocks of a loop but its header: those from which its end is reached."""
    found, pending = set[Any](), [last]
    while pending:
        block = pending.pop()
        if block is not header and block not in found:
            found.add(block)
            pending += before[block]
    return found
