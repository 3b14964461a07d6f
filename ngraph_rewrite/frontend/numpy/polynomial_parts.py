# SPDX-License-Identifier: Apache-2.0
"""Polynomials made of their zeros, and divided by each other. The highest coefficients come first."""

from __future__ import annotations

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.creation import ones, zeros
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import divide, multiply, subtract
from ngraph_rewrite.frontend.numpy.joining import concat, stack
from ngraph_rewrite.frontend.numpy.operands import Array, as_term, part_along
from ngraph_rewrite.frontend.numpy.polynomials import Polynomial, factors_of
from ngraph_rewrite.ops.alignment import averaging
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT32, FLOAT64, promote


def poly(seq_of_zeros: Array, /) -> Op:
    """The polynomial with these zeros, whose highest coefficient is 1; float64 unless they are float32.

    Raises:
        AxesError: for what is no vector: the zeros of a matrix are its eigenvalues.
        LengthError: if there is an unknown number of them.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.poly([1.0, 2.0]))()
    array([ 1., -3.,  2.], dtype=float32)
    """
    places = as_term(seq_of_zeros)
    if places.rank != 1:
        do = "give a vector, such as linalg.eigvalsh(x) of a symmetric matrix; the eigenvalues of others are complex"
        raise AxesError(f"poly: expected a vector, got {places.type!r}", where=user_line(), do=do)
    places = astype(places, FLOAT32 if places.dtype == FLOAT32 else FLOAT64)
    count = checked("poly", known_length, places.shape[0], "the zeros")
    found, nothing = ones((1,), dtype=places.dtype), zeros((1,), dtype=places.dtype)
    for k in range(count):
        found = subtract(concat([found, nothing]), multiply(places[k], concat([nothing, found])))
    return found if count else found[0]


def polydiv(u: Polynomial, v: Polynomial) -> tuple[Op, Op]:
    """The quotient of two polynomials, and the remainder, as floats.

    The remainder of a divisor of n coefficients has n - 1, at least one; NumPy takes zeros off in front. So it does of
    the divisor; here what a leading zero divides is not finite.

    Raises:
        AxesError: if coefficients are no vector, or the divisor has none.
        LengthError: if there are unknown numbers of them.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(list(ng.numpy.polydiv([1.0, 2.0, 3.0], [1.0, 1.0])))()
    [array([1., 1.], dtype=float32), array([2.], dtype=float32)]
    """
    rest, divisor = factors_of("polydiv", u), factors_of("polydiv", v)
    dtype = promote(averaging(rest.dtype), averaging(divisor.dtype))
    rest, divisor = astype(rest, dtype), astype(divisor, dtype)
    n, m = (checked("polydiv", known_length, t.shape[0], "a polynomial") for t in (divisor, rest))
    if n == 0:
        raise AxesError("polydiv: the divisor has no coefficients", where=user_line(), do="give at least one")
    scale, lower, found = divide(1, divisor[0]), part_along(divisor, 0, 1, None), []
    for _ in range(m - n + 1):
        found.append(multiply(scale, rest[0]))
        changed = subtract(part_along(rest, 0, 1, n), multiply(found[-1], lower))
        rest = concat([changed, part_along(rest, 0, n, None)])
    nothing = zeros((1,), dtype=dtype)
    return stack(found) if found else nothing, rest if rest.shape[0] != 0 else nothing
