# SPDX-License-Identifier: Apache-2.0
"""The semi op that replaces a slice of a tensor: what assignments to slices become."""

from __future__ import annotations

from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops.checks import positional, same_dtype
from ngraph_rewrite.ops.indexing import as_slice, canonical_triples, count
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType


def _attributes(x: TensorType, value: TensorType, *, starts: Any, stops: Any, steps: Any) -> Attributes:
    return canonical_triples(x.shape, starts=starts, stops=stops, steps=steps)


def _update(term: Op, x: Any, value: Any) -> Any:
    result = np.array(x)
    result[tuple(as_slice(t) for t in zip(*term.attrs, strict=True))] = value
    return result


@op("semi.update", meaning=_update, normalise=_attributes)
def update(
    x: TensorType,
    value: TensorType,
    *,
    starts: tuple[Extent, ...],
    stops: tuple[Extent, ...],
    steps: tuple[int, ...],
) -> TensorType:
    """`x` with `value` at the positions ``range(start, stop, step)`` per axis, as `slice` takes them."""
    positional(x, value)
    same_dtype(x, value)
    shape = tuple(count(t) for t in zip(starts, stops, steps, strict=True))
    if value.shape != shape:
        raise AxesError(f"{value!r} does not have the lengths {shape} of the slice", do="broadcast it to them")
    return x
