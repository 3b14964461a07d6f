# SPDX-License-Identifier: Apache-2.0
"""What a handle knows beside its structure: name, metadata, scope and the user's line. Rules never see it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

NO_METADATA: Mapping[str, Any] = MappingProxyType({})
_metadata: ContextVar[Mapping[str, Any]] = ContextVar("metadata", default=NO_METADATA)
_scope: ContextVar[tuple[object, ...]] = ContextVar("scope", default=())
_PACKAGE = str(Path(__file__).parent.parent / "_")[:-1]  # with the separator: not ngraph_rewrite_of_mine
_NUMPY = str(Path(np.__file__).parent / "_")[:-1]  # its functions ask a term for an array
# What stands between ours and the user's line: a `with` of a block, a copy of what refuses to be copied.
_BETWEEN = frozenset((contextmanager.__code__.co_filename, copy.__code__.co_filename))
_PROGRAM = _PACKAGE + "demo.py"  # a program that ships: its lines are a user's lines


class Uid:
    """A fresh identity: what keeps two placeholders, draws or effects of the same form apart."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "uid"


class Info(NamedTuple):
    """What a handle knows beside its structure."""

    name: str | None = None
    metadata: Mapping[str, Any] = NO_METADATA
    filename: str = "<unknown>"
    lineno: int = 0
    initial: Any = None
    scope: tuple[object, ...] = ()

    @property
    def place(self) -> str:
        """``file:line`` of the line that built the handle."""
        return f"{self.filename}:{self.lineno}"


NO_INFO = Info()


@contextmanager
def metadata(**items: Any) -> Iterator[None]:
    """Every op built inside carries these items; in nested blocks the inner value wins.

    >>> from ngraph_rewrite.frontend.axes import constant
    >>> with metadata(layer="first"):
    ...     x = constant(1.0)
    >>> x.metadata["layer"]
    'first'
    """
    token = _metadata.set(MappingProxyType({**_metadata.get(), **items}))
    try:
        yield
    finally:
        _metadata.reset(token)


@contextmanager
def scope(mark: object) -> Iterator[None]:
    """Every op built inside has `mark` among the last of its ``info.scope``: what a step built, say.

    >>> from ngraph_rewrite.frontend.axes import constant
    >>> with scope("step"):
    ...     x = constant(1.0)
    >>> x.info.scope
    ('step',)
    """
    token = _scope.set((*_scope.get(), mark))
    try:
        yield
    finally:
        _scope.reset(token)


def info_here(name: str | None = None, initial: Any = None) -> Info:
    """What a handle knows that is built now: the `metadata` around it, and the user's line: not ours, nor NumPy's."""
    frame = sys._getframe(2)
    while frame.f_back is not None and (_is_ours(frame.f_code.co_filename) or frame.f_globals.get("__tracebackhide__")):
        frame = frame.f_back
    return Info(name, _metadata.get(), frame.f_code.co_filename, frame.f_lineno, initial, _scope.get())


@lru_cache(maxsize=1024)
def _is_ours(file: str) -> bool:
    return file in _BETWEEN or (file.startswith((_PACKAGE, _NUMPY)) and file != _PROGRAM)


def user_line() -> str:
    """``file:line`` of the nearest caller outside this package and NumPy."""
    return info_here().place
