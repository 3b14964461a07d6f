# SPDX-License-Identifier: Apache-2.0
"""A folder of kernels that outlives the process: sources a user can read, and object code.

An entry is written to a temporary file and renamed, and carries a digest of its content, so a reader sees
either a whole entry or none; a truncated, corrupted or foreign file reads as missing. The folder has a bound: what was
not read for longest goes when it grows beyond that.
"""

import hashlib
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ngraph_rewrite.errors import ArgumentError, CacheWarning
from ngraph_rewrite.lazy import lazy_module

if TYPE_CHECKING:
    import tempfile

    import platformdirs
else:
    tempfile, platformdirs = lazy_module("tempfile"), lazy_module("platformdirs")

T = TypeVar("T")

_VARIABLE, _BOUND = "NGRAPH_REWRITE_CACHE", "NGRAPH_REWRITE_CACHE_MEGABYTES"
MEGABYTES = 512
# What is left of a folder that grew too large: then it is some time until it does so again.
_KEPT = 0.8
# From one look at a folder's size to the next as much is written as this part of the bound, on average.
_LOOKS = 1 / 128
# Seconds after which reading an entry is noted again; and in which a file that somebody writes is whole.
_NOTED, _WRITING = 86_400, 3_600
_fallback: list[Path] = []  # the temporary folder, once this process has needed one
_written_before: set[Path] = set()  # folders that this process could write


class Cache:
    """Entries by key and extension in one folder.

    The folder is the argument, else ``NGRAPH_REWRITE_CACHE``, else the user's cache folder. Where it cannot be written,
    a temporary folder takes its place and one `CacheWarning` a process says so.

    Attributes:
        chosen: The folder that was asked for.
        folder: The one that is used.
        bound: How many bytes it may have.

    Args:
        megabytes: The bound of its size; ``NGRAPH_REWRITE_CACHE_MEGABYTES``, or 512, by default.

    Raises:
        ArgumentError: if that variable is no number, the bound is no number from 0, or the folder no path.
    """

    def __init__(self, folder: str | Path | None = None, megabytes: float | None = None) -> None:
        chosen = folder or os.environ.get(_VARIABLE) or platformdirs.user_cache_dir("ngraph_rewrite")
        bound = _megabytes() if megabytes is None else megabytes
        if not isinstance(chosen, str | os.PathLike) or not isinstance(bound, int | float) or not 0 <= bound < math.inf:
            what = f"a cache in {chosen!r} of {bound!r} megabytes"
            raise ArgumentError(what, do=f"give the path of a folder, and a number from 0 ({_BOUND})")
        self.chosen = Path(chosen)
        self.folder = _writable(self.chosen)
        self.bound = int(bound * 1e6)

    def path(self, key: str, ext: str) -> Path:
        """Return where an entry is or would be."""
        return self.folder / f"{key}.{ext}"

    def read(self, key: str, ext: str) -> bytes | None:
        """Return the content of an entry, or None if there is none or it is damaged."""
        path = self.path(key, ext)
        found = _content(path)
        if found is not None:
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _NOTED:
                    os.utime(path)
        return found

    def parsed(self, key: str, ext: str, parse: Callable[[bytes], T | None]) -> T | None:
        """Return what `parse` makes of an entry, or None if there is none, or it makes nothing of it.

        An entry may be whole and still not be what is looked for: another program wrote it.
        """
        found = self.read(key, ext)
        try:
            return None if found is None else parse(found)
        except Exception:  # of any kind: whoever wrote it knows what it is
            return None

    def write(self, key: str, ext: str, data: bytes) -> Path:
        """Store an entry whole, replacing an earlier one, and return its path."""
        path, stored = self.path(key, ext), data + _MARK + _digest(data)
        try:
            _replace(path, stored)
        except OSError:
            _written_before.discard(self.folder)
            self.folder = _temporary(self.folder)
            path = self.path(key, ext)
            _replace(path, stored)
        if self._is_to_look(stored):
            self._shrink(path)
        return path

    def _is_to_look(self, stored: bytes) -> bool:
        """Whether the folder may have grown too large: by chance, the more often the more is written.

        To look is to ask for the size of each file; that many processes write a little each is noticed like this too.
        """
        chance = int.from_bytes(hashlib.sha256(stored).digest()[:4]) / 2**32
        return chance * self.bound * _LOOKS <= len(stored)

    def entries(self) -> Iterator[Path]:
        """The files of all entries; others in the folder are nobody's here."""
        return (path for path in sorted(self.folder.iterdir()) if path.is_file() and _content(path) is not None)

    def size(self) -> int:
        """How many bytes all files of the folder have."""
        return sum(size for _, size, _ in _files(self.folder))

    def clear(self) -> None:
        """Remove all entries."""
        for path in self.entries():
            with suppress(OSError):
                path.unlink()

    def _shrink(self, newest: Path) -> None:
        """Remove what was not read or written for longest, of too large a folder.

        Whoever reads it at this moment finds it or does not.
        """
        files = sorted(_files(self.folder))
        size = sum(size for _, size, _ in files)
        for when, bytes_, path in files if size > self.bound else ():
            if size <= self.bound * _KEPT:
                break
            abandoned = path.name.startswith(_WRITTEN) and time.time() - when > _WRITING
            if path != newest and (abandoned or _content(path) is not None):
                with suppress(OSError):
                    path.unlink()
                    size -= bytes_


_MARK = b"\n# sha256 "  # a comment, so that a source stays a source
_WRITTEN = ".writing-"


def _content(path: Path) -> bytes | None:
    """What is in an entry, if it is one and is whole."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    data, separator, digest = stored.rpartition(_MARK)
    return data if separator and digest == _digest(data) else None


def _files(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When each file of a folder was written, or read last, and its size."""
    with suppress(OSError), os.scandir(folder) as found:
        for one in found:
            with suppress(OSError):
                if one.is_file():
                    yield one.stat().st_mtime, one.stat().st_size, Path(one.path)


def _megabytes() -> float:
    told = os.environ.get(_BOUND, str(MEGABYTES))
    try:
        return float(told)
    except ValueError:
        raise ArgumentError(f"{_BOUND} is {told!r}", do="set it to a number") from None


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode() + b"\n"


def _replace(path: Path, data: bytes) -> None:
    written = _new_file(path.parent, data)
    try:
        os.replace(written, path)
    except OSError:
        written.unlink(missing_ok=True)
        raise


def _new_file(folder: Path, data: bytes) -> Path:
    """A file of this process's own."""
    path = folder / f"{_WRITTEN}{os.urandom(8).hex()}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path


def _writable(folder: Path) -> Path:
    """The folder, or another one if it cannot be written. Each transformer asks: what could be written still can."""
    if folder in _written_before and folder.is_dir():
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _new_file(folder, b"").unlink()
        _written_before.add(folder)
        return folder
    except OSError:
        return _temporary(folder)


def _temporary(folder: Path) -> Path:
    if not _fallback:
        _fallback.append(Path(tempfile.mkdtemp(prefix="ngraph_rewrite-")))
        advice = f"set {_VARIABLE} to a folder that can be written"
        warning = CacheWarning(f"kernels are kept in {_fallback[0]} for now", where=str(folder), do=advice)
        warnings.warn(warning, stacklevel=2)
    return _fallback[0]
