# SPDX-License-Identifier: Apache-2.0
"""Drawn programs give on a GPU what their terms mean, in every call, and leave the state they say."""

from __future__ import annotations

import pytest

from ngraph_rewrite.testing.strategies.drafts.growing import numbered_program
from ngraph_rewrite.testing.whole.lowered import setup_of
from ngraph_rewrite.testing.whole.running import wrong_on_cuda

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda


@pytest.mark.parametrize("number", range(8))
def test_a_drawn_program_gives_what_it_means(number: int) -> None:
    wrong = wrong_on_cuda(numbered_program(7, number), setup_of(None, 0))
    assert wrong is None, f"{wrong.says}\n{wrong.shown}"
