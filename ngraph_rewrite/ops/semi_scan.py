# SPDX-License-Identifier: Apache-2.0
"""The recurrence: a step repeated along an axis, its states carried from one time to the next.

A scan binds by parameters. Its arguments are the initial states, the sequences, the states after a step, and
the outputs of a step, in this order; the last two are written with `core.parameter` terms, first one for each
state and then one for each sequence, which stand for the states before the step and for the slices at its time.
What does not depend on them is no part of the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.ops.checks import as_int, extent, flag, positional, several, tensor
from ngraph_rewrite.ops.scanning import check_parameters, check_states, parts, scanned
from ngraph_rewrite.terms.catalogue import Attributes, op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.types.lengths import Extent
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType


def _attributes(*xs: TensorType, parameters: Any, states: Any, sequences: Any, length: Any, reverse: Any) -> Attributes:
    n, m = as_int(states, "states"), as_int(sequences, "sequences")
    return {
        "parameters": check_parameters(several(parameters, "parameters"), n, m),
        "states": n,
        "sequences": m,
        "length": extent(length),
        "reverse": flag(reverse, "reverse"),
    }


@op("semi.scan", "binder", meaning=scanned, normalise=_attributes)
def scan(
    *xs: TensorType, parameters: tuple[Uid, ...], states: int, sequences: int, length: Extent, reverse: bool
) -> TensorType:
    """A step for each place of the first axis of the sequences: the final states, then what each step gave, stacked.

    The outputs are stacked along a first axis, and after them every state as it was before each step. With
    `reverse` the last place comes first; what a step gives stands at its own place all the same.
    """
    positional(*xs)
    inits, scanned_, following, outputs = parts(xs, states, sequences)
    for i, x in enumerate(scanned_):
        if not x.rank or x.shape[0] != length:
            raise AxesError(f"sequence {i} is {x!r}, which does not begin with an axis of length {length!r}")
    check_states(inits, following)
    return TupleType((*inits, *_stacked(outputs, length), *_stacked(inits, length)))


def _stacked(types: Iterable[TensorType], length: Extent) -> list[TensorType]:
    return [tensor(t.dtype, (length, *t.shape)) for t in types]
