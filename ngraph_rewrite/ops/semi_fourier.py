# SPDX-License-Identifier: Apache-2.0
"""Sums of a discrete Fourier transform of many lines, complex or real, all of them or the first ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, DTypeError
from ngraph_rewrite.ops.checks import alike, as_int, flag, positional, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT32, FLOAT64
from ngraph_rewrite.types.tensor import TensorType


def fourier_attributes(*xs: TensorType, n: Any, sign: Any, wanted: Any, real: Any) -> Attributes:
    """The attributes, as integers and a flag.

    Raises:
        AttributeValueError: for no elements, for more sums than there are, and for another sign.
    """
    size, count, way = as_int(n, "n"), as_int(wanted, "wanted"), as_int(sign, "sign")
    if not 1 <= count <= size:
        raise AttributeValueError(f"{count} of {size} sums are wanted", do="ask for one at least, and at most for all")
    if way not in (-1, 1):
        raise AttributeValueError(f"sign is {way}", do="give -1, or 1 for the inverse")
    return {"n": size, "sign": way, "wanted": count, "real": flag(real, "real")}


def fourier_of_values(term: Op, x: Any, *y: Any) -> Any:
    """The sums, in float64; NaN, where something of a line is not finite."""
    n, sign, wanted, real = term.attrs
    z = x.astype(np.complex128)
    for part in y:
        z.imag = part
    z[~np.isfinite(z).all(axis=1, keepdims=True) & np.ones(z.shape, bool)] = complex(np.nan, np.nan)
    with np.errstate(all="ignore"):
        sums = np.fft.fft(z, n, axis=1) if sign < 0 else np.fft.ifft(z, n, axis=1, norm="forward")
        parts = sums[:, :wanted].real, sums[:, :wanted].imag
        return (parts[0] if real else np.stack(parts)).astype(x.dtype)


@op("semi.fourier", meaning=fourier_of_values, normalise=fourier_attributes)
def fourier(x: TensorType, *y: TensorType, n: int, sign: int, wanted: int, real: bool) -> TensorType:
    """The first `wanted` sums of ``x[j] exp(sign 2 pi i j k / n)``, along the second axis of `x` (a, m, b).

    There are 1 to `n` elements m; others are 0. Imaginary parts of them may be `y`. Real parts of sums come before
    imaginary ones (2, a, wanted, b), or are alone if `real` (a, wanted, b).
    """
    lines(x, y, n)
    shape = (x.shape[0], wanted, x.shape[2])
    return tensor(x.dtype, shape if real else (2, *shape))


def lines(x: TensorType, y: tuple[TensorType, ...], n: int) -> None:
    """Demand (a, m, b) of float32 or float64, m from 1 to `n`, and imaginary parts or none."""
    positional(x, *y)
    if x.dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(f"expected float32 or float64, got {x!r}", do="cast it to one of them")
    if x.rank != 3 or not isinstance(x.shape[1], int) or not 1 <= x.shape[1] <= n:
        what = f"expected a shape (a, m, b) with m from 1 to {n}, got {x!r}"
        raise AxesError(what, do="reshape it, or take a part of it")
    if len(y) > 1:
        raise AxesError(f"expected real parts and imaginary ones, got {len(y) + 1} tensors", do="give one or two")
    alike(x, *y)
