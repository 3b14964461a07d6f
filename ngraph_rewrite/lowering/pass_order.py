# SPDX-License-Identifier: Apache-2.0
"""Where passes of one's own stand among the standard ones: each beside a neighbour that it names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.terms.info import user_line


def in_place(standard: Sequence[str], passes: Iterable[GraphPass]) -> list[str]:
    """The names of the standard passes with those of one's own among them.

    Raises:
        ArgumentError: for something else than a pass, one whose name is taken, or an unknown neighbour.
    """
    own: dict[str, GraphPass] = {}
    for one in passes:
        if not isinstance(one, GraphPass):
            raise ArgumentError(f"{one!r} is not a pass", where=user_line(), do="give instances of GraphPass")
        if one.name in (*standard, *own):
            raise ArgumentError(f"two passes are called {one.name}", where=user_line(), do="set `name` of one of them")
        own[one.name] = one
    found: list[str] = list(standard)
    waiting = list(own.values())
    while waiting:
        ready = [p for p in waiting if (p.before or p.after or standard[0]) in found]
        if not ready:
            raise ArgumentError(
                f"no pass is called {waiting[0].before or waiting[0].after}",
                where=user_line(),
                do=f"one of {', '.join((*standard, *own))}",
            )
        one = ready[0]
        waiting.remove(one)
        found.insert(_position(one, found, own, standard), one.name)
    return found


def _position(one: GraphPass, found: Sequence[str], own: Mapping[str, GraphPass], standard: Sequence[str]) -> int:
    """Beside its neighbour; of several at one side of it, the first given runs first."""
    if one.after is None:
        return found.index(one.before or standard[0])
    at = found.index(one.after) + 1
    while at < len(found) and found[at] in own and own[found[at]].after == one.after:
        at += 1
    return at
