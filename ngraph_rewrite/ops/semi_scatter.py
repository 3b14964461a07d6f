# SPDX-License-Identifier: Apache-2.0
"""Reading and putting at indices. Reading and adding are each other's adjoints.

An index counts from the end if it is negative. Outside of the axis a read gives zeros, and what should be
put there is dropped. What indices that repeat put at one place comes one after the other, in row-major order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.checks import integer_only, numeric, position, positional, same_dtype, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import wide
from ngraph_rewrite.types.tensor import TensorType

Put = Callable[[Any, Any, Any], None]


def _set(array: Any, places: Any, values: Any) -> None:
    array[places] = values  # of several for one place NumPy keeps the last


def _compared(ufunc: np.ufunc) -> Put:
    """Put the greater or the lesser number; of zeros of both signs the later, which NumPy's float16 has otherwise."""

    def put(array: Any, places: Any, values: Any) -> None:
        numbers = array.astype(wide(array.dtype))
        ufunc.at(numbers, places, values.astype(numbers.dtype))
        array[...] = numbers

    return put


# The scalar ops that make one number of what was there and what is put there, where it is not only set.
MADE_BY = {"add": "add", "multiply": "multiply", "max": "maximum", "min": "minimum"}
# What is there once something is put where something was; addition has ops of its own, which are linear.
HOW: dict[str, Put] = {
    "set": _set,
    "multiply": np.multiply.at,
    "max": _compared(np.maximum),
    "min": _compared(np.minimum),
}


def _axis(x: TensorType, *others: TensorType, axis: Any) -> Attributes:
    return {"axis": position(axis, x.rank)}


def _axis_and_how(x: TensorType, *others: TensorType, axis: Any, how: Any) -> Attributes:
    if not isinstance(how, str) or how not in HOW:
        raise AttributeValueError(f"how is {how!r}", do=f"use one of {', '.join(HOW)}; scatter_add and add_along add")
    return {"axis": position(axis, x.rank), "how": how}


# -- rows, at indices that all lines have in common ---------------------------------------------------


def _rows(put: Put, axis: int, x: Any, indices: Any, updates: Any) -> Any:
    result = np.array(x)
    at, inside = functions.wrap(indices, x.shape[axis])
    lines = np.moveaxis(result, axis, 0)
    rows = np.moveaxis(updates, range(axis, axis + indices.ndim), range(indices.ndim))
    with np.errstate(all="ignore"):
        put(lines, at[inside], rows[inside])
    return result


def _check_rows(x: TensorType, indices: TensorType, updates: TensorType, axis: int) -> None:
    """Demand updates of the shape that a gather has."""
    positional(x, indices, updates)
    integer_only(indices)
    same_dtype(x, updates)
    wanted = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    if updates.shape != wanted:
        raise AxesError(f"expected updates of shape {wanted}, got {updates!r}", do="give the shape of the gather")


@op(
    "semi.scatter_add",
    meaning=lambda term, *arrays: _rows(np.add.at, term.attribute("axis"), *arrays),
    normalise=_axis,
)
def scatter_add(x: TensorType, indices: TensorType, updates: TensorType, *, axis: int) -> TensorType:
    """`x` plus `updates` at `indices` along `axis`, one after the other where indices repeat.

    `updates` has the shape of ``gather(x, indices, axis=axis)``; negative indices wrap, those outside add nothing.
    """
    numeric(x)
    _check_rows(x, indices, updates, axis)
    return x


@op(
    "semi.scatter",
    meaning=lambda term, *arrays: _rows(HOW[term.attribute("how")], term.attribute("axis"), *arrays),
    normalise=_axis_and_how,
)
def scatter(x: TensorType, indices: TensorType, updates: TensorType, *, axis: int, how: str) -> TensorType:
    """`x` with `updates` put at `indices` along `axis`: the last one is set, or all are multiplied, or compared.

    `updates` has the shape of ``gather(x, indices, axis=axis)``; negative indices wrap, those outside put nothing.
    """
    if how != "set":
        numeric(x)
    _check_rows(x, indices, updates, axis)
    return x


# -- elements, at indices of their own lines ----------------------------------------------------------


def _along(x: TensorType, indices: TensorType, axis: int) -> None:
    """Demand indices of the lengths of `x` but along `axis`."""
    positional(x, indices)
    integer_only(indices)
    if indices.rank != x.rank or any(
        n != m for k, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True)) if k != axis
    ):
        raise AxesError(
            f"expected indices with the lengths of {x!r} but along axis {axis}, got {indices!r}",
            do="broadcast the indices",
        )


def _take_along(term: Op, x: Any, indices: Any) -> Any:
    axis = term.attribute("axis")
    at, inside = functions.wrap(indices, x.shape[axis])
    if not x.shape[axis]:
        return np.zeros(indices.shape, x.dtype)
    taken = np.take_along_axis(x, np.where(inside, at, 0), axis)
    return np.where(inside, taken, x.dtype.type(0))


@op("semi.take_along", meaning=_take_along, normalise=_axis)
def take_along(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
    """Each line of `x` along `axis` at the indices of the same line of `indices`; outside reads zeros."""
    _along(x, indices, axis)
    return tensor(x.dtype, indices.shape)


def _elements(put: Put, axis: int, x: Any, indices: Any, updates: Any) -> Any:
    result = np.array(x)
    at, inside = functions.wrap(indices, x.shape[axis])
    places = list(np.indices(indices.shape))
    places[axis] = at
    with np.errstate(all="ignore"):
        put(result, tuple(p[inside] for p in places), updates[inside])
    return result


def _check_elements(x: TensorType, indices: TensorType, updates: TensorType, axis: int) -> None:
    _along(x, indices, axis)
    same_dtype(x, updates)
    positional(updates)
    if updates.shape != indices.shape:
        raise AxesError(f"expected updates of the shape of {indices!r}, got {updates!r}")


@op(
    "semi.add_along",
    meaning=lambda term, *arrays: _elements(np.add.at, term.attribute("axis"), *arrays),
    normalise=_axis,
)
def add_along(x: TensorType, indices: TensorType, updates: TensorType, *, axis: int) -> TensorType:
    """`x` plus `updates` at the indices of the same line along `axis`; those outside add nothing.

    `updates` has the shape of `indices`; where indices repeat, one after the other is added.
    """
    numeric(x)
    _check_elements(x, indices, updates, axis)
    return x


@op(
    "semi.put_along",
    meaning=lambda term, *arrays: _elements(HOW[term.attribute("how")], term.attribute("axis"), *arrays),
    normalise=_axis_and_how,
)
def put_along(x: TensorType, indices: TensorType, updates: TensorType, *, axis: int, how: str) -> TensorType:
    """`x` with `updates` put at the indices of the same line along `axis`, as `scatter` puts rows.

    `updates` has the shape of `indices`; those outside put nothing.
    """
    if how != "set":
        numeric(x)
    _check_elements(x, indices, updates, axis)
    return x
