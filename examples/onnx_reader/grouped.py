# SPDX-License-Identifier: Apache-2.0
"""Attention of language models that onnxruntime runs: words are turned by their places, and put into a cache.

Several heads of queries share one of keys and values. Samples may have caches of different lengths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnx_reader.attention import Heads, after, attend, beside, heads
from onnx_reader.caches import first_of, hidden, in_window, known_number, put, stored, taken
from onnx_reader.lists import WRONG
from onnx_reader.reducing import rms_normalization
from onnx_reader.table import ModelError, Value, cast, count, op, space, term


def turned(x: Value, cosine: Value, sine: Value, interleaved: int) -> Value:
    """Pairs of numbers of the last axis, turned: neighbours, or those half of the turned part apart."""
    half = cosine.shape[-1]
    pick = [slice(0, 2 * half, 2), slice(1, 2 * half, 2)] if interleaved else [slice(half), slice(half, 2 * half)]
    a, b = (x[..., p] for p in pick)
    both = [a * cosine - b * sine, b * cosine + a * sine]
    shown = np.reshape(np.stack(both, -1), (*x.shape[:-1], 2 * half)) if interleaved else _joined(both)
    return shown if x.shape[-1] == 2 * half else _joined([shown, x[..., 2 * half :]])


def _joined(parts: list[Value]) -> Value:
    return space(*parts).concatenate(parts, -1)


@op("com.microsoft.RotaryEmbedding")
def rotary_embedding(
    x: Value, places: Value, cosine: Value, sine: Value, *, interleaved: int = 0, num_heads: int = 0,
    rotary_embedding_dim: int = 0, is_packed_batching: int = 0, scale: float = 1.0,
) -> Value:  # fmt: skip
    """A place is one of each word, or that of the first."""
    if is_packed_batching or scale != 1:
        raise ModelError("RotaryEmbedding of a batch without padding, or with a scale, is not supported")
    size = x.shape[-1] // num_heads if num_heads and rotary_embedding_dim else 2 * cosine.shape[-1]
    split = x if len(x.shape) == 4 else heads(x, x.shape[-1] // size)
    at = places if len(places.shape) == 2 else np.reshape(places, (1, 1)) + count(split.shape[2])
    found = turned(split, _rows(cosine, at), _rows(sine, at), interleaved)
    return found if len(x.shape) == 4 else beside(found)


def _rows(table: Value, places: Value) -> Value:
    """Rows of a table for the words of samples, as they stand beside heads."""
    return np.expand_dims(space(table, places).take(table, places, axis=0), 1)


@op("com.microsoft.GroupQueryAttention")
def group_query_attention(
    query: Value, key: Value = None, value: Value = None, past_key: Value = None, past_value: Value = None,
    last: Value = None, total: Value = None, cosine: Value = None, sine: Value = None, places: Value = None,
    more: Value = None, sink: Value = None, scale_k: Value = None, scale_v: Value = None, norm_q: Value = None,
    norm_k: Value = None, valid: Value = None, *, num_heads: int, kv_num_heads: int, causal: int = 1,
    do_rotary: int = 0, local_window_size: int = -1, rotary_interleaved: int = 0, scale: float = 0.0,
    softcap: float = 0.0, smooth_softmax: int = -1, qk_norm_epsilon: float = 1e-6, q_norm_epsilon: float | None = None,
    k_norm_epsilon: float | None = None, qk_output: int = 0, k_quant_type: str = "NONE", v_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0, sliding_window_cache: int = 0, outputs: int,
) -> Any:  # fmt: skip
    """New words are put behind those of each sample; what is behind them is not seen.

    A cache grows by the new words, unless it is known to have room for all, or keeps a window.
    """
    if valid is not None or qk_output or sliding_window_cache and more is not None:
        what = "padded queries, with scores as an output, or with a window and what is added to scores"
        raise ModelError(f"GroupQueryAttention with {what}, is not supported")
    room = known_number(total)
    if local_window_size == 0 or sliding_window_cache and local_window_size < 0 or isinstance(room, int) and room < 1:
        raise ModelError(f"a window of {local_window_size} words, of at most {room}, sees none", do=WRONG)
    q, k, v = _groups(query, key, value, num_heads, kv_num_heads)
    q = q if norm_q is None else rms_normalization(q, norm_q, epsilon=q_norm_epsilon or qk_norm_epsilon)
    k = k if norm_k is None else rms_normalization(k, norm_k, epsilon=k_norm_epsilon or qk_norm_epsilon)
    words, before = q.shape[2], 0 if past_key is None else past_key.shape[2]
    start, even, grows = _begin(last, words, before, q.shape[0], room, sliding_window_cache)
    if do_rotary:
        at = np.expand_dims(start, -1) + count(words) if places is None else places
        q, k = (turned(x, _rows(cosine, at), _rows(sine, at), rotary_interleaved) for x in (q, k))
    kinds = ((scale_k, k_quant_type), (scale_v, v_quant_type))
    how = [stored(s, kind, kv_cache_bit_width, None if past_key is None else past_key.dtype) for s, kind in kinds]
    new = [(p, h.packed(x)) for p, h, x in zip((past_key, past_value), how, (k, v), strict=True)]
    if sliding_window_cache:
        cache, whole, unseen = _slid(new, start, words, before, local_window_size)
    else:
        whole = cache = [put(*one, None if even else start, grows) for one in new]
        length = cache[0].shape[2]
        unseen = hidden(count(length), start, words, local_window_size) if causal else _ended(last, length)
    sink = np.zeros((1, 1, 1, 1), q.dtype) if smooth_softmax == 1 and sink is None else sink
    sink = sink if sink is None else np.reshape(sink, (1, -1, 1, 1))
    seen = [cast(h.shown(x), q.dtype) for h, x in zip(how, whole, strict=True)]
    found, _ = attend(q, *seen, scale, more, unseen, softcap, sink)
    return (beside(found), *cache)[:outputs]


def _begin(last: Value, words: Any, before: Any, batch: Any, room: Any, slides: int) -> tuple[Value, bool, bool]:
    """Behind how many words the new ones come, whether that is one number for all samples, and if a cache grows."""
    grows = not (isinstance(room, int) and isinstance(before, int) and isinstance(words, int) and room <= before)
    even = grows and not slides and any(isinstance(n, int) and n == alone for n, alone in ((before, 0), (batch, 1)))
    return np.reshape(term(before), (1,)) if even else first_of(last, words), even, grows


def _slid(new: list[Any], start: Value, words: Any, room: Any, window: int) -> tuple[list[Value], list[Value], Value]:
    """Of old and new words those that are kept, all, and which of all each new word does not see."""
    at, source = in_window(start, words, room, window)
    whole = [after(*one) for one in new]
    unseen = hidden(np.expand_dims(at, (1, 2)), start, words, window) | np.less(at, 0)[:, None, None]
    return [taken(x, source) for x in whole], whole, unseen


def _groups(query: Value, key: Value, value: Value, many: int, few: int) -> list[Heads]:
    """Queries, keys and values as heads; they may lie side by side."""
    if key is not None:
        return [heads(query, many), heads(key, few), heads(value, few)]
    size = query.shape[-1] // (many + 2 * few)
    cuts = [0, many * size, (many + few) * size, (many + 2 * few) * size]
    return [heads(query[..., a:b], n) for a, b, n in zip(cuts, cuts[1:], (many, few, few), strict=False)]


def _ended(last: Value, length: Any) -> Value:
    """Which places are behind the end of a sample."""
    return np.greater(count(length), np.reshape(last, (-1, 1, 1, 1)))
