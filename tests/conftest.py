# SPDX-License-Identifier: Apache-2.0
"""One cache folder for all tests of a run, so that each kernel is compiled once, and the user's is left alone."""

import os
import tempfile
from pathlib import Path

import pytest

VARIABLE = "NGRAPH_REWRITE_CACHE"
collect_ignore = ["extension_package"]  # a package of a third party: it runs where it is installed


def pytest_configure(config: pytest.Config) -> None:
    if VARIABLE not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="ngraph_rewrite-tests-")
        config.add_cleanup(folder.cleanup)
        os.environ[VARIABLE] = folder.name


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, used instead of the shared one."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"
