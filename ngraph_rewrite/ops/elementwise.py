# SPDX-License-Identifier: Apache-2.0
"""The elementwise ops that the axes, simple and numpy families have in common: one table, declared for each.

What an op computes is the same in all of them; how operands are brought together is the family's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.ops import functions, gammas
from ngraph_rewrite.ops.checks import any_dtype, bool_only
from ngraph_rewrite.ops.promotion import SAYS, Rule, floats, numbers, quotient, same, truth
from ngraph_rewrite.terms.catalogue import Attributes, Meaning, TypeRule, op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import BFLOAT16, BOOL, DType, as_dtype, is_float
from ngraph_rewrite.types.tensor import TensorType

Function = Callable[..., Any]


class Family(NamedTuple):
    """How a family brings operands together.

    Attributes:
        demand: Refuses types of another family.
        together: The axes of the result, from those of the operands.
        aligned: Arrays that NumPy broadcasts to the axes of a term, from the arrays of its operands.
        how: The same in words, for the documentation.
    """

    name: str
    demand: Callable[..., None]
    together: Callable[..., Axes]
    aligned: Callable[[Op, Sequence[Any]], Sequence[Any]]
    how: str


class Row(NamedTuple):
    """An op of the table: the dtype it computes in is `compute` of the operands' types."""

    name: str
    function: Function
    compute: Rule
    says: str
    traits: tuple[str, ...] = ()


_AC = ("commutative", "associative")
UNARY = (
    Row("negative", np.negative, numbers, "Minus `x`"),
    Row("absolute", np.absolute, same, "`x` without its sign"),
    Row("sign", functions.sign, numbers, "-1, 0 or 1; NaN stays NaN"),
    Row("square", np.square, same, "`x` times `x`"),
    Row("sqrt", np.sqrt, floats, "The square root"),
    Row("reciprocal", functions.reciprocal, floats, "1 / `x`"),
    Row("exp", np.exp, floats, "e to the power of `x`"),
    Row("expm1", np.expm1, floats, "exp(`x`) - 1, accurate near 0"),
    Row("log", np.log, floats, "The natural logarithm"),
    Row("log1p", np.log1p, floats, "log(1 + `x`), accurate near 0"),
    Row("sin", np.sin, floats, "The sine of `x` radians"),
    Row("cos", np.cos, floats, "The cosine of `x` radians"),
    Row("tan", np.tan, floats, "The tangent of `x` radians"),
    Row("tanh", np.tanh, floats, "The hyperbolic tangent"),
    Row("sigmoid", functions.sigmoid, floats, "1 / (1 + exp(-`x`)) without overflow"),
    Row("erf", functions.erf, floats, "The error function"),
    Row("erfinv", functions.erfinv, floats, "The number whose error function is `x`; NaN outside of [-1, 1]"),
    Row(
        "lgamma",
        gammas.lgamma,
        floats,
        "The logarithm of the size of gamma(`x`); infinite at 0, -1, -2 and so on",
    ),
    Row("digamma", gammas.digamma, floats, "The slope of lgamma; infinite at 0, NaN at -1, -2 and so on"),
    Row("trigamma", gammas.trigamma, floats, "The slope of digamma; infinite at 0, -1, -2 and so on"),
)
CLASSIFYING = (
    Row("isnan", np.isnan, floats, "Whether `x` is not a number"),
    Row("isinf", np.isinf, floats, "Whether `x` is infinite"),
    Row("isfinite", np.isfinite, floats, "Whether `x` is neither infinite nor NaN"),
    Row("logical_not", np.logical_not, truth, "Whether `x` is zero"),
)
# Subtract and divide first, as in the semi family: rules go down to them.
BINARY = (
    Row("subtract", np.subtract, numbers, "`x` minus `y`"),
    Row("divide", np.divide, quotient, "`x` divided by `y`"),
    Row("add", np.add, same, "`x` plus `y`, or for bool", _AC),
    Row("multiply", np.multiply, same, "`x` times `y`, and for bool", _AC),
    Row("maximum", np.maximum, same, "The greater; NaN if either is", _AC),
    Row("minimum", np.minimum, same, "The lesser; NaN if either is", _AC),
    Row("floordivide", np.floor_divide, numbers, "The quotient rounded down; 0 for an integer divided by 0"),
    Row("mod", np.mod, numbers, "The remainder, with the sign of `y`"),
    Row("power", functions.power, numbers, "`x` to the power of `y`; a negative power of an integer is truncated"),
)
LOGIC = (
    Row("logical_and", np.logical_and, truth, "Whether both are true", _AC),
    Row("logical_or", np.logical_or, truth, "Whether either is true", _AC),
    Row("logical_xor", np.logical_xor, truth, "Whether just one is true", _AC),
)
COMPARISONS = (
    Row("equal", np.equal, same, "Whether `x` = `y`", ("comparison", "commutative")),
    Row("not_equal", np.not_equal, same, "Whether `x` differs from `y`", ("comparison", "commutative")),
    Row("less", np.less, same, "Whether `x` < `y`", ("comparison",)),
    Row("less_equal", np.less_equal, same, "Whether `x` <= `y`", ("comparison",)),
    Row("greater", np.greater, same, "Whether `x` > `y`", ("comparison",)),
    Row("greater_equal", np.greater_equal, same, "Whether `x` >= `y`", ("comparison",)),
)
ROUNDING: Mapping[str, tuple[Function, str]] = {
    "floor": (np.floor, "The greatest integer not above `x`"),
    "ceil": (np.ceil, "The least integer not below `x`"),
    "round": (np.rint, "The nearest integer, halves to the even one"),
}


