# SPDX-License-Identifier: Apache-2.0
"""NumPy's products of arrays, on arrays of expressions: all are products of elements, summed along an axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.testing.proof.arrays import Symbols, applied, reduce, symbolic, together
from ngraph_rewrite.testing.proof.elementary import reduced
from ngraph_rewrite.testing.proof.objects import lines_of, mapped, normal_axes
from ngraph_rewrite.testing.proof.symbols import Scalar
from ngraph_rewrite.types.dtypes import DType, is_float, promote


def contracted(x: Symbols, y: Symbols, dtype: Any, axis: int) -> Symbols:
    """The products of elements, summed along an axis."""
    products = applied(np.multiply, x.astype(dtype), y.astype(dtype))
    lines = lines_of(products.data, normal_axes(axis, products.ndim))
    return Symbols(mapped(lambda line: _dot(products.dtype, line.items), lines), products.dtype)


def _dot(dtype: DType, items: list[Scalar]) -> Scalar:
    """A sum of products: a sum, but for its order and its intermediate rounding."""
    found = reduced("sum", np.add, dtype, items)
    return Scalar("dot", dtype, found.args) if found.op == "sum" and is_float(dtype) else found


def matmul(x: Any, y: Any) -> Symbols:
    """The products of matrices in the last two axes, the others broadcast."""
    x, y = symbolic(x), symbolic(y)
    dtype = promote(x.dtype, y.dtype)
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    columns = y.reshape(-1, 1) if y.ndim == 1 else y
    found = contracted(rows.moved(np.expand_dims, -1), columns.moved(np.expand_dims, -3), dtype, -2)
    if x.ndim == 1:
        found = found.moved(np.squeeze, -2)
    return found.moved(np.squeeze, -1) if y.ndim == 1 else found


def vecdot(x: Any, y: Any) -> Symbols:
    """The sums of products along the last axis."""
    x, y = symbolic(x), symbolic(y)
    return contracted(x, y, promote(x.dtype, y.dtype), -1)


def tensordot(x: Any, y: Any, axes: Any) -> Symbols:
    """The sums of products over pairs of axes."""
    x, y = symbolic(x), symbolic(y)
    left, right = [normal_axes(tuple(a), t.ndim) for a, t in zip(axes, (x, y), strict=True)]
    rest = [[k for k in range(t.ndim) if k not in a] for t, a in ((x, left), (y, right))]
    shape = [t.shape[k] for t, r in zip((x, y), rest, strict=True) for k in r]
    count = math.prod(x.shape[k] for k in left)
    rows = x.transpose([*rest[0], *left]).reshape(math.prod(x.shape[k] for k in rest[0]), count)
    columns = y.transpose([*right, *rest[1]]).reshape(count, math.prod(y.shape[k] for k in rest[1]))
    return matmul(rows, columns).reshape(shape)


def inner(x: Any, y: Any) -> Symbols:
    """The sums of products over the last axes."""
    x, y = symbolic(x), symbolic(y)
    return applied(np.multiply, x, y) if not x.ndim or not y.ndim else tensordot(x, y, ((-1,), (-1,)))


def dot(x: Any, y: Any) -> Symbols:
    """The sums of products over the last axis and the last but one."""
    x, y = symbolic(x), symbolic(y)
    if not x.ndim or not y.ndim:
        return applied(np.multiply, x, y)
    return tensordot(x, y, ((-1,), (-1 if y.ndim == 1 else -2,)))


def einsum(*operands: Any) -> Symbols:
    """A contraction of one operand or two, with letters or with numbers for the axes."""
    arrays, letters, result = _subscripts(operands)
    if len(arrays) == 1 and set(letters[0]) == set(result):  # a view, which may be written to
        order = {c: i for i, c in enumerate(result)}
        return symbolic(arrays[0]).moved(np.einsum, [order[c] for c in letters[0]], list(range(len(result))))
    dtype, several = together(arrays)
    lengths: dict[Any, int] = {}
    for c, n in ((c, n) for x, own in zip(several, letters, strict=True) for c, n in zip(own, x.shape, strict=True)):
        lengths[c] = n if lengths.get(c, 1) == 1 else lengths[c]
    summed = [c for c in lengths if c not in result]
    spread = [_by_letters(x, own, [*result, *summed], lengths) for x, own in zip(several, letters, strict=True)]
    if len(spread) == 2 and not summed:
        return applied(np.multiply, *spread)
    shape = (*(lengths[c] for c in result), math.prod(lengths[c] for c in summed))
    flat = [s.reshape(shape) for s in spread]
    return reduce(np.add, flat[0], -1, dtype) if len(flat) == 1 else contracted(flat[0], flat[1], dtype, -1)


def _subscripts(operands: tuple[Any, ...]) -> tuple[list[Any], list[list[Any]], list[Any]]:
    if isinstance(operands[0], str):
        inputs, result = operands[0].split("->")
        return (list(operands[1:]), [list(part) for part in inputs.split(",")], list(result))
    return (list(operands[:-1:2]), [list(a) for a in operands[1:-1:2]], list(operands[-1]))


def _by_letters(x: Symbols, own: Sequence[Any], wanted: Sequence[Any], lengths: dict[Any, int]) -> Symbols:
    """An operand spread over all letters; a letter that stands twice takes the diagonal."""
    result = np.empty([lengths[c] for c in wanted], object)
    for place in itertools.product(*(range(lengths[c]) for c in wanted)):
        at = dict(zip(wanted, place, strict=True))
        result[place] = x.data[tuple(at[c] if n != 1 else 0 for c, n in zip(own, x.shape, strict=True))]
    return Symbols(result, x.dtype)
