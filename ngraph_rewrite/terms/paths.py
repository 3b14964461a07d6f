# SPDX-License-Identifier: Apache-2.0
"""Paths that a caller gives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.info import user_line


def as_path(given: Any, what: str) -> Path:
    """A path, given as a string or as an object that stands for one; `what` is its name in messages.

    Raises:
        ArgumentError: for anything else, and for what no file can be called.

    >>> as_path("model.npz", "path").name
    'model.npz'
    """
    written = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(written, str) or not written or "\0" in written:
        do = "give the path of a file: a string, or a pathlib.Path"
        raise ArgumentError(f"{what} is {given!r}", where=user_line(), do=do)
    return Path(written)
