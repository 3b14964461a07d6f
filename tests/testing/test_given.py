# SPDX-License-Identifier: Apache-2.0
"""What a test gives wrongly to a check is told at its line, which what Hypothesis calls has not, and is no failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, find, settings

import ngraph_rewrite as ng
from ngraph_rewrite.testing import (
    assert_right,
    assert_same,
    check_adjoint,
    check_kernel,
    check_rule,
    program_of,
    rewritten,
    strategies,
    term,
)

PHASES = (Phase.generate, Phase.shrink)
X = ng.placeholder((3,), name="x")
ONES = np.ones(3, np.float32)
(RULE,) = RULES = ng.rule("-(-x) => x", name="given")
PROGRAM = program_of([X], {X: [ONES]})


def drawn(strategy: Any) -> Any:
    return find(strategy, lambda one: True, settings=settings(database=None, derandomize=True, phases=PHASES))


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: check_rule(RULES), "a set of rules is not a rule"),  # type: ignore[arg-type]
    (lambda: check_rule(RULE, examples=0), "examples is 0"),
    (lambda: check_rule(RULE, examples="many"), "examples is 'many'"),  # type: ignore[arg-type]
    (lambda: check_adjoint("axes.tanh", examples=-1), "examples is -1"),
    (lambda: check_kernel("my.kernel", examples=0), "examples is 0"),
    (lambda: assert_same(X, 3, {X: ONES}), "assert_same: 3 is no term"),  # type: ignore[arg-type]
    (lambda: assert_same(X, X, {X: ONES}, "exat"), "no class is called 'exat'"),
    (lambda: assert_same(X, X, {X: np.ones(4)}), r"assert_same: x has a value of shape \(4,\)"),
    (lambda: assert_right(3, "values"), "3 is no program"),  # type: ignore[arg-type]
    (lambda: assert_right(PROGRAM, "value"), "no check is called 'value'"),
    (lambda: assert_right(PROGRAM, "values", rules=3), "3 is no rules"),  # type: ignore[arg-type]
    (lambda: program_of(X), "program_of: x is no list of terms"),  # type: ignore[arg-type]
    (lambda: program_of([3]), "program_of: 3 is no term"),  # type: ignore[list-item]
    (lambda: program_of([X]), "program_of: x has no arguments"),
    (lambda: program_of([X], {X: ONES}), r"program_of: x has array\("),  # type: ignore[dict-item]
    (lambda: program_of([X], {X: [np.ones(4)]}), r"program_of: x has a value of shape \(4,\)"),
    (lambda: term("semi.exp", 3), "term: 3 is no term"),  # type: ignore[arg-type]
    (lambda: rewritten("my.rules", "my.a", 3), "rewritten: 3 is no term"),  # type: ignore[arg-type]
    (lambda: drawn(strategies.instances_of(RULES)), "a set of rules is not a rule"),
    (lambda: drawn(strategies.leaf_values(3)), "leaf_values: 3 is no term"),
    (lambda: drawn(strategies.terms("nonsense")), "the family 'nonsense' has no op to draw"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_argument_is_refused(number: int) -> None:
    call, says = WRONG[number]
    with pytest.raises(ng.NGraphRewriteError, match=says) as caught:
        call()
    assert type(caught.value) is ng.ArgumentError
    where = caught.value.where
    assert where is None if "drawn" in call.__code__.co_names else str(where).startswith(f"{__file__}:")
