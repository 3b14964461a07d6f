# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms, as products with matrices. Complex numbers are pairs along a last axis."""

from __future__ import annotations

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import Value, known_length, op, term


@op("DFT", since=20, known="length axis")
def dft(x: Value, length: Value = None, axis: Value = None, *, inverse: int = 0, onesided: int = 0) -> Value:
    """Of one side of a spectrum the inverse is real, and a forward one gives one side only."""
    at = -2 if axis is None else int(np.reshape(axis, ()))
    lines = np.moveaxis(term(x), at if at >= 0 else at + len(x.shape), -2)
    own = known_length(lines.shape[-2], "a signal")
    back = bool(inverse and onesided)
    n = int(np.reshape(length, ())) if length is not None else 2 * (own - 1) if back else own
    kept = min(own, n // 2 + 1 if back else n)
    lines = lines[..., :kept, :]
    pairs = known_length(lines.shape[-1], "the last axis") == 2
    real, imaginary = lines[..., 0], lines[..., 1] if pairs else None
    found = _halves(real, imaginary, n) if back else _whole(real, imaginary, n, -1 if inverse else 1, onesided)
    return np.moveaxis(found, -2, at)


def _turns(count: int, kept: int, n: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and sines of each of `kept` elements in each of `count` sums."""
    angles = 2 * np.pi * (np.outer(np.arange(kept), np.arange(count)) % n) / n
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def _whole(x: ng.Op, y: ng.Op | None, n: int, sign: int, onesided: int) -> ng.Op:
    cos, sin = _turns(n // 2 + 1 if onesided else n, x.shape[-1], n, x.dtype)
    real, imaginary = x @ cos, -sign * (x @ sin)
    if y is not None:
        real, imaginary = real + sign * (y @ sin), imaginary + y @ cos
    found = np.stack([real, imaginary], axis=-1)
    return found / n if sign < 0 else found


def _halves(x: ng.Op, y: ng.Op | None, n: int) -> ng.Op:
    """The real signal whose spectrum has this side: what is on both sides counts twice."""
    cos, sin = _turns(n, x.shape[-1], n, x.dtype)
    twice = np.where((2 * np.arange(x.shape[-1])) % n == 0, 1, 2).astype(x.dtype)[:, None] / n
    found = x @ (cos * twice) - (0 if y is None else y @ (sin * twice))
    return found[..., None]


@op("DFT", known="length")
def dft_17(x: Value, length: Value = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Value:
    return dft(x, length, np.array(axis), inverse=inverse, onesided=onesided)


@op("STFT", known="step length")
def stft(x: Value, step: Value, window: Value = None, length: Value = None, *, onesided: int = 1) -> Value:
    """The spectra of parts of a signal (samples, places, 1 or 2) that begin a step apart."""
    whole = known_length(x.shape[1], "a signal")
    size = whole if window is None else known_length(window.shape[0], "the window")
    size = size if length is None else int(np.reshape(length, ()))
    first = np.arange(0, whole - size + 1, int(np.reshape(step, ())))
    parts = term(x)[:, first[:, None] + np.arange(size)]
    parts = parts if window is None else parts * np.reshape(window, (-1, 1))
    return dft(parts, None, np.array(2), onesided=onesided)
