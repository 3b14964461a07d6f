# SPDX-License-Identifier: Apache-2.0
"""Columns that are put side by side are one launch: one after the other, each would go through all of the result.

Of parts that are one element wide, a concatenation stores every so manyth element. In one loop the elements that lie
beside each other are stored together, and the result is written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ngraph_rewrite.plan.jobs import Job, Piece
from ngraph_rewrite.plan.joint import JointJob, Maps, is_map, joint_work
from ngraph_rewrite.plan.launches import Work, launches, target_of
from ngraph_rewrite.plan.operands import Ref, Scratch
from ngraph_rewrite.terms.op import Op

# Columns of one launch, at most: of more, addresses are in no register. Elements of each that are worth a kernel of
# their own. Bytes of an element: single ones are as fast one column after the other.
_COLUMNS, _ENOUGH, _WIDE = 4, 1024, 2


def piece_work(job: Job, home: Mapping[Op | Scratch, Ref]) -> list[Work]:
    """The launches of a job: one for each of its pieces and calls, or for some columns that are pieces."""
    if not (_is_of_columns(job) and target_of(job, home).space != "storage"):
        return launches(job, home)
    return [_together(job, job.pieces[k : k + _COLUMNS], home) for k in range(0, len(job.pieces), _COLUMNS)]


def _is_of_columns(job: Job) -> bool:
    """Whether its pieces store one column each, as long as the others."""
    if len(job.pieces) < 2 or not is_map(job) or job.term.dtype.itemsize < _WIDE:
        return False
    enough = prod(job.pieces[0].body.shape) >= _ENOUGH
    return enough and len({p.body.shape for p in job.pieces}) == 1 and all(map(_is_column, job.pieces))


def _is_column(piece: Piece) -> bool:
    return all(n == 1 or stride > 1 for n, stride in zip(piece.store.shape, piece.store.strides, strict=True))


def _together(job: Job, pieces: Sequence[Piece], home: Mapping[Op | Scratch, Ref]) -> Work:
    maps = Maps(pieces[0].body.shape)
    maps.add(job, pieces)
    return joint_work(JointJob(job.term, maps=maps, stored=maps.stores), home)
