# SPDX-License-Identifier: Apache-2.0
"""Simple elementwise ops: equal features, N and R repeated where an operand lacks them, dtypes promoted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.ops.checks import any_dtype
from ngraph_rewrite.ops.elementwise import (
    BINARY,
    CLASSIFYING,
    COMPARISONS,
    LOGIC,
    ROUNDING,
    UNARY,
    Family,
    declare_binary,
    declare_choices,
    declare_rounding,
    declare_unary,
)
from ngraph_rewrite.ops.simple_marks import aligned, simple, together
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL


def _aligned(term: Op, arrays: Sequence[Any]) -> list[Any]:
    return aligned(term, arrays, term.axes)


SIMPLE = Family("simple", simple, together, _aligned, "of equal features, repeated along N and R")

declare_unary(SIMPLE, UNARY)
declare_unary(SIMPLE, CLASSIFYING, BOOL)
declare_rounding(SIMPLE, ROUNDING, any_dtype, "any dtype; integers and bool")
declare_binary(SIMPLE, BINARY)
declare_binary(SIMPLE, LOGIC, BOOL)
declare_binary(SIMPLE, COMPARISONS, BOOL)
declare_choices(SIMPLE)
