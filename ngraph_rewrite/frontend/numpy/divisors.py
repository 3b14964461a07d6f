# SPDX-License-Identifier: Apache-2.0
"""Greatest common divisors and least common multiples, by Euclid's algorithm: a loop for all elements at once."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.looping import while_loop
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import abs, equal, floor_divide, multiply, not_equal, remainder, where
from ngraph_rewrite.frontend.numpy.manipulation import broadcast_arrays
from ngraph_rewrite.frontend.numpy.operands import Array, as_terms
from ngraph_rewrite.frontend.numpy.statistical import any as any_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import promote


def gcd(x1: Array, x2: Array, /) -> Op:
    """The greatest integer that divides both, without their signs; of 0 and a number that number.

    All elements are divided until the last one is done: the loop takes as many steps as the numbers that need most, at
    most 92 of 64 bits.

    Raises:
        DTypeError: for what are no integers, or int64 beside uint64.
        IncompatibleAxesError: for shapes that do not broadcast.

    >>> import ngraph_rewrite as ng
    >>> with ng.make_transformer("cpu") as transformer:
    ...     transformer.computation(ng.numpy.gcd([12, -18, 0], 8))()
    array([4, 2, 8])
    """
    x, y = _integers("gcd", x1, x2)
    return astype(_divisor(_size(x), _size(y)), x.dtype)


def lcm(x1: Array, x2: Array, /) -> Op:
    """The least positive integer that both divide; 0 if one is 0. As `gcd` otherwise.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.lcm(ng.placeholder((3,), "int32"), 6).type
    int32[3]
    """
    x, y = _integers("lcm", x1, x2)
    dtype, x, y = x.dtype, _size(x), _size(y)
    return astype(multiply(floor_divide(x, _divisor(x, y)), y), dtype)


def _integers(call: str, x1: Array, x2: Array) -> tuple[Op, Op]:
    """Both, of one shape and dtype."""
    terms = as_terms(call, x1, x2)
    dtype = checked(call, promote, *(t.dtype for t in terms))
    if dtype.kind not in "iu":
        what = f"{call}: expected integers, got {terms[0].type!r} and {terms[1].type!r}"
        raise DTypeError(what, where=user_line(), do="cast both to one integer dtype")
    x, y = broadcast_arrays(*(astype(t, dtype) for t in terms))
    return x, y


def _size(x: Op) -> Op:
    """The absolute value, of which an unsigned dtype has the greatest as well."""
    return x if x.dtype.kind == "u" else astype(abs(x), f"u{x.dtype}")


def _divisor(x: Op, y: Op) -> Op:
    def step(state: Any) -> Any:
        a, b = state
        done = equal(b, 0)
        return where(done, a, b), where(done, b, remainder(a, b))

    found, _ = while_loop(lambda state: any_of(not_equal(state[1], 0)), step, (x, y))
    assert isinstance(found, Op)
    return found
