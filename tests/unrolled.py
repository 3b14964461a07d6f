# SPDX-License-Identifier: Apache-2.0
"""What a scan means, written without it: the step's terms once for each time, and the outputs stacked."""

from __future__ import annotations

from typing import Any

import ngraph_rewrite as ng
from ngraph_rewrite.frontend.scan import Step
from ngraph_rewrite.frontend.structures import flat, like
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axis


def unrolled(step: Step, init: Any, sequence: Any = None, axis: Axis | None = None, reverse: bool = False) -> Any:
    """As `ng.scan`, for an axis of known length that is not 0."""
    sequences: list[Op] = list(flat(sequence))
    along = axis if axis is not None else sequences[0].axes.recurrent_axis()
    states, steps, structure = init, [], None
    times = range(int(along.length))
    for time in reversed(times) if reverse else times:
        slices = [ng.slice_along_axis(x, along.name, time) for x in sequences]
        states, structure = step(states, like(sequence, slices))
        steps.append([ng.as_op(y) for y in flat(structure)])
    rows = steps[::-1] if reverse else steps
    return states, like(structure, [ng.stack(column, along) for column in zip(*rows, strict=True)])
