# SPDX-License-Identifier: Apache-2.0
"""Values that are shared: whoever could change one would change it for all that hold it.

A constructor writes by the slots themselves, past `__setattr__`.
"""

from __future__ import annotations

from typing import ClassVar, NoReturn

from ngraph_rewrite.errors import ImmutableError


class Immutable:
    """A base class of what stays as it was made: nothing of it can be set or deleted.

    >>> from ngraph_rewrite.types.axes import Axis
    >>> Axis("H", 3).length = 4
    Traceback (most recent call last):
    ...
    ngraph_rewrite.errors.ImmutableError: an axis is immutable: length of H:3 cannot be set
      make another Axis
    """

    __slots__ = ()
    # What one is called in messages, and what to do instead.
    _called: ClassVar[str]
    _instead: ClassVar[str]

    def __setattr__(self, attribute: str, value: object) -> None:
        raise self._unchanged(attribute, "set")

    def __delattr__(self, attribute: str) -> NoReturn:
        raise self._unchanged(attribute, "deleted")

    def _unchanged(self, attribute: str, done: str) -> ImmutableError:
        what = f"{self._called} is immutable: {attribute} of {self!r} cannot be {done}"
        return ImmutableError(what, do=self._instead)
