# SPDX-License-Identifier: Apache-2.0
"""What it costs to keep a term in memory, and what to compute it again in each kernel that reads it, by formula.

Bytes moved, launches and operations, each with a time of its own. A term that one kernel reads in one way belongs to
that kernel: nothing is computed again, and it is neither written nor read. Of others these figures decide; but what is
computed of sums or products is not among them, as it can be done while their results are in cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import prod
from typing import NamedTuple

from ngraph_rewrite.plan.kinds import LEAF, MAP, VIEW, Kinds
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.shares import LAUNCH, op_time, rate
from ngraph_rewrite.terms.op import Op

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


class Weighing:
    """The costs of the terms of a graph."""

    def __init__(self, order: Sequence[Op], kinds: Kinds, forced: Collection[Op]) -> None:
        self._kinds, self._forced = kinds, forced
        self._readers = Counter([arg for term in order for arg in term.args])

    def costs(self, term: Op, times: Sequence[float]) -> Costs | None:
        """The costs of a map; None if it reads what is not in memory anyway.

        Args:
            times: How often each of its elements is read, by each of those that read it.

        >>> from ngraph_rewrite.frontend.semi import exp, placeholder
        >>> from ngraph_rewrite.plan.kinds import Kinds
        >>> x = placeholder((1000,))
        >>> wide, cheap = exp(exp(exp(x))), -x
        >>> [Weighing([x, t], Kinds(), ()).costs(t, [1, 1]).is_cheaper_again for t in (wide.args[0].args[0], cheap)]
        [True, True]
        """
        found = self._computed(term)
        if found is None:
            return None
        terms, leaves = found
        size, width = prod(known(term)), term.type.dtype.itemsize
        inputs = sum(prod(known(leaf)) * leaf.type.dtype.itemsize for leaf in leaves)
        ops = sum(op_time(t.definition.short) for t in terms)
        speed = rate(inputs + size * width)
        again = sum(size * n * ops for n in times) + len(times) * inputs / speed
        kept = LAUNCH + size * ops + (inputs + size * width * (1 + len(times))) / speed
        return Costs(again, kept, len(times), tuple(terms))

    def _computed(self, term: Op) -> tuple[list[Op], list[Op]] | None:
        """What is computed for a term of what is in memory anyway, and that; None if something else is read."""
        terms, leaves, pending = [term], dict[Op, None](), [*term.args]
        while pending:
            below = pending.pop()
            single = True
            while self._kinds[below.definition] == VIEW and below not in self._forced:
                single = single and self._readers[below] == 1
                below = below.args[0]
            kind = self._kinds[below.definition]
            if kind == LEAF:
                if below.definition.name != "core.constant" or below.attrs[0].scalar is None:
                    leaves[below] = None
            elif kind != MAP or below in self._forced or len(terms) == _MOST:
                return None
            elif not below.args or (single and self._readers[below] == 1):
                terms.append(below)
                pending += below.args
            else:
                return None
        return terms, [*leaves]
