# SPDX-License-Identifier: Apache-2.0
"""Functions between layers compute what SciPy's functions make of float64, with finite slopes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from on_targets import check_gradient, computed, meaning, slopes
from scipy import special

import ngraph_rewrite as ng
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import as_dtype, finfo

nx = ng.numpy
inf, nan = np.inf, np.nan
FLOATS = ["bfloat16", "float16", "float32", "float64"]

FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "silu": (nx.silu, lambda x: x * special.expit(x)),
    "gelu": (nx.gelu, lambda x: x * special.ndtr(x)),
    "gelu by tanh": (
        lambda x: nx.gelu(x, approximate=True),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "softplus": (nx.softplus, lambda x: np.logaddexp(x, 0)),
    "log_sigmoid": (nx.log_sigmoid, special.log_expit),
    "elu": (lambda x: nx.elu(x, 0.7), lambda x: np.where(x > 0, x, 0.7 * np.expm1(np.minimum(x, 0)))),
    "leaky_relu": (lambda x: nx.leaky_relu(x, 0.2), lambda x: np.where(x > 0, x, 0.2 * x)),
    "celu": (lambda x: nx.celu(x, 0.7), lambda x: np.where(x > 0, x, 0.7 * np.expm1(np.minimum(x, 0) / 0.7))),
    "selu": (nx.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(-np.abs(x)))),
    "mish": (nx.mish, lambda x: x * np.tanh(np.logaddexp(x, 0))),
    "relu6": (nx.relu6, lambda x: np.clip(x, 0, 6)),
    "hard_tanh": (nx.hard_tanh, lambda x: np.clip(x, -1, 1)),
    "hard_sigmoid": (nx.hard_sigmoid, lambda x: np.clip(x + 3, 0, 6) / 6),
    "hard_silu": (nx.hard_silu, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "soft_sign": (nx.soft_sign, lambda x: x / (1 + np.abs(x))),
}
BY_NAME = pytest.mark.parametrize("name", FUNCTIONS)


@pytest.mark.sampled
@BY_NAME
@pytest.mark.parametrize("dtype", FLOATS)
def test_values_are_those_of_float64(name: str, dtype: str) -> None:
    ours, theirs = FUNCTIONS[name]
    x = np.concatenate([np.linspace(-12, 12, 97), [-0.0, 300.0, -300.0]]).astype(dtype)
    for (found,) in computed(ours, x):
        assert found.dtype == as_dtype(dtype)
        wanted = theirs(x.astype("float64"))
        room = 4 * float(finfo(found.dtype).eps) * np.maximum(np.abs(x.astype("float64")), np.abs(wanted))
        assert (np.abs(found.astype("float64") - wanted) <= room + 1e-300).all()


@BY_NAME
def test_limits_are_values_at_infinities(name: str) -> None:
    below = {"log_sigmoid": -inf, "elu": -0.7, "leaky_relu": -inf, "celu": -0.7, "selu": -1.7580993, "hard_tanh": -1,
             "soft_sign": -1}.get(name, 0.0)  # fmt: skip
    above = {"log_sigmoid": 0.0, "relu6": 6, "hard_tanh": 1, "hard_sigmoid": 1, "soft_sign": 1}.get(name, inf)
    for (found,) in computed(FUNCTIONS[name][0], np.array([-inf, inf, nan], "float32")):
        np.testing.assert_allclose(found, [below, above, nan], rtol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["silu", "gelu", "gelu by tanh", "mish", "hard_silu"])
def test_the_greatest_number_stays_what_it_is(name: str, dtype: str) -> None:
    greatest = np.array([finfo(as_dtype(dtype)).max]).astype(dtype)
    for (found,) in computed(FUNCTIONS[name][0], greatest):
        np.testing.assert_array_equal(found, greatest)


@BY_NAME
def test_integers_become_floats_as_they_do_for_exp(name: str) -> None:
    ours, theirs = FUNCTIONS[name]
    for dtype, wanted in (("int32", "float64"), ("int8", "float16"), ("bool", "float16")):
        x = np.array([0, 1, 1], dtype)
        found = meaning(ours, x)
        assert found.dtype == wanted
        np.testing.assert_allclose(found, theirs(x.astype("float64")), rtol=2e-3)


@BY_NAME
def test_slopes_are_differences(name: str) -> None:
    check_gradient(FUNCTIONS[name][0], np.array([-20.0, -3.0, -0.5, 0.25, 2.0, 30.0]))


@pytest.mark.sampled
@BY_NAME
@pytest.mark.parametrize("dtype", FLOATS)
def test_slopes_are_finite_wherever_numbers_are(name: str, dtype: str) -> None:
    most = float(finfo(as_dtype(dtype)).max)
    (found,) = slopes(FUNCTIONS[name][0], np.array([-most, -1e4, -100.0, 0.0, 100.0, 1e4, most]).astype(dtype))
    assert np.isfinite(found.astype("float64")).all()


@BY_NAME
def test_slopes_at_infinities_are_those_of_the_lines_that_functions_come_near(name: str) -> None:
    below = {"log_sigmoid": 1.0, "leaky_relu": 0.2}.get(name, 0.0)
    above = {
        "log_sigmoid": 0.0,
        "relu6": 0,
        "hard_tanh": 0,
        "hard_sigmoid": 0,
        "soft_sign": 0,
        "selu": 1.0507009873554805,
    }
    (found,) = slopes(FUNCTIONS[name][0], np.array([-inf, inf]))
    np.testing.assert_allclose(found, [below, above.get(name, 1.0)], rtol=1e-15)


@pytest.mark.parametrize(("name", "first", "second"), [("silu", 0.5, 0.5), ("softplus", 0.5, 0.25), ("elu", 0.7, 0.7)])
def test_slopes_at_0_have_no_holes(name: str, first: float, second: float) -> None:
    x = ng.placeholder((), "float64")
    slope = ng.deriv(FUNCTIONS[name][0](x), x)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation([slope, ng.deriv(slope, x)], x)(0.0)
    np.testing.assert_allclose(found, [first, second])


@pytest.mark.parametrize("name", ["silu", "gelu", "mish"])
def test_second_slopes_far_out_are_0(name: str) -> None:
    x = ng.placeholder((4,))
    first = ng.deriv(FUNCTIONS[name][0](x), x, error=nx.ones_like(x))
    second = ng.deriv(first, x, error=nx.ones_like(x))
    most = float(finfo(as_dtype("float32")).max)
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(second, x)([-inf, -most, most, inf])
    np.testing.assert_array_equal(found, 0.0)


@pytest.mark.parametrize(("name", "short"), [("silu", "sigmoid"), ("gelu", "erf"), ("mish", "tanh")])
def test_a_slope_shares_what_the_function_has_computed(name: str, short: str) -> None:
    def of(terms: list[Any]) -> list[Any]:
        return [t.args for t in topological(terms) if t.definition.name.endswith("." + short)]

    x = ng.placeholder((3,))
    found = FUNCTIONS[name][0](x)
    (forward,), (backward,) = of([found]), of([ng.deriv(found, x, error=nx.ones_like(x))])
    assert forward[0].same_as(backward[0])


@BY_NAME
def test_nothing_and_numbers_alone(name: str) -> None:
    for shape in ((0,), (2, 0), ()):
        assert meaning(FUNCTIONS[name][0], np.ones(shape, "float32")).shape == shape


@BY_NAME
def test_terms_of_any_family_keep_names_and_marks(name: str) -> None:
    function = getattr(ng, name.partition(" ")[0])
    x = np.linspace(-3, 3, 6, dtype="float32").reshape(2, 3)
    terms = [ng.placeholder({"N": 2, "H": 3}), ng.simple.placeholder((ng.simple.N(2), 3)), ng.placeholder((2, 3))]
    made = [function(t) for t in terms]
    assert [t.axes for t in made] == [t.axes for t in terms]
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation([*made, getattr(nx, function.__name__)(terms[2])], *terms)(x, x, x)
    for one in found:
        np.testing.assert_allclose(one, found[3], rtol=1e-6)


def test_an_approximate_gelu_is_asked_for_by_a_flag() -> None:
    with pytest.raises(ng.AttributeValueError, match="approximate"):
        nx.gelu(ng.placeholder((3,)), approximate="tanh")
