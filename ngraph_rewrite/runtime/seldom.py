# SPDX-License-Identifier: Apache-2.0
"""A formula that holds for nearly all numbers, and another one for the others, at which few vectors have to look.

A vector none of whose lanes is beyond the first formula goes on without the second, which is a function by itself.
Which formula a number has does not depend on those beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ngraph_rewrite.runtime.features import vectors
from ngraph_rewrite.runtime.reals import Real, element_of
from ngraph_rewrite.runtime.scalar_functions import for_gpu
from ngraph_rewrite.runtime.variants import lane_kind, offer, resized, uncommon, variant
from ngraph_rewrite.runtime.vector_code import I32

_WEIGHTS = (1, 1000)  # how often a branch is taken, and how often not


class Seldom:
    """What numbers have that are beyond a formula.

    Args:
        name: What it is called in a module.
        beyond: Whether the formula does not hold, as a condition.
        other: The formula that holds then.
        apart: Whether that is computed number by number, as it calls functions that know of no vectors.
    """

    def __init__(self, name: str, beyond: Callable[..., Any], other: Callable[..., Real], apart: bool = False) -> None:
        self._name, self._beyond, self._other, self._apart = name, beyond, other, apart

    def __call__(self, usual: Real, *operands: Real) -> Real:
        """The usual value of some operands, or the other one."""
        if for_gpu(usual.builder):
            return self._other(*operands)
        module, name = usual.builder.module, f"ngraph_rewrite_{self._name}_{usual.format.bits}"
        function = module.globals.get(name) or self._defined(module, name, usual.value.type, len(operands))
        return Real(usual.builder, usual.builder.call(function, [x.value for x in (usual, *operands)]))

    def _defined(self, module: Any, name: str, element: Any, count: int) -> Any:
        """The function of one number, with those of more beside it."""
        widest = vectors().lanes("float64" if element == ir.DoubleType() else "float32")
        others = {lanes: self._function(module, f"{name}_other", [element] * count, lanes) for lanes in (1, widest)}
        lanes = [n for n in (2, 4, 8, 16) if widest // 4 <= n <= widest]
        one, *_ = (self._variant(variant(module, name, [element] * (count + 1), n), n, others) for n in (1, *lanes))
        offer(one, lanes)
        return one

    def _variant(self, function: Any, lanes: int, others: dict[int, Any]) -> Any:
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        usual, *given = (Real(builder, operand) for operand in function.args)
        beyond = self._beyond(*given)
        begin, further, end = builder.block, *(function.append_basic_block(name) for name in ("beyond", "end"))
        builder.cbranch(_any_of(builder, beyond), further, end).set_weights(_WEIGHTS)
        builder.position_at_end(further)
        width = 1 if lanes == 1 else max(others)
        found = builder.call(others[width], [resized(builder, x.value, width) for x in given])
        chosen = builder.select(beyond, resized(builder, found, lanes), usual.value)
        builder.branch(end)
        builder.position_at_end(end)
        value = builder.phi(usual.value.type)
        value.add_incoming(usual.value, begin)
        value.add_incoming(chosen, further)
        builder.ret(value)
        return function

    def _function(self, module: Any, name: str, operands: Sequence[Any], lanes: int) -> Any:
        """The other formula of so many lanes."""
        function = uncommon(module, f"{name}_{lanes}", [lane_kind(element, lanes) for element in operands])
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        if lanes > 1 and self._apart:
            builder.ret(_one_by_one(builder, module.globals[f"{name}_1"], function.args))
        else:
            builder.ret(self._other(*(Real(builder, operand) for operand in function.args)).value)
        return function


def _any_of(builder: Any, condition: Any) -> Any:
    """Whether a condition holds in any lane."""
    kind = condition.type
    if element_of(kind) is kind:
        return condition
    name = f"llvm.vector.reduce.or.v{kind.count}i1"
    module = builder.module
    function = module.globals.get(name) or ir.Function(module, ir.FunctionType(kind.element, [kind]), name)
    return builder.call(function, [condition])


def _one_by_one(builder: Any, function: Any, operands: Sequence[Any]) -> Any:
    """A vector of what a function of numbers gives, which a loop calls."""
    before, kind = builder.block, operands[0].type
    loop, end = (builder.function.append_basic_block(name) for name in ("loop", "end"))
    builder.branch(loop)
    builder.position_at_end(loop)
    lane, found = builder.phi(I32), builder.phi(kind)
    given = [builder.extract_element(operand, lane) for operand in operands]
    more = builder.insert_element(found, builder.call(function, given), lane)
    following = builder.add(lane, I32(1))
    for phi, first, later in ((lane, I32(0), following), (found, ir.Constant(kind, ir.Undefined), more)):
        phi.add_incoming(first, before)
        phi.add_incoming(later, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, I32(kind.count)), loop, end)
    builder.position_at_end(end)
    return more
