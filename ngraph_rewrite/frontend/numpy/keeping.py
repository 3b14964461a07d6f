# SPDX-License-Identifier: Apache-2.0
"""Ops that only go by position, of terms with names or marks: these are aligned first, and the result has them again.

Where an op computes each element by itself, a family that lacks it needs no op of its own: operands that have the same
axes in one order are matched by position as they are by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ngraph_rewrite.frontend.building import apply as build_term
from ngraph_rewrite.frontend.building import checked
from ngraph_rewrite.frontend.numpy.operands import apply
from ngraph_rewrite.frontend.places import plain
from ngraph_rewrite.ops.simple_marks import features
from ngraph_rewrite.terms.catalogue import find
from ngraph_rewrite.terms.op import Op, family_of
from ngraph_rewrite.terms.operands import as_operands, combine
from ngraph_rewrite.types.axes import Axes


def made(short: str, *operands: Any) -> Op:
    """The op called `short` in the family of its operands, or, where that lacks it, by position between their axes.

    Raises:
        FamilyError: if no family has such an op, or operands of two families do not go together.

    >>> import ngraph_rewrite as ng
    >>> h, n = ng.placeholder({"H": 3}, name="h"), ng.placeholder({"N": None}, name="n")
    >>> made("sin", h), made("hypot", h, n).type
    (axes.sin(h), float32[H:3, N:N])
    """
    family = family_of([x for x in operands if isinstance(x, Op)])
    if find(f"{family}.{short}") is not None or find(f"numpy.{short}") is None:
        return combine(short, *operands)
    return by_position(lambda *x: apply(short, *x), short, *operands)


def by_position(function: Callable[..., Op], call: str, *operands: Any) -> Op:
    """What a function of positions, which computes each element by itself, makes of one operand or two; axes stay.

    >>> import ngraph_rewrite as ng
    >>> h = ng.placeholder({"H": 3})
    >>> by_position(ng.numpy.hypot, "hypot", 2.0, h).type
    float32[H:3]
    """
    family = family_of([x for x in operands if isinstance(x, Op) and x.rank])
    terms = [x for x in operands if isinstance(x, Op)]
    numbers = {k: x for k, x in enumerate(operands) if not isinstance(x, Op)}
    given = [x if isinstance(x, Op) else as_operands([*terms, x], family, call)[-1] for x in operands]
    if not any(x.rank for x in given):
        return function(*operands)
    compared = checked(call, combine, "equal", *given) if len(given) == 2 else given[0]
    aligned, axes = compared.args if len(given) == 2 else given, compared.axes
    weak = [numbers[k] if k in numbers and not x.rank else plain(_spread(x, axes)) for k, x in enumerate(aligned)]
    return _labelled(function(*weak), axes)


def _spread(x: Op, axes: Axes) -> Op:
    """A term with all of these axes, in their order; a number stretches by itself."""
    if not x.rank or x.axes == axes:
        return x
    if axes.named:
        return build_term("axes.broadcast", x, axes=axes)
    new = () if features(x.axes) else tuple(range(len(features(axes))))
    return build_term("simple.broadcast", x, axes=axes, new=new)


def _labelled(x: Op, axes: Axes) -> Op:
    return x if x.axes == axes else build_term("core.label", x, axes=axes)
