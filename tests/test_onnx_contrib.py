# SPDX-License-Identifier: Apache-2.0
"""Operators of onnxruntime that the reader of ONNX models, in examples/, has: against loops over NumPy's float64."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from onnx import helper, numpy_helper

import ngraph_rewrite as ng

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))
reader, packed = map(import_module, ("onnx_reader", "onnx_reader.packed"))
FOUR = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.INT4)


def model_of(name: str, inputs: Sequence[Any], outputs: int, known: Sequence[int] = (), **how: Any) -> onnx.ModelProto:
    """A model of one node. Inputs are arguments, but for those `known`, which the model brings; None is left out."""
    arrays = [v if v is None else np.asarray(v) for v in inputs]
    names = ["" if v is None else f"i{k}" for k, v in enumerate(arrays)]
    results = [f"o{k}" for k in range(outputs)]
    node = helper.make_node(name, names, results, domain=how.pop("domain", "com.microsoft"), **how)
    given = [(n, v) for k, (n, v) in enumerate(zip(names, arrays, strict=True)) if n and k not in known]
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given]
    graph = helper.make_graph(
        [node], "g", infos, [onnx.ValueInfoProto(name=n) for n in results],
        [numpy_helper.from_array(arrays[k], names[k]) for k in known],
    )  # fmt: skip
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=sets)


def run(
    name: str, inputs: Sequence[Any], outputs: int = 1, known: Sequence[int] = (), target: str = "reference", **how: Any
) -> list[Any]:
    """What a node gives."""
    model = reader.read(model_of(name, inputs, outputs, known, **how), trainable=False)
    wanted = [v for v in model.outputs.values() if isinstance(v, ng.Op)]
    arguments = [inputs[int(n[1:])] for n in model.inputs]
    with ng.make_transformer(target) as transformer:
        found = dict(zip(wanted, transformer.computation(wanted, *model.inputs.values())(*arguments), strict=True))
    return [found[v] if isinstance(v, ng.Op) else v for v in model.outputs.values()]


def floats(random: np.random.Generator, *shape: int) -> Any:
    return random.normal(size=shape).astype(np.float32)


def close(found: Any, wanted: Any) -> None:
    """In float32, through sums of some tens of products; what cancels is rounded as the greatest of them is."""
    assert found.dtype == np.float32 and found.shape == wanted.shape
    assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 + 1e-6 * np.max(np.abs(wanted)))


# -- integers to integers -----------------------------------------------------------------------------------


def stands_for(x: Any, scale: Any, zero: Any) -> Any:
    return (x.astype(np.float64) - zero) * np.float64(scale)


def as_integers(y: Any, scale: Any, zero: Any) -> Any:
    limits = np.iinfo(zero.dtype)
    return np.clip(np.round(y / np.float64(scale)) + zero, limits.min, limits.max).astype(zero.dtype)


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# For each operator its attributes, and what it does to floats (2, 3, 4, 4).
UNARY: dict[str, tuple[dict[str, Any], Any]] = {
    "QLinearSigmoid": ({}, lambda x: 1 / (1 + np.exp(-x))),
    "QLinearLeakyRelu": ({"alpha": 0.25}, lambda x: np.where(x < 0, 0.25 * x, x)),
    "QLinearSoftmax": ({"axis": 1, "opset": 13}, lambda x: softmax(x, 1)),
    "QLinearReduceMean": ({"axes": [1, -1], "keepdims": 0}, lambda x: x.mean((1, 3))),
    "QLinearGlobalAveragePool": ({"channels_last": 1}, lambda x: x.mean((1, 2), keepdims=True)),
    "QLinearAveragePool": ({"kernel_shape": [2, 2], "strides": [2, 2]},
                           lambda x: x.reshape(2, 3, 2, 2, 2, 2).mean((3, 5))),
}  # fmt: skip


def integers(dtype: Any, *shape: int) -> Any:
    return np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8).view(dtype)


def same_but_for_halves(found: Any, wanted: Any) -> None:
    """What lies in the middle of two integers is rounded one way in float32 and another in float64."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    apart = np.abs(found.astype(int) - wanted)
    assert apart.max() <= 1 and np.mean(apart > 0) < 0.05


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("name", UNARY)
def test_what_is_computed_of_integers_is_that_of_the_floats_they_stand_for(name: str, dtype: Any) -> None:
    how, function = UNARY[name]
    x, zero, end = integers(dtype, 2, 3, 4, 4), np.array(100, dtype), np.array(5, dtype)
    (found,) = run(name, [x, np.float32(0.03), zero, np.float32(1 / 64), end], **how)
    same_but_for_halves(found, as_integers(function(stands_for(x, np.float32(0.03), zero)), 1 / 64, end))


@pytest.mark.parametrize("name", ["QLinearAdd", "QLinearMul"])
def test_two_factors_have_scales_of_their_own(name: str) -> None:
    """One may be repeated, scales may be vectors of one, and without a zero it is 0."""
    x, y = integers(np.uint8, 2, 3, 4), integers(np.uint8, 3, 1)[::-1].copy()
    scales = [np.array([0.02], "f"), np.array(0.03, "f"), np.array(0.1, "f")]
    (found,) = run(name, [x, scales[0], np.uint8(90), y, scales[1], np.uint8(120), scales[2]])
    function = np.add if name == "QLinearAdd" else np.multiply
    wanted = function(stands_for(x, scales[0], 90.0), stands_for(y, scales[1], 120.0))
    same_but_for_halves(found, as_integers(wanted, scales[2], np.array(0, np.uint8)))


