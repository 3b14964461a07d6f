# SPDX-License-Identifier: Apache-2.0
"""What a kernel's bytecode becomes is what Numba makes of it, statement by statement, though less is looked for."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from textwrap import indent
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import compiler

from ngraph_rewrite.runtime.first_passes import rewriting, translating


class Compiler(NamedTuple):
    """How functions are read, and the passes that come first: Numba's, and ours."""

    bytecode: Any
    numba: tuple[type, ...]
    ours: tuple[type, ...]


def compiler_of(package: str) -> Compiler:
    bytecode, interpreter, passes = (
        import_module(f"{package}.{n}") for n in ("bytecode", "interpreter", "untyped_passes")
    )
    ours = translating(passes, interpreter, interpreter.Interpreter), rewriting(passes)
    return Compiler(bytecode, (passes.TranslateByteCode, passes.GenericRewrites), ours)


# For processors, and for GPUs where numba-cuda is installed.
COMPILERS = ["numba.core", *(["numba.cuda.core"] if find_spec("numba_cuda") else [])]


@pytest.fixture(scope="module", params=COMPILERS)
def made_for(request: pytest.FixtureRequest) -> Compiler:
    return compiler_of(request.param)


# Indices and powers that are numbers are what is rewritten; those of a name are not.
VALUES = st.sampled_from(["a + b", "b - c", "(a, b, 4)[1]", "(b, c)[-2]", "(a, b)[c]", "a ** 2", "c ** -1", "b ** a"])
SETS = st.builds("{} = {}".format, st.sampled_from("abc"), VALUES) | st.builds("a, b = {}, {}".format, VALUES, VALUES)


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(lambda lines: indent("\n".join(lines), "    "))
    return st.builds("if {} < c:\n{}\nelse:\n{}".format, VALUES, body, body) | st.builds(
        "for c in range({}):\n{}".format, VALUES, body
    )


BODIES = st.lists(st.recursive(SETS, _nested, max_leaves=8), min_size=1, max_size=4).map("\n".join)


def function_of(body: str) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(f"def drawn(a, b, *c):\n    c = (*c, 0)[1]\n{indent(body, '    ')}\n    return a + b + c\n", space)  # noqa: S102  (a drawn program)
    found: Callable[..., Any] = space["drawn"]
    return found


def statements(made_for: Compiler, passes: tuple[type, ...], function: Callable[..., Any]) -> dict[int, list[str]]:
    """What passes make of a function, one after the other."""
    state = compiler.StateDict()
    state.func_id = made_for.bytecode.FunctionIdentity.from_function(function)
    state.bc, state.typemap, state.calltypes = made_for.bytecode.ByteCode(state.func_id), None, None
    for one in passes:
        assert one().run_pass(state)
    return {label: [str(one) for one in block.body] for label, block in state.func_ir.blocks.items()}


@settings(deadline=None)  # the first one is slow
@given(BODIES)
def test_statements_are_those_that_numba_makes(made_for: Compiler, body: str) -> None:
    function = function_of(body)
    assert statements(made_for, made_for.ours, function) == statements(made_for, made_for.numba, function)


@pytest.mark.parametrize("body", ["b = (a, b)[1]", "b = a ** 2"])
def test_numbers_are_rewritten(made_for: Compiler, body: str) -> None:
    function = function_of(body)
    assert statements(made_for, made_for.ours, function) != statements(made_for, made_for.ours[:1], function)
