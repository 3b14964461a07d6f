# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms. Complex numbers are pairs along a last axis."""

from __future__ import annotations

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.table import Value, known_length, op, term

fft = ng.numpy.fft


@op("DFT", since=20, known="length axis")
def dft(x: Value, length: Value = None, axis: Value = None, *, inverse: int = 0, onesided: int = 0) -> Value:
    """Of one side of a spectrum the inverse is real, and a forward one gives one side only."""
    at = -2 if axis is None else int(np.reshape(axis, ()))
    lines = np.moveaxis(term(x), at if at >= 0 else at + len(x.shape), -2)
    pairs = known_length(lines.shape[-1], "the last axis") == 2
    own = known_length(lines.shape[-2], "a signal")
    n = None if length is None else int(np.reshape(length, ()))
    signal = fft.Complex(lines[..., 0], lines[..., 1]) if pairs else lines[..., 0]
    if inverse and onesided:
        return np.moveaxis(fft.irfft(signal, n)[..., None], -2, at)
    whole = fft.ifft if inverse else fft.rfft if onesided and not pairs else fft.fft
    found = np.stack(whole(signal, n), axis=-1)
    kept = found[..., : (own if n is None else n) // 2 + 1, :] if onesided else found
    return np.moveaxis(kept, -2, at)


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