def test_parts_and_choices_get_one_scale() -> None:
    x, y, one, other = integers(np.int8, 2, 3), integers(np.int8, 2, 4), np.float32(0.05), np.float32(0.03)
    given = [one, np.int8(3), x, one, np.int8(3), y, other, np.int8(-9)]
    (found,) = run("QLinearConcat", given, axis=1, known=(0, 1, 3, 4))
    assert_array_equal(found[:, :3], x)
    same_but_for_halves(found[:, 3:], as_integers(stands_for(y, other, -9.0), one, np.array(3, np.int8)))
    which = np.arange(6).reshape(2, 3) % 2 == 0
    (found,) = run("QLinearWhere", [which, x, one, np.int8(3), y[:, :3], other, np.int8(-9), one, np.int8(1)])
    wanted = np.where(which, stands_for(x, one, 3.0), stands_for(y[:, :3], other, -9.0))
    same_but_for_halves(found, as_integers(wanted, one, np.array(1, np.int8)))


@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("rounded", [False, True])
def test_a_product_of_integers_may_give_floats(turn: int, rounded: bool) -> None:
    """The third factor is of integers that have the scale of the products."""
    x, w, scale = integers(np.uint8, 3, 4), integers(np.int8, 4, 5), np.linspace(0.01, 0.02, 5, dtype="f")
    zeros, more = np.arange(5, dtype=np.int8), np.array([5, -3, 100, 2000, -700], np.int32)
    wanted = 2 * (stands_for(x, 0.5, 7.0) @ stands_for(w, scale, zeros) + 0.5 * scale * more)
    end = [np.float32(8), np.int8(4)] if rounded else []
    given = [x, np.float32(0.5), np.uint8(7), w.T.copy() if turn else w, scale, zeros, more, *end]
    (found,) = run("QGemm", given, transB=turn, alpha=2.0)
    same_but_for_halves(found, as_integers(wanted, 8, np.array(4, np.int8))) if rounded else close(found, wanted)


