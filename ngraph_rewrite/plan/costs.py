# SPDX-License-Identifier: Apache-2.0
"""What it costs to keep a term in memory, and what to compute it again in each kernel that reads it, by formula.

Bytes moved, launches and operations, each with a time of its own. A term that one kernel reads in one way belongs to
that kernel: nothing is computed again, and it is neither written nor read. Of others these figures decide; but what is
computed of sums or products is not among them, as it can be done while their results are in cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import prod
from typing import NamedTuple

from ngraph_rewrite.plan.kinds import LEAF, MAP, OTHER, VIEW, Kinds
from ngraph_rewrite.plan.shapes import bytes_of, known
from ngraph_rewrite.plan.shares import CORE, Speed, op_time, rate
from ngraph_rewrite.terms.op import Op

# Who reads a term: the root of the reading group (None: memory itself), through which views, how often they repeat it.
Use = tuple[Op | None, tuple[Op, ...], float]
# Terms that are looked at to say what computing one again takes.
_MOST = 8


class Costs(NamedTuple):
    """The two ways to let several kernels, or one that sees it in several ways, read a term.

    Attributes:
        again: Nanoseconds of computing it wherever it is read.
        kept: Of a launch that computes it once, of writing it, and of reading it.
        readers: By how many it is read.
        terms: What is computed again: it, and what only it reads.
    """

    again: float
    kept: float
    readers: int
    terms: tuple[Op, ...]

    @property
    def is_cheaper_again(self) -> bool:
        """Whether it is computed again."""
        return self.again <= self.kept

    def __str__(self) -> str:
        each = f"in each of {self.readers} places" if self.readers > 1 else "wherever it is repeated"
        return f"to compute it {each} takes about {_time(self.again)}, and {_time(self.kept)} to keep it in memory"


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds:.3g} ns" if nanoseconds < 1000 else f"{nanoseconds / 1000:.3g} us"


class Recomputed(NamedTuple):
    """What is computed for a term of what is in memory anyway: it and what only it reads; and what is read for it."""

    terms: tuple[Op, ...]
    leaves: tuple[Op, ...]


def recomputed(term: Op, kinds: Kinds, forced: Collection[Op], uses: Mapping[Op, Collection[Use]]) -> Recomputed | None:
    """What computing a map takes; None if that reads what is not in memory anyway.

    Args:
        forced: Terms that have to be in memory by themselves.
        uses: Who reads each term, as far as that is known: who else reads what only this term seems to.
    """
    for arg in term.args:  # most terms read something else, which shows at once
        kind = kinds[arg.definition]
        if kind == OTHER or (kind == MAP and arg.args and uses[arg]):
            return None
    terms, pending = [term], [*term.args]
    leaves: dict[Op, None] = {}
    while pending:
        below, shared = pending.pop(), False
        while kinds[below.definition] == VIEW and below not in forced:
            shared = shared or bool(uses[below])
            below = below.args[0]
        kind = kinds[below.definition]
        if kind == LEAF:
            if below.definition.name != "core.constant" or below.attrs[0].scalar is None:
                leaves[below] = None
        elif (
            kind == MAP and len(terms) < _MOST and below not in forced and not (below.args and (shared or uses[below]))
        ):
            terms.append(below)
            pending += below.args
        else:
            return None
    return Recomputed(tuple(terms), tuple(leaves))


def costs_of(found: Recomputed, uses: Iterable[Use], speed: Speed = CORE) -> Costs:
    """The costs of a term that is read in several ways, or repeated, on a machine.

    >>> import ngraph_rewrite as ng
    >>> from ngraph_rewrite import semi
    >>> x = ng.placeholder(ng.anonymous([1000]))
    >>> y = semi.exp(x)
    >>> print(costs_of(Recomputed((y,), (x,)), [(semi.exp(y), (), 1), (semi.sin(y), (), 1)]))
    to compute it in each of 2 places takes about 760 ns, and 670 ns to keep it in memory
    """
    term, times = found.terms[0], [each for _, _, each in dict.fromkeys(uses)]
    size, width = prod(known(term)), term.type.dtype.itemsize
    inputs = sum(map(bytes_of, found.leaves))
    ops = sum(op_time(t.definition.short) for t in found.terms) / speed.faster
    moved = rate(inputs + size * width) * speed.moves
    again = sum(size * n * ops for n in times) + len(times) * inputs / moved
    kept = speed.launch + size * ops + (inputs + size * width * (1 + len(times))) / moved
    return Costs(again, kept, len(times), found.terms)
