# SPDX-License-Identifier: Apache-2.0
"""A sum of products over the steps of a scan is one product, of what the steps multiply, stacked.

``S + A B`` in each step, with S read by nothing else, is what the adjoint of a scan makes of weights that every step
reads. One product sums over all steps at once: S is not read and written in each of them, and a large product is
nearer to what the processor can do. What is multiplied is stacked as outputs are. Where that is what biases get
sums of, as adjoints, these are sums of the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

from ngraph_rewrite.plan.needs import Scan
from ngraph_rewrite.plan.scan_changes import Make, ScanChanges
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.terms.binders import NONE, Free
from ngraph_rewrite.terms.op import Op

Shape = tuple[int, ...]


def stack(scans: Sequence[Scan], order: Iterable[Op], free: Free, changes: ScanChanges) -> None:
    """Let sums of products over the steps of scans be products of stacks.

    Args:
        scans: Those that stand in no step of another, in topological order.
        order: All terms.
        free: The parameters that terms depend on.
    """
    users: dict[Op, list[Op]] = {}
    for term in order if scans else ():
        for arg in term.args:
            users.setdefault(arg, []).append(term)
    for scan in scans:
        read = {int(t.attrs[0]) for t in users.get(scan.term, ()) if t.definition.name == "core.item"}
        stacked = len(scan.inits) + len(scan.outputs)
        numbers = [i for i in range(len(scan.inits)) if i in read and stacked + i not in read]
        found = {i: summed for i in numbers if (summed := _summed(scan, i, users, free)) is not None}
        _stack_products(scan, found, free, changes)
        _stack_sums(scan, found, changes)


def _stack_products(scan: Scan, found: Mapping[int, _Summed], free: Free, changes: ScanChanges) -> None:
    """Let states that are sums of products be products of stacks."""
    for number, summed in found.items():
        if summed.term.definition.name == "cpu.gemm" and _pays(scan, summed.term, free):
            factors = [_unshaped(arg) for arg in summed.term.args]
            for factor in factors:
                if not _is_own(scan, factor):
                    changes.stack(scan.term, factor)
            changes.finals[scan.term, number] = partial(_product, scan, number, summed, factors)


def _stack_sums(scan: Scan, found: Mapping[int, _Summed], changes: ScanChanges) -> None:
    """Let states that are sums of what is stacked anyway be sums of the stack."""
    there = {*scan.outputs, *changes.outputs.get(scan.term, ())}
    for number, summed in found.items():
        if summed.term.definition.name == "semi.sum":
            whole = _unshaped(summed.term.args[0])
            if whole in there or _is_own(scan, whole):
                changes.finals[scan.term, number] = partial(_total, scan, number, summed, whole)


class _Summed(NamedTuple):
    """A product or a sum, and what it goes through before it is added: transposes and reshapes, the first one first."""

    term: Op
    views: Sequence[Op]


def _summed(scan: Scan, number: int, users: Mapping[Op, Sequence[Op]], free: Free) -> _Summed | None:
    """The product or the sum that a state is the sum of, if that is all there is to it."""
    following, uid = scan.following[number], scan.parameters[number]
    if following.definition.name != "semi.add" or users[following] != [scan.term]:
        return None
    for state, other in (following.args, following.args[::-1]):
        if state.definition.name == "core.parameter" and state.attribute("uid") == uid and users[state] == [following]:
            term, views = _seen(other)
            if term.definition.name in ("cpu.gemm", "semi.sum") and uid not in free.get(term, NONE):
                return _Summed(term, views)
    return None


def _seen(term: Op) -> tuple[Op, list[Op]]:
    """What a term has all elements of, in its order or another one, and how it comes of that."""
    views = list[Op]()
    while term.definition.name in ("semi.reshape", "semi.transpose"):
        views.insert(0, term)
        term = term.args[0]
    return term, views


def _pays(scan: Scan, product: Op, free: Free) -> bool:
    """Whether both factors change with the steps, and no more is stacked than the sums would be read and written."""
    own = set(scan.parameters)
    changing = all(not own.isdisjoint(free.get(arg, NONE)) for arg in product.args)
    factors = [_unshaped(arg) for arg in product.args]
    more = sum(prod(known(x)) for x in factors if x not in scan.outputs and not _is_own(scan, x))
    return changing and more <= 2 * prod(known(product))


def _is_own(scan: Scan, term: Op) -> bool:
    """Whether it is a state or a slice, which are stacked anyway."""
    return term.definition.name == "core.parameter" and term.attribute("uid") in scan.parameters


def _unshaped(term: Op) -> Op:
    while term.definition.name == "semi.reshape":
        term = term.args[0]
    return term


def _product(
    scan: Scan, number: int, summed: _Summed, factors: Sequence[Op], stacked: Callable[[Op], Op], make: Make
) -> Op:
    """The product over all steps, and what the state is at first."""
    (x, y), (ta, tb) = summed.term.args, summed.term.attrs
    first = _long(stacked(factors[0]), known(x), not ta, make)
    second = _long(stacked(factors[1]), known(y), tb, make)
    return _added(scan, number, summed, make("cpu.gemm", (first, second), (ta, tb)), make)


def _total(scan: Scan, number: int, summed: _Summed, whole: Op, stacked: Callable[[Op], Op], make: Make) -> Op:
    """The sum over all steps, and what the state is at first."""
    (x,), stack = summed.term.args, stacked(whole)
    shape = (known(stack)[0], *known(x))
    stack = stack if known(stack) == shape else make("semi.reshape", (stack,), (shape,))
    axes = (0, *(axis + 1 for axis in summed.term.attribute("axes")))
    return _added(scan, number, summed, make("semi.sum", (stack,), (axes,)), make)


def _added(scan: Scan, number: int, summed: _Summed, total: Op, make: Make) -> Op:
    """What is summed over all steps, as a step adds it, and what the state is at first."""
    init = scan.inits[number]
    for view in summed.views:
        total = make(view.definition.name, (total,), view.attrs)
    is_zero = init.definition.name == "core.constant" and init.attrs[0].scalar == 0
    return total if is_zero else make("semi.add", (init, total), ())


def _long(stack: Op, matrix: Shape, across: bool, make: Make) -> Op:
    """Matrices of all steps in a row, below each other or beside each other (`across`)."""
    times, rows, columns = known(stack)[0], *matrix
    if not across:
        return make("semi.reshape", (stack,), ((times * rows, columns),))
    shape = known(stack)[1:]
    cut = next((i for i in range(len(shape) + 1) if prod(shape[:i]) == rows and prod(shape[i:]) == columns), None)
    if cut is None:
        stack, shape, cut = make("semi.reshape", (stack,), ((times, rows, columns),)), matrix, 1
    perm = (*range(1, cut + 1), 0, *range(cut + 1, len(shape) + 1))
    return make("semi.reshape", (make("semi.transpose", (stack,), (perm,)),), ((rows, times * columns),))
