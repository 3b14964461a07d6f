# SPDX-License-Identifier: Apache-2.0
"""What a pattern may be: small enough to be compiled or searched for, and each of its names for one kind of thing."""

from __future__ import annotations

from ngraph_rewrite.rewriting.bounds import ORDERS, PATTERN, SEQUENCES, TESTED
from ngraph_rewrite.rewriting.pattern import (
    App,
    Num,
    Pattern,
    SeqVar,
    Var,
    attribute_names,
    restricted,
    subpatterns,
    variables,
)
from ngraph_rewrite.rewriting.reading import Reader
from ngraph_rewrite.types.sorts import SortType


def check_pattern(reader: Reader, pattern: Pattern, kind: str) -> None:
    """Whether a pattern of a file of some kind is small, and says one thing with each name.

    Raises:
        RuleFileError: if it is not so.
    """
    _check_size(reader, pattern)
    if kind == "derive" and "d" in attribute_names(pattern):
        raise reader.error(pattern.span, "`d` is the incoming adjoint and cannot be bound", "use another name")
    both = set(variables(pattern)) & set(attribute_names(pattern))
    if both:
        raise reader.error(pattern.span, f"`{both.pop()}` names a term and an attribute", "use two names")
    parts = list(subpatterns(pattern))
    single = {p.name for p in parts if isinstance(p, Var)}
    for part in parts:
        if isinstance(part, SeqVar) and part.name in single:
            raise reader.error(part.span, f"`{part.name}` stands for one term and for several", "use two names")


def with_sorts(reader: Reader, pattern: Pattern) -> Pattern:
    """The pattern with each variable restricted to its sort wherever it stands.

    Raises:
        RuleFileError: for a variable that is restricted to two sorts.
    """
    found: dict[str, SortType] = {}
    for part in subpatterns(pattern):
        if isinstance(part, Var | SeqVar) and part.sort is not None:
            have = found.setdefault(part.name, part.sort)
            if have != part.sort:
                what = f"`{part.name}` is a {have} and a {part.sort}"
                raise reader.error(part.span, what, "restrict it to one sort")
    return restricted(pattern, found) if found else pattern


def _check_size(reader: Reader, pattern: Pattern) -> None:
    parts = list(subpatterns(pattern))
    tested = [p for p in parts if isinstance(p, App | Num)]
    tests = len(tested) + sum(len(p.compares) for p in tested if isinstance(p, App))
    exchanged = sum(isinstance(p, App) and p.definition.commutative for p in parts)
    if sum(isinstance(p, SeqVar) for p in parts) > SEQUENCES:
        what = f"the left side has more than {SEQUENCES} sequences"
        raise reader.error(pattern.span, what, "match fewer at once, in several rules")
    if len(parts) > PATTERN or tests > TESTED or 1 << exchanged > ORDERS:
        do = "name a part of it, and match that in another rule"
        raise reader.error(pattern.span, "the left side is too large", do)
