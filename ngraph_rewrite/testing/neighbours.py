# SPDX-License-Identifier: Apache-2.0
"""The neighbours of a term differ from it in one place: an attribute, a dtype, a length, a number, an argument."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.domain import Domain
from ngraph_rewrite.rewriting.domains_attributes import attribute_values
from ngraph_rewrite.rewriting.domains_semi import numbers
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import DType
from ngraph_rewrite.types.tuples import TupleType

# Terms in the place of others, or None where one is not well-typed.
Changes = Mapping[Op, Op | None]


class Neighbour(NamedTuple):
    """A well-typed term near another one.

    Attributes:
        term: The term.
        place: What was changed, without the value: neighbours at one place differ in what was put there.
        what: What was changed, and into what.
    """

    term: Op
    place: str
    what: str


def neighbours(term: Op, bank: TrialBank, domain: Domain) -> Iterator[Neighbour]:
    """The well-typed neighbours of a term with known lengths, always the same ones in the same order.

    Args:
        bank: Where the term lives, and its neighbours will.
        domain: What attributes and dtypes are taken from; neighbours of the values that stand there are tried too.
    """
    seen = {term}
    for place, what, changes in _changes(term, bank, domain):
        found = _replaced(term, bank, changes)
        if found is not None and found not in seen:
            seen.add(found)
            yield Neighbour(found, place, what)


def squared(term: Op, bank: TrialBank) -> Op | None:
    """The term whose axes are all of length 2, where that is well-typed."""

    def change(value: Any) -> Any:
        known = isinstance(value, Axis) and isinstance(value.length, int) and value.components is None
        return value.with_length(2) if known else value

    try:
        return _replaced(term, bank, _everywhere(topological([term]), change, bank))
    except NGraphRewriteError:  # an axis of another length in a flattened one
        return None


def _changes(term: Op, bank: TrialBank, domain: Domain) -> Iterator[tuple[str, str, Changes]]:
    order = topological([term])
    used = Counter(a for t in order for a in t.args)
    for t in order:
        if t.definition.name == "core.placeholder":
            yield from _dtypes(t, bank, domain)
        elif t.definition.attributes:
            yield from _attributes(t, bank, domain)
        yield from _orders(t, bank)
        yield from _apart(t, bank, used)
    yield from _same_dtypes(order, bank, domain)
    yield from _lengths(order, bank)


def _replaced(term: Op, bank: TrialBank, changes: Changes) -> Op | None:
    """The term with others in the place of some; None if that is not well-typed."""
    made: dict[Op, Op | None] = dict(changes)
    for t in topological([term]):
        if t not in made:
            args = tuple(made[a] for a in t.args)
            whole = tuple(a for a in args if a is not None)
            made[t] = t if args == t.args else _made(bank, t, whole, t.attrs) if len(whole) == len(args) else None
    return made[term]


def _made(bank: TrialBank, like: Op, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op | None:
    try:
        return bank.attempt(like.definition, args, attrs)
    except Exception:  # a type rule of somebody else's that does not say what it refuses
        return None


# -- attributes -------------------------------------------------------------------------------------


def _attributes(t: Op, bank: TrialBank, domain: Domain) -> Iterator[tuple[str, str, Changes]]:
    """One attribute changed, to a neighbour of its value or another one of the domain; then several at once."""
    name = t.definition.short
    try:
        offered = attribute_values(t.definition, tuple(a.type for a in t.args), t.type, domain)
    except (NGraphRewriteError, TypeError):  # a type that the domain does not know
        offered = []
    for i, attribute in enumerate(t.definition.attributes):
        own = t.attrs[i]
        other = [values[i] for values in offered if not isinstance(values[i], Uid)]
        for value in _unequal(own, [*near(own), *other]):
            changed = _made(bank, t, t.args, (*t.attrs[:i], value, *t.attrs[i + 1 :]))
            yield f"{attribute} of {name}", f"{attribute}={value!r} for {own!r} in {name}", {t: changed}
    if len(t.attrs) > 1 and not any(isinstance(a, Uid) for a in t.attrs):
        for values in offered:
            yield f"attributes of {name}", f"other attributes of {name}", {t: _made(bank, t, t.args, values)}


def _unequal(own: Any, values: Iterable[Any]) -> Iterator[Any]:
    """The values that are not the own one, each once."""
    shown = {repr(own)} if not isinstance(own, Literal) else set()
    for value in values:
        key = repr(value) if not isinstance(value, Literal) or value.scalar is not None else f"{value!r}!"
        if key not in shown:
            shown.add(key)
            yield value


def near(value: Any) -> Iterator[Any]:
    """Values of the kind of an attribute's, one step from it.

    >>> list(near(True)), list(near((1, 0)))
    ([False], [(2, 0), (0, 0), (1, 1), (1, -1), (0, 1), (0,), (1,)])
    """
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, float):
        yield from (value + 1, -value, value / 2, 0.0)
    elif isinstance(value, Literal):
        yield from _near_numbers(value)
    elif isinstance(value, Axes):
        yield from map(Axes, _near_parts(tuple(value), lambda axis: ()))
    elif isinstance(value, tuple) and not hasattr(value, "_fields"):
        yield from _near_parts(value, near)


def _near_parts(parts: tuple[Any, ...], vary: Callable[[Any], Iterable[Any]]) -> Iterator[tuple[Any, ...]]:
    """One part changed, two neighbouring parts exchanged, or one part left out."""
    for i, part in enumerate(parts):
        yield from ((*parts[:i], other, *parts[i + 1 :]) for other in vary(part))
    for i in range(len(parts) - 1):
        yield (*parts[:i], parts[i + 1], parts[i], *parts[i + 2 :])
    yield from ((*parts[:i], *parts[i + 1 :]) for i in range(len(parts)))


def _near_numbers(value: Literal) -> Iterator[Literal]:
    for number in [*numbers(value.dtype), *(() if value.scalar is None else near(value.scalar))]:
        try:
            yield Literal(number, value.dtype)
        except NGraphRewriteError:  # an integer that does not fit
            continue


# -- leaves -----------------------------------------------------------------------------------------


def _dtypes(leaf: Op, bank: TrialBank, domain: Domain) -> Iterator[tuple[str, str, Changes]]:
    for dtype in domain.dtypes:
        if dtype != leaf.dtype:
            changed = bank.leaf(_name(leaf), leaf.type.with_dtype(dtype))
            yield f"dtype of {_name(leaf)}", f"{dtype} for {leaf.dtype} in {_name(leaf)}", {leaf: changed}


def _same_dtypes(order: list[Op], bank: TrialBank, domain: Domain) -> Iterator[tuple[str, str, Changes]]:
    """One dtype changed wherever it stands: in leaves, constants and attributes."""
    leaves = [t for t in order if t.definition.name == "core.placeholder"]
    for own in dict.fromkeys(leaf.dtype for leaf in leaves):
        for dtype in domain.dtypes:
            if dtype != own:
                changes = _everywhere(order, partial(_recast, own=own, dtype=dtype), bank)
                yield f"dtype {own}", f"{dtype} for {own} everywhere", changes


def _recast(value: Any, own: DType, dtype: DType) -> Any:
    if isinstance(value, np.dtype) and value == own:
        return dtype
    if isinstance(value, Literal) and value.dtype == own:
        return value.cast(dtype)
    return value


def _lengths(order: list[Op], bank: TrialBank) -> Iterator[tuple[str, str, Changes]]:
    """One length changed: in one leaf, and in all leaves and attributes where the same axis or length stands."""
    leaves = [t for t in order if t.definition.name == "core.placeholder" and not isinstance(t.type, TupleType)]
    for leaf, i in [(x, i) for x in leaves for i in range(x.rank)]:
        axis, n = leaf.axes[i], leaf.shape[i]
        if not isinstance(n, int) or axis.components is not None:
            continue
        for m in sorted({0, 1, n + 1, max(n - 1, 0)} - {n}):
            place, what = f"length of {_name(leaf)}", f"length {m} for {n} in {_name(leaf)}"
            axes = [*leaf.axes[:i], axis.with_length(m), *leaf.axes[i + 1 :]]
            yield place, what, {leaf: _resized(leaf, axes, bank)}
            changes = _everywhere(order, partial(_relong, axis=axis, length=m), bank)
            yield f"length {n}", f"length {m} for {n} everywhere", changes


def _resized(leaf: Op, axes: Iterable[Axis], bank: TrialBank) -> Op:
    return bank.leaf(_name(leaf), leaf.type.with_axes(Axes(axes)))


def _relong(value: Any, axis: Axis, length: int) -> Any:
    """An axis of the same name, or any anonymous one of the same length, of another length."""
    if isinstance(value, Axis) and value.components is None and (value.name, value.length) == (axis.name, axis.length):
        return value.with_length(length)
    return value


def _everywhere(order: list[Op], vary: Callable[[Any], Any], bank: TrialBank) -> Changes:
    """The terms with each part of their attributes, and of their leaves' types, as `vary` makes it."""

    def change(value: Any) -> Any:
        if isinstance(value, Axes):
            return Axes(change(a) for a in value)
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(change(v) for v in value)
        return vary(value)

    made: dict[Op, Op | None] = {}
    for t in order:
        args, attrs = tuple(made[a] for a in t.args), tuple(change(v) for v in t.attrs)
        if t.definition.name == "core.placeholder":
            made[t] = bank.leaf(_name(t), t.type.with_axes(change(t.axes)).with_dtype(change(t.dtype)))
        elif args == t.args and attrs == t.attrs:
            made[t] = t
        else:
            whole = tuple(a for a in args if a is not None)
            made[t] = _made(bank, t, whole, attrs) if len(whole) == len(args) else None
    return made


