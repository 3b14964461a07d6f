# SPDX-License-Identifier: Apache-2.0
"""Processes that compile kernels beside this one: each takes the next from one list, until there are none.

A helper is a Python of its own, started anew rather than forked, so that it needs nothing of the program that runs
here. It reads sources from the cache folder and writes object code into it. What a helper does not do, because it could
not be started, did not start in time or came to an end, is still to be done by who asked.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from ngraph_rewrite.cache import Cache

WORTH = 6  # so many kernels take longer than a helper needs to start
_PROGRAM = """
import sys, json
path, folder = json.loads(sys.stdin.readline())
sys.path[:] = path
from ngraph_rewrite.runtime.helping import serve
serve(folder)
"""


@contextmanager
def helped(names: deque[str], cache: Cache, count: int) -> Iterator[None]:
    """While this lasts, helpers take names of kernels whose sources are in the cache; at its end none has one.

    Args:
        names: Shared with the caller, who takes from it too.
        count: The number of helpers at most; there are fewer if that is not worth it.
    """
    helpers = []
    for _ in range(min(count, len(names) // WORTH, _idle())):
        process = _started()
        if process is None:
            break
        helpers.append(_Helper(process, names, cache))
    try:
        yield
    except BaseException:
        names.clear()
        for helper in helpers:
            helper.process.kill()
        raise
    finally:
        for helper in helpers:
            helper.end()


def _idle() -> int:
    """How many cores have had nothing to do, as far as the system tells: helpers take no time from others."""
    cores = os.cpu_count() or 1
    return round(cores - os.getloadavg()[0]) if hasattr(os, "getloadavg") else cores


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

    def __init__(self, process: subprocess.Popen[str], names: deque[str], cache: Cache) -> None:
        self.process, self._names, self._ready = process, names, False
        self._first = json.dumps([[p for p in sys.path if isinstance(p, str)], str(cache.folder)])
        self._thread = threading.Thread(target=self._feed, name="ngraph_rewrite compiling", daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        """Name after name, as long as it answers; what it did not answer for goes back."""
        assert self.process.stdin is not None and self.process.stdout is not None
        answered = _asked(self.process.stdin, self.process.stdout, self._first)
        self._ready = True
        while answered:
            try:
                name = self._names.popleft()
            except IndexError:
                return
            answered = _asked(self.process.stdin, self.process.stdout, name)
            if not answered:
                self._names.append(name)

    def end(self) -> None:
        """Wait for what it is at, unless it has not begun."""
        if not self._ready:
            self.process.kill()
        self._thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            _closed(pipe.close)
        self.process.wait()


def _asked(to: IO[str], back: IO[str], line: str) -> bool:
    """Whether a line that was sent is answered."""
    try:
        to.write(line + "\n")
        to.flush()
        return bool(back.readline())
    except (OSError, ValueError):
        return False


def _closed(close: Callable[[], None]) -> None:
    try:
        close()
    except OSError:
        pass  # it is gone already, and what was to be sent to it with it
