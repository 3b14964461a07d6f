# SPDX-License-Identifier: Apache-2.0
"""Saved state: an ``.npz`` of plain arrays and a description, checked whole before anything is taken from it.

The last bytes of the file, as the comment of the zip archive, are the SHA-256 of all that comes before them.
A bfloat16, which NumPy's files do not know, is kept as two bytes without a meaning; the description has the dtypes.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import MissingFileError, SaveFileError, UnreadableFileError, UnwritableFileError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.paths import as_path

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = lazy_module("tempfile")

Array = NDArray[Any]
FORMAT = 1
_SEAL = 64  # bytes of a digest


def write_state(path: str | os.PathLike[str], items: Sequence[tuple[Op, Array]], seed: int, calls: int) -> None:
    """Write variables and counters as an ``.npz`` without pickle; the file appears whole or not at all.

    Raises:
        UnwritableFileError: if it cannot be written.
    """
    arrays = {f"v{i}": array for i, (_, array) in enumerate(items)}
    described = [{"name": v.name, "type": repr(v.type)} for v, _ in items]
    header = json.dumps({"format": FORMAT, "seed": seed, "calls": calls, "variables": described})
    memory = io.BytesIO()
    np.savez(memory, allow_pickle=False, header=np.array(header), **arrays)
    target = as_path(path, "path")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _replace(target, _sealed(memory.getvalue()))
    except OSError as error:
        raise _unwritable(target, error) from error


def _replace(target: Path, data: bytes) -> None:
    """Write a file beside the target, and put it in its place once it is whole."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _unwritable(target: Path, error: OSError) -> UnwritableFileError:
    """What to tell: the file beside the target, which the error names, nobody asked for."""
    if isinstance(error, IsADirectoryError):
        do = "give the path of a file, which may be in it"
    elif isinstance(error, FileNotFoundError):
        do = f"make the folder {target.parent} first"
    else:
        do = "save to another folder, in which files can be written"
    what = f"{target} cannot be written: {error.strerror or error}"
    found = UnwritableFileError(what, where=user_line(), do=do)
    found.errno, found.filename = error.errno, str(target)
    return found


def _unreadable(target: Path, error: OSError) -> UnreadableFileError:
    kind, do = UnreadableFileError, "give the path of a file that can be read"
    if isinstance(error, FileNotFoundError):
        kind, do = MissingFileError, "save first, or give the path of what was saved"
    found = kind(f"{target} cannot be read: {error.strerror or error}", where=user_line(), do=do)
    found.errno, found.filename = error.errno, str(target)
    return found


def read_state(
    path: str | os.PathLike[str], variables: Sequence[Op], part: bool = False
) -> tuple[list[Array], int, int]:
    """The arrays saved for `variables`, the seed and the number of calls.

    Args:
        part: Whether the file may have others too.

    Raises:
        UnreadableFileError: if the file cannot be read, or is not there.
        SaveFileError: if anything in the file is not as it was written, or it is of other variables.
    """
    target = as_path(path, "path")
    try:
        data = target.read_bytes()
    except OSError as error:
        raise _unreadable(target, error) from error
    if _digest(data[:-_SEAL]) != data[-_SEAL:]:
        raise SaveFileError(
            f"{path} is damaged, or no file that a transformer saved: it is not what was written",
            where=str(path),
            do="restore from another copy, or from what Transformer.save wrote",
        )
    try:
        return _read(path, data, variables, part)
    except SaveFileError:
        raise
    except Exception as error:  # sealed as it is: another program wrote it
        what = f"{path} is no saved state: {type(error).__name__}: {error}"
        raise SaveFileError(what, where=str(path), do="restore what `save` wrote") from error


def _read(path: Any, data: bytes, variables: Sequence[Op], part: bool) -> tuple[list[Array], int, int]:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        if header["format"] != FORMAT:
            raise SaveFileError(f"{path} is of format {header['format']!r}, not {FORMAT}", where=str(path))
        places = _places(path, [(s["name"], s["type"]) for s in header["variables"]], variables, part)
        arrays = [_array(file[f"v{i}"], v) for i, v in zip(places, variables, strict=True)]
    seed, calls = int(header["seed"]), int(header["calls"])
    if not (0 <= seed < 2**63 and 0 <= calls < 2**63):
        raise ValueError(f"a seed of {seed} and {calls} calls")
    return arrays, seed, calls


def _array(saved: Array, variable: Op) -> Array:
    """What was saved for a variable; a bfloat16 comes as two bytes without a meaning."""
    meaningless = saved.dtype.kind == "V" and saved.dtype.itemsize == variable.dtype.itemsize
    if saved.shape != variable.shape or not (meaningless or saved.dtype == variable.dtype):
        raise ValueError(f"{saved.dtype}{list(saved.shape)} for {variable.type!r}")
    return saved.view(variable.dtype)


def _places(path: Any, found: list[tuple[Any, Any]], variables: Sequence[Op], part: bool) -> list[int]:
    """Where the file has each variable: all in their order, or each by a name that no other one has."""
    wanted = [(v.name, repr(v.type)) for v in variables]
    if wanted == found:
        return [*range(len(found))]
    names, do = [name for name, _ in found], "build the same computations before restoring"
    by_name = all(name is not None and names.count(name) == 1 for name, _ in wanted)
    if by_name and len(dict(wanted)) == len(wanted) and set(wanted) <= set(found):
        if part or len(wanted) == len(found):
            return [names.index(name) for name, _ in wanted]
        do += "; or with part=True, which takes what is needed of what it has"
    lacks = next((one for one in wanted if one not in found), None)
    more = next((one for one in found if one not in wanted), None)
    if lacks is None:
        what = f"it has {more} too" if more else f"{len(found)} variables, which have another order or number here"
    else:
        what = f"{more} where this has {lacks}" if more else f"it has no {lacks}"
    raise SaveFileError(f"{path} is of another model: {what}", where=str(path), do=do)


def _sealed(archive: bytes) -> bytes:
    """An archive without a comment, given one: the digest of all before it. Its last field is a comment's length."""
    body = archive[:-2] + _SEAL.to_bytes(2, "little")
    return body + _digest(body)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()
