# SPDX-License-Identifier: Apache-2.0
"""NumPy's methods of quantiles: where each looks along a sorted line, and what it takes between two elements.

Places are numbers or terms: NumPy's functions take both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Method(NamedTuple):
    """Where a method looks along a sorted line, and what it takes if that is no whole number.

    Attributes:
        place: The place, by a part of 1 and the place of the last element.
        rounded: Which element it takes; None if it takes what is between two.
        share: How much of the later one that has, by what the place is beyond the earlier one.

    >>> METHODS["hazen"].place(0.5, 9)
    4.5
    """

    place: Callable[[Any, Any], Any]
    rounded: Callable[[Any], Any] | None = None
    share: Callable[[Any], Any] = np.positive


def _even(part: Any, last: Any) -> Any:
    return part * last


def _up_to(part: Any, last: Any) -> Any:
    return part * (last + 1) - 1


def _beside(first: float, end: float | None = None) -> Callable[[Any, Any], Any]:
    """As `_even`, but the first element stands for more than no part, and the last for less than 1."""
    room = 1 - first - (first if end is None else end)
    return lambda part, last: part * (last + 1 + room) + (first - 1)


def _closest(place: Any) -> Any:
    """Of two that are as close the one of an odd place."""
    below = np.floor(place)
    tie = np.logical_and(np.equal(place, below), np.equal(np.remainder(below, 2.0), 1.0))
    return np.where(tie, below, below + 1)


METHODS: Mapping[str, Method] = {
    "linear": Method(_even),
    "midpoint": Method(_even, share=lambda beyond: np.where(np.equal(beyond, 0.0), 0.0, 0.5)),
    "lower": Method(_even, np.floor),
    "higher": Method(_even, np.ceil),
    "nearest": Method(_even, np.round),
    "inverted_cdf": Method(_up_to, np.ceil),
    "averaged_inverted_cdf": Method(_up_to, share=lambda beyond: np.where(np.equal(beyond, 0.0), 0.5, 1.0)),
    "closest_observation": Method(lambda part, last: _up_to(part, last) - 0.5, _closest),
    "interpolated_inverted_cdf": Method(_beside(0.0, 1.0)),
    "hazen": Method(_beside(0.5)),
    "weibull": Method(_beside(0.0)),
    "median_unbiased": Method(_beside(1 / 3)),
    "normal_unbiased": Method(_beside(3 / 8)),
}
