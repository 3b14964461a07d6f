# SPDX-License-Identifier: Apache-2.0
"""Terms and texts in lines of one width: what explanations are made of."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe

WIDTH = 100
# How many levels of a term are shown at most.
LEVELS = 6


def shown(term: Op) -> str:
    """A term to three levels, and to more where they fit into a line."""
    found = describe(term, 3)
    for depth in range(4, LEVELS + 1):
        deeper = describe(term, depth)
        if len(deeper) > WIDTH - 8:
            break
        found = deeper
    return found


def columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table without lines.

    >>> print(columns(["rule", "is"], [["a.b", "right"]]))
    rule  is
    a.b   right
    """
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def wrapped(begins: str, text: str, width: int = WIDTH) -> list[str]:
    """Text in lines that fit, each after the first indented below its beginning.

    >>> wrapped("  => ", "f(x, y, z)", 12)
    ['  => f(x, y,', '     z)']
    """
    if len(begins) + len(text) <= width and text.isprintable() and text[-1:].strip():
        return [begins + text]
    indent = " " * len(begins)
    return textwrap.wrap(
        text, width, initial_indent=begins, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
