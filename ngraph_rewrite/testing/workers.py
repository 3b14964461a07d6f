# SPDX-License-Identifier: Apache-2.0
"""Questions answered by processes of their own, so that one that takes too long, or too much memory, can be given up.

A worker answers one question after another. Who does not answer in time is ended, and another takes its place. One that
says what it is at has its time from then on, and is remembered by that if no answer comes.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
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
    """What stands for an answer that never came, in words.

    Attributes:
        at: What the process was at, as it said by `say`; None if it said nothing.
    """

    why: str
    at: str | None = None


@dataclass(frozen=True)
class _At:
    what: str


# In a process that answers: where questions come from.
_ASKING: ContextVar[Connection | None] = ContextVar("asking", default=None)


def say(what: str) -> None:
    """In a process that answers, say what it is at: its time begins anew. Elsewhere nobody listens."""
    pipe = _ASKING.get()
    if pipe is not None:
        pipe.send(_At(what))


class Workers(Generic[Question, Answer]):
    """Processes that answer questions.

    Args:
        answers: Gives the answer to a question. It is inherited by the processes where they are forked, and
            pickled where they cannot be.
        count: How many processes at most; by default one for each core. There are no more of them than questions.
        seconds: How long one answer may take, or what says so of a question.
        megabytes: Of memory for each process; None for no bound.
    """

    def __init__(
        self,
        answers: Callable[[Question], Answer],
        count: int | None = None,
        seconds: float | Callable[[Question], float] = 60.0,
        megabytes: int | None = MEGABYTES,
    ) -> None:
        self._answers, self._megabytes = answers, megabytes
        self._seconds = seconds if callable(seconds) else lambda _: seconds
        self._process = _process()
        self._count = count or cores()
        self._idle: list[_Worker] = []

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
                while waiting and (self._idle or len(busy) < self._count):
                    worker, question = self._idle.pop() if self._idle else self._started(), waiting.pop()
                    worker.pipe.send(question)
                    worker.at = None
                    busy[worker.pipe] = (worker, question, time.monotonic() + self._seconds(question))
                yield from self._collected(busy)
        finally:
            for worker, _, _ in busy.values():
                worker.end()

    def _collected(self, busy: dict[Connection, tuple[_Worker, Question, float]]) -> Iterator[Any]:
        """The answers that are there, or time out; who only says what it is at goes on."""
        soonest = min(deadline for _, _, deadline in busy.values())
        ready = set(wait(list(busy), max(0.0, soonest - time.monotonic())))
        now = time.monotonic()
        for pipe in [pipe for pipe, (_, _, deadline) in busy.items() if pipe in ready or now > deadline]:
            worker, question, _ = busy.pop(pipe)
            seconds = self._seconds(question)
            answer = worker.answer() if pipe in ready else worker.lost(f"took longer than {seconds:.0f} s")
            if isinstance(answer, _At):
                worker.at, busy[pipe] = answer.what, (worker, question, now + seconds)
                continue
            if isinstance(answer, Lost):
                worker.end()
            else:
                self._idle.append(worker)
            yield question, answer

    def _started(self) -> _Worker:
        own, other = multiprocessing.Pipe()
        process = self._process(target=_serve, args=(other, self._answers, self._megabytes), daemon=True)
        with _no_collection():
            process.start()
        other.close()
        return _Worker(process, own)


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    at: str | None = None

    def answer(self) -> Any:
        try:
            received = self.pipe.recv()
            return self.lost(received.why) if isinstance(received, Lost) else received
        except (EOFError, OSError):
            self.process.join(5)
            return self.lost(f"ended the process that checked it ({_ended(self.process.exitcode)})")

    def lost(self, why: str) -> Lost:
        return Lost(why, self.at)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _ended(status: int | None) -> str:
    """How a process ended, with the name of the signal that ended it.

    >>> _ended(7), _ended(-11)
    ('exit status 7', 'exit status -11, SIGSEGV')
    """
    name = next((f", {one.name}" for one in signal.Signals if status == -one), "")
    return f"exit status {status}{name}"


@contextmanager
def _no_collection() -> Iterator[None]:
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _serve(pipe: Connection, answers: Callable[[Any], Any], megabytes: int | None) -> None:
    # What is inherited is not collected here: its end may wait for threads that only the forking process has.
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # many terms are made and few cycles
    gc.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; who asks ends those who answer
    bounded(None, megabytes)
    _ASKING.set(pipe)
    while True:
        try:
            question = pipe.recv()
        except EOFError:
            return
        try:
            answer = answers(question)
        except MemoryError:
            answer = Lost(f"took more than {megabytes} MB")
        pipe.send(answer)


def _process() -> Callable[..., BaseProcess]:
    """Forked processes know the ops that were declared in this one, and need not read the library again."""
    forks = "fork" in multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("fork").Process if forks else multiprocessing.get_context("spawn").Process


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
