# SPDX-License-Identifier: Apache-2.0
"""Last loops that are short: kernels are told how long, and LLVM, of which loop to make vectors.

It is that before the last one, which is written out then, or the last one itself, of which nothing is. A vector takes
as long however much of it is filled.
"""

from __future__ import annotations

import re

from ngraph_rewrite.codegen.nest import FUNCTIONS, REDUCTIONS, MapNest, RowNest
from ngraph_rewrite.types.dtypes import as_dtype

# Numbers of 64 bits that fill a vector; so many that steps from lane to lane are worth it, and so many halves that they
# are better converted together; functions that are written out, at most.
_FULL, _WORTH, _HALVES, _WRITTEN = 8, 13, 12, 36


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

    It does of rows that are read once, and of functions of more than eight float64, for which vectors take two of them.
    """
    if nest.few < _FULL or (nest.few == _FULL and all(as_dtype(dtype).itemsize < 8 for dtype in nest.dtypes)):
        return ["write_out_loops()"]
    if isinstance(nest, RowNest):
        return _asked_of_rows(nest) if nest.is_read_again else []
    doubles = any(load.dtype == "float64" for load in nest.loads)
    functions = any(step.op in FUNCTIONS for step in nest.steps)
    return [] if nest.few > _FULL and doubles and functions else ["keep_loops()"]


def _asked_of_rows(nest: RowNest) -> list[str]:
    """Functions are written out, if there are not too many: results of a reduction are in the same lanes then.

    Extrema and several sums of floats take some steps from lane to lane, which is worth it for long rows only.
    """
    dtypes, ops = {load.dtype for load in nest.loads}, [step.op for step in nest.steps]
    functions = sum(op in FUNCTIONS for op in ops)
    if functions:
        most = _HALVES if "float16" in dtypes else 2 * _FULL
        fits = nest.few < most or not any(at.dims & nest.within for _, at in nest.stores)
        return ["write_out_loops()" if fits and functions * nest.few <= _WRITTEN else "keep_loops()"]
    if "bfloat16" in dtypes:
        return ["write_out_loops()"]
    steps = not {"max", "min"}.isdisjoint(ops) or sum(op in REDUCTIONS for op in ops) > 1
    costly = steps and _FULL < nest.few < _WORTH and not dtypes.isdisjoint({"float16", "float32", "float64"})
    return [] if costly else ["keep_loops()"]
