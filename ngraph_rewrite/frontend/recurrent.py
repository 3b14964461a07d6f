# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, written on `scan`: long short-term memory and the gated recurrent unit.

Their weights have an axis of gates first. The recurrent weights have two axes of the hidden length: the one that
the states have, and another, of any other name, for the state before, over which they are summed.
"""

from __future__ import annotations

from ngraph_rewrite.errors import ArgumentError, AxesError, FamilyError, UnmatchedAxesError
from ngraph_rewrite.frontend.arrangement import axes_with_order
from ngraph_rewrite.frontend.axes import dot, map_roles, sigmoid, tanh
from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.frontend.scan import scan
from ngraph_rewrite.frontend.storage import as_op, constant
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes, Axis

States = tuple[Op, Op]


def lstm_cell(z: Op, state: States, u: Op) -> States:
    """One step of long short-term memory, with the input's part of the gates worked out already.

    ``i, f, g, o = z + u h``, then ``c' = sigmoid(f) c + sigmoid(i) tanh(g)`` and ``h' = sigmoid(o) tanh(c')``
    (Hochreiter and Schmidhuber, *Long Short-Term Memory*, 1997; with the forget gate of Gers, Schmidhuber and
    Cummins, *Learning to Forget*, 2000).

    Args:
        z: What the input and the biases give the four gates.
        state: The output and the memory, (h, c), before the step.
        u: The recurrent weights: gates (input, forget, candidate, output), hidden, hidden before.

    Returns:
        (h, c) after the step.

    Raises:
        AxesError: if there are not four gates, or the hidden axes differ in length.
        UnmatchedAxesError: if a state lacks the hidden axis.

    >>> import ngraph_rewrite as ng
    >>> z, u = ng.placeholder({"gate": 4, "H": 3, "N": 2}), ng.variable({"gate": 4, "H": 3, "before": 3})
    >>> h = ng.constant(0.0, {"H": 3, "N": 2})
    >>> ng.lstm_cell(z, (h, h), u)[0].type
    float32[H:3, N:2]
    """
    h, c = state
    gates, _, _ = _roles("lstm_cell", u, 4)
    all_gates = z + _recurrent("lstm_cell", u, h)
    i, f, g, o = (_gate(all_gates, gates, k) for k in range(4))
    memory = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(memory), memory


def gru_cell(z: Op, h: Op, u: Op) -> Op:
    """One step of the gated recurrent unit, with the input's part of the gates worked out already.

    ``r, s = sigmoid(z + u h)`` for the reset and the update gate, ``g = tanh(z + u (r h))`` for the candidate, and
    ``h' = s h + (1 - s) g`` (Cho et al., *Learning Phrase Representations using RNN Encoder-Decoder for
    Statistical Machine Translation*, 2014).

    Args:
        z: What the input and the biases give the three gates.
        h: The state before the step.
        u: The recurrent weights: gates (reset, update, candidate), hidden, hidden before.

    Raises:
        AxesError: if there are not three gates, or the hidden axes differ in length.
        UnmatchedAxesError: if the state lacks the hidden axis.

    >>> import ngraph_rewrite as ng
    >>> z, u = ng.placeholder({"gate": 3, "H": 3, "N": 2}), ng.variable({"gate": 3, "H": 3, "before": 3})
    >>> ng.gru_cell(z, ng.constant(0.0, {"H": 3, "N": 2}), u).type
    float32[H:3, N:2]
    """
    gates, _, _ = _roles("gru_cell", u, 3)
    first = z[_part(z.axes, gates, slice(0, 2))] + _recurrent("gru_cell", u[0:2], h)
    reset, update = (sigmoid(_gate(first, gates, k)) for k in range(2))
    candidate = tanh(_gate(z, gates, 2) + _recurrent("gru_cell", u[2], reset * h))
    return update * h + (1 - update) * candidate


def lstm(
    x: Operand,
    w: Operand,
    u: Operand,
    b: Operand | None = None,
    init: States | None = None,
    axis: Axis | str | None = None,
    reverse: bool = False,
) -> tuple[Op, States]:
    """Long short-term memory along an axis: `lstm_cell` for each of its places.

    Args:
        x: The input: the axis, features, and whatever else, such as samples.
        w: The input weights: gates (input, forget, candidate, output), hidden, and the features of `x`.
        u: The recurrent weights: gates, hidden, hidden before.
        b: The biases: gates and hidden; none by default.
        init: The first output and memory, (h, c); zero by default.
        axis: The axis to go along: by default the recurrent axis of `x`.
        reverse: Whether to begin at its end.

    Returns:
        The outputs, with the axis first and hidden units last, and the final (h, c).

    Raises:
        AxesError: if there are not four gates, or the hidden axes differ in length.
        UnmatchedAxesError: if the weights lack an axis.
        FamilyError: if the input or the weights have no named axes.
        ArgumentError: if there is no axis to go along.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"F": 5, "REC": 7, "N": 2})
    >>> w, u = ng.variable({"gate": 4, "H": 3, "F": 5}), ng.variable({"gate": 4, "H": 3, "before": 3})
    >>> y, (h, c) = ng.lstm(x, w, u)
    >>> y.type, c.type
    (float32[REC:7, N:2, H:3], float32[N:2, H:3])
    """
    weights = as_op(u)
    z, start, along = _prepared("lstm", as_op(x), as_op(w), weights, b, axis, 4)
    first = (start, start) if init is None else tuple(_in_order(state, start) for state in init)

    def step(state: States, z: Op) -> tuple[States, Op]:
        h, c = lstm_cell(z, state, weights)
        return (h, c), h

    (h, c), outputs = scan(step, first, z, along, reverse)
    return outputs, (h, c)


def gru(
    x: Operand,
    w: Operand,
    u: Operand,
    b: Operand | None = None,
    init: Op | None = None,
    axis: Axis | str | None = None,
    reverse: bool = False,
) -> tuple[Op, Op]:
    """Gated recurrent units along an axis: `gru_cell` for each of its places.

    The arguments and errors are those of `lstm`, with three gates (reset, update, candidate) and one state.

    Returns:
        The outputs, with the axis first and hidden units last, and the final state.

    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder({"F": 5, "REC": 7, "N": 2})
    >>> w, u = ng.variable({"gate": 3, "H": 3, "F": 5}), ng.variable({"gate": 3, "H": 3, "before": 3})
    >>> y, h = ng.gru(x, w, u)
    >>> y.type, h.type
    (float32[REC:7, N:2, H:3], float32[N:2, H:3])
    """
    weights = as_op(u)
    z, start, along = _prepared("gru", as_op(x), as_op(w), weights, b, axis, 3)

    def step(h: Op, z: Op) -> tuple[Op, Op]:
        following = gru_cell(z, h, weights)
        return following, following

    h, outputs = scan(step, start if init is None else _in_order(init, start), z, along, reverse)
    return outputs, h


def _prepared(
    call: str, x: Op, w: Op, u: Op, b: Operand | None, axis: Axis | str | None, count: int
) -> tuple[Op, Op, Axis]:
    """What the input gives all gates at all times, a state of zeros, and the axis of times."""
    for term in (x, w, u):
        if not term.axes.named:
            what = f"{call}: {describe(term, 1)} of {term.type!r} has no named axes"
            raise FamilyError(what, where=user_line(), do="name them with ng.label, or write a step for a scan")
    gates, hidden, _ = _roles(call, u, count)
    name = axis.name if isinstance(axis, Axis) else axis
    along = x.axes.recurrent_axis() if axis is None else x.axes.find(name)
    if along is None:
        what = f"{call}: {x.type!r} has no axis {name or 'of time steps'}"
        raise ArgumentError(what, where=user_line(), do="say which of its axes to go along: axis=...")
    for needed in (gates, hidden):
        if needed not in w.axes:
            what = f"{call}: the input weights {w.type!r} lack the axis {needed!r}"
            raise UnmatchedAxesError(what, where=user_line(), do="give them the axes of gates and hidden units")
    z = dot(x, w)  # gates and hidden units last: samples lie apart, and each of them in one place
    z = z if b is None else z + b
    zeros = constant(0, z.axes - gates - along, z.dtype)
    return z, zeros, along


def _in_order(state: Op, zeros: Op) -> Op:
    """A state with its axes in the order in which a step has them."""
    own = as_op(state)
    return axes_with_order(own, zeros.axes) if set(own.axes) == set(zeros.axes) else own


def _roles(call: str, u: Op, count: int) -> tuple[Axis, Axis, Axis]:
    """The axes of the recurrent weights: gates, hidden, hidden before."""
    if u.rank != 3 or u.axes[0].length != count or u.axes[1].length != u.axes[2].length:
        raise AxesError(
            f"{call}: the recurrent weights are {u.type!r}",
            where=user_line(),
            do=f"give three axes: {count} gates, hidden, and another of the same length for the state before",
        )
    return u.axes[0], u.axes[1], u.axes[2]


def _recurrent(call: str, u: Op, h: Op) -> Op:
    """The recurrent weights times a state, over the axis of the state before."""
    hidden, before = u.axes[-2], u.axes[-1]
    if hidden not in h.axes:
        raise UnmatchedAxesError(f"{call}: the state {h.type!r} lacks the axis {hidden!r}", where=user_line())
    return dot(map_roles(h, {str(hidden.name): str(before.name)}), u)


def _gate(z: Op, gates: Axis, number: int) -> Op:
    return z[_part(z.axes, gates, number)]


def _part(axes: Axes, gates: Axis, which: int | slice) -> tuple[int | slice, ...]:
    return tuple(which if a.name == gates.name else slice(None) for a in axes)
