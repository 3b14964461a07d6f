# SPDX-License-Identifier: Apache-2.0
"""The command ``fuzz``: whole programs drawn and checked at length, with a line of progress, and the verdict last."""

from __future__ import annotations

import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.explaining.files import demand_writable
from ngraph_rewrite.runtime.cuda.device import find_device
from ngraph_rewrite.testing.fuzz.session import EVERY, Session
from ngraph_rewrite.testing.strategies.drafts.growing import FAMILIES, drawn_ops
from ngraph_rewrite.testing.whole.lowered import setup_of
from ngraph_rewrite.testing.whole.suite import ASKED


def main(options: Namespace) -> int:
    """Check drawn programs for a while, and say what is wrong with some.

    Args:
        options: `seconds`, `programs`, `seed`, `output`, `families`, `checks` and `rules` of the command line.

    Returns:
        0 if nothing was found.
    """
    chosen, kinds = _families(options.families), _checks(options.checks)
    demand_writable(options.output)
    with tempfile.TemporaryDirectory() as folder:  # what is compiled here is met only once
        setup = replace(setup_of(options.rules, options.seed), cache=Cache(Path(folder)))
        session = Session(setup, options.output, chosen, kinds=kinds)
        with _progress(options.seconds, session) as tell:
            number = session.run(options.seconds if options.programs is None else None, options.programs, tell)
    for failure in session.failures:
        print(failure, end="\n\n")
    print(session.verdict(number))
    return 1 if session.failures else 0


def _families(names: list[str] | None) -> tuple[str, ...]:
    """The families asked for, those that have ops to draw."""
    unknown = [name for name in names or () if not drawn_ops([name])]
    if unknown:
        raise ArgumentError(f"there are no ops to draw in the family {unknown[0]}", do=f"one of {', '.join(FAMILIES)}")
    return tuple(names) if names else FAMILIES


def _checks(names: list[str] | None) -> tuple[str, ...]:
    """The checks asked for; by default those that need no GPU."""
    unknown = [name for name in names or () if name not in EVERY]
    if unknown:
        raise ArgumentError(f"no check of programs is called {unknown[0]}", do=f"one of {', '.join(EVERY)}")
    if "cuda" in (names or ()):
        find_device()
    return tuple(names) if names else tuple(kind for kind in EVERY if kind not in ASKED)


@contextmanager
def _progress(seconds: float, session: Session) -> Iterator[Callable[[int], None]]:
    """A line on the terminal; nothing where the errors go elsewhere."""
    columns = TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn()
    quiet, begun = not sys.stderr.isatty(), time.monotonic()
    with Progress(*columns, console=Console(stderr=True), disable=quiet, transient=True, auto_refresh=False) as bar:
        task = bar.add_task("drawing", total=seconds)

        def tell(number: int) -> None:
            says = f"{number} programs, {len(session.failures)} wrong"
            bar.update(task, completed=min(time.monotonic() - begun, seconds), description=says, refresh=True)

        yield tell
