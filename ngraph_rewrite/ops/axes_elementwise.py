# SPDX-License-Identifier: Apache-2.0
"""Axes elementwise ops: operands broadcast by name, dtypes promote as NumPy's do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.ops.alignment import aligned, combine
from ngraph_rewrite.ops.checks import named
from ngraph_rewrite.ops.elementwise import Family, declare_table
from ngraph_rewrite.terms.op import Op


def _aligned(term: Op, arrays: Sequence[Any]) -> list[Any]:
    return aligned(term, arrays, term.axes)


AXES = Family("axes", named, combine, _aligned, "broadcast by name")

declare_table(AXES)
