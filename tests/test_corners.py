# SPDX-License-Identifier: Apache-2.0
"""Where the argument of a large ramp was zero is told by the signs of zeros of its value, where nobody sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.plan import narrowing, plan
from ngraph_rewrite.plan.changed import Changed
from ngraph_rewrite.plan.corners import with_corners
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

SPECIAL = [-np.inf, -2.0, -1e-45, -0.0, 0.0, 1e-45, 2.0, np.inf, np.nan]
Built = tuple[list[Op], list[Op]]  # placeholders, and what is asked for
ramps = st.sampled_from([ng.relu, lambda z: ng.maximum(z, 0), lambda z: ng.maximum(0.0, z)])
drawn = settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(narrowing, "LARGE", 1)


def network(
    widths: list[int], ramp: Callable[[Op], Op], more: Callable[[Op], Op] | None = None, dtype: str = "float32"
) -> Built:
    """The loss of some layers and its gradients; and something that is made of what the first ramp gives."""
    axes = [ng.Axis(f"A{i}", n) for i, n in enumerate(widths)]
    x = ng.placeholder([ng.Axis("N", 6), axes[0]], dtype)
    weights = [ng.placeholder(pair, dtype) for pair in zip(axes, axes[1:], strict=False)]
    layers = [x]
    for w in weights:
        layers.append(ramp(ng.dot(layers[-1], w)))
    loss = ng.sum(ng.square(layers[-1]), out_axes=())
    returns = [loss, *ng.deriv(loss, weights)]
    return [x, *weights], returns + ([] if more is None else [more(layers[1])])


def computed(target: str, built: Built, arrays: list[Any]) -> list[Any]:
    inputs, returns = built
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(returns, *inputs)
        return [np.array(found) for found in computation(*arrays)]


def lowered(built: Built) -> list[Op]:
    """What a planner is given."""
    found: list[Op] = []
    inputs, _ = built

    def note(roots: Any, order: Any) -> Changed:
        found.extend(roots)
        return with_corners(roots, order)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "with_corners", note)
        computed("cpu", built, [np.zeros(x.shape, np.float32) for x in inputs])
    return found


def changed(built: Built) -> Changed:
    roots = lowered(built)
    return with_corners(roots, topological(roots))


def names(roots: list[Op]) -> list[str]:
    return [term.definition.name for term in topological(roots)]


@drawn
@given(
    st.lists(st.integers(1, 5), min_size=3, max_size=5),
    ramps,
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 99),
    st.lists(st.sampled_from(SPECIAL), max_size=3),
)
def test_a_step_is_to_the_bit_what_it_is_with_corners_kept_apart(
    widths: list[int], ramp: Callable[[Op], Op], dtype: str, seed: int, special: list[float]
) -> None:
    """Small integers, so that there are corners; among them whatever there may be."""
    built, random = network(widths, ramp, dtype=dtype), np.random.default_rng(seed)
    arrays = [random.integers(-1, 2, x.shape).astype(dtype) for x in built[0]]
    for number in special:
        arrays[0].flat[random.integers(arrays[0].size)] = number
    compare(built, arrays)


def compare(built: Built, arrays: list[Any]) -> None:
    """What is computed, with what is where corners are kept apart, and with what it means."""
    found = computed("cpu", built, arrays)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "with_corners", lambda roots, order: Changed([*roots], [*order], {}))
        kept = computed("cpu", built, arrays)
    for one, two, three in zip(found, kept, computed("reference", built, arrays), strict=True):
        np.testing.assert_array_equal(one, two)
        if one.dtype != bool:
            np.testing.assert_array_equal(np.signbit(one) & (one == 0), np.signbit(two) & (two == 0))
        np.testing.assert_allclose(one, three, rtol=1e-5)


@pytest.mark.parametrize("channels", [3, 16])
def test_so_it_is_between_convolutions(channels: int) -> None:
    c, k, m, h, w, n = (ng.Axis(a, s) for a, s in zip("CKMHWN", (channels, 16, 5, 8, 9, 4), strict=True))
    r, s = ng.Axis("R", 3), ng.Axis("S", 3)
    x = ng.placeholder([c, h, w, n])
    first, second = ng.placeholder([c, r, s, k]), ng.placeholder([k, r, s, m])
    inner = ng.cast_axes(ng.convolution(x, first, padding=1), [k, h, w, n])
    outer = ng.convolution(ng.relu(inner), second, padding=1)
    loss = ng.sum(ng.square(outer), out_axes=())
    built = [x, first, second], [loss, *ng.deriv(loss, [first, second])]
    assert "semi.signbit" in names(changed(built).roots)
    random = np.random.default_rng(0)
    compare(built, [random.integers(-1, 2, one.shape).astype(np.float32) for one in built[0]])


def test_neither_arguments_nor_places_are_in_memory() -> None:
    """Of three layers, the last of which nothing multiplies, so that its argument is asked at once."""
    built = network([4, 5, 6, 3], ng.relu)
    made = changed(built)
    assert names(made.roots).count("semi.signbit") == 2
    assert names(made.roots).count("semi.maximum") == 1
    assert names(lowered(built)).count("semi.maximum") == 3


@pytest.mark.parametrize(
    "more",
    [lambda h: h, lambda h: 1 / h, lambda h: ng.sum(h, out_axes=()), lambda h: ng.exp(ng.sum(h, "N"))],
    ids=["itself", "reciprocal", "sum", "rows"],
)
def test_where_the_sign_of_a_zero_may_be_seen_it_stays(more: Callable[[Op], Op]) -> None:
    made = changed(network([4, 5, 6, 3], ng.relu, more))
    assert names(made.roots).count("semi.signbit") == 1
    assert names(made.roots).count("semi.maximum") == 2


def test_a_nan_keeps_its_sign() -> None:
    """Products hand it on, and one may ask for it."""
    x, w, v = (ng.placeholder([2, 2]) for _ in range(3))
    z = ng.numpy.matmul(x, w)
    built = [x, w, v], [ng.numpy.signbit(ng.numpy.matmul(ng.numpy.maximum(z, 0), v)), ng.numpy.equal(z, 0)]
    assert "semi.select" in names(changed(built).roots)
    given = [np.array(a, np.float32) for a in ([[np.inf, np.inf], [1, 1]], [[1, 1], [-1, 1]], np.ones((2, 2)))]
    compare(built, given)


def test_a_ramp_is_explained_as_it_would_be() -> None:
    """By the kernel of the product, which computes all parts of it."""
    inputs, returns = network([4, 5, 6, 3], ng.relu)
    ramp = next(t for t in topological(returns) if t.definition.name == "axes.relu")
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(returns, *inputs)
        computation(*[np.zeros(x.shape, np.float32) for x in inputs])
        told = str(computation.explain(ramp))
    assert "computed by gemm" in told and "in registers" not in told


def test_other_corners_stay_where_they_are() -> None:
    """At one, of what is asked of besides, and in what is small."""
    high = network([4, 5, 6], lambda z: ng.maximum(z, 1.0))
    both = network([4, 5, 6], lambda z: ng.relu(z) + ng.tanh(z))
    for built in (high, both):
        roots = lowered(built)
        assert with_corners(roots, topological(roots)).roots == roots


def test_numbers_that_are_small_have_nothing_to_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    roots = lowered(network([4, 5, 6, 3], ng.relu))
    monkeypatch.setattr(narrowing, "LARGE", 1 << 22)
    assert with_corners(roots, topological(roots)).roots == roots
