# SPDX-License-Identifier: Apache-2.0
"""Questions are answered by processes of their own; one that is lost costs no other answer."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time

from ngraph_rewrite.testing.workers import MEGABYTES, Lost, Workers, say


def square(number: int) -> int:
    return number * number


def moody(number: int) -> int:
    """Sleeps at 1, ends its process at 2, and wants too much memory at 3."""
    if number == 1:
        time.sleep(600)
    if number == 2:
        os._exit(7)
    return len(bytearray((MEGABYTES + 1024) << 20)) if number == 3 else -number


def talkative(number: int) -> int:
    """Takes longer than it may for an answer, but not for a step of it; does not end from 3 on, or ends its process."""
    for step in range(number):
        say(f"step {step}")
        time.sleep(0.6)
    return os._exit(7) if number == 4 else time.sleep(600 if number == 3 else 0) or number


class Endless:
    """In a cycle, and its end waits for what only the process that made it has."""

    def __init__(self) -> None:
        self.itself, self.home = self, os.getpid()

    def __del__(self) -> None:
        if os.getpid() != self.home:
            time.sleep(600)


def collected(number: int) -> int:
    gc.collect()
    return number


def interrupted(number: int) -> int:
    """A terminal sends the signal to all processes that it has."""
    signal.raise_signal(signal.SIGINT)
    return number


def test_every_question_is_answered() -> None:
    with Workers(square, 2) as workers:
        assert sorted(workers.ask(range(20))) == [(n, n * n) for n in range(20)]
        assert list(workers.ask([7])) == [(7, 49)]
        assert list(workers.ask([])) == []


def test_a_lost_answer_says_why_and_the_others_come() -> None:
    with Workers(moody, 2, seconds=1.0) as workers:
        answers = dict(workers.ask(range(6)))
    assert {n: answers[n] for n in (0, 4, 5)} == {0: 0, 4: -4, 5: -5}
    assert answers[1] == Lost("took longer than 1 s")
    assert answers[2] == Lost("ended the process that checked it (exit status 7)")
    assert answers[3] == Lost(f"took more than {MEGABYTES} MB")


def test_who_says_what_it_is_at_has_time_for_that_and_is_remembered_by_it() -> None:
    with Workers(talkative, 2, seconds=1.0) as workers:
        answers = dict(workers.ask([2, 3, 4]))
    assert answers[2] == 2
    assert answers[3] == Lost("took longer than 1 s", "step 2")
    assert answers[4] == Lost("ended the process that checked it (exit status 7)", "step 3")
    say("to nobody")


def test_a_process_may_have_memory_without_a_bound() -> None:
    with Workers(moody, 1, seconds=60.0, megabytes=None) as workers:
        assert list(workers.ask([0])) == [(0, 0)]


def test_garbage_of_the_process_that_asks_is_left_to_it() -> None:
    Endless()
    with Workers(collected, 1, seconds=20.0) as workers:
        assert list(workers.ask([1])) == [(1, 1)]


def test_there_are_no_more_processes_than_questions() -> None:
    before = set(multiprocessing.active_children())
    with Workers(square, 1_000_000) as workers:
        assert sorted(workers.ask([2, 3])) == [(2, 4), (3, 9)]
        assert len(set(multiprocessing.active_children()) - before) <= 2


def test_ctrl_c_is_for_the_process_that_asks() -> None:
    with Workers(interrupted, 1, seconds=20.0) as workers:
        assert list(workers.ask([1])) == [(1, 1)]


def test_no_process_is_left() -> None:
    before = set(multiprocessing.active_children())
    with Workers(square, 3) as workers:
        next(workers.ask(range(9)))
        assert set(multiprocessing.active_children()) - before
    assert set(multiprocessing.active_children()) == before
