# SPDX-License-Identifier: Apache-2.0
"""Renders sorts for a GPU: a block sorts a tile in shared memory, or merges runs of tiles."""

from functools import cache
from typing import NamedTuple

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_places import comes_before
from ngraph_rewrite.codegen.scalar import DTYPES, held
from ngraph_rewrite.codegen.source import Source


class Stored(NamedTuple):
    """What a sort stores: keys, and positions before the sort, in these dtypes; nothing if one is empty."""

    keys: str = ""
    order: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that say where."""
        return ("sorted_keys",) * bool(self.keys) + ("order",) * bool(self.order)

    @property
    def lines(self) -> list[str]:
        """The lines that store one of each."""
        lines = [f"store_{self.keys}(sorted_keys, at, keys[found], 2)"] * bool(self.keys)
        return lines + [f"store_{self.order}(order, at, places[found], 3)"] * bool(self.order)


@cache
def render_tiles(dtype: str, descending: bool, result: Stored, tile: int, places: str = "int32") -> Source:
    """Return the kernel, for a GPU, that sorts tiles of so many elements of x[o, :, i], ``lines`` short lines a tile.

    ``rows`` counts the pairs (o, i). What is stored lies as x does with ``inner`` replaced by ``apart``. On the way
    positions are of the dtype `places`.

    >>> render_tiles("float32", False, Stored(keys="float32"), 1024).signature
    ('rows', 'n', 'inner', 'lines', 'apart', 'x', 'sorted_keys')
    """
    has_dtype(dtype, DTYPES, "sort")
    names = ("rows", "n", "inner", "lines", "apart", "x", *result.names)
    numbered = "places[number_in_tile] = begin + j"
    moved = "places[target + place] = places[source + number]"
    return _in_tiles("sort", names, dtype, descending, result, tile, places, numbered=numbered, moved=moved)


@cache
def render_merge(dtype: str, descending: bool, result: Stored, tile: int, places: str = "int32") -> Source:
    """Return the kernel, for a GPU, that merges runs of ``width`` elements, a multiple of a tile, of ``rows`` lines.

    ``first_keys`` has the lines side by side, ``first_order``, if positions are stored, where their elements stood.
    What is stored lies in the lines x[o, :, i] of an array whose last axis has the length ``apart``. On the way
    positions are of the dtype `places`.

    >>> render_merge("float32", False, Stored(order="int64"), 1024).signature
    ('rows', 'n', 'width', 'apart', 'first_keys', 'first_order', 'order')
    """
    has_dtype(dtype, DTYPES, "sort")
    source = ("first_keys", *(["first_order"] if result.order else []))
    names = ("rows", "n", "width", "apart", *source, *result.names)
    numbered = f"places[number] = load_{places}(first_order, at, 1)"
    moved = f"places[{tile} + place] = places[number]"
    return _in_tiles("merge", names, dtype, descending, result, tile, places, numbered=numbered, moved=moved)


def _in_tiles(
    kernel: str,
    names: tuple[str, ...],
    dtype: str,
    descending: bool,
    result: Stored,
    tile: int,
    places: str,
    **moves: str,
) -> Source:
    """A kernel that sorts in shared memory; `moves` are lines that it needs where positions go with keys."""
    holes = moves if result.order else dict.fromkeys(moves, "")
    holes["places"] = f"places = shared_{places}({2 * tile})" if result.order else ""
    holes["stored"] = "\n".join(result.lines)
    holes |= {"key_precedes": comes_before("key", "other", dtype, descending)}
    holes |= {"other_precedes": comes_before("other", "key", dtype, descending)}
    return rendered(kernel, names, "cuda", dtype=dtype, held=held(dtype), tile=str(tile), room=str(2 * tile), **holes)
