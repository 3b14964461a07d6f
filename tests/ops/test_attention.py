# SPDX-License-Identifier: Apache-2.0
"""Attention is softmax of products times values, for any shapes and layouts; the square of scores is nowhere."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.library_attention import render_attention
from ngraph_rewrite.runtime.compiler import assembly
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op

Array = np.ndarray[Any, Any]
FLOATS = ["float32", "float64"]
# Sums of up to some hundred products, exponentials of numbers up to 30: of weights that sum up to 1.
CLOSE = {"float32": {"rtol": 2e-5, "atol": 2e-5}, "float64": {"rtol": 1e-12, "atol": 1e-12}}


def wanted(scores: Array, values: Array) -> Array:
    """Weighted values, in float64."""
    scores, values = scores.astype(np.float64), values.astype(np.float64)
    with np.errstate(all="ignore"):
        most = scores.max(axis=-1, keepdims=True)
        weights = np.exp(scores - np.where(np.isfinite(most), most, 0))
        return weights / weights.sum(axis=-1, keepdims=True) @ values


def drawn(seed: int, *shapes: tuple[int, ...], dtype: str = "float32") -> list[Array]:
    random = np.random.default_rng(seed)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]


def leaves(*arrays: Array) -> list[Op]:
    return [ng.placeholder(list(a.shape), dtype=a.dtype.name) for a in arrays]


def run(returns: Op, inputs: list[Op], arrays: list[Array], threads: int = 1) -> tuple[Array, list[str]]:
    """The result, and the kernels by their families."""
    with ng.make_transformer("cpu", threads=threads) as transformer:
        computation = transformer.computation(returns, *inputs)
        found = np.array(computation(*arrays))
        return found, [name.rpartition("_")[0] for name in computation.stats()["kernels"]]


lengths = st.one_of(st.integers(1, 20), st.sampled_from([84, 85, 170]))
keys = st.one_of(st.integers(1, 40), st.sampled_from([255, 256, 257, 600]))


@given(
    batch=st.sampled_from([(1,), (3,), (2, 3), (1, 1)]), m=lengths, e=st.integers(1, 40), n=keys, d=st.integers(1, 70),
    scale=st.sampled_from([1.0, 0.25, -0.5, 0.0]), dtype=st.sampled_from(FLOATS), seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_attention_is_what_it_means(
    batch: tuple[int, ...], m: int, e: int, n: int, d: int, scale: float, dtype: str, seed: int
) -> None:
    """Of more rows and more keys than a block has, and of fewer than a vector."""
    arrays = drawn(seed, (*batch, m, e), (*batch, e, n), (*batch, n, d), dtype=dtype)
    inputs = leaves(*arrays)
    found, kernels = run(make_op("fused.attention", *inputs, scale=scale, fill=0), inputs, arrays)
    assert kernels == ["attention"]
    q, k, v = (a.astype(np.float64) for a in arrays)
    assert_allclose(found, wanted(scale * (q @ k), v), **CLOSE[dtype])


@pytest.mark.parametrize("dtype", FLOATS)
def test_given_scores_are_weights_too(dtype: str) -> None:
    arrays = drawn(1, (2, 90, 300), (2, 300, 20), dtype=dtype)
    inputs = leaves(*arrays)
    found, kernels = run(make_op("fused.mixture", *inputs, scale=3.0, fill=0), inputs, arrays)
    assert kernels == ["attention"]
    assert_allclose(found, wanted(3.0 * arrays[0].astype(np.float64), arrays[1]), **CLOSE[dtype])


@pytest.mark.parametrize("count", [7, 300])
def test_special_values_are_those_of_softmax(count: int) -> None:
    """A row that nothing is seen from, a block of keys that nobody sees, infinities, NaN, very large scores."""
    scores, values = drawn(2, (1, 8, count), (1, count, 5))
    scores[0, 0] = -np.inf
    scores[0, 1, : count - 1] = -np.inf
    scores[0, 2, 3] = np.inf
    scores[0, 3, 4] = np.nan
    scores[0, 4] = np.linspace(-3e38, 3e38, count)
    scores[0, 5, : count // 2] = -np.inf
    scores[0, 6, :] = -1e4
    scores[0, 6, count - 1] = -1e4 + 1
    inputs = leaves(scores, values)
    found, _ = run(make_op("fused.mixture", *inputs, scale=1.0, fill=0), inputs, [scores, values])
    assert_allclose(found, wanted(scores, values), rtol=1e-5, atol=1e-6)


def test_the_same_bits_for_any_number_of_threads() -> None:
    arrays = drawn(3, (2, 3, 200, 32), (2, 3, 32, 500), (2, 3, 500, 48))
    inputs = leaves(*arrays)
    term = make_op("fused.attention", *inputs, scale=0.2, fill=0)
    alone, _ = run(term, inputs, arrays)
    for threads in (2, 3):
        assert np.array_equal(run(term, inputs, arrays, threads)[0], alone)


# -- found where it is written ----------------------------------------------------------------------------------------

N, A, P, Q, E, D = (ng.Axis(a, n) for a, n in zip("NAPQED", (2, 3, 6, 9, 4, 5), strict=True))


def named(order: str) -> tuple[list[Op], list[Array], Array]:
    """Queries, keys and values with axes in some order, and what is wanted of them by N, A, P, D."""
    by_name = {x.name: x for x in (N, A, P, Q, E, D)}
    axes = [[by_name[a] for a in order if a in own] for own in ("NAPE", "NAQE", "NAQD")]
    inputs = [ng.placeholder(own) for own in axes]
    arrays = drawn(4, *[tuple(int(a.length) for a in own) for own in axes])
    names = ["".join(str(a.name).lower() for a in own) for own in axes]
    q, k, v = (a.astype(np.float64) for a in arrays)
    scores = np.einsum(f"{names[0]},{names[1]}->napq", q, k) * 0.5
    weights = wanted(scores, np.einsum(f"{names[2]}->naqd", v))
    return inputs, arrays, weights


@pytest.mark.parametrize("order", ["NAPQED", "NPQAED", "DEQPAN", "APQNED"])
@pytest.mark.parametrize("divided", [False, True])
def test_it_is_found_in_any_order_of_axes(order: str, divided: bool) -> None:
    (q, k, v), arrays, right = named(order)
    scores = ng.dot(q, k, reduction_axes=["E"])
    scores = scores / 2.0 if divided else scores * 0.5
    mixed = ng.dot(ng.softmax(scores, normalization_axes=["Q"]), v, reduction_axes=["Q"])
    found, kernels = run(ng.axes_with_order(mixed, [N, A, P, D]), [q, k, v], arrays)
    assert kernels.count("attention") == 1 and "rows" not in kernels and "gemm" not in kernels
    assert_allclose(found, right, **CLOSE["float32"])


@pytest.mark.parametrize("turned", [False, True])
def test_it_is_found_without_samples(turned: bool) -> None:
    """Matrices, as they lie and transposed."""
    shapes = [(6, 4), (9, 4), (9, 5)]
    arrays = drawn(5, *[s[::-1] if turned else s for s in shapes])
    inputs = leaves(*arrays)
    q, k, v = [ng.numpy.matrix_transpose(x) if turned else x for x in inputs]
    scores = ng.numpy.matmul(q, ng.numpy.matrix_transpose(k)) * 0.5
    mixed = ng.numpy.matmul(ng.numpy.softmax(scores, axis=-1) if turned else softmax(scores), v)
    found, kernels = run(mixed, inputs, arrays)
    assert kernels == ["attention"]
    a, b, c = [x.T if turned else x for x in arrays]
    assert_allclose(found, wanted(0.5 * (a @ b.T), c), **CLOSE["float32"])


def softmax(scores: Op) -> Op:
    """As it is written by hand."""
    e = ng.numpy.exp(scores - ng.numpy.max(scores, axis=-1, keepdims=True))
    return e / ng.numpy.sum(e, axis=-1, keepdims=True)


@pytest.mark.parametrize("divided", [False, True])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [("kept", "NAPQ"), *((kind, shape) for kind in ("added", "kept") for shape in ("PQ", "NPQ", "NQ", "Q"))],
)
def test_a_mask_is_part_of_the_kernel(kind: str, shape: str, divided: bool) -> None:
    """One for all samples or heads, or one that keeps scores; neither scores nor weights are in memory."""
    lengths = dict(zip("NAPQ", (2, 3, 6, 9), strict=True))
    arrays = drawn(4, (2, 3, 6, 4), (2, 3, 4, 9), (2, 3, 9, 5))
    seen = np.random.default_rng(5).random([lengths[a] if a in shape else 1 for a in "NAPQ"]) < 0.7
    seen[..., 0] = True
    mask = seen if kind == "kept" else np.where(seen, 0, -np.inf).astype(np.float32)
    inputs = leaves(*arrays, mask)
    q, k, v, hidden = inputs
    scores = ng.numpy.matmul(q, k)
    scores = scores / 2.0 if divided else scores * 0.5
    scores = scores + hidden if kind == "added" else ng.numpy.where(hidden, scores, -1e4)
    found, kernels = run(ng.numpy.matmul(softmax(scores), v), inputs, [*arrays, mask])
    assert kernels.count("attention") == 1 and "rows" not in kernels and "gemm" not in kernels
    a, b, c = (x.astype(np.float64) for x in arrays)
    assert_allclose(found, wanted(np.where(seen, 0.5 * (a @ b), -np.inf), c), **CLOSE["float32"])


def test_a_mask_over_named_axes_is_part_of_the_kernel() -> None:
    (q, k, v), arrays, _ = named("NAPQED")
    mask = ng.placeholder([P, Q])
    hidden = np.where(np.arange(9) > np.arange(6)[:, None] + 3, -np.inf, 0).astype(np.float32)
    scores = ng.dot(q, k, reduction_axes=["E"]) * 0.5 + mask
    mixed = ng.dot(ng.softmax(scores, normalization_axes=["Q"]), v, reduction_axes=["Q"])
    found, kernels = run(ng.axes_with_order(mixed, [N, A, P, D]), [q, k, v, mask], [*arrays, hidden])
    assert kernels.count("attention") == 1 and "rows" not in kernels and "gemm" not in kernels
    plain = np.einsum("nape,naqe->napq", *(a.astype(np.float64) for a in arrays[:2])) * 0.5
    assert_allclose(found, wanted(plain + hidden, arrays[2]), **CLOSE["float32"])


@given(
    batch=st.sampled_from([(1,), (3,), (2, 3)]), m=lengths, n=keys, kind=st.sampled_from(["added", "kept"]),
    fill=st.sampled_from([0.0, -3.0, -np.inf]), dtype=st.sampled_from(FLOATS), seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=15, deadline=None)
def test_masked_attention_is_what_it_means(
    batch: tuple[int, ...], m: int, n: int, kind: str, fill: float, dtype: str, seed: int
) -> None:
    """Rows that see nothing included, and blocks of keys that no row sees; the same bits on two threads."""
    arrays = drawn(seed, (*batch, m, 7), (*batch, 7, n), (*batch, n, 5), dtype=dtype)
    random = np.random.default_rng(seed)
    seen = (random.random((*batch, m, n)) < 0.7) & (random.random((*batch, 1, 1)) < 0.8)
    seen[..., : n // 2] &= bool(seed % 2)
    mask = seen if kind == "kept" else np.where(seen, 0, fill).astype(dtype)
    inputs = leaves(*arrays, mask)
    term = make_op("fused.attention", *inputs, scale=0.5, fill=fill)
    found, _ = run(term, inputs, [*arrays, mask])
    q, k, v = (a.astype(np.float64) for a in arrays)
    scores = 0.5 * (q @ k)
    scores = np.where(seen, scores, fill) if kind == "kept" else scores + mask
    assert_allclose(found, wanted(scores, v), **CLOSE[dtype])
    assert np.array_equal(run(term, inputs, [*arrays, mask], 2)[0], found, equal_nan=True)


def test_weights_that_derivatives_read_are_computed_once() -> None:
    (q, k, v), arrays, _ = named("NAPQED")
    scores = ng.dot(q, k, reduction_axes=["E"]) * 0.5
    mixed = ng.dot(ng.softmax(scores, normalization_axes=["Q"]), v, reduction_axes=["Q"])
    loss = ng.sum(ng.square(mixed), out_axes=())
    returns = [loss, *ng.deriv(loss, [q, k, v])]
    found = {}
    for target in ("reference", "cpu"):
        with ng.make_transformer(target) as transformer:
            computation = transformer.computation(returns, q, k, v)
            found[target] = computation(*arrays)
            kernels = computation.stats()["kernels"] if target == "cpu" else []
    assert not any(name.startswith("attention") for name in kernels)
    for one, two in zip(found["cpu"], found["reference"], strict=True):
        assert_allclose(one, two, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(6, 9), (1, 6, 9), (54,)])
def test_scores_that_something_else_reads_are_computed_once(shape: tuple[int, ...]) -> None:
    """In whatever shape: one of them is that in which they are weighed."""
    arrays = drawn(9, (6, 4), (4, 9), (9, 5))
    inputs = leaves(*arrays)
    q, k, v = inputs
    scores = ng.numpy.matmul(q, k)
    mixed = ng.numpy.matmul(softmax(scores), v)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([mixed, ng.numpy.reshape(scores, shape)], *inputs)
        found = computation(*arrays)
        assert "attention.attention" not in computation.explain(mixed)
    right = arrays[0] @ arrays[1]
    assert_allclose(found[0], wanted(right, arrays[2]), **CLOSE["float32"])
    assert_allclose(found[1], right.reshape(shape), **CLOSE["float32"])


def test_keys_that_nobody_sees_are_passed_by() -> None:
    """Whole blocks behind a causal mask; and a row that sees nothing."""
    arrays = drawn(8, (1, 300, 8), (1, 8, 600), (1, 600, 5))
    mask = np.arange(600) <= np.arange(300)[:, None]
    mask[7] = False
    inputs = leaves(*arrays, mask[None])
    term = make_op("fused.attention", *inputs, scale=0.5, fill=-np.inf)
    found, _ = run(term, inputs, [*arrays, mask[None]])
    q, k, v = (a.astype(np.float64) for a in arrays)
    assert_allclose(found, wanted(np.where(mask, 0.5 * (q @ k), -np.inf), v), **CLOSE["float32"])


def test_the_square_is_nowhere() -> None:
    """Of 4096 keys and as many queries the scores would be 64 MiB."""
    arrays = drawn(6, (4096, 8), (4096, 8), (4096, 8))
    inputs = leaves(*arrays)
    q, k, v = inputs
    scores = ng.numpy.matmul(q, ng.numpy.matrix_transpose(k))
    mixed = ng.numpy.matmul(softmax(scores), v)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(mixed, *inputs)
        found = computation(*arrays)
        assert computation.stats()["arena_bytes"] < 2**24
    rows = [0, 1000, 4095]
    assert_allclose(found[rows], wanted(arrays[0][rows] @ arrays[1].T, arrays[2]), **CLOSE["float32"])


# -- code -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_loops_over_keys_are_packed(dtype: str, tmp_path: Path) -> None:
    """The scores of a row are looked at, and their exponentials taken, in vectors."""
    source = render_attention(dtype)
    text = assembly(source.text, source.name, Cache(tmp_path))
    word = {"x86_64": rf"\bv?mulp{'s' if dtype == 'float32' else 'd'}\s", "aarch64": r"\bfmul\s+v"}[PROCESSOR]
    assert len(re.findall(word, text)) > 4


PROCESSOR = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
