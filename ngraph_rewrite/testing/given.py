# SPDX-License-Identifier: Apache-2.0
"""What a test gives to a check: anything else is told at the line of the test, and is no failure of what is checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.rewriting.rule import CLASSES, Rule, RuleSet
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.lengths import Length


def check_count(examples: object) -> None:
    """Whether it is a number of examples.

    Raises:
        ArgumentError: if it is none, or nothing would be looked at.
    """
    if isinstance(examples, bool) or not isinstance(examples, int) or examples < 1:
        raise ArgumentError(f"examples is {examples!r}", where=_line(), do="give an integer of at least 1")


def check_class(grade: object) -> None:
    """Whether it is the class of a rule.

    Raises:
        ArgumentError: if it is not.
    """
    if grade not in CLASSES:
        raise ArgumentError(f"no class is called {grade!r}", where=_line(), do=f"choose among {', '.join(CLASSES)}")


def check_terms(call: str, given: object) -> None:
    """Whether they are terms.

    Raises:
        ArgumentError: for the first that is none, or for what is no list.
    """
    if isinstance(given, Op | str) or not isinstance(given, Iterable):
        raise ArgumentError(f"{call}: {given!r} is no list of terms", where=_line(), do="write [x, y]")
    for one in given:
        if not isinstance(one, Op):
            raise ArgumentError(f"{call}: {one!r} is no term", where=_line(), do="make it with term(...), or ng")


def check_rule_given(given: object) -> None:
    """Whether it is one rule.

    Raises:
        ArgumentError: if it is not.
    """
    if not isinstance(given, Rule):
        what = "a set of rules" if isinstance(given, RuleSet) else repr(given)
        raise ArgumentError(f"{what} is not a rule", where=_line(), do="give each rule of a set")


def check_calls(call: str, arguments: Mapping[Op, Sequence[Any]]) -> None:
    """Whether each placeholder has as many arguments as the others, of its rank and of the lengths that are known.

    Raises:
        ArgumentError: if one has not.
    """
    check_terms(call, arguments)
    counts = {p: len(arrays) if isinstance(arrays, list | tuple) else -1 for p, arrays in arguments.items()}
    for placeholder, arrays in arguments.items():
        if counts[placeholder] != max(counts.values()) or counts[placeholder] < 0:
            do = "give each placeholder a list with one array for each call"
            raise ArgumentError(f"{call}: {placeholder!r} has {arrays!r}", where=_line(), do=do)
        for array in arrays:
            check_shape(call, placeholder, array)


def check_given(call: str, placeholders: Iterable[Op], given: Iterable[Op]) -> None:
    """Whether all placeholders that there are have arguments.

    Raises:
        ArgumentError: for one that has none.
    """
    known = {placeholder.attribute("uid") for placeholder in given}
    for placeholder in placeholders:
        if placeholder.attribute("uid") not in known:
            do = "give it a list with one array for each call"
            raise ArgumentError(f"{call}: {placeholder!r} has no arguments", where=_line(), do=do)


def check_shape(call: str, leaf: Op, value: Any) -> None:
    """Whether an array has the rank of a leaf, and its lengths where they are known.

    Raises:
        ArgumentError: if it has not.
    """
    shape = np.shape(value)
    known = [(n, m) for n, m in zip(leaf.shape, shape, strict=False) if not isinstance(n, Length)]
    if len(shape) != leaf.rank or any(n != m for n, m in known):
        do = f"give it an array of type {leaf.type!r}"
        raise ArgumentError(f"{call}: {leaf!r} has a value of shape {shape}", where=_line(), do=do)


def _line() -> str | None:
    """The line of the test; what Hypothesis calls has none."""
    line = user_line()
    return None if f"{os.sep}hypothesis{os.sep}" in line else line
