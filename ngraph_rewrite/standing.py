# SPDX-License-Identifier: Apache-2.0
"""What constants alone make is computed once, by the target's own kernels, and stands in the graph as a constant.

Only what takes longer to compute than to read again: a table of sines, weights that are scaled before a product; not a
mask that compares places. A result that no argument has a part in is computed by each call: who asks for it alone
seldom asks twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isqrt
from typing import Any

from numpy.typing import NDArray

from ngraph_rewrite.plan.shapes import bytes_of
from ngraph_rewrite.plan.shares import op_time, rate
from ngraph_rewrite.plan.views import VIEWS
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Length
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

Array = NDArray[Any]
# It takes so many nanoseconds at least, and has so many bytes at most.
LEAST_TIME, MOST_BYTES = 10_000, 1 << 28
# Nanoseconds for each element that something else than maps and products reads or makes; how many bytes products add up
# in a nanosecond.
_EACH, _RATE = 1.0, 200
_PRODUCTS = frozenset("dot batch_dot gemm batch_gemm".split())


class Standing:
    """The graph of a computation with constants where constants alone would be computed with.

    Args:
        roots, writes: Of a graph in the base set of a target.
        order: All its terms, arguments first.
        compute: Gives the values of terms that depend on no argument.

    Attributes:
        roots, writes: The same with constants.
        values: The terms that were computed once, with what they are.
        inside: Those that were computed on the way to them.
    """

    def __init__(
        self,
        roots: Sequence[Op],
        writes: Sequence[Op],
        order: Sequence[Op],
        compute: Callable[[Sequence[Op]], Sequence[Array]],
    ) -> None:
        self.roots, self.writes = list(roots), list(writes)
        self._terms: Mapping[Op, Op] | None = None  # each is itself
        self.values: dict[Op, Array] = {}
        self.inside: set[Op] = set()
        once = worth_once(order)
        if once:
            self._replace(order, dict(zip(once, compute(once), strict=True)))

    def __bool__(self) -> bool:
        return bool(self.values)

    def lowered(self, bound: Mapping[Op, Op]) -> Mapping[Op, Op]:
        """What terms of this graph were bound to, for those that were lowered: without what is not needed any more."""
        if self._terms is None:
            return bound
        return {old: bound[new] for old, new in self._terms.items() if new in bound}

    def _replace(self, order: Sequence[Op], values: Mapping[Op, Array]) -> None:
        terms: dict[Op, Op] = {}
        for term in order:
            if term in values:
                made = make_op("core.constant", value=Literal(values[term]), axes=term.type.axes)
                terms[term] = made = Op(made.definition, (), made.attrs, term.type, term.info)
                self.values[term] = made.attribute("value").array(values[term].shape)
            else:
                terms[term] = _with_arguments(term, tuple([terms[a] for a in term.args]))
        self.roots = [terms[root] for root in self.roots]
        self.writes = [terms[write] for write in self.writes]
        self.inside = {below for term in values for below in _under(term)} - {*values}
        self._terms = terms


def _with_arguments(term: Op, args: tuple[Op, ...]) -> Op:
    if all(new is old for new, old in zip(args, term.args, strict=True)):
        return term
    return Op(term.definition, args, term.attrs, term.type, term.info)


def worth_once(order: Iterable[Op]) -> list[Op]:
    """The terms that constants alone determine, that something else reads, and that are dear enough.

    Args:
        order: All terms of a graph, arguments first.
    """
    terms = list(order)
    closed: set[Op] = set()
    for term in terms:
        if _is_closed(term, closed):
            closed.add(term)
    if not closed or all(not term.args for term in closed):
        return []
    found, seen = dict[Op, None](), set[tuple[Op, bool]]()
    for term in terms:
        pending = [] if term in closed else [(arg, _is_map(term)) for arg in term.args if arg in closed]
        while pending:
            read = below, in_map = pending.pop()
            if read in seen:
                continue
            seen.add(read)
            is_view = below.definition.name in VIEWS
            if not is_view and _is_dear(below, in_map):
                found[below] = None
            else:
                pending += [(arg, in_map if is_view else _is_map(below)) for arg in below.args]
    return list(found)


def _is_map(term: Op) -> bool:
    return "elementwise" in term.definition.traits


def _is_closed(term: Op, closed: set[Op]) -> bool:
    """Whether the value is the same in every call, whatever the lengths of arguments are."""
    definition = term.definition
    if definition.name == "core.constant":
        return _is_known(term.type)
    if not all(arg in closed for arg in term.args) or definition.traits & {"effect", "draw", "binder"}:
        return False
    return "uid" not in definition.attributes and _is_known(term.type) and not any(map(_has_length, term.attrs))


def _is_known(type_: TensorType) -> bool:
    return not isinstance(type_, TupleType) and all(isinstance(length, int) for length in type_.shape)


def _has_length(attribute: Any) -> bool:
    return isinstance(attribute, Length) or (isinstance(attribute, tuple) and any(map(_has_length, attribute)))


def _is_dear(term: Op, in_map: bool) -> bool:
    """Whether it takes longer to compute a term than to read it.

    Args:
        in_map: Whether a map reads it, which would compute its own operands; anything else reads them from memory.
    """
    size = bytes_of(term)
    if not 0 < size <= MOST_BYTES or not term.args:
        return False
    reading = size / rate(size)
    computing = sum(map(_time, _under(term)))
    return computing >= max(LEAST_TIME, reading) if in_map else computing + reading >= LEAST_TIME


def _under(term: Op) -> Iterator[Op]:
    seen, pending = {term}, [term]
    while pending:
        one = pending.pop()
        yield one
        new = [arg for arg in dict.fromkeys(one.args) if arg not in seen]
        seen.update(new)
        pending += new


def _time(term: Op) -> float:
    """About how many nanoseconds a term takes, its arguments aside."""
    if not term.args or term.definition.name in VIEWS:
        return 0.0
    size = int(term.size)  # type: ignore[arg-type]
    if _is_map(term):
        return size * op_time(term.definition.short) * max(term.dtype.itemsize, 4) / 4
    sizes = [int(arg.size) for arg in term.args]  # type: ignore[arg-type]
    if term.definition.short in _PRODUCTS and size:
        inner = isqrt(sizes[0] * sizes[1] // size)
        return size * inner * term.dtype.itemsize / _RATE
    return _EACH * (size + sum(sizes))
