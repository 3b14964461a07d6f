# SPDX-License-Identifier: Apache-2.0
"""A folder of kernels that outlives the process: sources a user can read, and object code.

An entry is written to a temporary file and renamed, and carries a digest of its content, so a reader sees
either a whole entry or none; a truncated, corrupted or foreign file reads as missing.
"""

import hashlib
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ngraph_rewrite.errors import CacheWarning
from ngraph_rewrite.lazy import lazy_module

if TYPE_CHECKING:
    import tempfile

    import platformdirs
else:
    tempfile, platformdirs = lazy_module("tempfile"), lazy_module("platformdirs")

_VARIABLE = "NGRAPH_REWRITE_CACHE"
_fallback: list[Path] = []  # the temporary folder, once this process has needed one


class Cache:
    """Entries by key and extension in one folder.

    The folder is the argument, else ``NGRAPH_REWRITE_CACHE``, else the user's cache folder. Where it cannot be written,
    a temporary folder takes its place and one `CacheWarning` a process says so.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        chosen = folder or os.environ.get(_VARIABLE) or platformdirs.user_cache_dir("ngraph_rewrite")
        self.folder = _writable(Path(chosen))

    def path(self, key: str, ext: str) -> Path:
        """Return where an entry is or would be."""
        return self.folder / f"{key}.{ext}"

    def read(self, key: str, ext: str) -> bytes | None:
        """Return the content of an entry, or None if there is none or it is damaged."""
        try:
            stored = self.path(key, ext).read_bytes()
        except OSError:
            return None
        data, separator, digest = stored.rpartition(_MARK)
        return data if separator and digest == _digest(data) else None

    def write(self, key: str, ext: str, data: bytes) -> Path:
        """Store an entry whole, replacing an earlier one, and return its path."""
        path = self.path(key, ext)
        try:
            _replace(path, data + _MARK + _digest(data))
        except OSError:
            self.folder = _temporary(self.folder)
            path = self.path(key, ext)
            _replace(path, data + _MARK + _digest(data))
        return path


_MARK = b"\n# sha256 "  # a comment, so that a source stays a source


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
    path = folder / f".writing-{os.urandom(8).hex()}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _new_file(folder, b"").unlink()
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
