# SPDX-License-Identifier: Apache-2.0
"""What a nest is told of lengths: that its last loop is short, or fills vectors, or that no cache holds a result.

Kernels serve all lengths. Where LLVM does better if it knows one, or where results had better go past the caches, the
nest says so, and its kernel is one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from ngraph_rewrite.codegen.loops import MapNest, Operand, RowNest
from ngraph_rewrite.codegen.nest import FUNCTIONS, REDUCTIONS
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.plan.spaces import Space
from ngraph_rewrite.runtime.features import vectors

# Bytes of a result that goes past the caches, at least; and of all operands, which caches do not hold then.
_STREAMED, _UNHELD = 1 << 24, 5 << 23
# Indices of a last loop that is told, at most, and of the loop before it, at least: a vector. Eight numbers make one by
# themselves, unless they are bytes. Where vectors are of 512 bits, up to sixteen are a part of one (one less of numbers
# of 64 bits, of which these are two).
_FEW, _FEW_BYTES, _MANY, _FILLED = 7, 8, 8, 16
# Elements of a row that is told, at most, if it is read once, and if it is read again, by narrower vectors: those of
# floats, and others, among them rows that are a few instructions by themselves: places, and extrema of halves. Rows, at
# least.
_READ_ONCE, _READ_AGAIN, _ROWS = (15, 8), (12, 7), 256
_FLOATS = ("float16", "float32", "float64")
_ELEMENTS = 1 << 10  # of all rows side by side that are told, at least
_AT_ONCE, _ONE_STEP = 4, 64  # vectors that LLVM takes in one step, and numbers: what is left is taken by halves


def with_short_loop(nest: MapNest, space: Space) -> MapNest:
    """A map that is told of a short last loop, or of one that fills vectors, as it is shorter than a step of LLVM.

    What is left of such a step LLVM computes by halves of a vector, and the last numbers one by one.
    """
    few = _few(space, _most(space))
    filled = not few and prod(space.sizes[:-1]) >= _MANY and _is_filled(nest, space)
    return replace(nest, few=few, filled=filled) if few or filled else nest


def _most(space: Space) -> int:
    """How long a last loop of a map may be that is told."""
    dtypes = [dtype for dtype, _ in space.program.loads] + [dtype for _, dtype, _, _ in space.program.steps]
    sizes = [DTYPE_SIZES[dtype] for dtype in dtypes]
    if space.sizes and _FEW < space.sizes[-1] <= _FILLED and _fill_vectors():
        return _FILLED - (8 in sizes)
    return _FEW_BYTES if all(size == 1 for size in sizes) else _FEW


def _few(space: Space, most: int) -> int:
    """The length of the last loop, if it is short and neighbours along a long one before it lie side by side."""
    few = space.sizes[-1] if len(space.sizes) > 1 else 0
    if not 1 < few <= most or space.sizes[-2] < _MANY:
        return 0
    return few if all(space.strides(x)[-2] in (0, 1, few) for x in space.operand_layouts) else 0


def _is_filled(nest: MapNest | RowNest, space: Space) -> bool:
    """Whether a last loop that computes functions is a vector or more, and no more than LLVM takes in one step."""
    if len(space.sizes) < 2 or {step.op for step in nest.steps}.isdisjoint(FUNCTIONS) or not _fill_vectors():
        return False
    sizes = [DTYPE_SIZES[at.dtype] for at in (*nest.loads, *(at for _, at in nest.stores))]
    lanes, last = vectors().bytes // max(4, *sizes), space.sizes[-1]
    return lanes <= last < _ONE_STEP and last % (lanes * _AT_ONCE) > 0


def with_short_rows(nest: RowNest, space: Space) -> RowNest:
    """As `with_short_loop`, of a nest over rows: these, or those side by side, if there are few."""
    along = nest.reduced[-1]
    few = _along(nest, space) if along else _side_by_side(nest, space)
    filled = along and not few and prod(space.sizes[:-1]) >= _ROWS and _is_filled(nest, space)
    return replace(nest, few=few, filled=filled) if few or filled else nest


def _along(nest: RowNest, space: Space) -> int:
    """How long rows are that lie along memory, if these are many, and so short that it is told; else 0."""
    return _few(space, _longest(nest, _most(space))) if prod(space.sizes[:-1]) >= _ROWS else 0


def _longest(nest: RowNest, most: int) -> int:
    """How long rows may be that are told, of those of a map: longer ones make vectors themselves, or none at all.

    Rows of floats of which only extrema are taken are among those.
    """
    along = {dtype for dtype, dims in zip(nest.dtypes, nest.dims, strict=True) if dims & nest.within}
    extrema = {"max", "min"}
    quick = {"argmax", "argmin"} | (extrema if "float16" in along else set())
    ops = {step.op for step in nest.steps}
    simple, reductions = ops.isdisjoint(FUNCTIONS), ops.intersection(REDUCTIONS)
    is_quick = simple and reductions <= quick
    if nest.is_read_again and most > _FEW_BYTES:
        if simple and reductions <= extrema and not along.isdisjoint({*_FLOATS, "bfloat16"}):
            return _FEW_BYTES
        if not is_quick:
            return most
    floats, others = _READ_AGAIN if nest.is_read_again else _READ_ONCE
    return floats if along <= {*_FLOATS} and not is_quick else others


def _side_by_side(nest: RowNest, space: Space) -> int:
    """How many rows lie side by side, if these are few, and read again or functions computed of them; else 0.

    Some that fill no half of a vector, or a quarter, gain only if there is much to do with them.
    """
    few = space.sizes[-1]
    functions = any(step.op in FUNCTIONS for step in nest.steps)
    least = 3 if functions else 4
    if not least <= few < _FILLED or not (nest.is_read_again or functions) or prod(space.sizes) < _ELEMENTS:
        return 0
    much = prod(space.sizes[d] for d in nest.within) >= _FILLED or functions
    return few if (much or few % 4 == 0) and _fill_vectors() else 0


def _fill_vectors() -> bool:
    """Whether a part of a vector is loaded and stored as quickly as all of it: where it has 512 bits."""
    return vectors().bytes == 64


def is_streamed(
    sizes: Sequence[int], loads: Sequence[Operand], stores: Sequence[Operand], scattered: bool = False
) -> bool:
    """Whether a result is so large that it goes past the caches, and lies as it is computed.

    Args:
        scattered: Whether rows lie in parts far from each other: results would drive these out of caches.
    """
    taken = [prod(sizes[d] for d in at.dims) * DTYPE_SIZES[at.dtype] for at in (*loads, *stores)]
    given = zip(stores, taken[len(loads) :], strict=True)
    largest = max((size for at, size in given if at.strides and at.strides[-1] == "1"), default=0)
    return largest >= _STREAMED and (scattered or sum(taken) >= _UNHELD)
