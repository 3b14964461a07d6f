# SPDX-License-Identifier: Apache-2.0
"""Processes that work beside this one: each takes the next name from one list, until there are none.

A helper is a Python of its own, started anew rather than forked, so that it needs nothing of the program that runs
here. It answers each name with a line, once it is done with it. What a helper does not do, because it could not be
started, did not start in time or came to an end, is still to be done by who asked.

``NGRAPH_REWRITE_HELPERS`` says how many there may be; by default there is one for each core that has nothing to do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, NamedTuple

from ngraph_rewrite.errors import ArgumentError

_VARIABLE = "NGRAPH_REWRITE_HELPERS"
_PROGRAM = """
import sys, json, importlib
path, module, given = json.loads(sys.stdin.readline())
sys.path[:] = path
importlib.import_module(module).serve(*given)
"""


class Work(NamedTuple):
    """What is to be done.

    Attributes:
        names: Shared with the caller, who takes from it too.
        module: The module whose function ``serve`` says that it is ready, and answers names that come in.
        given: The arguments of that function.
        worth: So many names take longer than a helper needs to start.
        took: Is told each name that was answered, and the answer, in a thread of its own.
    """

    names: deque[str]
    module: str
    given: Sequence[str]
    worth: int
    took: Callable[[str, str], object] = lambda name, answer: None


@contextmanager
def helped(work: Work, count: int) -> Iterator[None]:
    """While this lasts, helpers take names; at its end none has one.

    Args:
        count: The number of helpers at most; there are fewer if that is not worth it.

    Raises:
        ArgumentError: if ``NGRAPH_REWRITE_HELPERS`` is set to anything but a number.
    """
    helpers = []
    for _ in range(min(count, len(work.names) // work.worth, _allowed(_idle()))):
        process = _started()
        if process is None:
            break
        helpers.append(_Helper(process, work))
    try:
        yield
    except BaseException:
        work.names.clear()
        for helper in helpers:
            helper.process.kill()
        raise
    finally:
        for helper in helpers:
            helper.end()


def _allowed(idle: int) -> int:
    told = os.environ.get(_VARIABLE, str(max(idle, 0)))
    if not told.isdecimal():
        raise ArgumentError(f"{_VARIABLE} is {told!r}", do="set it to a number; 0 if no helper is to be started")
    return min(int(told), idle)


def _idle() -> int:
    """How many cores have nothing to do, as far as the system tells: helpers take no time from others."""
    cores = os.cpu_count() or 1
    return round(cores - min(os.getloadavg()[0], _running())) if hasattr(os, "getloadavg") else cores


def _running() -> float:
    """How many others run at this moment, where the system tells; what ran in the last minute may have ended."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].partition("/")[0]) - 1
    except (OSError, ValueError, IndexError):
        return float("inf")


def _started() -> subprocess.Popen[str] | None:
    if not sys.executable or getattr(sys, "frozen", False) or sys.flags.isolated:
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": "", "PYTHONSTARTUP": ""},
        )
    except OSError:
        return None


class _Helper:
    """A process and the thread that hands it names."""

    def __init__(self, process: subprocess.Popen[str], work: Work) -> None:
        self.process, self._work, self._ready = process, work, False
        self._first = json.dumps([[p for p in sys.path if isinstance(p, str)], work.module, work.given])
        self._thread = threading.Thread(target=self._feed, name="ngraph_rewrite helping", daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        """Name after name, as long as it answers; what it did not answer for goes back."""
        assert self.process.stdin is not None and self.process.stdout is not None
        answer = _asked(self.process.stdin, self.process.stdout, self._first)
        self._ready = True
        while answer is not None:
            try:
                name = self._work.names.popleft()
            except IndexError:
                return
            answer = _asked(self.process.stdin, self.process.stdout, name)
            if answer is None:
                self._work.names.append(name)
            else:
                self._work.took(name, answer)

    def end(self) -> None:
        """Wait for what it is at, unless it has not begun."""
        if not self._ready:
            self.process.kill()
        self._thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            _closed(pipe.close)
        self.process.wait()


def _asked(to: IO[str], back: IO[str], line: str) -> str | None:
    """The answer to a line, without its end; None if there is none."""
    try:
        to.write(line + "\n")
        to.flush()
        answer = back.readline()
    except (OSError, ValueError):
        return None
    return answer[:-1] if answer.endswith("\n") else None


def _closed(close: Callable[[], None]) -> None:
    try:
        close()
    except OSError:
        pass  # it is gone already, and what was to be sent to it with it
