# SPDX-License-Identifier: Apache-2.0
"""The recurrence over a named axis: a step for each place of it, states carried from one to the next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, UnmatchedAxesError
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.ops.axes_order import new_name
from ngraph_rewrite.ops.checks import as_int, flag, named, several
from ngraph_rewrite.ops.scanning import check_parameters, check_states, parts, scanned
from ngraph_rewrite.terms.binders import Bound
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


def _named_scan(term: Op, *args: Any) -> Bound:
    n, m, axis = term.attribute("states"), term.attribute("sequences"), term.attribute("axis")
    places = [t.axes.index(axis) for t in term.args[n : n + m]]
    moved = [np.moveaxis(x, place, 0) for x, place in zip(args[n : n + m], places, strict=True)]
    return scanned(term, *args[:n], *moved, *args[n + m :])


def _attributes(*xs: TensorType, parameters: Any, states: Any, sequences: Any, axis: Any, reverse: Any) -> Attributes:
    n, m = as_int(states, "states"), as_int(sequences, "sequences")
    if not isinstance(axis, Axis) or axis.name is None:
        raise ArgumentError(f"axis is {axis!r}", do='give an Axis with a name, such as Axis("REC", 3)')
    return {
        "parameters": check_parameters(several(parameters, "parameters"), n, m),
        "states": n,
        "sequences": m,
        "axis": axis,
        "reverse": flag(reverse, "reverse"),
    }


@op("axes.scan", "binder", meaning=_named_scan, normalise=_attributes)
def scan(
    *xs: TensorType, parameters: tuple[Uid, ...], states: int, sequences: int, axis: Axis, reverse: bool
) -> TensorType:
    """A step for each place of `axis`: the final states, then what each step gave, with `axis` first.

    Arguments and results are those of `semi.scan`, but sequences have the axis anywhere.
    """
    named(*xs)
    inits, sequences_, following, outputs = parts(xs, states, sequences)
    for i, x in enumerate(sequences_):
        if axis_of(x.axes, axis).length != axis.length:
            raise UnmatchedAxesError(f"sequence {i} is {x!r}, which has another length than {axis!r}")
    check_states(inits, following)
    return TupleType((*inits, *_stacked(outputs, axis), *_stacked(inits, axis)))


def _stacked(types: Iterable[TensorType], axis: Axis) -> list[TensorType]:
    found = []
    for t in types:
        new_name(t.axes, axis)
        found.append(t.with_axes((axis, *t.axes)))
    return found
