# SPDX-License-Identifier: Apache-2.0
"""A batch: tensors that lie along a new first axis, and what makes terms that hold one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Extent

Shape = tuple[Extent, ...]


class Batch:
    """A first axis of a length, and what makes terms that have it.

    Args:
        length: How many tensors there are.
        bank: Where terms are made.
    """

    def __init__(self, length: Extent, bank: TermBank) -> None:
        self.length, self._bank = length, bank

    def made(self, name: str, *args: Op, **attributes: Any) -> Op:
        """A term of an op."""
        definition = lookup(name)
        return self._bank.make(definition, args, tuple([attributes[a] for a in definition.attributes]))

    def again(self, term: Op, *args: Op, **changed: Any) -> Op:
        """A term of the op of `term`, with other arguments, and some attributes changed."""
        attributes = {**dict(zip(term.definition.attributes, term.attrs, strict=True)), **changed}
        return self.made(term.definition.name, *args, **attributes)

    def spread(self, x: Op) -> Op:
        """What is the same for all, along the batch."""
        return self.made("semi.broadcast", x, shape=(self.length, *x.shape), dims=tuple(range(1, x.rank + 1)))

    def shaped(self, x: Op, shape: Shape) -> Op:
        """`x` in another shape."""
        return x if x.shape == shape else self.made("semi.reshape", x, shape=shape)

    def turned(self, x: Op, *perm: int) -> Op:
        """`x` with its axes in another order."""
        return self.made("semi.transpose", x, perm=perm)

    def joined(self, x: Op) -> Op:
        """A batched term whose first two axes are one."""
        return self.shaped(x, (x.shape[0] * x.shape[1], *x.shape[2:]))

    def total(self, x: Op) -> Op:
        """The sum over the batch."""
        return self.made("semi.sum", x, axes=(0,))


# What an operand is: the batched term, and whether it was the same for all (it is as it was, then).
Operand = tuple[Op, bool]
Form = Callable[[Op, Sequence[Operand], Batch], Op]


def whole(operands: Sequence[Operand], batch: Batch) -> list[Op]:
    """The operands, all of them batched."""
    return [batch.spread(x) if same else x for x, same in operands]
