# SPDX-License-Identifier: Apache-2.0
"""Simple elementwise ops: equal features, N and R repeated where an operand lacks them, dtypes promoted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.ops.elementwise import Family, declare_table
from ngraph_rewrite.ops.simple_marks import aligned, simple, together
from ngraph_rewrite.terms.op import Op


def _aligned(term: Op, arrays: Sequence[Any]) -> list[Any]:
    return aligned(term, arrays, term.axes)


SIMPLE = Family("simple", simple, together, _aligned, "of equal features, repeated along N and R")

declare_table(SIMPLE)
