# SPDX-License-Identifier: Apache-2.0
"""A plan run row by row: what each row has computed, as soon as it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from ngraph_rewrite.plan.launches import Loop, Work, kernels
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.plan import Plan
from ngraph_rewrite.targets.target import Ran, Read
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.tracing import CallLog

Array = NDArray[Any]


def run_rows(
    plan: Plan, writes: Sequence[Op], run: Callable[[int], None], read: Callable[[Op, Ref], Array]
) -> Iterator[Ran]:
    """Run the rows of a plan. Those that compute a term together are one.

    Args:
        writes: What the program writes to variables.
        run: Runs one row.
        read: A copy of what lies where a term was stored.
    """
    left, names = list(writes), list[str]()
    for row, work in enumerate(plan.work):
        run(row)
        names += [one.source.name for one in kernels([work])]
        following = plan.work[row + 1 : row + 2]
        if following and _is_part(work, following[0]):
            continue  # a part of what the next one completes
        yield Ran(tuple(names), tuple(_computed(work, plan, left, read)))
        names.clear()


def _is_part(work: Work | Loop, following: Work | Loop) -> bool:
    """Whether a row computes a part of what the next one completes; one value in two variables is two of them."""
    if following.term is not work.term:
        return False
    if isinstance(work, Loop) or isinstance(following, Loop) or work.stored.space != "storage":
        return True
    return work.stored[:2] == following.stored[:2]


def _computed(
    work: Work | Loop, plan: Plan, left: list[Op], read: Callable[[Op, Ref], Array]
) -> Iterator[tuple[Op, Read | None]]:
    """What a row computed, and the write that it was, which is not left then."""
    origins = plan.origins
    if isinstance(work, Loop):
        yield origins.get(work.term, work.term), None
        stored = [(t, ref) for t, ref in plan.home.items() if isinstance(t, Op) and work.term in t.args[:1]]
    else:
        stored = [*work.others, (work.term, work.stored)]
    for term, ref in stored:
        was = origins.get(term, term)
        yield was, None if term in plan.parts else partial(read, was, ref)
        write = next((w for w in left if ref[:2] == ("storage", w.args[0])), None)
        if write is not None:
            left.remove(write)
            yield write, partial(read, write, ref)


def tell_rows(log: CallLog, rows: Iterable[Ran], last: Iterable[Op]) -> None:
    """Tell what rows compute, each as soon as it has run, and at the end of what needed no row."""
    for ran in rows:
        for term, read in ran.computed:
            log.tell_all(term, read)
    for term in last:
        log.tell_all(term)
