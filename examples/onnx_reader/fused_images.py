# SPDX-License-Identifier: Apache-2.0
"""Operators that onnxruntime writes into models of images, such as diffusion: several in one, with channels last."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnx_reader import activations as own
from onnx_reader.fused import fused_conv
from onnx_reader.qlinear import channels_second
from onnx_reader.reducing import group_normalization
from onnx_reader.table import Value, cast, op
from onnx_reader.windows import conv


@op("com.microsoft.GroupNorm")
def group_norm(
    x: Value, scale: Value, shift: Value, *, activation: int, groups: int, channels_last: int = 1,
    epsilon: float = 1e-5,
) -> Value:  # fmt: skip
    """With an activation it is ``x * sigmoid(x)``."""
    y = channels_second(group_normalization, x, channels_last, scale, shift, num_groups=groups, epsilon=epsilon)
    return cast(own.swish(y) if activation else y, x.dtype)


@op("com.microsoft.SkipGroupNorm", like=group_norm)
def skip_group_norm(
    x: Value, scale: Value, shift: Value, skip: Value, bias: Value = None, *, outputs: int, channels_last: int = 1,
    **how: Any,
) -> Any:  # fmt: skip
    """What is added may be one number for each channel of a sample. The second output is the sum."""
    beside = (1, 1, -1) if channels_last else (-1, 1, 1)
    skip = np.reshape(skip, (skip.shape[0], *beside)) if len(skip.shape) == 2 else skip
    whole = x + skip if bias is None else x + skip + np.reshape(bias, beside)
    return (group_norm(whole, scale, shift, channels_last=channels_last, **how), whole)[:outputs]


@op("com.microsoft.BiasAdd")
def bias_add(x: Value, bias: Value, skip: Value) -> Value:
    return x + bias + skip


@op("com.microsoft.BiasSplitGelu")
def bias_split_gelu(x: Value, bias: Value) -> Value:
    """The first half, times what an activation makes of the second."""
    whole, half = x + bias, x.shape[-1] // 2
    return whole[..., :half] * own.gelu(whole[..., half:])


@op("com.microsoft.NhwcConv", "com.microsoft.NhwcFusedConv", like=conv)
def nhwc_conv(
    x: Value, w: Value, b: Value = None, z: Value = None, *, activation: str = "", activation_params: Any = (),
    **how: Any,
) -> Value:  # fmt: skip
    z, how = None if z is None else np.moveaxis(z, -1, 1), {"activation_params": activation_params, **how}
    return channels_second(fused_conv, x, 1, w, b, z, activation=activation, **how)
