# SPDX-License-Identifier: Apache-2.0
"""Polynomials by their coefficients, the highest first, as NumPy's `polyval` and its kin have them.

Leading zeros are coefficients like others: a shape cannot depend on whether a value is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.convolving import convolve
from ngraph_rewrite.frontend.numpy.creation import zeros, zeros_like
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import add, divide, multiply, sqrt, square, subtract
from ngraph_rewrite.frontend.numpy.equations import inv
from ngraph_rewrite.frontend.numpy.joining import concat
from ngraph_rewrite.frontend.numpy.least_squares import LstsqResult, lstsq
from ngraph_rewrite.frontend.numpy.linear_algebra import matmul, matrix_transpose, outer
from ngraph_rewrite.frontend.numpy.manipulation import expand_dims, reshape
from ngraph_rewrite.frontend.numpy.matrices import vander
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, part_along
from ngraph_rewrite.frontend.numpy.ranges import arange
from ngraph_rewrite.frontend.numpy.statistical import sum as total
from ngraph_rewrite.ops.checks import as_index, flag
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, finfo, is_float, promote
from ngraph_rewrite.types.lengths import Extent

Polynomial = Array | Sequence[Array]


def polyval(p: Polynomial, x: Array) -> Op:
    """The polynomial with these coefficients, the highest first, at `x`.

    Raises:
        AxesError: if they are no vector.
        LengthError: if there is an unknown number of them.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.polyval([2.0, 0.0, 1.0], ng.placeholder((3,))).type
    float32[3]
    """
    factors = as_term(p)  # type: ignore[arg-type]
    if factors.rank != 1:
        raise AxesError(f"polyval: expected a vector, got {factors.type!r}", where=user_line(), do="ravel it")
    term = as_term(x)
    found = zeros_like(term)
    for k in range(checked("polyval", known_length, factors.shape[0], "the polynomial")):
        found = add(multiply(found, term), factors[k])
    return found


def polyadd(a1: Polynomial, a2: Polynomial) -> Op:
    """The sum of two polynomials: as many coefficients as the longer one has.

    Raises:
        AxesError: if coefficients are no vector.
        LengthError: if there are unknown numbers of them that differ.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.polyadd(ng.placeholder((3,)), [1.0, 2.0]).type
    float32[3]
    """
    return add(*_alike("polyadd", a1, a2))


def polysub(a1: Polynomial, a2: Polynomial) -> Op:
    """One polynomial minus another. As `polyadd` otherwise.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.polysub(ng.placeholder((3,)), [1.0, 2.0]).type
    float32[3]
    """
    return subtract(*_alike("polysub", a1, a2))


def polymul(a1: Polynomial, a2: Polynomial) -> Op:
    """The product of two polynomials, which `convolve` gives: n + m - 1 coefficients of n and m.

    NumPy takes leading zeros off first.

    Raises:
        AxesError: if coefficients are no vector.
        LengthError: for none, or unknown numbers of both.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.polymul(ng.placeholder((3,)), [1.0, 2.0]).type
    float32[4]
    """
    return convolve(factors_of("polymul", a1), factors_of("polymul", a2))


def polyder(p: Polynomial, /, m: int = 1) -> Op:
    """The `m`-th derivative of a polynomial; int64 factors make float64 of float32, as in NumPy.

    Raises:
        AttributeValueError: for a negative `m`.
        AxesError: if the coefficients are no vector.
        LengthError: if there is an unknown number of them.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.polyder(ng.placeholder((3,), "float64")).type
    float64[2]
    """
    found = factors_of("polyder", p)
    for _ in range(_order("polyder", m)):
        degree = checked("polyder", known_length, found.shape[0], "the polynomial") - 1
        found = multiply(part_along(found, 0, None, -1), arange(max(degree, 0), 0, -1, dtype="int64"))
    return found


def polyint(p: Polynomial, /, m: int = 1, k: Any = None) -> Op:
    """The `m`-th integral of a polynomial; int64 divisors make float64 of all but bfloat16, as in NumPy.

    Args:
        k: The constants that integrals have, the first one's first; zeros unless given. One stands for all.

    Raises:
        ArgumentError: if there are not as many constants as integrals.
        AttributeValueError: for a negative `m`.
        AxesError: if the coefficients are no vector, or the constants are not.
        LengthError: if there is an unknown number of them.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.polyint(ng.placeholder((3,)), 2, [0.5, 1.0]).type
    float64[5]
    """
    found, count = factors_of("polyint", p), _order("polyint", m)
    for constant in _constants(k, count):
        length = checked("polyint", known_length, found.shape[0], "the polynomial")
        shares = divide(found, arange(length, 0, -1, dtype="int64"))
        found = concat([shares, astype(reshape(as_term(constant, [shares]), (1,)), shares.dtype)])
    return found


def polyfit(
    x: Array,
    y: Array,
    deg: int,
    rcond: Array | None = None,
    full: bool = False,
    w: Array | None = None,
    cov: bool | str = False,
) -> Op | tuple[Op, Op] | tuple[Op, Op, Op, Op, Array]:
    """The polynomial of a degree whose squared distances from `y` at `x` have the least sum, by `linalg.lstsq`.

    It is computed in float64, as NumPy does. A matrix `y` (m, k) has a polynomial in each column of the result.

    Args:
        deg: The degree: there are ``deg + 1`` coefficients, the highest first.
        rcond: Which singular values count: see `linalg.pinv`; the rounding error of `x` times its length by default.
        full: Whether to give what `linalg.lstsq` gives, and `rcond`, too.
        w: What the distance of each place counts.
        cov: Whether to give the covariances of coefficients, too: scaled by what distances are left, or
            ``"unscaled"``.

    Raises:
        AttributeValueError: for a negative degree, or another `cov`.
        ArgumentError: for covariances of no more places than coefficients, unless they are unscaled.
        AxesError: for other numbers of axes, or lengths that do not go together.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.polyfit(ng.placeholder((9,)), ng.placeholder((9,)), 2).type
    float64[3]
    """
    at, values = _places(x, y)
    degree = _order("polyfit", deg, "deg")
    count, limit = at.shape[0], rcond
    if limit is None:
        error = float(finfo(at.dtype).eps)
        limit = count * error if isinstance(count, int) else multiply(astype(as_term(count), FLOAT64), error)
    powers, values = astype(vander(at, degree + 1), FLOAT64), astype(values, FLOAT64)
    if w is not None:
        powers, values = _weighted(powers, values, factors_of("polyfit", w))
    sizes = sqrt(total(square(powers), axis=0))
    powers = divide(powers, sizes)
    fit = lstsq(powers, values, limit)
    found = divide(fit.x, reshape(sizes, (degree + 1, *(1,) * (values.rank - 1))))
    if checked("polyfit", flag, full, "full"):
        return found, fit.residuals, fit.rank, fit.s, limit
    if cov is False:
        return found
    return found, _covariances(powers, sizes, fit, cov, count)


def _covariances(powers: Op, sizes: Op, fit: LstsqResult, cov: bool | str, count: Extent) -> Op:
    if cov != "unscaled":
        checked("polyfit", flag, cov, "cov")
    base = divide(inv(matmul(matrix_transpose(powers), powers)), outer(sizes, sizes))
    if cov == "unscaled":
        return base if fit.x.rank == 1 else expand_dims(base, axis=2)
    free = count - checked("polyfit", known_length, fit.x.shape[0], "the coefficients")
    if isinstance(free, int) and free < 1:
        what = f"polyfit: {count} places leave nothing to scale covariances of {fit.x.shape[0]} coefficients by"
        raise ArgumentError(what, where=user_line(), do='give more places, or cov="unscaled"')
    left = divide(fit.residuals, astype(as_term(free), FLOAT64))
    return multiply(base, left) if fit.x.rank == 1 else multiply(expand_dims(base, axis=2), left)


def _places(x: Array, y: Array) -> tuple[Op, Op]:
    at, values = as_term(x), as_term(y)
    if at.rank != 1 or values.rank not in (1, 2) or at.shape[0] != values.shape[0] or at.shape[0] == 0:
        what = f"polyfit: places {at.type!r} and values {values.type!r}"
        raise AxesError(what, where=user_line(), do="give places (m), at least one, and values (m) or (m, k)")
    return (at if is_float(at.dtype) else astype(at, promote(at.dtype, 1.0))), values


def _weighted(powers: Op, values: Op, weights: Op) -> tuple[Op, Op]:
    """Both, each place as often as its weight says."""
    if weights.shape != values.shape[:1]:
        what = f"polyfit: weights {weights.type!r} for values {values.type!r}"
        raise AxesError(what, where=user_line(), do="give one for each place")
    columns = expand_dims(weights, axis=1)
    return multiply(powers, columns), multiply(values, columns if values.rank == 2 else weights)


def factors_of(call: str, p: Polynomial) -> Op:
    """Coefficients as a vector; one may stand alone."""
    term = as_term(p)  # type: ignore[arg-type]
    if term.rank > 1:
        raise AxesError(f"{call}: expected a vector, got {term.type!r}", where=user_line(), do="ravel it")
    return term if term.rank else reshape(term, (1,))


def _alike(call: str, a1: Polynomial, a2: Polynomial) -> tuple[Op, Op]:
    """Both, with zeros in front of the shorter one."""
    x, y = factors_of(call, a1), factors_of(call, a2)
    if x.shape == y.shape:
        return x, y
    n, m = (checked(call, known_length, t.shape[0], "a polynomial") for t in (x, y))
    longer = [t if t.shape[0] == max(n, m) else concat([zeros((abs(n - m),), dtype=t.dtype), t]) for t in (x, y)]
    return longer[0], longer[1]


def _order(call: str, given: Any, name: str = "m") -> int:
    number = checked(call, as_index, given, name)
    if number < 0:
        raise AttributeValueError(f"{call}: {name} is {number}", where=user_line(), do="give at least 0")
    return number


def _constants(k: Any, count: int) -> list[Any]:
    """So many constants of integration."""
    if isinstance(k, Op):
        k = [k] if not k.rank else [k[i] for i in range(checked("polyint", known_length, k.shape[0], "k"))]
    given = [0] if k is None else list(k) if isinstance(k, list | tuple) or np.ndim(k) else [k]
    if any(c.rank if isinstance(c, Op) else np.ndim(c) for c in given):
        what = "polyint: the constants are no vector"
        raise AxesError(what, where=user_line(), do="give a number for each integral, or one for all")
    if len(given) == 1:
        return given * count
    if len(given) < count:
        what = f"polyint: {len(given)} constants for {count} integrals"
        raise ArgumentError(what, where=user_line(), do="give one for each, or one for all")
    return given[:count]
