# SPDX-License-Identifier: Apache-2.0
"""Functions for which NaN and infinities are no numbers like others, and comparisons that allow for rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngraph_rewrite.errors import LengthError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.elementwise import equal, isnan, logical_and, logical_or
from ngraph_rewrite.frontend.numpy.formulas import without_names
from ngraph_rewrite.frontend.numpy.operands import Array, as_term
from ngraph_rewrite.frontend.numpy.statistical import all
from ngraph_rewrite.frontend.storage import constant
from ngraph_rewrite.ops.checks import flag
from ngraph_rewrite.ops.stretching import Shape
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import finfo, is_float


def fmax(x1: Array, x2: Array, /) -> Op:
    """The greater of two elements; where one is NaN, the other.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fmax(ng.placeholder((3,)), 0.5).type
    float32[3]
    """
    return _formula("fmax", x1, x2)


def fmin(x1: Array, x2: Array, /) -> Op:
    """The lesser of two elements; where one is NaN, the other.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.fmin(ng.placeholder((3,)), 0.5).type
    float32[3]
    """
    return _formula("fmin", x1, x2)


def isposinf(x: Array, /) -> Op:
    """Whether an element is positive infinity.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.isposinf(ng.placeholder((3,))).type
    bool[3]
    """
    return _formula("isposinf", x)


def isneginf(x: Array, /) -> Op:
    """Whether an element is negative infinity.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.isneginf(ng.placeholder((3,))).type
    bool[3]
    """
    return _formula("isneginf", x)


def nan_to_num(
    x: Array, /, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Op:
    """`x` with numbers in the place of NaN and infinities, which are the greatest and the least unless given.

    Terms are immutable, so that `copy` makes no difference.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.nan_to_num(ng.placeholder((3,)), posinf=1e6).type
    float32[3]
    """
    return replaced(without_names, x, nan, posinf, neginf)


def isclose(x1: Array, x2: Array, /, rtol: Array = 1e-5, atol: Array = 1e-8, equal_nan: bool = False) -> Op:
    """Whether each ``abs(x1 - x2)`` is at most ``atol + rtol * abs(x2)``; infinities are close to themselves.

    Args:
        equal_nan: Whether NaN is close to NaN.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.isclose(ng.placeholder((2, 3)), ng.placeholder((3,))).type
    bool[2, 3]
    """
    both = checked("isclose", flag, equal_nan, "equal_nan")
    return _formula("isclose", x1, x2, rtol=rtol, atol=atol, equal_nan=both)


def allclose(x1: Array, x2: Array, /, rtol: Array = 1e-5, atol: Array = 1e-8, equal_nan: bool = False) -> Op:
    """Whether all elements are `isclose`: a bool without axes.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.allclose(ng.placeholder((2, 3)), 1.0).type
    bool[]
    """
    return all(isclose(x1, x2, rtol, atol, equal_nan))


def array_equal(x1: Array, x2: Array, /, equal_nan: bool = False) -> Op:
    """Whether two arrays have one shape and equal elements: a bool without axes.

    Args:
        equal_nan: Whether NaN is equal to NaN.

    Raises:
        LengthError: if unknown lengths do not say whether the shapes are one.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.array_equal(ng.placeholder((3,)), [1, 2, 3]).type
    bool[]
    """
    x, y = as_term(x1), as_term(x2)
    if _apart(x.shape, y.shape):
        return constant(False)
    if x.shape != y.shape:
        do = "give both the same lengths"
        raise LengthError(f"array_equal: whether {x.type!r} has the shape of {y.type!r}", where=user_line(), do=do)
    same = equal(x, y)
    if checked("array_equal", flag, equal_nan, "equal_nan"):
        same = logical_or(same, logical_and(isnan(x), isnan(y)))
    return all(same)


def array_equiv(x1: Array, x2: Array, /) -> Op:
    """Whether two arrays broadcast to one shape and are equal there: a bool without axes.

    Raises:
        LengthError: if unknown lengths do not say whether they broadcast.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.array_equiv(ng.placeholder((2, 3)), [1, 2, 3]).type
    bool[]
    """
    x, y = as_term(x1), as_term(x2)
    pairs = list(zip(x.shape[::-1], y.shape[::-1], strict=False))
    if any(1 not in pair and _apart(pair[:1], pair[1:]) for pair in pairs):
        return constant(False)
    if any(1 not in pair and pair[0] != pair[1] for pair in pairs):
        do = "give both the same lengths"
        raise LengthError(f"array_equiv: whether {x.type!r} broadcasts with {y.type!r}", where=user_line(), do=do)
    return all(equal(x, y))


def replaced(family: Callable[..., Any], x: Array, nan: Any, posinf: Any, neginf: Any) -> Op:
    """What `nan_to_num` makes, in a family of ops: `without_names` or `in_their_family`."""
    term = as_term(x)
    if not is_float(term.dtype):
        return term
    most = float(finfo(term.dtype).max)
    posinf, neginf = (most if posinf is None else posinf), (-most if neginf is None else neginf)
    found: Op = family("nan_to_num", term, nan=nan, posinf=posinf, neginf=neginf)
    return found


def _apart(shape: Shape, other: Shape) -> bool:
    """Whether two shapes differ, whatever the lengths are that are not known yet."""
    pairs = zip(shape, other, strict=False)
    return len(shape) != len(other) or any(n != m and isinstance(n, int) and isinstance(m, int) for n, m in pairs)


def _formula(name: str, *operands: Array, **options: Any) -> Op:
    found: Op = without_names(name, *operands, **options)
    return found
