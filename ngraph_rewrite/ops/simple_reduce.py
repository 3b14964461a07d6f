# SPDX-License-Identifier: Apache-2.0
"""Simple reductions: over features by position, and over N and R by marker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops import functions
from ngraph_rewrite.ops.alignment import averaging, floating, totalling
from ngraph_rewrite.ops.checks import known_shape, literal
from ngraph_rewrite.ops.simple_marks import Key, keys_of, places, simple, without
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, op
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BOOL, INT64, DType
from ngraph_rewrite.types.tensor import TensorType

Result = Callable[[DType], DType]


def reduced_attribute(x: TensorType, *, axes: Any) -> Attributes:
    """The axes to reduce, as keys."""
    simple(x)
    return {"axes": keys_of(x, axes)}


def reduced_places(term: Op) -> tuple[int, ...]:
    """The positions in the argument of the axes a reduction reduces."""
    return places(term.args[0].axes, term.attribute("axes"))


def _by(function: Callable[..., Any]) -> Meaning:
    """A NumPy reduction, computed in the dtype of the term."""

    def meaning(term: Op, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(
                function(np.asarray(x).astype(term.dtype, copy=False), axis=reduced_places(term)), term.dtype
            )

    return meaning


def _index_of(function: Callable[..., Any]) -> Meaning:
    """The row-major index over the reduced axes, as they stand in the argument, of the first element picked."""

    def meaning(term: Op, x: Any) -> Any:
        reduced = reduced_places(term)
        if 0 in x.shape:
            return np.zeros(term.shape, INT64)
        order = [i for i in range(x.ndim) if i not in reduced]
        lines = np.transpose(x, [*order, *reduced]).reshape((*known_shape(term.axes), -1))
        return np.asarray(function(lines, axis=-1), INT64)

    return meaning


def _reduction(name: str, meaning: Meaning, result: Result, says: str, *, empty: bool = True) -> None:
    def type_rule(x: TensorType, *, axes: tuple[Key, ...]) -> TensorType:
        if not empty and 0 in (x.shape[i] for i in places(x.axes, axes)):
            raise AxesError("a maximum or minimum of no elements", do="reduce over axes of length at least 1")
        return TensorType(result(x.dtype), without(x.axes, axes))

    type_rule.__doc__ = f"{says} over `axes` (features by number, N, R); the others stay as they are."
    op(f"simple.{name}", "reduction", meaning=meaning, normalise=reduced_attribute)(type_rule)


def _own(dtype: DType) -> DType:
    return dtype


def _bool(dtype: DType) -> DType:
    return BOOL


def _int64(dtype: DType) -> DType:
    return INT64


_reduction("sum", _by(functions.total), totalling, "The sum, small integers widened to 64 bits,")
_reduction("prod", _by(functions.product), totalling, "The product, small integers widened to 64 bits,")
_reduction("max", _by(np.maximum.reduce), _own, "The greatest element, NaN if any is,", empty=False)
_reduction("min", _by(np.minimum.reduce), _own, "The least element, NaN if any is,", empty=False)
_reduction("any", _by(np.logical_or.reduce), _bool, "Whether any element is not zero")
_reduction("all", _by(np.logical_and.reduce), _bool, "Whether no element is zero")
_reduction("argmax", _index_of(np.argmax), _int64, "The row-major index of the first greatest element", empty=False)
_reduction("argmin", _index_of(np.argmin), _int64, "The row-major index of the first least element", empty=False)


# -- composites -------------------------------------------------------------------------------------


_reduction("mean", _by(functions.mean), averaging, "The mean, float64 for integers,")
_reduction("variance", _by(functions.variance), averaging, "The population variance, float64 for integers,")


def _of_own_dtype(function: Callable[..., Any]) -> Meaning:
    """Apply a function in the argument's dtype, then sum in that of the term."""

    def meaning(term: Op, x: Any) -> Any:
        with np.errstate(all="ignore"):
            return functions.total(function(x).astype(term.dtype), reduced_places(term))

    return meaning


_reduction("squared_L2", _of_own_dtype(np.square), totalling, "The sum of squares")
_reduction("L1_norm", _of_own_dtype(np.absolute), totalling, "The sum of absolute values")


def _norm_attributes(x: TensorType, *, axes: Any, eps: Any) -> Attributes:
    return {**reduced_attribute(x, axes=axes), "eps": literal(eps, floating(totalling(x.dtype)))}


def _norm(term: Op, x: Any) -> Any:
    with np.errstate(all="ignore"):
        total = functions.total(np.square(x).astype(totalling(x.dtype)), reduced_places(term)).astype(term.dtype)
        return np.asarray(np.sqrt(total + term.attribute("eps").array(())))


@op("simple.L2_norm", "reduction", meaning=_norm, normalise=_norm_attributes)
def L2_norm(x: TensorType, *, axes: tuple[Key, ...], eps: Literal) -> TensorType:
    """The square root of the sum of squares plus `eps`, over `axes`; a float dtype."""
    return TensorType(eps.dtype, without(x.axes, axes))
