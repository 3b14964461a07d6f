# SPDX-License-Identifier: Apache-2.0
"""Caches of what attention has seen: such as grow, such as have room, such as keep a window, and such of integers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.attention import Heads, after
from onnx_reader.lists import WRONG, among
from onnx_reader.packed import unpacked
from onnx_reader.table import ModelError, Value, cast, count, is_term, term


class Stored(NamedTuple):
    """How keys, or values, are stored: as they are, or as integers of 8 bits, or of 4, two to a byte."""

    scale: Value = None
    bits: int = 0

    def packed(self, x: Heads) -> Value:
        """What is stored of heads."""
        if self.scale is None:
            return x
        most = 2 ** (self.bits - 1) - 1
        steps = np.clip(np.round(x / self.scale), -most - 1, most)
        if self.bits == 8:
            return cast(steps, np.int8)
        numbers = cast(steps + 8, np.uint8)
        return np.bitwise_or(numbers[..., ::2], np.left_shift(numbers[..., 1::2], np.uint8(4)))

    def shown(self, stored: Value) -> Heads:
        """The heads that are stored."""
        if self.scale is None:
            return stored
        steps = cast(stored, np.float32) if self.bits == 8 else cast(unpacked(stored, 4), np.float32) - 8
        return cast(steps, self.scale.dtype) * self.scale


def stored(scale: Value, kind: str, bits: int, dtype: Any) -> Stored:
    """How a cache of this dtype, which is None before there is one, stores keys, or values.

    Raises:
        ModelError: if it is of floats of 8 bits, or lacks its scale.
    """
    among(("NONE", "PER_TENSOR", "PER_CHANNEL"), quant_type=kind)
    if kind == "NONE":
        return Stored()
    if scale is None:
        raise ModelError("a cache of integers has no scale", do=WRONG)
    bits = bits or 8
    if bits not in (4, 8) or dtype not in (None, np.int8 if bits == 8 else np.uint8):
        raise ModelError(f"a cache of {bits} bits and of {dtype} is not supported")
    return Stored(np.reshape(scale, (1,) * (4 - len(scale.shape)) + tuple(scale.shape)), bits)


def first_of(last: Value, words: Any) -> Value:
    """Behind how many words of each sample the new ones come. In a first call a sample may have less words than these.

    `last` has the places of the last words.
    """
    return np.maximum(cast(np.reshape(last, (-1,)), np.int64) + 1 - words, 0)


def put(past: Value, x: Value, start: Value, grows: bool) -> Value:
    """New words behind `start` of each sample, or behind all: of old and new ones those for which there are places."""
    whole = after(past, x)
    if past is None or start is None:
        return whole
    before, own = past.shape[2], np.expand_dims(start, -1)
    at = count(whole.shape[2] if grows else before)
    return taken(whole, np.where(np.less(at, own), at, np.minimum(at - own + before, whole.shape[2] - 1)))


def taken(whole: Value, places: Value) -> Value:
    """The words at some places of each sample."""
    return ng.numpy.take_along_axis(term(whole), term(np.expand_dims(places, (1, 3))), axis=2)


def kept(words: Value, room: Any, window: int) -> Value:
    """How many of so many words a cache of a window has: where there is no room it drops several at once."""
    spare = room - window + 1
    return words - np.maximum(-(-(words - room) // spare), 0) * spare


def in_window(start: Value, words: Any, room: Any, window: int) -> tuple[Value, Value]:
    """The place in a text of each word that was kept and of each new one, -1 if it is none; and where among these the
    words are that are kept now."""
    end, own = np.expand_dims(start + words, -1), np.expand_dims(start, -1)
    old, new = kept(own, room, window), kept(end, room, window)
    before = np.where(np.less(count(room), old), own - old + count(room), -1)
    places = ng.numpy.concatenate([term(before), term(own + count(words))], 1)
    at = end - new + count(room)
    source = np.where(np.less(at, own), at - (own - old), np.minimum(at - own + room, room + words - 1))
    return places, source


def hidden(places: Value, start: Value, words: Any, window: int) -> Value:
    """Which places each word does not see: later ones, and those that are a window or more before it."""
    own = np.expand_dims(np.expand_dims(start, -1) + count(words), (1, 3))
    late = np.greater(places, own)
    return late if window < 0 else late | np.less_equal(places, own - window)


def known_number(value: Value) -> Any:
    """A number if it is known, or a length."""
    return None if value is None or is_term(value) else np.reshape(value, -1).tolist()[0]
