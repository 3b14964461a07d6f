# SPDX-License-Identifier: Apache-2.0
"""Names of rules and of classes of rules, as callers give them: one, or several."""

from __future__ import annotations

from collections.abc import Iterable

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.rewriting.rule import CLASSES
from ngraph_rewrite.terms.info import user_line


def given_names(names: Iterable[str] | str, said: str) -> tuple[str, ...]:
    """One name, or several; `said` is what the caller calls them.

    Raises:
        ArgumentError: for anything else.

    >>> given_names("semi.add_zero", "both_ways"), given_names(["a", "b"], "both_ways")
    (('semi.add_zero',), ('a', 'b'))
    """
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (None,)
    if not all(isinstance(name, str) for name in found):
        raise ArgumentError(f"{said} is {names!r}", where=user_line(), do="give a name, or several")
    return found


def given_classes(classes: Iterable[str] | str) -> tuple[str, ...]:
    """Classes of rules, if there are such.

    Raises:
        ArgumentError: if there are not.

    >>> given_classes("exact"), given_classes(["exact", "real"])
    (('exact',), ('exact', 'real'))
    """
    found = given_names(classes, "classes")
    if not set(found) <= set(CLASSES):
        raise ArgumentError(f"{found} are not all classes of rules", where=user_line(), do=f"any of {CLASSES}")
    return found
