# SPDX-License-Identifier: Apache-2.0
"""How a call says what windows do along each axis: one value for all, one for each, or values by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ngraph_rewrite.errors import AttributeValueError, UnmatchedAxesError
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axis

# One value for every axis, one for each in order, or values by the axis or its name.
ByAxis = Any


def name_of(axis: Axis | str) -> str:
    """The name of an axis, or the name itself."""
    return str(axis.name) if isinstance(axis, Axis) else axis


def by_axis(call: str, what: str, value: ByAxis, axes: Sequence[str], default: Any) -> tuple[Any, ...]:
    """One value for each of `axes`; what a mapping does not name gets the default.

    Raises:
        AttributeValueError: if a sequence has more or fewer values.
        UnmatchedAxesError: if a mapping names another axis.
    """
    if isinstance(value, Mapping):
        named = {name_of(a): v for a, v in value.items()}
        unknown = [n for n in named if n not in axes]
        if unknown:
            raise UnmatchedAxesError(
                f"{call}: {what} names the axis {unknown[0]}",
                where=user_line(),
                do=f"use {', '.join(axes) or 'no axis'}",
            )
        return tuple(named.get(a, default) for a in axes)
    if isinstance(value, Iterable) and not isinstance(value, str):
        each = tuple(value)
        if len(each) != len(axes):
            raise AttributeValueError(
                f"{call}: {what} is {value!r}", where=user_line(), do=f"give one for each of {', '.join(axes)}"
            )
        return each
    return (value,) * len(axes)


def paddings(call: str, value: ByAxis, axes: Sequence[str]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The zeros before and after, for each of `axes`: a number for either side, or a pair.

    Raises:
        AttributeValueError: for what is neither.
    """
    pairs = []
    for own in by_axis(call, "padding", value, axes, 0):
        pair = tuple(own) if isinstance(own, tuple | list) else (own, own)
        if len(pair) != 2:
            raise AttributeValueError(
                f"{call}: the padding {own!r}", where=user_line(), do="give a number, or the pair (before, after)"
            )
        pairs.append(pair)
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)


def parameters(call: str, given: Mapping[str, Any], expected: Sequence[str]) -> list[Any]:
    """The values of a dictionary of parameters in ngraph-python's form, in the order expected.

    Raises:
        AttributeValueError: if one is missing, or is not known.
    """
    for key in expected:
        if key not in given:
            raise AttributeValueError(
                f"{call}: expected parameter {key} is not present", where=user_line(), do=f"give {', '.join(expected)}"
            )
    unknown = [k for k in given if k not in expected]
    if unknown:
        raise AttributeValueError(
            f"{call}: there is no parameter {unknown[0]!r}", where=user_line(), do=f"use {', '.join(expected)}"
        )
    return [given[key] for key in expected]


def five_axes(call: str, what: str, term: Op) -> None:
    """Demand the five axes of ngraph-python's form.

    Raises:
        AttributeValueError: if there are more or fewer.
    """
    if term.rank != 5:
        raise AttributeValueError(
            f"{call} {what} shape must be length 5, found {term.rank}: {term.type!r}",
            where=user_line(),
            do="leave the dictionary of parameters out, and tensors may have any number of axes",
        )
