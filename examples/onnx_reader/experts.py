# SPDX-License-Identifier: Apache-2.0
"""Experts of which each word asks a few: one after another, and none that no word asks, is computed for all words."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import ngraph_rewrite as ng
from onnx_reader import activations as own
from onnx_reader.lists import WRONG
from onnx_reader.packed import floats_of
from onnx_reader.reducing import softmax
from onnx_reader.table import ModelError, Value, cast, op, term


def _mixed(
    x: Value, router: Value, weights: Value, layers: Any, *, k: int = 1, normalize_routing_weights: int = 0,
    use_sparse_mixer: int = 0, activation_type: str = "relu", activation_alpha: float = 1.0,
    activation_beta: float = 0.0, swiglu_fusion: int = 0, swiglu_limit: float | None = None,
    swiglu_limit_after_activation: int = 0,
) -> Value:  # fmt: skip
    """What the experts make of each word, by how much it asks them. `layers` are parts and what makes floats of them.

    The scores of the best `k` are shares, of these or of all experts; or there are other `weights` for that.
    """
    if use_sparse_mixer or swiglu_limit_after_activation:
        raise ModelError("experts with a sparse mixer, or a limit after the activation, are not supported")
    if k < 1:
        raise ModelError(f"words that ask {k} experts", do=WRONG)
    words = np.reshape(term(x), (-1, x.shape[-1]))
    asked = _asked(term(router), weights, k, bool(normalize_routing_weights))
    how = (activation_type, activation_alpha, activation_beta, swiglu_fusion, swiglu_limit)
    parts = [term(v) for given, _ in layers for v in given if v is not None]

    def one(words: ng.Op, share: ng.Op, *own: ng.Op) -> ng.Op:
        rest = iter(own)
        every = [[None if v is None else next(rest) for v in given] for given, _ in layers]
        first, second, third = (
            None if mine[0] is None else floats(*mine) for mine, (_, floats) in zip(every, layers, strict=True)
        )
        y, share = _product(_hidden(words, first, third, *how), *second), np.expand_dims(share, 1)
        return np.where(np.equal(share, 0), 0, y * share)

    def step(total: ng.Op, now: Any) -> tuple[ng.Op, tuple[()]]:
        there = np.any(np.not_equal(now[0], 0))
        return total + ng.cond(there, one, lambda words, *_: ng.numpy.zeros_like(words), words, *now), ()

    found, _ = ng.numpy.scan(step, ng.numpy.zeros_like(words), (asked, *parts))
    return np.reshape(cast(found, x.dtype), x.shape)


def _asked(router: ng.Op, weights: Value, k: int, normalized: bool) -> ng.Op:
    """How much each expert is asked by each word."""
    best, chosen = ng.numpy.top_k(router, k)
    if weights is None and normalized:
        best = softmax(best, -1)
    else:
        best = ng.numpy.take_along_axis(softmax(router, -1) if weights is None else term(weights), chosen, axis=1)
        best = best / np.sum(best, axis=1, keepdims=True) if normalized else best
    own = np.equal(np.expand_dims(chosen, -1), np.arange(router.shape[1]))
    return np.swapaxes(np.sum(np.where(own, np.expand_dims(best, -1), 0), axis=1), 0, 1)


def _product(x: Value, w: Value, b: Value) -> Value:
    y = np.matmul(x, np.transpose(w))
    return y if b is None else y + b


def _hidden(x: Value, first: Any, third: Any, kind: str, alpha: float, beta: float, fused: int, limit: Any) -> Value:
    """What is between the two products. Of a pair one is the gate of the other."""
    gate, up = _product(x, *first), None if third is None else _product(x, *third)
    if kind == "swiglu":
        half = gate.shape[-1] // 2
        if fused:
            gate, up = (gate[..., ::2], gate[..., 1::2]) if fused == 1 else (gate[..., :half], gate[..., half:])
        if limit is not None:
            gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
        return gate * ng.numpy.sigmoid(alpha * gate) * (up + beta)
    functions = {
        "relu": own.relu,
        "gelu": partial(own.gelu, approximate="tanh"),
        "silu": own.swish,
        "identity": lambda v: v,
    }
    if kind not in functions:
        raise ModelError(f"the activation {kind} of experts is not supported")
    y = functions[kind](gate)
    return y if up is None else y * up


@op("com.microsoft.MoE", like=_mixed)
def mixture(
    x: Value, router: Value, w1: Value, b1: Value, w2: Value, b2: Value = None, w3: Value = None, b3: Value = None,
    **how: Any,
) -> Value:  # fmt: skip
    return _mixed(x, router, None, [((w, b), lambda w, b: (w, b)) for w, b in ((w1, b1), (w2, b2), (w3, b3))], **how)


@op("com.microsoft.QMoE", like=_mixed)
def quantized_mixture(
    x: Value, router: Value, w1: Value, s1: Value, b1: Value, w2: Value, s2: Value, b2: Value = None, w3: Value = None,
    s3: Value = None, b3: Value = None, z1: Value = None, z2: Value = None, z3: Value = None, weights: Value = None,
    *others: Value, expert_weight_bits: int = 4, fc1_expert_weight_bits: int = 0, fc2_expert_weight_bits: int = 0,
    fc3_expert_weight_bits: int = 0, block_size: int = 0, quant_type: str = "int", weights_prepacked: int = 0,
    accuracy_level: int = 0, **how: Any,
) -> Value:  # fmt: skip
    """Weights stay packed; those of an expert are floats while it is asked."""
    if quant_type != "int" or weights_prepacked or any(v is not None for v in others):
        raise ModelError("experts whose weights are floats of few bits, or prepacked, are not supported")
    bits = [b or expert_weight_bits for b in (fc1_expert_weight_bits, fc2_expert_weight_bits, fc3_expert_weight_bits)]
    given = zip((w1, w2, w3), (s1, s2, s3), (b1, b2, b3), (z1, z2, z3), strict=True)
    layers = [(parts, partial(_unpacked, x.dtype, b)) for parts, b in zip(given, bits, strict=True)]
    return _mixed(x, router, weights, layers, **how)


def _unpacked(dtype: Any, bits: int, packed: Value, scale: Value, bias: Value, zero: Value) -> tuple[Value, Value]:
    """The weights of an expert as floats, and its bias."""
    return cast(floats_of(packed, scale, zero, bits), dtype), bias
