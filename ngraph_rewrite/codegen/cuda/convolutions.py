# SPDX-License-Identifier: Apache-2.0
"""Renders convolutions for a GPU: products of filters with windows, which are found in images and nowhere copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ngraph_rewrite.codegen.cuda.lanes import FOUR
from ngraph_rewrite.codegen.cuda.products import render_sides
from ngraph_rewrite.codegen.cuda.tiles import Side, Tile
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.nest import MapNest
from ngraph_rewrite.codegen.scalar import held, literal
from ngraph_rewrite.codegen.source import Source, indented

ARGUMENTS = (
    "count m n k a a_sb a_sm a_sk groups b b_si b_sb offsets each nz ny nx b_sz b_sy b_sx oy ox sz sy sx bz by bx "
    "uz uy ux parts stretch"
)
OFFSETS = "offsets k b_sc wz wy wx dz dy dx"
WORDS = 4  # that there are for each element of a window: where its channel begins, and how far it is along the axes
_AXES = "zyx"


@dataclass(frozen=True)
class _Windows(Side):
    """The windows over images as columns of a matrix. Padding, and what lies between spread elements, is zeros.

    Attributes:
        moved: The axes, of z, y and x, along which there is more than one place.
        spread: Those along which elements of the image are put apart.
        merged: Whether the windows of all images are columns of one matrix.
    """

    moved: str = _AXES
    spread: str = _AXES
    merged: bool = False

    def placed(self) -> list[str]:
        fours, lines = self.tile.deep // FOUR, list[str]()
        for turn in self.turns:
            own = f"number + {turn * self.tile.threads}"
            lines += [
                f"b_line{turn} = quotient({own}, {fours})",
                f"b_deep{turn} = {FOUR} * ({own} - b_line{turn} * {fours})",
            ]
        return lines

    def begun(self) -> list[str]:
        """The lines that find out at which image a block is, or a column, and where windows of this thread begin."""
        lines = ["image = quotient(batch, groups)", "own_group = batch - image * groups"]
        for turn in self.turns:
            own = f"b_column{turn}"
            lines += [f"{own} = left + b_line{turn}"]
            if self.merged:
                lines += [f"image = quotient({own}, each)", f"b_own{turn} = {own} - image * each"]
                own = f"b_own{turn}"
            lines += [f"b_begin{turn} = image * b_si + own_group * b_sb", f"b_rest{turn} = quotient({own}, ox)"]
            lines += [f"b_x{turn} = ({own} - b_rest{turn} * ox) * sx - bx"]
            lines += [f"b_z{turn} = quotient(b_rest{turn}, oy)"]
            lines += [f"b_y{turn} = (b_rest{turn} - b_z{turn} * oy) * sy - by", f"b_z{turn} = b_z{turn} * sz - bz"]
            lines += [f"{name} = {literal(0, held(self.dtype))}" for name in self._values(turn)]
        return lines

    def fetched(self) -> list[str]:
        return [line for turn in self.turns for line in self._partly(turn, self._fetched(turn))]

    def _fetched(self, turn: int) -> list[str]:
        values, zero = self._values(turn), literal(0, held(self.dtype))
        lines = [f"{', '.join(values)} = {', '.join([zero] * FOUR)}", f"if b_column{turn} < n:"]
        for lane, value in enumerate(values):
            lines += [f"    element = following + b_deep{turn} + {lane}", "    if element < end:"]
            lines += [indented(line, 8) for line in self._found(turn, value)]
        return lines

    def _found(self, turn: int, value: str) -> Sequence[str]:
        """The lines that read an element of a window, if it is one of the image."""
        lines, tests, places = (
            list[str](),
            list[str](),
            [f"load_int64(offsets, {WORDS} * element, 0)", f"b_begin{turn}"],
        )
        for number, axis in enumerate(_AXES, 1):
            if axis in self.moved:
                lines.append(f"at_{axis} = b_{axis}{turn} + load_int64(offsets, {WORDS} * element + {number}, 0)")
                tests.append(f"at_{axis} >= 0")
                if axis in self.spread:
                    lines.append(f"in_{axis} = quotient(max(at_{axis}, 0), u{axis})")
                    tests.append(f"in_{axis} * u{axis} == at_{axis}")
                place = f"in_{axis}" if axis in self.spread else f"at_{axis}"
                tests.append(f"{place} < n{axis}")
                places.append(f"{place} * b_s{axis}")
        read = f"{value} = load_{self.dtype}(b, {' + '.join(places)}, 0)"
        return [*lines, f"if {' and '.join(tests) or 'True'}:", f"    {read}"]


@lru_cache(maxsize=1 << 10)
def render_convolution(
    dtype: str, tile: Tile, how: tuple[bool, str, str, bool], nest: MapNest, literals: tuple[object, ...] = ()
) -> Source:
    """Return the kernel of a convolution, and of a map over it, which is told as in `render_product`.

    Filters, rows of a matrix ``a`` for each group, are multiplied with what windows see of images, ``b``. Its strides
    are from image to image, from group to group, and along the axes; ``n`` are its lengths, ``o`` those of the result,
    in which an image has ``each`` places,
    ``s`` the strides of windows, ``b`` what pads before, and ``u`` how far elements are put apart. ``offsets`` is what
    `render_offsets` leaves.

    Args:
        how: Whether filters lie in memory element by element; the axes along which there is more than one place, and
            those along which elements are put apart; whether the windows of all images are columns of one matrix.
    """
    along, moved, spread, merged = how
    has_dtype(dtype, ("float32", "float64"), "convolution")
    a = Side("a", "m", "top", tile.rows, tile.down, along, tile, dtype, "own_group")
    b = _Windows(
        "b", "n", "left", tile.columns, tile.across, True, tile, dtype, moved=moved, spread=spread, merged=merged
    )
    return render_sides(a, b, ARGUMENTS.split(), nest)


@lru_cache(maxsize=1)
def render_offsets() -> Source:
    """Return the kernel that works out, for each of the ``k`` elements of a window, where it is.

    >>> render_offsets().signature[:3]
    ('offsets', 'k', 'b_sc')
    """
    return rendered("convolution", tuple(OFFSETS.split()), "cuda", words=str(WORDS))
