# SPDX-License-Identifier: Apache-2.0
"""What a place outside of an array means, by NumPy's modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import OutOfRangeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import asarray
from ngraph_rewrite.frontend.numpy.elementwise import clip, remainder, subtract
from ngraph_rewrite.ops.checks import one_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent

_MODES = ("raise", "wrap", "clip")


def mode_of(call: str, mode: Any) -> str:
    """One of NumPy's modes.

    Raises:
        AttributeValueError: for another one.

    >>> mode_of("choose", "wrap")
    'wrap'
    """
    return checked(call, one_of, mode, _MODES, "mode")


def brought_inside(index: Op, length: Extent, mode: str) -> Op:
    """Places of which ``"wrap"`` takes what is left when divided by the length, and ``"clip"`` the nearest.

    >>> import ngraph_rewrite as ng
    >>> brought_inside(ng.placeholder((3,), "int64"), 4, "clip").type
    int64[3]
    """
    if mode == "clip":
        return clip(index, 0, length - 1 if isinstance(length, int) else subtract(asarray(length), 1))
    return remainder(index, asarray(length)) if mode == "wrap" else index


def refuse_outside(call: str, given: Any, least: int, length: int, of: str) -> None:
    """Refuse places that are known if one is not from `least` to below `length`.

    Raises:
        OutOfRangeError: for those.

    >>> refuse_outside("put", [0, 2], -3, 3, "elements")
    """
    places = np.asarray(given)
    if places.size and not (least <= int(places.min()) and int(places.max()) < length):
        what = f"{call}: {places.min()} to {places.max()} for {length} {of}"
        do = f"give numbers from {least} to {length - 1}, or mode='wrap' or 'clip'"
        raise OutOfRangeError(what, where=user_line(), do=do)
