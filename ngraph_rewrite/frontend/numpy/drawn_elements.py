# SPDX-License-Identifier: Apache-2.0
"""Elements of arrays in a random order, and some that are drawn of all."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.cumulative import cumulative_sum
from ngraph_rewrite.frontend.numpy.data_types import astype
from ngraph_rewrite.frontend.numpy.elementwise import clip, log
from ngraph_rewrite.frontend.numpy.manipulation import flip, reshape
from ngraph_rewrite.frontend.numpy.operands import Array, as_number, as_term
from ngraph_rewrite.frontend.numpy.random_parameters import Size, drawn, known, wanted
from ngraph_rewrite.frontend.numpy.searching import searchsorted, take
from ngraph_rewrite.frontend.numpy.sorting import argsort
from ngraph_rewrite.frontend.numpy.whole_numbers import integers
from ngraph_rewrite.ops.checks import extents, listed, position
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT64, finfo, is_float
from ngraph_rewrite.types.lengths import Length, product


def permutation(x: Array, axis: int = 0) -> Op:
    """The elements along an axis in another order, each as probable as any; of a number, those of its ``arange``.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.permutation(5).type, ng.numpy.random.permutation(ng.placeholder((7, 2))).type
    (int64[5], float32[7, 2])
    """
    if (count := _count(x)) is not None:
        return _order(*checked("permutation", extents, (count,)))
    term = as_term(x)
    place = checked("permutation", position, axis, term.rank)
    return take(term, _order(term.shape[place]), axis=place)


def _count(x: Array) -> Any:
    """An integer, or a length; None is an array or a term."""
    if isinstance(x, Op | Length | bool):
        return None if isinstance(x, Op) else x
    try:
        return operator.index(x)  # type: ignore[arg-type]
    except TypeError:
        return None


def _order(count: Any) -> Op:
    """The first integers, shuffled."""
    return argsort(drawn((count,), FLOAT64))


def choice(a: Array, size: Size = None, replace: bool = True, p: Array | None = None, axis: int = 0) -> Op:
    """Elements of `a` along an axis, or integers below `a`, drawn alike or by probabilities.

    Args:
        size: How many: a length, several, or None for one.
        replace: Whether an element may be drawn again.
        p: A probability for each element; their sum is 1.

    Raises:
        AttributeValueError: if `p` is known and is no probabilities, or too few are not 0.
        AxesError: if there are not as many elements, or probabilities of another number.

    >>> import ngraph_rewrite as ng
    >>> ng.numpy.random.choice(5, 3, replace=False).type
    int64[3]
    >>> ng.numpy.random.choice(ng.placeholder((7, 2)), (4,)).type
    float32[4, 2]
    """
    shape = () if size is None else checked("choice", extents, listed(size))
    count = _count(a)
    term = as_term(a) if count is None else None
    place = 0 if term is None else checked("choice", position, axis, term.rank)
    count = count if term is None else term.shape[place]
    if isinstance(count, int) and count < 1 and 0 not in shape:
        raise AxesError(f"choice: there are {count} elements", where=user_line(), do="give one at least")
    weights = None if p is None else astype(as_term(p), FLOAT64)
    if weights is not None and weights.shape != (count,):
        what = f"choice: {weights.shape!r} probabilities of {count!r} elements"
        raise AxesError(what, where=user_line(), do="give a vector with one for each")
    if p is not None:
        _check_weights(p, 1 if replace else product(shape))
    found = (_again if replace else _once)(count, shape, weights)
    return found if term is None else take(term, found, axis=place)


def _check_weights(p: Array, wanted: Any) -> None:
    """Refuse probabilities that are known and whose sum is not 1, or of which fewer are positive than are wanted."""
    x = known(p)
    if x is None:
        return
    narrow = getattr(p, "dtype", FLOAT64)
    near = math.sqrt(finfo(narrow).eps) if is_float(narrow) else 1e-8
    if not (np.all(x >= 0) and abs(x.sum() - 1) <= near):
        do = "give numbers that are not negative, and divide them by their sum"
        raise AttributeValueError(f"choice: p is {p!r}, of sum {x.sum()}", where=user_line(), do=do)
    if isinstance(wanted, int) and np.count_nonzero(x) < wanted:
        what = f"choice: {wanted} elements, none of them twice, and {np.count_nonzero(x)} have a probability above 0"
        raise AttributeValueError(what, where=user_line(), do="draw fewer, or replace=True")


def _again(count: Any, shape: Any, weights: Op | None) -> Op:
    """Indices that may stand twice."""
    if weights is None:
        return integers(0, count, shape)
    ends = cumulative_sum(weights, axis=0)
    u = drawn(shape, FLOAT64) * ends[-1]
    found = searchsorted(ends, reshape(u, (product(shape),)), side="right")
    return reshape(clip(found, 0, as_number(count) - 1), shape)


def _once(count: Any, shape: Any, weights: Op | None) -> Op:
    """Indices of which none stands twice: the first of a random order, in which what weighs more comes earlier."""
    number = product(shape)
    if isinstance(count, int) and isinstance(number, int) and number > count:
        what = f"choice: {number} of {count} elements, none of them twice"
        raise AxesError(what, where=user_line(), do="draw fewer, or replace=True")
    waits = wanted("choice", (count,), FLOAT64)
    late = -log(waits.positive()) / weights if weights is not None else waits.uniform()
    if isinstance(count, Length) and isinstance(number, int):  # from the end on, so that a call with fewer is refused
        return reshape(flip(argsort(late, descending=True)[count - number :]), shape)
    return reshape(argsort(late)[:number], shape)
