# SPDX-License-Identifier: Apache-2.0
"""A target says which ops it executes and what guards may ask of it; a program is what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.runtime.entry import Rows
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid, user_line
from ngraph_rewrite.terms.op import Op

Array = NDArray[Any]
Read = Callable[[], Array]
# Where a target may want the sample axis and the axis of time steps.
PLACES = ("first", "last", "any")


class DeviceArrays(Protocol):
    """Arrays of a device that executables read and write where they are."""

    def adopt(self, value: Any, term: Op) -> Any | None:
        """A value for a placeholder as such an array, if it is on the device; None if it is on the host.

        Raises:
            ComputationError: for one of another dtype.
        """

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array for a result."""


# What every executable has, and how one that has little to tell may do.
_METHODS = ("run", "source", "stats", "where")
_ADVICE = "source may give '', stats {}, and where None"


@dataclass(frozen=True)
class Target:
    """A target's name, base set and preferences.

    Attributes:
        base: The names of the ops it executes; None if it executes every op by its meaning.
        sample: Where it wants the sample axis: first, last, or any: each op as its type says.
        recurrent: Where it wants the axis of time steps: one of the same.
        prepare: Makes an executable of a program.
        arrays: What makes arrays of its device; None if it computes on the host.
        passes: Passes of its own, which say where among the others they stand.

    Raises:
        ArgumentError: for a name that is no word, ops that are no set of names, or what cannot be called.
        UnknownOpError: for an op that is not declared.
    """

    name: str
    base: frozenset[str] | None
    prepare: Callable[[Program], Executable]
    sample: str = "last"
    recurrent: str = "first"
    arrays: DeviceArrays | None = None
    passes: tuple[GraphPass, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ArgumentError(f"the target is called {self.name!r}", do="give it a name")
        if not callable(self.prepare):
            what = f"`prepare` of the target {self.name} is {self.prepare!r}"
            raise ArgumentError(what, do="give a function that makes an executable of a program")
        if self.base is not None and not isinstance(self.base, frozenset):
            object.__setattr__(self, "base", frozenset(_named("base", self.base, None)))

    @property
    def quads(self) -> tuple[int, int, int]:
        """How long sums of bytes are, and how many columns, whose neighbours are worth being multiplied four at once.

        The first one is of two variables that may be multiplied as pairs, the last one of few rows times weights.
        """
        return 1, 1, 1

    @property
    def float_pairs(self) -> tuple[int, int]:
        """How long sums of bfloat16 are, and how many products in all, if two are worth being multiplied at once."""
        return 1, 1

    def executable(self, program: Program) -> Executable:
        """What `prepare` makes of a program.

        Raises:
            ArgumentError: if it makes nothing that runs, or that cannot be asked what an `Executable` can.
        """
        made = self.prepare(program)
        lacking = [name for name in _METHODS if not callable(getattr(made, name, None))]
        if lacking:
            methods = f"method{'s' * (len(lacking) > 1)} {', '.join(lacking)}"
            what = f"`prepare` of the target {self.name} gives {made!r}, which has no {methods}"
            raise ArgumentError(what, where=user_line(), do=f"let it return an ng.Executable: {_ADVICE}")
        return made

    def preferring(self, sample: str | None = None, recurrent: str | None = None) -> Target:
        """The same target with other places for the sample axis and the axis of time steps; None keeps its own.

        Raises:
            ArgumentError: for anything but first, last and any.
        """
        for what, place in (("sample", sample), ("recurrent", recurrent)):
            if place is not None and (not isinstance(place, str) or place not in PLACES):
                raise ArgumentError(f"{what} is {place!r}", where=user_line(), do=f"one of {PLACES}")
        return replace(self, sample=sample or self.sample, recurrent=recurrent or self.recurrent)

    def extended(
        self,
        name: str,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        *,
        sample: str | None = None,
        recurrent: str | None = None,
    ) -> Target:
        """A target that works as this one, under another name and with another base set.

        Args:
            add: Names of ops it executes too: it needs kernels for them.
            remove: Names of ops it does not execute: rules have to lower them.
            sample: Where it wants the sample axis, if elsewhere.
            recurrent: Where it wants the axis of time steps, if elsewhere.

        Raises:
            UnknownOpError: for an op that is not declared.
            ArgumentError: if this target has no base set, or an op to remove is not in it.
        """
        more, less = _named("add", add, user_line()), _named("remove", remove, user_line())
        if self.base is None or not less <= self.base:
            lacks = ", ".join(sorted(less - (self.base or frozenset()))) or "no base set to add to"
            raise ArgumentError(f"the target {self.name} has {'not ' if less else ''}{lacks}", where=user_line())
        return replace(self, name=name, base=(self.base - less) | more).preferring(sample, recurrent)


def _named(what: str, ops: Iterable[str], where: str | None) -> set[str]:
    if isinstance(ops, str) or not isinstance(ops, Iterable):
        raise ArgumentError(f"{what} is {ops!r}", where=where, do=f'give a list of names: {what}=["semi.exp"]')
    return {lookup(n).name for n in ops}


@dataclass
class Program:
    """A graph with known lengths, ready for a target.

    Attributes:
        results: The terms whose values are wanted.
        writes: All writes, in order.
        inputs: The placeholders, in the order of the arguments.
        storage: The arrays of the variables, by uid; their memory never moves.
        streams: The number of each random draw.
        order: All terms, in the order in which `topological` gives them from results and writes; None if nobody
            has worked it out.
        threads: How many threads may work on it; what it computes does not depend on that.
        shared: What a target keeps for all programs of a computation, of which one runs at a time.
    """

    results: Sequence[Op]
    writes: Sequence[Op]
    inputs: Sequence[Op]
    storage: Mapping[Uid, Array]
    streams: Mapping[Uid, int]
    seed: int
    cache: Cache
    table: ReplacementTable = field(default_factory=ReplacementTable)
    order: Sequence[Op] | None = None
    threads: int = 1
    shared: dict[str, Any] = field(default_factory=dict)


class Quick(NamedTuple):
    """A run that machine code can make: rows of a launch table, once the addresses of arrays are in their places.

    Attributes:
        patches: Where an address goes, of which array (inputs come before results), how far into it.
        number: Where kernels read the number of the call.
        owner: What has to live as long.
        gates: Addresses of words that are not 0 once it may not be made in this way any more.
        long: Whether other Python threads should not wait for it.
    """

    patches: Sequence[tuple[int, int, int]]
    rows: Rows
    number: int
    owner: object
    gates: Sequence[int] = ()
    long: bool = False


class Ran(NamedTuple):
    """What ran as one.

    Attributes:
        kernels: Their names, in the order in which they ran.
        computed: The terms of the program that were computed by that, each with what gives a copy of its value until
            the next row runs; None for those that have no memory of their own.
    """

    kernels: tuple[str, ...]
    computed: tuple[tuple[Op, Read | None], ...]


class Executable(Protocol):
    """A program that can be run; one run at a time.

    It may also have methods without arguments: ``quick``, which gives a `Quick` that does what `run` does, or None, and
    ``shown``, which gives what it does, step by step, as text; ``stay``, which takes arguments that are on a device
    and the number of a call, and gives results that stay there, or None if only `run` can make that call; and
    ``run_rows``, which takes what `run` does and runs a part of it for each item that it gives
    (`Ran`).
    """

    def run(self, inputs: Sequence[Array], results: Sequence[Array], call: int) -> None:
        """Read `inputs`, perform the writes, fill `results`; `call` numbers the run for random draws."""

    def source(self) -> str:
        """The text of what runs."""

    def stats(self) -> dict[str, Any]:
        """Figures about what runs."""

    def where(self, term: Op) -> str | None:
        """In one sentence, where a term of the graph is computed; None if nowhere."""
