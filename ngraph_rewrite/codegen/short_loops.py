# SPDX-License-Identifier: Apache-2.0
"""Last loops that are short: kernels are told how long, and LLVM, of which loop to make vectors.

It is that before the last one, which is written out then, or the last one itself, of which nothing is. A vector takes
as long however much of it is filled.
"""

from __future__ import annotations

import re

from ngraph_rewrite.codegen.nest import FUNCTIONS, MapNest, RowNest
from ngraph_rewrite.types.dtypes import as_dtype

# Numbers of 64 bits that fill a vector, and so many that it is worth to compute two.
_FULL, _FILLED = 8, 13


def told(nest: MapNest | RowNest, text: str) -> str:
    """Loops, told how long the last one is if it is short, and that neighbours along the one before are as far apart.

    Places are given in two parts: LLVM sees of each alone that it is in the same memory, of their sum not always.
    """
    if not nest.few:
        return text
    last, few = nest.rank - 1, nest.few
    text = re.sub(rf"\b(n{last}|[xy]\d+_s{last - 1})\b", str(few), text)
    text = re.sub(rf", ([^,()]*i{last - 1} \* {few}) \+ i{last},", rf", (\1, i{last}),", text)
    return "\n".join([*_asked(nest), text])


def _asked(nest: MapNest | RowNest) -> list[str]:
    """What LLVM is asked for; of rows that are read once, it knows better."""
    wide = any(as_dtype(dtype).itemsize == 8 for dtype in nest.dtypes)
    if nest.few < _FULL or (nest.few == _FULL and not wide):
        return ["write_out_loops()"]
    if isinstance(nest, RowNest) and not nest.is_read_again:
        return []
    doubles = any(load.dtype == "float64" for load in nest.loads)
    functions = not FUNCTIONS.isdisjoint(step.op for step in nest.steps)
    return [] if doubles and functions and _FULL < nest.few < _FILLED else ["keep_loops()"]
