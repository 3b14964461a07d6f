# SPDX-License-Identifier: Apache-2.0
"""An operand of a product that is a map of others, seen by matrices, rows and columns."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.nests import Load, ScalarStep, Value
from ngraph_rewrite.plan.products import Matrix
from ngraph_rewrite.plan.views import Layout, reshaped


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


def operand_map(job: Job, matrix: Matrix, shape: tuple[int, int, int]) -> OperandMap | None:
    """The operand that a job computes, an elementwise nest; None if strides cannot say what the product sees of it.

    The inner loop is the one along which most of what it reads lies.

    Args:
        shape: The number of matrices, their rows and columns.
    """
    found = _seen(job, matrix, shape)
    if found is None:
        return None
    layouts, distinct = found
    piece = job.pieces[0]
    along, down = (sum(at.strides[axis] == 1 < at.shape[axis] for at in layouts) for axis in (2, 1))
    if down > along:
        layouts = [_turned(layout) for layout in layouts]
    body = piece.body
    return OperandMap(tuple(body.loads), tuple(layouts), tuple(body.steps), piece.value, down > along, distinct)


def _seen(job: Job, matrix: Matrix, shape: tuple[int, int, int]) -> tuple[list[Layout], int] | None:
    """The layouts of what a job reads for the matrices, rows and columns of a product, and how many matrices differ."""
    count, rows, columns = shape
    (apart, down, along), (_, seen) = matrix.strides, matrix.load
    distinct = 1 if apart == 0 else count
    if seen.offset or (distinct > 1 and apart != rows * columns):
        return None
    body = job.pieces[0].body
    in_rows = (rows == 1 or down == columns) and (columns == 1 or along == 1)
    in_columns = (rows == 1 or down == 1) and (columns == 1 or along == rows)
    if not in_rows and not in_columns:
        return None
    lying = (distinct, rows, columns) if in_rows else (distinct, columns, rows)
    layouts: list[Layout] = []
    for load in body.loads:
        found = reshaped(load.layout, lying)
        if found is None:
            return None
        found = found if in_rows else _turned(found)
        strides = found.strides if distinct == count else (0, *found.strides[1:])
        layouts.append(Layout(found.offset, shape, strides))
    return layouts, distinct


def _turned(layout: Layout) -> Layout:
    """The columns as rows."""
    (count, rows, columns), (apart, down, along) = layout.shape, layout.strides
    return Layout(layout.offset, (count, columns, rows), (apart, along, down))
