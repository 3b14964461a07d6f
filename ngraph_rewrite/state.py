# SPDX-License-Identifier: Apache-2.0
"""The state of a transformer: its variables' arrays, the numbers of its draws, and whether it is open."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.arguments import as_argument
from ngraph_rewrite.errors import ClosedError, InvalidHandleError
from ngraph_rewrite.initialization import Initials, initial_array
from ngraph_rewrite.runtime.aligned import aligned_array
from ngraph_rewrite.runtime.forking import COMPUTING, fork_lock
from ngraph_rewrite.savefile import read_state, write_state
from ngraph_rewrite.targets.storage import Storage
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.lengths import known

Array = NDArray[Any]
_Words = ctypes.c_int64 * 2


class State:
    """Variables and counters, shared by all computations of a transformer.

    Args:
        compute: Computes initial values that are terms, with a seed and the numbers of draws.

    Attributes:
        variables: The variables in the order in which computations met them.
        storage: Their arrays, whose memory never moves.
        streams: The number of each random draw, by the same order.
        calls: How many calls have been made: what tells their draws apart.
        closed: Whether nothing can be called any more.
        words: Two words that machine code reads: 0 if it is open and every variable has its array; `calls`. They are
            others after `restore`, and so is what was made ready with them.
        lock: Held by whoever computes. A fork waits for it, so that the forked process finds variables whole.
    """

    def __init__(self, seed: int, compute: Callable[[Sequence[Op], int, Mapping[Uid, int]], list[Array]]) -> None:
        self.seed, self._closed, self.words = seed, False, _Words(1, 0)
        self._compute = compute
        self.variables: dict[Uid, Op] = {}
        self.storage = Storage()
        self.streams: dict[Uid, int] = {}
        self.lock = fork_lock(COMPUTING)

    @property
    def calls(self) -> int:
        return self.words[1]

    @calls.setter
    def calls(self, number: int) -> None:
        self.words[1] = number

    @property
    def closed(self) -> bool:
        return self._closed

    @closed.setter
    def closed(self, closed: bool) -> None:
        self._closed, self.words[0] = closed, 1

    def register(self, variables: Iterable[Op], draws: Iterable[Op]) -> None:
        """Note the variables and the random draws of a computation."""
        for variable in variables:
            self.variables.setdefault(variable.attribute("uid"), variable)
            self.words[0] = 1
        for draw in draws:
            self.streams.setdefault(draw.attribute("uid"), len(self.streams))

    def allocate(self) -> None:
        """Give every variable that has none its array, with its initial value."""
        self.check_open()
        if self.words[0]:
            self.storage.update(self._initial(v for uid, v in self.variables.items() if uid not in self.storage))
            self.words[0] = 0

    def initialize(self) -> None:
        """Give every variable its initial value, again if need be, and begin the draws anew."""
        self.check_open()
        for uid, value in self._initial(self.variables.values()).items():
            np.copyto(self.storage.setdefault(uid, value), value)
        self.storage.changed()
        self.calls = 0

    def _initial(self, variables: Iterable[Op]) -> dict[Uid, Array]:
        """New arrays with the initial values; what are terms is computed together."""
        initials, arrays, terms = Initials(), {}, {}
        for variable in variables:
            uid, given = variable.attribute("uid"), initials.given(variable)
            arrays[uid] = _array(variable)
            if isinstance(given, Op):
                terms[uid] = initials.term(variable)
            else:
                initial_array(variable, given, arrays[uid])
        if terms:
            order = topological(terms.values())
            self.register((), (t for t in order if "draw" in t.definition.traits))
            values = self._compute(list(terms.values()), self.seed, self.streams)
            for uid, value in zip(terms, values, strict=True):
                np.copyto(arrays[uid], value)
        return arrays

    def array(self, variable: Op) -> Array:
        """The array of a variable.

        Raises:
            InvalidHandleError: if no computation of this transformer uses it.
        """
        self.check_open()
        is_one = isinstance(variable, Op) and variable.definition.name == "core.variable"
        uid = variable.attribute("uid") if is_one else None
        if uid not in self.variables:
            shown = describe(variable, 1) if isinstance(variable, Op) else repr(variable)
            raise InvalidHandleError(
                f"{shown} is no variable of this transformer",
                where=user_line(),
                do="use it in one of its computations first",
            )
        self.allocate()
        self.storage.fetch()
        return self.storage[uid]

    def set(self, variable: Op, value: Any) -> None:
        """Give a variable a value."""
        array = self.array(variable)
        np.copyto(array, as_argument(value, variable, array.shape))
        self.storage.changed()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all to a file."""
        self.allocate()
        self.storage.fetch()
        write_state(path, [(v, self.storage[uid]) for uid, v in self.variables.items()], self.seed, self.calls)

    def restore(self, path: str | os.PathLike[str], part: bool = False) -> None:
        """Read what `save` wrote, or a part of it; nothing changes if anything is wrong with it."""
        self.check_open()
        arrays, seed, calls = read_state(path, list(self.variables.values()), part)
        for (uid, variable), array in zip(self.variables.items(), arrays, strict=True):
            np.copyto(self.storage.setdefault(uid, _array(variable)), array)
        self.storage.changed()
        self.words[0] = 1  # for ever: what was made ready has another seed
        self.seed, self.words = seed, _Words(1, calls)

    def check_open(self) -> None:
        """Refuse to go on after the transformer was closed."""
        if self.closed:
            raise ClosedError("the transformer is closed", where=user_line(), do="make another one")


def _array(variable: Op) -> Array:
    """Memory for a variable, 64-byte aligned.

    Raises:
        LengthError: if a length is not known.
    """
    shape = tuple(known(n, f"a length of {describe(variable, 1)}") for n in variable.shape)
    return aligned_array(shape, variable.dtype)
