# SPDX-License-Identifier: Apache-2.0
"""Loop nests as data and as kernels: the vocabulary in which a planner says what a kernel shall do."""

from ngraph_rewrite.codegen.map import Tiles, render_map, tiles
from ngraph_rewrite.codegen.nest import REDUCTIONS, SHUFFLED, MapNest, Operand, RowNest, Step
from ngraph_rewrite.codegen.reduce import render_rows, workspaces
from ngraph_rewrite.codegen.source import Source

__all__ = [
    "REDUCTIONS",
    "SHUFFLED",
    "MapNest",
    "Operand",
    "RowNest",
    "Source",
    "Step",
    "Tiles",
    "render_map",
    "render_rows",
    "tiles",
    "workspaces",
]
