# SPDX-License-Identifier: Apache-2.0
"""Object code in a cache folder, under names that tell all that decides what it is."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from functools import cache as memoise
from pathlib import Path
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.engine import ObjectCode
from ngraph_rewrite.runtime.features import host_processor, told_by_linux, told_features

if TYPE_CHECKING:
    from importlib import metadata

    import llvmlite
else:
    metadata = lazy_module("importlib.metadata")
    llvmlite = lazy_module("llvmlite")

OBJECT = "o"


def object_key(source: str, name: str) -> str:
    """The name of the object code that a source becomes in this environment."""
    return f"{name}-{hashlib.sha256(source.encode() + environment()).hexdigest()[:16]}"


def read_object(cache: Cache, key: str) -> ObjectCode | None:
    """Object code that was stored, or None if there is none or it is damaged."""
    return cache.parsed(key, OBJECT, _object)


def _object(stored: bytes) -> ObjectCode | None:
    entry, outside, data = stored.split(b"\0", 2)  # object files of all kinds have the names of their functions in them
    return ObjectCode(entry.decode(), tuple(outside.decode().split()), data) if entry and entry in data else None


def write_object(cache: Cache, key: str, code: ObjectCode) -> None:
    """Store object code."""
    cache.write(key, OBJECT, b"\0".join([code.entry.encode(), " ".join(code.outside).encode(), code.data]))


@memoise
def environment() -> bytes:
    """All that decides what object code a source becomes: versions, the processor, the library's own instructions.

    Raises:
        ArgumentError: for features of a processor that LLVM cannot read.
    """
    told_features()
    facts = [_numba_version(), llvmlite.__version__, sys.version, sys.platform]
    told = told_by_linux()
    facts += [*told.values()] if "flags" in told else [*host_processor()]
    facts += [f"{key}={value}" for key, value in sorted(os.environ.items()) if key.startswith("NUMBA_")]
    words = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256("\n".join(facts).encode() + b"".join(words)).digest()


def _numba_version() -> str:
    """What tells one Numba from another, without importing it."""
    spec = importlib.util.find_spec("numba")
    file = Path(spec.origin).with_name("_version.py") if spec is not None and spec.origin else None
    return file.read_text(encoding="utf-8") if file is not None and file.exists() else metadata.version("numba")
