# SPDX-License-Identifier: Apache-2.0
"""The ops that several values at once need: tuples, their parts, and the parameters that binders bind.

A binder (a scan, a call of a function) lists the identities of its parameters in the attribute ``parameters``;
what depends on one of them is evaluated inside the binder only.
"""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import DTypeError, OutOfRangeError
from ngraph_rewrite.ops.checks import as_int, identity
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DType, as_dtype
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


def _leaf(*, uid: Any, axes: Any, dtype: Any) -> Attributes:
    return {"uid": identity(uid), "axes": Axes(axes), "dtype": as_dtype(dtype)}


@op("core.parameter", "source", "parameter", normalise=_leaf)
def parameter(*, uid: Uid, axes: Axes, dtype: DType) -> TensorType:
    """A value that the binder around it supplies: for each step of a scan, or each call of a function."""
    return TensorType(dtype, axes)


@op("core.make_tuple", meaning=lambda term, *xs: xs)
def make_tuple(*xs: TensorType) -> TensorType:
    """The arguments together, as one term; ``op[i]`` takes a part."""
    return TupleType(xs)


def _item_attributes(t: TensorType, *, index: Any) -> Attributes:
    if not isinstance(t, TupleType):
        raise DTypeError(f"expected a tuple, got {t!r}", do="take a part of a tensor with a slice")
    number, count = as_int(index, "index"), len(t)
    if not -count <= number < count:
        raise OutOfRangeError(f"index {number} is outside of a tuple of {count}", do=f"use {-count} to {count - 1}")
    return {"index": number % count}


@op("core.item", meaning=lambda term, t: t[term.attribute("index")], normalise=_item_attributes)
def item(t: TensorType, *, index: int) -> TensorType:
    """The part number `index` of a tuple; negative numbers count from the end."""
    assert isinstance(t, TupleType)
    return t.elements[index]
