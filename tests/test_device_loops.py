# SPDX-License-Identifier: Apache-2.0
"""Loops in each other that the host decides on are few enough for functions in each other, or are refused."""

from __future__ import annotations

from unittest.mock import MagicMock

import pytest

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.targets.device_loops import DEEPEST, RepeatedLaunches, Span

FLAG = Ref("arena", 0)


def repeated(*spans: Span) -> RepeatedLaunches:
    """Launches that a device runs for nobody, and whose flags are true once."""
    device = MagicMock()
    answers = iter([True, False] * len(spans))
    device.download = lambda found, _: found.fill(next(answers, False))
    return RepeatedLaunches(device, [MagicMock()] * 4 * DEEPEST, spans, lambda _: 0)


def test_so_many_loops_in_each_other_run() -> None:
    repeated(*(Span(i, 4 * DEEPEST - i, FLAG) for i in range(DEEPEST))).run()
    repeated(*(Span(i, i + 1, FLAG) for i in range(2 * DEEPEST))).run()


def test_more_are_refused() -> None:
    with pytest.raises(KernelError, match="in each other more than 200 deep") as refused:
        repeated(*(Span(i, 4 * DEEPEST - i, FLAG, where=f"model.py:{i}") for i in range(DEEPEST + 1)))
    assert refused.value.where == f"model.py:{DEEPEST}"
