# SPDX-License-Identifier: Apache-2.0
"""The parts of a product of matrices: groups, blocks and stretches of k, and the workspace that they need."""

from __future__ import annotations

from typing import NamedTuple

from ngraph_rewrite.plan.memory import aligned

# What is packed: A, all of B, and A where the first cache is crowded. Whether tiles ask memory for what follows, and
# whether there are no tiles, since rows of B are read once, along all columns of a group, or columns along k.
PACKS_A, PACKS_B, PACKS_CROWDED, FETCHES, SWEEPS, DOTS = 1, 2, 4, 8, 16, 32
# The columns of every tile divide this.
COLUMNS = 32
# So many rows of B are packed at a time, of all columns; if columns lie along memory, whole cache lines of them, many
# of which follow each other; fewer, if they are computed.
_AHEAD, _AHEAD_ACROSS, _AHEAD_TURNED = 8, 256, 64
# Columns that are computed to be multiplied as they lie, so many at a time, do not fall on the same places.
_COLUMNS_DOTTED, _APART = 16, 16
# Bytes for what is known of the numbers of both operands.
_KNOWN = 64


class Room(NamedTuple):
    """Workspace: its bytes, those that a column of packed B takes, where packed A, rows of B and a part of C begin."""

    bytes: int
    pitch: int
    a_at: int
    b_at: int
    c_at: int


class Mapped(NamedTuple):
    """Whether an operand is computed where it would be packed, and whether that is done in columns, not in rows."""

    there: bool = False
    turned: bool = False


class Maps(NamedTuple):
    """Which operands of a product are computed by its kernel."""

    a: Mapped = Mapped()
    b: Mapped = Mapped()


NO_MAPS = Maps()


class Blocking(NamedTuple):
    """The parts of a product.

    Attributes:
        rows, columns: Of a group.
        deep: The length of k that is multiplied at once.
        block: The rows of A that are read with each panel of B.
        packs: The sum of `PACKS_A` if A is packed, `PACKS_B` if all of B is, not only what is no whole tile, and
            `PACKS_CROWDED` if A is packed where the first cache is crowded.
        down, across: How many groups the rows and the columns of a product make.
        groups: How many there are in all.
    """

    rows: int
    columns: int
    deep: int
    block: int
    packs: int
    down: int
    across: int
    groups: int

    def room(self, n: int, k: int, itemsize: int, aside: bool, maps: Maps = NO_MAPS, lines: bool = False) -> Room:
        """The workspace of a thread.

        Args:
            aside: Whether C is put there.
            lines: Whether rows of A are put there, at the end, where the processor reads several as a matrix, and
                behind them what is known of the least numbers.
        """
        deep, dots = self.deep, self.packs & DOTS > 0
        panels = self.columns if self.packs & PACKS_B else COLUMNS if n % COLUMNS and not dots else 0
        a_at = aligned(deep * panels * itemsize)
        # a tile has at least 6 rows, packed in steps of at most 8, or 14 in steps of 16
        held = self.block * (rounded(deep, 16) + 16) if dots else (self.block * 4 // 3 + 32) * deep
        held *= self.packs & (PACKS_A | PACKS_CROWDED) > 0
        if maps.a.there:
            held = self.pitch(maps.a) * (deep if maps.a.turned else self.block)
        b_at = aligned(a_at + held * itemsize)
        computed = _COLUMNS_DOTTED * (deep + _APART) if dots else ahead(maps.b, plain=False) * self.columns
        c_at = aligned(b_at + computed * itemsize * maps.b.there)
        kept = self.rows if k > self.deep else self.block
        pitch = (deep + _APART * dots) * itemsize if self.packs & (PACKS_B | DOTS) else 0
        end = aligned(c_at + kept * self.columns * itemsize * aside)
        room = end + lines * (aligned(self.block * (rounded(deep, 16) + 16) * itemsize) + _KNOWN)
        return Room(room, pitch, a_at, b_at, c_at)

    def ahead(self, b: Mapped, plain: bool) -> int:
        """How many rows of B are packed at a time, or columns that are multiplied as they lie."""
        return _COLUMNS_DOTTED if self.packs & DOTS else ahead(b, plain)

    def pitch(self, a: Mapped) -> int:
        """The stride of rows of A that are computed, or of its columns: they do not fall on the same places."""
        return rounded(self.block if a.turned else self.deep, 16) + 16


def ahead(b: Mapped, plain: bool) -> int:
    """How many rows of B are packed at a time."""
    if b.there:
        return _AHEAD_TURNED if b.turned else _AHEAD
    return _AHEAD if plain else _AHEAD_ACROSS


def rounded(n: int, step: int) -> int:
    """The least multiple of a step that is so much, and one at least."""
    return -(-max(n, 1) // step) * step


class Lies(NamedTuple):
    """How operands lie in memory.

    Attributes:
        a, b: The larger strides of A and of B.
        plain: Whether rows of B have unit stride, so that they need not be packed.
        across: Whether columns of A have unit stride.
        maps: Which operands do not lie in memory at all.
        dotted: Of so many rows of A, or fewer, dot products with columns of B are multiplied as they lie.
        rows_along: Whether rows of A have unit stride.
    """

    a: int
    b: int
    plain: bool
    across: bool = False
    maps: Maps = Maps()
    dotted: int = 0
    rows_along: bool = True

    @property
    def packed(self) -> Lies:
        """The same, but for operands that are computed: they are there as if they had been packed."""
        a, b = self.maps
        found = self._replace(a=0, across=False) if a.there else self
        return found._replace(b=0, plain=True) if b.there else found
