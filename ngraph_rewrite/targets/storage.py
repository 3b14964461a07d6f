# SPDX-License-Identifier: Apache-2.0
"""The arrays of variables, which a device may have newer values of."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from ngraph_rewrite.terms.info import Uid


class Mirror(Protocol):
    """Who else has the variables."""

    def fetch(self) -> None:
        """Bring the arrays up to date."""

    def changed(self) -> None:
        """The arrays were written."""

    def close(self) -> None:
        """They are not needed any more."""


class Storage(dict[Uid, NDArray[Any]]):
    """Arrays by variable; whoever reads or writes them says so, for the sake of a device that has them too.

    Attributes:
        mirror: The variables on a device, if one has them.
    """

    mirror: Mirror | None = None

    def fetch(self) -> None:
        """Bring the arrays up to date, before they are read."""
        if self.mirror is not None:
            self.mirror.fetch()

    def changed(self) -> None:
        """Say that arrays were written."""
        if self.mirror is not None:
            self.mirror.changed()

    def clear(self) -> None:
        """Drop all arrays."""
        if self.mirror is not None:
            self.mirror.close()
            self.mirror = None
        super().clear()
