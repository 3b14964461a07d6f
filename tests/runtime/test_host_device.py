# SPDX-License-Identifier: Apache-2.0
"""Devices that are none keep the kernels that were asked for last, and no more: all would fill memory in the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.runtime.cuda import host_device


class Kernel(NamedTuple):
    name: str

    def launch(self, blocks: int | tuple[int, int, int], threads: int, fixed: bool, arguments: Sequence[int]) -> None:
        """Nothing is computed."""


class Device(host_device.HostDevice):
    def __init__(self) -> None:
        super().__init__()
        self.made: list[str] = []

    def _made(self, name: str, text: str, cache: Cache) -> Kernel:
        self.made.append(name)
        return Kernel(name)


def test_the_latest_kernels_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(host_device, "RECENT", 2)
    device, cache = Device(), Cache(tmp_path)

    def load(names: str) -> list[str]:
        found = device.load({name: f"text of {name}" for name in names}, cache, 1)
        assert found == {name: Kernel(name) for name in names}
        made, device.made = device.made, []
        return made

    assert load("ab") == ["a", "b"] and load("ab") == []
    assert load("a") == [] and load("c") == ["c"]
    assert load("a") == [] and load("b") == ["b"]
    assert load("abcd") == ["c", "d"]
    assert len(device._functions) == 2
