# SPDX-License-Identifier: Apache-2.0
"""What guards may ask of a target, without one: where rules are drawn and checked, and where no target is known."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple


class Everything:
    """A container of all there is: the base set of a target that executes every op."""

    def __contains__(self, item: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "everything"


class Target(NamedTuple):
    """What guards may ask of a target."""

    name: str = "cpu"
    sample: str = "last"
    recurrent: str = "first"
    base: Container[str] = Everything()
    quads: tuple[int, ...] = (1, 1, 1)
    float_pairs: tuple[int, ...] = (1, 1)


TARGETS = (Target(), Target("cuda", "first", "last"), Target("reference", "any", "any"))
