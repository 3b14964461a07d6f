# SPDX-License-Identifier: Apache-2.0
"""Numbers in expressions: what no instruction is better for knowing, a kernel is told, so that others share it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan.numbers import bits, constants
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.types.dtypes import BFLOAT16
from tests.programs import assert_same, drawn

Array = np.ndarray[Any, Any]
DTYPES = ["float16", BFLOAT16, "float32", "float64"]
ORDINARY = (0.3, -1.7, 1e-3)


class Ran(NamedTuple):
    """The results of a call, the kernels that were launched, and the text of all that were there."""

    results: list[Array]
    kernels: list[str]
    source: str


def run(returns: list[Op], inputs: list[Op], arguments: Iterable[Array], target: str = "cpu") -> Ran:
    with ng.make_transformer(target, threads=2) as transformer:
        computation = transformer.computation(returns, *inputs)
        results = [np.asarray(r) for r in computation(*arguments)]
        if target == "reference":
            return Ran(results, [], "")
        return Ran(results, computation.stats()["kernels"], computation.source())


def texts(source: str) -> set[str]:
    """The names of all kernels of a source, epilogues included."""
    return {line.partition("(")[0] for line in source.splitlines() if line.startswith("def ")}


def leaf(*shape: int, dtype: Any = "float32") -> Op:
    return ng.placeholder(shape, dtype)


def filled(*terms: Op, seed: int = 0) -> list[Array]:
    random = np.random.default_rng(seed)
    return [random.normal(size=[int(n) for n in t.shape]).astype(t.dtype) for t in terms]  # type: ignore[arg-type]


# -- what is told ------------------------------------------------------------------------------------------------------


def sorted_out(value: object, op: str, place: int = 1, dtype: str = "float32") -> str:
    """What becomes of a constant of a program that does one thing with it."""
    other = (0, -1) if place == 0 else (-1, 0)
    steps, arguments, literals = constants([("constant", dtype, (), value), (op, dtype, other, None)])
    assert len(arguments) + len(literals) == 1
    return steps[0][0]


@pytest.mark.parametrize("number", [0.1, -3.0, 4.0, 1e-30, 3e38])
@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "maximum", "less", "select"])
def test_an_ordinary_number_is_told(number: float, op: str) -> None:
    for place in (0, 1):
        assert sorted_out(Literal(number, "float32"), op, place) == "number"


@pytest.mark.parametrize("number", [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, math.inf, -math.inf, math.nan])
def test_a_special_number_stays_in_the_text(number: float) -> None:
    assert sorted_out(Literal(number, "float64"), "multiply", dtype="float64") == "constant"


@pytest.mark.parametrize("number", [4.0, -0.125, 2.0**-100])
def test_a_power_of_two_that_is_divided_by_stays_in_the_text(number: float) -> None:
    """A compiler multiplies by its reciprocal instead."""
    assert sorted_out(Literal(number, "float32"), "divide") == "constant"
    assert sorted_out(Literal(number, "float32"), "divide", 0) == "number"
    assert sorted_out(Literal(3 * number, "float32"), "divide") == "number"


@pytest.mark.parametrize("op", ["power", "mod", "floordivide", "copysign", "exp", "atan2"])
def test_what_is_given_to_a_function_stays_in_the_text(op: str) -> None:
    assert sorted_out(Literal(0.3, "float32"), op) == "constant"
    also_a_factor = [("constant", "float32", (), Literal(0.3, "float32")), ("multiply", "float32", (-1, 0), None),
                     (op, "float32", (1, 0), None)]  # fmt: skip
    assert constants(also_a_factor).arguments == ()  # type: ignore[arg-type]


@pytest.mark.parametrize("op", ["equal", "less", "add", "maximum", "select"])
def test_integers_that_are_compared_added_or_chosen_are_told(op: str) -> None:
    for place in (0, 1):
        assert sorted_out(Literal(-7, "int8"), op, place, "int8") == "number"
        assert sorted_out(Literal(1, "int8"), op, place, "int8") == "constant"
        assert sorted_out(Literal(2**64 - 1, "uint64"), op, place, "uint64") == "constant"
    also_a_factor = [("constant", "int32", (), Literal(7, "int32")), ("multiply", "int32", (-1, 0), None),
                     (op, "int32", (1, 0), None)]  # fmt: skip
    assert constants(also_a_factor).arguments == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(("dtype", "told"), [("int64", 0), ("uint8", 0), ("float32", 1), ("bool", 1)])
def test_integers_beside_what_is_cast_to_integers_stay_in_the_text(dtype: str, told: int) -> None:
    """Bytes that were cast to 64 bits were compared and chosen as these, in five to ten times the time."""
    program = [("constant", "int64", (), Literal(100, "int64")), ("cast", dtype, (-1,), None),
               ("less", "bool", (-1 if told else 1, 0), None)]  # fmt: skip
    assert len(constants(program).arguments) == told  # type: ignore[arg-type]


def test_a_table_of_cases_is_a_few_kernels() -> None:
    """Each case compares with another integer."""
    x, y = leaf(9, dtype="int64"), leaf(9)
    table = sum((ng.numpy.where(ng.numpy.equal(x, i), y * i, 0.0) for i in range(3, 123)), y)
    values = np.arange(9) * 15, np.ones(9, np.float32)
    found = run([table], [x, y], values)
    assert len(found.kernels) > len(set(found.kernels)) + 3
    np.testing.assert_array_equal(found.results[0], 1 + np.where(values[0] < 3, 0, values[0]))


def test_other_integers_stay_in_the_text_but_lengths_are_told_whatever_they_are() -> None:
    assert sorted_out(Literal(7, "int32"), "multiply", dtype="int32") == "constant"
    for length in (1, 2, 7, 64):
        for dtype in ("int32", "float32"):
            assert sorted_out(length, "divide", dtype=dtype) == "number"
    assert sorted_out(7, "power") == "constant"


@given(st.sampled_from(DTYPES), st.floats(allow_nan=False, allow_infinity=False))
def test_bits_are_those_of_the_number_as_it_is_computed_with(dtype: Any, number: float) -> None:
    with np.errstate(over="ignore"):
        value = np.asarray(number).astype(dtype)
    assume(np.isfinite(value.astype(np.float64)))
    held = value.astype(np.float64 if dtype == "float64" else np.float32)
    told = np.int64(bits(Literal(value), np.dtype(dtype).name))
    assert told.astype(f"int{8 * held.itemsize}") == held.view(f"int{8 * held.itemsize}")


# -- the same numbers come out -----------------------------------------------------------------------------------------

TAKING: list[Callable[[Op, Op], Op]] = [
    semi.add, semi.subtract, semi.multiply, semi.divide, semi.maximum, semi.minimum, semi.less, semi.equal,
    lambda x, c: semi.select(semi.greater(x, c), c, x), lambda x, c: semi.add(semi.copysign(x, c), c),
    lambda x, c: semi.multiply(semi.power(semi.absolute(x), semi.absolute(c)), c),
]  # fmt: skip


@drawn(1)
@given(st.sampled_from(DTYPES), st.lists(st.floats(width=16), min_size=1, max_size=1), st.integers(0, 99))
@example(np.dtype("float32"), [0.1, -0.0], 0)
@example(BFLOAT16, [math.nan], 0)
def test_a_number_means_what_it_means_wherever_it_stands(dtype: Any, numbers: list[float], seed: int) -> None:
    """Bit for bit, in every op that takes it as it takes any other value, and in some that do not."""
    x = leaf(67, dtype=dtype)
    given_ = [ng.constant(np.asarray(n).astype(dtype), x.axes) for n in numbers]
    returns = [op(*pair) for op in TAKING[:8] for c in given_ for pair in ((x, c), (c, x))]
    returns += [op(x, c) for op in TAKING[8:10] for c in given_]
    arguments = filled(x, seed=seed)
    arguments[0][:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, numbers[0]]
    assert_same(run(returns, [x], arguments).results, run(returns, [x], arguments, "reference").results)
    powers = [TAKING[10](x, c) for c in given_]
    eps = 8 * float(ng.types.dtypes.finfo(np.dtype(dtype)).eps)
    found, wanted = (run(powers, [x], arguments, t).results for t in ("cpu", "reference"))
    for one, other in zip(found, wanted, strict=True):
        assert_allclose(one.astype(np.float64), other.astype(np.float64), rtol=eps)


def a_map(c: float) -> tuple[list[Op], list[Op]]:
    x = leaf(50)
    return [semi.tanh(x * c) + c * 3], [x]


def rows(c: float) -> tuple[list[Op], list[Op]]:
    """What a row has, what is beside it, and sums over all rows."""
    x = leaf(20, 33)
    scale = semi.sqrt(semi.sum(x * x, axes=(1,)) * 0.7 + (abs(c) + 0.1))
    found = semi.multiply(semi.divide(x, semi.broadcast(scale, (20, 33), (0,))), ng.constant(np.float32(c), x.axes))
    return [found, semi.sum(found, axes=(0,)), semi.max(x * c, axes=(0,))], [x]


def parts_of_rows(c: float) -> tuple[list[Op], list[Op]]:
    """A reduction in two steps."""
    x = leaf(900_000)
    return [semi.sum(x * c + c, axes=(0,)) * (c + 1.1)], [x]


def an_epilogue(c: float) -> tuple[list[Op], list[Op]]:
    x, y, z = leaf(30, 40), leaf(40, 50), leaf(30, 50)
    found = semi.dot(x, y) * c
    return [semi.maximum(found + z * (c + 1.1), 0.01 * found), found], [x, y, z]


def a_prologue(c: float) -> tuple[list[Op], list[Op]]:
    x, y = leaf(300, 400, dtype="int8"), leaf(400, 50)
    return [semi.dot(semi.cast(x, "float32") * c, y) + c], [x, y]


def thin(c: float) -> tuple[list[Op], list[Op]]:
    """A product of a row, which is a sum."""
    x, y = leaf(1, 70), leaf(70, 3)
    return [semi.dot(x, y) * c], [x, y]


def a_convolution(c: float) -> tuple[list[Op], list[Op]]:
    image = ng.placeholder([ng.Axis("C", 3), ng.Axis("H", 9), ng.Axis("W", 9), ng.Axis("N", 2)])
    filters = ng.placeholder([ng.Axis("C", 3), ng.Axis("R", 3), ng.Axis("S", 3), ng.Axis("K", 8)])
    return [ng.maximum(ng.convolution(image, filters) * c, 0.01)], [image, filters]


def a_loop(c: float) -> tuple[list[Op], list[Op]]:
    """Maps of each step, some of them in one launch."""
    x, h = leaf(7, 40), leaf(40)

    def step(state: tuple[Op, Op], now: Op) -> tuple[tuple[Op, Op], Op]:
        low, high = state
        return (low * c + now * (1.1 - c), semi.maximum(high * (c + 0.4), now)), low * (c - 0.2)

    (low, high), kept = semi.scan(step, (h, h), x)
    return [low, high, kept], [x, h]


def padded(c: float) -> tuple[list[Op], list[Op]]:
    """A constant that is stored, and nothing else."""
    x = leaf(5, 6)
    return [semi.pad(x, (1, 0), (0, 2), (0, 0), value=c)], [x]


BUILDS = [a_map, rows, parts_of_rows, an_epilogue, a_prologue, thin, a_convolution, a_loop, padded]


@pytest.mark.parametrize("build", BUILDS, ids=lambda b: b.__name__)
def test_graphs_that_differ_in_a_number_share_their_kernels(build: Callable[[float], Any]) -> None:
    found = []
    for number in ORDINARY:
        returns, inputs = build(number)
        arguments = filled(*inputs)
        ran = run(returns, inputs, arguments)
        exact = run(returns, inputs, arguments, "reference")
        for result, wanted in zip(ran.results, exact.results, strict=True):
            assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)
        assert "bits_as_float32" in ran.source
        found.append((ran.kernels, texts(ran.source)))
    assert found == [found[0]] * len(found)


def test_a_number_that_is_part_of_the_text_shares_nothing() -> None:
    """One that is special, and an exponent: so the tests above can fail."""
    x = leaf(50)
    for one, other in ((x * 2, x * 0.3), (x / 4, x / 8), (semi.absolute(x) ** 2.3, semi.absolute(x) ** 2.7)):
        first, second = (run([term], [x], filled(x)) for term in (one, other))
        assert "bits_as" not in first.source
        assert first.kernels != second.kernels


# -- learning ----------------------------------------------------------------------------------------------------------


def momentum(rate: float, dtype: str) -> tuple[list[Op], list[Op]]:
    """A step of gradient descent with momentum and decay, of an average over the batch."""
    x, w, v = leaf(9, 5, dtype=dtype), leaf(5, dtype=dtype), leaf(5, dtype=dtype)
    error = ng.numpy.mean(ng.numpy.tanh(ng.numpy.matmul(x, w)) ** 2)
    speed = 0.9 * v + ng.deriv(error, w) + 1e-4 * w
    return [error, w - rate * speed, speed], [x, w, v]


@drawn(20)
@given(st.floats(1e-6, 1e6))
@example(3.0)
@example(1e-3)
def test_rates_of_learning_share_kernels(rate: float) -> None:
    assume(rate not in (0.5, 1, 2, 0.9) and np.float32(rate) != np.float32(1e-4))
    returns, inputs = momentum(rate, "float32")
    arguments = filled(*inputs)
    ran = run(returns, inputs, arguments)
    common = run(*momentum(0.03, "float32"), arguments)
    assert (ran.kernels, texts(ran.source)) == (common.kernels, texts(common.source))
    exact = run(*momentum(rate, "float64"), [a.astype(np.float64) for a in arguments], "reference")
    for found, wanted in zip(ran.results, exact.results, strict=True):
        assert_allclose(found, wanted, rtol=1e-5, atol=1e-6 * max(1, rate))


def squares(y: Op, wanted: Op) -> Op:
    return ng.mean(ng.square(y - wanted), out_axes=[])


def entropy(y: Op, wanted: Op) -> Op:
    return ng.mean(ng.cross_entropy_multi(ng.softmax(y, ["Y"]), ng.softmax(wanted, ["Y"])), out_axes=[])


def normalised(y: Op, wanted: Op) -> Op:
    """A length divides what there is one of for each row of a kernel."""
    return squares(ng.batch_norm(y, ng.constant(1.0), ng.constant(0.0), "N"), wanted)


@pytest.mark.parametrize("loss", [squares, entropy, normalised], ids=lambda f: f.__name__)
def test_a_training_step_with_another_batch_length_compiles_no_kernel(loss: Callable[[Op, Op], Op]) -> None:
    """Among them lengths by which a compiler would not divide if it knew them."""
    h, c, y, n = ng.Axis("H", 12), ng.Axis("C", 8), ng.Axis("Y", 6), ng.Axis("N")
    found: dict[str, list[list[Array]]] = {}
    for target, dtype in (("cpu", "float32"), ("reference", "float64")):
        weights = [ng.placeholder(axes, dtype) for axes in ([h, c], [h], [y, h])]
        x, wanted = ng.placeholder([c, n], dtype), ng.placeholder([y, n], dtype)
        error = loss(ng.dot(weights[2], ng.tanh(ng.dot(weights[0], x) + weights[1])), wanted)
        returns = [error, *[w - 0.1 * ng.deriv(error, w) for w in weights]]
        kernels, known = [], filled(*weights)
        with ng.make_transformer(target) as transformer:
            computation = transformer.computation(returns, *weights, x, wanted)
            for length in (17, 16, 23, 64):
                random = np.random.default_rng(length)
                batch = [random.normal(size=(k, length)).astype(np.float32) for k in (8, 6)]
                found.setdefault(target, []).append([np.asarray(r) for r in computation(*known, *batch)])
                if target == "cpu":
                    kernels.append((computation.stats()["kernels"], texts(computation.source())))
        assert kernels == kernels[:1] * len(kernels)
    for ours, exact in zip(found["cpu"], found["reference"], strict=True):
        for one, other in zip(ours, exact, strict=True):
            assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("dtype", "length"), [("int8", 129), ("uint16", 70_000), ("float16", 70_000)])
@pytest.mark.filterwarnings("error")
def test_a_length_that_a_dtype_does_not_have_is_cast_to_it(dtype: str, length: int) -> None:
    x = ng.placeholder([ng.Axis("N")], dtype)
    returns = [ng.batch_size(x, dtype), x * ng.batch_size(x, dtype)]
    array = np.ones(length, dtype)
    with ng.make_transformer("cpu") as transformer, ng.make_transformer("reference") as reference:
        found, wanted = (t.computation(returns, x)(array) for t in (transformer, reference))
    assert_same(found, wanted)
    with np.errstate(over="ignore"):
        assert float(found[0]) == float(np.asarray(length).astype(dtype))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "float16", "float64"])
def test_lengths_are_told_as_numbers_of_any_dtype(dtype: str) -> None:
    x = ng.placeholder([ng.Axis("N")], dtype)
    length = ng.batch_size(x, dtype)
    returns = [x * length + x, ng.maximum(x, length), x - length, ng.less(x, length)]
    kernels = []
    with ng.make_transformer("cpu") as transformer, ng.make_transformer("reference") as reference:
        ours, theirs = (t.computation(returns, x) for t in (transformer, reference))
        for count in (2, 3, 64, 100):
            array = np.arange(count).astype(dtype)
            assert_same(ours(array), theirs(array))
            kernels.append(ours.stats()["kernels"])
    assert kernels == kernels[:1] * len(kernels)
