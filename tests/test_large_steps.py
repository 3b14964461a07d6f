# SPDX-License-Identifier: Apache-2.0
"""Steps of training with large activations: each is in memory once, and its gradient takes its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.plan.narrowing import LARGE
from ngraph_rewrite.terms.op import Op

Array = np.ndarray[Any, Any]
WIDTHS = (32, 512, 512, 8)
BATCH = LARGE // (512 * 4)  # an activation is just large


def step(target: str, arrays: list[Array], **options: Any) -> tuple[list[Array], dict[str, Any]]:
    """The loss and what weights are after a step, and the figures of the call."""
    x, *weights = arrays
    axes = [ng.Axis(name, n) for name, n in zip("ABCD", WIDTHS, strict=True)]
    given = ng.placeholder([ng.Axis("N", len(x)), axes[0]])
    pairs = [axes[i : i + 2] for i in range(3)]
    variables = [ng.variable(a, initial_value=w) for a, w in zip(pairs, weights, strict=True)]
    term: Op = given
    for w in variables[:-1]:
        term = ng.relu(ng.dot(term, w))
    loss = ng.sum(ng.square(ng.dot(term, variables[-1])), out_axes=())
    slopes = ng.deriv(loss, variables)
    doing = ng.doall([ng.assign(w, w - 0.01 * d) for w, d in zip(variables, slopes, strict=True)])
    with ng.make_transformer(target, **options) as transformer:
        computation = transformer.computation([loss, doing], given)
        found = np.array(computation(x)[0])
        return [found, *(computation.value(w) for w in variables)], computation.stats()


def drawn(batch: int) -> list[Array]:
    """Inputs, some of which are zeros, which meet the corner of ramps; and weights."""
    random = np.random.default_rng(0)
    x = random.normal(size=(batch, WIDTHS[0]))
    x[::7] = 0
    weights = [random.normal(size=(a, b)) / a for a, b in zip(WIDTHS, WIDTHS[1:], strict=False)]
    weights[1][:, 5] = 0  # everything is at a corner there
    return [a.astype(np.float32) for a in (x, *weights)]


def test_two_activations_are_all_that_is_large() -> None:
    """Of where the arguments of ramps were zero a byte is kept for each number; workspace is the rest.

    That is the largest gradient of weights in two parts, and below 5 MB more.
    """
    arrays = drawn(BATCH)
    _, stats = step("cpu", arrays)
    assert stats["arena_bytes"] < LARGE * (2 + 2 / 4) + 2 * (512 * 512 * 4) + 5_000_000


@pytest.mark.parametrize("batch", [BATCH, 16])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_step_is_what_it_means(batch: int, threads: int) -> None:
    """Large or not: weights are read before they are overwritten, and corners have half a slope."""
    arrays = drawn(batch)
    found, _ = step("cpu", arrays, threads=threads)
    wanted, _ = step("reference", arrays)
    for one, two in zip(found, wanted, strict=True):
        assert_allclose(one, two, rtol=2e-4, atol=2e-5)


def test_numbers_that_are_asked_for_are_kept() -> None:
    """What a ramp was given is a result too."""
    x, w, _, _ = drawn(BATCH)
    given, weight = ng.placeholder([BATCH, WIDTHS[0]]), ng.placeholder(list(w.shape))
    inner = ng.numpy.matmul(given, weight)
    loss = ng.numpy.sum(ng.numpy.square(ng.numpy.maximum(inner, 0)))
    returns = [loss, inner, *ng.deriv(loss, [weight])]
    found = {}
    for target in ("cpu", "reference"):
        with ng.make_transformer(target) as transformer:
            found[target] = transformer.computation(returns, given, weight)(x, w)
    for one, two in zip(found["cpu"], found["reference"], strict=True):
        assert_allclose(one, two, rtol=2e-4, atol=1e-4)
