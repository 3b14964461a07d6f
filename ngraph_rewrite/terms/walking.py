# SPDX-License-Identifier: Apache-2.0
"""Terms one after another, arguments first: each that stands below some roots, once, however deep."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ngraph_rewrite.terms.op import Op


def topological(roots: Iterable[Op]) -> list[Op]:
    """Every term reachable from `roots`, arguments first, each once; any depth."""
    order: list[Op] = []
    seen: set[Op] = set()
    stack: list[Op | None] = [*roots]
    stack.reverse()
    while stack:
        term = stack.pop()
        if term is None:  # what stands below it was waiting for its arguments
            order.append(stack.pop())  # type: ignore[arg-type]
        elif term not in seen:
            seen.add(term)
            if term.args:
                stack += (term, None)
                stack += term.args[::-1]
            else:
                order.append(term)
    return order


def topological_to(roots: Iterable[Op], ends: Container[Op]) -> list[Op]:
    """As `topological`, but what stands below a term of `ends`, and nowhere else, is left out."""
    order: list[Op] = []
    seen: set[Op] = set()
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        term, ready = stack.pop()
        if ready:
            order.append(term)
        elif term not in seen:
            seen.add(term)
            stack.append((term, True))
            if term not in ends:
                stack.extend([(arg, False) for arg in term.args[::-1] if arg not in seen])
    return order
