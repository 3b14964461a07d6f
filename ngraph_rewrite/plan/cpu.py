# SPDX-License-Identifier: Apache-2.0
"""How kernels are written for the CPU: what is planned for caches, vectors and a few threads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import Any

from ngraph_rewrite.codegen.copy import few, render_copy
from ngraph_rewrite.codegen.epilogue import render_epilogue
from ngraph_rewrite.codegen.form import BROAD, LANES
from ngraph_rewrite.codegen.loops import MapNest, Operand, RowNest, Tiles, render_map, render_rows, tiles, workspaces
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.collapsing import row_share
from ngraph_rewrite.plan.convolution_operands import Convolution
from ngraph_rewrite.plan.convolutions import calls_of
from ngraph_rewrite.plan.fusion import REDUCTIONS, Groups
from ngraph_rewrite.plan.jobs import Job, job_of
from ngraph_rewrite.plan.operands import Call
from ngraph_rewrite.plan.pooling import pooling_call
from ngraph_rewrite.plan.products import EPILOGUE, Product, as_rows, is_product, product, product_calls
from ngraph_rewrite.plan.renderer import Epilogues, Parts, Renderer
from ngraph_rewrite.plan.rows import row_job, thin_job
from ngraph_rewrite.plan.scalar_programs import RowProgram
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.plan.shares import CHUNK_TIME, Share, nest_share
from ngraph_rewrite.plan.strips import sizes_for_caches
from ngraph_rewrite.terms.op import Op

_UNCACHED = 1 << 25  # bytes that are read from memory rather than from a cache
_AHEAD = 4  # indices of narrower rows that are taken in at once
_PARTS = 32  # of a reduction in two steps, at most, and
_LONG = 64  # so many indices in each at least, where rows lie side by side,
_STRETCH = 1 << 10  # or so many elements where they lie along memory
_BLOCK = 1024  # rows side by side that are enough for a chunk
# Rows that are enough to share out; below that, elements that one thread can be left with.
_ENOUGH, _FEW = 16, 1 << 15
_LANES = 512  # rows side by side, parts included, that fill vectors well


def _job(term: Op, groups: Groups) -> Job:
    """The work of a group.

    Raises:
        CopyFirst: if a view in it needs its argument in memory.
        KernelError: if no kernel computes its op.
    """
    if term in groups.rows:
        pooled = pooling_call(term, groups) if term.definition.name in REDUCTIONS else None
        return row_job(term, groups) if pooled is None else Job(term, calls=(pooled,))
    if is_product(term):
        given = as_rows(product(term, groups))
        return thin_job(term, given, groups) if given.is_thin else Job(term, calls=product_calls(given))
    return job_of(term, groups)


def _form(nest: MapNest | RowNest, sizes: Sequence[int]) -> tuple[int, int] | Tiles | int | None:
    """Where rows become columns: the short loop of a copy, if there is one, and its length; the tiles of a map.

    Of a reduction, how many indices it takes in at once by columns where it asks memory ahead.
    """
    if isinstance(nest, RowNest):
        return _ahead(nest, sizes)
    moved = _moved(nest)
    if moved is None:
        return tiles(nest, sizes)
    dim = few(*moved, sizes)
    return None if dim is None else (dim, sizes[dim])


def _ahead(nest: RowNest, sizes: Sequence[int]) -> int:
    """By columns a few indices, where caches may not hold all; one, where they cannot, and all of it is a wide block.

    By rows it says that caches may not hold all.
    """
    read = prod(sizes) * sum(_each(nest)[0])
    if not any(nest.reduced) or read < _UNCACHED:
        return 0
    return 1 if read >= 2 * _UNCACHED and LANES <= sizes[-1] <= BROAD else _AHEAD


def _nest(nest: MapNest | RowNest, form: Any) -> Source:
    """The kernel of a nest; a map that only moves elements is a copy."""
    if isinstance(nest, RowNest):
        return render_rows(nest, form)
    moved = _moved(nest)
    return render_map(nest, form) if moved is None else render_copy(*moved, form)


def _moved(nest: MapNest) -> tuple[Operand, Operand] | None:
    """From where to where a nest moves elements, if it does nothing else, from one buffer to another."""
    if nest.steps or not len(nest.loads) == len(nest.stores) == 1:
        return None
    source, (_, target) = nest.loads[0], nest.stores[0]
    apart = nest.buffer_of[0] != nest.buffer_of[1]
    return (source, target) if apart and source.dtype == target.dtype else None


def _share(sizes: Sequence[int], reduced: Sequence[bool], nest: MapNest | RowNest) -> Share:
    """Chunks split the first loop that is not reduced."""
    kept = [d for d, r in enumerate(reduced) if not r]
    if not kept or (isinstance(nest, RowNest) and nest.is_whole):
        return nest_share(1, False, sizes, *_each(nest))
    found = nest_share(sizes[kept[0]], kept[0] == nest.rank - 1, sizes, *_each(nest))
    return found._replace(loose=True) if isinstance(nest, MapNest) else found


def _own_share(shape: Sequence[int], elements: int) -> Share:
    """Chunks split what the kernel file splits, which may be the longest axis."""
    return Share(max(shape, default=1), elements)


def _each(nest: MapNest | RowNest) -> tuple[list[int], list[str]]:
    """The sizes of what a nest reads and writes at every index, but for what stays the same, and its operations."""
    last, within = nest.rank - 1, nest.within
    moved = [*nest.loads, *(at for _, at in nest.stores if not within or at.dims & within)]
    return [DTYPE_SIZES[operand.dtype] for operand in moved if last in operand.dims], [s.op for s in nest.steps]


def _worth(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether there are rows enough to share out, or no need to."""
    return prod(shape) <= _FEW or prod([n for k, n in enumerate(shape) if k not in axes]) >= _ENOUGH


