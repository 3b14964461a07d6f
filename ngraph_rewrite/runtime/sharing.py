# SPDX-License-Identifier: Apache-2.0
"""Kernels that this process and its helpers compile, each once: those that take longest first."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.helpers import Work, helped
from ngraph_rewrite.runtime.progress import shown_progress

Made = TypeVar("Made")


class Helping(NamedTuple):
    """What helpers do.

    Attributes:
        module: The module whose function ``serve`` compiles kernels whose names come in.
        given: The arguments of that function.
        worth: So many kernels take longer than a helper needs to start.
        helpers: How many there may be.
    """

    module: str
    given: Sequence[str]
    worth: int
    helpers: int


def compile_shared(sources: Mapping[str, str], compile: Callable[[str], Made], helping: Helping) -> dict[str, Made]:
    """Compile what sources define, here and by helpers, as far as the length of a source tells how long it takes.

    Args:
        sources: By name.
        compile: What this process does to one, by its name.

    Returns:
        What this process made of them; helpers were at the others.
    """
    names = deque(sorted(sources, key=lambda name: len(sources[name]), reverse=True))
    work = Work(names, helping.module, helping.given, helping.worth)
    own: dict[str, Made] = {}
    with shown_progress("compiling kernels", len(names)) as tell, helped(work, helping.helpers):
        while (taken := _next(names)) is not None:
            own[taken] = compile(taken)
            tell(len(sources) - len(names))
    return own


def _next(names: deque[str]) -> str | None:
    """The next name, or None if helpers took the last one."""
    try:
        return names.popleft()
    except IndexError:
        return None


def serve_names(cache: Cache, compile: Callable[[str, str], object]) -> None:
    """Be a helper: answer each line, a name, once its source was compiled or seen to fail; it ends with the input.

    A failure is no answer of its own: who asked finds nothing in the folder, tries it and sees the reason.

    Args:
        cache: Where sources are, and where what they become is kept.
        compile: What is done to a source and its name.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for who asked, who will end this
    print("ready", flush=True)
    for line in sys.stdin:
        name = line.strip()
        source = cache.read(name, "py")
        if source is not None:
            try:
                compile(source.decode(), name)
            except KernelError:
                pass
        print("done", flush=True)
