# SPDX-License-Identifier: Apache-2.0
"""Products that no cache holds are computed a strip of rows at a time: the same values, in a part of the memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.plan import bands, plan, strip_loops, strips
from ngraph_rewrite.plan.launches import Loop, Work
from ngraph_rewrite.plan.strip_levels import regions_apart
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.types.dtypes import BFLOAT16
from tests.programs import drawn

SAMPLES, HEADS, DEPTH = 2, 3, 8


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is large, and what a strip holds, for the lengths of tests: 16 rows of 64 numbers of four bytes."""
    monkeypatch.setattr(strips, "_LARGE", 1 << 12)
    monkeypatch.setattr(strips, "_STRIP", 1 << 12)
    monkeypatch.setattr(strips, "_ENTRY", 1 << 12)
    monkeypatch.setattr(bands, "_MUCH", 1)
    monkeypatch.setattr(plan, "BANDS_TIME", 0)


class Attention:
    """Attention and its derivatives: the results, the arguments, and values for these.

    Args:
        apart: Whether queries stand between samples and heads.
        mask: None, or what is done with one: it is added or keeps scores.
        behind: Whether something is made of the result before it is differentiated.
    """

    def __init__(
        self, length: int = 64, dtype: Any = "float32", apart: bool = False, mask: str | None = None,
        behind: bool = True, more: int = 0,
    ) -> None:  # fmt: skip
        n, a, d = ng.Axis("N", SAMPLES), ng.Axis("A", HEADS), ng.Axis("D", DEPTH)
        p, q = ng.Axis("P", length), ng.Axis("Q", length + more)
        seen = [n, p, a, d] if apart else [n, a, p, d]
        axes = [seen, [n, a, q, d], [n, a, q, d], [d, ng.Axis("F", DEPTH)]]
        query, key, value, weights = self.given = [ng.placeholder(x, dtype=dtype) for x in axes]
        scores = ng.dot(query, key, reduction_axes=["D"]) * DEPTH**-0.5
        if mask == "added":
            self.given.append(ng.placeholder([p, q], dtype=dtype))
            scores = scores + self.given[-1]
        elif mask == "keeps":
            self.given.append(ng.placeholder([n, q], dtype=dtype))
            scores = ng.where(self.given[-1] > -0.5, scores, -1e9)
        self.scores, self.weights = scores, ng.softmax(scores, normalization_axes=["Q"])
        result = ng.dot(self.weights, value, reduction_axes=["Q"])
        loss = ng.mean(ng.square(ng.tanh(ng.dot(result, weights)) if behind else result), out_axes=[])
        slopes = [ng.deriv(loss, x) for x in self.given if behind or x is not weights]
        self.results = [result, loss, *slopes]
        self.values = [
            np.random.default_rng(i).standard_normal([int(x.length) for x in one.axes]).astype(dtype)
            for i, one in enumerate(self.given)
        ]

    def computation(self, threads: int = 2) -> ng.Computation:
        """The computation."""
        return ng.make_transformer("cpu", threads=threads).computation(self.results, *self.given)


def loops(computation: ng.Computation) -> list[Loop]:
    """The loops of the plan of the last call, outermost ones."""
    return [work for work in computation._ready().executable.plan.work if isinstance(work, Loop)]  # type: ignore[attr-defined]


def inside(loop: Loop) -> Iterator[Work]:
    for work in loop.work:
        yield from inside(work) if isinstance(work, Loop) else [work]


