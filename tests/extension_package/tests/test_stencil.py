# SPDX-License-Identifier: Apache-2.0
"""What the package promises, tested with what `ngraph_rewrite` offers to all."""

from __future__ import annotations

from pathlib import Path

import ngraph_stencil
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ngraph_stencil import smooth

import ngraph_rewrite as ng
from ngraph_rewrite.testing import check_kernel, check_rules

FOLDER = Path(ngraph_stencil.__file__).parent
TARGETS = ("reference", "cpu", "plain", "stencil")
H, W, N = ng.Axis("H", 3), ng.Axis("W", 4), ng.Axis("N")


def expected(x: np.ndarray, axis: int, side: float) -> np.ndarray:
    """The definition, element by element."""
    result = x.copy()
    for index in np.ndindex(x.shape):
        near = [tuple(i + step if d == axis else i for d, i in enumerate(index)) for step in (-1, 1)]
        inside = [x[i] for i in near if 0 <= i[axis] < x.shape[axis]]
        result[index] = x[index] + side * sum(inside)
    return result


def test_the_targets_are_there() -> None:
    assert set(TARGETS) <= set(ng.transformer_choices())


@pytest.mark.parametrize("target", TARGETS)
@given(
    axis=st.sampled_from([H, W, N]),
    order=st.permutations([H, W, N]),
    n=st.integers(0, 3),
    side=st.sampled_from([0.5, -1.0, 0.0]),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
)
@settings(max_examples=4, deadline=None)
def test_every_target_computes_the_definition(
    target: str, axis: ng.Axis, order: list[ng.Axis], n: int, side: float, dtype: str
) -> None:
    x = ng.placeholder(order, dtype, name="x")
    values = np.random.default_rng(n).integers(-4, 5, [n if a is N else a.length for a in order]).astype(dtype)
    with ng.make_transformer(target) as transformer:
        found = transformer.computation(smooth(x, axis, side), x)(values)
    np.testing.assert_array_equal(found, expected(values, order.index(axis), side))


@pytest.mark.parametrize("target", TARGETS)
def test_the_derivative_passes_on_every_target(target: str) -> None:
    x = ng.placeholder([H, W], "float64", name="x")
    weights = np.arange(12.0).reshape(3, 4)
    loss = ng.sum(smooth(x, W, 0.25) * ng.constant(weights, [H, W], "float64"), out_axes=[])
    with ng.make_transformer(target) as transformer:
        found = transformer.computation(ng.deriv(loss, x), x)(np.ones((3, 4)))
    np.testing.assert_allclose(found, expected(weights, 1, 0.25))


def source(y: ng.Op, x: ng.Op, values: np.ndarray, target: str) -> str:
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(y, x)
        computation(values)
        return computation.source()


@pytest.mark.parametrize(("target", "dtype", "own"), [("stencil", "float32", True), ("stencil", "float16", False),
                                                       ("cpu", "float32", False)])  # fmt: skip
def test_the_kernel_runs_where_it_belongs(target: str, dtype: str, own: bool) -> None:
    x = ng.placeholder([H, W], dtype, name="x")
    assert ("def smooth_rows_" in source(smooth(x, W), x, np.ones((3, 4), dtype), target)) is own


def test_a_base_op_is_selected_for_the_target_only() -> None:
    x = ng.placeholder([H, W], name="x")
    y = ng.sum(x * ng.tanh(x) + x, out_axes=[H])
    values = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    assert "def multiply_add_" in source(y, x, values, "stencil")
    assert "def multiply_add_" not in source(y, x, values, "cpu")


def test_the_base_set_is_the_targets_own() -> None:
    a, b = ng.placeholder([H, W], name="a"), ng.placeholder([W, N], name="b")
    arrays = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
    with ng.make_transformer("stencil") as transformer:
        computation = transformer.computation(ng.dot(a, b), a, b)
        np.testing.assert_array_equal(computation(*arrays), np.full((3, 5), 4))
        assert "call_gemm" not in computation.source()
    with ng.make_transformer("plain") as transformer:
        computation = transformer.computation(a > 1, a)
        assert "stencil_plain.greater  (ngraph-stencil/stencil_plain.rules:" in computation.explain(computation.returns)
        with pytest.raises(ng.UnloweredOpError, match="semi.uniform"):
            transformer.computation(ng.uniform([H]))


def test_variables_and_writes_work_on_a_target_with_an_executor_of_its_own() -> None:
    v = ng.variable([W], initial_value=1.0, name="v")
    program = ng.sequential([ng.assign(v, smooth(v, W)), v * 2])
    with ng.make_transformer("plain") as transformer:
        np.testing.assert_array_equal(transformer.computation(program)(), [3, 4, 4, 3])
        np.testing.assert_array_equal(transformer.get(v), [1.5, 2, 2, 1.5])


def test_the_rules_are_in_the_library_and_say_where_they_are() -> None:
    places = {r.name: r.place for r in ng.rules()}
    assert places["stencil_lower.smooth"].startswith("ngraph-stencil/stencil_lower.rules:")
    x = ng.placeholder([H, W], name="x")
    y = smooth(x, H, 0.0)
    with ng.make_transformer("stencil", disabled=["stencil_algebra.smooth_with_nothing"]) as transformer:
        assert "stencil_lower.smooth_rows" in transformer.computation(y, x).explain(y)
    with ng.make_transformer("stencil") as transformer:
        assert "stencil_algebra.smooth_with_nothing" in transformer.computation(y, x).explain(y)


def test_a_mistake_is_reported_at_the_users_line() -> None:
    with pytest.raises(ng.UnmatchedAxesError) as caught:
        smooth(ng.placeholder([H]), W)
    assert caught.value.where is not None and caught.value.where.startswith(__file__)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.rules")), ids=lambda p: p.name)
def test_every_rule_is_right(path: Path) -> None:
    """What draws examples of them; the command `check` makes every check, and that is how whoever has it calls it."""
    assert check_rules(path, examples=5, checks=("types", "values", "adjoint", "cpu", "guard")) > 0


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.kernel")), ids=lambda p: p.name)
def test_every_kernel_is_right(path: Path) -> None:
    assert check_kernel(path, examples=8) > 0
