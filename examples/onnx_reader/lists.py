# SPDX-License-Identifier: Apache-2.0
"""What a damaged file says in lists and words: it is refused by its name, before anything is computed of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from onnx_reader.table import ModelError

WRONG = "the file is damaged, or what wrote it is at fault: onnx.checker.check_model(model) may say more"


def as_long(many: int, **lists: Any) -> None:
    """Refuses lists of another length. None is no list."""
    for name, own in lists.items():
        if own is not None and len(own) != many:
            raise ModelError(f"{name} has {len(own)} elements, not {many}", do=WRONG)


def below(limit: Any, **numbers: Any) -> None:
    """Refuses numbers that are below 0, or not below a limit, which each may have of its own."""
    for name, own in numbers.items():
        given = np.reshape(np.asarray(own), -1)
        wrong = given[(given < 0) | (given >= limit)]
        if wrong.size:
            raise ModelError(f"{name} has {wrong[0]}, which is none of {np.max(limit)}", do=WRONG)


def among(choices: Iterable[str], **words: Any) -> None:
    """Refuses other words."""
    for name, word in words.items():
        if word not in choices:
            raise ModelError(f"{name} = {word!r} is not supported", do=f"there are {', '.join(choices)}")
