# SPDX-License-Identifier: Apache-2.0
"""Numbers in expressions on a GPU: a kernel is told them, as on the CPU, so that others share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.terms.op import Op

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda


def a_map(c: float) -> tuple[Op, list[Op]]:
    x = ng.placeholder((9,), "float32")
    return semi.tanh(x * c) + c * 3, [x]


def a_map_of_halves(c: float) -> tuple[Op, list[Op]]:
    x = ng.placeholder((9,), "float16")
    return semi.maximum(x * 1.1, c), [x]


def a_map_of_doubles(c: float) -> tuple[Op, list[Op]]:
    x = ng.placeholder((9,), "float64")
    return x / (c + 1.3) - c, [x]


def rows(c: float) -> tuple[Op, list[Op]]:
    x = ng.placeholder((3, 7), "float32")
    root = semi.sqrt(semi.sum(x * x, axes=(1,)) + c)
    return semi.divide(x, semi.broadcast(root, (3, 7), (0,))) * (c + 1.1), [x]


def a_product(c: float) -> tuple[Op, list[Op]]:
    x, y = ng.placeholder((6, 5), "float32"), ng.placeholder((5, 7), "float32")
    return semi.maximum(semi.dot(x, y) * c, 0.01), [x, y]


@pytest.mark.parametrize("build", [a_map, a_map_of_halves, a_map_of_doubles, rows, a_product], ids=lambda b: b.__name__)
def test_graphs_that_differ_in_a_number_share_their_kernels(build: Callable[[float], Any]) -> None:
    found = []
    for number in (0.3, 1.7, 1e-3):
        term, inputs = build(number)
        random = np.random.default_rng(1)
        arrays = [random.normal(size=[int(n) for n in x.shape]).astype(x.dtype) for x in inputs]
        with ng.make_transformer("cuda") as transformer:
            computation = transformer.computation(term, *inputs)
            result = np.asarray(computation(*arrays))
            found.append(computation.stats()["kernels"])
        with ng.make_transformer("reference") as transformer:
            wanted = np.asarray(transformer.computation(term, *inputs)(*arrays))
        assert_allclose(result.astype("float64"), wanted.astype("float64"), rtol=1e-5, atol=1e-6)
    assert found == [found[0]] * len(found)
