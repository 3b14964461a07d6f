# SPDX-License-Identifier: Apache-2.0
"""A kernel's variables are assigned once as Numba does it, statement by statement, though less is looked at."""

from collections.abc import Callable
from textwrap import indent
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from numba.core import compiler, ir, ssa, typed_passes

from ngraph_rewrite.runtime.single_assignment import assign_once, hand_on

NAMES = st.sampled_from("abc")
SETS = st.builds("{} = {} + {}".format, NAMES, NAMES, NAMES)
STEPS = st.builds("{} += {}".format, NAMES, st.integers(0, 9))


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(lambda lines: indent("\n".join(lines), "    "))
    branches = st.builds("if {} < {}:\n{}\nelse:\n{}".format, NAMES, NAMES, body, body)
    loops = st.builds("for {} in range({}):\n{}".format, NAMES, NAMES, body)
    return branches | loops | st.builds("while {} < {}:\n{}".format, NAMES, NAMES, body)


BODIES = st.lists(st.recursive(SETS | STEPS, _nested, max_leaves=8), min_size=1, max_size=4).map("\n".join)


@given(BODIES)
def test_statements_are_those_that_numba_makes(body: str) -> None:
    function = _function(body)
    own, ours = compiler.run_frontend(function), compiler.run_frontend(function)
    ssa.reconstruct_ssa(own)
    assign_once(ours.blocks, ssa)
    assert _statements(ours) == _statements(own)


@given(BODIES)
def test_each_name_is_assigned_in_one_place(body: str) -> None:
    made = compiler.run_frontend(_function(body))
    assign_once(made.blocks, ssa)
    targets = [one.target.name for block in made.blocks.values() for one in block.find_insts(ssa.ir.Assign)]
    assert len(targets) == len(set(targets))


@given(BODIES)
def test_branches_hand_on_what_numba_lets_them(body: str) -> None:
    function = _function(body)
    own, ours = compiler.run_frontend(function), compiler.run_frontend(function)
    ssa.reconstruct_ssa(own)
    ssa.reconstruct_ssa(ours)
    own = typed_passes.PreLowerStripPhis()._strip_phi_nodes(own)
    hand_on(ours.blocks, ir, ours.loc)
    assert _statements(ours) == _statements(own)


def _function(body: str) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(f"def drawn(a, b):\n    c = 0\n{indent(body, '    ')}\n    return a + b + c\n", space)  # noqa: S102  (a drawn program)
    found: Callable[..., Any] = space["drawn"]
    return found


def _statements(made: Any) -> dict[int, list[str]]:
    return {label: [str(one) for one in block.body] for label, block in made.blocks.items()}
