# SPDX-License-Identifier: Apache-2.0
"""What waits for more of its kind to finish first, however deep: generators on a stack of their own, not Python's."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")
# A computation that yields other ones, and is sent the result of each.
Waiting = Generator["Waiting[Any]", Any, T]


def finished(first: Waiting[T]) -> T:
    """The result of a computation, once those it waits for have theirs.

    An error is raised in each that waits for what raised it, from the innermost out, as if they had been called.

    >>> def depth(n):
    ...     return 0 if n == 0 else 1 + (yield depth(n - 1))
    >>> finished(depth(10_000))
    10000
    """
    stack: list[Waiting[Any]] = [first]
    result: Any = None
    error: BaseException | None = None
    while stack:
        try:
            stack.append(stack[-1].send(result) if error is None else stack[-1].throw(error))
            result = error = None
        except StopIteration as stop:
            stack.pop()
            result, error = stop.value, None
        except BaseException as raised:
            stack.pop()
            result, error = None, raised
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]
