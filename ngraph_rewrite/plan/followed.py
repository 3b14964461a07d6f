# SPDX-License-Identifier: Apache-2.0
"""What some rows of a term need of its arguments: the same rows of some, along this axis or that, and all of others.

A term can be cut along an axis if what it has there depends on its arguments there, and on all of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.rewriting.attributes_positions import others
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.tensor import TensorType


class Mixed(Exception):
    """Rows depend on each other, or nothing is known of a term."""


class Step(NamedTuple):
    """How a term has its rows: the axis along which each argument has them, if it does, and attributes that change."""

    axes: tuple[int | None, ...]
    changed: Mapping[str, Any] = {}


def sized(term: Op, axis: int, rows: int, **attributes: Any) -> Op:
    """A source with so many places along an axis, and with other attributes."""
    axes = Axes([a.with_length(rows) if i == axis else a for i, a in enumerate(term.axes)])
    found = dict(zip(term.definition.attributes, term.attrs, strict=True)) | {"axes": axes} | attributes
    return Op(term.definition, (), tuple(found.values()), TensorType(term.dtype, axes), term.info)


def step_of(term: Op, axis: int) -> Step:
    """How a term has rows along an axis.

    Raises:
        Mixed: if rows of it depend on others, or nothing is known of such terms.
    """
    follow = _each if "elementwise" in term.definition.traits else _FOLLOWED.get(term.definition.name)
    if follow is None:
        raise Mixed
    return follow(term, axis)


def _each(term: Op, axis: int) -> Step:
    return Step((axis,) * len(term.args))


def _constant(term: Op, axis: int) -> Step:
    if term.attrs[0].scalar is None:
        raise Mixed
    return Step(())


def _broadcast(term: Op, axis: int) -> Step:
    (x,), dims = term.args, term.attribute("dims")
    inner = dims.index(axis) if axis in dims else None
    repeated = inner is None or x.shape[inner] != term.shape[axis]
    return Step((None if repeated else inner,), {"shape": known(term)})


def _transpose(term: Op, axis: int) -> Step:
    return Step((term.attribute("perm")[axis],))


def _reshape(term: Op, axis: int) -> Step:
    own, given = known(term), known(term.args[0])
    before = prod(own[:axis])
    place = next((i for i, n in enumerate(given) if n == own[axis] and prod(given[:i]) == before), None)
    if place is None:
        raise Mixed
    return Step((place,), {"shape": own})


def _slice(term: Op, axis: int) -> Step:
    starts, stops, steps = (term.attribute(name) for name in ("starts", "stops", "steps"))
    if (starts[axis], stops[axis], steps[axis]) != (0, term.args[0].shape[axis], 1):
        raise Mixed
    return Step((axis,), {"stops": stops})


def _pad(term: Op, axis: int) -> Step:
    if any(term.attribute(name)[axis] for name in ("before", "after", "interior")):
        raise Mixed
    return Step((axis,))


def _beside(term: Op, axis: int) -> Step:
    """Something is done along another axis."""
    if axis == term.attribute("axis") % term.rank:
        raise Mixed
    return _each(term, axis)


def _reduced(term: Op, axis: int) -> Step:
    return Step((others(term.attribute("axes"), term.args[0].rank)[axis],))


def _product(term: Op, axis: int) -> Step:
    """Of matrices, or of as many in each operand."""
    (ta, tb), rows = term.attrs or (False, False), term.rank - 2
    if axis < rows:
        return _each(term, axis)
    return Step((axis + ta, None) if axis == rows else (None, axis - tb))


_FOLLOWED: Mapping[str, Callable[[Op, int], Step]] = {
    "core.constant": _constant,
    "core.strip": _each,
    "semi.broadcast": _broadcast,
    "semi.transpose": _transpose,
    "semi.reshape": _reshape,
    "semi.slice": _slice,
    "semi.pad": _pad,
    **{f"semi.{name}": _beside for name in ("concat", "cumsum", "cumprod", "cummax", "cummin", "sort", "argsort")},
    **{f"semi.{name}": _reduced for name in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")},
    "cpu.gemm": _product,
    "cpu.batch_gemm": _product,
    "cuda.gemm": _product,
    "semi.dot": _product,
    "semi.batch_dot": _product,
}
