# SPDX-License-Identifier: Apache-2.0
"""The axes op that replaces a part of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError, DTypeError
from ngraph_rewrite.ops.axes_slices import sliced
from ngraph_rewrite.ops.checks import named
from ngraph_rewrite.ops.indexing import Index, canonical_index, numpy_index
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType


def _items(x: TensorType, value: TensorType, *, items: Any) -> Attributes:
    return {"items": canonical_index(items, x.shape)}


def _set_slice(term: Op, x: Any, value: Any) -> Any:
    result = np.array(x)
    result[numpy_index(term.attribute("items"))] = value
    return result


@op("axes.set_slice", meaning=_set_slice, normalise=_items)
def set_slice(x: TensorType, value: TensorType, *, items: Index) -> TensorType:
    """`x` with `value`, which has the axes that `tensor_slice` gives, where `items` points."""
    named(x, value)
    wanted = x.with_axes(sliced(x.axes, items))
    if value.axes != wanted.axes:
        raise AxesError(f"{value!r} does not have the axes of the part, {wanted.axes!r}", do="broadcast it to them")
    if value.dtype != x.dtype:
        raise DTypeError(f"the value is {value!r}, the tensor {x!r}", do="cast one of them")
    return x
