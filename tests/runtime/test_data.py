# SPDX-License-Identifier: Apache-2.0
"""Rule files and kernel files are found inside the package or beside it."""

from pathlib import Path

import pytest

from ngraph_rewrite import data
from ngraph_rewrite.data import data_folder


@pytest.mark.parametrize("inside", [True, False], ids=["installed", "checkout"])
def test_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: bool) -> None:
    package = tmp_path / "ngraph_rewrite"
    folder = (package if inside else tmp_path) / "rules"
    folder.mkdir(parents=True)
    monkeypatch.setattr(data, "_PACKAGE", package)
    assert data_folder("rules") == folder


def test_the_shipped_folders_are_there() -> None:
    assert data_folder("kernels").is_dir()


def test_neither_place_is_an_error_that_names_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_PACKAGE", tmp_path / "ngraph_rewrite")
    with pytest.raises(FileNotFoundError, match="rules"):
        data_folder("rules")
