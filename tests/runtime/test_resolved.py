# SPDX-License-Identifier: Apache-2.0
"""What Numba finds out about operators is remembered by copies of its own: what everybody has stays as it is."""

import operator
from typing import Any

import pytest
from numba.core import types
from numba.core.registry import cpu_target

from ngraph_rewrite.runtime.resolved import Resolved, resolving

TWO = (types.int64, types.float64)


@pytest.fixture
def asked() -> Any:
    """Numba's own context, which knows its operators once a kernel was compiled."""
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context


def test_an_operator_gives_what_numba_says_and_is_asked_once(asked: Any) -> None:
    context = Resolved(asked)
    own, remembering = asked.resolve_value_type(operator.add), context.resolve_value_type(operator.add)
    assert remembering == own and "get_call_type" not in vars(own)
    found = remembering.get_call_type(context, TWO, {})
    assert found == own.get_call_type(asked, TWO, {}) and found.return_type == types.float64
    assert remembering.get_call_type(context, TWO, {}) is found
    assert context.resolve_value_type(operator.add) is remembering


def test_what_is_no_function_is_what_it_is(asked: Any) -> None:
    assert Resolved(asked).resolve_value_type(1.5) == types.float64


def test_a_target_has_the_sizes_and_functions_of_the_one_that_it_stands_for(asked: Any) -> None:
    target = cpu_target.target_context
    made = resolving(target, Resolved(asked))
    pair = target.get_value_type(types.UniTuple(types.int64, 2))
    assert made.get_abi_sizeof(pair) == target.get_abi_sizeof(pair) == 16
    assert target.typing_context is asked is not made.typing_context
