# SPDX-License-Identifier: Apache-2.0
"""Launches in any order that waits for what they say it waits for leave the memory that they leave one by one."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import hypothesis.strategies as st
from hypothesis import given

from ngraph_rewrite.plan.accesses import Access, Span, dependencies, done_with, finishing

SIZE = 8
PLACES: list[tuple[str, object]] = [("arena", 0), ("result", 1)]


@st.composite
def spans(draw: st.DrawFn) -> Span:
    """Some bytes of one of two memories; none, at times."""
    begin = draw(st.integers(0, SIZE))
    return Span(draw(st.sampled_from(PLACES)), begin, draw(st.integers(begin, SIZE)))


some = st.lists(spans(), max_size=3).map(tuple)
launches = st.lists(st.builds(Access, some, some), max_size=8)


def left(accesses: Sequence[Access], order: Iterable[int]) -> dict[tuple[object, int], object]:
    """What is in memory after launches that each write what they read, with their number, everywhere."""
    memory: dict[tuple[object, int], object] = {}
    for number in order:
        reads, writes = accesses[number]
        seen = hash((number, *(memory.get((s.memory, i)) for s in reads for i in range(s.begin, s.end))))
        memory.update({(s.memory, i): seen for s in writes for i in range(s.begin, s.end)})
    return memory


def any_order(after: Sequence[Sequence[int]], choice: random.Random) -> list[int]:
    """An order in which each comes after those that it waits for."""
    order: list[int] = []
    while len(order) < len(after):
        ready = [n for n, waits in enumerate(after) if n not in order and set(waits) <= set(order)]
        order.append(choice.choice(ready))
    return order


@given(launches, st.randoms(use_true_random=False))
def test_any_order_that_waits_leaves_the_same_memory(accesses: list[Access], choice: random.Random) -> None:
    after = dependencies(accesses)
    assert left(accesses, any_order(after, choice)) == left(accesses, range(len(accesses)))


@given(launches)
def test_no_launch_waits_for_what_another_one_it_waits_for_waits_for(accesses: list[Access]) -> None:
    done: list[set[int]] = []
    for waits in dependencies(accesses):
        assert not any(one in done[other] for one in waits for other in waits)
        done.append({*waits, *(n for other in waits for n in done[other])})


@given(launches, st.sampled_from(PLACES))
def test_memory_may_be_read_when_the_launch_is_done_that_finishes_it(
    accesses: list[Access], memory: tuple[str, object]
) -> None:
    after = dependencies(accesses)
    last = finishing(accesses, after, memory)
    if last is not None:
        early, late = left(accesses, sorted(done_with(after, last))), left(accesses, range(len(accesses)))
        assert {k: v for k, v in early.items() if k[0] == memory} == {k: v for k, v in late.items() if k[0] == memory}


def test_reads_wait_for_no_reads_and_neighbours_for_nothing() -> None:
    whole, first, second = (Span(("arena", 0), *ends) for ends in ((0, 8), (0, 4), (4, 8)))
    assert dependencies([Access((), (whole,)), *[Access((whole,), ())] * 2]) == [(), (0,), (0,)]
    assert dependencies([Access((), (first,)), Access((), (second,)), Access((), (whole,))]) == [(), (), (0, 1)]
    assert dependencies([Access((whole,), ()), Access((), (first,)), Access((), (second,))]) == [(), (0,), (0,)]
