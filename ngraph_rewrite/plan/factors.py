# SPDX-License-Identifier: Apache-2.0
"""What a product of matrices multiplies: operands in memory, whose contracted axis may be two axes there.

A product that contracts several axes is one of reshapes: ``einsum("npd,npe->de")``, the derivative of windows of one
element by filters. Where one stride cannot tell what such a reshape sees, two may: then the product is a sum of
products, one for each index of the outer axis, and nothing is copied. Axes may be contracted in any order: where both
operands lie in another one than they are read in, the two axes are one there.
"""

from __future__ import annotations

from itertools import accumulate
from operator import mul
from typing import NamedTuple

from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import CopyFirst, Load
from ngraph_rewrite.plan.operands import placed, together
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.views import Layout, reshaped
from ngraph_rewrite.terms.op import Op

# Each of several products contracts so many numbers, or what they multiply is copied.
_LEAST = 32


class Factors(NamedTuple):
    """The operands of products, and how many products are added up; if several, these are their first axis."""

    x: Load
    y: Load
    terms: int = 1


def factors(term: Op, groups: Groups) -> Factors:
    """What a product multiplies.

    Raises:
        CopyFirst: if an operand is not in memory, or is so in a way that strides cannot say.
    """
    found = [placed(arg, groups) for arg in term.args]
    if term.definition.name == "cpu.gemm" and groups.renderer.sums and 0 not in known(term):
        if any(not isinstance(one, Load) for one in found):
            return _added_up(term, found, groups)
    x, y = together(found)
    return Factors(x, y)


def _added_up(term: Op, found: list[Load | Op], groups: Groups) -> Factors:
    """Several products instead of one, of what reshapes see.

    Raises:
        CopyFirst: for an operand, if strides cannot say that.
    """
    (ta, tb), (m, n), k = term.attrs, known(term), known(term.args[1])[1 if term.attrs[1] else 0]
    under = [_under(arg, one, groups) for arg, one in zip(term.args, found, strict=True)]
    x, y = _Operand(under[0], m, k, not ta), _Operand(under[1], n, k, tb)
    is_copied = [not isinstance(one, Load) for one in found]
    ways = [own.ways() if copied else [] for own, copied in zip((x, y), is_copied, strict=True)]
    for terms in sorted({*ways[0], *ways[1]}):
        left, right = x.by_terms(terms), y.by_terms(terms)
        if left is not None and right is not None:
            whole, other = x.at_once(left), y.at_once(right)
            return Factors(left, right, terms) if whole is None or other is None else Factors(whole, other)
    needs = [(one, way) for one, way in zip(found, ways, strict=True) if not isinstance(one, Load)]
    unseen = [one for one, way in needs if not way]
    raise CopyFirst(*dict.fromkeys(unseen or [needs[0][0]]))  # what strides can say stays as it is, beside a copy


def _under(operand: Op, found: Load | Op, groups: Groups) -> Load | None:
    """An operand, or what it is a reshape of, if that is what would have to be copied."""
    if isinstance(found, Load):
        return found
    if operand.definition.name != "semi.reshape" or operand.args[0] is not found:
        return None
    inner = placed(found, groups)
    return inner if isinstance(inner, Load) else None


class _Operand(NamedTuple):
    """A matrix, or what is one in another shape: its rows, the length of the contracted axis, whether that is last."""

    load: Load | None
    rows: int
    k: int
    last: bool

    def ways(self) -> list[int]:
        """In how many products strides can say it."""
        if self.load is None:
            return []
        ends = accumulate(self.load.layout.shape, mul)
        found = {end // self.rows for end in ends if end % self.rows == 0} if self.last else set(ends)
        return [n for n in found if self.by_terms(n) is not None]

    def by_terms(self, terms: int) -> Load | None:
        """The matrix as several, the first axis; None if strides cannot say it, or they would be short."""
        if self.load is None or not 1 < terms < self.k or self.k % terms or self.k // terms < _LEAST:
            return None
        length = self.k // terms
        seen = reshaped(self.load.layout, (self.rows, terms, length) if self.last else (terms, length, self.rows))
        if seen is not None and self.last:
            down, apart, along = seen.strides
            seen = Layout(seen.offset, (terms, self.rows, length), (apart, down, along))
        return None if seen is None else Load(self.load.base, seen)

    def at_once(self, terms: Load) -> Load | None:
        """The matrix, contracted in the order in which it lies, if the outer axis is the inner one there."""
        count, (apart, *strides) = terms.layout.shape[0], terms.layout.strides
        along, down = strides[::-1] if self.last else strides
        if along != apart * count:
            return None
        shape, steps = ((self.rows, self.k), (down, apart)) if self.last else ((self.k, self.rows), (apart, down))
        return Load(terms.base, Layout(terms.layout.offset, shape, steps))
