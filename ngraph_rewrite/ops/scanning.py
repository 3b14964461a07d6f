# SPDX-License-Identifier: Apache-2.0
"""What the scans of all families share: how their arguments are laid out, what is demanded of them, what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError, AxesError, DTypeError
from ngraph_rewrite.ops.checks import identity, known_shape
from ngraph_rewrite.terms.binders import Bound
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


def scanned(term: Op, *args: Any) -> Bound:
    """The meaning of a scan whose sequences have the axis first: a loop over its times."""
    n, m = term.attribute("states"), term.attribute("sequences")
    assert isinstance(term.type, TupleType)
    states, sequences = list(args[:n]), args[n : n + m]
    stacks = [np.empty(known_shape(t.axes), t.dtype) for t in term.type.elements[n:]]
    times = range(_times(term))
    for time in reversed(times) if term.attribute("reverse") else times:
        given = (*states, *(x[time] for x in sequences))
        values = yield dict(zip(term.attribute("parameters"), given, strict=True))
        for stack, value in zip(stacks, (*values[n + m + n :], *states), strict=True):
            stack[time] = value
        states = [np.array(v) for v in values[n + m : n + m + n]]
    return (*states, *stacks)


def _times(term: Op) -> int:
    length = term.attribute("length") if "length" in term.definition.attributes else term.attribute("axis").length
    return int(length)


def parts(xs: Sequence[Any], states: int, sequences: int) -> tuple[Sequence[Any], ...]:
    """The arguments of a scan by kind: initial states, sequences, next states, outputs.

    Raises:
        ArgumentError: if there are too few.
    """
    cut = [0, states, states + sequences, 2 * states + sequences]
    if len(xs) < cut[-1] or min(states, sequences) < 0:
        raise ArgumentError(f"a scan of {states} states and {sequences} sequences with {len(xs)} arguments")
    return tuple(xs[a:b] for a, b in zip(cut, [*cut[1:], len(xs)], strict=True))


def check_states(inits: Sequence[TensorType], following: Sequence[TensorType]) -> None:
    """Demand that each state keeps its type."""
    for i, (before, after) in enumerate(zip(inits, following, strict=True)):
        if before != after:
            error = DTypeError if before.dtype != after.dtype else AxesError
            raise error(
                f"state {i} is {before!r} at first and {after!r} after a step",
                do="cast, broadcast or order the axes of one of them: a state keeps its type",
            )


def check_parameters(parameters: tuple[Any, ...], states: int, sequences: int) -> tuple[Uid, ...]:
    """Demand a parameter for each state and each sequence, and no two the same."""
    if len(set(parameters)) != states + sequences:
        raise ArgumentError(f"{len(set(parameters))} parameters for {states} states and {sequences} sequences")
    return tuple(identity(p) for p in parameters)
