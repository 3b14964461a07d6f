# SPDX-License-Identifier: Apache-2.0
"""The state of a transformer: its variables' arrays, the numbers of its draws, and whether it is open."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.arguments import as_argument
from ngraph_rewrite.errors import ClosedError, ComputationError, InvalidHandleError
from ngraph_rewrite.runtime.aligned import aligned_array
from ngraph_rewrite.savefile import read_state, write_state
from ngraph_rewrite.terms.op import Op, Uid, describe, user_line
from ngraph_rewrite.types.lengths import known

Array = NDArray[Any]


class State:
    """Variables and counters, shared by all computations of a transformer.

    Attributes:
        variables: The variables in the order in which computations met them.
        storage: Their arrays, whose memory never moves.
        streams: The number of each random draw, by the same order.
        calls: How many calls have been made: what tells their draws apart.
    """

    def __init__(self, seed: int) -> None:
        self.seed, self.calls, self.closed = seed, 0, False
        self.variables: dict[Uid, Op] = {}
        self.storage: dict[Uid, Array] = {}
        self.streams: dict[Uid, int] = {}
        self.lock = threading.RLock()

    def register(self, variables: Iterable[Op], draws: Iterable[Op]) -> None:
        """Note the variables and the random draws of a computation."""
        for variable in variables:
            self.variables.setdefault(variable.attribute("uid"), variable)
        for draw in draws:
            self.streams.setdefault(draw.attribute("uid"), len(self.streams))

    def allocate(self) -> None:
        """Give every variable that has none its array, with its initial value."""
        self.check_open()
        for uid, variable in self.variables.items():
            if uid not in self.storage:
                self.storage[uid] = initial_value(variable)

    def initialize(self) -> None:
        """Give every variable its initial value, again if need be, and begin the draws anew."""
        self.check_open()
        fresh = {uid: initial_value(variable) for uid, variable in self.variables.items()}
        for uid, value in fresh.items():
            np.copyto(self.storage.setdefault(uid, value), value)
        self.calls = 0

    def array(self, variable: Op) -> Array:
        """The array of a variable.

        Raises:
            InvalidHandleError: if no computation of this transformer uses it.
        """
        self.check_open()
        uid = variable.attribute("uid") if variable.definition.name == "core.variable" else None
        if uid not in self.variables:
            raise InvalidHandleError(
                f"{describe(variable, 1)} is no variable of this transformer",
                where=user_line(),
                do="use it in one of its computations first",
            )
        self.allocate()
        return self.storage[uid]

    def set(self, variable: Op, value: Any) -> None:
        """Give a variable a value."""
        array = self.array(variable)
        np.copyto(array, as_argument(value, variable, array.shape))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all to a file."""
        self.allocate()
        write_state(path, [(v, self.storage[uid]) for uid, v in self.variables.items()], self.seed, self.calls)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Read what `save` wrote; nothing changes if anything is wrong with it."""
        self.allocate()
        arrays, seed, calls = read_state(path, list(self.variables.values()))
        for uid, array in zip(self.variables, arrays, strict=True):
            np.copyto(self.storage[uid], array)
        self.seed, self.calls = seed, calls

    def check_open(self) -> None:
        """Refuse to go on after the transformer was closed."""
        if self.closed:
            raise ClosedError("the transformer is closed", where=user_line(), do="make another one")


def initial_value(variable: Op) -> Array:
    """The array a variable begins with: of its shape and dtype, 64-byte aligned; zeros if nothing was said.

    Raises:
        ComputationError: if its initial value does not fit it.
        LengthError: if a length is not known.
    """
    shape = tuple(known(n, f"a length of {describe(variable, 1)}") for n in variable.shape)
    array = aligned_array(shape, variable.dtype)
    initial: Any = variable.info.initial
    if callable(initial):
        initial = initial(variable.axes)
    if isinstance(initial, Op):
        initial = initial.attrs[0].array(tuple(known(n) for n in initial.shape))
    try:
        np.copyto(array, np.asarray(0 if initial is None else initial), casting="unsafe")
    except (TypeError, ValueError) as error:
        raise ComputationError(
            f"the initial value of {describe(variable, 1)} does not fit its axes {variable.axes!r}: {error}",
            where=variable.info.place,
        ) from error
    return array
