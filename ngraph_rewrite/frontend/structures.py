# SPDX-License-Identifier: Apache-2.0
"""Structures: terms in tuples, lists and dicts, however deep; what a step takes and gives.

``None`` is a structure without terms. Dicts with the same keys have the same structure, in whatever order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.frontend.building import Operand
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op

# A term, or a tuple, list or dict of structures; None is none.
Structure = Any


def flat(structure: Structure) -> Iterator[Operand]:
    """The terms and numbers in a structure, in order."""
    if isinstance(structure, Mapping):
        structure = list(structure.values())
    if isinstance(structure, tuple | list):
        for part in structure:
            yield from flat(part)
    elif structure is not None:
        yield structure


def like(structure: Structure, terms: Sequence[Op]) -> Structure:
    """The same structure with other terms."""
    left = iter(terms)

    def filled(part: Structure) -> Structure:
        if isinstance(part, Mapping):
            return {key: filled(value) for key, value in part.items()}
        if isinstance(part, tuple | list):
            parts = [filled(p) for p in part]
            return type(part)(*parts) if hasattr(part, "_fields") else type(part)(parts)
        return None if part is None else next(left)

    return filled(structure)


def flat_as(what: str, structure: Structure, other: Structure) -> list[Operand]:
    """The terms and numbers of the other structure, in the order of the first one.

    Args:
        what: The call, and what the other structure is there, in the plural.

    Raises:
        ArgumentError: if the structures differ.

    >>> flat_as("scan: states", {"h": 0, "c": (1, 2)}, {"c": [3, 4], "h": 5})
    [5, 3, 4]
    """
    found = list[Operand]()

    def walk(one: Structure, two: Structure) -> bool:
        if isinstance(one, Mapping):
            return isinstance(two, Mapping) and one.keys() == two.keys() and all(walk(one[k], two[k]) for k in one)
        if isinstance(one, tuple | list):
            alike = isinstance(two, tuple | list) and len(one) == len(two)
            return alike and all(map(walk, one, two))
        if one is None or two is None or isinstance(two, tuple | list | Mapping):
            return one is two is None
        found.append(two)
        return True

    if walk(structure, other):
        return found
    raise ArgumentError(
        f"{what} are {_shown(other)}, not {_shown(structure)}",
        where=user_line(),
        do="return terms in the same tuples, lists and dicts",
    )


def _shown(structure: Structure) -> str:
    """A structure with a star for each term.

    >>> _shown({"h": 0, "c": (1, [None])})
    "{'h': *, 'c': (*, [None])}"
    """
    if isinstance(structure, Mapping):
        return "{" + ", ".join(f"{key!r}: {_shown(part)}" for key, part in structure.items()) + "}"
    if isinstance(structure, tuple | list):
        inside = ", ".join(map(_shown, structure))
        return f"[{inside}]" if isinstance(structure, list) else f"({inside}{',' * (len(structure) == 1)})"
    return "None" if structure is None else "*"
