# SPDX-License-Identifier: Apache-2.0
"""What the target cuda prefers: samples stay where types have them, and nothing is copied to bring them elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite import simple

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda


@pytest.mark.parametrize("shape", [(simple.N(5), 8), (8, simple.N(5))], ids=["first", "last"])
def test_samples_are_computed_where_they_lie(shape: tuple[object, ...]) -> None:
    x, g, b = simple.placeholder(shape), simple.placeholder((8,)), simple.placeholder((8,))
    y = simple.softmax(simple.layer_norm(x, g, b))
    given = [np.random.default_rng(0).normal(size=tuple(map(int, t.shape))).astype(np.float32) for t in (x, g, b)]
    copies, found = {}, {}
    for place in ("first", "last", None):
        with ng.make_transformer("cuda", sample=place) as transformer:
            computation = transformer.computation(y, x, g, b)
            found[place], copies[place] = computation(*given), computation.stats()["layout_copies"]
    assert copies[None] == 0 and sorted(copies.values()) == [0, 0, 1]
    np.testing.assert_allclose(found["first"], found[None], rtol=1e-6)
    np.testing.assert_allclose(found["last"], found[None], rtol=1e-6)
    assert ng.find_target("cuda").sample == ng.find_target("cuda").recurrent == "any"
