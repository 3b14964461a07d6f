# SPDX-License-Identifier: Apache-2.0
"""Terms one after another, arguments first: each that stands below some roots, once, however deep."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ngraph_rewrite.terms.op import Op


def topological(roots: Iterable[Op], ends: Container[Op] | None = None) -> list[Op]:
    """Every term reachable from `roots`, arguments first, each once; any depth.

    Args:
        ends: Terms that nothing is reached through.
    """
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
            if term.args and (ends is None or term not in ends):
                stack += (term, None)
                stack += term.args[::-1]
            else:
                order.append(term)
    return order
