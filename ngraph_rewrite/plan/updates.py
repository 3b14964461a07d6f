# SPDX-License-Identifier: Apache-2.0
"""A variable whose slice is replaced is written in place: the slice only, if what is read of it stays right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.terms.op import Op


def slice_only(job: Job, is_current: Callable[[Op], bool]) -> Job | None:
    """The part of an update's job that stores the slice, if all else is in its place already; else None.

    Args:
        is_current: Whether a leaf is the memory that is written, as the write finds it.
    """
    if job.term.definition.name != "semi.update" or len(job.pieces) != 2:
        return None
    whole, part = job.pieces
    if whole.body.steps or len(whole.body.loads) != 1:
        return None
    copied = whole.body.loads[0]
    return replace(job, pieces=(part,)) if is_current(copied.base) and copied.layout.is_plain else None


def reads_in_step(job: Job, is_own: Callable[[Op], bool], is_current: Callable[[Op], bool]) -> bool:
    """Whether a job reads what it overwrites only at the very element that it replaces.

    Args:
        is_own: Whether a leaf lies in the memory that is written.
    """
    (part,) = job.pieces
    return all(is_current(x.base) and x.layout == part.store for x in part.body.loads if is_own(x.base))
