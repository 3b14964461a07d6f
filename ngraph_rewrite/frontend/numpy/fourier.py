# SPDX-License-Identifier: Apache-2.0
"""Sums of a discrete Fourier transform along an axis, by an op of three: all before it are one, as all behind it."""

from __future__ import annotations

from ngraph_rewrite.frontend.building import apply
from ngraph_rewrite.frontend.numpy.manipulation import reshape
from ngraph_rewrite.frontend.numpy.operands import part_along
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent, product


def fourier(x: Op, y: Op | None, axis: int, n: int, sign: int, wanted: int) -> tuple[Op, Op]:
    """``X[k]``, the sum of ``z[j] exp(sign 2 pi i j k / n)``, for each k below `wanted`: its parts.

    Args:
        x: The real parts of at most n elements z along an axis: those that are not there are 0.
        y: The imaginary parts, if there are any.
    """
    found = apply("semi.fourier", *_lines(x, y, axis), n=n, sign=sign, wanted=wanted, real=False)
    shape = _along(x, axis, wanted)
    first, second = (reshape(part_along(found, 0, k, k + 1), shape) for k in (0, 1))
    return first, second


def real_fourier(x: Op, y: Op | None, axis: int, n: int, sign: int) -> Op:
    """The real parts of all n sums; arguments are those of `fourier`."""
    found = apply("semi.fourier", *_lines(x, y, axis), n=n, sign=sign, wanted=n, real=True)
    return reshape(found, _along(x, axis, n))


def _lines(x: Op, y: Op | None, axis: int) -> list[Op]:
    shape = (product(x.shape[:axis]), x.shape[axis], product(x.shape[axis + 1 :]))
    return [reshape(z, shape) for z in (x, y) if z is not None]


def _along(x: Op, axis: int, length: int) -> tuple[Extent, ...]:
    return (*x.shape[:axis], length, *x.shape[axis + 1 :])
