# SPDX-License-Identifier: Apache-2.0
"""What may be given for the name, the length and the roles of an axis."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from ngraph_rewrite.errors import AxesError
from ngraph_rewrite.types.lengths import Extent, Length

# The names ngraph-python reserves: an axis called so has the role unless told otherwise.
ROLES_BY_NAME = {"N": "sample", "REC": "recurrent", "C": "channel"}


def called(name: str | None) -> str:
    """What errors call an axis.

    >>> called("H"), called(None)
    ('axis H', 'an axis')
    """
    return "an axis" if name is None else f"axis {name}"


def checked_name(name: Any) -> str | None:
    """A name that an axis may have.

    Raises:
        AxesError: if it is no string, or empty.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise AxesError(f"an axis name is a non-empty string or None, not {name!r}", do='write Axis("H", 3)')
    return name


def checked_roles(name: str | None, roles: Any) -> frozenset[str]:
    """The roles of an axis; None for those that its name has.

    Raises:
        AxesError: if one is no string.

    >>> checked_roles("N", None), checked_roles("H", "channel")
    (frozenset({'sample'}), frozenset({'channel'}))
    """
    if roles is None:
        return frozenset((ROLES_BY_NAME[name],) if name in ROLES_BY_NAME else ())
    if isinstance(roles, str):
        return frozenset((roles,))
    found = list(roles) if isinstance(roles, Iterable) and not isinstance(roles, np.ndarray) else [roles]
    if not all(isinstance(role, str) for role in found):
        raise AxesError(f"{called(name)} has the roles {roles!r}", do='give a role, or several, as strings: "sample"')
    return frozenset(found)


def checked_length(name: str | None, length: Any) -> Extent:
    """The length of an axis; None, with a name, for one that the first argument shows.

    Raises:
        AxesError: if it is not a non-negative integer.

    >>> checked_length("H", 3), checked_length("N", None)
    (3, N)
    """
    if length is None and name is not None:
        return Length.symbol(name)
    if isinstance(length, Length):
        return length
    try:
        number = None if isinstance(length, bool | np.bool_) else operator.index(length)
    except TypeError:
        number = None
    if number is None:
        raise AxesError(
            f"{called(name)} has length {length!r}", do="a length is a non-negative integer, or None with a name"
        )
    if number > sys.maxsize:
        raise AxesError(f"{called(name)} has the length {length!r}", do="give a length of 64 bits")
    if number < 0:
        raise AxesError(f"{called(name)} has the negative length {length!r}", do="give a length of at least 0")
    return number
