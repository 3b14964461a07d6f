# SPDX-License-Identifier: Apache-2.0
"""Signals wait for what they may not cut, and come when it is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from ngraph_rewrite.undisturbed import undisturbed


@pytest.fixture
def seen() -> Iterator[list[str]]:
    """What the handlers of two signals did: that of the first raises."""
    said: list[str] = []

    def first(*_: object) -> None:
        said.append("first")
        raise KeyboardInterrupt

    before = [
        (number, signal.signal(number, handler))
        for number, handler in ((signal.SIGINT, first), (signal.SIGTERM, lambda *_: said.append("second")))
    ]
    yield said
    for number, handler in before:
        signal.signal(number, handler)


def test_signals_come_at_the_end_and_all_of_them(seen: list[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        with undisturbed(), undisturbed():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            seen.append("done")
    assert seen == ["done", "first", "second"]


def test_handlers_are_there_again_after_an_error(seen: list[str]) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(ZeroDivisionError), undisturbed():
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_other_threads_have_no_signals_to_wait_for(seen: list[str]) -> None:
    def work() -> None:
        with undisturbed():
            seen.append("worked")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == ["worked"]