# -- arguments --------------------------------------------------------------------------------------


def _orders(t: Op, bank: TrialBank) -> Iterator[tuple[str, str, Changes]]:
    """Two arguments exchanged."""
    for i, j in itertools.combinations(range(len(t.args)), 2):
        if t.args[i] is not t.args[j]:
            args = list(t.args)
            args[i], args[j] = args[j], args[i]
            what = f"arguments {i} and {j} of {t.definition.short} exchanged"
            yield f"arguments of {t.definition.short}", what, {t: _made(bank, t, tuple(args), t.attrs)}


def _apart(t: Op, bank: TrialBank, used: Mapping[Op, int]) -> Iterator[tuple[str, str, Changes]]:
    """One of several occurrences of a term made of other leaves."""
    for i, argument in enumerate(t.args):
        if used[argument] > 1:
            leaves = [a for a in topological([argument]) if a.definition.name == "core.placeholder"]
            fresh = {leaf: bank.leaf(f"{_name(leaf)}_other", leaf.type) for leaf in leaves}
            other = _replaced(argument, bank, fresh)
            args = None if other is None else (*t.args[:i], other, *t.args[i + 1 :])
            changed = None if args is None else _made(bank, t, args, t.attrs)
            what = f"argument {i} of {t.definition.short} not the same as elsewhere"
            yield f"repetition in {t.definition.short}", what, {t: changed}


def _name(leaf: Op) -> str:
    return leaf.name or "x"
