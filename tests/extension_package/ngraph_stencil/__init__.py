# SPDX-License-Identifier: Apache-2.0
"""Stencils: functions that users call. A mistake is reported at their line, not here."""

from __future__ import annotations

import ngraph_rewrite as ng
from ngraph_stencil import ops

__all__ = ["ops", "smooth"]
__tracebackhide__ = True


def smooth(x: ng.Op, axis: ng.Axis, side: float = 0.5) -> ng.Op:
    """Each element of `x` plus `side` times its neighbours along `axis`; outside of it all is zero.

    Args:
        x: A float term with named axes.
        axis: One of its axes.

    Raises:
        DTypeError: for another dtype.
        UnmatchedAxesError: for an axis that `x` does not have.
    """
    return ng.make_op("stencil.smooth", x, axes=ng.Axes([axis]), side=side)
