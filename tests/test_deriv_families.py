# SPDX-License-Identifier: Apache-2.0
"""Derivatives in every family: through lowerings, with rules of one's own, past integers, and in any type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.errors import DerivativeError, RuleFileError
from ngraph_rewrite.lowering.adjoints import SPECIALS
from ngraph_rewrite.lowering.derive_rules import DeriveRules
from ngraph_rewrite.lowering.fitting import fitted
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.lowering.sweep import Sweep
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.differences import differences
from ngraph_rewrite.testing.evaluate import evaluate
from ngraph_rewrite.transformer import Transformer
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.tensor import TensorType

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
N, T = Axis(None, 2, "sample"), Axis(None, 3, "recurrent")


@pytest.fixture(scope="module")
def cpu() -> Iterator[Transformer]:
    with ng.make_transformer("cpu") as transformer:
        yield transformer


@pytest.fixture
def x() -> Op:
    return ng.placeholder((2, 3), dtype="float64", name="x")


def apply(name: str, *args: Op, **attributes: Any) -> Op:
    return build(lookup(name), args, **attributes)


def value(term: Op, *pairs: tuple[Op, Any]) -> Any:
    return evaluate(term, {t: np.asarray(v, t.dtype) for t, v in pairs})[term]


def slope(term: Op, by: Op, *pairs: tuple[Op, Any]) -> Any:
    """The derivative of the sum of a term."""
    ones = np.ones([int(str(n)) for n in term.shape])
    error = ng.placeholder(term.axes, dtype=term.dtype)
    return value(ng.deriv(term, by, error), (error, ones), *pairs)


# -- through lowerings ----------------------------------------------------------------------------------


def test_an_op_without_a_derive_rule_is_differentiated_through_its_lowering(x: Op) -> None:
    assert not any(r.left.definition.name == "numpy.tanh" for r in library().of_kind("derive"))
    np.testing.assert_allclose(slope(apply("numpy.tanh", x), x, (x, X)), 1 - np.tanh(X) ** 2, rtol=1e-14)


def test_a_lowering_of_a_lowering_too(x: Op) -> None:
    """A standard deviation is lowered to a variance, that to means, those to sums."""
    spread = apply("numpy.variance", x, axis=(1,), keepdims=False, correction=0)
    wanted = 2 / 3 * (X - X.mean(1, keepdims=True))
    np.testing.assert_allclose(slope(spread, x, (x, X)), wanted, rtol=1e-12, atol=1e-14)


def test_the_terms_of_a_lowering_stand_at_the_users_line(x: Op) -> None:
    with ng.metadata(layer=3):
        squeezed = apply("numpy.sin", x)
    gradient = ng.deriv(squeezed, x, error=np.ones((2, 3)))
    (cosine,) = (t for t in topological([gradient]) if t.definition.name == "semi.cos")
    assert (cosine.filename, cosine.lineno, cosine.metadata) == (__file__, squeezed.lineno, {"layer": 3})


def test_a_lowering_is_swept_once_and_without_recursion(x: Op) -> None:
    term = x
    for _ in range(3_000):
        term = apply("numpy.negative", term)
    assert len(topological([ng.deriv(term, x, error=x)])) < 7_000


def test_a_variable_that_is_used_twice_in_a_lowering_gets_both_parts() -> None:
    w = ng.placeholder((), dtype="float64")
    assert slope(apply("numpy.multiply", w, w), w, (w, 3.0)) == 6.0


MIXED: dict[str, Callable[[Op], Op]] = {
    "semi": lambda x: apply("semi.sum", apply("semi.multiply", x, x), axes=(0, 1)),
    "numpy": lambda x: ng.numpy.sum(ng.numpy.exp(x) * x[0] - ng.numpy.mean(x, axis=1, keepdims=True)),
    "axes": lambda x: ng.sum(ng.softmax(ng.label(x, {"H": 2, "W": 3}), {"W": 3}) * ng.label(x, {"H": 2, "W": 3})),
    "simple": lambda x: ng.simple.sum(
        ng.simple.softmax(ng.label(x, [N, Axis(None, 3)])) * ng.label(x[0], [Axis(None, 3)]), (0, ng.simple.N)
    ),
    "all": lambda x: ng.sum(
        ng.tanh(ng.label(ng.semi.exp(ng.numpy.maximum(x, 0.3)), {"H": 2, "W": 3})) * ng.label(x[0], {"W": 3})
    ),
}


@pytest.mark.parametrize("family", MIXED)
def test_first_and_second_derivatives_in_every_family(family: str, x: Op) -> None:
    root = MIXED[family](x)
    first = ng.deriv(root, x)
    assert first.type == x.type
    # A central difference is right to about the square of its step.
    close = {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose(value(first, (x, X)), differences(root, x, {x: X}, np.ones(()), 1e-5), **close)
    weights = np.linspace(0.5, 1.5, 6).reshape(2, 3)
    second = ng.deriv(first, x, error=weights)
    np.testing.assert_allclose(value(second, (x, X)), differences(first, x, {x: X}, weights, 1e-5), **close)


@pytest.mark.parametrize("family", MIXED)
def test_targets_agree_on_derivatives(family: str, x: Op, cpu: Transformer) -> None:
    first = ng.deriv(MIXED[family](x), x)
    np.testing.assert_allclose(cpu.computation(first, x)(X), value(first, (x, X)), rtol=1e-12, atol=1e-14)


# -- what cannot be differentiated ------------------------------------------------------------------------


def sweep_without(rule: str, term: Op, by: Op) -> Any:
    rules = DeriveRules(library().without([rule]))
    return Sweep(rules, SPECIALS, [by], "here.py:1").run([(term, term)])


def test_an_op_without_an_adjoint_is_named_at_the_users_line(x: Op) -> None:
    blocked = apply("semi.tanh", x)
    with pytest.raises(DerivativeError, match=r"^semi.tanh has no adjoint, .*: semi.tanh\(x\)\n.*\n  add a rule") as no:
        sweep_without("deriv_semi.tanh", blocked, x)
    assert no.value.where == f"{__file__}:{blocked.lineno}"


def test_and_the_op_that_was_lowered_to_it(x: Op) -> None:
    blocked = apply("numpy.tanh", x)
    message = r"^semi.tanh \(to which numpy.tanh is lowered\) has no adjoint, .*: numpy.tanh\(x\)\n"
    with pytest.raises(DerivativeError, match=message) as raised:
        sweep_without("deriv_semi.tanh", blocked, x)
    assert raised.value.where == f"{__file__}:{blocked.lineno}"


def test_what_no_derivative_has_to_pass_through_needs_no_adjoint(x: Op) -> None:
    y = ng.placeholder((2, 3), dtype="float64")
    beside = apply("semi.add", apply("semi.tanh", x), y)
    assert sweep_without("deriv_semi.tanh", beside, y) == {y: beside}


PAST = {
    "a cast": lambda x: ng.numpy.astype(ng.numpy.astype(x * 3, "int64"), "float64"),
    "a comparison": lambda x: ng.numpy.where(x > 0.3, 2.0, 3.0),
    "an index": lambda x: ng.numpy.take(ng.numpy.asarray(np.arange(5.0)), ng.numpy.argmax(x, axis=1)),
    "classes": lambda x: ng.one_hot(ng.label(ng.numpy.argmax(x, axis=1), {"N": 2}), ng.make_axis(3, name="C")),
    "a size": lambda x: ng.tensor_size(ng.label(x, {"H": 2, "W": 3})),
}


@pytest.mark.parametrize("way", PAST)
def test_no_derivative_passes_through_integers_and_bool(way: str, x: Op) -> None:
    term = PAST[way](x)
    counted = term if term.dtype == np.float64 else ng.cast(term, "float64")
    found = ng.deriv(counted, x, error=1.0)
    assert found.type == x.type and not value(found).any()


# -- rules of one's own -------------------------------------------------------------------------------------

STRAIGHT = "derive numpy\nrule straight: round(x) => d\n"


def test_own_rules_come_before_the_librarys(x: Op, tmp_path: Path) -> None:
    """A straight-through estimator, given as a set, as a file, and as text."""
    path = tmp_path / "straight.rules"
    path.write_text(STRAIGHT)
    rounded = apply("numpy.round", x)
    assert not value(ng.deriv(rounded, x, error=1.0)).any()
    for rules in (ng.rule("round(x) => d", family="numpy", kind="derive"), path, str(path), STRAIGHT):
        assert (value(ng.deriv(rounded, x, error=1.0, rules=rules)) == 1).all()


def test_own_lower_rules_take_part(x: Op) -> None:
    rules = "lower numpy -> semi\nrule mine: tanh(x) => x * 3\n    if is_float(x.dtype)\n"
    assert (value(ng.deriv(apply("numpy.tanh", x), x, error=1.0, rules=rules)) == 3).all()


def test_own_rules_are_checked(x: Op) -> None:
    with pytest.raises(RuleFileError, match="no op is called numpy.rond"):
        ng.deriv(x, x, error=1.0, rules="derive numpy\nrule wrong: rond(x) => d\n")


# -- semi: formulas that are easily wrong -------------------------------------------------------------------


def test_ties_share_evenly_by_position() -> None:
    y = ng.placeholder((3,), dtype="float64")
    assert slope(apply("semi.max", y, axes=(0,)), y, (y, [2.0, 1.0, 2.0])).tolist() == [0.5, 0.0, 0.5]
    both = apply("semi.maximum", y, apply("semi.reshape", y, shape=(3,)))
    assert slope(both, y, (y, [2.0, 1.0, 2.0])).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("values", [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.5, 2.0, -3.0], [2.0], []])
def test_a_product_has_exact_first_and_second_derivatives_where_factors_are_zero(values: list[float]) -> None:
    y = ng.placeholder((len(values),), dtype="float64")
    first = ng.deriv(apply("semi.prod", y, axes=(0,)), y)
    without = [float(np.prod(np.delete(values, i))) for i in range(len(values))]
    assert value(first, (y, values)).tolist() == without
    error = ng.placeholder(first.axes, dtype="float64")
    hessian = ng.deriv(first, y, error)
    for i in range(len(values)):
        row = [float(np.prod(np.delete(values, [i, j]))) if i != j else 0.0 for j in range(len(values))]
        assert value(hessian, (y, values), (error, np.eye(len(values))[i])).tolist() == row


SLICES = [(0, 7, 2), (1, 6, 3), (6, -1, -1), (5, 0, -2), (6, -1, -3), (2, 2, 1), (3, 4, 1), (0, 7, 1)]


@pytest.mark.parametrize("triple", SLICES, ids=str)
def test_a_slice_is_put_back_where_it_was(triple: tuple[int, int, int]) -> None:
    y = ng.placeholder((7,), dtype="float64")
    start, stop, step = triple
    found = slope(apply("semi.slice", y, starts=(start,), stops=(stop,), steps=(step,)), y)
    wanted = np.zeros(7)
    wanted[list(range(start, stop, step))] = 1
    assert found.tolist() == wanted.tolist()


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3))
def test_what_was_padded_is_taken_back(before: int, after: int, interior: int, length: int) -> None:
    y = ng.placeholder((length,), dtype="float64")
    padded = apply("semi.pad", y, before=(before,), after=(after,), interior=(interior,), value=3.0)
    error = ng.placeholder(padded.axes, dtype="float64")
    places = [before + i * (interior + 1) for i in range(length)]
    numbers = np.arange(float(str(padded.shape[0])))
    assert value(ng.deriv(padded, y, error), (error, numbers)).tolist() == places


# -- unknown lengths ------------------------------------------------------------------------------------------

UNKNOWN: dict[str, Callable[[Op], Op]] = {
    "sum": lambda x: apply("semi.sum", x, axes=(0,)),
    "prod": lambda x: apply("semi.prod", x, axes=(0,)),
    "max": lambda x: apply("semi.max", x, axes=(0, 1)),
    "turned around": lambda x: x[::-1],
    "cut": lambda x: x[1:, :2],
    "every second": lambda x: apply("semi.slice", x, starts=(0, 0), stops=x.shape, steps=(2, 1)),
    "every third from the end": lambda x: apply(
        "semi.slice", x, starts=(x.shape[0] - 1, 2), stops=(-1, -1), steps=(-3, -2)
    ),
    "padded": lambda x: apply("semi.pad", x, before=(2, 0), after=(0, 1), interior=(0, 1), value=0.5),
    "joined": lambda x: apply("semi.concat", x, apply("semi.exp", x), axis=0),
    "multiplied": lambda x: apply("semi.dot", apply("semi.transpose", x, perm=(1, 0)), x),
    "repeated": lambda x: apply("semi.broadcast", x, shape=(4, *x.shape), dims=(1, 2)),
    "NumPy's": lambda x: ng.numpy.mean(x * ng.numpy.max(x, axis=0), axis=0) - ng.numpy.max(x, axis=0),
}


@pytest.mark.sampled
@pytest.mark.parametrize("way", UNKNOWN)
def test_lengths_may_be_unknown(way: str, cpu: Transformer) -> None:
    """One computation serves several lengths, and gives what the differences are at each."""
    x = ng.placeholder((None, 3), dtype="float64")
    squares = ng.numpy.square(UNKNOWN[way](x))
    root = ng.numpy.sum(squares)
    computation = cpu.computation(ng.deriv(root, x), x)
    for length in (5, 2, 1):
        fixed = ng.placeholder((length, 3), dtype="float64")
        own = np.random.default_rng(length).uniform(0.3, 1.7, (length, 3))
        expected = differences(
            ng.numpy.sum(ng.numpy.square(UNKNOWN[way](fixed))), fixed, {fixed: own}, np.ones(()), 1e-6
        )
        # A central difference is right to about its step, squared, and rounding divided by it.
        np.testing.assert_allclose(computation(own), expected, rtol=1e-6, atol=1e-7)


# -- an adjoint of any type ------------------------------------------------------------------------------------

Keyed = dict[str | int, int]  # from what an axis is matched by to its length


@st.composite
def types(draw: st.DrawFn) -> tuple[Keyed, list[str | int]]:
    """What the axes of a result are matched by, and those of an operand that was repeated to it."""
    features = draw(st.integers(0, 2))
    result: Keyed = {k - features: draw(st.sampled_from((1, 2, 3))) for k in range(features)}
    for role in draw(st.lists(st.sampled_from(("sample", "recurrent")), unique=True)):
        result[role] = draw(st.sampled_from((1, 2)))
    kept = draw(st.integers(0, features))
    operand = [k for k in result if isinstance(k, str) and draw(st.booleans())] + list(range(-kept, 0))
    return result, operand


def axes_of(keys: list[str | int], lengths: Keyed, draw: np.random.Generator) -> tuple[list[str | int], Axes]:
    """Axes in a drawn order, in which only those without a role have to stay in theirs."""
    order = sorted(keys, key=lambda k: draw.random() if isinstance(k, str) else 0.5 + k / 1e6)
    return order, Axes(Axis(None, lengths[k], (k,) if isinstance(k, str) else ()) for k in order)


@settings(max_examples=80, deadline=None)
@given(types(), st.integers(0, 1000), st.booleans())
def test_what_broadcasting_added_is_summed_away(drawn: Any, seed: int, stretched: bool) -> None:
    """And what an adjoint lacks is repeated; in either direction each number arrives where it belongs."""
    result, operand = drawn
    random = np.random.default_rng(seed)
    shrunk = {k: 1 if stretched and isinstance(k, int) and random.random() < 0.5 else n for k, n in result.items()}
    have, have_axes = axes_of(list(result), result, random)
    want, want_axes = axes_of(operand, shrunk, random)
    error = ng.placeholder(have_axes, dtype="float64")
    numbers = random.integers(-9, 9, error.shape).astype(float)
    found = fitted(error, TensorType("float32", want_axes))
    assert found.type == TensorType("float32", want_axes)
    letters = {k: chr(97 + i) for i, k in enumerate(result)}
    inside = "".join(letters[k] for k in have)
    full = [k for k in want if shrunk[k] == result[k]]
    wanted = np.einsum(f"{inside}->{''.join(letters[k] for k in full)}", numbers)
    assert np.array_equal(value(found, (error, numbers)), wanted.reshape([shrunk[k] for k in want]))


def test_a_scalar_adjoint_is_repeated_in_every_family() -> None:
    for axes in (ng.anonymous((2, 3)), Axes([N, Axis(None, 3), T]), Axes({"H": 2, "N": 3}), Axes()):
        found = fitted(ng.constant(2.0), TensorType("float16", axes))
        assert found.type == TensorType("float16", axes) and (value(found) == 2).all()


def test_an_adjoint_that_cannot_be_fitted_is_refused() -> None:
    error = ng.placeholder((2, 3))
    with pytest.raises(DerivativeError, match=r"an adjoint of type float32\[2, 3\] came to a term of type"):
        fitted(error, TensorType("float32", ng.anonymous((2,))))
    with pytest.raises(DerivativeError, match="came to a term of type"):
        fitted(error, TensorType("float32", {"H": 2, "W": 3}))


def test_an_error_without_names_has_the_shape_of_the_dependent(x: Op) -> None:
    assert value(ng.deriv(x, x, error=X)).tolist() == X.tolist()
    marked = ng.label(x, [N, Axis(None, 3)])
    assert value(ng.deriv(marked, x, error=X)).tolist() == X.tolist()
    with pytest.raises(DerivativeError, match="the error has axes"):
        ng.deriv(x, x, error=np.ones((3, 2)))


# -- tuples ------------------------------------------------------------------------------------------------------


def test_each_part_of_a_tuple_gets_its_own_adjoint(x: Op) -> None:
    pair = ng.make_tuple(x * 2, ng.numpy.sin(x))
    inside = ng.make_tuple(pair, x)
    root = inside[0][1] * inside[0][0] + inside[1]
    wanted = 2 * X * np.cos(X) + 2 * np.sin(X) + 1
    np.testing.assert_allclose(slope(root, x, (x, X)), wanted, rtol=1e-13)
    np.testing.assert_allclose(slope(pair[0], x, (x, X)), np.full((2, 3), 2.0))
