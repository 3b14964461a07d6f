# SPDX-License-Identifier: Apache-2.0
"""An operand of a product that is a map of others, seen by matrices, rows and columns."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.plan.nests import Load, ScalarStep, Value
from ngraph_rewrite.plan.views import Layout


class OperandMap(NamedTuple):
    """A scalar program over the rows and columns of an operand, or its columns and rows.

    Attributes:
        loads: What it reads.
        layouts: Where the elements of that are, for matrices and the two loops.
        steps, value: What is computed of them, and which of it is the element.
        turned: Whether the loops run over columns, then rows.
        distinct: How many matrices are different: 1, if all products have the same.
    """

    loads: tuple[Load, ...]
    layouts: tuple[Layout, ...]
    steps: tuple[ScalarStep, ...]
    value: Value
    turned: bool
    distinct: int

    @property
    def operations(self) -> list[str]:
        """The ops of its steps."""
        return [step[0] for step in self.steps]

    def by_parts(self, axis: int, length: int) -> OperandMap:
        """Several matrices instead of one: so many rows each (axis 0), or columns (axis 1)."""
        along = 2 - axis if self.turned else 1 + axis
        layouts = [Layout(at.offset, at.shape, (length * at.strides[along], *at.strides[1:])) for at in self.layouts]
        return self._replace(layouts=tuple(layouts))
