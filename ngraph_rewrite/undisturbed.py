# SPDX-License-Identifier: Apache-2.0
"""Work that no signal may cut: an import that ended half way, of Numba above all, fails ever after in a process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """What handlers of signals would do inside, they do at the end: ``Ctrl-C`` raises `KeyboardInterrupt` there.

    Python runs them in the main thread only; in others there is nothing to wait with.

    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> try:
    ...     with undisturbed():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("goes on")
    ... except KeyboardInterrupt:
    ...     print("is interrupted")
    goes on
    is interrupted
    >>> _ = signal.signal(signal.SIGINT, before)
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    before = {number: handler for number in signal.valid_signals() if callable(handler := signal.getsignal(number))}
    try:
        for number in before:
            signal.signal(number, lambda come, _: noted.append(come))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _let_come(noted)


def _let_come(noted: list[int]) -> None:
    """Signals that waited; the handler of one may raise, and the others come all the same."""
    try:
        while noted:
            signal.raise_signal(noted.pop(0))
    finally:
        if noted:
            _let_come(noted)
