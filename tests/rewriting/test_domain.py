# SPDX-License-Identifier: Apache-2.0
"""What instances of rules are made of goes with the instance that it was drawn for."""

from __future__ import annotations

from dataclasses import replace
from weakref import ref

import pytest

from ngraph_rewrite.rewriting.domain import KNOWN


@pytest.mark.parametrize("family", ["semi", "numpy", "axes", "simple", "core"])
def test_a_domain_that_nobody_has_any_more_leaves_nothing_behind(family: str) -> None:
    """A check draws thousands, of a hundred types each."""
    domain = replace(KNOWN, lengths=(5, 6, 7))
    assert domain.pool(family) is domain.pool(family)
    assert domain.pool(family) == replace(domain).pool(family) != []
    gone = ref(domain)
    del domain
    assert gone() is None
