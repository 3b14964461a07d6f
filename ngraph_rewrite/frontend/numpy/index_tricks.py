# SPDX-License-Identifier: Apache-2.0
"""Grids and rows written as indices, as NumPy has them: ``mgrid[0:2, 0:3]``, ``r_[x, 0, 1:4]``, ``c_[x, y]``.

A slice stands for its numbers, so many of them if its step is imaginary: ``0:1:5j`` are 5 from 0 to 1, with both ends.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.frontend.numpy.creation import meshgrid
from ngraph_rewrite.frontend.numpy.joining import concat, stack
from ngraph_rewrite.frontend.numpy.manipulation import reshape
from ngraph_rewrite.frontend.numpy.operands import as_term
from ngraph_rewrite.frontend.numpy.ranges import arange, linspace
from ngraph_rewrite.frontend.storage import dtypes_of
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import FLOAT32, INT64, DType, promote
from ngraph_rewrite.types.lengths import Length


class _Grid:
    """What is made of slices, one for each axis of a grid."""

    def __init__(self, name: str, sparse: bool) -> None:
        self._name, self._sparse = name, sparse

    def __getitem__(self, index: Any) -> Any:
        """The numbers of each axis at each place: int64 if all are integers, else float32.

        Raises:
            ArgumentError: for what is no slice of numbers with a stop.
        """
        each = index if isinstance(index, tuple) else (index,)
        whole = all(_is_whole(s) for s in each if isinstance(s, slice))
        rows = [_numbers(self._name, s, INT64 if whole else FLOAT32) for s in each]
        if not isinstance(index, tuple):
            return rows[0]
        found = meshgrid(*rows, indexing="ij", sparse=self._sparse)
        return found if self._sparse else stack(found)


class _Joined:
    """Arrays, numbers and slices, one after the other along an axis."""

    def __init__(self, name: str, columns: bool) -> None:
        self._name, self._columns = name, columns

    def __getitem__(self, index: Any) -> Op:
        """All of them along the first axis, or, as columns, along the last one of at least two.

        Raises:
            ArgumentError: for a string, which tells NumPy along which axis, or a slice without a stop.
            AxesError: for arrays whose other lengths differ.
        """
        each = index if isinstance(index, tuple) else (index,)
        terms = [
            _numbers(self._name, x, _kind(x, each)) if isinstance(x, slice) else self._array(x, each) for x in each
        ]
        return concat([self._lifted(t) for t in terms], axis=-1 if self._columns else 0)

    def _array(self, x: Any, beside: Sequence[Any]) -> Op:
        if isinstance(x, str):
            what = f"{self._name}: {x!r} has no meaning here"
            raise ArgumentError(what, where=user_line(), do="use ng.numpy.concat or stack, with axis=")
        return as_term(x, [y for y in beside if y is not x and not isinstance(y, slice | str)])

    def _lifted(self, x: Op) -> Op:
        least = 2 if self._columns else 1
        return x if x.rank >= least else reshape(x, (*x.shape, *(1,) * (least - x.rank)))


def _is_whole(numbers: slice) -> bool:
    return all(isinstance(n, int | Length | None) for n in _parts(numbers))


def _kind(numbers: slice, beside: Sequence[Any]) -> DType:
    """The dtype of the numbers of a slice, which are not rounded to less than what comes of floats and these arrays."""
    return INT64 if _is_whole(numbers) else promote(FLOAT32, *dtypes_of(beside))


def _parts(numbers: slice) -> tuple[Any, ...]:
    """The start, stop and step, integers of NumPy as Python's."""
    return tuple(operator.index(n) if hasattr(n, "__index__") and not isinstance(n, Op) else n for n in _ends(numbers))


def _ends(numbers: slice) -> tuple[Any, ...]:
    return numbers.start, numbers.stop, numbers.step


def _numbers(call: str, numbers: Any, dtype: Any = None) -> Op:
    if not isinstance(numbers, slice) or numbers.stop is None:
        do = "give slices with a stop, such as 0:3, or 0:1:5j for 5 numbers"
        raise ArgumentError(f"{call}: the index {numbers!r}", where=user_line(), do=do)
    start, stop, step = _parts(numbers)
    start = 0 if start is None else start
    if isinstance(step, complex):
        if not math.isfinite(abs(step)):
            what = f"{call}: the step {step!r} of {numbers!r} stands for so many numbers"
            raise ArgumentError(what, where=user_line(), do="give a finite one, such as 5j")
        return linspace(start, stop, int(abs(step)), dtype=dtype)
    return arange(start, stop, 1 if step is None else step, dtype=dtype)


mgrid, ogrid = _Grid("mgrid", sparse=False), _Grid("ogrid", sparse=True)
r_, c_ = _Joined("r_", columns=False), _Joined("c_", columns=True)
