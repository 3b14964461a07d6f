# SPDX-License-Identifier: Apache-2.0
"""What the processor decides of products of matrices: the size of a tile, and the functions for it, compiled once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.features import tile_shape
from ngraph_rewrite.runtime.native import written_function

if TYPE_CHECKING:
    from ngraph_rewrite.runtime import packing, tiles, window_rows
else:
    packing = lazy_module("ngraph_rewrite.runtime.packing")  # these are imported when they have to be compiled
    tiles = lazy_module("ngraph_rewrite.runtime.tiles")
    window_rows = lazy_module("ngraph_rewrite.runtime.window_rows")

# What writes the text of functions.
_FUNCTIONS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "tile": lambda dtype: tiles.tile_module(dtype),
        "walk": lambda dtype: tiles.tile_module(dtype, "walk"),
        "look": lambda dtype: tiles.tile_module(dtype, "look"),
        "pack": lambda dtype: packing.pack_module(dtype),
        "rows_of": lambda dtype: window_rows.rows_module(dtype),
        "lines": lambda dtype: window_rows.lines_module(dtype),
    }
)


def product_number(word: str, dtype: str, cache: Cache) -> int:
    """Return "rows", "columns", "stride" or "lanes" of the tile of a dtype, or the address of a function for it.

    The functions are "tile", "walk" and "look" of `ngraph_rewrite.runtime.tiles`, "pack" of
    `ngraph_rewrite.runtime.packing`, "rows_of" and "lines" of `ngraph_rewrite.runtime.window_rows`.

    Raises `KernelError` for another dtype.
    """
    if dtype not in ("float32", "float64"):
        raise KernelError(f"no tiles of {dtype}", do="use the dot kernel")
    write = _FUNCTIONS.get(word)
    if write is not None:
        return written_function(f"ngraph_rewrite_{word}_{dtype}", lambda: write(dtype), cache)
    found: int = getattr(tile_shape(dtype), word)
    return found
