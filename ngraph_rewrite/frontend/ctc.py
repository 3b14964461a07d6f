# SPDX-License-Identifier: Apache-2.0
"""Connectionist temporal classification: the cost of labels that say what happens in which order, but not when."""

from __future__ import annotations

import math

from ngraph_rewrite.errors import DTypeError, UnmatchedAxesError
from ngraph_rewrite.frontend.arrangement import cast_axes, flatten
from ngraph_rewrite.frontend.axes import (
    cast,
    constant,
    equal,
    exp,
    label,
    less,
    log,
    logical_and,
    logical_or,
    logsumexp,
    max,
    maximum,
    not_equal,
    select,
    stop_gradient,
    sum,
)
from ngraph_rewrite.frontend.building import AxesOf, Operand, ordered
from ngraph_rewrite.frontend.parts import concat_along_axis, one_hot, slice_along_axis, stack
from ngraph_rewrite.frontend.scan import scan
from ngraph_rewrite.frontend.semi import iota
from ngraph_rewrite.frontend.storage import as_op
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import is_float

_POSITION = "position in the labels"
_MINUS_INFINITY = -math.inf


def ctc(
    activations: Operand,
    labels: Operand,
    activation_lens: Operand,
    label_lens: Operand,
    axes: AxesOf | None = None,
) -> Op:
    """Minus the logarithm of the probability of label sequences, summed over all ways to align them with time.

    Alignments may repeat labels, and put blanks, which are class 0, anywhere; between two equal labels there is
    one (Graves, Fernández, Gomez and Schmidhuber, *Connectionist Temporal Classification*, 2006). It is computed
    by a scan over time in the space of logarithms, and can be differentiated.

    Args:
        activations: Float: the axis of time, an axis of classes, and the sample axis (or none); a softmax over
            the classes makes probabilities of them.
        labels: Integers from 1: an axis of labels, and the sample axis. What lies behind its length is not read.
        activation_lens: How many time steps each sample has; its axis is the sample axis.
        label_lens: How many labels each sample has.
        axes: The axes of the result in another order.

    Returns:
        The cost of each sample. Labels that no alignment fits, because there are too few time steps, or that are
        no classes, cost infinity, and their derivative is zero.

    Raises:
        UnmatchedAxesError: if axes are missing or left over.
        DTypeError: if the activations are no floats, or the labels no integers.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"REC": 10, "C": 5, "N": 2})
    >>> labels = ng.placeholder({"L": 3, "N": 2}, "int32")
    >>> lens = ng.placeholder({"N": 2}, "int32")
    >>> ng.ctc(x, labels, lens, lens).type
    float32[N:2]
    """
    x, wanted = as_op(activations), as_op(labels)
    _check_dtypes(x, wanted)
    time, classes, position = _axes(x, wanted)
    states = Axis(_POSITION, 2 * position.length + 1)
    symbols = _with_blanks(wanted, position, states)
    steps, ends = (cast(as_op(n), "int64") for n in (activation_lens, label_lens))
    probabilities = x - logsumexp(x, reduction_axes=[classes])
    place = label(iota([states.length]), [states])
    emitting = equal(one_hot(symbols, classes, x.dtype), 1.0)
    known = _choice(sum(cast(emitting, "int64"), reduction_axes=[classes]) > 0, x)
    two_before = _shifted(_shifted(symbols, -1), -1)
    skip = _choice(logical_and(not_equal(symbols, 0), not_equal(symbols, two_before)), x)

    def step(state: tuple[Op, Op], now: Op) -> tuple[tuple[Op, Op], None]:
        alpha, t = state
        before = _shifted(alpha, _MINUS_INFINITY)
        arrived = _log_sum(alpha, before, _shifted(before, _MINUS_INFINITY) + skip)
        emitted = sum(select(emitting, now, 0.0), reduction_axes=[classes]) + known
        return (select(less(t, steps), arrived + emitted, alpha), t + 1), None

    start = select(equal(place, 0), 0.0, constant(_MINUS_INFINITY, symbols.axes, x.dtype))
    (alpha, _), _ = scan(step, (start, constant(0, [], "int64")), probabilities, time)
    last = logical_or(equal(place, ends * 2), equal(place, ends * 2 - 1))
    return ordered(0 - _log_total(select(last, alpha, _MINUS_INFINITY), states), axes)


def _axes(x: Op, labels: Op) -> tuple[Axis, Axis, Axis]:
    """The axes of time, of classes and of labels."""
    time, batch = x.axes.recurrent_axis(), x.axes.batch_axes()
    classes = x.axes - batch - (Axes() if time is None else Axes(time))
    position = labels.axes - batch
    if time is None or len(classes) != 1 or len(position) != 1 or len(labels.axes) != len(batch) + 1:
        raise UnmatchedAxesError(
            f"ctc: the activations are {x.type!r}, the labels {labels.type!r}",
            where=user_line(),
            do="give the activations a recurrent axis, an axis of classes and the sample axis, the labels one of "
            "labels and the sample axis",
        )
    return time, classes[0], position[0]


def _check_dtypes(x: Op, labels: Op) -> None:
    if not is_float(x.dtype) or labels.dtype.kind not in "iu":
        raise DTypeError(
            f"ctc: the activations are {x.dtype}, the labels {labels.dtype}",
            where=user_line(),
            do="give floats for the activations and integers for the labels",
        )


def _with_blanks(labels: Op, position: Axis, states: Axis) -> Op:
    """The labels with a blank before, between and after them."""
    wide = cast(labels, "int64")
    pairs = stack([wide * 0, wide], Axis("blank or label", 2), wide.axes.index(position) + 1)
    at = wide.axes.index(position)
    flat = flatten(pairs, Axes(pairs.axes[at : at + 2]))
    even = cast_axes(flat, Axes(states.with_length(a.length) if i == at else a for i, a in enumerate(flat.axes)))
    return concat_along_axis([even, _row(even, 0)], states)


def _row(x: Op, number: float) -> Op:
    """One more row of the axis of positions, filled with a number."""
    return constant(number, Axes(a.with_length(1) if a.name == _POSITION else a for a in x.axes), x.dtype)


def _shifted(x: Op, number: float) -> Op:
    """`x` one position on, with a number at the first."""
    return concat_along_axis([_row(x, number), slice_along_axis(x, _POSITION, slice(0, -1))], _POSITION)


def _choice(allowed: Op, like: Op) -> Op:
    """As a logarithm: 0 where something is allowed, minus infinity where it is not."""
    return select(allowed, constant(0, [], like.dtype), _MINUS_INFINITY)


def _log_sum(*xs: Op) -> Op:
    """The logarithm of the sum of exponentials; minus infinity of nothing but that, with a derivative of zero."""
    top = stop_gradient(xs[0])
    for x in xs[1:]:
        top = maximum(top, stop_gradient(x))
    possible = top > _MINUS_INFINITY
    height = select(possible, top, 0.0)
    total = exp(xs[0] - height)
    for x in xs[1:]:
        total = total + exp(x - height)
    return select(possible, height + log(select(possible, total, 1.0)), _MINUS_INFINITY)


def _log_total(x: Op, axis: Axis) -> Op:
    """As `_log_sum`, over an axis."""
    top = stop_gradient(max(x, reduction_axes=[axis]))
    possible = top > _MINUS_INFINITY
    height = select(possible, top, 0.0)
    total = sum(exp(x - height), reduction_axes=[axis])
    return select(possible, height + log(select(possible, total, 1.0)), _MINUS_INFINITY)
