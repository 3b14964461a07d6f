# SPDX-License-Identifier: Apache-2.0
"""A function of one number beside which stand functions of as many as vectors have.

A kernel calls the one; LLVM calls the others instead where it vectorises a loop (its attribute
``vector-function-abi-variant``), and afterwards all of them are expanded where they are called (`expanded`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.vector_code import I32

_MARK = '"ngraph_rewrite_lanes"'
# Until loops are vectorised nothing is expanded. Without side effects, even where a loop would not call it.
_PURE = ("noinline", "nounwind", "willreturn", "speculatable", "memory(none)")
_WIDE = ('"prefer-vector-width"="512"', '"min-legal-vector-width"="512"')
_KEPT = "weak_odr"  # linkage of what is kept though nobody calls it yet, and is the same in all modules
_MARKED = re.compile(rf"^(attributes #\d+ = {{[^\n]*)\bnoinline\b([^\n]*{_MARK})", re.MULTILINE)


def lane_kind(element: Any, lanes: int) -> Any:
    """The type of so many numbers; one is no vector."""
    return element if lanes == 1 else ir.VectorType(element, lanes)


def variant(module: Any, name: str, operands: Sequence[Any], lanes: int) -> Any:
    """The function of so many lanes, without instructions yet; its operands have these types, its value the first."""
    kinds = [lane_kind(element, lanes) for element in operands]
    full = name if lanes == 1 else f"{name}_{lanes}"
    return _function(module, full, kinds, (*_PURE, _MARK))


def uncommon(module: Any, name: str, kinds: Sequence[Any]) -> Any:
    """A function that is called where few numbers come, and stays one."""
    return _function(module, name, kinds, (*_PURE, "cold"))


def _function(module: Any, name: str, kinds: Sequence[Any], attributes: Sequence[str]) -> Any:
    function = ir.Function(module, ir.FunctionType(kinds[0], kinds), name)
    function.linkage = _KEPT
    for attribute in (*attributes, *_WIDE):
        set.add(function.attributes, attribute)  # llvmlite knows of few
    return function


def offer(one: Any, lanes: Sequence[int]) -> None:
    """Tell LLVM that a function has variants of so many lanes."""
    vectors = "v" * len(one.args)
    names = [f"_ZGV_LLVM_N{count}{vectors}_{one.name}({one.name}_{count})" for count in lanes]
    set.add(one.attributes, f'"vector-function-abi-variant"="{",".join(names)}"')


def resized(builder: Any, value: Any, lanes: int) -> Any:
    """The first lanes of a vector, or a vector, or one number, with copies of its first lane behind it."""
    own = getattr(value.type, "count", 1)
    if own == lanes:
        return value
    if own == 1:
        value = builder.insert_element(ir.Constant(ir.VectorType(value.type, 1), ir.Undefined), value, I32(0))
    if lanes == 1:
        return builder.extract_element(value, I32(0))
    order = ir.Constant(ir.VectorType(I32, lanes), [lane if lane < own else 0 for lane in range(lanes)])
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), order)


def expanded(text: str) -> tuple[str, bool]:
    """A module whose loops are vectorised, told to expand variants; and whether there are any.

    >>> expanded('attributes #1 = { noinline nounwind "ngraph_rewrite_lanes" }')
    ('attributes #1 = { alwaysinline nounwind "ngraph_rewrite_lanes" }', True)
    """
    told, count = _MARKED.subn(r"\1alwaysinline\2", text)
    return told, count > 0
