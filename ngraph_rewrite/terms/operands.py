# SPDX-License-Identifier: Apache-2.0
"""What stands beside a term: numbers and arrays as constants of its family, and the op that operands then make."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, DTypeError, FamilyError, NGraphRewriteError
from ngraph_rewrite.terms.catalogue import find, lookup
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.literal import Literal, number, own_dtype
from ngraph_rewrite.terms.op import Op, build, family_of
from ngraph_rewrite.terms.operators import Operators
from ngraph_rewrite.types.axes import Axes, anonymous
from ngraph_rewrite.types.dtypes import AS_PARTS, BOOL, FLOAT16, FLOAT64, INT64, DType, promote, scalar_dtype
from ngraph_rewrite.types.lengths import Length

_PLAIN = frozenset({bool, int, float})
# What NumPy does with a Python integer that the integers beside it do not hold: comparisons go by its value, some
# functions take it as the float that they compute in, or ask whether it is zero, and all others refuse it.
_COMPARE = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "searchsorted"})
_IN_FLOAT64 = frozenset({"divide", "isclose"})
_IN_OWN_FLOAT = frozenset({"atan2", "copysign", "heaviside", "hypot", "logaddexp", "logaddexp2", "nextafter"})
_ASK_TRUTH = frozenset({"logical_and", "logical_or", "logical_xor"})


def combine(short: str, *operands: Any) -> Op:
    """The op called `short` in the family of its operands; numbers become constants of their dtype.

    Raises:
        FamilyError: if the family has no such op, it is not clear how operands of two families belong
            together, or an array has no names for named axes.
    """
    terms = [x for x in operands if isinstance(x, Op)]
    others = len(terms) < len(operands)
    if others and any(map(_answers, operands)):
        return NotImplemented  # type: ignore[no-any-return]
    family = family_of(terms)
    definition = find(f"{family}.{short}")
    if (definition is None or (others and any(map(_has_axes, operands)))) and not any(t.rank for t in terms):
        family = "numpy"  # scalars belong to all families: this one has the op, or takes arrays
        definition = find(f"{family}.{short}")
    if definition is None:
        do = f"`ngraph-rewrite ops --family {family}` lists those that it has"
        raise FamilyError(f"the {family} family has no op {short}", where=user_line(), do=do)
    return build(definition, tuple(as_operands(operands, family, definition.name)) if others else operands)


def _answers(operand: Any) -> bool:
    """Whether it answers operators itself, and says so as NumPy asks for it (NEP 13)."""
    return getattr(operand, "__array_ufunc__", False) is None


def _has_axes(operand: Any) -> bool:
    return isinstance(operand, list | tuple) or (isinstance(operand, np.ndarray) and operand.ndim > 0)


# Operators that mean another op without names: bits are combined, and matrices multiplied.
_IN_NUMPY = {
    "logical_and": "bitwise_and", "logical_or": "bitwise_or", "logical_xor": "bitwise_xor",
    "logical_not": "bitwise_invert", "dot": "matmul",
}  # fmt: skip


def operate(short: str, *operands: Any) -> Op:
    """`combine`, for an operator that is not the same function in every family."""
    terms = [x for x in operands if isinstance(x, Op)]
    if not (family_of(terms) == "numpy" if any(t.rank for t in terms) else _plain_scalars(terms)):
        return combine(short, *operands)
    if len(terms) < len(operands) and any(map(_answers, operands)):
        return NotImplemented  # type: ignore[no-any-return]
    definition = lookup(f"numpy.{_IN_NUMPY[short]}")
    return build(definition, tuple(as_operands(operands, "numpy", definition.name)))


def _plain_scalars(terms: Iterable[Op]) -> bool:
    """Scalars alone belong to all families: what numpy ops made goes on so, and integers have bits."""
    kinds = {t.dtype.kind for t in terms}
    return any(t.definition.family == "numpy" for t in terms) or (kinds != {"b"} and kinds <= set("biu"))


def as_operands(operands: Iterable[Any], family: str | None = None, of: str = "") -> list[Op]:
    """Operands as terms: a Python number takes the dtype (and, in the semi family, the shape) of the others.

    Args:
        of: What errors call the op; its name says what an integer becomes that the dtype beside it does not hold.

    >>> u = build(lookup("core.constant"), (), value=Literal(7, "uint8"), axes=Axes())
    >>> [str(as_operands([u, 300], of=op)[1].type) for op in ("numpy.less", "numpy.divide", "numpy.hypot")]
    ['uint16[]', 'float64[]', 'float16[]']
    """
    operands = list(operands)
    terms = [x for x in operands if isinstance(x, Op)]
    try:
        return [x if isinstance(x, Op) else as_constant(x, terms, family, of) for x in operands]
    except NGraphRewriteError as error:
        what = f"{of}: {error.what}" if of else error.what
        raise type(error)(what, where=error.where or user_line(), do=error.do) from None


def as_constant(value: Any, beside: Iterable[Op] = (), family: str | None = None, of: str = "") -> Op:
    """A number as a constant, its dtype weak beside other terms; beside anonymous axes also an array.

    A length that is not known yet is the Python integer that it will be; a list, or an array of objects, may have such.

    Raises:
        ArgumentError: for what is neither a number nor an array.
        DTypeError: for a complex number.
        FamilyError: for an array with axes where there are names to match by.
    """
    beside = list(beside)
    if type(value) in _PLAIN:
        dtype = promote(*[t.type.dtype for t in beside], value) if beside else scalar_dtype(value)
        literal = number(*_held(value, dtype, of))
        return build(lookup("core.constant"), (), value=literal, axes=_axes_beside(beside, family))
    if isinstance(value, complex):
        raise DTypeError(f"{value!r} is complex, and terms are real", where=user_line(), do=AS_PARTS)
    if not isinstance(value, bool | int | float | np.generic | np.ndarray | list | tuple | Length):
        raise ArgumentError(f"{value!r} is neither a term nor a number", where=user_line())
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return _as_array(value, beside, family or family_of(beside))
    axes = _axes_beside(beside, family)
    if isinstance(value, Length):
        return _filled(value, promote(*[t.dtype for t in beside], 1) if beside else scalar_dtype(1), axes)
    return build(lookup("core.constant"), (), value=Literal(value, scalar_dtype(value)), axes=axes)


def _axes_beside(terms: Iterable[Op], family: str | None) -> Axes:
    """The axes of a number beside terms: all that these have, where shapes have to be equal."""
    shapes = {t.axes for t in terms if t.rank} if family == "semi" else set()
    return shapes.pop() if len(shapes) == 1 else Axes()


def _held(value: Any, dtype: DType, of: str) -> tuple[Any, DType]:
    """A Python number and the dtype it has in the op: an integer beyond the dtype beside it as NumPy takes it."""
    if type(value) is not int or dtype.kind not in "iu" or np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        return value, dtype
    short = of.rpartition(".")[2]
    if short in _COMPARE:
        return _compared(value, dtype)
    if short in _ASK_TRUTH:
        return value != 0, BOOL
    if short in _IN_FLOAT64 or short in _IN_OWN_FLOAT:
        return value, FLOAT64 if short in _IN_FLOAT64 else promote(dtype, FLOAT16)
    return value, dtype


def _compared(value: int, dtype: DType) -> tuple[Any, DType]:
    """What compares with all integers of a dtype as an integer beyond them does: itself, or an infinity."""
    own = np.min_scalar_type(value)
    if own.kind in "iu" and promote(dtype, own).kind in "iu":
        return value, own
    return math.inf if value > 0 else -math.inf, FLOAT64


def _filled(length: Length, dtype: DType, axes: Axes) -> Op:
    """A length as a number, in all places of some axes."""
    term = build(lookup("semi.size"), (), value=length, dtype=dtype)
    return build(lookup("semi.broadcast"), (term,), shape=axes.lengths, dims=()) if axes else term


def _as_array(value: Any, beside: Iterable[Op], family: str) -> Op:
    if family not in ("numpy", "simple"):
        raise FamilyError(
            f"{_called(value)} has no axes to match by",
            where=user_line(),
            do="write ng.constant(array, axes) to name them",
        )
    if (vector := lengths_of(value)) is not None:
        return vector
    try:
        literal = Literal(value, own_dtype(value, [t.dtype for t in beside]))
    except DTypeError as error:
        raise DTypeError(error.what, where=user_line(), do=error.do) from error
    return build(lookup("core.constant"), (), value=literal, axes=anonymous(np.shape(value)))


def lengths_of(value: Any, dtype: DType = INT64) -> Op | None:
    """A vector of integers of which some are lengths that are not known yet, or None if it is nothing of the kind.

    >>> lengths_of((Length.symbol("n"), 2)).type, lengths_of((1, 2))
    (int64[2], None)
    """
    objects = isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim == 1
    if not (objects or isinstance(value, list | tuple)) or not any(isinstance(n, Length) for n in value):
        return None
    sizes = [build(lookup("semi.size"), (), value=n, dtype=dtype) for n in value]
    return build(lookup("semi.concat"), tuple(build(lookup("semi.reshape"), (n,), shape=(1,)) for n in sizes), axis=0)


def _called(value: Any) -> str:
    shape = f" of shape {value.shape}" if isinstance(value, np.ndarray) else ""
    return f"{'an array' if shape else 'a ' + type(value).__name__}{shape}"


Operators._combine, Operators._operate = staticmethod(combine), staticmethod(operate)
