# SPDX-License-Identifier: Apache-2.0
"""Simple products: sums of products over features, and over N and R if told so."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError, UnmatchedAxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import numeric, position, several
from ngraph_rewrite.ops.simple_marks import MARKERS, Key, Marker, common, features, keys, placed, simple, without
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import promote
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def rest(shape: Sequence[Extent], numbers: Iterable[int]) -> tuple[int, ...]:
    """The numbers of the features that are not among these."""
    gone = set(numbers)
    return tuple(i for i in range(len(shape)) if i not in gone)


def _paired(x: TensorType, numbers: Any) -> tuple[int, ...]:
    found = tuple(position(n, len(features(x.axes)), "feature axis") for n in several(numbers, "features"))
    if len(set(found)) != len(found):
        raise AttributeValueError(f"the features {tuple(numbers)} name one twice")
    return found


def _attributes(x: TensorType, y: TensorType, *, left: Any, right: Any, over: Any) -> Attributes:
    simple(x, y)
    summed = tuple(m for m in MARKERS if m in several(over, "over"))
    if len(summed) != len(tuple(over)):
        raise AttributeValueError(f"over is {over!r}", do="name N, R or both, once each")
    missing = [m for m in summed if m not in (*keys(x.axes), *keys(y.axes))]
    if missing:
        raise UnmatchedAxesError(f"neither {x!r} nor {y!r} has {missing[0]}")
    return {"left": _paired(x, left), "right": _paired(y, right), "over": summed}


def _matrices(array: Any, have: Axes, marks: Sequence[Key], first: Sequence[Key], last: Sequence[Key]) -> Any:
    """An operand as matrices: `marks`, of length 1 where it has them not, then the two groups as one axis each."""
    own = keys(have)
    order = [own.index(k) for k in (*marks, *first, *last) if k in own]
    spread = tuple(array.shape[own.index(m)] if m in own else 1 for m in marks)
    sides = [math.prod(array.shape[own.index(k)] for k in group) for group in (first, last)]
    return np.transpose(array, order).reshape((*spread, *sides))


def _tensordot(term: Op, x: Any, y: Any) -> Any:
    left, right, over = term.attrs
    operands = []
    for array, arg, other in ((x, term.args[0], term.args[1]), (y, term.args[1], term.args[0])):
        alone = [m for m in over if m in keys(arg.axes) and m not in keys(other.axes)]
        places = tuple(keys(arg.axes).index(m) for m in alone)
        wide = array.astype(term.dtype, copy=False)
        operands.append((functions.total(wide, places) if places else wide, without(arg.axes, alone)))
    (a, have), (b, other_have) = operands
    marks = [m for m in MARKERS if m in common(have, other_have) and m not in over]
    both = [m for m in over if m in keys(have)]
    rows, columns = rest(features(have), left), rest(features(other_have), right)
    with np.errstate(all="ignore"):
        found = np.matmul(
            _matrices(a, have, marks, rows, [*left, *both]), _matrices(b, other_have, marks, [*right, *both], columns)
        )
    shape = tuple(int(n) for n in features(term.axes))  # type: ignore[arg-type]
    spread = found.reshape((*found.shape[: len(marks)], *shape))
    order: list[Key] = [*marks, *range(len(shape))]
    return np.transpose(spread, [order.index(k) for k in keys(term.axes)])


@op("simple.tensordot", meaning=_tensordot, normalise=_attributes)
def tensordot(
    x: TensorType, y: TensorType, *, left: tuple[int, ...], right: tuple[int, ...], over: tuple[Marker, ...]
) -> TensorType:
    """The sum of products over pairs of features, those numbered `left` of `x` and `right` of `y`, and `over` N or R.

    The other features of `x` follow, then those of `y`; N and R that are not summed over are carried.
    """
    dtype = promote(x.dtype, y.dtype)
    numeric(TensorType(dtype))
    common(x.axes, y.axes)
    one, other = features(x.axes), features(y.axes)
    if [one[i] for i in left] != [other[i] for i in right]:
        raise AxesError(
            f"expected the features {left} of {x!r} to be as long as the features {right} of {y!r}",
            do="reshape or transpose one",
        )
    shape = (*(one[i] for i in rest(one, left)), *(other[i] for i in rest(other, right)))
    kept = [without(t.axes, [m for m in over if m in keys(t.axes)]) for t in (x, y)]
    return TensorType(dtype, placed(shape, *kept))


def _dot(term: Op, x: Any, y: Any) -> Any:
    last = len(features(term.args[0].axes)) - 1
    return _tensordot(Op(term.definition, term.args, ((last,), (0,), ()), term.type), x, y)


@op("simple.dot", meaning=_dot)
def dot(x: TensorType, y: TensorType) -> TensorType:
    """The sum of products over the last feature of `x` and the first of `y`; their other features follow.

    N and R are carried: where both have one, the product is taken for each sample or step by itself.
    """
    simple(x, y)
    if not features(x.axes) or not features(y.axes):
        raise AxesError(f"expected features in {x!r} and {y!r}", do="multiply by a scalar")
    return tensordot(x, y, left=(len(features(x.axes)) - 1,), right=(0,), over=())
