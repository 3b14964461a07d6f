# SPDX-License-Identifier: Apache-2.0
"""Terms evaluated by their meanings, with every intermediate value at hand and open to change.

Beside the plain evaluation there are two that say how far it can be trusted: one in which whatever is not
finite becomes NaN and spreads, and one in which every rounded result is moved by as much as rounding may
have moved it (Monte Carlo arithmetic; Parker, *Monte Carlo Arithmetic*, 1997).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.binders import Body, evaluated
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, describe
from ngraph_rewrite.types.tuples import TupleType

Array = NDArray[Any]
# The values of leaves by term, and of random draws by the identity they carry.
Values = Mapping["Op | Uid", Array]
# From a term, its value and those of its arguments to what is used instead.
Change = Callable[[Op, Array, list[Array]], Array]

# Ops that pass values on, or compute them without rounding.
_EXACT = frozenset(
    "negative absolute sign maximum minimum max min floor ceil round select constant concat stack pad gather"
    " iota one_hot size tensor_size batch_size relu unslice assign after".split()
)

# Ops whose terms may cancel: their error is relative to what the sizes of the operands give.
_PRODUCTS = frozenset("dot batch_dot tensordot".split())

# Ops whose meaning subtracts from numbers of the size of 1 or of the arguments.
_COMPOSITE = frozenset("cross_entropy_multi cross_entropy_binary cross_entropy_softmax cross_entropy_sigmoid".split())


class Undefined(Exception):
    """The meaning of a term is not defined for these values."""


def evaluate(root: Op, values: Values, change: Change | None = None, strict: bool = True) -> dict[Op, Array]:
    """The value of every term under `root`, in row-major layout.

    Args:
        values: The value of each leaf that has no meaning, and of each random draw by its ``uid``.
        change: What becomes of each value before it is used.
        strict: Whether a cast of what does not fit is an error, or gives what NumPy gives.

    Raises:
        Undefined: where the ops leave the value open: a float cast to an integer it does not fit,
            a negative power of an integer.
        ArgumentError: if a leaf has no value.
    """

    def value(term: Op, args: list[Array], body: Body | None) -> Any:
        if strict and term.definition.short == "cast":
            _check_cast(args[0], term)
        own = _value(term, args, values, body)
        if isinstance(term.type, TupleType):
            return own
        array = np.ascontiguousarray(own).reshape(_shape(term))
        return array if change is None else change(term, array, args)

    return evaluated([root], value, {k: v for k, v in values.items() if isinstance(k, Uid)})


def _shape(term: Op) -> tuple[int, ...]:
    return tuple(int(n) for n in term.shape)  # type: ignore[arg-type]


def _value(term: Op, args: list[Array], values: Values, body: Body | None) -> Any:
    if term in values:
        return values[term]
    if "draw" in term.definition.traits:
        return values[term.attribute("uid")]
    if term.definition.name == "core.assign":
        return args[1]
    if term.definition.meaning is None:
        raise ArgumentError(f"{describe(term)} has no value here", do="give it one in values")
    try:
        with np.errstate(all="ignore"):
            found = term.definition.meaning(term, *args, **({} if body is None else {"body": body}))
        return found if isinstance(term.type, TupleType) else np.asarray(found)
    except ValueError as error:
        if term.definition.short == "power":
            raise Undefined(str(error)) from error
        raise


def _check_cast(value: Array, term: Op) -> None:
    if value.dtype.kind == "f" and term.dtype.kind in "iu":
        limits = np.iinfo(term.dtype)
        with np.errstate(all="ignore"):
            inside = (np.trunc(value) >= float(limits.min)) & (np.trunc(value) < float(limits.max) + 1)
        if not inside.all():
            raise Undefined(f"a value does not fit {term.dtype}")


def poisoned(term: Op, value: Array, args: list[Array]) -> Array:
    """A change: what is not finite becomes NaN, which spreads."""
    return np.where(np.isfinite(value), value, value.dtype.type(np.nan)) if value.dtype.kind == "f" else value


def shaken(seed: int) -> Change:
    """A change: each rounded result is moved, up or down, by the error its op may make."""

    def change(term: Op, value: Array, args: list[Array]) -> Array:
        ulps = _rounding(term)
        if not ulps or value.dtype.kind != "f":
            return value
        random = np.random.default_rng([seed, zlib.crc32(f"{describe(term, 8)}{term.shape}".encode())])
        steps = random.integers(1, ulps + 2, value.shape) * random.choice((-1, 1), value.shape)
        with np.errstate(all="ignore"):
            moved = value + np.spacing(_magnitude(term, value, args)) * steps.astype(value.dtype)
        return np.asarray(np.where(np.isfinite(value), moved, value))

    return change


def _magnitude(term: Op, value: Array, args: list[Array]) -> Array:
    """What an op's error is relative to: its result, or inside a composite one the numbers that may cancel there."""
    if term.definition.short in _PRODUCTS and value.dtype.kind == "f" and term.definition.meaning is not None:
        with np.errstate(all="ignore"):
            bound: Array = np.abs(np.asarray(term.definition.meaning(term, *map(np.abs, args))))
            return bound
    if term.definition.short in _COMPOSITE:
        inside = [np.abs(a[np.isfinite(a)]).max(initial=1) for a in args]
        return np.asarray(np.maximum(np.abs(value), np.asarray(max(inside)).astype(value.dtype)))
    return np.abs(value)


def _rounding(term: Op) -> int:
    """How many units in the last place the op's result may be off."""
    definition = term.definition
    if not term.args or definition.short in _EXACT or definition.traits & {"view", "comparison"}:
        return 0
    if definition.short == "cast":
        return int(term.args[0].dtype != term.dtype)
    if "elementwise" in definition.traits:
        return 1 if definition.short in ("add", "subtract", "multiply", "divide", "sqrt", "square") else 2
    return 2 + max(int(a.size) for a in term.args)  # type: ignore[arg-type]
