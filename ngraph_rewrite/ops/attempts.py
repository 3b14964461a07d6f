# SPDX-License-Identifier: Apache-2.0
"""How numbers are proposed until one is accepted, all from one uniform number: for vectors of parameters at once.

That number begins a sequence of others: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014). So a draw is a function of its parameters and of that number, in any order and on any target.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# How numbers are proposed for parameters, which are those that are still to be drawn: the numbers, and which are taken.
Proposal = Callable[[Callable[[int], Numbers], NDArray[np.bool_]], tuple[Numbers, NDArray[np.bool_]]]

ATTEMPTS = 64  # one is accepted with a probability of more than 0.65: more are never made
GOLDEN, MIX = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def sequence_unit(u: Numbers, at: int) -> Numbers:
    """The numbers in [0, 1) at a place of the sequences that some of them begin.

    >>> sequence_unit(np.array([0.0, 0.5]), 0).round(6).tolist()
    [0.883311, 0.175504]
    """
    first, second = (np.uint64(word) for word in MIX)
    with np.errstate(over="ignore"):
        word = (u * 2.0**53).astype(np.uint64) + np.uint64((at + 1) * GOLDEN % 2**64)
        word = (word ^ (word >> np.uint64(30))) * first
        word = (word ^ (word >> np.uint64(27))) * second
    word ^= word >> np.uint64(31)
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


def of_vectors(draw: Callable[..., Numbers]) -> Callable[..., Numbers]:
    """The same of operands of any shapes that broadcast, one number included: it is asked of vectors."""

    @wraps(draw)
    def function(*given: Any) -> Numbers:
        arrays = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in given))
        return draw(*(x.ravel() for x in arrays)).reshape(arrays[0].shape)

    return function


def is_unit(u: Numbers) -> NDArray[np.bool_]:
    """Where numbers are in [0, 1)."""
    return (u >= 0) & (u < 1)


def accepted(propose: Proposal, each: int, u: Numbers, open_: NDArray[np.bool_], otherwise: Numbers) -> Numbers:
    """What is accepted first, of `each` numbers of the sequences for an attempt; NaN where nothing is to be drawn."""
    found, left = np.where(open_, otherwise, np.nan), open_.copy()
    for attempt in range(ATTEMPTS):
        if not left.any():
            break
        numbers, taken = propose(partial(_numbers, u[left], each * attempt), left)
        chosen = np.flatnonzero(left)[taken]
        found[chosen], left[chosen] = numbers[taken], False
    return found


def _numbers(u: Numbers, first: int, at: int) -> Numbers:
    """The numbers of an attempt, of the sequences that some begin."""
    return sequence_unit(u, first + at)
