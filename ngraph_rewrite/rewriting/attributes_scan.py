# SPDX-License-Identifier: Apache-2.0
"""Attribute functions for scans: how their sequences are turned."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axis


@attribute_function
def leading(xs: Sequence[Op], axis: Axis, states: int, sequences: int) -> tuple[tuple[int, ...], ...]:
    """For each argument of a scan a permutation: of a sequence the one that brings `axis` to the front.

    >>> from ngraph_rewrite.frontend.axes import variable
    >>> x = variable({"H": 2, "REC": 3})
    >>> leading([x, x, x], x.axes[1], 1, 1)
    ((0, 1), (1, 0), (0, 1))
    """
    places = [x.axes.index(axis) if states <= i < states + sequences else 0 for i, x in enumerate(xs)]
    return tuple((p, *range(p), *range(p + 1, x.rank)) if x.rank else () for p, x in zip(places, xs, strict=True))
