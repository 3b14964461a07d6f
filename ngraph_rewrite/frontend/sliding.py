# SPDX-License-Identifier: Apache-2.0
"""How a call says what windows do along each axis: one value for all, one for each, or values by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ngraph_rewrite.errors import AttributeValueError, UnmatchedAxesError
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axis

# What messages call an axis that has a number and no name, before that number: among features, or among all axes.
FEATURE, PLACE = "feature ", "axis "
# One value for every axis, one for each in order, or values by the axis or its name.
ByAxis = Any


def name_of(axis: Axis | str) -> str:
    """The name of an axis, or the name itself."""
    return str(axis.name) if isinstance(axis, Axis) else axis


def by_axis(call: str, what: str, value: ByAxis, axes: Sequence[str], default: Any) -> tuple[Any, ...]:
    """One value for each of `axes`; what a mapping does not name gets the default.

    Raises:
        AttributeValueError: if a sequence has more or fewer values, or there is neither a number nor a sequence.
        UnmatchedAxesError: if a mapping names another axis.
    """
    return _each(call, what, value, axes, default, _number_forms)


def _each(
    call: str, what: str, value: ByAxis, axes: Sequence[str], default: Any, forms: Callable[[Any, Sequence[str]], str]
) -> tuple[Any, ...]:
    """As `by_axis`; `forms` says in which forms a wrong value may be given."""
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
    each = _values(value, (value,) * len(axes))
    if len(each) != len(axes) or any(v is None or isinstance(v, str | bytes) for v in (value, *each)):
        raise AttributeValueError(f"{call}: {what} is {value!r}", where=user_line(), do=forms(value, axes))
    return each


def _values(value: Any, alone: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a sequence; `alone` for what is none."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return alone
    try:
        return tuple(value)
    except TypeError:  # an array of rank 0
        return alone


def _number_forms(value: Any, axes: Sequence[str]) -> str:
    """How to give numbers by axis, with an example close to a wrong value."""
    first = next(iter(_values(value, ())), None)
    example = first if isinstance(first, int) and first > 0 else 2
    named = f" or by axis, such as {{{_key(axes[-1])}: {example}}}" if axes else ""
    return f"give one number, one for each of {', '.join(axes) or 'no axes'},{named}"


def _padding_forms(value: Any, axes: Sequence[str]) -> str:
    """How to give paddings by axis: a pair for one axis is what is often meant."""
    pair = tuple(value) if isinstance(value, tuple | list) and [*map(type, value)] == [int, int] else (1, 1)
    named = f", or by axis, such as {{{_key(axes[-1])}: {pair!r}}}" if axes else ""
    return f"give one number, or a number or (before, after) for each of {', '.join(axes) or 'no axes'}{named}"


def _key(axis: str) -> str:
    """How an axis is written in a mapping: features have numbers."""
    return axis.partition(" ")[2] if axis.startswith((FEATURE, PLACE)) else repr(axis)


def paddings(call: str, value: ByAxis, axes: Sequence[str]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The zeros before and after, for each of `axes`: a number for either side, or a pair.

    Raises:
        AttributeValueError: for what is neither.
    """
    pairs = []
    for own in _each(call, "padding", value, axes, 0, _padding_forms):
        pair = _values(own, (own, own))
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
