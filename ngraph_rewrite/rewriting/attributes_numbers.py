# SPDX-License-Identifier: Apache-2.0
"""Attribute functions of dtypes, and of the literals that fill constants."""

from __future__ import annotations

import numpy as np

from ngraph_rewrite.ops import alignment
from ngraph_rewrite.rewriting.registry import attribute_function
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types import dtypes
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.lengths import Extent

# -- dtypes -----------------------------------------------------------------------------------------


@attribute_function
def promoted(left: DType, right: DType) -> DType:
    """The dtype of an arithmetic of both.

    >>> promoted(np.dtype("int8"), np.dtype("float32"))
    dtype('float32')
    """
    return dtypes.promote(left, right)


@attribute_function
def floating(dtype: DType) -> DType:
    """The float dtype in which functions such as exp are computed.

    >>> floating(np.dtype("int32"))
    dtype('float64')
    """
    return alignment.floating(dtype)


@attribute_function
def wide(dtype: DType) -> DType:
    """The float dtype in which a mean is accumulated: float32 for those of 16 bits.

    >>> wide(np.dtype("float16")), wide(np.dtype("float64"))
    (dtype('float32'), dtype('float64'))
    """
    return dtypes.promote(dtype, np.dtype("float32")) if dtype.itemsize == 2 else dtype


@attribute_function
def is_float(dtype: DType) -> bool:
    """Whether it is a floating-point dtype.

    >>> is_float(np.dtype("float16")), is_float(np.dtype("bool"))
    (True, False)
    """
    return dtypes.is_float(dtype)


@attribute_function
def is_unsigned(dtype: DType) -> bool:
    """Whether it has no negative numbers: bool and unsigned integers.

    >>> is_unsigned(np.dtype("uint8")), is_unsigned(np.dtype("int8"))
    (True, False)
    """
    return dtype.kind in "bu"


@attribute_function
def holds(wider: DType, dtype: DType) -> bool:
    """Whether every value of `dtype` is also one of `wider`.

    >>> holds(np.dtype("float64"), np.dtype("int32")), holds(np.dtype("float64"), np.dtype("int64"))
    (True, False)
    """
    return dtypes.holds(wider, dtype)


@attribute_function
def are_integers(dtype: DType, other: DType) -> bool:
    """Whether both are dtypes of integers of one width.

    >>> are_integers(*map(np.dtype, ("int8", "uint8"))), are_integers(*map(np.dtype, ("int32", "float32")))
    (True, False)
    """
    return all(d.kind in "iu" for d in (dtype, other)) and dtype.itemsize == other.itemsize


@attribute_function
def counts(number: Extent, dtype: DType) -> bool:
    """Whether a length is known, at least 1, and exact in `dtype`.

    >>> counts(300, np.dtype("uint8")), counts(300, np.dtype("float32")), counts(0, np.dtype("int64"))
    (False, True, False)
    """
    return isinstance(number, int) and number > 0 and representable(number, dtype)


@attribute_function
def representable(number: Extent, dtype: DType) -> bool:
    """Whether a length is known and exact in `dtype`.

    >>> representable(0, np.dtype("int64")), representable(70000, np.dtype("float16"))
    (True, False)
    """
    if not isinstance(number, int) or dtype.kind == "b":
        return False
    limit = 2 ** (int(dtypes.finfo(dtype).nmant) + 1) if is_float(dtype) else int(np.iinfo(dtype).max)
    return 0 <= number <= limit


# -- literals ---------------------------------------------------------------------------------------


@attribute_function
def literal(number: float, dtype: DType) -> Literal:
    """A number as the value of a constant.

    >>> literal(1, np.dtype("float32"))
    1.0
    """
    return Literal(number, dtype)


@attribute_function
def recast(value: Literal, dtype: DType) -> Literal:
    """The value of a constant in another dtype.

    >>> recast(literal(2.5, np.dtype("float32")), np.dtype("int64"))
    2
    """
    return value.cast(dtype)


@attribute_function
def viewed(value: Literal, dtype: DType) -> Literal | None:
    """The bits of a constant read as another dtype of the same width; None if that has a NaN, which keeps no bits.

    >>> viewed(literal(1.0, dtypes.FLOAT32), dtypes.INT32), viewed(literal(-1, dtypes.INT32), dtypes.FLOAT32)
    (1065353216, None)
    """
    found = value.array(value.shape).view(dtype)
    with np.errstate(invalid="ignore"):  # which NumPy asks of a NaN that signals
        return None if dtypes.is_float(dtype) and np.isnan(found).any() else Literal(found)


