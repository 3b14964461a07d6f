# SPDX-License-Identifier: Apache-2.0
"""Vectors of numbers that are known: powers that are evenly apart, and windows by which spectra are weighted.

They are float32 unless another dtype is given, where NumPy makes float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.storage import constant
from ngraph_rewrite.ops.checks import as_index
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT32


def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Op:
    """`num` powers of a base, with exponents evenly apart from `start` to `stop`, the last if `endpoint`.

    Of arrays there are so many along a new axis.

    Raises:
        ArgumentError: for what are no numbers.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.logspace(0, 3, 4).type
    float32[4]
    """
    count = checked("logspace", as_index, num, "num")
    return _constant(
        "logspace", lambda: np.logspace(start, stop, count, endpoint=endpoint, base=base, axis=axis), dtype
    )


def geomspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Op:
    """`num` numbers from `start` to `stop`, each as many times the one before it.

    Of arrays there are so many along a new axis.

    Raises:
        ArgumentError: for what are no numbers, or are 0.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.geomspace(1, 1000, 4).type
    float32[4]
    """
    count = checked("geomspace", as_index, num, "num")
    return _constant("geomspace", lambda: np.geomspace(start, stop, count, endpoint=endpoint, axis=axis), dtype)


def bartlett(m: int, /, *, dtype: Any = None) -> Op:
    """A triangle of `m` numbers, with zeros at its ends.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.bartlett(5).type
    float32[5]
    """
    return _window("bartlett", np.bartlett, m, dtype)


def blackman(m: int, /, *, dtype: Any = None) -> Op:
    """`m` numbers of a sum of a constant and two cosines, nearly zero at its ends.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.blackman(5).type
    float32[5]
    """
    return _window("blackman", np.blackman, m, dtype)


def hamming(m: int, /, *, dtype: Any = None) -> Op:
    """`m` numbers of a raised cosine, 0.08 at its ends.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.hamming(5).type
    float32[5]
    """
    return _window("hamming", np.hamming, m, dtype)


def hanning(m: int, /, *, dtype: Any = None) -> Op:
    """`m` numbers of a raised cosine, zero at its ends.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.hanning(5).type
    float32[5]
    """
    return _window("hanning", np.hanning, m, dtype)


def kaiser(m: int, /, beta: float, *, dtype: Any = None) -> Op:
    """`m` numbers of a Bessel function, the narrower the greater `beta` is.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.kaiser(5, 14.0).type
    float32[5]
    """
    return _window("kaiser", lambda n: np.kaiser(n, beta), m, dtype)


def _window(call: str, made: Callable[[int], NDArray[Any]], count: int, dtype: Any) -> Op:
    number = checked(call, as_index, count, "m")
    return _constant(call, lambda: made(number), dtype)


def _constant(call: str, made: Callable[[], NDArray[Any]], dtype: Any) -> Op:
    try:
        numbers = made()
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{call}: {error}", where=user_line(), do="give numbers") from None
    return constant(numbers, dtype=FLOAT32 if dtype is None else dtype)
