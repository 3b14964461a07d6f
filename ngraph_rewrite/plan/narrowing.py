# SPDX-License-Identifier: Apache-2.0
"""Truths instead of numbers: what a large product is compared with is noted while it is there, if only that is asked.

The adjoint of a ramp asks long afterwards where its argument was zero. Kept are then not the numbers, but the answers:
a quarter of the memory or less, stored by the epilogue of the product that computes the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ngraph_rewrite.plan.convolution_operands import CONVOLUTIONS
from ngraph_rewrite.plan.fusion import is_scalar_constant
from ngraph_rewrite.plan.kinds import MAP, OTHER, VIEW, Kinds, terms_of
from ngraph_rewrite.plan.products import is_product
from ngraph_rewrite.plan.shapes import bytes_of
from ngraph_rewrite.plan.views import IDENTITIES
from ngraph_rewrite.terms.op import Op

# Bytes from which on memory is worth looking at.
LARGE = 1 << 22
COMPARISONS = frozenset(f"semi.{c}" for c in "equal not_equal less less_equal greater greater_equal".split())
_MAPS_BETWEEN = 4  # maps at most between a product and what is compared


def large(term: Op) -> bool:
    """Whether it takes so much memory that it matters when it is needed for the last time."""
    return bytes_of(term) >= LARGE


def narrowed(results: Iterable[Op], order: Sequence[Op], kinds: Kinds) -> set[Op]:
    """Comparisons that are worth memory of their own, as numbers then need none.

    Args:
        order: The terms of the graph, arguments first.
        kinds: Those of their ops.
    """
    asked = [term for term in terms_of(order, COMPARISONS, kinds) if is_compared(term)]
    if not asked:
        return set()
    graph = _Graph(order, kinds)
    kept, found = set(results), set[Op]()
    by_number: dict[Op, list[Op]] = {}
    for term in asked:
        by_number.setdefault(term.args[0], []).append(term)
    for number, comparisons in by_number.items():
        if number not in kept and graph.is_asked_late(number, comparisons):
            found.update(comparisons)
    return found


def is_compared(term: Op) -> bool:
    """Whether a comparison compares what is large, and computed by a product, with a number."""
    number, other = term.args
    return is_scalar_constant(other) and large(number) and _is_of_product(number, _MAPS_BETWEEN)


def _is_of_product(term: Op, left: int) -> bool:
    if is_product(term) or term.definition.name in CONVOLUTIONS:
        return True
    through = "elementwise" in term.definition.traits or term.definition.name in IDENTITIES
    return through and left > 0 and any(_is_of_product(arg, left - 1) for arg in term.args)


class _Graph:
    """Who reads a term, and after how much work: the products, reductions and so on on the longest way to it."""

    def __init__(self, order: Sequence[Op], kinds: Kinds) -> None:
        self.kinds, self.work = kinds, dict[Op, int]()
        self.readers: dict[Op, list[Op]] = {}
        for term in order:
            before = max([self.work[arg] for arg in term.args], default=0)
            self.work[term] = before + (self.kinds[term.definition] == OTHER)
            for arg in term.args:
                self.readers.setdefault(arg, []).append(term)

    def is_asked_late(self, number: Op, comparisons: Sequence[Op]) -> bool:
        """Whether comparisons are needed when other work is done, and all else that reads a number has been by then."""
        others = [reader for reader in self.readers[number] if reader not in comparisons]
        late = [reader for comparison in comparisons for reader in self.readers.get(comparison, ())]
        return all(self.work[reader] > self.work[number] for reader in late) and all(map(self._is_stored, others))

    def _is_stored(self, term: Op) -> bool:
        """Whether a map is worked out where its operand is, as other work reads it."""
        if self.kinds[term.definition] != MAP:
            return False
        return any(self._is_work(reader) for reader in self.readers.get(term, ()))

    def _is_work(self, reader: Op) -> bool:
        kind = self.kinds[reader.definition]
        if kind == VIEW:
            return any(self._is_work(other) for other in self.readers.get(reader, ()))
        return kind == OTHER
