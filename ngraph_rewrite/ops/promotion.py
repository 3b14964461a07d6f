# SPDX-License-Identifier: Apache-2.0
"""Which dtype an elementwise op computes in, from the types of its arguments: the choices NumPy's ufuncs make."""

from __future__ import annotations

from collections.abc import Callable

from ngraph_rewrite.errors import DTypeError
from ngraph_rewrite.ops.alignment import floating
from ngraph_rewrite.ops.checks import float_only, integer_only, numeric
from ngraph_rewrite.types.dtypes import BOOL, FLOAT64, DType, is_float, promote
from ngraph_rewrite.types.tensor import TensorType

# From the arguments' types to the dtype they are computed in.
Rule = Callable[..., DType]


def same(*types: TensorType) -> DType:
    """The promoted dtype, of any kind."""
    return promote(*(t.dtype for t in types))


def numbers(*types: TensorType) -> DType:
    """The promoted dtype, which must not be bool."""
    dtype = same(*types)
    numeric(TensorType(dtype))
    return dtype


def floats(*types: TensorType) -> DType:
    """The float dtype of a function such as exp: integers become floats wide enough."""
    return promote(*(floating(t.dtype) for t in types))


def real(*types: TensorType) -> DType:
    """The promoted dtype of arguments that are floats already."""
    float_only(*types)
    return same(*types)


def quotient(x: TensorType, y: TensorType) -> DType:
    """The dtype of a true division: float64 for integers."""
    dtype = same(x, y)
    return dtype if is_float(dtype) else FLOAT64


def bits(*types: TensorType) -> DType:
    """The promoted dtype of bool or of integers, which have bits to combine."""
    dtype = same(*types)
    if dtype.kind not in "biu":
        given = " and ".join(map(repr, types))
        raise DTypeError(f"expected bool or integers, got {given}, which meet in {dtype}", do="cast them to integers")
    return dtype


def integers(*types: TensorType) -> DType:
    """The promoted dtype of integers."""
    integer_only(*types)
    return bits(*types)


def truth(*types: TensorType) -> DType:
    """Bool: what is not zero is true."""
    return BOOL


SAYS = {
    same: "any dtype, promoted",
    numbers: "a numeric dtype, promoted",
    floats: "any dtype, computed as float",
    real: "a float dtype, promoted",
    quotient: "any dtype, computed as float",
    bits: "bool or integers, promoted",
    integers: "integers, promoted",
    truth: "any dtype, true where not zero",
}
