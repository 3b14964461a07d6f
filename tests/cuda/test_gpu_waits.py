# SPDX-License-Identifier: Apache-2.0
"""Launches of a graph wait for whatever touches the same bytes: what each one reads and writes is looked at.

Where two of them may run at once, neither writes what the other one reads or writes, in whatever order they ran here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from gpu_examples import EMULATED
from numpy.typing import NDArray

import ngraph_rewrite as ng
from ngraph_rewrite.runtime.cuda.host_device import HostDevice, HostLaunches
from ngraph_rewrite.runtime.ptx.memory import GlobalSpace
from ngraph_rewrite.runtime.ptx.program import Program
from ngraph_rewrite.targets.device_launches import UnrolledLaunches
from ngraph_rewrite.testing.strategies.drafts.growing import numbered_program
from ngraph_rewrite.testing.whole.lowered import setup_of
from ngraph_rewrite.testing.whole.running import wrong_on_cuda

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(not EMULATED, reason="only the emulator sees what is read")]

Bytes = NDArray[np.int64]


class Touched:
    """The bytes that launches read and write, and which pairs of them may run at once.

    Attributes:
        apart: How many such pairs there were.
        met: What two of them did to the same bytes.
    """

    def __init__(self) -> None:
        self.apart, self.met = 0, list[str]()
        self._launches = list[tuple[str, list[Bytes], list[Bytes]]]()

    def begin(self, name: str) -> None:
        """Another launch begins."""
        self._launches.append((name, [], []))

    def note(self, writes: bool, addresses: Bytes, size: int) -> None:
        """Threads of the last one touch so many bytes each."""
        if self._launches:
            self._launches[-1][1 + writes].append((np.unique(addresses)[:, None] + np.arange(size)).ravel())

    def end(self, order: Sequence[int], after: Sequence[Sequence[int]]) -> None:
        """All launches of a graph have run, in an order; compare those that do not wait for each other."""
        found = {n: (name, *map(_joined, some)) for n, (name, *some) in zip(order, self._launches, strict=True)}
        self._launches.clear()
        for one, other in _apart(after):
            self.apart += 1
            (first, reads, writes), (second, reads_too, writes_too) = found[one], found[other]
            for does, mine, others in (
                ("writes what {} writes", writes, writes_too),
                ("writes what {} reads", writes, reads_too),
                ("reads what {} writes", reads, writes_too),
            ):
                if np.intersect1d(mine, others).size:
                    self.met.append(f"{one}, {first}, {does.format(f'{other}, {second},')}")


def _joined(pieces: Sequence[Bytes]) -> Bytes:
    return np.unique(np.concatenate([*pieces, np.zeros(0, np.int64)]))


def _apart(after: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Pairs of launches of which none waits for the other, nor for what does."""
    before = list[set[int]]()
    for waits in after:
        before.append({*waits}.union(*(before[other] for other in waits)))
    return ((one, other) for one, other in combinations(range(len(after)), 2) if one not in before[other])


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> Touched:
    """What launches of graphs touch, from now on."""
    found, waits = Touched(), dict[int, Sequence[Sequence[int]]]()
    load, store, record, run, launch = (
        GlobalSpace.load, GlobalSpace.store, HostDevice.record, HostLaunches.run, Program.launch,
    )  # fmt: skip

    def loaded(self: GlobalSpace, addresses: Bytes, kind: np.dtype[Any], *how: Any) -> Any:
        found.note(False, addresses, kind.itemsize)
        return load(self, addresses, kind, *how)

    def stored(self: GlobalSpace, addresses: Bytes, values: Any, who: Any) -> None:
        found.note(True, addresses, values.dtype.itemsize)
        store(self, addresses, values, who)

    def recorded(self: HostDevice, launches: Any, after: Any = None, marks: Any = ()) -> HostLaunches:
        made = record(self, launches, after, marks)
        waits[id(made)] = [(n - 1,) if n else () for n in range(len(launches))] if after is None else after
        return made

    def ran(self: HostLaunches) -> None:
        run(self)
        found.end(self._order, waits[id(self)])

    def launched(self: Program, *given: Any) -> None:
        found.begin(self.name)
        launch(self, *given)

    for owner, name, now in (
        (GlobalSpace, "load", loaded), (GlobalSpace, "store", stored), (HostDevice, "record", recorded),
        (HostLaunches, "run", ran), (Program, "launch", launched),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, now)
    return found


def test_a_step_of_training_waits_for_what_it_reads(touched: Touched) -> None:
    """Weights are read and written, values have several readers, and parts of the arena are used again."""
    h, n, k = ng.Axis("H", 3), ng.Axis("N", 2), ng.Axis("K", 2)
    data, want = ng.placeholder([h, n]), ng.placeholder([k, n])
    first = ng.variable([ng.Axis("C", 3), h], initial_value=np.linspace(-1, 1, 9).reshape(3, 3))
    second = ng.variable([k, first.axes[0]], initial_value=np.linspace(0, 1, 6).reshape(2, 3))
    hidden = ng.tanh(ng.dot(first, data))
    loss = ng.sum(ng.square(ng.dot(second, hidden) - want), out_axes=[])
    steps = ng.doall([ng.assign(v, v - 0.1 * ng.deriv(loss, v)) for v in (first, second)])
    with ng.make_transformer("cuda") as transformer:
        step = transformer.computation([loss, steps, ng.sum(hidden, out_axes=[n])], data, want)
        for _ in range(2):
            step(np.linspace(-1, 1, 6).reshape(3, 2), np.linspace(0, 1, 4).reshape(2, 2))
    assert touched.apart and not touched.met


@pytest.mark.parametrize("number", range(3))
def test_a_drawn_program_waits_for_what_it_reads(touched: Touched, number: int) -> None:
    assert wrong_on_cuda(numbered_program(7, number), setup_of(None, 0)) is None
    assert not touched.met


def test_launches_that_wait_for_nothing_are_found_out(touched: Touched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UnrolledLaunches, "after", lambda self, rows: [()] * len(self))
    x = ng.placeholder((3, 3))
    with ng.make_transformer("cuda") as transformer:
        computation = transformer.computation(ng.numpy.cumsum(ng.numpy.cumsum(x, axis=0), axis=1), x)
        computation(np.ones((3, 3), np.float32))
    (met,) = touched.met
    assert met.startswith("0, ") and " writes what 1, " in met and met.endswith(" reads")
