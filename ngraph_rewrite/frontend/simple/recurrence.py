# SPDX-License-Identifier: Apache-2.0
"""Recurrence along R: the scan by position, with N marked inside the step as it is outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AxesError, UnmatchedAxesError
from ngraph_rewrite.frontend.arrangement import strip
from ngraph_rewrite.frontend.building import checked, function_of
from ngraph_rewrite.frontend.scan import Step, positional_scan
from ngraph_rewrite.frontend.simple.movement import arrange
from ngraph_rewrite.frontend.simple.operands import apply, as_term
from ngraph_rewrite.frontend.simple.sources import mark
from ngraph_rewrite.frontend.structures import Structure, flat, flat_as, like
from ngraph_rewrite.ops.simple_marks import R, common, keys
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes

__all__ = ["scan"]


def scan(step: Step, init: Structure, sequence: Structure, reverse: bool = False) -> tuple[Structure, Structure]:
    """As `ng.scan`, along R: the step sees states, and the slices of sequences at its time, with N where it stands.

    Args:
        step: From states and slices to the pair of next states and outputs (structures of terms, or None).
        init: The states before the first step; none has R.
        sequence: What is walked through: terms with R, at any place.
        reverse: Whether to begin at the end. Outputs stand at their own places all the same.

    Returns:
        The final states, and the outputs with R as their first axis.

    Raises:
        UnmatchedAxesError: if a sequence lacks R.
        AxesError: if R has two lengths, a state has R, or a state changes its axes in a step.
        ArgumentError: if there are no sequences, or `step` is no function that returns a pair.
        SequencingError: if the step assigns to a variable.

    >>> import ngraph_rewrite as ng
    >>> N, R = ng.simple.N, ng.simple.R
    >>> x = ng.simple.placeholder((3, R, N(2)))
    >>> total, sums = ng.simple.scan(lambda s, x: (s + x, s + x), ng.simple.constant(0.0, (3, N(2))), x)
    >>> total.type, sums.type
    (float32[3, sample:2], float32[recurrent:REC, 3, sample:2])
    """
    function_of("scan", step, "step")
    inits = [as_term(s) for s in flat(init)]
    walked = [arrange(x, recurrent="first") for x in map(as_term, flat(sequence))]
    _check(inits, walked)
    states, slices = [s.axes for s in inits], [Axes(x.axes[1:]) for x in walked]
    shown: list[Axes] = []  # those of the outputs: known once the step was called

    def positional(before: Structure, now: Structure) -> Any:
        result = step(like(init, _marked(before, states)), like(sequence, _marked(now, slices)))
        if not isinstance(result, tuple | list) or len(result) != 2:
            return result  # which the scan refuses
        following = map(as_term, flat_as("scan: the states after a step", init, result[0]))
        outputs = [as_term(y) for y in flat(result[1])]
        shown.extend(y.axes for y in outputs)
        return _plain(map(_standing, following, states)), like(result[1], _plain(outputs))

    plain = like(sequence, _plain(walked))
    last, outputs = positional_scan(positional, _plain(inits), plain, reverse=reverse)
    times = walked[0].axes[0]
    return like(init, _marked(last, states)), like(outputs, _marked(outputs, [Axes((times, *a)) for a in shown]))


def _check(inits: Sequence[Op], sequences: Sequence[Op]) -> None:
    for x in sequences:
        if R not in keys(x.axes):
            raise UnmatchedAxesError(f"scan: the sequence {describe(x, 1)} has no axis R", where=user_line())
    if not sequences:
        do = "give one with R, or use ng.numpy.scan with a length"
        raise ArgumentError("scan: there are no sequences", where=user_line(), do=do)
    checked("scan", common, *(x.axes for x in sequences))
    for state in inits:
        if R in keys(state.axes):
            raise AxesError(f"scan: the state {describe(state, 1)} has the axis R", where=user_line())


def _marked(structure: Structure, axes: Sequence[Axes]) -> list[Op]:
    return [mark(t, a) for t, a in zip(map(as_term, flat(structure)), axes, strict=True)]


def _plain(terms: Iterable[Op]) -> list[Op]:
    return [strip(t) if any(a.roles for a in t.axes) else t for t in terms]


def _standing(after: Op, axes: Axes) -> Op:
    """A state after a step, with N where it stood before; one that has other axes is an error."""
    if after.axes != axes and set(keys(after.axes)) == set(keys(axes)):
        return apply("transpose", after, order=keys(axes))
    if set(keys(after.axes)) != set(keys(axes)):
        what = f"scan: a state is {axes!r} before a step and {after.axes!r} after it"
        raise AxesError(what, where=user_line(), do="give the initial state the axes that a step gives it")
    return after
