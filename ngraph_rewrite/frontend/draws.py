# SPDX-License-Identifier: Apache-2.0
"""Random draws of a step: numbers for all its times are drawn at once, before the first, and each time gets its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from ngraph_rewrite.frontend.steps import parameter, with_axes
from ngraph_rewrite.terms.below import topological_where
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.types.axes import Axes, Axis, anonymous


class Drawn(NamedTuple):
    """What a step gives, without its draws.

    Attributes:
        results: What it gives, with a parameter in the place of each draw.
        draws: What is drawn at all times, along an axis that comes first.
        parameters: What stands for the draws of one time.
    """

    results: list[Op]
    draws: list[Op]
    parameters: list[Op]


def drawn_before(results: Sequence[Op], mark: object, times: Axis | None) -> Drawn:
    """The results of a step without what it draws. Draws of an op that does not say its shape are left in place.

    Args:
        mark: The scope in which the step was built.
        times: The axis of its times, with a name if slices have names; None for what is done but once, whose draws
            have no names.
    """
    order = topological_where(results, lambda found: found.draws)
    found = [t for t in order if mark in t.info.scope and _is_movable(t)]
    inner = [_inside(draw, times) for draw in found]
    parameters = [parameter(f"draw{i}", axes, t) for i, (axes, t) in enumerate(zip(inner, found, strict=True))]
    shown = {draw: with_axes(p, draw.axes) for draw, p in zip(found, parameters, strict=True)}
    draws = [_at_all(draw, times, axes) for draw, axes in zip(found, inner, strict=True)]
    return Drawn(substituted(results, shown, order=order) if found else list(results), draws, parameters)


def _is_movable(term: Op) -> bool:
    names = term.definition.attributes
    return "draw" in term.definition.traits and not term.args and "uid" in names and _extent_name(term) in names


def _extent_name(draw: Op) -> str:
    """The attribute that says how many numbers it draws."""
    return "shape" if "shape" in draw.definition.attributes else "axes"


def _inside(draw: Op, times: Axis | None) -> Axes:
    """The axes of what stands for a draw: its own, if slices can have these."""
    if times is None or times.name is None:
        return anonymous(draw.shape)
    if draw.axes.named and draw.axes.find(times.name) is None:
        return draw.axes
    return Axes([Axis(name, n) for name, n in zip(_new_names((times.name,)), draw.shape, strict=False)])


def _at_all(draw: Op, times: Axis | None, inside: Axes) -> Op:
    """The same draw for all times, with the axes that a sequence has."""
    if times is None:
        return with_axes(draw, inside)
    first = _first(draw, times)
    more = (first.length, *draw.shape) if _extent_name(draw) == "shape" else (first, *draw.axes)
    attributes = dict(zip(draw.definition.attributes, draw.attrs, strict=True))
    every = build(draw.definition, (), **{**attributes, "uid": Uid(), _extent_name(draw): more})
    info = draw.info._replace(scope=every.info.scope)  # the line, and what else is known of it, is that of the draw
    every = Op(every.definition, (), every.attrs, every.type, info)
    return with_axes(every, Axes((times, *inside)))


def _first(draw: Op, times: Axis) -> Axis:
    """The axis of times as the family of the draw has it, which may need another name."""
    if draw.definition.kin != "axes":
        return anonymous((times.length,))[0]
    free = times.name is not None and draw.axes.find(times.name) is None
    return times if free else Axis(next(_new_names(draw.axes.names)), times.length)


def _new_names(taken: Sequence[str]) -> Iterator[str]:
    return (name for k in count() if (name := f"drawn{k}") not in taken)
