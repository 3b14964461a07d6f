# SPDX-License-Identifier: Apache-2.0
"""Saved state: a zip of plain arrays and a description, checked whole before anything is taken from it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import SaveFileError
from ngraph_rewrite.terms.op import Op

Array = NDArray[Any]
FORMAT = 1


def write_state(path: str | os.PathLike[str], items: Sequence[tuple[Op, Array]], seed: int, calls: int) -> None:
    """Write variables and counters as an ``.npz`` without pickle; the file appears whole or not at all."""
    arrays = {f"v{i}": array for i, (_, array) in enumerate(items)}
    described = [{"name": v.name, "type": repr(v.type), "digest": _digest(a)} for v, a in items]
    header = json.dumps({"format": FORMAT, "seed": seed, "calls": calls, "variables": described})
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, header=np.array(header), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_state(path: str | os.PathLike[str], variables: Sequence[Op]) -> tuple[list[Array], int, int]:
    """The arrays saved for `variables`, the seed and the number of calls.

    Raises:
        SaveFileError: if anything in the file is not as it was written, or it is of other variables.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            arrays = [file[f"v{i}"] for i in range(len(header["variables"]))]
            seed, calls = int(header["seed"]), int(header["calls"])
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise _damaged(path, str(error)) from error
    if header.get("format") != FORMAT:
        raise SaveFileError(f"{path} is of format {header.get('format')}, not {FORMAT}", where=str(path))
    for array, entry in zip(arrays, header["variables"], strict=True):
        if _digest(array) != entry["digest"]:
            raise _damaged(path, f"the values of {entry['name'] or 'a variable'} are not those that were saved")
    _check_variables(path, header["variables"], variables)
    return arrays, seed, calls


def _check_variables(path: Any, saved: list[dict[str, Any]], variables: Sequence[Op]) -> None:
    wanted = [(v.name, repr(v.type)) for v in variables]
    found = [(s["name"], s["type"]) for s in saved]
    if wanted != found:
        odd = next((pair for pair in zip(wanted, found, strict=False) if pair[0] != pair[1]), None)
        what = f"{odd[1]} where this has {odd[0]}" if odd else f"{len(found)} variables where this has {len(wanted)}"
        raise SaveFileError(
            f"{path} is of another model: {what}", where=str(path), do="build the same computations before restoring"
        )


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def _damaged(path: Any, why: str) -> SaveFileError:
    return SaveFileError(f"{path} is damaged: {why}", where=str(path), do="restore from another copy")
