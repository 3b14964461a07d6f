# SPDX-License-Identifier: Apache-2.0
"""What a block such as `ng.ordered` does to the terms that are built inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.info import Info

if TYPE_CHECKING:
    from ngraph_rewrite.terms.op import Op


class Construction(Protocol):
    """What a block such as `ng.ordered` does to the terms that are built inside it."""

    def arguments(self, definition: OpDef, args: tuple[Op, ...], info: Info) -> tuple[Op, ...]:
        """What a new term gets as its arguments instead of `args`."""

    def built(self, term: Op) -> None:
        """Take note of a new term."""

    def pending(self, term: Op) -> tuple[Op, ...]:
        """What a term built of this one would wait for."""


construction: ContextVar[Construction | None] = ContextVar("construction", default=None)


@contextmanager
def as_written() -> Iterator[None]:
    """Inside, no block around it changes what is built: for what is made of terms that stand already."""
    token = construction.set(None)
    try:
        yield
    finally:
        construction.reset(token)
