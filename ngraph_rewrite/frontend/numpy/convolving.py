# SPDX-License-Identifier: Apache-2.0
"""Vectors slid along each other: sums of products at each place."""

from __future__ import annotations

from ngraph_rewrite.errors import AxesError, LengthError
from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.manipulation import flip
from ngraph_rewrite.frontend.numpy.operands import Array, apply, as_term
from ngraph_rewrite.ops.checks import one_of
from ngraph_rewrite.ops.stretching import known_length
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, INT64, promote
from ngraph_rewrite.types.lengths import Length

_MODES = ("full", "same", "valid")


def convolve(x1: Array, x2: Array, /, mode: str = "full") -> Op:
    """The sums of ``x1[i] * x2[k - i]`` for each `k`: one vector, turned, slid along the other.

    Beside the longer vector there are zeros, which infinity or NaN in the shorter one makes NaN of.

    Args:
        mode: Which places there are: ``"full"``, where the vectors meet at all; ``"valid"``, where the shorter is
            inside of the longer; ``"same"``, as many as the longer has elements, in the middle.

    Raises:
        AxesError: for what is no vector.
        LengthError: for an empty vector, or a length that is not known yet, unless the other is and the mode is
            "full". A call in which that one turns out to be empty gives zeros.
        AttributeValueError: for another mode.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.convolve(ng.placeholder((5,)), [1.0, 2.0, 1.0], "same").type
    float32[5]
    >>> ng.numpy.convolve(ng.placeholder((None,)), [1.0, 2.0, 1.0]).type
    float32[n0 + 2]
    """
    left, right = (_vector("convolve", x) for x in (x1, x2))
    if _longer("convolve", right, left, mode):
        left, right = right, left
    return _slid("convolve", left, flip(right), mode)


def correlate(x1: Array, x2: Array, /, mode: str = "valid") -> Op:
    """The sums of ``x1[i + k] * x2[i]`` for each `k`: the second vector slid along the first. As `convolve` otherwise.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.correlate(ng.placeholder((5,)), [1.0, 2.0, 1.0]).type
    float32[3]
    """
    left, right = (_vector("correlate", x) for x in (x1, x2))
    if _longer("correlate", right, left, mode):
        return flip(_slid("correlate", right, left, mode))
    return _slid("correlate", left, right, mode)


def _slid(call: str, long: Op, short: Op, mode: str) -> Op:
    checked(call, one_of, mode, _MODES, "mode")
    size = _length(call, short)
    before = {"full": size - 1, "same": size // 2, "valid": 0}[mode]
    after = {"full": size - 1, "same": size - size // 2 - 1, "valid": 0}[mode]
    dtype = promote(long.dtype, short.dtype)
    images = apply("reshape", _number(long, dtype), shape=(1, 1, long.size))
    filters = apply("reshape", _number(short, dtype), shape=(1, 1, size))
    found = build_term(
        "semi.convolution", images, filters, strides=(1,), before=(before,), after=(after,), interior=(0,),
        dilations=(1,), groups=1,
    )  # fmt: skip
    return astype(apply("reshape", found, shape=(found.size,)), dtype)


def _number(x: Op, dtype: object) -> Op:
    return astype(x, INT64 if dtype == BOOL else dtype)


def _vector(call: str, x: Array) -> Op:
    term = as_term(x)
    if term.rank > 1:
        raise AxesError(f"{call}: expected vectors, got {term.type!r}", where=user_line(), do="ravel it")
    return term if term.rank else apply("reshape", term, shape=(1,))


def _longer(call: str, x: Op, other: Op, mode: str) -> bool:
    """Whether a vector is the longer one; or that of unknown length, as either may be slid where they meet at all."""
    lengths = [y.shape[0] for y in (x, other)]
    if mode == "full" and sum(isinstance(length, Length) for length in lengths) == 1:
        return isinstance(lengths[0], Length)
    return _length(call, x) > _length(call, other)


def _length(call: str, x: Op) -> int:
    length = checked(call, known_length, x.shape[0], "a vector")
    if not length:
        raise LengthError(f"{call}: a vector is empty", where=user_line(), do="give elements")
    return length