def whole(make: Callable[[], ng.Computation], values: Sequence[Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a computation gives without strips."""
    with monkeypatch.context() as patch:
        patch.setattr(strips, "_LARGE", 1 << 60)
        computation = make()
        found = computation(*values)
        assert not loops(computation)
    return found, computation


def close(found: Sequence[Any], expected: Sequence[Any], dtype: str = "float32") -> bool:
    error = 2e-6 if dtype == "float32" else 1e-14
    return all(np.abs(x - y).max() <= error * np.abs(y).max() for x, y in zip(found, expected, strict=True))


# Each with each of two of them, but for the dtype.
CASES = [
    ("float32", False, None, False),
    ("float32", True, None, True),
    ("float32", False, "added", True),
    ("float64", True, "added", False),
    ("float64", False, "keeps", False),
    ("float32", True, "keeps", True),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("dtype", "behind", "mask", "apart"), CASES)
def test_values_are_those_of_whole_products(dtype: str, behind: bool, mask: str | None, apart: bool) -> None:
    """A gradient that comes of the result has a loop of its own, in which the weights are computed again."""
    case = Attention(dtype=dtype, apart=apart, mask=mask, behind=behind)
    with ng.make_transformer("reference") as oracle:
        expected = oracle.computation(case.results, *case.given)(*case.values)
    computation = case.computation()
    assert close(computation(*case.values), expected, dtype)
    assert len(loops(computation)) == 2


@pytest.mark.parametrize("dtype", ["float16", BFLOAT16], ids=str)
def test_sums_of_numbers_of_16_bits_are_not_rounded_with_each_strip(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What strips give is added up in float32: with 32 of them the error is that of whole products, about."""
    monkeypatch.setattr(strips, "_ENTRY", 1 << 10)
    monkeypatch.setattr(strips, "_HALVES", True)
    monkeypatch.setattr(type(CPU), "float_pairs", (1 << 62, 1 << 62))  # which are not cut into strips
    case, precise = Attention(256, dtype), Attention(256, "float64")
    exact, _ = whole(precise.computation, [value.astype(np.float64) for value in case.values], monkeypatch)
    rounded, _ = whole(case.computation, case.values, monkeypatch)
    computation = case.computation()
    found = computation(*case.values)
    within = [one for loop in loops(computation) for one in (loop, *loop.work) if isinstance(one, Loop)]
    assert {one.times for one in within if one.times > 1} == {32}
    for x, y, z in zip(found, rounded, exact, strict=True):
        off, usual = (np.abs(one.astype(np.float64) - z).max() for one in (x, y))
        assert off <= 2 * usual + 4 * float(ml_dtypes.finfo(dtype).eps) * np.abs(z).max()


@pytest.mark.parametrize("apart", [False, True])
def test_values_between_two_kernels_are_those_of_whole_products(apart: bool) -> None:
    """Whatever strips store in parts, or with axes in another order."""
    case = Attention(apart=apart, mask="keeps" if apart else None)
    handles = [case.scores, case.weights, *case.results]
    with ng.make_transformer("reference") as transformer:
        right = transformer.computation(handles, *case.given)(*case.values)
    call = case.computation().step(*case.values)
    for step in call:
        at = step.number % len(handles)
        assert close([call.value(handles[at])], [right[at]], "float32")
        for term, found in step.values.items():
            assert close([found * 1.0], [call._values.recomputed(term) * 1.0], "float32"), term


def test_values_are_those_of_numpy() -> None:
    case = Attention(dtype="float64", behind=False)
    query, key, value = case.values[:3]
    scores = query @ key.swapaxes(2, 3) * DEPTH**-0.5
    weights = np.exp(scores - scores.max(3, keepdims=True))
    weights /= weights.sum(3, keepdims=True)
    result = weights @ value
    given_ = 2 * result / result.size
    of_weights = given_ @ value.swapaxes(2, 3)
    of_scores = weights * (of_weights - (of_weights * weights).sum(3, keepdims=True)) * DEPTH**-0.5
    expected = [result, np.mean(result**2), of_scores @ key, of_scores.swapaxes(2, 3) @ query]
    expected.append(weights.swapaxes(2, 3) @ given_)
    assert close(case.computation()(*case.values), expected, "float64")


def test_memory_grows_with_the_rows() -> None:
    """That of whole products grows with their square."""
    sizes = []
    for length in (128, 256, 512):
        case = Attention(length)
        computation = case.computation()
        computation(*case.values)
        sizes.append(computation.stats()["arena_bytes"])
    assert sizes[1] < 2.2 * sizes[0] and sizes[2] < 2.2 * sizes[1]


def test_samples_and_heads_are_bands() -> None:
    """Each goes through all strips in one thread, and nothing is transposed between products."""
    case = Attention(apart=True)
    computation = case.computation()
    computation(*case.values)
    for loop in loops(computation):
        (one,) = [work for work in loop.work if isinstance(work, Loop)] if not loop.beside else [loop]
        assert one.beside and len(one.work) == SAMPLES * HEADS
        assert not any("copy" in work.source.name for work in inside(loop))


@pytest.mark.parametrize("apart", [False, True])
def test_results_do_not_depend_on_threads(apart: bool) -> None:
    case = Attention(apart=apart)
    first, *others = [case.computation(threads)(*case.values) for threads in (1, 2, 3)]
    assert all(np.array_equal(x, y) for other in others for x, y in zip(first, other, strict=True))


@pytest.mark.parametrize("layers", [2, 3])
def test_each_layer_has_strips_of_its_own(layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though all have the same constants: a loop forward and one backward each, found in one look at the graph."""
    looks = list[int]()

    def look(graph: Any, sizes: Any) -> Any:
        looks.append(len(found := regions_apart(graph, sizes)))
        return found

    n, p, d = ng.Axis("N", 6), ng.Axis("P", 64), ng.Axis("D", DEPTH)
    x, weights = ng.placeholder([n, p, d]), [ng.placeholder([d, ng.Axis("F", DEPTH)]) for _ in range(layers)]
    y = x
    for w in weights:
        seen = ng.cast_axes(y, [n, ng.Axis("Q", 64), d])
        scores = ng.dot(y, seen, reduction_axes=["D"]) * DEPTH**-0.5
        mixed = ng.dot(ng.softmax(scores, normalization_axes=["Q"]), seen, reduction_axes=["Q"])
        y = y + ng.cast_axes(ng.tanh(ng.dot(mixed, w)), [n, p, d])
    results = ng.deriv(ng.mean(y * y, out_axes=[]), [x, *weights])
    values = [np.random.default_rng(7).standard_normal(one.shape).astype("float32") for one in [x, *weights]]

    def make() -> ng.Computation:
        return ng.make_transformer("cpu").computation(results, x, *weights)

    expected, _ = whole(make, values, monkeypatch)
    monkeypatch.setattr(strip_loops, "regions_apart", look)
    computation = make()
    assert close(computation(*values), expected) and len(loops(computation)) == 2 * layers
    assert looks == [layers, 0]


def test_loops_that_would_wait_for_each_other_are_made_one_region_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two products of which each has a result that the other needs, and one that needs the other's."""
    n, p, q, d = ng.Axis("N", 6), ng.Axis("P", 64), ng.Axis("Q", 64), ng.Axis("D", DEPTH)
    given = [ng.placeholder([n, axis, d]) for axis in (p, q, p, q, q, q)]

    def scores(x: ng.Op, y: ng.Op) -> ng.Op:
        return ng.tanh(ng.dot(x, y, reduction_axes=["D"]) * DEPTH**-0.5)

    def along(weights: ng.Op, x: ng.Op) -> ng.Op:
        return ng.dot(weights, ng.cast_axes(x, [n, q, d]), reduction_axes=["Q"])

    first, second = scores(*given[:2]), scores(*given[2:4])
    of_first, of_second = along(first, given[4]), along(second, given[5])
    results = [along(second, of_first), along(first, of_second)]
    values = [np.random.default_rng(i).standard_normal(x.shape).astype("float32") for i, x in enumerate(given)]

    def make() -> ng.Computation:
        return ng.make_transformer("cpu").computation(results, *given)

    expected, _ = whole(make, values, monkeypatch)
    computation = make()
    assert close(computation(*values), expected) and len(loops(computation)) >= 3


# -- where whole products stay -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["weights", "scores"])
def test_what_is_a_result_is_in_memory(what: str) -> None:
    case = Attention()
    case.results.append(getattr(case, what))
    computation = case.computation()
    found = computation(*case.values)
    assert found[-1].size == SAMPLES * HEADS * 64 * 64 and not loops(computation)


@pytest.mark.parametrize("between", ["sorted", "running", "reversed"])
def test_ops_along_keys_may_stand_between(between: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch cannot be brought first through all of them: these have strips of all entries together."""
    case = Attention(dtype="float64", apart=True)
    query, key, value = case.given[:3]
    scores = ng.dot(query, key, reduction_axes=["D"])
    if between == "reversed":
        found = scores[..., ::-1]
    else:
        function = ng.numpy.sort if between == "sorted" else ng.numpy.cumsum
        found = ng.label(function(scores, axis=-1), axes=scores.axes)
    mixed = ng.dot(ng.tanh(found), value, reduction_axes=["Q"])
    case.results = [mixed, ng.deriv(ng.mean(mixed * mixed, out_axes=[]), value)]
    case.given, case.values = case.given[:3], case.values[:3]
    expected, _ = whole(case.computation, case.values, monkeypatch)
    assert close(case.computation()(*case.values), expected, "float64")


def test_what_is_given_and_as_large_is_not_cut() -> None:
    """Copying a mask for each score into strips would take what they save; so would what is drawn for dropout."""
    n, a, p, q = axes = [ng.Axis("N", SAMPLES), ng.Axis("A", HEADS), ng.Axis("P", 64), ng.Axis("Q", 64)]
    e = ng.Axis("E", DEPTH)
    query, key, kept = ng.placeholder([n, a, p, e]), ng.placeholder([n, a, q, e]), ng.placeholder(axes)
    weights = ng.softmax(ng.dot(query, key, reduction_axes=["E"]), normalization_axes=["Q"]) * kept
    loss = ng.mean(ng.square(ng.dot(weights, key, reduction_axes=["Q"])), out_axes=[])
    computation = ng.make_transformer("cpu").computation(ng.deriv(loss, [query, key]), query, key, kept)
    computation(*(np.ones(one.shape, np.float32) for one in (query, key, kept)))
    assert not loops(computation)


@pytest.mark.parametrize("length", [61, 64])
def test_rows_that_no_number_parts_are_computed_together(length: int) -> None:
    case = Attention(length)
    computation = case.computation()
    computation(*case.values)
    assert bool(loops(computation)) == (length == 64)


def test_what_takes_long_to_compute_is_not_computed_again() -> None:
    """Hidden numbers of dense layers are a product as large as its operands, though what they get is a wide one."""
    n, d, h = ng.Axis("N", 256), ng.Axis("D", 64), ng.Axis("H", 64)
    x, v, w = ng.placeholder([n, d]), ng.placeholder([d, h]), ng.placeholder([h, ng.Axis("E", 4)])
    loss = ng.mean(ng.square(ng.dot(ng.tanh(ng.dot(x, v)), w)), out_axes=[])
    computation = ng.make_transformer("cpu").computation([ng.deriv(loss, one) for one in (v, w)], x, v, w)
    computation(*(np.ones([int(a.length) for a in one.axes], np.float32) for one in (x, v, w)))
    assert not loops(computation)


# -- other products ----------------------------------------------------------------------------------------------------


def kernel_sums(dtype: str = "float64") -> tuple[list[ng.Op], list[ng.Op]]:
    """Sums of exp(x y) over y, and what is summed over the rows x as well: no batch."""
    n, m, d = ng.Axis("N", 128), ng.Axis("M", 64), ng.Axis("D", 3)
    x, y, w = (ng.placeholder(axes, dtype=dtype) for axes in ([n, d], [m, d], [m, ng.Axis("E", 2)]))
    products = ng.exp(ng.dot(x, y))
    return [ng.dot(products, w), ng.sum(products, out_axes=[m]), ng.dot(products, x, reduction_axes=[n])], [x, y, w]


def test_matrices_without_a_batch_have_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    results, given_ = kernel_sums()
    values = [np.random.default_rng(i).standard_normal([int(a.length) for a in x.axes]) for i, x in enumerate(given_)]
    computation = ng.make_transformer("cpu").computation(results, *given_)
    found = computation(*values)
    x, y, w = values
    products = np.exp(x @ y.T)
    assert close(found, [products @ w, products.sum(0), products.T @ x], "float64")
    assert len(loops(computation)) == 1


def test_a_step_of_training_writes_its_variables() -> None:
    """In each of several calls."""
    losses = []
    for large in (1 << 12, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(strips, "_LARGE", large)
            case = Attention(apart=True)
            w = ng.variable(case.given[3].axes, initial_value=case.values[3])
            mixed = ng.dot(case.weights, case.given[2], reduction_axes=["Q"])
            loss = ng.mean(ng.square(ng.dot(mixed, w)), out_axes=[])
            of_key = ng.deriv(loss, case.given[1])
            update = ng.assign(w, w - 0.5 * ng.deriv(loss, w))
            step = ng.make_transformer("cpu").computation([loss, of_key, update], *case.given[:3])
            losses.append([float(step(*case.values[:3])[0]) for _ in range(4)])
            assert bool(loops(step)) == (large == 1 << 12)
    assert np.allclose(*losses, rtol=1e-6) and len(set(losses[0])) == 4


def test_what_a_loop_computes_is_told_as_terms_of_the_graph() -> None:
    """A plan names the terms that strips are of, and who listens is told of each term of the graph, and of no other."""
    case, lines = Attention(), list[str]()
    computation = case.computation()
    with ng.trace_calls(lines.append):
        computation(*case.values)
    assert lines and all(line.startswith("%") for line in lines)
    told = computation.plan()
    assert "a first state of semi.batch_dot" in told and "beside each other in 6 bands" in told and "scan" not in told


@pytest.mark.sampled
@pytest.mark.parametrize("order", ["NPD", "NDP", "PND", "PDN", "DNP", "DPN"])
def test_what_is_attended_to_may_be_what_attends(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order of axes: its rows are wanted, and all of it."""
    axes = {"N": ng.Axis("N", 4), "P": ng.Axis("P", 64), "D": ng.Axis("D", DEPTH)}
    x = ng.placeholder([axes[name] for name in order])
    seen = ng.cast_axes(x, [ng.Axis("Q", 64) if name == "P" else axes[name] for name in order])
    weights = ng.softmax(ng.dot(x, seen, reduction_axes=["D"]) * 0.3, normalization_axes=["Q"])
    mixed = ng.dot(weights, seen, reduction_axes=["Q"])
    results = [mixed, ng.deriv(ng.mean(ng.tanh(mixed) * mixed, out_axes=[]), x)]
    value = np.random.default_rng(0).standard_normal(x.shape).astype("float32")  # type: ignore[arg-type]

    def make() -> ng.Computation:
        return ng.make_transformer("cpu").computation(results, x)

    expected, _ = whole(make, [value], monkeypatch)
    computation = make()
    assert close(computation(value), expected) and loops(computation)


@drawn(18)
@given(
    length=st.sampled_from([16, 48, 64]), more=st.sampled_from([0, 16]), apart=st.booleans(), behind=st.booleans(),
    mask=st.sampled_from([None, "added", "keeps"]), kept=st.sets(st.integers(0, 4), min_size=1),
)  # fmt: skip
def test_so_it_is_whatever_is_asked_for(
    length: int, more: int, apart: bool, behind: bool, mask: str | None, kept: set[int]
) -> None:
    """Some of the results, as many keys as queries or more."""
    found = []
    for large in (1 << 12, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(strips, "_LARGE", large)
            case = Attention(length, "float64", apart, mask, behind, more)
            case.results = [case.results[i] for i in kept]
            found.append(case.computation()(*case.values))
    assert close(*found, "float64")
