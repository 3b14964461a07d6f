# SPDX-License-Identifier: Apache-2.0
"""Four neighbours along the keys in the text of attention for a GPU, read at once where they lie side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ngraph_rewrite.codegen.cuda.lanes import FOUR, bytes_of_four
from ngraph_rewrite.codegen.source import nested


def wide_line(name: str, dtype: str) -> str:
    """The line that finds out whether four neighbours along the keys can be read at once."""
    strides = " | ".join(f"{name}_s{x}" for x in "oim")
    return f"{name}_wide = {name}_sn == 1 and ({strides}) & {FOUR - 1} == 0 and aligned({name}, {bytes_of_four(dtype)})"


def read_four(name: str, dtype: str, found: Sequence[str], start: str, key: str) -> list[str]:
    """The lines that read four neighbours along the keys, of a line with a start; its last for any beyond it."""
    each = [
        f"{x} = load_{dtype}({name}, {start} + min({key} + {n}, n - 1) * {name}_sn, 0)" for n, x in enumerate(found)
    ]
    four = f"    {', '.join(found)} = load4_{dtype}({name}, {start} + {key})"
    return [f"if {name}_wide and {key} + {FOUR} <= n:", four, "else:", *nested(each)]
