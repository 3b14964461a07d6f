# SPDX-License-Identifier: Apache-2.0
"""Numpy sums and products so far, in a dtype of choice, with or without the one before the first element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.ops.checks import flag, numeric, position, positional, tensor
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import DType, as_dtype
from ngraph_rewrite.types.tensor import TensorType


def _attributes(x: TensorType, *, axis: Any, dtype: Any, include_initial: Any) -> Attributes:
    return {
        "axis": position(axis, x.rank),
        "dtype": as_dtype(dtype),
        "include_initial": flag(include_initial, "include_initial"),
    }


def _declare(name: str, ufunc: Any, says: str) -> None:
    def meaning(term: Op, x: Any) -> Any:
        axis, dtype, initial = term.attrs
        with np.errstate(all="ignore"):
            found = ufunc.accumulate(x.astype(dtype), axis=axis, dtype=dtype)
        first = np.full((*x.shape[:axis], 1, *x.shape[axis + 1 :]), ufunc.identity, dtype)
        return np.concatenate([first, found], axis) if initial else found

    def type_rule(x: TensorType, *, axis: int, dtype: DType, include_initial: bool) -> TensorType:
        positional(x)
        numeric(TensorType(dtype))
        return tensor(dtype, (*x.shape[:axis], x.shape[axis] + int(include_initial), *x.shape[axis + 1 :]))

    type_rule.__doc__ = (
        f"The {says} of the elements up to each place along `axis`, in `dtype`; "
        f"with `include_initial` also that of none, in front."
    )
    op(f"numpy.{name}", meaning=meaning, normalise=_attributes)(type_rule)


_declare("cumulative_sum", np.add, "sum")
_declare("cumulative_prod", np.multiply, "product")
