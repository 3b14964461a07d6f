# SPDX-License-Identifier: Apache-2.0
"""A graph that the planner has rebuilt, and how it makes terms of it: they stand where others stood."""

from __future__ import annotations

from typing import Any, NamedTuple

from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op


class Changed(NamedTuple):
    """A graph, and the terms of the graph before that new ones stand for."""

    roots: list[Op]
    order: list[Op]
    origins: dict[Op, Op]


def made_like(definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], like: Op) -> Op:
    """A term that stands where another one does."""
    attrs, type_ = definition.infer(tuple([a.type for a in args]), attrs)
    return Op(definition, args, attrs, type_, like.info)
