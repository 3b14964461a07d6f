# SPDX-License-Identifier: Apache-2.0
"""What goes over the same rows is one kernel, and every graph means what it meant before it was grouped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan.launches import Work, kernels
from ngraph_rewrite.plan.plan import make_plan
from ngraph_rewrite.terms.op import Op

H, W = ng.Axis("H", 24), ng.Axis("W", 40)
N = ng.Axis("N", 32)


def launched(returns: Any, *inputs: ng.Op) -> list[str]:
    """The kinds of the kernels of a computation."""
    with ng.make_transformer("cpu") as transformer:
        work = make_plan(transformer.computation(returns, *inputs).lowering.roots, []).work
    return [one.source.name.partition("_")[0] for one in kernels(work)]


def agree(returns: Any, inputs: list[ng.Op], seed: int = 0, low: float = -2.0) -> None:
    """The CPU computes what the meanings of the ops say, in float32."""
    rng = np.random.default_rng(seed)
    values = [rng.uniform(low, 2.0, [int(n) for n in p.shape]).astype(p.dtype) for p in inputs]
    with ng.make_transformer("cpu") as ours, ng.make_transformer("reference") as theirs:
        found = ours.computation(returns, *inputs)(*values)
        wanted = theirs.computation(returns, *inputs)(*values)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5 * max(1.0, np.abs(other).max(initial=0.0)))


def wide(name: str = "x") -> ng.Op:
    return ng.placeholder([H, W], name=name)


def image() -> ng.Op:
    return ng.placeholder({"N": 8, "C": 20, "P": 6, "Q": 6}, name="image")


def batch_norm() -> tuple[list[ng.Op], list[ng.Op]]:
    x = image()
    channel = x.axes[1]
    gamma, beta = ng.placeholder([channel]), ng.placeholder([channel])
    moments = [ng.mean(x, out_axes=[channel]), ng.variance(x, out_axes=[channel])]
    return [ng.batch_norm(x, gamma, beta), *moments], [x, gamma, beta]


def batch_norm_gradient() -> tuple[list[ng.Op], list[ng.Op]]:
    (y, *_), (x, gamma, beta) = batch_norm()
    d = ng.placeholder(x.axes)
    return list(ng.deriv(ng.sum(y * d, out_axes=[]), [x, gamma, beta])), [x, gamma, beta, d]


def layer_norm() -> tuple[list[ng.Op], list[ng.Op]]:
    x, gamma, beta = wide(), ng.placeholder([W]), ng.placeholder([W])
    return [ng.layer_norm(x, gamma, beta, reduction_axes=[W])], [x, gamma, beta]


def standardized(keepdims: bool, axis: int) -> tuple[list[ng.Op], list[ng.Op]]:
    """As NumPy's users write it, with the deviation; axes of length 1 may be left of what is reduced."""
    x = ng.placeholder((24, 40), name="x")

    def mean(y: ng.Op) -> ng.Op:
        found = ng.numpy.mean(y, axis=axis, keepdims=keepdims)
        return found if keepdims else ng.numpy.expand_dims(found, axis=axis)

    d = x - mean(x)
    deviation = ng.numpy.sqrt(mean(d * d) + 1e-5)
    return [d / deviation, deviation], [x]


def standardized_gradient() -> tuple[list[ng.Op], list[ng.Op]]:
    (y, _), (x,) = standardized(True, 1)
    d = ng.placeholder((24, 40), name="d")
    return [ng.deriv(ng.numpy.sum(y * d), x)], [x, d]


def softmax(axis: ng.Axis = W) -> tuple[list[ng.Op], list[ng.Op]]:
    x = wide()
    return [ng.softmax(x, normalization_axes=[axis])], [x]


def softmax_gradient() -> tuple[list[ng.Op], list[ng.Op]]:
    (y,), (x,) = softmax()
    d = wide("d")
    return [ng.deriv(ng.sum(y * d, out_axes=[]), x)], [x, d]


def log_softmax() -> tuple[list[ng.Op], list[ng.Op]]:
    x = wide()
    total = ng.logsumexp(x, [W])
    return [x - total, total], [x]


