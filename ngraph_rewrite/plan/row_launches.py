# SPDX-License-Identifier: Apache-2.0
"""Launches of groups over rows: one kernel, or several where parts of rows or sums over all rows come first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ngraph_rewrite.plan.launches import Work, base_address, strided
from ngraph_rewrite.plan.operands import Ref, Scratch
from ngraph_rewrite.plan.rows import Kernels, RowJob
from ngraph_rewrite.plan.shapes import DTYPE_SIZES
from ngraph_rewrite.terms.op import Op

# An address, and the size of an element there.
_Place = tuple[Ref, int]


def row_work(job: RowJob, home: Mapping[Op | Scratch, Ref]) -> list[Work]:
    """What has to be launched to do the job."""
    assert job.body is not None
    kernels, loads = job.kernels, [_place(base_address(job, base, home), base) for base, _ in job.body.loads]
    if job.totals:
        return _with_totals(job, loads, home)
    stores = [_place(home[term], term) for term in job.stored]
    last = _storing(job, job.stored, home)
    steps = kernels.split
    if steps is None:
        return [_work(last, kernels, 0, loads, stores, home)]
    sizes = [DTYPE_SIZES[dtype] for _, dtype, _ in steps.parts[0].stores]
    found = []
    for number, offset in enumerate(steps.offsets):
        begins = [(home[s].moved(offset * size), size) for s, size in zip(kernels.partial, sizes, strict=True)]
        part = partial(Work, term=job.term, stored=begins[0][0])
        found.append(_work(part, kernels, number, loads, begins, home))
    ends = [(home[s], size) for s, size in zip(kernels.partial, sizes, strict=True)]
    ends += [loads[i] for i in steps.narrow]
    return [*found, _work(last, kernels, len(found), ends, stores, home)]


def _with_totals(job: RowJob, loads: Sequence[_Place], home: Mapping[Op | Scratch, Ref]) -> list[Work]:
    """The launches of a kernel whose chunks each sum over their rows, and of one that adds these sums."""
    first = tuple([term for term in job.stored if term not in job.totals])
    sums = [home[scratch] for scratch in job.kernels.spare[0][-len(job.totals) :]]
    made = _storing(job, first, home) if first else partial(Work, term=job.totals[-1], stored=sums[0])
    stores, totals = ([_place(home[term], term) for term in terms] for terms in (first, job.totals))
    return [
        _work(made, job.kernels, 0, loads, stores, home),
        _work(_storing(job, job.totals, home), job.kernels, 1, [(ref, 8) for ref in sums], totals, home),
    ]


def _storing(job: RowJob, terms: tuple[Op, ...], home: Mapping[Op | Scratch, Ref]) -> Callable[..., Work]:
    """A launch that stores some terms of a job, named for its own term or else the last one."""
    main = job.term if job.term in terms else terms[-1]
    others = tuple([(term, home[term]) for term in terms if term is not main])
    return partial(Work, term=main, stored=home[main], others=others)


def _place(ref: Ref, term: Op) -> _Place:
    return ref, term.type.dtype.itemsize


def _work(
    made: Callable[..., Work],
    kernels: Kernels,
    number: int,
    loads: Sequence[_Place],
    stores: Sequence[_Place],
    home: Mapping[Op | Scratch, Ref],
) -> Work:
    """The launch of one of the kernels."""
    kernel = kernels.found[number]
    arguments: list[int | Ref] = [*kernel.sizes]
    refs: list[int] = []
    for (place, size), layout in zip((*loads, *stores), (*kernel.loads, *kernel.stores), strict=True):
        strided(arguments, refs, place, layout, size)
    arguments += kernel.numbers
    for scratch, size in zip(kernels.spare[number], kernel.workspaces, strict=True):
        refs.append(len(arguments))
        arguments += [home[scratch], size]
    return made(source=kernel.source, arguments=tuple(arguments), share=kernel.share, refs=tuple(refs))
