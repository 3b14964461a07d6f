# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms. Complex numbers are pairs along a last axis."""

from __future__ import annotations

import numpy as np

import ngraph_rewrite as ng
from onnx_reader.files import dtype_of
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


@op("MelWeightMatrix", known="bands length rate low high")
def mel_weights(
    bands: Value, length: Value, rate: Value, low: Value, high: Value, *, output_datatype: int = 1
) -> Value:  # fmt: skip
    """How much each frequency of a spectrum counts in each band. Bands are triangles, evenly wide in mel."""
    many, size, whole, least, most = (np.reshape(v, ()).item() for v in (bands, length, rate, low, high))
    mels = 2595 * np.log10(1 + np.array([least, most]) / 700)
    edges = np.arange(many + 2) * (mels[1] - mels[0]) / (many + 2) + mels[0]
    bins = ((size + 1) * 700 * (10 ** (edges / 2595) - 1) // whole).astype(int)
    places, found = np.arange(size // 2 + 1), np.zeros((size // 2 + 1, many))
    for k, (a, b, c) in enumerate(zip(bins, bins[1:], bins[2:], strict=False)):
        up = (places - a) / (b - a) if b > a else places >= b
        down = (c - places) / (c - b) if c > b else places <= b
        found[:, k] = np.clip(np.minimum(up, down), 0, 1)
    return found.astype(dtype_of(output_datatype))
