# SPDX-License-Identifier: Apache-2.0
"""Lengths that a guard asks for, where they are longer than those that are tried of every rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ngraph_rewrite.rewriting.domain import KNOWN, Domain
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.types.axes import Axis

# Integers in a text; the longest of the usual lengths, and the longest that an axis is for a guard.
_INTEGER, _USUAL, _LONGEST = re.compile(r"(?<![\w.])\d{1,3}(?![\w.])"), 3, 128


def guard_lengths(rule: Rule) -> tuple[int, ...]:
    """The integers in a guard that are longer than the lengths that are tried of every rule, and those after them.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "-(-x) => x\\n    if x.shape[0] >= 64 or x.rank == 2"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}", "my.rules", "my")
    >>> guard_lengths(rule)
    (64, 65)
    """
    said = () if rule.guard is None else map(int, _INTEGER.findall(rule.guard.text))
    return tuple(dict.fromkeys(n for one in said if _USUAL < one < _LONGEST for n in (one, one + 1)))


def long_domains(rule: Rule) -> Iterator[Domain]:
    """Domains of lengths that a guard may ask for."""
    found = guard_lengths(rule)
    for one, next_ in zip(found, (*found[1:], *found[:1]), strict=True):
        yield replace(KNOWN, lengths=(one, next_, 2), axes=(Axis("H", one), Axis("W", next_), *KNOWN.axes[2:]))
