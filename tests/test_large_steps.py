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
    x, *weights = arrays[:4]
    axes = [ng.Axis(name, n) for name, n in zip("ABCD", WIDTHS, strict=True)]
    given = ng.placeholder([ng.Axis("N", len(x)), axes[0]])
    pairs = [axes[i : i + 2] for i in range(3)]
    variables = [ng.variable(a, initial_value=w) for a, w in zip(pairs, weights, strict=True)]
    term: Op = given
    for w, b in zip(variables[:-1], arrays[4:], strict=True):
        variables.append(ng.variable([w.axes[1]], initial_value=b))
        term = ng.relu(ng.dot(term, w) + variables[-1])
    loss = ng.sum(ng.square(ng.dot(term, variables[2])), out_axes=())
    slopes = ng.deriv(loss, variables)
    doing = ng.doall([ng.assign(w, w - 0.01 * d) for w, d in zip(variables, slopes, strict=True)])
    with ng.make_transformer(target, **options) as transformer:
        computation = transformer.computation([loss, doing], given)
        found = np.array(computation(x)[0])
        return [found, *(computation.value(w) for w in variables)], computation.stats()


def drawn(batch: int) -> list[Array]:
    """Inputs, some of which are zeros, which meet the corner of ramps; weights, and biases."""
    random = np.random.default_rng(0)
    x = random.normal(size=(batch, WIDTHS[0]))
    x[::7] = 0
    weights = [random.normal(size=(a, b)) / a for a, b in zip(WIDTHS, WIDTHS[1:], strict=False)]
    weights[1][:, 5] = 0  # everything is at a corner there
    biases = [random.integers(-1, 2, 512), np.zeros(512)]
    return [a.astype(np.float32) for a in (x, *weights, *biases)]


def test_two_activations_are_all_that_is_large() -> None:
    """Nothing is kept of where the arguments of ramps were zero, and no gradient waits for its sum over samples.

    Workspace is the rest: the largest gradient of weights in two parts, its update, and below 2 MB more.
    """
    arrays = drawn(BATCH)
    _, stats = step("cpu", arrays)
    assert stats["arena_bytes"] < LARGE * 2 + 3 * (512 * 512 * 4) + 2_000_000


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
    x, w, *_ = drawn(BATCH)
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


def test_what_is_large_does_not_wait_for_its_sum() -> None:
    """Each of a chain of products is gone when the next one but one comes, though sums are asked for in the end."""
    x, w = ng.placeholder([BATCH, WIDTHS[0]]), ng.placeholder([WIDTHS[0], 512])
    square = ng.placeholder([512, 512])
    chain = [ng.numpy.matmul(x, w)]
    for _ in range(3):
        chain.append(ng.numpy.matmul(chain[-1], square))
    sums = [ng.numpy.sum(ng.numpy.square(one), axis=0) for one in reversed(chain)]
    random = np.random.default_rng(0)
    arrays = [random.normal(size=s).astype(np.float32) / 16 for s in ((BATCH, WIDTHS[0]), (WIDTHS[0], 512), (512, 512))]
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(sums, x, w, square)
        found = computation(*arrays)
        assert computation.stats()["arena_bytes"] < 2 * LARGE + 3_000_000
    product = arrays[0].astype(np.float64) @ arrays[1]
    for one in reversed(found):
        assert_allclose(one, np.square(product).sum(0), rtol=2e-4)
        product = product @ arrays[2]
