# SPDX-License-Identifier: Apache-2.0
"""The older rule of order: inside a block, what is built after a modification of a variable reads what it wrote.

A variable's *user deps* are the modifications that later-built terms wait for; they become such a term's
*other deps*. Nothing else is needed for it than ``after``: in the block a written variable stands for
``after(variable, modification)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.construction import construction
from ngraph_rewrite.terms.info import Info
from ngraph_rewrite.terms.op import Op

# What is read of each variable that was written, the newest last; the sizes at least halve from one to the next.
# Immutable: each modification makes a new one, so that no other thread or task sees it.
_Reads = tuple[Mapping[Op, Op], ...]


class _Ordered:
    """The state of a block: each variable written in it, and the term that reads what was written."""

    def __init__(self, reads: _Reads) -> None:
        self.reads = reads

    def read(self, term: Op) -> Op:
        """What stands for a term in the block: for a variable that was written, what reads it."""
        for one in reversed(self.reads):
            if term in one:
                return one[term]
        return term

    def arguments(self, definition: OpDef, args: tuple[Op, ...], info: Info) -> tuple[Op, ...]:
        if definition.name != "core.assign":
            return tuple(map(self.read, args))
        target, value = args
        before, value = self.pending(target), self.read(value)
        return (target, _later(value, before, info) if before else value)

    def built(self, term: Op) -> None:
        if term.definition.name == "core.assign":
            target, older = term.args[0], [*self.reads]
            newest = {target: Op(lookup("core.after"), (target, term), (), target.type, target.info)}
            while older and len(older[-1]) < 2 * len(newest):  # each read is copied about as often as a number has bits
                newest = {**older.pop(), **newest}
            construction.set(_Ordered((*older, newest)))

    def pending(self, term: Op) -> tuple[Op, ...]:
        read = self.read(term)
        return () if read is term else read.args[1:]


def _later(value: Op, effects: tuple[Op, ...], info: Info) -> Op:
    """`value` as it is before the effects, once they have run."""
    made_by = info._replace(name=None, initial=None)
    if value.definition.name == "core.variable":  # listed by itself it would be read anew
        value = Op(lookup("core.value_of"), (value,), (), value.type, made_by)
    return Op(lookup("core.sequential"), (value, *effects, value), (), value.type, made_by)


@contextmanager
def ordered() -> Iterator[None]:
    """Inside, a term sees the modifications of its variables that were built before it.

    A modification is `assign`, `fill` or `set_item`. It waits for the one before it of the same variable, and
    `x.user_deps` is the last one; the `other_deps` of a term are what it waits for. Outside of such a block, and
    for terms that were built before the modification, a read sees the state at the start of the computation,
    or at its place in `sequential`.

    A block inside a block begins with what the outer one knows; what it adds is gone when it ends. Other threads
    are not affected.

    >>> import ngraph_rewrite as ng
    >>> x = ng.variable([], initial_value=1.0, name="x")
    >>> with ng.ordered():
    ...     before = x + 1
    ...     five = ng.assign(x, 5)
    ...     later = x + 1
    >>> later.other_deps == (five,), before.other_deps, x.user_deps
    (True, (), ())
    >>> with ng.make_transformer("reference") as transformer:
    ...     transformer.computation([before, later])()
    [array(2., dtype=float32), array(6., dtype=float32)]
    """
    block = construction.get()
    token = construction.set(_Ordered(block.reads if isinstance(block, _Ordered) else ()))
    try:
        yield
    finally:
        construction.reset(token)
