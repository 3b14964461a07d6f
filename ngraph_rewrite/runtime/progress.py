# SPDX-License-Identifier: Apache-2.0
"""What somebody at a terminal sees of work that takes more than a second: a line that goes away in the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ngraph_rewrite.lazy import lazy_module

if TYPE_CHECKING:
    from rich import console, progress
else:
    console, progress = lazy_module("rich.console"), lazy_module("rich.progress")

PATIENCE = 1.0  # seconds in which nothing is shown


@contextmanager
def shown_progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to tell how much is done; it shows something on a terminal, after a second.

    >>> with shown_progress("counting", 3) as tell:
    ...     for number in range(3):
    ...         tell(number + 1)
    """
    bars: list[Any] = []
    start = time.monotonic()

    def tell(done: int) -> None:
        if not bars and time.monotonic() - start > PATIENCE and sys.stderr is not None and sys.stderr.isatty():
            bar = progress.Progress(console=console.Console(stderr=True), transient=True)
            bar.add_task(what, total=total)
            bar.start()
            bars.append(bar)
        for bar in bars:
            bar.update(bar.task_ids[0], completed=done)

    try:
        yield tell
    finally:
        for bar in bars:
            bar.stop()
