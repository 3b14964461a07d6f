# SPDX-License-Identifier: Apache-2.0
"""What the processor decides of products of matrices: the size of a tile, and the functions for it, compiled once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.features import first_cache_ways, multiplies_float_pairs, multiplies_matrices, tile_shape
from ngraph_rewrite.runtime.native import written_function
from ngraph_rewrite.types.dtypes import PACKED, TILED

if TYPE_CHECKING:
    from ngraph_rewrite.runtime import (
        image_lines,
        least_exponents,
        matrix_tiles,
        minimal_across,
        minimal_filtering,
        packing,
        row_dots,
        sweeps,
        tiles,
        window_rows,
    )
else:
    # These are imported when they have to be compiled.
    image_lines = lazy_module("ngraph_rewrite.runtime.image_lines")
    least_exponents = lazy_module("ngraph_rewrite.runtime.least_exponents")
    matrix_tiles = lazy_module("ngraph_rewrite.runtime.matrix_tiles")
    minimal_filtering = lazy_module("ngraph_rewrite.runtime.minimal_filtering")
    minimal_across = lazy_module("ngraph_rewrite.runtime.minimal_across")
    packing = lazy_module("ngraph_rewrite.runtime.packing")
    row_dots = lazy_module("ngraph_rewrite.runtime.row_dots")
    sweeps = lazy_module("ngraph_rewrite.runtime.sweeps")
    tiles = lazy_module("ngraph_rewrite.runtime.tiles")
    window_rows = lazy_module("ngraph_rewrite.runtime.window_rows")

# As many rows of a tile, about, can be in the first cache if they fall on the same places of it.
_ENOUGH_WAYS = 12
# What writes the text of functions.
_FUNCTIONS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "tile": lambda dtype: tiles.tile_module(dtype),
        "fetch": lambda dtype: tiles.tile_module(dtype, "fetch"),
        "walk": lambda dtype: tiles.tile_module(dtype, "walk"),
        "look": lambda dtype: tiles.tile_module(dtype, "look"),
        "sweep": lambda dtype: sweeps.sweep_module(dtype),
        "dots": lambda dtype: row_dots.dots_module(dtype),
        "least": lambda dtype: least_exponents.least_module(dtype),
        "pack": lambda dtype: packing.pack_module(dtype),
        "rows_of": lambda dtype: window_rows.rows_module(dtype),
        "lines": lambda dtype: image_lines.lines_module(dtype),
        "halves": lambda dtype: image_lines.halves_module(dtype),
        "inward": lambda dtype: minimal_filtering.inward_module(dtype),
        "exact": lambda dtype: minimal_filtering.exact_module(dtype),
        "tiles_of_3": lambda dtype: minimal_filtering.gather_module(dtype, 3),
        "tiles_of_5": lambda dtype: minimal_filtering.gather_module(dtype, 5),
        "spread_3": lambda dtype: minimal_filtering.spread_module(dtype, 3),
        "spread_5": lambda dtype: minimal_filtering.spread_module(dtype, 5),
        "outward_3": lambda dtype: minimal_filtering.outward_module(dtype, 3),
        "outward_5": lambda dtype: minimal_filtering.outward_module(dtype, 5),
        "inward_22": lambda dtype: minimal_across.images_module(dtype, 2, 2),
        "inward_23": lambda dtype: minimal_across.images_module(dtype, 2, 3),
        "inward_32": lambda dtype: minimal_across.images_module(dtype, 3, 2),
        "inward_33": lambda dtype: minimal_across.images_module(dtype, 3, 3),
        "window_tiles": lambda dtype: minimal_across.windows_module(dtype),
    }
)
# What the kernel of products asks for, by other words or by none. Where the processor multiplies matrices of packed
# numbers, rows of A are any number, as they lie, and none is packed since a cache is crowded.
_OF_MATRICES: Mapping[str, int] = MappingProxyType({"high": 1 << 30, "apart": 0, "crowded": 0})
_MULTIPLIES: Mapping[str, str] = MappingProxyType({"multiply": "tile", "multiply_fetching": "fetch"})
_OF_PRODUCTS: Mapping[str, str] = MappingProxyType({"high": "rows", "apart": "stride", "most": "rows", **_MULTIPLIES})


def product_number(word: str, dtype: str, cache: Cache) -> int:
    """Return "rows", "columns", "stride" or "lanes" of the tile of a dtype, or the address of a function for it.

    "crowded" is 1 if so many lines of the first cache fall on the same places that rows of a tile push each other out
    of them, else 0.

    The functions are "tile", "fetch", "walk" and "look" of `ngraph_rewrite.runtime.tiles`, "sweep" of
    `ngraph_rewrite.runtime.sweeps`, "dots" of `ngraph_rewrite.runtime.row_dots`, "pack" of
    `ngraph_rewrite.runtime.packing`, "rows_of" of `ngraph_rewrite.runtime.window_rows`, "lines" and "halves" of
    `ngraph_rewrite.runtime.image_lines`, and those of `ngraph_rewrite.runtime.minimal_filtering`, such as "inward" and
    "outward_3", and of `ngraph_rewrite.runtime.minimal_across`, such as "inward_23".

    "high", "apart", "multiply" and "multiply_fetching" are "rows", "stride", "tile" and "fetch", but where the
    processor multiplies matrices of packed numbers: those of `ngraph_rewrite.runtime.matrix_tiles`. Where what
    multiplies takes small numbers for zeros, "wary" is what does not, with "most" rows at once, and "least" the
    function of `ngraph_rewrite.runtime.least_exponents` that tells which one is right; else these two are 0.

    Raises `KernelError` for another dtype.
    """
    if dtype not in (*TILED, *PACKED):
        raise KernelError(f"no tiles of {dtype}", do="use the dot kernel")
    matrices, flushes = multiplies_matrices(dtype), dtype == "float_pairs" and multiplies_float_pairs()
    if word in ("wary", "least"):
        if dtype != "float_pairs" or not (matrices or flushes):
            return 0
        word = "tile" if word == "wary" else word
    elif matrices and word in _OF_MATRICES:
        return _OF_MATRICES[word]
    elif word in _MULTIPLIES and (matrices or flushes):
        kind = _MULTIPLIES[word]
        if matrices:
            name, text = f"matrix_{kind}_{dtype}", lambda: matrix_tiles.matrix_module(dtype, kind)
        else:
            name, text = f"{kind}_flushed_pairs", lambda: tiles.tile_module("flushed_pairs", kind)
        return written_function(f"ngraph_rewrite_{name}", text, cache)
    word = _OF_PRODUCTS.get(word, word)
    write = _FUNCTIONS.get(word)
    if write is not None:
        return written_function(f"ngraph_rewrite_{word}_{dtype}", lambda: write(dtype), cache)
    if word == "crowded":
        return int(first_cache_ways() < _ENOUGH_WAYS)
    found: int = getattr(tile_shape(dtype), word)
    return found
