# SPDX-License-Identifier: Apache-2.0
"""A variable of which a part is replaced is written in place: that part only, if what is read of it stays right.

The part is a slice, or what stands at indices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ngraph_rewrite.plan.fusion import INSERTIONS
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.terms.op import Op


def part_only(job: Job, is_current: Callable[[Op], bool]) -> Job | None:
    """What of an update's job stores the part, if all else is in its place already; else None.

    Args:
        is_current: Whether a leaf is the memory that is written, as the write finds it.
    """
    name = job.term.definition.name
    if not (name == "semi.update" and len(job.pieces) == 2 or name in INSERTIONS and len(job.pieces) == 1):
        return None
    whole, *parts = job.pieces
    if whole.body.steps or len(whole.body.loads) != 1:
        return None
    copied = whole.body.loads[0]
    return replace(job, pieces=tuple(parts)) if is_current(copied.base) and copied.layout.is_plain else None


def reads_in_step(job: Job, is_own: Callable[[Op], bool], is_current: Callable[[Op], bool]) -> bool:
    """Whether a job reads what it overwrites only at the very element that it replaces.

    Args:
        is_own: Whether a leaf lies in the memory that is written.
    """
    if any(is_own(x.base) for call in job.calls for x in call.loads):
        return False
    own = ((x, part) for part in job.pieces for x in part.body.loads if is_own(x.base))
    return all(is_current(x.base) and x.layout == part.store for x, part in own)
