# SPDX-License-Identifier: Apache-2.0
"""Operators that hold graphs, sequences and options. Sequences are lists while a model is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.arrangement import cut_along
from onnx_reader.table import ModelError, NotKnown, Value, is_term, known_length, op, space, term


@op("If")
def choose(condition: Value, *, then_branch: Any, else_branch: Any) -> tuple[Value, ...]:
    """One branch; which one, a call says by ``ng.cond`` if the condition is computed by the model."""
    if not is_term(condition):
        return (then_branch if condition.reshape(()) else else_branch)()
    uses = then_branch.uses() | else_branch.uses()

    def branch(body: Any) -> Callable[..., tuple[ng.Op, ...]]:
        return lambda *terms: _tensors(body.seeing(dict(zip(uses, terms, strict=True)))())

    try:
        found = ng.cond(ng.numpy.reshape(condition, ()), branch(then_branch), branch(else_branch), *uses.values())
    except NotKnown:
        raise
    except (ng.AxesError, ModelError) as error:  # a branch may be for other inputs than these
        raise NotKnown(f"the condition is computed by the model, and {error.what}", condition) from error
    return tuple(found)


def _tensors(values: tuple[Value, ...]) -> tuple[ng.Op, ...]:
    if any(v is None or isinstance(v, list) for v in values):
        raise ng.AxesError("a branch gives what is no tensor")
    return tuple(map(term, values))


@op("Loop")
def loop(count: Value, condition: Value, *states: Value, body: Any) -> tuple[Value, ...]:
    """As many copies of the body as there are steps; if values say how many, a loop that runs until then."""
    unknown = count
    if count is None and condition is None:
        raise ModelError("a loop without a number of steps and without a condition never ends")
    if not is_term(count):
        try:
            return _copies(count, condition, states, body)
        except NotKnown as error:
            unknown = error.value
    try:
        return _repeated(count, condition, states, body)
    except (NotKnown, ng.AxesError, ng.DTypeError) as error:
        what = f"how many steps a loop takes is computed by the model, and cannot be: {error.what}"
        raise NotKnown(what, unknown) from error


def _copies(count: Value, condition: Value, states: Sequence[Value], body: Any) -> tuple[Value, ...]:
    """Without a condition what the body says about going on counts for nothing."""
    state, outputs, step, now = list(states), [], 0, np.asarray(True) if condition is None else condition
    while (count is None or step < int(np.reshape(count, ()))) and _goes_on(now):
        said, *found = body(np.asarray(step), now, *state)
        now = now if condition is None else said
        state = found[: len(states)]
        outputs.append(found[len(states) :])
        step += 1
    if not outputs and body.results > 1 + len(state):
        return (*state, *map(_no_steps, body(np.asarray(0), now, *state)[1 + len(state) :]))
    return (*state, *(space(*one).stack(one) for one in zip(*outputs, strict=True)))


def _no_steps(one: Value) -> Value:
    """What there is of a value of each step, such as this, if there are none."""
    return space(one).zeros((0, *one.shape), dtype=one.dtype)


def _goes_on(condition: Value) -> bool:
    if is_term(condition):
        what = "whether a loop goes on is computed by the model, and has to be known while it is read"
        raise NotKnown(what, condition)
    return bool(np.reshape(condition, ()))


def _repeated(count: Value, condition: Value, states: Sequence[Value], body: Any) -> tuple[Value, ...]:
    """A loop whose states are tensors, and which puts nothing side by side: how much that is nobody knows before."""
    if body.results > 1 + len(states) or any(s is None or isinstance(s, list) for s in states):
        raise ng.AxesError("it gives outputs of each step, or its states are no tensors")
    last = None if count is None else ng.numpy.reshape(term(count), ())

    def more(now: Any) -> ng.Op:
        return now[1] if last is None else now[1] & (now[0] < last)

    def step(now: Any) -> tuple[ng.Op, ...]:
        flag, *after = body(*now)
        flag = np.True_ if condition is None else flag
        return (now[0] + 1, ng.numpy.reshape(term(flag), ()), *map(term, after))

    first = np.True_ if condition is None else ng.numpy.reshape(term(condition), ())
    start = (np.int64(0), first, *map(term, states))
    return tuple(ng.while_loop(more, step, start, None if is_term(count) else _limit(count))[2:])


def _limit(count: Value) -> int | None:
    """After how many steps a loop ends, unless that is a number which only says that it need not."""
    return None if count is None or count.item() >= 2**31 - 1 else int(count.item())


@op("Scan", since=9)
def scan(
    *values: Value, body: Any, num_scan_inputs: int, scan_input_axes: Any = None, scan_input_directions: Any = None,
    scan_output_axes: Any = None, scan_output_directions: Any = None,
) -> tuple[Value, ...]:  # fmt: skip
    """States go from step to step; what the steps see are slices, and what they give is put side by side."""
    split = len(values) - num_scan_inputs
    axes, back = scan_input_axes or [0] * num_scan_inputs, scan_input_directions or [0] * num_scan_inputs
    moved = [np.moveaxis(term(v), a, 0) for v, a in zip(values[split:], axes, strict=True)]
    moved = [np.flip(v, 0) if b else v for v, b in zip(moved, back, strict=True)]

    def step(before: tuple[ng.Op, ...], now: tuple[ng.Op, ...]) -> tuple[tuple[ng.Op, ...], tuple[ng.Op, ...]]:
        found = tuple(map(term, body(*before, *now)))
        return found[:split], found[split:]

    final, outputs = ng.numpy.scan(step, tuple(map(term, values[:split])), tuple(moved))
    axes, back = scan_output_axes or [0] * len(outputs), scan_output_directions or [0] * len(outputs)
    turned = [np.flip(v, 0) if b else v for v, b in zip(outputs, back, strict=True)]
    return (*final, *(np.moveaxis(v, 0, a) for v, a in zip(turned, axes, strict=True)))


# -- sequences --------------------------------------------------------------------------------------------


@op("SequenceConstruct")
def sequence(*values: Value) -> tuple[list[Value]]:
    return (list(values),)


@op("SequenceEmpty")
def sequence_empty(*, dtype: int = 1) -> tuple[list[Value]]:
    return ([],)


@op("SequenceAt", known="place")
def sequence_at(values: list[Value], place: Value) -> Value:
    return values[int(np.reshape(place, ()))]


@op("SequenceInsert", known="place")
def sequence_insert(values: list[Value], value: Value, place: Value = None) -> tuple[list[Value]]:
    found = list(values)
    found.insert(len(values) if place is None else int(np.reshape(place, ())), value)
    return (found,)


@op("SequenceErase", known="place")
def sequence_erase(values: list[Value], place: Value = None) -> tuple[list[Value]]:
    gone = (-1 if place is None else int(np.reshape(place, ()))) % len(values)
    return ([v for i, v in enumerate(values) if i != gone],)


@op("SequenceLength")
def sequence_length(values: list[Value]) -> Value:
    return np.asarray(len(values))


@op("SequenceMap")
def sequence_map(values: list[Value], *more: Value, body: Any) -> tuple[list[Value], ...]:
    each = [body(v, *(m[i] if isinstance(m, list) else m for m in more)) for i, v in enumerate(values)]
    return tuple(map(list, zip(*each, strict=True))) if each else ([],) * body.results


@op("SplitToSequence", known="parts")
def split_to_sequence(x: Value, parts: Value = None, *, axis: int = 0, keepdims: int = 1) -> tuple[list[Value]]:
    each = np.asarray(1) if parts is None else parts
    n = 0 if each.ndim else known_length(x.shape[axis], "what is split")
    lengths = each.tolist() if each.ndim else [min(int(each), n - k) for k in range(0, n, int(each))]
    found = cut_along(x, axis, lengths)
    return ([np.squeeze(v, axis) for v in found] if parts is None and not keepdims else found,)


@op("ConcatFromSequence")
def concat_from_sequence(values: list[Value], *, axis: int, new_axis: int = 0) -> Value:
    there = space(*values)
    return there.stack(values, axis=axis) if new_axis else there.concatenate(values, axis=axis)


# -- options ----------------------------------------------------------------------------------------------


@op("Optional")
def optional(value: Value = None, *, type: Any = None) -> tuple[Value]:
    return (value,)


@op("OptionalHasElement")
def has_element(value: Value = None) -> Value:
    return np.asarray(value is not None)


@op("OptionalGetElement")
def get_element(value: Value) -> tuple[Value]:
    if value is None:
        raise ModelError("an option is empty")
    return (value,)