def test_images_may_have_their_channels_last() -> None:
    x, w = integers(np.uint8, 1, 4, 4, 3), integers(np.int8, 2, 3, 3, 3)
    numbers = [np.float32(0.01), np.uint8(9), w, np.float32(0.02), np.int8(0), np.float32(0.3), np.uint8(100)]
    (found,) = run("QLinearConv", [x, *numbers], channels_last=1, known=(3,))
    (wanted,) = run("QLinearConv", [x.transpose(0, 3, 1, 2).copy(), *numbers], domain="", known=(3,))
    assert_array_equal(found, wanted.transpose(0, 2, 3, 1))
    (found,) = run("NhwcMaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    assert_array_equal(found, x.reshape(1, 2, 2, 2, 2, 3).max((2, 4)))


# -- weights of few bits ------------------------------------------------------------------------------------


def numbers_of(bytes_: Any, bits: int) -> Any:
    """Few bits each, the lowest of a byte first."""
    return np.stack([bytes_ >> bits * k & 2**bits - 1 for k in range(8 // bits)], -1).reshape(*bytes_.shape[:-1], -1)


@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_a_product_with_weights_of_few_bits(bits: int, zeros: str, monkeypatch: Any) -> None:
    """In one piece or in several, of rows that end within a block; they stay packed until a call."""
    random, size, rows, blocks = np.random.default_rng(bits), 40, 37, 3
    w = random.integers(0, 256, (rows, blocks, 16 * bits // 8), np.uint8)
    scale, x = floats(random, rows, blocks), floats(random, 2, 3, size)
    own = {"none": None, "floats": floats(random, rows, blocks) + 2,
           "packed": random.integers(0, 256, (rows, -(-blocks * bits // 8)), np.uint8)}[zeros]  # fmt: skip
    zero = 2 ** (bits - 1) if own is None else own if zeros == "floats" else numbers_of(own, bits)[:, :blocks]
    zero = np.reshape(np.float64(zero), () if own is None else (rows, blocks, 1))
    whole = (numbers_of(w, bits) - zero) * scale[..., None]
    wanted = x.astype(float) @ whole.reshape(rows, -1)[:, :size].T
    given, how = [x, w, scale, own, None, np.ones(rows, "f")], {"K": size, "N": rows, "bits": bits, "block_size": 16}
    known = [k for k in (1, 2, 3) if given[k] is not None]
    for piece in (packed.PIECE, 16 * size):
        monkeypatch.setattr(packed, "PIECE", piece)
        for target in ("reference", "cpu"):
            close(run("MatMulNBits", given, known=known, target=target, **how)[0], wanted + 1)
    model = reader.read(model_of("MatMulNBits", given, 1, known, **how), trainable=False)
    assert list(model.weights) == ["i1"] and model.weights["i1"].dtype == np.uint8
    close(np.asarray(run("MatMulNBits", given, known=range(4) if own is not None else range(3), **how)[0]), wanted + 1)


def test_scales_of_packed_weights_have_slopes() -> None:
    """Each that of what is multiplied with it."""
    random = np.random.default_rng(0)
    w, scale, x = random.integers(0, 256, (3, 2, 8), np.uint8), floats(random, 3, 2), floats(random, 4, 32)
    proto = model_of("MatMulNBits", [x, w, scale], 1, (1, 2), K=32, N=3, block_size=16)
    model = reader.read(proto)
    slope = ng.deriv(ng.numpy.sum(model.outputs["o0"]), model.weights["i2"])
    with ng.make_transformer("cpu") as transformer:
        found = transformer.computation(slope, *model.inputs.values())(x)
    close(found, np.einsum("mbk,nbk->nb", x.reshape(4, 2, 16).astype(float), numbers_of(w, 4) - 8.0))


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", [False, True])
def test_rows_of_a_table_of_few_bits(bits: int, zeros: bool) -> None:
    random, each = np.random.default_rng(bits), 8 // bits
    table, scale = random.integers(0, 256, (9, 48 // each), np.uint8), floats(random, 9, 3)
    own = random.integers(0, 256, (9, -(-3 // each)), np.uint8) if zeros else None
    zero = numbers_of(own, bits)[:, :3] if own is not None else np.full((9, 3), 2 ** (bits - 1))
    wanted = (numbers_of(table, bits) - zero.repeat(16, 1).astype(float)) * scale.repeat(16, 1)
    places = np.array([[3, -1, 0], [8, 3, 2]])
    known = (0, 2, 3) if zeros else (0, 2)
    (found,) = run("GatherBlockQuantized", [table, places, scale, own], known=known, bits=bits, block_size=16)
    close(found, wanted[places])


@pytest.mark.parametrize("blocks", range(3))
@pytest.mark.parametrize("axis", range(3))
def test_places_and_blocks_may_be_along_any_axis(axis: int, blocks: int) -> None:
    random, shape = np.random.default_rng(0), (6, 4, 20)
    table = random.integers(-8, 8, shape)
    many = [-(-n // 16) if k == blocks else n for k, n in enumerate(shape)]
    scale, zero, places = floats(random, *many), random.integers(-8, 8, many), np.array([[1, -1], [0, 2]])
    whole = [v.repeat(16, blocks).take(range(shape[blocks]), blocks) for v in (scale, zero)]
    given = [table.astype(FOUR), places, scale, zero.astype(FOUR)]
    how = {"gather_axis": axis, "quantize_axis": blocks, "block_size": 16}
    (found,) = run("GatherBlockQuantized", given, known=(0, 2, 3), **how)
    close(found, ((table - whole[1].astype(float)) * whole[0]).take(places, axis))


# -- attention ----------------------------------------------------------------------------------------------


def apart(x: Any, many: int) -> Any:
    """Heads (batch, heads, words, size)."""
    return x.reshape(*x.shape[:2], many, -1).transpose(0, 2, 1, 3).astype(np.float64)


def together(x: Any) -> Any:
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attended(q: Any, k: Any, v: Any, added: Any = 0.0, scale: float | None = None) -> Any:
    k, v = (x.repeat(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = np.einsum("bnsh,bnth->bnst", q, k) * (scale or q.shape[-1] ** -0.5)
    return together(np.einsum("bnst,bnth->bnsh", softmax(scores + added), v))


def causal(words: int, length: int) -> Any:
    return np.where(np.arange(length) > np.arange(words)[:, None] + length - words, -np.inf, 0)


def test_many_heads_see_what_a_mask_leaves() -> None:
    random = np.random.default_rng(0)
    q, k, v, bias = (floats(random, *s) for s in ((2, 5, 24), (2, 7, 24), (2, 7, 36), (84,)))
    parts = [apart(x + b, 3) for x, b in zip((q, k, v), np.split(bias, [24, 48]), strict=True)]
    close(run("MultiHeadAttention", [q, k, v, bias], num_heads=3, scale=0.3)[0], attended(*parts, scale=0.3))
    q, k, v = (apart(x, 3) for x in (q, k, v))
    flat = [together(x).astype("f") for x in (q, k, v)]
    places = np.array([[1, 1, 0, 1, 1, 1, 0], [0, 1, 1, 1, 0, 1, 1]], np.int32)
    each = np.stack([np.roll(places, n, 1) for n in range(5)], 1)
    kept = [(np.array([4, 7], np.int32), np.arange(7) < np.array([4, 7]).reshape(2, 1, 1, 1)),
            (places, places.reshape(2, 1, 1, 7) > 0), (each, each.reshape(2, 1, 5, 7) > 0)]  # fmt: skip
    more = floats(random, 1, 3, 5, 7)
    for mask, counts in kept:
        given = [*flat, None, mask, more]
        (found,) = run("MultiHeadAttention", given, num_heads=3, mask_filter_value=-2.0)
        close(found, attended(q, k, v, more + np.where(counts, 0, -2)))


def test_keys_and_values_may_lie_in_other_ways() -> None:
    random = np.random.default_rng(1)
    q, k, v = (floats(random, 2, 3, n, 8) for n in (5, 7, 7))
    flat, wanted = together(q), attended(*(x.astype(float) for x in (q, k, v)))
    close(run("MultiHeadAttention", [flat, k, v], num_heads=3)[0], wanted)
    both = np.stack([x.transpose(0, 2, 1, 3) for x in (k, v)], 3)
    close(run("MultiHeadAttention", [flat, both], num_heads=3)[0], wanted)
    every = np.stack([x.transpose(0, 2, 1, 3) for x in (k, k, v)], 3)
    close(run("MultiHeadAttention", [every], num_heads=3)[0], attended(*(x.astype(float) for x in (k, k, v))))
    bias = floats(random, 72)
    shown = attended(q + bias[:24].reshape(3, 1, 8).astype(float), k, v)
    close(run("MultiHeadAttention", [flat, k, v, bias], num_heads=3)[0], shown)


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_a_cache_goes_on_with_what_was_there(target: str) -> None:
    """Two calls give what one does."""
    random = np.random.default_rng(2)
    q, k, v = (floats(random, 2, 6, 24) for _ in range(3))
    wanted = attended(*(apart(x, 3) for x in (q, k, v)), causal(6, 6))
    how = {"num_heads": 3, "unidirectional": 1, "target": target}
    first, *cache = run("MultiHeadAttention", [q[:, :4], k[:, :4], v[:, :4]], 3, **how)
    last, *cache = run("MultiHeadAttention", [q[:, 4:], k[:, 4:], v[:, 4:], None, None, None, *cache], 3, **how)
    close(np.concatenate([first, last], 1), wanted)
    assert_array_equal(cache[0], apart(k, 3))
    x, w, b = floats(random, 2, 6, 5), floats(random, 5, 72), floats(random, 72)
    parts = [apart(p, 3) for p in np.split(x.astype(float) @ w + b, 3, -1)]
    first, past = run("Attention", [x[:, :4], w, b], 2, **how)
    last, past = run("Attention", [x[:, 4:], w, b, None, past], 2, **how)
    close(np.concatenate([first, last], 1), attended(*parts, causal(6, 6)))
    close(past, np.stack(parts[1:]))


def test_projections_may_be_of_integers_and_of_several_widths() -> None:
    random = np.random.default_rng(3)
    x, w, b = floats(random, 2, 5, 6), floats(random, 6, 84), floats(random, 84)
    parts = [apart(p, 3) for p in np.split(x.astype(float) @ w + b, [24, 48], -1)]
    ends = np.array([4, 5, 1, 0], np.int32)  # of each sample the end and the start
    counts = (np.arange(5) < ends[:2].reshape(2, 1, 1, 1)) & (np.arange(5) >= ends[2:].reshape(2, 1, 1, 1))
    found = run("Attention", [x, w, b, ends], num_heads=3, qkv_hidden_sizes=[24, 24, 36])[0]
    close(found, attended(*parts, np.where(counts, 0, -10000)))
    y, u = integers(np.uint8, 2, 5, 6), integers(np.int8, 6, 72)
    scale, zeros, bias = np.linspace(0.01, 0.02, 72, dtype="f"), np.arange(72, dtype=np.int8), floats(random, 72)
    whole = stands_for(y, np.float32(0.02), 120.0) @ stands_for(u, scale, zeros) + bias
    given = [y, u, bias, np.float32(0.02), scale, None, np.uint8(120), zeros]
    found = run("QAttention", given, known=(1,), num_heads=3, unidirectional=1)[0]
    close(found, attended(*(apart(p, 3) for p in np.split(whole, 3, -1)), causal(5, 5)))


def test_numbers_are_turned_by_pairs() -> None:
    """Neighbours or halves, the first numbers of a head or all; a place is that of each word, or of the first."""
    random = np.random.default_rng(4)
    x, angles, places = floats(random, 2, 3, 5, 12), random.normal(size=(9, 4)), random.integers(0, 9, (2, 5))
    for interleaved in (0, 1):
        pairs = x[..., :8].reshape(2, 3, 5, 4, 2) if interleaved else x[..., :8].reshape(2, 3, 5, 2, 4).swapaxes(-1, -2)
        z = (pairs[..., 0] + 1j * pairs[..., 1].astype(float)) * np.exp(1j * angles[places])[:, None]
        turned = np.stack([z.real, z.imag], -1)
        turned = (turned if interleaved else turned.swapaxes(-1, -2)).reshape(2, 3, 5, 8)
        tables = [f(angles).astype("f") for f in (np.cos, np.sin)]
        how: dict[str, Any] = {"interleaved": interleaved}
        close(run("RotaryEmbedding", [x[..., :8].copy(), places, *tables], **how)[0], turned)
        part = {"num_heads": 3, "rotary_embedding_dim": 8, **how}
        found = run("RotaryEmbedding", [together(x), places, *tables], **part)[0]
        close(found, together(np.concatenate([turned, x[..., 8:]], -1)))
        counted = [run("RotaryEmbedding", [x[..., :8].copy(), p, *tables], **how)[0]
                   for p in (np.array([3]), np.tile(np.arange(3, 8), (2, 1)))]  # fmt: skip
        assert_array_equal(*counted)


def grouped(q: Any, k: Any, v: Any, sizes: Sequence[int], **how: Any) -> Any:
    """What the last words of each sample see, of samples of these sizes."""
    cap, window, sink = how.get("softcap"), how.get("local_window_size", 0), how.get("sink")
    found = np.zeros((*q.shape[:3], v.shape[-1]))
    words = q.shape[2]
    for b, n, s in np.ndindex(q.shape[:3]):
        own = n // (q.shape[1] // k.shape[1])
        end = max(sizes[b] - words, 0) + s + 1
        seen = slice(max(end - window, 0) if window else 0, end)
        scores = k[b, own, seen] @ q[b, n, s] * (how.get("scale") or q.shape[-1] ** -0.5)
        scores = cap * np.tanh(scores / cap) if cap else scores
        scores = scores if sink is None else np.append(scores, sink[n])
        found[b, n, s] = softmax(scores)[: end - seen.start] @ v[b, own, seen]
    return together(found)


GROUPS: dict[str, dict[str, Any]] = {
    "plain": {}, "window": {"local_window_size": 3}, "cap": {"softcap": 2.0, "scale": 0.5},
    "sink": {"sink": np.array([0.5, -1, 2, 0], "f")}, "smooth": {"smooth_softmax": 1},
}  # fmt: skip


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("room", [0, 9])
@pytest.mark.parametrize("name", GROUPS)
def test_heads_of_queries_share_keys_in_a_cache(name: str, room: int, batch: int) -> None:
    """A prompt, of which one sample has a word less, and two words of which each is seen by the next.

    A cache grows, or has room for all.
    """
    random, how, sizes = np.random.default_rng(5), dict(GROUPS[name]), np.array([4, 3])[:batch]
    sink = how.pop("sink", None)
    every = [floats(random, batch, 7, n * 8) for n in (4, 2, 2)]
    kept = [np.zeros((batch, 2, 9, 8)) for _ in range(2)]
    cache = [np.zeros((batch, 2, room, 8), "f") for _ in range(2)]
    said = {**how, "sink": np.zeros(4) if "smooth_softmax" in how else sink}
    for start, stop in ((0, 4), (4, 5), (5, 6)):
        new, words = [x[:, start:stop].copy() for x in every], stop - start
        for old, x in zip(kept, new[1:], strict=True):
            for b in range(batch):
                first = 0 if start == 0 else sizes[b]
                old[b, :, first : first + words] = apart(x, 2)[b]
        sizes = sizes if start == 0 else sizes + 1
        given = [*new, *cache, (sizes - 1).astype(np.int32), np.array([stop], np.int32), *[None] * 4, sink]
        found, *cache = run("GroupQueryAttention", given, 3, known=(6,), num_heads=4, kv_num_heads=2, **how)
        wanted = grouped(apart(new[0], 4), *kept, sizes if start else [4] * batch, **said)
        for b in range(batch):
            close(found[b], wanted[b])
            for one, other in zip(cache, kept, strict=True):
                assert one.shape[2] == (room or stop)
                assert_array_equal(one[b, :, : sizes[b]], other[b, :, : sizes[b]])


@pytest.mark.parametrize("room", [3, 5])
def test_a_cache_may_keep_a_window(room: int) -> None:
    """Of the last three words, or some more; where there is no room for the next it drops as many as it may."""
    random, stop = np.random.default_rng(15), 0
    every = [floats(random, 1, 12, n * 8) for n in (4, 2, 2)]
    cache = [np.full((1, 2, room, 8), 7, "f") for _ in range(2)]
    for words in (2, 4, 1, 1, 3):
        new, stop = [x[:, stop : stop + words].copy() for x in every], stop + words
        given = [*new, *cache, np.array([stop - 1], np.int32), np.array([stop], np.int32)]
        how = {"num_heads": 4, "kv_num_heads": 2, "local_window_size": 3, "sliding_window_cache": 1}
        found, *cache = run("GroupQueryAttention", given, 3, known=(6,), **how)
        whole, spare = [apart(x[:, :stop], 2) for x in every[1:]], room - 2
        close(found, grouped(apart(new[0], 4), *whole, [stop], local_window_size=3))
        left = stop - spare * max(-(-(stop - room) // spare), 0)
        for one, other in zip(cache, whole, strict=True):
            assert_array_equal(one[:, :, :left], other[:, :, stop - left :])


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("bits", [8, 4])
def test_a_cache_may_be_of_integers(bits: int, each: bool) -> None:
    """With one scale, or one for each number of a head; new words are seen as they are stored."""
    random, least = np.random.default_rng(16), -(2 ** (bits - 1))
    q, *new = (floats(random, 2, 3, n * 8) for n in (4, 2, 2))
    scales = [np.linspace(1, 2, 16 if each else 1, dtype="f") / (60 if bits == 8 else 3)] * 2
    scales = [s.reshape(1, 2, 1, 8) if each else s for s in scales]
    old = [random.integers(least, -least, (2, 2, 5, 8)) for _ in range(2)]
    whole = [np.concatenate([p, np.clip(np.round(apart(x, 2) / s), least, -least - 1)], 2)
             for p, x, s in zip(old, new, scales, strict=True)]  # fmt: skip

    def stored(x: Any) -> Any:
        x = x.astype(int)
        return x.astype(np.int8) if bits == 8 else (x[..., ::2] + 8 | (x[..., 1::2] + 8) << 4).astype(np.uint8)

    given = [q, *new, *map(stored, old), np.array([7, 7], np.int32), np.array([8], np.int32), *[None] * 5, *scales]
    kind = "PER_CHANNEL" if each else "PER_TENSOR"
    how = {"num_heads": 4, "kv_num_heads": 2, "kv_cache_bit_width": bits, "k_quant_type": kind, "v_quant_type": kind}
    found, *cache = run("GroupQueryAttention", given, 3, known=(6,), **how)
    for one, other in zip(cache, whole, strict=True):
        assert one.dtype == stored(other).dtype
        assert_array_equal(one, stored(other))
    close(found, grouped(apart(q, 4), *(x * s for x, s in zip(whole, scales, strict=True)), [8, 8]))


def test_queries_and_keys_are_turned_where_they_stand() -> None:
    """Side by side in one input; behind a cache they stand behind it; normalized first, where there are weights."""
    random, angles = np.random.default_rng(6), np.linspace(0, 3, 36).reshape(9, 4)
    q, k, v, *past = (floats(random, 2, n, s, 8) for n, s in ((4, 3), (2, 3), (2, 3), (2, 2), (2, 2)))
    tables, weights = [f(angles).astype("f") for f in (np.cos, np.sin)], [floats(random, 8) for _ in range(2)]
    unit = [x / np.sqrt((x.astype(float) ** 2).mean(-1, keepdims=True) + 1e-6) * w
            for x, w in zip((q, k), weights, strict=True)]  # fmt: skip
    given = [np.concatenate([together(x) for x in (q, k, v)], -1), None, None, *past, np.array([4, 4], np.int32)]
    given += [np.array(5, np.int32), *tables, *[None] * 5, *weights]
    how = {"num_heads": 4, "kv_num_heads": 2}
    found, keys, _ = run("GroupQueryAttention", given, 3, known=(6,), do_rotary=1, qk_norm_epsilon=1.0,
                         q_norm_epsilon=1e-6, k_norm_epsilon=1e-6, **how)  # fmt: skip
    places = np.tile(np.arange(2, 5), (2, 1))
    turned = [run("RotaryEmbedding", [x.astype("f"), places, *tables])[0] for x in unit]
    close(keys, np.concatenate([past[0], turned[1]], 2))
    wanted = attended(turned[0].astype(float), keys, np.concatenate([past[1], v], 2), causal(3, 5))
    close(found, wanted)


@pytest.mark.parametrize("one", [False, True])
def test_a_cache_grows_by_lengths_that_each_call_shows(one: bool) -> None:
    """Of any number of samples; if it is known that there is one, new words are behind all that it had."""
    random, symbol = np.random.default_rng(7), ng.Length.symbol
    given = [*(floats(random, 2, 1, n) for n in (32, 16, 16)), *(floats(random, 2, 2, 3, 8) for _ in range(2))]
    given += [np.array([3, 3], np.int32), np.array(4, np.int32), *(floats(random, 9, 4) for _ in range(2))]
    proto = model_of("GroupQueryAttention", given, 3, (7, 8), num_heads=4, kv_num_heads=2, do_rotary=1)
    for info in proto.graph.input[:6]:
        dims = info.type.tensor_type.shape.dim
        dims[0].dim_param = "b"
        if len(dims) > 1:
            dims[1 if len(dims) == 3 else 2].dim_param = "words" if len(dims) == 3 else "before"
    model = reader.read(proto, lengths={"b": 1} if one else {}, trainable=False)
    assert model.outputs["o1"].shape == (1 if one else symbol("b"), 2, symbol("before") + symbol("words"), 8)
    with ng.make_transformer("cpu") as transformer:
        step = transformer.computation(list(model.outputs.values()), *model.inputs.values())
        for batch, words, before in ((2, 1, 3), (3, 2, 1)) if not one else ((1, 1, 3), (1, 2, 1)):
            q, k, v = (floats(random, batch, words, n) for n in (32, 16, 16))
            past = [floats(random, batch, 2, before, 8) for _ in range(2)]
            sizes = np.full(batch, before + words, np.int32)
            found, *cache = step(q, k, v, *past, sizes - 1, sizes[0])
            places = np.tile(np.arange(before, before + words), (batch, 1))
            heads = [apart(q, 4), apart(k, 2)]
            turned = [run("RotaryEmbedding", [x.astype("f"), places, *given[7:]])[0] for x in heads]
            whole = [np.concatenate([p, x], 2) for p, x in zip(past, (turned[1], apart(v, 2)), strict=True)]
            close(found, attended(turned[0].astype(float), *whole, causal(words, before + words)))
            close(cache[0], whole[0])


# -- experts ------------------------------------------------------------------------------------------------


def asked(x: Any, router: Any, k: int, normalized: bool, expert: Any, weights: Any = None) -> Any:
    """What the best `k` experts make of each word, by their shares of all experts, or of these, or by weights."""
    found = np.zeros(x.shape)
    for t, (word, scores) in enumerate(zip(x.astype(float), router.astype(float), strict=True)):
        best = np.argsort(-scores, kind="stable")[:k]
        shares = softmax(scores)[best] if weights is None else weights[t, best].astype(float)
        for e, share in zip(best, shares / shares.sum() if normalized else shares, strict=True):
            found[t] += share * expert(e, word)
    return found


@pytest.mark.parametrize("gated", [False, True])
def test_words_ask_a_few_experts(gated: bool) -> None:
    """One hidden layer each, which another may gate."""
    random = np.random.default_rng(10)
    x, router, w1, b1, w2, b2, w3 = (
        floats(random, *s) for s in ((5, 6), (5, 3), (3, 8, 6), (3, 8), (3, 6, 8), (3, 6), (3, 8, 6))
    )
    given = [x, router, w1, b1, w2, b2, *([w3] if gated else [])]

    def expert(e: int, word: Any) -> Any:
        y = w1[e] @ word + b1[e]
        y = y / (1 + np.exp(-y)) * (w3[e] @ word) if gated else np.maximum(y, 0)
        return w2[e] @ y + b2[e]

    how = {"k": 2, "activation_type": "silu" if gated else "relu", "normalize_routing_weights": int(gated)}
    known = range(2, len(given))
    close(run("MoE", given, known=known, target="cpu", **how)[0], asked(x, router, 2, gated, expert))
    whole = x.reshape(1, 5, 6)
    close(run("MoE", [whole, *given[1:]], known=known, **how)[0][0], asked(x, router, 2, gated, expert))


@pytest.mark.parametrize("blocks", [False, True])
def test_weights_of_experts_may_be_of_four_bits(blocks: bool) -> None:
    """One scale for a row, or one for each block of it, with a zero; of two halves of a layer one gates the other."""
    random, many = np.random.default_rng(11), 2 if blocks else 1
    x, router, b1 = (floats(random, *s) for s in ((4, 32), (4, 3), (3, 64)))
    w1, w2 = (random.integers(0, 256, s, np.uint8) for s in ((3, 64, 16), (3, 32, 16)))
    s1, s2 = (0.1 * np.abs(floats(random, 3, n, *([2] if blocks else []))) for n in (64, 32))
    z1, z2 = (random.integers(0, 256, (3, n, 1) if blocks else (3, n // 2), np.uint8) for n in (64, 32))

    def whole(w: Any, s: Any, z: Any) -> Any:
        zero = numbers_of(z, 4).reshape(*w.shape[:2], many, 1)
        steps = numbers_of(w, 4).reshape(*w.shape[:2], many, -1).astype(float) - zero
        return (steps * s.reshape(*w.shape[:2], many, 1)).reshape(*w.shape[:2], -1)

    first, second = whole(w1, s1, z1), whole(w2, s2, z2)

    def expert(e: int, word: Any) -> Any:
        y = first[e] @ word + b1[e]
        gate, up = np.minimum(y[::2], 1.5), np.clip(y[1::2], -1.5, 1.5)
        return second[e] @ (gate / (1 + np.exp(-1.7 * gate)) * (up + 1))

    given = [x, router, w1, s1, b1, w2, s2, None, None, None, None, z1, z2]
    how = {"k": 2, "normalize_routing_weights": 1, "activation_type": "swiglu", "swiglu_fusion": 1,
           "activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 1.5,
           **({"block_size": 16} if blocks else {})}  # fmt: skip
    known = [k for k, v in enumerate(given) if k > 1 and v is not None]
    close(run("QMoE", given, known=known, **how)[0], asked(x, router, 2, True, expert))
    weights = 0.5 + np.abs(floats(random, 4, 3))
    close(run("QMoE", [*given, None, weights], known=known, **how)[0], asked(x, router, 2, True, expert, weights))


# -- several in one -----------------------------------------------------------------------------------------


def normal(x: Any, epsilon: float = 1e-5) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def test_normalization_of_a_sum_and_of_what_words_stand_for() -> None:
    random = np.random.default_rng(8)
    x, skip, scale, bias = (floats(random, *s) for s in ((2, 5, 8), (1, 5, 8), (8,), (8,)))
    whole = x.astype(float) + skip + bias
    size = np.sqrt((whole**2).mean(-1, keepdims=True) + 0.1)
    y, _, inverse, total = run("SkipSimplifiedLayerNormalization", [x, skip, scale, bias], 4, epsilon=0.1)
    for found, wanted in ((y, whole / size * scale), (inverse, 1 / size), (total, whole)):
        close(found, wanted)
    y, inverse = run("SimplifiedLayerNormalization", [total, scale], 2, domain="", epsilon=0.1)
    close(y, whole / size * scale)
    ids, kinds = random.integers(0, 9, (2, 5), np.int32), random.integers(0, 2, (2, 5), np.int32)
    tables = [floats(random, n, 8) for n in (9, 6, 2)]
    mask = np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32)
    given = [ids, kinds, *tables, scale, bias, mask]
    y, sizes, total = run("EmbedLayerNormalization", given, 3, epsilon=1e-5)
    wanted = tables[0][ids].astype(float) + tables[1][:5] + tables[2][kinds]
    close(total, wanted)
    close(y, normal(wanted) * scale + bias)
    assert sizes.dtype == np.int32 and sizes.tolist() == [5, 3]


def test_words_may_stand_for_integers() -> None:
    """With a scale and a zero for each table, and for the two vectors of a normalization."""
    random = np.random.default_rng(12)
    ids, kinds = random.integers(0, 9, (2, 5), np.int32), random.integers(0, 2, (2, 5), np.int32)
    tables = [integers(np.uint8, *s) for s in ((9, 8), (6, 8), (2, 8), (8,), (8,))]
    scales, zeros = [np.float32(0.01 * k) for k in range(1, 6)], [np.uint8(100 + k) for k in range(5)]
    whole = [stands_for(v, s, float(z)) for v, s, z in zip(tables, scales, zeros, strict=True)]
    y, _ = run("QEmbedLayerNormalization", [ids, kinds, *tables, None, *scales, *zeros], 2, epsilon=1e-5)
    close(y, normal(whole[0][ids] + whole[1][:5] + whole[2][kinds]) * whole[3] + whole[4])


@pytest.mark.parametrize("last", [0, 1])
def test_groups_of_channels_are_normalized(last: int) -> None:
    """After something was added to them, and before an activation."""
    random = np.random.default_rng(13)
    x, skip, bias, scale, shift = (floats(random, *s) for s in ((2, 4, 3, 3), (2, 4), (4,), (4,), (4,)))
    total = x + skip[..., None, None] + bias[:, None, None].astype(float)
    y = normal(total.reshape(2, 2, -1), 1e-5).reshape(x.shape) * scale[:, None, None] + shift[:, None, None]
    turn = (lambda v: np.moveaxis(v, 1, -1)) if last else (lambda v: v)
    given, how = [turn(x).copy(), scale, shift, skip, bias], {"groups": 2, "channels_last": last}
    found, added = run("SkipGroupNorm", given, 2, activation=1, **how)
    close(found, turn(y / (1 + np.exp(-y))))
    close(added, turn(total))
    close(run("GroupNorm", [turn(total).astype("f"), scale, shift], activation=0, **how)[0], turn(y))


def test_sums_halves_and_distances() -> None:
    random = np.random.default_rng(14)
    x, y, b = floats(random, 2, 3, 4), floats(random, 2, 3, 4), floats(random, 4)
    close(run("BiasAdd", [x, b, y])[0], x.astype(float) + b + y)
    (gated,) = run("BiasSplitGelu", [x, b])
    close(gated, (x + b)[..., :2].astype(float) * run("Gelu", [(x + b)[..., 2:]])[0])
    apart = ((x[0][:, None].astype(float) - y[0]) ** 2).sum(-1)
    close(run("CDist", [x[0], y[0]])[0], apart)
    close(run("CDist", [x[0], y[0]], metric="euclidean")[0], np.sqrt(apart))
    close(run("Inverse", [x[:, :, :3]])[0], np.linalg.inv(x[:, :, :3].astype(float)))
    image, w, z = floats(random, 1, 4, 4, 3), floats(random, 2, 3, 3, 3), floats(random, 1, 2, 2, 2)
    (wanted,) = run("Conv", [image.transpose(0, 3, 1, 2).copy(), w], domain="")
    found = run("NhwcFusedConv", [image, w, None, z], activation="Relu")[0]
    close(found, np.maximum(wanted.transpose(0, 2, 3, 1) + z, 0))


def test_products_with_an_activation_and_with_batches_in_between() -> None:
    random = np.random.default_rng(9)
    x, w, b = floats(random, 3, 4), floats(random, 5, 4), floats(random, 5)
    plain = 2 * (x.astype(float) @ w.T) + b
    how = {"transB": 1, "alpha": 2.0, "activation_alpha": 0.25}
    close(run("FusedGemm", [x, w, b], activation="LeakyRelu", **how)[0], np.where(plain < 0, plain / 4, plain))
    close(run("FusedGemm", [x, w, b], activation="Relu", **how)[0], np.maximum(plain, 0))
    x, y = floats(random, 3, 2, 4), floats(random, 4, 2, 5)
    found = run("FusedMatMul", [x, y], transBatchA=1, transBatchB=1)[0]
    close(found, np.einsum("mbk,kbn->bmn", x.astype(float), y))


# For each operator inputs and attributes, and what is said of them.
REFUSED: dict[str, tuple[Any, dict[str, Any], str]] = {
    "MoE": ([np.zeros((1, 2), "f"), np.zeros((1, 3), "f"), np.zeros((3, 4, 2), "f"), None, np.zeros((3, 2, 4), "f")],
            {"use_sparse_mixer": 1}, "a sparse mixer"),
    "MatMulNBits": ([np.zeros((2, 16), "f"), np.zeros((3, 1, 6), np.uint8), np.zeros((3, 1), "f")],
                    {"K": 16, "N": 3, "bits": 3, "block_size": 16}, "other than 2, 4 or 8 bits"),
    "Attention": ([np.zeros((1, 2, 4), "f"), np.zeros((4, 24), "f"), np.zeros(24, "f")],
                  {"num_heads": 2, "do_rotary": 1}, "turns its queries"),
    "MultiHeadAttention": ([*[np.zeros((2, 3, 4), "f")] * 3, None, np.zeros(7, np.int32)], {"num_heads": 2},
                           r"a mask of attention of the shape \(7,\)"),
    "RotaryEmbedding": ([np.zeros((1, 2, 4), "f"), np.zeros((1, 2), int), *[np.zeros((5, 2), "f")] * 2],
                        {"scale": 2.0}, "with a scale"),
    "GroupQueryAttention": ([*[np.zeros((1, 2, 16), "f")] * 3, None, None, np.ones(1, np.int32), np.array(2, np.int32)],
                            {"num_heads": 2, "kv_num_heads": 2, "qk_output": 1}, "scores as an output"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_read_is_refused_with_its_place(name: str) -> None:
    inputs, how, words = REFUSED[name]
    with pytest.raises(reader.ModelError, match=f"(?s){words}.*(is|are) not supported.*at the node.*{name}"):
        run(name, inputs, **how)


QUERY = [np.ones((1, 1, 8), "f")] * 3 + [np.ones((1, 2, 3, 4), "f")] * 2 + [np.full(1, 3, "int32")]
FAULTY: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("MoE", [np.ones(s, "f") for s in ((3, 8), (3, 2), (2, 6, 8), (2, 6), (2, 8, 6))], {"k": 0}),
    ("GroupQueryAttention", [*QUERY, np.array(4, "int32")], {"local_window_size": 0}),
    ("GroupQueryAttention", [*QUERY, np.array(4, "int32")], {"sliding_window_cache": 1}),
    ("GroupQueryAttention", [*QUERY, np.array(4, "int32")], {"k_quant_type": "PER_TENSOR"}),
    ("GroupQueryAttention", [*QUERY, np.array(4, "int32")], {"v_quant_type": "PER_WORD"}),
    ("GroupQueryAttention", [*QUERY, np.array(-3, "int32")], {}),
]


@pytest.mark.parametrize(("name", "inputs", "how"), FAULTY)
def test_attributes_that_leave_nothing_are_refused(name: str, inputs: list[Any], how: dict[str, Any]) -> None:
    attends = {"num_heads": 2, "kv_num_heads": 2} if name == "GroupQueryAttention" else {}
    with pytest.raises(reader.ModelError) as caught:
        run(name, inputs, 3 if attends else 1, [6] if attends else [], **attends, **how)
    assert "the node" in str(caught.value) and caught.value.do
