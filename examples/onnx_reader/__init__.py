# SPDX-License-Identifier: Apache-2.0
"""A reader of ONNX models: ``read`` gives a model as ``ng`` terms.

To read an operator more, put a function for it into the table (`onnx_reader.table.op`).
"""

from __future__ import annotations

from onnx_reader import (  # noqa: F401  each fills the table
    activations,
    arrangement,
    attention,
    boxes,
    control,
    elementwise,
    experts,
    fused,
    fused_images,
    grouped,
    indexing,
    packed,
    qlinear,
    quantized,
    recurrent,
    reducing,
    regions,
    resizing,
    signals,
    supports,
    tabular,
    training,
    trees,
    windows,
)
from onnx_reader.reading import Model, read
from onnx_reader.table import ModelError, NotKnown

__all__ = ["Model", "ModelError", "NotKnown", "read"]
