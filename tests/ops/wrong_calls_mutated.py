# SPDX-License-Identifier: Apache-2.0
"""Calls that are well-typed but for one thing, made from instances of an op: what is wrong, and what must be said."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from drawn import apply, leaf

from ngraph_rewrite.catalogue_trials import trials
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import DTYPES
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

# How many instances of an op are made wrong.
INSTANCES = 2
# What no attribute means, or few do: other kinds of values, none, too large, not whole, not numbers, not hashable.
STRANGE: tuple[Any, ...] = (
    None, True, "nonsense", b"x", object(), len, np.float32, slice(None), 1j, float("nan"), 1.5, -100, -1, 0, 3, 10**30,
    (), (99,), (-1,), (None,), (1.5,), (0, 0), ("x", "y"), (10**30,), ((0, 0), (0, 0)), [], {"a": 1}, np.array([1, 2]),
    Axis("Z", 7),
)  # fmt: skip


class Call(NamedTuple):
    """A call with one thing changed.

    Attributes:
        kind: ``fewer``, ``more``, ``unknown``, ``missing``, ``attribute``, ``dtype`` or ``axes``.
        place: The attribute, or the number of the argument, that was changed.
        came: What stands there now.
    """

    kind: str
    place: Any
    came: Any
    args: tuple[Op, ...]
    attributes: dict[str, Any]


def calls(definition: OpDef) -> Iterator[Call]:
    """Wrong calls of an op, and some that may turn out to be right."""
    instances = trials(definition).instances[:INSTANCES]
    yield from _wrong_names(definition, instances[0])
    for term in instances:
        yield from _wrong_attributes(term)
        yield from _wrong_arguments(term)


def _wrong_names(definition: OpDef, term: Op) -> Iterator[Call]:
    args, given = term.args, term.attributes
    yield Call("unknown", "nonsense", 1, args, {**given, "nonsense": 1})
    for name in given:
        yield Call("missing", name, None, args, {k: v for k, v in given.items() if k != name})
    if definition.arity is not None:
        yield Call("more", len(args), None, (*args, leaf(TensorType("float32"))), given)
    if definition.least:
        yield Call("fewer", 0, None, args[: definition.least - 1], given)


def _wrong_attributes(term: Op) -> Iterator[Call]:
    for name in term.attributes:
        for value in STRANGE:
            yield Call("attribute", name, value, term.args, {**term.attributes, name: value})


def _wrong_arguments(term: Op) -> Iterator[Call]:
    for i, arg in enumerate(term.args):
        for kind, other in _others(arg):
            yield Call(kind, i, other.type, (*term.args[:i], other, *term.args[i + 1 :]), term.attributes)


def _others(arg: Op) -> Iterator[tuple[str, Op]]:
    """Arguments of other types: of another dtype, with other axes, a tuple for a tensor and a tensor for a tuple."""
    if isinstance(arg.type, TupleType):
        yield "dtype", leaf(TensorType("float32"))
        return
    yield "dtype", apply("core.make_tuple", arg)
    yield from (("dtype", leaf(arg.type.with_dtype(d))) for d in DTYPES if d != arg.dtype)
    yield from (("axes", leaf(type_)) for type_ in _other_axes(arg.type))


def _other_axes(type_: TensorType) -> Iterator[TensorType]:
    """The type with an axis fewer, one more, of another length (unknown too), twice, or of another family."""
    own = list(type_.axes)
    twice = [Axis(None, 2, "sample"), Axis(None, 2, "sample")]
    sets = [own[:-1], own[1:], [*own, Axis(None, 5)], [*own, Axis("Q", 5)], [Axis("Q", 5), *own], twice]
    for i, axis in enumerate(own):
        sets += [[*own[:i], Axis(axis.name, n, axis.roles), *own[i + 1 :]] for n in (0, 1, 7)]
        sets.append([*own[:i], Axis(axis.name or "Q", None), *own[i + 1 :]])
    for axes in sets:
        try:
            found = type_.with_axes(Axes(axes))
        except NGraphRewriteError:
            continue  # these are no axes of anything
        if found != type_:
            yield found
