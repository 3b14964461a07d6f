# SPDX-License-Identifier: Apache-2.0
"""Conversions of PTX (`cvt`) between integers and floats, as NumPy has them once what PTX adds is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.runtime.ptx.values import KINDS

Values = NDArray[Any]
Kind = np.dtype[Any]
Conversion = tuple[Kind, tuple[Kind, ...], Callable[..., Values]]

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_WHOLE: dict[str, Callable[[Values], Values]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_NAN = 0x7FFF  # of 16 bits


def converter(marks: Sequence[str]) -> Conversion | None:
    """The dtypes and the function of a conversion, by its marks; nothing if it is not known here.

    >>> result, operands, convert = converter(("rzi", "s32", "f32"))
    >>> convert(np.float32([2.7, -2.7, np.nan, 1e30]))
    array([         2,         -2,          0, 2147483647], dtype=int32)
    """
    to, given = marks[-2:]
    known = {*_WHOLE, "rn"} | ({"sat"} if to[0] == given[0] == "f" else set())
    if to not in KINDS or given not in KINDS or not {*marks[:-2]} <= known:
        return None
    if to in ("f16x2", "bf16x2"):
        return KINDS["u32"], (KINDS[given],) * 2, partial(_packed, kind=KINDS[to.removesuffix("x2")])
    whole = next((_WHOLE[mark] for mark in marks if mark in _WHOLE), None)
    function = partial(_converted, to=KINDS[to], whole=whole, saturate="sat" in marks)
    return KINDS[to], (KINDS[given],), function


def _is_real(kind: Kind) -> bool:
    return kind.kind == "f" or kind == _BFLOAT16


def _converted(values: Values, to: Kind, whole: Callable[[Values], Values] | None, saturate: bool) -> Values:
    real = _is_real(values.dtype)
    if real and whole is not None:
        wide = values.astype(np.float64) if values.dtype.itemsize < 4 else values
        values = np.asarray(whole(wide)) if _is_real(to) else _as_integers(whole(wide), to)
    if saturate:
        values = np.where(np.isnan(values), 0, np.clip(values, 0, 1)).astype(values.dtype)
    return _half(values, to) if to.itemsize == 2 and _is_real(to) else np.array(values.astype(to))


def _as_integers(values: Values, to: Kind) -> Values:
    """Whole numbers as integers: the nearest where they are out of range; of NaN zero, or the highest bit of 64."""
    limits = np.iinfo(to)
    wide, width = values.astype(np.float64), 8 * to.itemsize
    nothing = np.array(1 << (width - 1) if values.dtype.itemsize == 8 or width == 64 else 0, np.uint64).astype(to)
    inside = (wide >= float(limits.min)) & (wide < float(limits.max) + (1 if to.itemsize < 8 else 0))
    found = np.where(inside, wide, 0).astype(to)
    found = np.where(wide >= float(limits.max), limits.max, found)
    found = np.where(wide < float(limits.min), limits.min, found)
    return np.where(np.isnan(wide), nothing, found).astype(to)


def _half(values: Values, to: Kind) -> Values:
    """Floats of 16 bits; each NaN is the one that GPUs make."""
    found = np.array(values.astype(to))
    return np.where(np.isnan(found), np.uint16(_NAN), found.view(np.uint16)).astype(np.uint16).view(to)


def _packed(high: Values, low: Values, kind: Kind) -> Values:
    """Two floats of 16 bits in one word."""
    first, second = (_half(x, kind).view(np.uint16).astype(np.uint32) for x in (low, high))
    return np.asarray(first | second << np.uint32(16))