def _parts(program: RowProgram, axis: int) -> Parts:
    """The number of parts, and how many neighbouring indices have lanes of their own."""
    share = row_share(program, CPU)
    assert isinstance(share, Share)
    finds = any(step[0].startswith("arg") for step in program.steps)  # which one core does as fast as memory is read
    if finds or share.time < 4 * CHUNK_TIME:
        return Parts(1)
    wanted = min(_PARTS, share.time // CHUNK_TIME)
    kept = [n for k, n in enumerate(program.shape) if k not in program.axes]
    moved = [k for k, n in enumerate(program.shape) if n > 1]
    if moved[-1] in program.axes:  # rows along memory
        enough = share.chunks >= min(wanted, _PARTS // 2)
        most = min(program.shape[axis] // 2, prod(program.shape[k] for k in program.axes) // _STRETCH)
        return Parts(1 if enough else min(wanted, max(1, most)))
    if kept[-1] // _BLOCK >= min(wanted, _PARTS // 4):
        return Parts(1)
    lanes = 1
    if axis == moved[0] and all(k not in program.axes for k in moved[1:]):
        while 2 * lanes * prod(kept) <= _LANES:
            lanes *= 2
    return Parts(min(wanted, program.shape[axis] // (_LONG * lanes)), lanes)


def _mapped(given: Product | Convolution, each: float, there: bool) -> tuple[Call, ...]:
    """The calls of a product or convolution, the last one with an epilogue."""
    if isinstance(given, Product):
        return product_calls(given, EPILOGUE, each, there)
    return calls_of(given, EPILOGUE, each)


def _one_form(given: Product | Convolution) -> Hashable:
    """An epilogue is a kernel of its own, which does not ask what calls it."""
    return None


def _epilogue(form: Hashable, nest: MapNest, literals: tuple[object, ...]) -> Source:
    return render_epilogue(nest, literals)


_EPILOGUES = Epilogues(_mapped, _one_form, _epilogue, is_called=True)
CPU = Renderer(
    "cpu",
    _job,
    _form,
    _nest,
    _share,
    _own_share,
    workspaces,
    _worth,
    _parts,
    _EPILOGUES,
    prologues=True,
    sums=True,
    bands=True,
    strips=sizes_for_caches,
    outermost=True,
    written_out=True,
)
