# SPDX-License-Identifier: Apache-2.0
"""Axes elementwise ops: operands broadcast by name, dtypes promote as NumPy's do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.ops.alignment import aligned, combine
from ngraph_rewrite.ops.checks import any_dtype, named
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
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL


def _aligned(term: Op, arrays: Sequence[Any]) -> list[Any]:
    return aligned(term, arrays, term.axes)


AXES = Family("axes", named, combine, _aligned, "broadcast by name")

declare_unary(AXES, UNARY)
declare_unary(AXES, CLASSIFYING, BOOL)
declare_rounding(AXES, ROUNDING, any_dtype, "any dtype; integers and bool")
declare_binary(AXES, BINARY)
declare_binary(AXES, LOGIC, BOOL)
declare_binary(AXES, COMPARISONS, BOOL)
declare_choices(AXES)
