# SPDX-License-Identifier: Apache-2.0
"""Products that no cache holds, or much of a GPU's memory: which terms are computed a strip of rows at a time.

Scores of attention are a row for each query and a column for each key; derivatives read them, and what a softmax makes
of them, several times. Nothing needs all of them at once: rows of results come of rows of scores, and what is summed
over rows, as gradients of keys and values are, is summed strip by strip (Dao et al., FlashAttention, 2022, have one
kernel for that; here any terms between two products may stand, each strip of which stays in a cache).

A *region* is a large product, all terms of its size that belong together with it, and what is read of these. What comes
of a region may be what it needs again: gradients come of results. So it has *levels*
(`ngraph_rewrite.plan.strip_levels`), each of which is a loop of its own over strips
(`ngraph_rewrite.plan.strip_loops`). Terms as large as the product are computed again in each.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence, Set
from functools import cached_property
from math import prod
from typing import NamedTuple

from ngraph_rewrite.codegen.scalar import HALVES
from ngraph_rewrite.plan.followed import Mixed, Step, step_of
from ngraph_rewrite.plan.shapes import bytes_of, known
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.tensor import TensorType

# Bytes of a product that is worth it: more than caches hold. Those of a strip, which they hold beside a few others.
_LARGE, _STRIP = 1 << 26, 1 << 22
# The same for a strip of one entry of a batch, which one thread works on, and of all entries together.
_ENTRY, _ENTRIES = 1 << 20, 1 << 26
# Of a product that takes much of a GPU's memory, and of a strip that gives all of it work: about as much as its cache.
_HUGE, _SHARED = 1 << 30, 1 << 26
# So many times more numbers a product has than its operands: to compute it again takes less than to read it.
_WIDER = 4
_FEW = 8  # rows of a strip, at least
# Bytes of a number that is stored from strip to strip and added to; floats of fewer are so as float32, if they are. To
# compute these again takes processors half as long again, as they have to be converted.
_PRECISE, _HALVES = 4, False
PRODUCTS = frozenset({"cpu.gemm", "cpu.batch_gemm", "cuda.gemm", "semi.dot", "semi.batch_dot"})


class Sizes(NamedTuple):
    """What is large for a target, in bytes.

    Attributes:
        large: A product that is worth it.
        strip: A strip of a product of two matrices.
        entry: A strip of one entry of a batch.
        entries: A strip of all entries together.
        halves: Whether sums of floats of 16 bits may be those of strips.
    """

    large: int
    strip: int
    entry: int
    entries: int
    halves: bool = True


def sizes_for_caches() -> Sizes:
    """Those of processors: a thread has a strip, or one of an entry, and should have it in its cache."""
    return Sizes(_LARGE, _STRIP, _ENTRY, _ENTRIES, _HALVES)


def sizes_for_memory() -> Sizes:
    """Those of a GPU, which shares out one strip of all entries at a time: large is what few of would fill memory."""
    return Sizes(_HUGE, _SHARED, _SHARED, _SHARED)


class Stripped(NamedTuple):
    """A graph, all of its terms, arguments first, and which term before each new one stands for."""

    roots: list[Op]
    order: list[Op]
    origins: dict[Op, Op]


class Region:
    """Terms that are computed a strip of rows at a time.

    Args:
        seed: The product.
        users: By term of the graph, what reads it.
        roots: The roots of the graph.
        sizes: What is large.
        barred: Terms of the steps of scans.

    Attributes:
        axes: By term, the axis along which it has the rows.
        steps: By term, what it needs of its arguments; of `sums` as well.
        sums: What is summed over all rows.
        rows: How many there are.
        strip: How many of them a strip has.
        levels: The level of each term, once that is known.

    Raises:
        Mixed: if there is no such region.
    """

    def __init__(
        self, seed: Op, users: Mapping[Op, Sequence[Op]], roots: Set[Op], sizes: Sizes, barred: Container[Op] = ()
    ) -> None:
        self.strip, self._halves = strip_of(seed, sizes) or 1, sizes.halves
        self.seed, self._users, self._kept, self._barred = seed, users, roots, barred
        self._size, axis = prod(known(seed)), seed.rank - 2
        self.rows = known(seed)[axis]
        self.axes = {seed: axis}
        self.steps: dict[Op, Step] = {}
        self.sums: set[Op] = set()
        self._waiting = [seed]
        while self._waiting:
            self._close(self._waiting.pop())
        if not self.sums and all(self.is_large(term) for term in self.axes):
            raise Mixed  # nothing is made of it
        self._check_memory()
        self.levels: dict[Op, int] = {}

    def is_large(self, term: Op) -> bool:
        """Whether a term is as large as the product: about so many numbers."""
        return 2 * prod(known(term)) >= self._size

    def is_cheap(self, term: Op) -> bool:
        """Whether each level computes a term for itself."""
        return self.is_large(term) or bool(term.definition.traits & {"view", "source"})

    def inside(self, term: Op) -> Iterator[tuple[Op, int]]:
        """The arguments of a term of which it needs some rows, and along which axis they have them."""
        for arg, axis in zip(term.args, self.steps[term].axes, strict=True):
            if axis is not None:
                yield arg, axis

    def whole(self, term: Op) -> Iterator[Op]:
        """The arguments that a term needs as a whole."""
        return (arg for arg, axis in zip(term.args, self.steps[term].axes, strict=True) if axis is None)

    # -- what belongs to it --------------------------------------------------------------------------------------------

    def _close(self, term: Op) -> None:
        """Take in what a term of the region needs, and what reads it if it may not be in memory."""
        if self.is_large(term) and term.args:  # constants belong to other regions as well
            if term in self._kept or (term.definition.name in PRODUCTS and not _is_wide(term)):
                raise Mixed
            for user in self._users.get(term, ()):
                if user not in self.axes and user not in self.sums:
                    self._read(user, term)
        self.steps[term] = step_of(term, self.axes[term])
        self._need(term)

    def _read(self, user: Op, term: Op) -> None:
        """Take in what reads a large term."""
        axis, summed = _followed(user, term, self.axes[term]), _summed(user, term, self.axes[term])
        if user in self._barred:
            raise Mixed
        if axis is not None:
            self._add(user, axis)
        elif summed is not None and (user.dtype.itemsize >= _PRECISE or self._adds(user)):
            self.steps[user] = summed
            self.sums.add(user)
            self._need(user)
        else:
            raise Mixed

    def _adds(self, term: Op) -> bool:
        """Whether floats of 16 bits are added up from strip to strip."""
        return self._halves and term.dtype.name in HALVES

    def _need(self, term: Op) -> None:
        for arg, axis in self.inside(term):
            if arg in self.axes:
                if self.axes[arg] != axis:
                    raise Mixed
            elif arg not in self.sums and self._belongs(arg, axis):
                self._add(arg, axis)

    def _add(self, term: Op, axis: int) -> None:
        if not isinstance(term.type, TensorType) or known(term)[axis] != self.rows:
            raise Mixed
        self.axes[term] = axis
        self._waiting.append(term)

    def _belongs(self, arg: Op, axis: int) -> bool:
        """Whether what a term needs is computed with it; else it is given, strip by strip."""
        definition = arg.definition
        try:
            step_of(arg, axis)
        except Mixed:
            return False
        if definition.name == "core.strip":
            return False  # an argument of the computation
        if self.is_large(arg) or definition.traits & {"view", "source"}:
            return self.is_large(arg) or definition.name != "semi.reshape"  # its rows may be those of another axis
        return self._is_small(arg) and self._comes_of_large(arg)

    def _is_small(self, term: Op) -> bool:
        """Whether it has a number for each row, not many."""
        return isinstance(term.type, TensorType) and prod(known(term)) * known(self.seed)[-1] <= self._size

    def _comes_of_large(self, term: Op) -> bool:
        """Whether small terms lead from a large one to this."""
        stack, seen = [term], set[Op]()
        while stack:
            for arg in stack.pop().args:
                if not isinstance(arg.type, TensorType) or arg in seen:
                    continue
                if self.is_large(arg) and arg.args:
                    return True
                seen.add(arg)
                if self._is_small(arg):
                    stack.append(arg)
        return False

    def _check_memory(self) -> None:
        """Nothing that is large is needed as a whole, or has to be brought into strips."""
        for term in self.steps:
            whole = any(arg in self.axes and self.is_large(arg) for arg in self.whole(term))
            if whole or any(axis and arg not in self.steps and self.is_large(arg) for arg, axis in self.inside(term)):
                raise Mixed

    @cached_property
    def results(self) -> set[Op]:
        """What is read outside of it; what each level computes for itself reads what is not so as from outside."""
        read = {term for term in self.steps if not self.is_cheap(term) and self._is_read(term)}
        return read | self.sums | {term for term in self.steps if term in self._kept}

    def _is_read(self, term: Op) -> bool:
        users = self._users.get(term, ())
        return any(user not in self.steps or (self.is_cheap(user) and not self.is_large(user)) for user in users)


def is_worth_it(seed: Op, sizes: Sizes) -> bool:
    """Whether a product is so large that it should not be in memory, and one whose rows can be cut in equal strips."""
    if seed.definition.name not in PRODUCTS or not isinstance(seed.type, TensorType):
        return False
    large = bytes_of(seed) >= sizes.large
    return large and _is_wide(seed) and strip_of(seed, sizes) is not None


def _is_wide(product: Op) -> bool:
    """Whether it takes little to compute a product again."""
    return prod(known(product)) >= _WIDER * sum(prod(known(arg)) for arg in product.args)


def strip_of(seed: Op, sizes: Sizes) -> int | None:
    """How many rows of a product a strip has: a part of all, about as many as caches hold; None if there is no such."""
    *batch, rows, columns = known(seed)
    count, size = prod(batch), columns * seed.dtype.itemsize
    most = sizes.strip // size if count == 1 else min(sizes.entry // size, sizes.entries // (count * size))
    most = max(most, _FEW)
    found = max(n for n in range(1, min(most, rows) + 1) if rows % n == 0)
    return found if found >= _FEW and 4 * found >= most and found < rows else None


def _followed(user: Op, term: Op, axis: int) -> int | None:
    """Along which axis something has the rows of an argument, which has them along this one."""
    if isinstance(user.type, TensorType):
        for own in range(user.rank):
            try:
                step = step_of(user, own)
            except Mixed:
                continue
            if (term, axis) in zip(user.args, step.axes, strict=True):
                return own
    return None


def _summed(user: Op, term: Op, axis: int) -> Step | None:
    """What something that sums over the rows of an argument needs of each."""
    if user.definition.name == "semi.sum" and axis in user.attribute("axes"):
        return Step((axis,))
    if user.definition.name in PRODUCTS:
        (x, y), (ta, tb) = user.args, user.attrs or (False, False)
        axes = (x.rank - 1 - ta, y.rank - 2 + tb)
        if (term, axis) in zip(user.args, axes, strict=True):
            return Step(axes)
    return None