@attribute_function
def fits(value: Literal, dtype: DType) -> bool:
    """Whether all numbers of an int32 constant are ones of a dtype of integers.

    >>> fits(Literal([20, 200], "int32"), np.dtype("uint8")), fits(Literal([20, 200], "int32"), np.dtype("int8"))
    (True, False)
    """
    if value.dtype != dtypes.INT32:
        return False
    numbers, limits = value.array(value.shape), np.iinfo(dtype)
    return not numbers.size or bool(limits.min <= numbers.min() and numbers.max() <= limits.max)


@attribute_function
def lowest(value: Literal, axis: int, dtype: DType) -> Literal | None:
    """What is left of each line along an axis of an int32 matrix if a byte of a dtype is taken from each number: as
    little as there may be. None if a line has numbers that lie farther apart, or none.

    >>> lowest(Literal([[-3, 7], [200, 9]], "int32"), 0, np.dtype("uint8")).array((2,)).tolist()
    [-3, 7]
    >>> lowest(Literal([[-300, 7], [200, 9]], "int32"), 0, np.dtype("uint8"))
    """
    if value.dtype != dtypes.INT32 or 0 in value.shape:
        return None
    numbers = value.array(value.shape).astype(np.int64)
    low, high = (numbers, numbers) if value.scalar is not None else (numbers.min(axis), numbers.max(axis))
    return Literal((low - np.iinfo(dtype).min).astype(np.int32)) if (high - low < 256).all() else None


@attribute_function
def raised(value: Literal, low: Literal, axis: int, dtype: DType) -> Literal:
    """The bytes of a dtype that are what `lowest` does not leave.

    >>> matrix = Literal([[-3, 7], [200, 9]], "int32")
    >>> raised(matrix, lowest(matrix, 0, np.dtype("uint8")), 0, np.dtype("uint8")).array((2, 2)).tolist()
    [[0, 0], [203, 2]]
    """
    left = low.array(low.shape)
    return Literal((value.array(value.shape) - (np.expand_dims(left, axis) if left.ndim else left)).astype(dtype))


@attribute_function
def times(left: Literal, right: Literal) -> Literal:
    """The product of two numbers of one dtype.

    >>> times(literal(2.0, np.dtype("float32")), literal(3.0, np.dtype("float32")))
    6.0
    """
    with np.errstate(all="ignore"):
        return Literal(left.array(()) * right.array(()), left.dtype)


@attribute_function
def over(left: Literal, right: Literal) -> Literal:
    """The quotient of two numbers of one dtype.

    >>> over(literal(3.0, np.dtype("float32")), literal(2.0, np.dtype("float32")))
    1.5
    """
    with np.errstate(all="ignore"):
        return Literal(left.array(()) / right.array(()), left.dtype)


@attribute_function
def powered(value: Literal, count: int) -> Literal:
    """The product of `count` copies of a number.

    >>> powered(literal(2.0, np.dtype("float32")), 3), powered(literal(-3, np.dtype("int8")), 5)
    (8.0, 13)
    """
    if is_float(value.dtype):
        with np.errstate(all="ignore"):
            return Literal(np.power(value.array(()).astype(np.float64), count).astype(value.dtype))
    return Literal(np.asarray(pow(int(value.array(())), count, 1 << 64), np.uint64).astype(value.dtype))


@attribute_function
def exponential(value: Literal) -> Literal:
    """e to the power of a uniform constant's value.

    >>> exponential(literal(0.0, np.dtype("float64")))
    1.0
    """
    with np.errstate(all="ignore"):
        return Literal(np.exp(value.array(())), value.dtype)


@attribute_function
def folded(term: Op) -> Literal:
    """The value of an elementwise op whose arguments are all constants filled with one number.

    >>> from ngraph_rewrite.terms.operands import as_constant
    >>> folded(as_constant(2.0) + as_constant(3.0))
    5.0
    """
    assert term.definition.meaning is not None
    values = [arg.attrs[0].array(()) for arg in term.args]
    return Literal(np.asarray(term.definition.meaning(term, *values)), term.dtype)


@attribute_function
def scales(left: Literal, right: Literal) -> bool:
    """Whether the product of two numbers is an ordinary one: neither lost to overflow nor to underflow.

    >>> scales(literal(2.0, np.dtype("float32")), literal(0.5, np.dtype("float32")))
    True
    """
    if left.scalar is None or right.scalar is None or not is_float(left.dtype):
        return False
    with np.errstate(all="ignore"):
        product = np.abs(left.array(()) * right.array(()))
    return bool(np.isfinite(product) and product >= dtypes.finfo(left.dtype).tiny)