def declare_table(family: Family) -> None:
    """Declare the whole table for a family, as it stands."""
    declare_unary(family, UNARY)
    declare_unary(family, CLASSIFYING, BOOL)
    declare_rounding(family, ROUNDING, any_dtype, "any dtype; integers and bool")
    declare_binary(family, BINARY)
    declare_binary(family, LOGIC, BOOL)
    declare_binary(family, COMPARISONS, BOOL)
    declare_choices(family)


def meaning_of(family: Family, row: Row, promotes: bool = True) -> Meaning:
    """The aligned operands, brought to the dtype of the computation unless not to be, under the row's function."""

    def meaning(term: Op, *arrays: Any) -> Any:
        dtype = row.compute(*(a.type for a in term.args))
        with np.errstate(all="ignore"):
            operands = [np.asarray(a) for a in family.aligned(term, arrays)]
            if promotes or dtype == BFLOAT16:  # which NumPy does not compare with integers
                operands = [a.astype(dtype, copy=False) for a in operands]
            return np.asarray(row.function(*operands)).astype(term.dtype, copy=False)

    return meaning


def declare_unary(family: Family, rows: Sequence[Row], result: DType | None = None) -> None:
    """Declare ops of one argument; `result` is their dtype, if not the one computed in."""
    for row in rows:
        _declare(family, row, _unary_rule(family, row, result), result)


def declare_binary(family: Family, rows: Sequence[Row], result: DType | None = None, promotes: bool = True) -> None:
    """Declare ops of two arguments; without `promotes` the function sees them in their own dtypes."""
    for row in rows:
        _declare(family, row, _binary_rule(family, row, result), result, f", {family.how}", promotes)


def _unary_rule(family: Family, row: Row, result: DType | None) -> TypeRule:
    def rule(x: TensorType) -> TensorType:
        family.demand(x)
        dtype = row.compute(x)
        return x.with_dtype(result or dtype)

    return rule


def _binary_rule(family: Family, row: Row, result: DType | None) -> TypeRule:
    def rule(x: TensorType, y: TensorType) -> TensorType:
        family.demand(x, y)
        dtype = row.compute(x, y)
        return TensorType(result or dtype, family.together(x.axes, y.axes))

    return rule


def _declare(
    family: Family, row: Row, rule: TypeRule, result: DType | None, how: str = "", promotes: bool = True
) -> None:
    made = result or "of the dtype computed in"
    rule.__doc__ = f"{row.says}.\n\nTakes {SAYS[row.compute]}{how}; the result is {made}."
    op(f"{family.name}.{row.name}", "elementwise", *row.traits, meaning=meaning_of(family, row, promotes))(rule)


def declare_rounding(family: Family, rows: Mapping[str, tuple[Function, str]], demand: Function, takes: str) -> None:
    """Declare ops that leave integers as they are; `demand` refuses other dtypes than it `takes`."""
    for name, (function, says) in rows.items():
        _rounding(family, name, function, demand, f"{says}.\n\nTakes {takes} stay as they are.")


def _rounding(family: Family, name: str, function: Function, demand: Function, doc: str) -> None:
    def rule(x: TensorType) -> TensorType:
        family.demand(x)
        demand(x)
        return x

    def meaning(term: Op, x: Any) -> Any:
        return np.asarray(function(x), term.dtype) if is_float(term.dtype) else x

    rule.__doc__ = doc
    op(f"{family.name}.{name}", "elementwise", meaning=meaning)(rule)


def declare_choices(family: Family) -> None:
    """Declare the selection by a condition, and the cast to another dtype."""

    def select(c: TensorType, x: TensorType, y: TensorType) -> TensorType:
        family.demand(c, x, y)
        bool_only(c)
        return TensorType(same(x, y), family.together(c.axes, x.axes, y.axes))

    def chosen(term: Op, *arrays: Any) -> Any:
        c, x, y = (np.asarray(a) for a in family.aligned(term, arrays))
        return np.where(c, x.astype(term.dtype), y.astype(term.dtype))

    def cast(x: TensorType, *, dtype: DType) -> TensorType:
        family.demand(x)
        return x.with_dtype(dtype)

    select.__doc__ = f"`x` where the bool `c` is true, `y` elsewhere: {family.how}, `x` and `y` promoted."
    cast.__doc__ = _CAST
    op(f"{family.name}.select", "elementwise", meaning=chosen)(select)
    op(f"{family.name}.cast", "elementwise", meaning=_cast, normalise=_cast_attributes)(cast)


_CAST = (
    """`x` in another dtype: floats are truncated to integers, bool is "not zero". What does not fit is undefined."""
)


def _cast_attributes(x: TensorType, *, dtype: Any) -> Attributes:
    return {"dtype": as_dtype(dtype)}


def _cast(term: Op, x: Any) -> Any:
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        if x.dtype == BFLOAT16:  # ml_dtypes makes integers of its own of what none is
            x = x.astype(np.float32)
        return x.astype(term.dtype)
