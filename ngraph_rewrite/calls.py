# SPDX-License-Identifier: Apache-2.0
"""Calls of a computation that nobody has any more but a function that calls it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol
from weakref import ref

from ngraph_rewrite.errors import InvalidHandleError
from ngraph_rewrite.terms.info import user_line

_PATIENCE = 10.0  # seconds that a call waits for the garbage collector at most


class Called(Protocol):
    """A computation: what makes a call, whatever the arguments are."""

    def _call(self, *args: Any, feed_dict: Any = None, out: Any = None) -> Any: ...


class Calls:
    """Makes the calls of a computation that machine code does not: what a computation keeps may not keep it.

    Its memory would wait for the garbage collector, who does not know how much it is. What he finds has no weak
    references any more before its `__del__` is called: other threads that call it wait for that.
    """

    __slots__ = ("__weakref__", "_computation")

    def __init__(self, computation: Called) -> None:
        self._computation: Callable[[], Called | None] = ref(computation)

    def keep(self, computation: Called) -> None:
        """From now on it is there as long as this."""
        self._computation = lambda: computation

    def _call(self, /, *args: Any, **given: Any) -> Any:
        return (self._computation() or self._awaited())._call(*args, **given)

    def _awaited(self) -> Called:
        end = time.monotonic() + _PATIENCE
        while (computation := self._computation()) is None:
            if time.monotonic() > end:
                what = "the computation that this function calls is gone"
                raise InvalidHandleError(what, where=user_line(), do="keep the computation beside it")
            time.sleep(0)
        return computation
