# SPDX-License-Identifier: Apache-2.0
"""Where the variables of a module lie, and in what pieces its instructions move memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.runtime.aligned import address_of, aligned_array
from ngraph_rewrite.runtime.ptx.text import Module, Variable
from ngraph_rewrite.runtime.ptx.values import width_of

_WIDTH = 8  # bytes of the widest number


def laid_out(variables: Sequence[Variable]) -> tuple[dict[str, int], int]:
    """Addresses of variables one after the other, and where they end."""
    found, end = dict[str, int](), 0
    for variable in variables:
        begin = -(-end // variable.align) * variable.align
        found[variable.name], end = begin, begin + variable.size
    return found, -(-end // 16) * 16


def placed_constants(module: Module) -> tuple[list[NDArray[np.uint8]], dict[str, int]]:
    """Variables of the GPU's memory, and their addresses; what has no values is zero."""
    arrays, addresses = list[NDArray[np.uint8]](), dict[str, int]()
    for variable in module.variables:
        if variable.space in ("global", "const"):
            array = aligned_array((max(variable.size, 16),), np.uint8)
            array[:] = 0
            values = [value % (1 << 8 * variable.width) for value in variable.values]
            array[: len(values) * variable.width] = np.array(values, f"u{variable.width}").view(np.uint8)
            arrays.append(array)
            addresses[variable.name] = address_of(array)
    return arrays, addresses


def cells(module: Module) -> dict[str, int]:
    """The smallest piece of each memory that an instruction moves, in bytes."""
    found = {"global": _WIDTH, "shared": _WIDTH}
    for function in module.functions.values():
        for name, *marks in (one.opcode for block in function.blocks for one in block):
            if name == "ldmatrix":
                found["shared"] = min(found["shared"], 2)
            elif name in ("ld", "st") and marks[0] in found:
                found[marks[0]] = min(found[marks[0]], width_of(marks[-1]))
            elif name == "cp":
                found = {space: min(width, 4) for space, width in found.items()}
    return found
