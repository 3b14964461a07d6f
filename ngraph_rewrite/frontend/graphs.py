# SPDX-License-Identifier: Apache-2.0
"""Graphs that somebody walks over: what stands below some terms, and what uses one of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms import walking
from ngraph_rewrite.terms.calls import call_line, call_names
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op


def topological(roots: Iterable[Op]) -> list[Op]:
    """Every term reachable from `roots`, arguments first, each once; any depth.

    Raises:
        ArgumentError: for what is no list of terms.

    >>> from ngraph_rewrite.frontend.axes import tanh, variable
    >>> topological([tanh(variable([]))])
    [variable, axes.tanh(variable)]
    """
    return walking.topological(_terms("topological", roots))


def users(term: Op, roots: Iterable[Op]) -> list[Op]:
    """The terms reachable from `roots` that have `term` as an argument.

    Raises:
        ArgumentError: for what is no term, and no list of terms.

    >>> from ngraph_rewrite.frontend.axes import tanh, variable
    >>> w = variable([])
    >>> users(w, [tanh(w)])
    [axes.tanh(variable)]
    """
    (wanted,) = _terms("users", [term])
    return [t for t in walking.topological(_terms("users", roots)) if any(a is wanted for a in t.args)]


def call_descriptions(roots: Iterable[Op]) -> list[str]:
    """A line for every term under `roots`, arguments first.

    Raises:
        ArgumentError: for what is no list of terms.

    >>> from ngraph_rewrite.frontend.axes import tanh, variable
    >>> w = variable({"H": 2}, name="w")
    >>> for line in call_descriptions([tanh(w)]):
    ...     print(line.partition("  #")[0])
    %w: float32[H:2] = core.variable(axes=Axes(H:2), dtype=float32, trainable=True, scratch=False)
    %1: float32[H:2] = axes.tanh(%w)
    """
    order = walking.topological(_terms("call_descriptions", roots))
    names = call_names(order)
    return [call_line(term, names) for term in order]


def listed(call: str, given: Any) -> list[Any]:
    """What a caller gives in any iterable, which a term or a text is not.

    Raises:
        ArgumentError: for anything else.
    """
    if isinstance(given, Op | str | bytes) or not isinstance(given, Iterable):
        raise ArgumentError(f"{call}: {given!r} is no list of terms", where=user_line(), do="write [x, y]")
    return list(given)


def _terms(call: str, given: Any) -> list[Op]:
    found = listed(call, given)
    wrong = [t for t in found if not isinstance(t, Op)]
    if wrong:
        raise ArgumentError(f"{call}: {wrong[0]!r} is no term", where=user_line(), do="ng.as_op makes one of a number")
    return found
