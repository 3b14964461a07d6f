# SPDX-License-Identifier: Apache-2.0
"""What is simpler than a term, an attribute or a number: one step at a time, and how much there is to see of a term."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array, Values
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import BOOL, FLOAT32, DType, is_float
from ngraph_rewrite.types.lengths import known
from ngraph_rewrite.types.tuples import TupleType, tensors

SIMPLE_DTYPES: tuple[DType, ...] = (FLOAT32, np.dtype("int32"), BOOL)
_SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5, math.nan, math.inf, -math.inf)
_INTEGERS = (0, 1, -1, 2)
# With so many digits a number is short.
_DIGITS = 4


def weight(term: Op) -> int:
    """How much there is to see of a term: ops, axes, elements, attributes."""
    order = topological([term])
    types = [t for part in order if not part.args for t in tensors(part.type)]
    sizes: list[int] = [2 * known(t.size) + 2 * t.rank + (t.dtype not in SIMPLE_DTYPES) for t in types]
    return 4 * len(order) + sum(sizes) + sum(_heaviness(a) for part in order if part.args for a in part.attrs)


def _heaviness(value: Any) -> int:
    if isinstance(value, tuple | Axes):
        return len(value) + sum(map(_heaviness, value))
    if isinstance(value, Axis):
        return 0 if value.components is None else 1
    if isinstance(value, Literal):
        return 0 if value.scalar in (0, 1) else 1
    if isinstance(value, np.dtype):
        return int(value not in SIMPLE_DTYPES)
    return min(2 * abs(value) + (value < 0), 20) if isinstance(value, int) else 0


def narrowed(root: Op, values: Values, axis: Axis, place: int, index: int) -> tuple[Op, Values] | None:
    """The term without an axis of its leaves, which are looked at in one place of it; None if that is not well-typed.

    Args:
        axis: By its name; without one, what stands at `place`.
    """
    bank = TrialBank()
    new: dict[Op, Op | None] = {}
    own: dict[Op | Uid, Array] = dict(values)
    for t in topological([root]):
        args = [new[a] for a in t.args]
        if None in args:
            return None
        at = None if t.args or isinstance(t.type, TupleType) else _position(t.axes, axis, place)
        if at is None:
            new[t] = bank.attempt(t.definition, tuple(a for a in args if a is not None), t.attrs) if t.args else t
            continue
        if any(isinstance(a, Literal) and a.scalar is None for a in t.attrs):
            return None
        count = known(t.axes[at].length)
        if count == 0:
            return None
        less = Axes(a for i, a in enumerate(t.axes) if i != at)
        made = new[t] = bank.attempt(t.definition, (), tuple(less if a == t.axes else a for a in t.attrs))
        if made is None or made.rank != len(less):
            return None
        named = new[t] = made if t.name is None else made.named(t.name)
        keys: list[tuple[Op | Uid, Op | Uid]] = [(t, named), *((a, a) for a in t.attrs if isinstance(a, Uid))]
        own.update(
            {now: np.asarray(np.take(own.pop(old), min(index, count - 1), at)) for old, now in keys if old in own}
        )
    return (found, own) if (found := new[root]) is not None else None


def _position(axes: Axes, axis: Axis, place: int) -> int | None:
    if axis.name is not None:
        return next((i for i, a in enumerate(axes) if a.name == axis.name), None)
    return place if place < len(axes) and axes[place].name is None else None


def simpler_terms(root: Op, place: int) -> Iterator[Op]:
    """The term with one attribute of one op made simpler, where that is well-typed."""
    order = topological([root])
    changed = order[place] if place < len(order) else root
    if not changed.args:
        return
    for i, value in enumerate(changed.attrs):
        for simpler in _simpler_attributes(value):
            term = _rebuilt(order, changed, (*changed.attrs[:i], simpler, *changed.attrs[i + 1 :]))
            if term is not None:
                yield term


def _rebuilt(order: list[Op], changed: Op, attrs: tuple[Any, ...]) -> Op | None:
    bank = TrialBank()
    new: dict[Op, Op] = {}
    for t in order:
        args = tuple(new[a] for a in t.args)
        own = attrs if t is changed else t.attrs
        made = bank.attempt(t.definition, args, own) if args or t.args else t
        if made is None:
            return None
        new[t] = made
    return new[order[-1]]


def _simpler_attributes(value: Any) -> Iterator[Any]:
    if isinstance(value, Uid | str):
        return
    if isinstance(value, bool):
        yield from (False,) if value else ()
    elif isinstance(value, int):
        yield from (n for n in dict.fromkeys((0, 1, 2, value // 2, value - 1)) if 0 <= n < abs(value))
    elif isinstance(value, Literal):
        yield from (Literal(n, value.dtype) for n in (0, 1))
    elif isinstance(value, np.dtype):
        yield from (d for d in SIMPLE_DTYPES if d != value and value not in SIMPLE_DTYPES)
    elif type(value) is tuple:
        yield from (tuple(sorted(value)),) if all(type(v) is int for v in value) else ()
        for i, v in enumerate(value):
            yield from ((*value[:i], s, *value[i + 1 :]) for s in _simpler_attributes(v))


def simpler_numbers(number: Any) -> Iterator[Array]:
    """Simpler numbers of the same dtype, the simplest first."""
    dtype = number.dtype
    if dtype == BOOL:
        yield from (np.array(False),) if number else ()
        return
    wanted = _SIMPLE if is_float(dtype) else [n for n in _INTEGERS if n >= 0 or dtype.kind == "i"]
    for simple in (np.array(n, dtype) for n in wanted):
        if simple.tobytes() == number.tobytes():
            return
        yield simple
    if is_float(dtype) and np.isfinite(number):
        yield from _fewer_digits(float(number), dtype)


def _fewer_digits(number: float, dtype: DType) -> Iterator[Array]:
    """Numbers near a finite one, with one digit and then with more, while they are shorter to read."""
    for digits in range(1, _DIGITS + 1):
        with np.errstate(over="ignore"):  # rounded up, the greatest numbers are none
            short = np.array(float(f"{number:.{digits}g}"), dtype)
        if float(short) == number:
            return
        if np.isfinite(short):
            yield short
