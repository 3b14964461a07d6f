# SPDX-License-Identifier: Apache-2.0
"""Lives of large terms: whoever may overwrite an operand waits for all others who read it.

A gradient can take the place of an activation if what else is made of that activation, the gradient of weights, is
made before. Weights that the first one reads must then not be overwritten yet: their update waits in memory of its
own, if that is much smaller than what it makes room for. And what stores next to nothing, as a sum does, is no reason
to keep a large operand: it comes as soon as that is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from ngraph_rewrite.plan.fusion import is_leaf, is_storage_read, variable_of
from ngraph_rewrite.plan.jobs import Job
from ngraph_rewrite.plan.narrowing import large
from ngraph_rewrite.plan.shapes import bytes_of, known
from ngraph_rewrite.terms.op import Op

# An update waits in memory so many times smaller than what it makes room for. Next to nothing is so many times smaller.
_SMALLER, _NOTHING = 4, 64


def holds_up(job: Job, variable: Op, jobs: Iterable[Job]) -> bool:
    """Whether a job that overwrites a variable has to wait for one that could overwrite what the first one reads."""
    enough = _SMALLER * bytes_of(variable)
    read = {base for base, _ in job.loads if large(base) and bytes_of(base) >= enough}
    if not read:
        return False
    others = (other for other in jobs if other is not job and not read.isdisjoint(_overwritten(other)))
    return any(is_storage_read(x) and variable_of(x) is variable for other in others for x, _ in other.loads)


def let_overwrite(jobs: Sequence[Job], before: Mapping[int, list[int]]) -> None:
    """Add to what jobs wait for, by their numbers, so that they can overwrite large operands.

    Of several that could overwrite one, the one that needs most is the last.
    """
    owner = {base: i for i, job in enumerate(jobs) for base in _overwritten(job)}
    readers: dict[Op, list[int]] = {base: [] for base in owner}
    for i, job in enumerate(jobs) if owner else ():
        for base in {base for base, _ in job.loads}:
            if base in owner and owner[base] != i:
                readers[base].append(i)
    for base, last in owner.items():
        before[last].extend([i for i in readers[base] if not _waits(i, last, before)])


def numbered(jobs: Sequence[Job], numbers: Sequence[int], owner: Mapping[Op, int]) -> dict[int, int]:
    """Where each job comes in an order: that of their numbers in the graph, but for those that store next to nothing.

    Args:
        owner: By term, the job that computes it.
    """
    places = dict[int, tuple[int, int]]()
    for i, job in enumerate(jobs):
        given = [base for base, _ in job.loads if base in owner and owner[base] != i]
        stored = sum(map(bytes_of, job.outputs))
        soon = any(large(base) and bytes_of(base) >= _NOTHING * stored for base in given)
        place = max(numbers[owner[base]] for base in given) if soon else numbers[i]
        places[i] = (place, numbers[i])
    return {i: rank for rank, i in enumerate(sorted(places, key=places.__getitem__))}


def _overwritten(job: Job) -> list[Op]:
    """The large operands whose place the result of a job can take."""
    if job.raw or job.destination is not None or job.term not in job.outputs or not large(job.term):
        return []  # a copy, or what stores several terms step by step
    size, kind = prod(known(job.term)), job.term.type.dtype.itemsize
    steps = [base for base, layout in job.in_step if layout.is_plain and prod(layout.shape) == size]
    return [base for base in steps if not is_leaf(base) and base.type.dtype.itemsize == kind]


def _waits(job: int, other: int, before: Mapping[int, list[int]]) -> bool:
    """Whether one job waits for another, be it through more of them."""
    seen, pending = {job}, [job]
    while pending:
        for i in before[pending.pop()]:
            if i == other:
                return True
            if i not in seen:
                seen.add(i)
                pending.append(i)
    return False
