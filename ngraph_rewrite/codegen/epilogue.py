# SPDX-License-Identifier: Apache-2.0
"""Renders the epilogue of a product of matrices: a map over a block of it, called by the kernel of the product."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ngraph_rewrite.codegen.nest import (
    MapNest,
    Operand,
    argument_lines,
    needed,
    operand_names,
    store_line,
    value_line,
)
from ngraph_rewrite.codegen.source import Source, imports, indented, named
from ngraph_rewrite.codegen.template import kernel_template
from ngraph_rewrite.errors import KernelError

# What the kernel of the product tells of a block; ``x0`` is the product, the first load.
_BLOCK = ("batch", "first", "n0", "left", "n1", "x0", "x0_s0")


@lru_cache(maxsize=1 << 10)
def render_epilogue(nest: MapNest, literals: tuple[object, ...] = ()) -> Source:
    """Return the epilogue that a nest of rows and columns is, whose first load is the product.

    Its arguments are, for each other load and each store, the address of what lies at the first row and column of the
    first matrix, the stride from matrix to matrix, and the strides that are known only at run time.

    Args:
        literals: The constants of the nest bit by bit: in the nest itself 0.0 equals -0.0.

    Raises:
        KernelError: if the nest has another rank, or another layout of its first load.
    """
    if nest.rank != 2 or nest.loads[0].strides != ("s", "1"):
        raise KernelError("an epilogue is a nest of rows and columns, and the product is its first load")
    names = _signature(nest)
    body, places = _loops(nest), _places(nest)
    block = "\n".join(f"{name} = argument(block, {i})" for i, name in enumerate(_BLOCK))
    arguments = argument_lines(names, nest.steps)
    template = kernel_template("epilogue")
    text = template.fill(
        "cpu",
        name="$name",
        idea=template.idea,
        block=block,
        arguments=arguments,
        places=places,
        signature=", ".join(names),
        imports=imports(f"wide_vectors() {block} {arguments} {body}"),
        nest=body,
    )
    return named("epilogue", text, names)


def _signature(nest: MapNest) -> tuple[str, ...]:
    names: list[str] = []
    for name, operand in _others(nest):
        names += [name, f"{name}_batch"] + [f"{name}_s{dim}" for dim, s in enumerate(operand.strides) if s == "s"]
    return tuple(names)


def _others(nest: MapNest) -> list[tuple[str, Operand]]:
    return list(zip(operand_names(nest), nest.operands, strict=True))[1:]


def _places(nest: MapNest) -> str:
    """Move each operand to the first row and column of the block."""
    lines = []
    for name, operand in _others(nest):
        steps = {"1": "{at}", "s": "{at} * {name}_s{dim}"}
        moves = [
            steps[stride].format(at=at, name=name, dim=dim)
            for dim, (stride, at) in enumerate(zip(operand.strides, ("first", "left"), strict=True))
            if stride != "0"
        ]
        moved = " + ".join([f"batch * {name}_batch", *moves])
        lines.append(f"{name} += ({moved}) * {np.dtype(operand.dtype).itemsize}")
    return "\n".join(lines)


def _loops(nest: MapNest) -> str:
    """The loops over rows and columns; what a row determines is computed once for it."""
    values = needed(nest, (value for value, _ in nest.stores))
    at = [[value_line(nest, v) for v in values if max(nest.dims[v], default=-1) + 1 == level] for level in range(3)]
    stores = [store_line(nest, position, nest.dtypes) for position in range(len(nest.stores))]
    inner = ["for i1 in range(n1):", indented("\n".join([*at[2], *stores]), 4)]
    return "\n".join([*at[0], "for i0 in range(n0):", indented("\n".join([*at[1], *inner]), 4)])
