# SPDX-License-Identifier: Apache-2.0
"""A graph as calls: each op one line, its value numbered, with its type and the line that built it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe


def call_names(terms: Iterable[Op]) -> dict[Op, str]:
    """What each term is called in calls: ``%`` and its own name where that is free, else a number.

    >>> from ngraph_rewrite.frontend.axes import variable
    >>> a, b, c = variable([], name="x"), variable([], name="x"), variable([])
    >>> list(call_names([a, b, c]).values())
    ['%x', '%1', '%2']
    """
    names: dict[Op, str] = {}
    taken: set[str] = set()
    numbered = 0
    for term in terms:
        name = f"%{term.name}"
        if term.name is None or name in taken or term.name.isdigit():
            numbered += 1
            name = f"%{numbered}"
        taken.add(name)
        names.setdefault(term, name)
    return names


def call_line(term: Op, names: Mapping[Op, str]) -> str:
    """``%3: float32[N, H] = axes.dot(%1, %2)  # model.py:12``.

    Args:
        names: What terms are called; one that is not in it is shown as an expression.

    >>> from ngraph_rewrite.frontend.axes import constant, exp
    >>> call_line(exp(constant(1.5)), {}).partition("  #")[0]
    '_: float32[] = axes.exp(1.5)'
    """
    inside = [names.get(arg) or describe(arg, 2) for arg in term.args]
    inside += [f"{k}={_shown(v)}" for k, v in term.attributes.items() if not _identity(v)]
    place = f"  # {Path(term.filename).name}:{term.lineno}" if term.lineno else ""
    text = f"{names.get(term, '_')}: {term.type!r} = {term.definition.name}({', '.join(inside)}){place}"
    return " ".join(text.split("\n"))


def _identity(value: object) -> bool:
    """Whether it only tells a term from others: a uid, or several."""
    return isinstance(value, Uid) or (isinstance(value, tuple) and bool(value) and all(map(_identity, value)))


def _shown(value: object) -> str:
    """An attribute; a dtype by its name, and nothing that tells only where an object lies in memory."""
    if isinstance(value, tuple):
        inside = [_shown(v) for v in value if not isinstance(v, Uid)]
        return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
    return str(value) if type(value).__module__.startswith("numpy") else repr(value)
