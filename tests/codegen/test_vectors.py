# SPDX-License-Identifier: Apache-2.0
"""Kernels stay vectorised: the object code of simple loops works on packed registers."""

import platform
import re

import pytest
from running import Runner, contiguous

from ngraph_rewrite.codegen.loops import MapNest, Operand, ReduceNest, Source, Step, render_map, render_reduce
from ngraph_rewrite.runtime.compiler import assembly

VECTOR = contiguous("float32")
ADD = Step("add", "float32", (0, 1))


def map_of(steps: tuple[Step, ...], buffers: tuple[int, ...]) -> Source:
    loads = len(buffers) - 1
    return render_map(MapNest(1, (VECTOR,) * loads, steps, ((loads + len(steps) - 1, VECTOR),), buffers))


def reduce_of(kind: str, reduced: tuple[bool, bool]) -> Source:
    store = Operand("int64" if "arg" in kind else "float32", ("0", "1") if reduced[0] else ("1", "0"))
    nest = ReduceNest(2, (contiguous("float32", 2),), (), ((1, store),), (0, 1), reduced, ((kind, 0),))
    return render_reduce(nest)


KERNELS = {
    "add": (map_of((ADD,), (0, 1, 2)), "add"),
    "multiply": (map_of((Step("multiply", "float32", (0, 1)),), (0, 1, 2)), "mul"),
    "divide": (map_of((Step("divide", "float32", (0, 1)),), (0, 1, 2)), "div"),
    "in-place": (map_of((ADD,), (0, 1, 0)), "add"),
    "maximum": (map_of((Step("maximum", "float32", (0, 1)),), (0, 1, 2)), "(?:cm|max)"),
    "sum-rows": (reduce_of("sum", (False, True)), "add"),
    "sum-columns": (reduce_of("sum", (True, False)), "add"),
    "max-rows": (reduce_of("max", (False, True)), "max"),
    "argmax-rows": (reduce_of("argmax", (False, True)), "max"),
    "argmax-columns": (reduce_of("argmax", (True, False)), "cm"),
}
PACKED = {"x86_64": r"\bv?{}\w*p[sd]\s", "aarch64": r"\bf{}\w*\s+v\d+\.(4s|2d)"}
MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())


@pytest.mark.parametrize("name", KERNELS)
def test_the_loop_is_packed(run: Runner, name: str) -> None:
    source, operation = KERNELS[name]
    text = assembly(source.text, source.name, run.cache)
    assert re.search(PACKED[MACHINE].format(operation), text), text


def test_a_library_function_is_called_where_there_is_no_vector_form(run: Runner) -> None:
    source = map_of((Step("atan", "float32", (0,)),), (0, 1))
    assert "atanf" in assembly(source.text, source.name, run.cache)


def test_elements_are_collected_for_functions_only(run: Runner) -> None:
    """LLVM would compile a packed loop for a stride of 1 alone; the read of the stride keeps it from asking."""
    strided = Operand("float32", ("s",))
    exp, negative = (
        render_map(MapNest(1, (strided,), (Step(op, "float32", (0,)),), ((1, VECTOR),), (0, 1)))
        for op in ("exp", "negative")
    )
    assert "x0_s0 = stride(args, 2)" in exp.text
    assert "x0_s0 = argument(args, 2)" in negative.text


def test_in_place_names_one_address() -> None:
    """With two names for one address, LLVM's check for overlap would send every run to the scalar loop."""
    source, _ = KERNELS["in-place"]
    assert "store_float32(x0, i0" in source.text
    assert source.signature == ("n0", "x0", "x1", "y0")