def log_softmax_by_position() -> tuple[list[ng.Op], list[ng.Op]]:
    """Spelled out with a maximum that is finite, and its derivative."""
    x, d = (ng.placeholder((24, 40), name=name) for name in "xd")
    top = ng.numpy.max(x, axis=1, keepdims=True)
    e = ng.numpy.exp(x - ng.numpy.where(ng.numpy.isfinite(top), top, 0))
    y = ng.numpy.log(e / ng.numpy.sum(e, axis=1, keepdims=True))
    return [y, ng.deriv(ng.numpy.sum(y * d), x)], [x, d]


def cross_entropy() -> tuple[list[ng.Op], list[ng.Op]]:
    """The loss of a batch, those of its samples, and the derivative by the logits."""
    x, t = wide(), wide("t")
    losses = ng.cross_entropy_multi(ng.softmax(x, normalization_axes=[W]), t, out_axes=[H])
    loss = ng.sum(losses, out_axes=[])
    return [loss, ng.deriv(loss, x)], [x, t]


def moments() -> tuple[list[ng.Op], list[ng.Op]]:
    x = wide()
    return [ng.mean(x, out_axes=[H]), ng.variance(x, out_axes=[H]), ng.max(x, out_axes=[H])], [x]


ONE_KERNEL = {
    "softmax": softmax,
    "softmax of columns": lambda: softmax(H),
    "softmax gradient": softmax_gradient,
    "log-softmax": log_softmax,
    "log-softmax by position, and its gradient": log_softmax_by_position,
    "layer norm": layer_norm,
    "batch norm": batch_norm,
    "batch norm gradient": batch_norm_gradient,
    "moments": moments,
    "standardized": lambda: standardized(False, 1),
    "standardized, axes left": lambda: standardized(True, 1),
    "standardized columns, axes left": lambda: standardized(True, 0),
    "standardized gradient, axes left": standardized_gradient,
}
Case = Callable[[], tuple[list[ng.Op], list[ng.Op]]]


@pytest.mark.sampled
@pytest.mark.parametrize("case", ONE_KERNEL.values(), ids=ONE_KERNEL)
def test_one_kernel_does_it(case: Case) -> None:
    returns, inputs = case()
    assert launched(returns, *inputs) == ["rows"]
    agree(returns, inputs)


def test_the_loss_of_a_batch_takes_one_kernel_more() -> None:
    """That adds up what the losses of samples are, which are known while a row is in cache."""
    returns, inputs = cross_entropy()
    assert launched(returns, *inputs) == ["rows", "reduce"]
    agree(returns, inputs, low=0.0)


def layer_norm_gradient(rows: int) -> tuple[list[ng.Op], list[ng.Op]]:
    h = ng.Axis("H", rows)
    x, gamma, beta, d = ng.placeholder([h, W]), ng.placeholder([W]), ng.placeholder([W]), ng.placeholder([h, W])
    y = ng.layer_norm(x, gamma, beta, reduction_axes=[W])
    return list(ng.deriv(ng.sum(y * d, out_axes=[]), [x, gamma, beta])), [x, gamma, beta, d]


@pytest.mark.parametrize("rows, on_the_way", [(300, True), (12, False)])
def test_sums_over_many_rows_are_taken_on_the_way(rows: int, on_the_way: bool) -> None:
    """Each chunk sums over its rows, and the second kernel over chunks; of few rows that is not worth it."""
    returns, inputs = layer_norm_gradient(rows)
    with ng.make_transformer("cpu") as transformer:
        work = make_plan(transformer.computation(returns, *inputs).lowering.roots, []).work
    first, _ = kernels(work)
    assert ("t1" in first.source.signature) == on_the_way
    agree(returns, inputs)


def test_sums_over_all_rows_of_another_array_are_not_taken_on_the_way() -> None:
    """A constant that both are multiplied by is a word of either kernel: nothing that is read twice."""
    h = ng.Axis("H", 4096)
    x, other = ng.placeholder([h, W]), ng.placeholder([h, W])
    rows = ng.softmax(x * 2.0, normalization_axes=[W])
    own, apart = (ng.sum(ng.tanh(y * 2.0), reduction_axes=[h]) for y in (x, other))
    assert launched([rows, own], x) == ["rows", "reduce"]
    assert launched([rows, apart], x, other) == ["rows", "reduce", "reduce"]
    agree([rows, apart, own], [x, other])


