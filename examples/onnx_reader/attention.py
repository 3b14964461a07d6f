# SPDX-License-Identifier: Apache-2.0
"""Attention as onnxruntime writes it into models: with its projections, with masks of several kinds, with a cache."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnx_reader.qlinear import one, quantized_product
from onnx_reader.quantized import Quantized
from onnx_reader.reducing import softmax
from onnx_reader.table import ModelError, Value, count, lowest, op, space, term

Heads = Value  # (batch, heads, words, size)


def heads(x: Value, many: int) -> Heads:
    """Heads that lie side by side along the last axis (batch, words, heads * size)."""
    batch, words, width = x.shape
    return np.transpose(np.reshape(x, (batch, words, many, width // many)), (0, 2, 1, 3))


def beside(x: Heads) -> Value:
    """Heads side by side again."""
    batch, many, words, size = x.shape
    return np.reshape(np.transpose(x, (0, 2, 1, 3)), (batch, words, many * size))


def after(past: Value, x: Value, axis: int = 2) -> Value:
    """What was there before, and behind it what is new."""
    return x if past is None else space(past, x).concatenate([term(past), term(x)], axis)


def attend(
    q: Heads, k: Heads, v: Heads, scale: float, added: Value = None, hidden: Value = None, softcap: float = 0.0,
    sink: Value = None,
) -> tuple[Heads, Value]:  # fmt: skip
    """What each query sees, and the shares of what there is to see.

    A head of keys and values may be for several neighbouring heads of queries. To scores something may be `added`, and
    `hidden` ones count nothing; a `sink` is one more score for each head, which shows nothing.
    """
    batch, many, words, size = q.shape
    few, length = k.shape[1:3]
    scores = np.matmul(np.reshape(q, (batch, few, many // few * words, size)), np.swapaxes(k, -1, -2))
    scores = np.reshape(scores, (batch, many, words, length)) * (scale or 1 / math.sqrt(size))
    scores = softcap * np.tanh(scores / softcap) if softcap else scores
    scores = scores if added is None else scores + added
    scores = scores if hidden is None else np.where(hidden, lowest(scores.dtype), scores)
    shares = softmax(scores, -1) if sink is None else _with_sink(scores, sink)
    seen = np.matmul(np.reshape(shares, (batch, few, many // few * words, length)), v)
    return np.reshape(seen, (batch, many, words, v.shape[-1])), shares


def _with_sink(scores: Value, sink: Value) -> Value:
    top = np.maximum(np.max(scores, axis=-1, keepdims=True), sink)
    e = np.exp(scores - top)
    return e / (np.sum(e, axis=-1, keepdims=True) + np.exp(sink - top))


def later(words: Any, length: Any) -> Value:
    """Which of all places are behind each of the last words."""
    return np.greater(count(length), np.expand_dims(count(words) + (length - words), 1))


def masked(mask: Value, batch: Any, length: Any, value: float) -> Value:
    """What is added to scores: `value` where a mask is 0, or behind the end of a sample, or before its start."""
    if mask is None:
        return None
    if len(mask.shape) > 1:
        shape = (mask.shape[0], *(1,) * (4 - len(mask.shape)), *mask.shape[1:])
        kept = np.greater(np.reshape(mask, shape), 0) if len(mask.shape) < 4 else None
    elif mask.shape[0] == batch:
        kept = np.less(count(length), np.reshape(mask, (batch, 1, 1, 1)))
    elif mask.shape[0] == 2 * batch:
        ends = np.reshape(mask, (2, batch, 1, 1, 1))
        kept = np.less(count(length), ends[0]) & np.greater_equal(count(length), ends[1])
    else:
        kept = None
    if kept is None:
        raise ModelError(f"a mask of attention of the shape {tuple(mask.shape)} is not supported")
    return np.where(kept, np.float32(0), np.float32(value))


def _sum(*added: Value) -> Value:
    """The sum of what there is to add."""
    there = [a for a in added if a is not None]
    return sum(there[1:], there[0]) if there else None


@op("com.microsoft.MultiHeadAttention")
def multi_head_attention(
    query: Value, key: Value = None, value: Value = None, bias: Value = None, padding: Value = None,
    more: Value = None, past_key: Value = None, past_value: Value = None, past_length: Value = None,
    beams: Value = None, *, num_heads: int, mask_filter_value: float = -10000.0, scale: float = 0.0,
    unidirectional: int = 0, outputs: int,
) -> Any:  # fmt: skip
    """Keys and values may be heads already, or lie together with queries, or with each other, head by head."""
    if past_length is not None or beams is not None:
        raise ModelError("MultiHeadAttention with a cache that has room for more is not supported")
    parts = _parts(query, key, value, num_heads)
    if bias is not None:
        parts = [p if own is None else p + own for p, own in zip(parts, _biases(bias, parts, key), strict=True)]
    q, k, v = parts
    k, v = after(past_key, k), after(past_value, v)
    added = _sum(more, masked(padding, q.shape[0], k.shape[2], mask_filter_value))
    found, shares = attend(q, k, v, scale, added, later(q.shape[2], k.shape[2]) if unidirectional else None)
    return (beside(found), k, v, shares)[:outputs]


def _parts(query: Value, key: Value, value: Value, many: int) -> list[Heads]:
    """Queries, keys and values as heads."""
    if key is None:
        return [np.transpose(query[:, :, :, i], (0, 2, 1, 3)) for i in range(3)]
    if len(key.shape) == 5:
        return [heads(query, many), *(np.transpose(key[:, :, :, i], (0, 2, 1, 3)) for i in range(2))]
    return [heads(query, many), *(v if len(v.shape) == 4 else heads(v, many) for v in (key, value))]


def _biases(bias: Value, parts: list[Heads], key: Value) -> list[Value]:
    """The part of a bias that each has. What came as heads has none."""
    widths = [p.shape[1] * p.shape[3] for p in parts]
    cuts = [0, widths[0], 2 * widths[0], 2 * widths[0] + widths[2]]
    own = [np.reshape(bias[a:b], (p.shape[1], 1, -1)) for a, b, p in zip(cuts, cuts[1:], parts, strict=False)]
    return own if key is None or len(key.shape) == 3 else [own[0], None, None]


def _projected(
    whole: Value, mask: Value, past: Value, more: Value, outputs: int, sizes: Any, *, num_heads: int,
    mask_filter_value: float = -10000.0, scale: float = 0.0, unidirectional: int = 0, do_rotary: int = 0,
    past_present_share_buffer: int = 0, rotary_embedding_dim: int = 0,
) -> Any:  # fmt: skip
    """Attention of queries, keys and values that lie side by side. The cache has keys and values in one."""
    if do_rotary or past_present_share_buffer:
        raise ModelError("attention that turns its queries, or with a cache that has room for more, is not supported")
    a, b, _ = sizes or [whole.shape[-1] // 3] * 3
    q, k, v = (heads(p, num_heads) for p in (whole[..., :a], whole[..., a : a + b], whole[..., a + b :]))
    k, v = (k, v) if past is None else (after(past[0], k), after(past[1], v))
    added = _sum(more, masked(mask, q.shape[0], k.shape[2], mask_filter_value))
    found, _ = attend(q, k, v, scale, added, later(q.shape[2], k.shape[2]) if unidirectional else None)
    present = np.stack([term(k), term(v)]) if outputs > 1 else None
    return (beside(found), present)[:outputs]


@op("com.microsoft.Attention", like=_projected)
def attention(
    x: Value, weights: Value, bias: Value = None, mask: Value = None, past: Value = None, more: Value = None,
    past_length: Value = None, *, outputs: int, qkv_hidden_sizes: Any = None, **how: Any,
) -> Any:  # fmt: skip
    if past_length is not None:
        raise ModelError("Attention with a cache that has room for more is not supported")
    whole = np.matmul(x, weights)
    return _projected(whole if bias is None else whole + bias, mask, past, more, outputs, qkv_hidden_sizes, **how)


@op("com.microsoft.QAttention", like=_projected)
def quantized_attention(
    x: Value, weights: Value, bias: Value, scale_x: Value, scale_w: Value, mask: Value = None, zero_x: Value = None,
    zero_w: Value = None, past: Value = None, *, outputs: int, **how: Any,
) -> Any:  # fmt: skip
    """The projections are products of integers."""
    left, right = Quantized(x, one(scale_x), one(zero_x)), Quantized(weights, one(scale_w), one(zero_w), 1)
    return _projected(quantized_product(left, right) + bias, mask, past, None, outputs, None, **how)
