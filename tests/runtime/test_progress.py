# SPDX-License-Identifier: Apache-2.0
"""Progress is shown to somebody who waits at a terminal, and to nobody else."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ngraph_rewrite.runtime import progress
from ngraph_rewrite.runtime.progress import PATIENCE, shown_progress


class Screen(io.StringIO):
    """What a terminal would show, or a file would hold."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("seconds", [PATIENCE / 2, PATIENCE * 2])
def test_a_terminal_shows_what_takes_long(terminal: bool, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now, screen = [100.0], Screen(terminal)
    monkeypatch.setattr(progress, "time", type("", (), {"monotonic": staticmethod(lambda: now[0])}))
    monkeypatch.setattr(progress.sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with shown_progress("working", 3) as tell:
        tell(1)
        assert not screen.getvalue()
        now[0] += seconds
        tell(2)
        tell(3)
    assert ("working" in screen.getvalue()) == (terminal and seconds > PATIENCE)


def test_without_a_stream_for_errors_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a program with windows."""
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(progress.sys, "stderr", None)
    with shown_progress("working", 1) as tell:
        tell(1)


def test_what_fails_leaves_the_terminal_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    screen: Any = Screen(True)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(progress.sys, "stderr", screen)
    with pytest.raises(KeyError), shown_progress("working", 2) as tell:
        tell(1)
        raise KeyError
    shown = len(screen.getvalue())
    assert shown and len(screen.getvalue()) == shown
