# SPDX-License-Identifier: Apache-2.0
"""Recurrence: a Python function says what one step does, and one op repeats it along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AxesError, FamilyError
from ngraph_rewrite.frontend.building import checked, function_of
from ngraph_rewrite.frontend.draws import drawn_before
from ngraph_rewrite.frontend.steps import check_pure, following, parameter
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.frontend.structures import Structure, flat, like
from ngraph_rewrite.ops.alignment import axis_of
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import scope, user_line
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.lengths import Extent

Step = Callable[[Structure, Structure], tuple[Structure, Structure]]


def scan(
    step: Step,
    init: Structure,
    sequence: Structure = None,
    axis: Axis | str | None = None,
    reverse: bool = False,
) -> tuple[Structure, Structure]:
    """Repeat a step along an axis: states go from each step to the next, outputs are put side by side.

    `step` is called once, with terms that stand for the states before a step and for the slices of the
    sequences at its time; it returns the states after the step, and outputs. It may use terms from outside.
    It runs as a loop: as long to compile for a thousand steps as for ten. It can be differentiated. What it draws it
    draws anew in each step; the numbers for all steps are drawn before the first.

    Args:
        step: From states (in the structure of `init`) and slices (in that of `sequence`) to the pair of next
            states and outputs (a term, or a tuple, list or dict of terms, however deep, or None).
        init: The states before the first step.
        sequence: What is walked through: terms that have the axis, at any place.
        axis: The axis: by default the recurrent axis of the first sequence. Without sequences it is a new
            axis, which says how many steps there are.
        reverse: Whether to begin at the end. Outputs stand at their own places all the same.

    Returns:
        The final states, in the structure of `init`, and the outputs with the axis as their first, in the
        structure that `step` gave them.

    Raises:
        AxesError, DTypeError: if a state changes its axes or dtype in a step.
        UnmatchedAxesError: if a sequence lacks the axis.
        FamilyError: if it has no named axes.
        IncompatibleAxesError: if it has another length in one of them.
        ArgumentError: if there is no axis, or `step` is no function that returns a pair.
        SequencingError: if the step assigns to a variable.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"REC": 3, "H": 2}, name="x")
    >>> total, sums = ng.scan(lambda s, x: (s + x, s + x), ng.constant(0.0, {"H": 2}), x)
    >>> total.type, sums.type
    (float32[H:2], float32[REC:3, H:2])
    """
    function_of("scan", step, "step")
    sequences = [as_op(s) for s in flat(sequence)]
    along = _axis(sequences, axis)
    slices = [x.axes - along for x in sequences]
    inits = [as_op(s) for s in flat(init)]
    return built("axes.scan", step, (init, inits), (sequence, sequences), slices, axis=along, reverse=reverse)


def positional_scan(
    step: Step, init: Structure, sequence: Structure = None, length: Extent | None = None, reverse: bool = False
) -> tuple[Structure, Structure]:
    """As `ng.scan`, by position: along the first axis of the sequences, or `length` times if there are none.

    Raises:
        AxesError: if sequences differ in the length of their first axis, or have none.
        ArgumentError: if there are neither sequences nor a length, or `step` is no function.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder((3, 2), name="x")
    >>> total, sums = ng.semi.scan(lambda s, x: (s + x, s), ng.constant([0.0, 0.0]), x)
    >>> total.type, sums.type
    (float32[2], float32[3, 2])
    """
    function_of("scan", step, "step")
    sequences = [as_op(s) for s in flat(sequence)]
    for x in sequences:
        if not x.rank:
            raise AxesError(f"scan: the sequence {describe(x, 1)} is a number", where=user_line())
    if length is None and not sequences:
        raise ArgumentError(
            "scan: there are no sequences and no length", where=user_line(), do="say how many steps: length=10"
        )
    times = sequences[0].shape[0] if length is None else length
    slices = [anonymous(x.shape[1:]) for x in sequences]
    inits = [as_op(s) for s in flat(init)]
    return built("semi.scan", step, (init, inits), (sequence, sequences), slices, length=times, reverse=reverse)


def _axis(sequences: Sequence[Op], axis: Axis | str | None) -> Axis:
    for x in sequences:
        if x.rank and not x.axes.named:
            what = f"scan: the sequence {describe(x, 1)} of {x.type!r} has no named axes"
            do = "use ng.simple.scan, which goes along R, or ng.numpy.scan, which goes along the first axis"
            raise FamilyError(what, where=user_line(), do=do)
    if axis is None and sequences:
        axis = sequences[0].axes.recurrent_axis()
    if axis is None or (isinstance(axis, str) and not sequences):
        what = "the first sequence has no recurrent axis" if sequences else "there are no sequences"
        raise ArgumentError(
            f"scan: {what}, and axis is {axis!r}", where=user_line(), do='say which axis: axis=ng.Axis("REC", 10)'
        )
    found = [checked("scan", axis_of, x.axes, axis) for x in sequences]
    for x, own in zip(sequences, found, strict=True):
        checked(f"scan: the sequence {describe(x, 1)}", Axes(found[0]).__or__, own)
    if isinstance(axis, Axis) and found:
        checked("scan", Axes(axis).__or__, found[0])
    return found[0] if found else axis  # type: ignore[return-value]


def built(
    name: str,
    step: Step,
    states: tuple[Structure, list[Op]],
    sequences: tuple[Structure, list[Op]],
    slices: Sequence[Axes],
    call: str = "scan",
    **attributes: Any,
) -> tuple[Structure, Structure]:
    """The scan as one term, and its parts in the structures of the states and of the outputs.

    Args:
        call: What the user has called.
    """
    before = [parameter(f"state{i}", s.axes, s) for i, s in enumerate(states[1])]
    now = [parameter(f"slice{i}", axes, x) for i, (axes, x) in enumerate(zip(slices, sequences[1], strict=True))]
    mark = object()
    with scope(mark):
        result = step(like(states[0], before), like(sequences[0], now))
    states_after, outputs = _pair(result)
    after = following("scan: the states after a step", states, states_after)
    given = [as_op(y) for y in flat(outputs)]
    times = attributes["axis"] if "axis" in attributes else anonymous((attributes["length"],))[0]
    results, draws, drawn = drawn_before([*after, *given], mark, times)
    check_pure(call, results, mark)
    term = build(
        lookup(name),
        (*states[1], *sequences[1], *draws, *results),
        parameters=tuple(p.attribute("uid") for p in (*before, *now, *drawn)),
        states=len(before),
        sequences=len(now) + len(drawn),
        **attributes,
    )
    n = len(before)
    return like(states[0], [term[i] for i in range(n)]), like(outputs, [term[n + i] for i in range(len(given))])


def _pair(result: Any) -> tuple[Structure, Structure]:
    if not isinstance(result, tuple | list) or len(result) != 2:
        shown = describe(result, 2) if isinstance(result, Op) else repr(result)
        raise ArgumentError(
            f"scan: the step returned {shown}", where=user_line(), do="return the pair (next states, outputs or None)"
        )
    return result[0], result[1]