def test_what_needs_a_sum_over_all_rows_is_another_kernel() -> None:
    """Rows of the first one would have to wait for all others; columns are the rows of the second one."""
    x = ng.placeholder(ng.anonymous([400, 30]))
    y = semi.divide(x, semi.broadcast(semi.sum(semi.exp(x), axes=(1,)), (400, 30), (0,)))
    total = semi.broadcast(semi.sum(y, axes=(0,)), (400, 30), (1,))
    assert launched(semi.divide(y, total), x) == ["rows", "rows"]
    agree([semi.divide(y, total), y], [x], low=0.5)  # numbers of both signs may leave next to nothing of a sum


def test_a_row_does_not_wait_for_what_another_kernel_does_of_it() -> None:
    """Sorting stands between the sums and what reads both: these are two kernels, around it."""
    x = ng.placeholder(ng.anonymous([32, 6]))
    total = semi.broadcast(semi.sum(semi.exp(x), axes=(1,)), (32, 6), (0,))
    y = semi.divide(semi.sort(semi.divide(x, total), axis=0, descending=False), total)
    assert launched(y, x) == ["rows", "sort", "map"]
    agree([y], [x])


def test_rows_that_are_few_and_long_are_shared_out() -> None:
    x = ng.placeholder([ng.Axis("H", 2), ng.Axis("W", 300_000)])
    w = x.axes[1]
    assert launched(ng.softmax(x, normalization_axes=[w]), x)[0] == "reduce"


def test_what_one_row_needs_of_another_is_not_one_kernel() -> None:
    """Sums of rows, taken from columns."""
    x = ng.placeholder(ng.anonymous([20, 20]))
    seen = semi.broadcast(semi.sum(x, axes=(1,)), (20, 20), (1,))
    y = semi.subtract(x, seen)
    assert launched(y, x) == ["reduce", "map"]
    agree([y], [x])


def test_explain_says_which_kernel_stores_each() -> None:
    (y, mean, *_), inputs = batch_norm()
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([y, mean], *inputs)
        computation(*[np.ones([int(n) for n in p.shape], p.dtype) for p in inputs])
        (name,) = computation.stats()["kernels"]
        assert name.startswith("rows")
        assert name in computation.explain(y)
        assert name in computation.explain(mean)


def test_a_call_told_step_by_step_names_every_result() -> None:
    (y, mean, *_), inputs = batch_norm()
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([y, mean], *inputs)
        values = [np.full([int(n) for n in p.shape], 2, p.dtype) for p in inputs]
        computation(*values)
        np.testing.assert_array_equal(computation.value(mean), np.full(20, 2, np.float32))


# -- two steps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_sum_of_sixteen_bits_is_rounded_once_where_its_rows_are_reduced_too(dtype: str) -> None:
    """The sums of the rows are beyond float16, and lose what bfloat16 has no room for; the sum of all is neither."""
    x = ng.placeholder(ng.anonymous([2, 2]), dtype=dtype)
    rows = ng.numpy.max(x, axis=1, keepdims=True)
    values = np.array([[60000, 60000], [-60000, -59904]]).astype(x.dtype)
    with ng.make_transformer("cpu") as transformer:
        found, _ = transformer.computation([ng.numpy.sum(x - rows * 0), rows], x)(values)
    assert float(found) == float(values.astype(np.float32).sum())


