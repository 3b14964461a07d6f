# SPDX-License-Identifier: Apache-2.0
"""Kernels of these tests are kept in one folder for the run."""

import pytest
from running import Runner

from ngraph_rewrite.cache import Cache


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(Cache(tmp_path_factory.mktemp("kernels")))
