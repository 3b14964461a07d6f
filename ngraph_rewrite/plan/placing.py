# SPDX-License-Identifier: Apache-2.0
"""Addresses in loops as they are outside of all of them: each is looked up once, however many loops are around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ngraph_rewrite.plan.launches import Loop, Place, Work
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.waiting import Waiting, finished


@dataclass
class _Moves:
    """The slots that move with each time of a loop, with their steps; its first slot is the one numbered `start`."""

    start: int
    steps: list[tuple[int, int]] = field(default_factory=list)


# Where something lies outside, and by how many bytes it moves with the times of which loops.
_Found = tuple[Ref, tuple[tuple[_Moves, int], ...]]


def placed(work: Iterable[Work | Loop]) -> list[Work | Loop]:
    """Work whose loops name what lies outside of all of it, and say which slots (counted through a loop) move."""
    return finished(_Placing().placed(work, {}))


class _Placing:
    def __init__(self) -> None:
        self._slot = 0

    def placed(self, work: Iterable[Work | Loop], names: Mapping[object, _Found]) -> Waiting[list[Work | Loop]]:
        """Work as it is outside, where names stand for what lies there."""
        found: list[Work | Loop] = []
        for one in work:
            found.append((yield self._loop(one, names)) if isinstance(one, Loop) else self._work(one, names))
        return found

    def _loop(self, loop: Loop, names: Mapping[object, _Found]) -> Waiting[Loop]:
        moves, inside = _Moves(self._slot), names
        if loop.places is not None:
            inside = {key: _outside(place, names, moves) for key, place in loop.places.items()}
        work = yield self.placed(loop.work, inside)
        flag = None if loop.flag is None else _of(loop.flag, names)[0]
        steps = loop.steps if loop.places is None else tuple(moves.steps)
        return loop._replace(work=tuple(work), steps=steps, flag=flag, places=None)

    def _work(self, work: Work, names: Mapping[object, _Found]) -> Work:
        arguments = list(work.arguments)
        for at, argument in enumerate(arguments, self._slot):
            if isinstance(argument, Ref):
                arguments[at - self._slot], moves = _of(argument, names)
                for loop, step in moves:
                    loop.steps.append((at - loop.start, step))
        self._slot += len(arguments)
        return work._replace(arguments=tuple(arguments))


def _of(ref: Ref, names: Mapping[object, _Found]) -> _Found:
    """What `ref` names: what no loop has a place for is the same everywhere."""
    found = names.get((ref.space, ref.key))
    return (ref, ()) if found is None else (found[0].moved(ref.offset), found[1])


def _outside(place: Place, names: Mapping[object, _Found], own: _Moves) -> _Found:
    ref, moves = _of(place.ref, names)
    return ref, ((own, place.step), *moves) if place.step else moves
