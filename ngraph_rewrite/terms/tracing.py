# SPDX-License-Identifier: Apache-2.0
"""Who listens while a computation runs: each op it computes is told as a one-line call, as soon as it is there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

import numpy as np

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.calls import call_line, call_names
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

Say = Callable[[str], None]
# Nobody computes them: they are there when a computation begins.
_GIVEN = frozenset({"core.constant", "core.placeholder", "core.variable", "core.parameter"})
_SHOWN = 6  # elements of an array that is shown as it is
_listening: ContextVar[tuple[Say, bool] | None] = ContextVar("listening", default=None)
# How many blocks of `trace_calls` there are now, in all threads: machine code looks here. NumPy adds in one step.
told = np.zeros(1, np.int64)


@contextmanager
def trace_calls(to: TextIO | Say | None = None, *, values: bool = False) -> Iterator[None]:
    """Every computation that is called inside tells, line by line, which ops it computes.

    Args:
        to: A stream to print to, or a function that takes each line; the standard output by default.
        values: Add to each line what was computed: the elements, or their range if there are many.

    Target ``cpu`` then runs kernel by kernel: what a kernel computes on the way is told with it. It tells of the terms
    that lowering left; ``reference`` tells of those that were written. Calls from other threads are not told, and none
    that `Computation.step` makes: it tells itself.

    Raises:
        ArgumentError: if `to` is neither a stream nor a function.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"H": 2}, name="x")
    >>> with ng.make_transformer("reference") as transformer, trace_calls(values=True):
    ...     _ = transformer.computation(ng.exp(x) * 2, x)([0, 1])  # doctest: +ELLIPSIS
    %1: float32[H:2] = axes.exp(%x)  # ...  -> [1. 2.71828]
    %2: float32[H:2] = axes.multiply(%1, 2.0)  # ...  -> [2. 5.43656]
    """
    stream = sys.stdout if to is None else to
    write = getattr(stream, "write", None)
    if write is None and not callable(stream):
        raise ArgumentError(f"{to!r} is neither a stream nor a function", where=user_line())
    say: Say = stream if write is None else lambda line: print(line, file=stream)  # type: ignore[assignment, arg-type]
    token = _listening.set((say, values))
    np.add(told, 1, out=told)
    try:
        yield
    finally:
        np.subtract(told, 1, out=told)
        _listening.reset(token)


def listener(roots: Iterable[Op]) -> CallLog | None:
    """What one run of a computation of `roots` has to tell; None if nobody listens."""
    found = _listening.get()
    return None if found is None else CallLog(*found, roots)


class CallLog:
    """The calls of one run."""

    def __init__(self, say: Say, values: bool, roots: Iterable[Op]) -> None:
        self._say, self._values = say, values
        self._names = call_names(t for t in topological(roots) if t.definition.name != "core.constant")
        self._told: set[Op] = set()

    def tell(self, term: Op, value: Callable[[], Any] | None = None) -> None:
        """Tell of one call, again if it happens again."""
        self._told.add(term)
        if term.definition.name not in _GIVEN:
            known = f"  -> {summary(value())}" if value is not None and self._values else ""
            self._say(call_line(term, self._names) + known)

    def tell_all(self, term: Op, value: Callable[[], Any] | None = None) -> None:
        """Tell of a term, and before that of all that it was computed from and that was not told yet."""
        stack = [term] if term not in self._told else []
        while stack:
            one = stack[-1]
            missing = [a for a in one.args if a not in self._told]
            stack.extend(missing[::-1])
            if not missing:
                stack.pop()
                if one not in self._told:
                    self.tell(one, value if one is term else None)


def summary(value: Any) -> str:
    """An array in a few words: its elements, or their range; how many are not finite.

    >>> summary(np.array([[1.0, 2.0]])), summary(np.arange(100)), summary(np.array([np.nan, *range(9)]))
    ('[[1. 2.]]', '0 to 99, mean 49.5', '0 to 8, mean 4, 1 not finite')
    """
    if isinstance(value, tuple):
        return f"({', '.join(map(summary, value))})"
    array = np.asarray(value)
    if array.size <= _SHOWN:
        return " ".join(np.array2string(array, precision=5, separator=" ").split())
    if array.dtype.kind == "b":
        return f"{np.count_nonzero(array)} of {array.size} true"
    finite = array[np.isfinite(array)]
    wrong = f", {array.size - finite.size} not finite" if finite.size < array.size else ""
    if not finite.size:
        return wrong.removeprefix(", ")
    return f"{finite.min():.6g} to {finite.max():.6g}, mean {finite.mean(dtype=np.float64):.6g}{wrong}"