@pytest.mark.sampled
@pytest.mark.parametrize(
    "shape, axes, dtype",
    [
        *[((200_001,), (0,), dtype) for dtype in ("float32", "int32")],
        ((1_000_001,), (0,), "bool"),
        *[((16_411, 37), (0,), dtype) for dtype in ("float32", "float16", "bool")],
        *[((3, 200_000), (1,), dtype) for dtype in ("float32", "float16")],
        *[((9000, 2, 33), (0, 2), dtype) for dtype in ("float32", "int32")],
    ],
)
def test_a_reduction_in_parts_is_the_reduction(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    x = ng.placeholder(ng.anonymous(list(shape)), dtype)
    kinds = [semi.any, semi.all] if dtype == "bool" else [semi.sum, semi.max, semi.min]
    returns = [f(x, axes=axes) for f in kinds]
    assert len(launched(returns, x)) > 1
    value = np.random.default_rng(3).integers(-1, 2, shape).astype(dtype)
    if dtype == "float16":
        value /= 64
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(returns, x)(value)
    for one, f in zip(found, ["any", "all"] if dtype == "bool" else ["sum", "max", "min"], strict=True):
        wide = value.astype("float64") if dtype[0] == "f" else value
        np.testing.assert_array_equal(one, getattr(np, f)(wide, axis=axes).astype(one.dtype))


def test_reductions_of_one_array_share_a_kernel_though_they_are_done_in_parts() -> None:
    """What one of them needs of another one is in memory when that begins."""
    x = ng.placeholder(ng.anonymous([400_000]))
    greatest = semi.max(x, axes=(0,))
    above = semi.sum(semi.subtract(semi.broadcast(greatest, (400_000,), ()), x), axes=(0,))
    assert launched([semi.min(x, axes=(0,)), semi.sum(semi.exp(x), axes=(0,)), greatest], x) == ["reduce", "reduce"]
    value = np.random.default_rng(5).normal(size=400_000).astype(np.float32)
    with ng.make_transformer("cpu") as transformer:
        least, found, most = transformer.computation([semi.min(x, axes=(0,)), above, greatest], x)(value)
    assert (least, most) == (value.min(), value.max())
    np.testing.assert_allclose(found, (np.float64(value.max()) - value).sum(), rtol=1e-6)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
def test_sums_in_parts_are_no_less_accurate_than_numpys(axes: tuple[int, ...]) -> None:
    x = ng.placeholder(ng.anonymous([700, 900]))
    value = np.random.default_rng(4).lognormal(size=(700, 900)).astype(np.float32)
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(semi.sum(x, axes=axes), x)(value)
    exact = value.astype(np.longdouble).sum(axis=axes)
    ours, theirs = np.abs(found - exact).max(), np.abs(value.sum(axis=axes) - exact).max()
    assert ours <= max(theirs, np.spacing(np.float32(np.abs(exact).max())) / 2)


@pytest.mark.parametrize("case", ["softmax", "mean", "total", "both"])
def test_threads_change_no_bit(case: str) -> None:
    x = ng.placeholder(ng.anonymous([600, 333]))
    e = semi.divide(x, semi.broadcast(semi.sum(x, axes=(1,)), (600, 333), (0,)))
    y = {
        "both": lambda: semi.sum(e, axes=(0,)),
        "softmax": lambda: semi.divide(x, semi.broadcast(semi.sum(semi.exp(x), axes=(1,)), (600, 333), (0,))),
        "mean": lambda: semi.divide(semi.sum(x, axes=(0,)), ng.constant(np.float32(600), ng.anonymous([333]))),
        "total": lambda: semi.sum(x, axes=(0, 1)),
    }[case]()
    value = np.random.default_rng(5).normal(size=(600, 333)).astype(np.float32)
    found = []
    for threads in (1, 2, 5):
        with ng.make_transformer("cpu", threads=threads) as transformer:
            found.append(transformer.computation(y, x)(value).tobytes())
    assert len(set(found)) == 1


# -- any graph --------------------------------------------------------------------------------------

M = 6
SHAPES = {"wide": (M, M), "row": (M,), "column": (M,), "one": (), "thin row": (M, 1), "thin column": (1, M)}
MOVES = {
    ("wide", "row"): lambda f, x: f(x, axes=(1,)),
    ("wide", "column"): lambda f, x: f(x, axes=(0,)),
    ("wide", "one"): lambda f, x: f(x, axes=(0, 1)),
    ("row", "wide"): lambda f, x: semi.broadcast(x, (M, M), (0,)),
    ("column", "wide"): lambda f, x: semi.broadcast(x, (M, M), (1,)),
    ("one", "wide"): lambda f, x: semi.broadcast(x, (M, M), ()),
    ("wide", "wide"): lambda f, x: semi.transpose(x, (1, 0)),
    ("row", "thin row"): lambda f, x: semi.reshape(x, (M, 1)),
    ("column", "thin column"): lambda f, x: semi.reshape(x, (1, M)),
    ("thin row", "wide"): lambda f, x: semi.broadcast(semi.reshape(x, (M,)), (M, M), (0,)),
    ("thin column", "wide"): lambda f, x: semi.broadcast(semi.reshape(x, (M,)), (M, M), (1,)),
    ("thin row", "thin column"): lambda f, x: semi.transpose(x, (1, 0)),
    ("thin column", "row"): lambda f, x: semi.reshape(x, (M,)),
}
Drawn = list[tuple[str, int, int, int]]
step = st.tuples(st.sampled_from(["move", "move", "unary", "binary", "reversed"]), *[st.integers(0, 99)] * 3)


def graph(drawn: Drawn) -> tuple[list[Op], Op]:
    """Terms of six shapes, each from some before it."""
    x = ng.placeholder(ng.anonymous([M, M]))
    made: list[tuple[str, Op]] = [("wide", x)]
    for kind, i, j, k in drawn:
        shape, term = made[i % len(made)]
        alike = [t for s, t in made if s == shape]
        if kind == "move":
            ways = [(to, way) for (frm, to), way in MOVES.items() if frm == shape]
            to, way = ways[j % len(ways)]
            made.append((to, way((semi.sum, semi.max)[k % 2], term)))
        elif kind == "unary":
            made.append((shape, (semi.tanh, semi.negative, semi.sigmoid)[j % 3](term)))
        elif kind == "binary":
            made.append((shape, (semi.add, semi.maximum, semi.subtract)[j % 3](term, alike[k % len(alike)])))
        elif shape == "wide":
            made.append((shape, semi.slice(term, (M - 1, 0), (-1, M), (-1, 1))))
    return [t for _, t in made[1:]], x


@settings(max_examples=7, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(step, min_size=3, max_size=14), st.sets(st.integers(0, 13), min_size=1, max_size=3))
@example([("move", 0, 0, 0), ("move", 1, 0, 0), ("binary", 0, 2, 1), ("move", 3, 0, 0), ("move", 3, 2, 0)], {3, 4})
@example([("move", 0, 0, 0), ("move", 1, 1, 0), ("unary", 2, 2, 0), ("move", 3, 0, 0), ("binary", 4, 0, 0)], {2, 4})
def test_any_graph_means_what_it_meant(drawn: Drawn, wanted: set[int]) -> None:
    terms, x = graph(drawn)
    if terms:
        agree([terms[i % len(terms)] for i in sorted(wanted)], [x])


def test_every_term_is_computed_once() -> None:
    """Each result that is stored has one kernel, whatever else that stores."""
    returns, inputs = batch_norm()
    with ng.make_transformer("cpu") as transformer:
        work = make_plan(transformer.computation(returns, *inputs).lowering.roots, []).work
    stored = [term for one in kernels(work) if isinstance(one, Work) for term in one.computed]
    assert len(stored) == len(set(stored)) == 3


# -- groups of one form -----------------------------------------------------------------------------


@settings(max_examples=6, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, -0.0, 2.0])), min_size=2, max_size=4))
def test_groups_that_differ_in_what_they_read_or_in_a_constant_are_told_apart(drawn: list[tuple[bool, float]]) -> None:
    """Each layer reads one tensor twice or two, and has a constant; those alike share a program, and mean their own."""
    inputs = [ng.placeholder(ng.anonymous([24, 40]), name=f"x{i}") for i in range(2 * len(drawn))]
    found = []
    for i, (one, constant) in enumerate(drawn):
        x, y = inputs[2 * i], inputs[2 * i + (not one)]
        shifted = x - semi.broadcast(semi.max(y, axes=(1,)), shape=(24, 40), dims=(0,))
        found.append(semi.sum(semi.copysign(shifted, ng.constant(np.float32(constant), x.axes)), axes=(1,)))
    agree(found, inputs)


