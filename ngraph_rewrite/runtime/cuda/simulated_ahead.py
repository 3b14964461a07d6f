# SPDX-License-Identifier: Apache-2.0
"""What a thread of a simulated device fetches ahead: it is in its slot no earlier than the thread waits for it."""

import threading
from typing import Any

import numpy as np

from ngraph_rewrite.runtime.cuda.simulated_memory import DTYPES, aligned, held, kind_of

__all__ = ["arrived", "fetch8_uint16"]

_begun = threading.local()  # what each thread of the device, a thread of Python, has begun


def _fetcher(dtype: str) -> Any:
    kind = kind_of(dtype)

    def fetch(tile: Any, slot: int, address: int, index: int) -> None:
        _begin(_slot(tile, slot, kind), aligned(address, index, 4, dtype))

    return fetch


def _reader(dtype: str) -> Any:
    kind = kind_of(dtype)

    def fetched(tile: Any, slot: int) -> Any:
        return tuple(held(value, dtype) for value in _slot(tile, slot, kind))

    return fetched


def _slot(tile: Any, slot: int, kind: Any) -> Any:
    begin = int(slot) * kind.itemsize
    if not 0 <= begin <= len(tile) - 4 * kind.itemsize or slot % 4:
        raise IndexError(f"4 elements at {slot} of a tile of {len(tile)} bytes")
    return tile[begin : begin + 4 * kind.itemsize].view(kind)


def fetch8_uint16(tile: Any, place: int, address: int, index: int) -> None:
    """Begin to fetch eight neighbours into a tile of such numbers."""
    if not 0 <= place <= len(tile) - 8 or place % 8:
        raise IndexError(f"8 elements at {place} of a tile of {len(tile)}")
    _begin(tile[int(place) : int(place) + 8], aligned(address, index, 8, "uint16"))


def _begin(into: Any, found: Any) -> None:
    into.view(np.uint8)[:] = 0xFF  # whoever reads too early gets this
    _begun.__dict__.setdefault("copies", []).append((into, found))


def arrived() -> None:
    """All that this thread began to fetch is in its slots."""
    for into, found in _begun.__dict__.pop("copies", ()):
        into[:] = found


for _dtype in DTYPES:
    for _prefix, _make in (("fetch4_", _fetcher), ("fetched4_", _reader)):
        globals()[_prefix + _dtype] = _word = _make(_dtype)
        _word.__name__ = _prefix + _dtype
        __all__.append(_prefix + _dtype)
