# SPDX-License-Identifier: Apache-2.0
"""What a guard says outright, and no instance would have by itself: lengths longer than the usual ones, numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ngraph_rewrite.rewriting.domain import KNOWN, Domain
from ngraph_rewrite.rewriting.pattern import computed
from ngraph_rewrite.rewriting.rule import Let, Rule, Where
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import DTYPES, DType

# Integers in a text; the longest of the usual lengths, and the longest that an axis is for a guard.
_INTEGER, _USUAL, _LONGEST = re.compile(r"(?<![\w.])\d{1,4}(?![\w.])"), 3, 1024
# What stands in quotes, and what may be meant by it.
_QUOTED, _DTYPES = re.compile(r"'(\w+)'"), {str(d): d for d in DTYPES}
# Where a length is cut into parts, two of them are another case than one.
_PARTS = re.compile("//|%")
# Which element is taken of a tuple.
_PLACES = re.compile(r"(?<=[\w)\]])\[-?\d+\]")
# Numbers in a text, with and without a point, and so many of them; those that constants are filled with anyway.
_NUMBER, _MOST = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\w.])"), 8
_FILLED = (0, 1, 2, -1, 0.5)


def guard_lengths(rule: Rule) -> tuple[int, ...]:
    """The integers in a guard that are longer than the lengths that are tried of every rule, and those after them.

    Where a guard asks for parts of a length there are two.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "-(-x) => x\\n    if x.shape[0] >= 64 or x.rank == 2"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}", "my.rules", "my")
    >>> guard_lengths(rule)
    (64, 65)
    """
    text = "" if rule.guard is None else rule.guard.text
    said = (n for n in map(int, _INTEGER.findall(text)) if _USUAL < n <= _LONGEST)
    parts = 2 if _PARTS.search(text) else 1
    return tuple(dict.fromkeys(n for one in said for n in (one, one + 1, parts * one)))


def attribute_numbers(rule: Rule) -> tuple[float, ...]:
    """Numbers that attributes may have to have: those that stand in a guard and its clauses, and those beside them.

    What the right side makes of attributes may be wrong from a number on that stands in it, too.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "slice(x, starts=a, stops=b, steps=c) => slice(x, starts=a, stops=b, steps=(c[0] // 9,))"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}\\n    if c[0] > 4 and x.rank == 1", "my.rules", "my")
    >>> attribute_numbers(rule)
    (4, 5, 3, 1, 2, 0, 9, 10, 8)
    """
    wheres = [c.expression.text for c in rule.clauses if isinstance(c, Where)]
    made = [*rule.right, *(c.template for c in rule.clauses if isinstance(c, Let))]
    asked = _said([*([] if rule.guard is None else [rule.guard.text]), *wheres])
    built = [
        n
        for n in _said([e.text for template in made if template is not None for e in computed(template)])
        if n > _USUAL
    ]
    return tuple(dict.fromkeys(m for n in (*asked, *built) for m in (n, n + 1, n - 1) if m <= _LONGEST))


def _said(texts: list[str]) -> list[float]:
    """The numbers in expressions, but for the places of what is taken of tuples."""
    return numbers_in(_PLACES.sub("", " ".join(texts)))


def guard_dtypes(rule: Rule) -> tuple[DType, ...]:
    """The dtypes that a guard names: one that few terms have all through, as chance has it.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "-(-x) => x\\n    if x.dtype == 'bfloat16' or x.dtype == 'int8'"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}", "my.rules", "my")
    >>> guard_dtypes(rule)
    (dtype(bfloat16), dtype('int8'))
    """
    words = () if rule.guard is None else dict.fromkeys(_QUOTED.findall(rule.guard.text))
    return tuple(_DTYPES[word] for word in words if word in _DTYPES)


def guard_numbers(rule: Rule) -> tuple[float, ...]:
    """Numbers for the constants of a rule whose guard asks for them: those it says, their negatives, and neighbours.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> equation = "x * constant(value=v, axes=a) => x\\n    if v.scalar is not None and v.scalar > 17"
    >>> rule, = parse_rules(f"simplify semi\\nrule r: {equation}", "my.rules", "my")
    >>> guard_numbers(rule)
    (17, 18, 16, -17, -16, -18)
    """
    if rule.guard is None:
        return ()
    text = " ".join([rule.guard.text, *(c.expression.text for c in rule.clauses if isinstance(c, Where))])
    numbers = numbers_in(text)[:_MOST] if ".scalar" in text else []
    near = dict.fromkeys(n for one in numbers for m in (one, -one) for n in (m, m + 1, m - 1))
    return tuple(n for n in near if n not in _FILLED)


def numbers_in(text: str) -> list[float]:
    """The numbers in a text, without their signs, each once.

    >>> numbers_in("select(x < 2.5, 3, x * 2.5) as float32")
    [2.5, 3]
    """
    return [int(one) if one.isdigit() else float(one) for one in dict.fromkeys(_NUMBER.findall(text))]


def with_numbers(rule: Rule, domain: Domain) -> Domain:
    """The domain, with the numbers that a rule's guard asks constants for."""
    numbers = guard_numbers(rule)
    return replace(domain, numbers=numbers) if numbers else domain


def long_domains(rule: Rule) -> Iterator[Domain]:
    """Domains of lengths that a guard may ask for."""
    found = guard_lengths(rule)
    for one, next_ in zip(found, (*found[1:], *found[:1]), strict=True):
        yield replace(KNOWN, lengths=(one, next_, 2), axes=(Axis("H", one), Axis("W", next_), *KNOWN.axes[2:]))
