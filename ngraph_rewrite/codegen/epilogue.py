# SPDX-License-Identifier: Apache-2.0
"""Renders maps over blocks of matrices, which kernels of products call: over a product, or one that an operand is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ngraph_rewrite.codegen.library import rendered
from ngraph_rewrite.codegen.nest import (
    MapNest,
    Operand,
    argument_lines,
    needed,
    numbers,
    operand_names,
    store_line,
    value_in_place,
)
from ngraph_rewrite.codegen.source import Source, indented
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.types.dtypes import as_dtype

# What the kernel of the product tells of a block: where it is, its rows and columns, and where it lies.
_BLOCK = ("batch", "first", "n0", "left", "n1", "{0}", "{0}_s0")


@lru_cache(maxsize=1 << 10)
def render_epilogue(nest: MapNest, literals: tuple[object, ...] = ()) -> Source:
    """Return the epilogue that a nest of rows and columns is, whose first load is the product.

    Its arguments are, for each other load and each store, the address of what lies at the first row and column of the
    first matrix, the stride from matrix to matrix, and the strides that are known only at run time; then numbers.

    Args:
        literals: The constants of the nest bit by bit: in the nest itself 0.0 equals -0.0.

    Raises:
        KernelError: if the nest has another rank, or another layout of its first load.
    """
    if nest.rank != 2 or nest.loads[0].strides != ("s", "1"):
        raise KernelError("an epilogue is a nest of rows and columns, and the product is its first load")
    return _rendered("epilogue", nest, "x0")


@lru_cache(maxsize=1 << 10)
def render_prologue(nest: MapNest, literals: tuple[object, ...] = (), follows: bool = False) -> Source:
    """Return the map that an operand of a product is, a nest of rows and columns with one store; as `render_epilogue`.

    Args:
        follows: Whether the next block has the rows that follow: what they are made of is asked for meanwhile.

    Raises:
        KernelError: if the nest has another rank, or other stores.
    """
    if nest.rank != 2 or [store.strides for _, store in nest.stores] != [("s", "1")]:
        raise KernelError("a prologue is a nest of rows and columns with one store, row by row")
    asked = [(i, load) for i, load in enumerate(nest.loads) if follows and load.strides == ("s", "1")]
    lines = (f"ask_ahead(x{i}, (i0 + n0) * x{i}_s0, n1, {as_dtype(load.dtype).itemsize})" for i, load in asked)
    return _rendered("prologue", nest, "y0", list(lines))


def _rendered(kind: str, nest: MapNest, inside: str, each: Sequence[str] = ()) -> Source:
    """Fill the kernel file.

    Args:
        inside: The operand that is the block.
        each: What is done for each row besides.
    """
    others = [(name, x) for name, x in zip(operand_names(nest), nest.operands, strict=True) if name != inside]
    names = (*_signature(others), *numbers(nest))
    block = "\n".join(f"{name.format(inside)} = argument(block, {i})" for i, name in enumerate(_BLOCK))
    holes = {"block": block, "places": _places(others), "nest": _loops(nest, each)}
    return rendered(kind, names, arguments=argument_lines(names, nest.steps), **holes)


def _signature(others: Sequence[tuple[str, Operand]]) -> list[str]:
    names: list[str] = []
    for name, operand in others:
        names += [name, f"{name}_batch"] + [f"{name}_s{dim}" for dim, s in enumerate(operand.strides) if s == "s"]
    return names


def _places(others: Sequence[tuple[str, Operand]]) -> str:
    """Move each operand to the first row and column of the block."""
    lines = []
    for name, operand in others:
        steps = {"1": "{at}", "s": "{at} * {name}_s{dim}"}
        moves = [
            steps[stride].format(at=at, name=name, dim=dim)
            for dim, (stride, at) in enumerate(zip(operand.strides, ("first", "left"), strict=True))
            if stride != "0"
        ]
        moved = " + ".join([f"batch * {name}_batch", *moves])
        lines.append(f"{name} += ({moved}) * {as_dtype(operand.dtype).itemsize}")
    return "\n".join(lines)


def _loops(nest: MapNest, each: Sequence[str]) -> str:
    """The loops over rows and columns; what a row determines is computed once for it."""
    values = needed(nest, (value for value, _ in nest.stores))
    at = [[value_in_place(nest, v) for v in values if max(nest.dims[v], default=-1) + 1 == level] for level in range(3)]
    stores = [store_line(nest, position, nest.dtypes) for position in range(len(nest.stores))]
    inner = ["for i1 in range(n1):", indented("\n".join([*at[2], *stores]), 4)]
    return "\n".join([*at[0], "for i0 in range(n0):", indented("\n".join([*each, *at[1], *inner]), 4)])
