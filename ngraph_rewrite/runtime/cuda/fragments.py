# SPDX-License-Identifier: Apache-2.0
"""Where each thread of a warp tells ``ldmatrix`` that a line of eight numbers is, of 16 lines of 16 in a tile.

Four matrices of 8 times 8 are read, of which threads 0 to 7 tell the lines of the first, 8 to 15 of the second and so
on. Which is which decides what registers have: of a left matrix those of the second are 8 rows below the first, of a
right one they are 8 further along k.
"""


def below_first(own: int, at: int, pitch: int) -> int:
    """For a thread of a warp: the second matrix is 8 lines below the first, the third beside it.

    >>> [below_first(own, 0, 100) for own in (0, 1, 8, 16, 24)]
    [0, 100, 800, 8, 808]
    """
    return at + (own & 15) * pitch + (own >> 4) * 8


def beside_first(own: int, at: int, pitch: int) -> int:
    """For a thread of a warp: the second matrix is beside the first, the third 8 lines below it.

    >>> [beside_first(own, 0, 100) for own in (0, 1, 8, 16, 24)]
    [0, 100, 8, 800, 808]
    """
    return at + ((own & 7) + (own >> 4) * 8) * pitch + ((own >> 3) & 1) * 8
