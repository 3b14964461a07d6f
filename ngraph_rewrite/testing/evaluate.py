# SPDX-License-Identifier: Apache-2.0
"""Terms evaluated by their meanings, with every intermediate value at hand and open to change.

What changes say of how far an evaluation can be trusted is in `ngraph_rewrite.testing.changes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.targets.evaluation import meant
from ngraph_rewrite.terms.binders import evaluated, is_binder
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tuples import TupleType

Array = NDArray[Any]
# The values of leaves by term, and of random draws by the identity they carry.
Values = Mapping["Op | Uid", Array]
# From a term, its value and those of its arguments to what is used instead.
Change = Callable[[Op, Array, list[Array]], Array]


# What a float that does not fit an integer becomes where nothing may depend on it.
UNFIT = 85


class Undefined(Exception):
    """The meaning of a term is not defined for these values."""


class Unknown(Exception):
    """Nothing is known of what a term means."""


def evaluate(
    root: Op, values: Values, change: Change | None = None, strict: bool = True, known: Mapping[Op, Any] | None = None
) -> dict[Op, Array]:
    """The value of every term under `root`, in row-major layout.

    Args:
        values: The value of each leaf that has no meaning, and of each random draw by its ``uid``.
        change: What becomes of each value before it is used.
        strict: Whether a cast of what does not fit is an error, or gives a number that no processor gives.
        known: Values of terms that are not evaluated again; what stands below them has none.

    Raises:
        Undefined: where the ops leave the value open: a float cast to an integer it does not fit,
            a negative power of an integer, the bits of a NaN that was computed.
        ArgumentError: if a leaf has no value.
    """

    def value(term: Op, args: list[Array]) -> Any:
        if known is not None and term in known:
            return known[term]
        own = _value(term, args, values)
        if term.definition.short == "bitcast":
            _check_bits(args[0], term, strict)
        elif args and "dtype" in term.definition.attributes:  # a cast, or what casts before it sums
            own = _cast(args[0], own, term, strict)
        if is_binder(term) or isinstance(term.type, TupleType):
            return own
        array = np.ascontiguousarray(own).reshape(shape_of(term))
        return array if change is None else change(term, array, list(_arrays(args)))

    return evaluated([root], value, {k: v for k, v in values.items() if isinstance(k, Uid)}, known)


def varied(root: Op, values: Values, leaf: Op) -> Callable[[Array], Array]:
    """The value of a term as a function of that of a leaf: what does not depend on it is evaluated once, at first."""
    fixed: dict[Op, Array] | None = None

    def at(array: Array) -> Array:
        nonlocal fixed
        if fixed is None:
            fixed = _without(root, values, leaf)
        return evaluate(root, {**values, leaf: array}, known=fixed)[root]

    return at


def _without(root: Op, values: Values, leaf: Op) -> dict[Op, Array]:
    """The values of the terms under `root` that do not depend on a leaf."""
    known, moved = evaluate(root, values), {leaf}
    for term in topological([root]):
        if any(arg in moved for arg in term.args):
            moved.add(term)
    return {term: found for term, found in known.items() if term not in moved}


def _arrays(values: Iterable[Any]) -> Iterator[Array]:
    """Values with tuples taken apart."""
    for value in values:
        if isinstance(value, tuple):
            yield from _arrays(value)
        else:
            yield value


def shape_of(term: Op) -> tuple[int, ...]:
    return tuple(int(n) for n in term.shape)  # type: ignore[arg-type]


def _value(term: Op, args: list[Array], values: Values) -> Any:
    if term in values:
        return values[term]
    if "draw" in term.definition.traits:
        return values[term.attribute("uid")]
    if term.definition.name == "core.assign" or _reads_what_was_written(term):
        return args[1]
    if term.definition.meaning is None:
        raise ArgumentError(f"{describe(term)} has no value here", do="give it one in values")
    try:
        return meant(term, args)
    except ValueError as error:
        if term.definition.short == "power":
            raise Undefined(str(error)) from error
        raise


def _reads_what_was_written(term: Op) -> bool:
    """Whether it is a variable after a write of it."""
    if term.definition.name != "core.after" or len(term.args) != 2:
        return False
    variable, write = term.args
    return write.definition.name == "core.assign" and write.args[0] is variable


def _cast(value: Array, found: Array, term: Op, strict: bool) -> Array:
    """What a cast gives; processors differ in what becomes of a float that does not fit an integer."""
    if not is_float(value.dtype) or term.dtype.kind not in "iu":
        return found
    limits = np.iinfo(term.dtype)
    with np.errstate(all="ignore"):
        inside = (np.trunc(value) >= float(limits.min)) & (np.trunc(value) < float(limits.max) + 1)
    if inside.all():
        return found
    if strict:
        raise Undefined(f"a value does not fit {term.dtype}")
    return np.where(inside, found, found.dtype.type(UNFIT)) if term.definition.short == "cast" else found


def _check_bits(value: Array, term: Op, strict: bool) -> None:
    """Processors differ in the bits of a NaN that they compute, and one of 16 bits may turn quiet."""
    (x,) = term.args
    given = not x.args or (x.definition.short == "bitcast" and x.dtype.itemsize > 2)
    with np.errstate(invalid="ignore"):
        if strict and not given and is_float(value.dtype) and np.isnan(value).any():
            raise Undefined("the bits of a NaN are read")
