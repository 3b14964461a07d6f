# SPDX-License-Identifier: Apache-2.0
"""All that decides a kernel of loops: what is loaded, computed step by step, and stored, each with its layout."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.plan.nests import ScalarStep, Value
from ngraph_rewrite.plan.views import Layout


class ScalarProgram(NamedTuple):
    """All that decides a kernel: loads by dtype and layout, steps, the value that is stored, how and where.

    Attributes:
        in_place: The loads whose memory is overwritten.
    """

    shape: tuple[int, ...]
    loads: tuple[tuple[str, Layout], ...]
    steps: tuple[ScalarStep, ...]
    value: Value
    dtype: str
    store: Layout
    in_place: tuple[bool, ...]


class JointProgram(NamedTuple):
    """All that decides a kernel of several maps: loads by dtype and layout, steps, and what is stored how and where.

    Attributes:
        buffers: For each load and each store the number of its memory.
    """

    shape: tuple[int, ...]
    loads: tuple[tuple[str, Layout], ...]
    steps: tuple[ScalarStep, ...]
    stores: tuple[tuple[Value, str, Layout], ...]
    buffers: tuple[int, ...]


class RowProgram(NamedTuple):
    """All that decides a kernel over rows; some of its steps are reductions.

    Attributes:
        stores: The values that are stored, by dtype and layout.
        axes: The loops that run over a row.
        totals: The values that are summed over all rows.
        parts: Whether all rows are parts of one.
    """

    shape: tuple[int, ...]
    loads: tuple[tuple[str, Layout], ...]
    steps: tuple[ScalarStep, ...]
    stores: tuple[tuple[Value, str, Layout], ...]
    axes: tuple[int, ...]
    totals: tuple[Value, ...] = ()
    parts: bool = False
