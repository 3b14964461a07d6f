# SPDX-License-Identifier: Apache-2.0
"""Last loops that are short: kernels are told how long, and LLVM, of which loop to make vectors.

It is that before the last one, which is written out then, or the last one itself, of which nothing is. A vector takes
as long however much of it is filled.
"""

from __future__ import annotations

import re

from ngraph_rewrite.codegen.nest import FUNCTIONS, REDUCTIONS, MapNest, RowNest
from ngraph_rewrite.types.dtypes import as_dtype

# Numbers of 64 bits that fill a vector, and so many that steps from lane to lane are worth it.
_FULL, _WORTH = 8, 13


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
    """What LLVM is asked for; nothing where it knows better.

    It does of rows that are read once, and of more than eight numbers if vectors cost: functions of float64 take two of
    them, and extrema and several sums some steps from lane to lane.
    """
    if nest.few < _FULL or (nest.few == _FULL and all(as_dtype(dtype).itemsize < 8 for dtype in nest.dtypes)):
        return ["write_out_loops()"]
    ops = [step.op for step in nest.steps]
    doubles = not FUNCTIONS.isdisjoint(ops) and any(load.dtype == "float64" for load in nest.loads)
    across = not {"max", "min"}.isdisjoint(ops) or sum(op in REDUCTIONS for op in ops) > 1
    costly = nest.few > _FULL and (doubles or (across and nest.few < _WORTH))
    return [] if costly or (isinstance(nest, RowNest) and not nest.is_read_again) else ["keep_loops()"]
