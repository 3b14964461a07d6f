# SPDX-License-Identifier: Apache-2.0
"""How large the parts of a sum or a product are, and where only their order says whether they overflow.

A sum of floats may be taken in any order, and one order may overflow where another does not: of the greatest number
twice and its negative. Where all orders overflow, the sum is infinite, and a rule that makes such a one of what is
finite is wrong: two of the greatest numbers of 16 bits are one of 32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import computed, finfo, is_float, wide

Array = NDArray[Any]

# Ops whose terms may cancel: their error is relative to what the sizes of the operands give.
_SUMS = frozenset(
    "dot batch_dot tensordot matmul gemm einsum inner vecdot sum mean cumulative_sum convolution scatter_add add_along"
    " fold".split()
)

# Ops whose parts may overflow or vanish, depending on their order.
_PRODUCTS = frozenset("prod cumulative_prod".split())

# Ops whose meaning subtracts from numbers of the size of 1 or of the arguments.
_COMPOSITE = frozenset(
    "cross_entropy_multi cross_entropy_binary cross_entropy_softmax cross_entropy_sigmoid log_softmax logsumexp".split()
)

# Those of the sums that are linear in their first operand, and add up in the dtype of the term; means may do so in a
# wider one.
_LINEAR = frozenset("sum cumulative_sum dot batch_dot tensordot matmul inner vecdot fold pooling".split())


def adds(term: Op) -> bool:
    """Whether an op adds up, so that its terms may cancel."""
    return term.definition.short in _SUMS or (term.definition.short == "pooling" and term.attribute("kind") in _POOLED)


def has_parts(term: Op) -> bool:
    """Whether the order of its parts is open, of which some may overflow."""
    return adds(term) or term.definition.short in _PRODUCTS


_POOLED = ("sum", "avg")


def _is_mean(term: Op) -> bool:
    return term.definition.short == "mean" or (term.definition.short == "pooling" and term.attribute("kind") == "avg")


def magnitude(term: Op, value: Array, args: list[Array]) -> Array:
    """What an op's error is relative to: its result, or inside a composite one the numbers that may cancel there."""
    if adds(term) and is_float(value.dtype) and term.definition.meaning is not None:
        with np.errstate(all="ignore"):
            sizes = (np.abs(a) if is_float(a.dtype) else a for a in args)  # an integer is an index, or is exact
            bound = np.abs(computed(term.definition.meaning(term, *sizes), term.dtype))
            return np.asarray(np.maximum(bound.reshape(value.shape), np.abs(finite(value))))
    if term.definition.short == "fourier":
        with np.errstate(all="ignore"):
            sizes = np.sum([np.abs(finite(a)) for a in args], axis=(0, 2), keepdims=True)[0]
            return np.asarray(np.broadcast_to(sizes, value.shape), value.dtype)
    if term.definition.short == "softmax":  # the exponential of a difference, which is rounded as such
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(value) * value.dtype.type(2 * np.abs(finite(args[0])).max(initial=1)))
    if term.definition.short == "mixture" and term.definition.meaning is not None:  # and what it weighs may cancel
        with np.errstate(all="ignore"):
            weighed = term.definition.meaning(term, args[0], np.abs(finite(args[1])), *args[2:])
            scores = np.abs(finite(args[0])).max(initial=1) * max(1.0, abs(float(term.attribute("scale").scalar)))
            bound = np.maximum(computed(weighed, term.dtype).reshape(value.shape), np.abs(finite(value)))
            return np.asarray(bound * value.dtype.type(2 * scores))
    if term.definition.short in _COMPOSITE:
        inside = [np.abs(a[np.isfinite(a)]).max(initial=1) for a in args]
        return np.asarray(np.maximum(np.abs(value), np.asarray(max(inside)).astype(value.dtype)))
    return np.abs(value)


def overflows(term: Op, value: Array, args: list[Array]) -> Array:
    """Where a part of a sum or of a product may overflow or not, as its order has it.

    >>> from ngraph_rewrite.testing import term
    >>> total = term("semi.sum", term("core.placeholder", axes=[3], dtype="float16"), axes=(0,))
    >>> for last in (-65504, 65504):
    ...     print(overflows(total, np.array(np.inf, "float16"), [np.array([65504, 65504, last], "float16")]))
    True
    False
    """
    if term.definition.short in _PRODUCTS and term.definition.meaning is not None:
        return _of_product(term, value, args[0])
    parts = [finite(a) if is_float(a.dtype) else a for a in args]
    sizes = [float(np.abs(p).max(initial=1)) for p in parts] if len(parts) > 2 else []
    if sizes and np.log2(sizes).sum() >= finfo(term.dtype).maxexp:
        return np.ones(value.shape, bool)
    if np.isfinite(value).all():
        return np.zeros(value.shape, bool)
    over = ~np.isfinite(magnitude(term, value, parts))
    return over & ~_sum_overflows(term, value, parts) if over.any() else over


def _sum_overflows(term: Op, value: Array, parts: list[Array]) -> Array:
    """Where a sum is infinite in every order: it is too large, and its parts of the other sign are not."""
    if _is_mean(term):  # one of 16 bits is added up in a dtype that holds any sum
        return np.full(value.shape, wide(term.dtype) != term.dtype)
    if term.definition.short not in _LINEAR or term.definition.meaning is None or not is_float(parts[0].dtype):
        return np.zeros(value.shape, bool)
    count, limits = max(1, max(p.size for p in parts)), finfo(term.dtype)
    scale = 2.0 ** -(int(np.log2(count)) + 2)  # so that no order overflows
    signed = [(parts[0] * scale).astype(parts[0].dtype), *parts[1:]]
    with np.errstate(all="ignore"):
        both = [term.definition.meaning(term, *some) for some in (signed, [np.abs(p) for p in signed])]
        total, size = (np.asarray(b).astype(np.float64).reshape(value.shape) for b in both)
        least, slack = (size - np.abs(total)) / 2, 2 * count * float(limits.eps)
        most, sure = float(limits.max) * scale, np.sign(total) * np.inf == value
        return np.asarray(sure & (np.abs(total) > most * (1 + slack)) & (least < most * max(0.0, 1 - slack)))


def _of_product(term: Op, value: Array, factors: Array) -> Array:
    """Not where there is an overflow in every order, nor where no factor is above 1: what vanishes is then near 0."""
    assert term.definition.meaning is not None
    sizes = np.where(np.isfinite(factors) & (factors != 0), np.abs(factors), 1).astype(factors.dtype)
    limits, count = finfo(value.dtype), max(1, factors.size)
    with np.errstate(all="ignore"):
        roots = (sizes.astype(np.float64) ** (1 / count)).astype(factors.dtype)
        most, least, root = (
            computed(term.definition.meaning(term, some), term.dtype).reshape(value.shape)
            for some in (np.maximum(sizes, 1), np.minimum(sizes, 1), roots)
        )
        digits = count * np.log2(root.astype(np.float64))
    too_large = digits > limits.maxexp + 4 * count**2 * float(limits.eps)
    sure = np.isinf(value) & too_large & (least >= limits.tiny)
    return np.asarray(~sure & (~np.isfinite(most) | ((least < limits.tiny) & (most > 1))))


def finite(array: Array) -> Array:
    """The array with 0 for what is no number."""
    return np.where(np.isfinite(array), array, array.dtype.type(0))
