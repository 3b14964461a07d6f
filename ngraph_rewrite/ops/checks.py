# SPDX-License-Identifier: Apache-2.0
"""What an op may demand of its arguments and attributes, with one wording for each demand."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ngraph_rewrite.errors import (
    ArgumentError,
    AttributeValueError,
    AxesError,
    DTypeError,
    FamilyError,
    LengthError,
    OutOfRangeError,
)
from ngraph_rewrite.terms.catalogue import Meaning, lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, anonymous
from ngraph_rewrite.types.dtypes import BOOL, DType, is_float
from ngraph_rewrite.types.lengths import Extent, Length, known
from ngraph_rewrite.types.tensor import TensorType

Check = Callable[..., None]


def any_dtype(*types: TensorType) -> None:
    """Every dtype will do."""


def float_only(*types: TensorType) -> None:
    """Demand floating-point dtypes."""
    for t in types:
        if not is_float(t.dtype):
            raise DTypeError(f"expected a float dtype, got {t!r}", do="cast it to float32 or float64")


def numeric(*types: TensorType) -> None:
    """Demand dtypes other than bool."""
    for t in types:
        if t.dtype == BOOL:
            raise DTypeError(f"expected numbers, got {t!r}", do="cast it to a numeric dtype")


def bool_only(*types: TensorType) -> None:
    """Demand bool."""
    for t in types:
        if t.dtype != BOOL:
            raise DTypeError(f"expected bool, got {t!r}", do="compare it with something, or cast it to bool")


def integer_only(*types: TensorType) -> None:
    """Demand integer dtypes."""
    for t in types:
        if t.dtype.kind not in "iu":
            raise DTypeError(f"expected integers, got {t!r}", do="cast it to int64")


def positional(*types: TensorType) -> None:
    """Demand anonymous axes: what the semi family reads."""
    for t in types:
        if any(a.name is not None or a.roles for a in t.axes):
            raise FamilyError(f"expected anonymous axes, got {t!r}", do="write strip(x) to forget the names")


def named(*types: TensorType) -> None:
    """Demand named axes: what the axes family reads."""
    for t in types:
        if not t.axes.named:
            raise FamilyError(f"expected named axes, got {t!r}", do="write label(x, axes=...) to name them")


def alike(*types: TensorType) -> None:
    """Demand equal dtypes and equal shapes."""
    for t in types[1:]:
        if t.shape != types[0].shape:
            raise AxesError(
                f"expected equal shapes, got {types[0]!r} and {t!r}", do="broadcast one to the shape of the other"
            )
        same_dtype(types[0], t)


def same_dtype(*types: TensorType) -> None:
    """Demand equal dtypes."""
    for t in types[1:]:
        if t.dtype != types[0].dtype:
            raise DTypeError(f"expected equal dtypes, got {types[0]!r} and {t!r}", do="cast one of them")


def position(index: Any, rank: int, what: str = "axis") -> int:
    """An index into `rank` positions, negatives counted from the end."""
    number = as_index(index, what)
    if not -rank <= number < rank:
        do = f"use {-rank} to {rank - 1}" if rank else "give an operand with axes"
        raise OutOfRangeError(f"{what} {number} is outside of {rank} axes", do=do)
    return number % rank


def as_index(value: Any, what: str) -> int:
    """A Python integer of anything that is one, however large."""
    try:
        if not isinstance(value, bool | np.bool_):
            return operator.index(value)
    except TypeError:
        pass
    raise AttributeValueError(f"{what} is {value!r}", do="give an integer")


def as_int(value: Any, what: str) -> int:
    """A Python integer of anything that is one and fits into 64 bits."""
    number = as_index(value, what)
    if abs(number) > sys.maxsize:
        raise AttributeValueError(f"{what} is {number}", do="give an integer of 64 bits")
    return number


def flag(value: Any, what: str) -> bool:
    """A Python bool of anything that is one, or the integer 0 or 1: what is written for NumPy says ``keepdims=1``.

    Raises:
        AttributeValueError: if it is something else.
    """
    if not isinstance(value, bool | np.bool_) and not (isinstance(value, int | np.integer) and value in (0, 1)):
        raise AttributeValueError(f"{what} is {value!r}", do="give True or False")
    return bool(value)


def one_of(value: Any, known: Iterable[str], what: str) -> str:
    """A text that is one of those that are known.

    Raises:
        AttributeValueError: if it is something else.
    """
    if not isinstance(value, str) or value not in known:
        raise AttributeValueError(f"{what} is {value!r}", do=f"use one of {', '.join(known)}")
    return value


def several(values: Any, what: str) -> tuple[Any, ...]:
    """The items of a tuple, or of anything like one: text and mappings are not.

    Raises:
        AttributeValueError: if it is something else.
    """
    if isinstance(values, tuple):
        return values
    try:
        if isinstance(values, str | bytes | Mapping):
            raise TypeError
        return tuple(values)
    except TypeError:
        raise AttributeValueError(f"{what} is {values!r}", do="give a tuple") from None


def listed(values: Any) -> tuple[Any, ...]:
    """One number or several, as NumPy takes shapes and axes: those of a tuple, a list or a vector, else the one given.

    >>> listed(3), listed([2, 3]), listed(np.array([2, 3]))
    ((3,), (2, 3), (2, 3))
    """
    if isinstance(values, tuple | list):
        return tuple(values)
    return tuple(values.tolist()) if isinstance(values, np.ndarray) and values.ndim == 1 else (values,)


def extent(value: Any, what: str = "a length") -> Extent:
    """A length: a non-negative integer, or an unknown one."""
    if isinstance(value, Length):
        return value
    number = as_int(value, what)
    if number < 0:
        raise LengthError(f"{what} is {number}", do="give at least 0")
    return number


def extents(values: Any, what: str = "a length") -> tuple[Extent, ...]:
    """A tuple of lengths; `what` is what each of them is called."""
    return tuple(extent(v, what) for v in several(values, "shape"))


def literal(value: Any, dtype: DType) -> Literal:
    """`value` as a number of this dtype that can be compared bit by bit."""
    if not isinstance(value, Literal | bool | int | float | np.generic | np.ndarray) or (
        not isinstance(value, Literal) and np.ndim(value)
    ):
        raise AttributeValueError(f"expected a number, got {value!r}", do="give one number")
    result = value.cast(dtype) if isinstance(value, Literal) else Literal(value, dtype)
    if result.scalar is None:
        raise AttributeValueError(f"expected a number, got {value!r}")
    return result


def identity(uid: Any) -> Uid:
    """A fresh identity, as draws need one."""
    if not isinstance(uid, Uid):
        raise AttributeValueError(f"uid is {uid!r}", do="give Uid()")
    return uid


def known_shape(axes: Axes) -> tuple[int, ...]:
    """The lengths of axes, which are all known when meanings are computed."""
    return tuple(known(n) for n in axes.lengths)


def numpy_meaning(function: Callable[..., Any]) -> Meaning:
    """A NumPy function as a meaning: without warnings, and with the dtype of the term."""

    def meaning(term: Op, *arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(function(*arrays)).astype(term.dtype, copy=False)

    return meaning


def tensor(dtype: Any, shape: Iterable[Extent]) -> TensorType:
    """The type of this dtype and shape, without names."""
    return TensorType(dtype, anonymous(shape))


def type_of(op: str, *types: TensorType, **attributes: Any) -> TensorType:
    """The type that another op has, of arguments of these types: where operands broadcast, for one.

    Raises:
        UnknownOpError: if no op is called so.
        ArgumentError: for a wrong number of arguments, or attributes that are missing or unknown.
        NGraphRewriteError: whatever the op's type rule raises.

    >>> from ngraph_rewrite.ops import axes, numpy
    >>> type_of("numpy.add", tensor("int8", (2, 1)), tensor("float32", (3,)))
    float32[2, 3]
    >>> type_of("axes.add", TensorType("float32", {"H": 2}), TensorType("float32", {"W": 3}))
    float32[H:2, W:3]
    """
    definition = lookup(op)
    few = len(types) < definition.least or (definition.arity is not None and len(types) != definition.arity)
    if few or attributes.keys() != set(definition.attributes):
        takes = ", ".join((f"{definition.least} types", *definition.attributes))
        raise ArgumentError(f"{op} has no type of {len(types)} types and {sorted(attributes)}", do=f"give {takes}")
    return definition.infer(types, tuple(attributes[name] for name in definition.attributes))[1]