def test_groups_do_not_wait_for_each_other() -> None:
    """Rows of `a` and of `b`: what is made of each needs the maximum of the other, one of them after a sum."""
    xp, random = ng.numpy, np.random.default_rng(0)
    values = random.normal(size=(5, 2)), random.normal(size=(5, 2, 2))
    a, b = (ng.placeholder(v.shape, dtype="float64") for v in values)

    def step(h: Op, slices: tuple[Op, Op]) -> tuple[Op, tuple[Op, Op]]:
        x, y = slices
        most = xp.max(x, axis=-1, keepdims=True)
        first = xp.sum(xp.take(x, xp.argsort(most) % 2, axis=0))
        return xp.tanh(h) + 1, (first * h, most * xp.max(y, axis=-1, keepdims=True) * h)

    _, (p, q) = xp.scan(step, np.float64(1), (a, b))
    slopes = ng.deriv(xp.sum(xp.tanh(p)) + xp.sum(xp.sin(q)), [a, b])
    with ng.make_transformer("cpu") as cpu, ng.make_transformer("reference") as reference:
        found, right = (t.computation(slopes, a, b)(*values) for t in (cpu, reference))
    for one, two in zip(found, right, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_what_waits_in_a_circle_of_groups_is_done_one_by_one() -> None:
    """Each of two kernels over rows would need what the other one finds."""
    nx = ng.numpy
    x, y = ng.placeholder((5, 6)), ng.placeholder((5, 6))
    shares = nx.softmax(y, axis=1)
    columns = nx.sum(shares, axis=0)
    agree([nx.sum(columns + y), nx.sum(nx.sum(x, axis=0) * shares), nx.sum(columns + x)], [x, y])


def mean_of_rows(x: ng.Op) -> ng.Op:
    return ng.numpy.mean(x, axis=1, keepdims=True)


TWICE: dict[str, Callable[[ng.Op, ng.Op], list[ng.Op]]] = {
    "one kernel finds both": lambda a, b: [ng.assign(b, a / ng.numpy.sum(a)), ng.assign(b, (a + 1) / ng.numpy.sum(a))],
    "and it is read between": lambda a, b: [
        ng.assign(b, a - mean_of_rows(a)),
        ng.numpy.sum(b * b),
        ng.assign(b, a * mean_of_rows(a)),
    ],
    "three times": lambda a, b: [ng.assign(b, a - k * mean_of_rows(a)) for k in (1.0, 2.0, 3.0)],
    "and read after": lambda a, b: [
        ng.assign(b, a - mean_of_rows(a)),
        ng.assign(b, a * 2),
        ng.numpy.sum(b - mean_of_rows(a)),
    ],
    "and rows of it read after": lambda a, b: [
        ng.assign(b, a - mean_of_rows(a)),
        ng.assign(b, a * 2),
        ng.numpy.sum(a - mean_of_rows(b)),
    ],
    "of what it was": lambda a, b: [ng.assign(b, b - mean_of_rows(a)), ng.assign(b, b * mean_of_rows(a))],
}


@pytest.mark.parametrize("items", TWICE.values(), ids=TWICE)
def test_a_variable_that_is_written_twice_holds_what_was_written_last(items: Any) -> None:
    states = []
    for target in ("cpu", "reference"):
        values = np.array([[1.0, 2.0], [3.0, 5.0]])
        a, b = (ng.variable((2, 2), "float64", initial_value=v) for v in (values, 10 * values))
        steps = items(a, b)
        with ng.make_transformer(target) as transformer:
            states.append(transformer.computation([ng.sequential([*steps, b + 0]), *steps, b])())
    for one, other in zip(*states, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("axis", [None, 1], ids=str)
def test_of_what_is_no_number_extrema_find_none(axis: int | None) -> None:
    """Whatever else there is, infinities too; where there is nothing else, NaN; others look for NaN as before."""
    nan, inf = np.nan, np.inf
    value = np.tile(np.float32([[nan, -inf, nan], [nan, nan, nan], [1, nan, -2], [inf, nan, -inf]]), (1, 40))
    x = ng.placeholder(value.shape)
    instead = ng.numpy.max(ng.numpy.where(ng.numpy.isnan(x), nan, x), axis=axis)
    returns = [ng.numpy.nanmax(x, axis=axis), ng.numpy.nanmin(x, axis=axis), instead]
    with ng.make_transformer("cpu") as transformer:
        greatest, least, other = transformer.computation(returns, x)(value)
    np.testing.assert_array_equal(greatest, inf if axis is None else [-inf, nan, 1, inf])
    np.testing.assert_array_equal(least, -inf if axis is None else [-inf, nan, -2, -inf])
    assert np.isnan(other).all()
