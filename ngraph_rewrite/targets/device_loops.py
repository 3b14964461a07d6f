# SPDX-License-Identifier: Apache-2.0
"""Launches of which some are repeated for as long as a flag on the device is true.

The host looks at it before each time. What stands between two such decisions is recorded as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.runtime.cuda.device import Array, Changed, Device, Launched, Recorded

DEEPEST = 200  # spans in each other: Python functions call each other for each


class Span(NamedTuple):
    """Launches that are repeated: the first, the one after the last, where their flag lies, and how often at most.

    Those whose arguments move from time to time stand there once for each: `parts` are as many as the limit. `where` is
    the user's line that built them, for errors.
    """

    first: int
    end: int
    flag: Ref
    limit: int | None = None
    parts: int = 1
    where: str | None = None


class RepeatedLaunches:
    """Launches one after the other, with spans that are repeated.

    Args:
        spans: Each whole inside of another one, or outside of it.
        place: From a flag to its address.
    """

    def __init__(
        self, device: Device, launches: Sequence[Launched], spans: Sequence[Span], place: Callable[[Ref], int]
    ) -> None:
        self._device, self._launches, self._place = device, launches, place
        self._recorded: list[tuple[range, Recorded]] = []
        ordered = sorted(spans, key=lambda span: (span.first, -span.end))
        _check_depth(ordered)
        self._runs = [*self._steps(0, len(launches), ordered)]

    def _steps(self, first: int, end: int, spans: Sequence[Span]) -> Iterator[Callable[[], None]]:
        """What is run, one after the other, for the launches from one to another."""
        spans = [span for span in spans if first <= span.first < end]
        while spans:
            span = spans[0]
            inside = [other for other in spans[1:] if other.first < span.end]
            yield from self._recording(first, span.first)
            yield self._repeating(span, [[*self._steps(*part, inside)] for part in _parts(span)])
            first, spans = span.end, spans[1 + len(inside) :]
        yield from self._recording(first, end)

    def _recording(self, first: int, end: int) -> Iterator[Callable[[], None]]:
        if first < end:
            made = self._device.record(self._launches[first:end])
            self._recorded.append((range(first, end), made))
            yield made.run

    def _repeating(self, span: Span, parts: Sequence[Sequence[Callable[[], None]]]) -> Callable[[], None]:
        found = np.zeros(1, np.bool_)

        def goes_on() -> bool:
            self._device.download(found, self._place(span.flag))
            return bool(found[0])

        def run() -> None:
            for i in count() if span.limit is None else range(span.limit):
                if not goes_on():
                    break
                _run_all(parts[i % len(parts)])

        return run

    def run(self) -> None:
        _run_all(self._runs)

    def change(self, changed: Sequence[Changed]) -> None:
        for numbers, recorded in self._recorded:
            own = [(launch - numbers.start, place, now) for launch, place, now in changed if launch in numbers]
            if own:
                recorded.change(own)

    def download(self, array: Array, address: int, mark: int) -> None:
        self._device.download(array, address)

    def close(self) -> None:
        """Free what the device keeps of them."""
        for _, recorded in self._recorded:
            recorded.close()


def _check_depth(spans: Iterable[Span]) -> None:
    """Refuse spans in each other that are too many for functions in each other."""
    ends: list[int] = []
    for span in spans:
        while ends and ends[-1] <= span.first:
            ends.pop()
        ends.append(span.end)
        if len(ends) > DEEPEST:
            raise KernelError(
                f"loops and branches are in each other more than {DEEPEST} deep, and the host decides on each",
                where=span.where,
                do='run the computation with the target "cpu"',
            )


def _parts(span: Span) -> Iterator[tuple[int, int]]:
    """The first launch of each part and the one after its last."""
    size = (span.end - span.first) // span.parts
    return ((first, first + size) for first in range(span.first, span.end, size))


def _run_all(steps: Iterable[Callable[[], Any]]) -> None:
    for run in steps:
        run()
