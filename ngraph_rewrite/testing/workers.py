# SPDX-License-Identifier: Apache-2.0
"""Questions answered by processes of their own, so that one that takes too long, or too much memory, can be given up.

A worker answers one question after another. Who does not answer in time is ended, and another takes its place.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from ngraph_rewrite.testing.limits import bounded

Question = TypeVar("Question")
Answer = TypeVar("Answer")
# Memory of a worker, in megabytes.
MEGABYTES = 4096


@dataclass(frozen=True)
class Lost:
    """What stands for an answer that never came, in words."""

    why: str


class Workers(Generic[Question, Answer]):
    """Processes that answer questions.

    Args:
        answers: Gives the answer to a question. It is inherited by the processes where they are forked, and
            pickled where they cannot be.
        count: How many processes; by default one for each core.
        seconds: How long one answer may take, or what says so of a question.
    """

    def __init__(
        self,
        answers: Callable[[Question], Answer],
        count: int | None = None,
        seconds: float | Callable[[Question], float] = 60.0,
    ) -> None:
        self._answers = answers
        self._seconds = seconds if callable(seconds) else lambda _: seconds
        self._process = _process()
        self._idle = [self._started() for _ in range(count or len(_cores()))]

    def __enter__(self) -> Workers[Question, Answer]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        for worker in self._idle:
            worker.end()
        self._idle = []

    def ask(self, questions: Iterable[Question]) -> Iterator[tuple[Question, Answer | Lost]]:
        """Each question with its answer, in the order in which the answers come."""
        waiting = list(questions)[::-1]
        busy: dict[Connection, tuple[_Worker, Question, float]] = {}
        try:
            while waiting or busy:
                while waiting and self._idle:
                    worker, question = self._idle.pop(), waiting.pop()
                    worker.pipe.send(question)
                    busy[worker.pipe] = (worker, question, time.monotonic() + self._seconds(question))
                yield from self._collected(busy)
        finally:
            for worker, _, _ in busy.values():
                worker.end()
                self._idle.append(self._started())

    def _collected(self, busy: dict[Connection, tuple[_Worker, Question, float]]) -> Iterator[Any]:
        """The answers that are there, or time out."""
        soonest = min(deadline for _, _, deadline in busy.values())
        ready = set(wait(list(busy), max(0.0, soonest - time.monotonic())))
        now = time.monotonic()
        for pipe in [pipe for pipe, (_, _, deadline) in busy.items() if pipe in ready or now > deadline]:
            worker, question, _ = busy.pop(pipe)
            answer = worker.answer() if pipe in ready else Lost(f"took longer than {self._seconds(question):.0f} s")
            if isinstance(answer, Lost):
                worker.end()
                worker = self._started()
            self._idle.append(worker)
            yield question, answer

    def _started(self) -> _Worker:
        own, other = multiprocessing.Pipe()
        process = self._process(target=_serve, args=(other, self._answers), daemon=True)
        with _no_collection():
            process.start()
        other.close()
        return _Worker(process, own)


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection

    def answer(self) -> Any:
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(5)
            return Lost(f"ended the process that checked it (exit status {self.process.exitcode})")

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextmanager
def _no_collection() -> Iterator[None]:
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _serve(pipe: Connection, answers: Callable[[Any], Any]) -> None:
    # What is inherited is not collected here: its end may wait for threads that only the forking process has.
    gc.freeze()
    gc.enable()
    bounded(None, MEGABYTES)
    while True:
        try:
            question = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            answer = answers(question)
        except MemoryError:
            answer = Lost(f"took more than {MEGABYTES} MB")
        except KeyboardInterrupt:
            return
        pipe.send(answer)


def _process() -> Callable[..., BaseProcess]:
    """Forked processes know the ops that were declared in this one, and need not read the library again."""
    forks = "fork" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork").Process if forks else multiprocessing.get_context("spawn").Process


def _cores() -> range:
    return range(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
