# SPDX-License-Identifier: Apache-2.0
"""Products of what was dequantized: by its integers, or by weights that stay packed, if a node is such a product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

import ngraph_rewrite as ng
from onnx_reader.files import full_name
from onnx_reader.packed import Blocks, blocks_of
from onnx_reader.quantized import PRODUCTS, Quantized
from onnx_reader.small import widened
from onnx_reader.table import Value, term

DEQUANTIZED = ("DequantizeLinear", "com.microsoft.DequantizeLinear")


@dataclass(frozen=True)
class Products:
    """What names of floats stand for that were integers, also such of which blocks have scales.

    `arrays` are those of the model's variables. Packed weights come to them.
    """

    arrays: dict[ng.Op, np.ndarray]
    quantized: dict[str, Quantized] = field(default_factory=dict)
    blocks: dict[str, Blocks] = field(default_factory=dict)

    def remembered(self, node: onnx.NodeProto, inputs: list[Value], attributes: dict[str, Any]) -> list[Value]:
        """The inputs of a node that dequantizes, of which products are told; floats of blocks are not computed yet."""
        if attributes.keys() <= {"axis"}:
            self.quantized[node.output[0]] = Quantized(*map(widened, inputs), **attributes)
            return inputs
        blocks = blocks_of(*inputs, **attributes)
        if blocks is None:
            return inputs
        self.blocks[node.output[0]] = blocks._replace(packed=self._kept(node.input[0], blocks.packed))
        return [term(widened(inputs[0])), *inputs[1:]]

    def _kept(self, name: str, packed: np.ndarray) -> ng.Op:
        """Packed weights: a constant would be floats before the first call."""
        there = (t for t, array in self.arrays.items() if t.name == name and np.array_equal(array, packed))
        found = next(there, None)
        if found is None:
            found = ng.persistent_tensor(packed.shape, "uint8", initial_value=packed, name=name)
            self.arrays[found] = packed
        return found

    def of(self, node: onnx.NodeProto, inputs: list[Value], attributes: dict[str, Any]) -> Value:
        """The product that a node is, or None if it is none of what was dequantized."""
        names, product = node.input[:2], PRODUCTS.get(full_name(node))
        blocks = self.blocks.get(names[1]) if product is not None and len(names) == 2 else None
        if blocks is not None and full_name(node) != "Conv":
            return _of_blocks(blocks, *inputs, **attributes)
        if product is None or any(n not in self.quantized for n in names):
            return None
        return product(*[self.quantized[n] for n in names], *inputs[2:], **attributes)


def _of_blocks(
    blocks: Blocks, x: Value, _: Value, z: Value = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
    transB: int = 0, **other: Any,
) -> Value:  # fmt: skip
    """`MatMul` or `Gemm` by packed weights; None if they lie the other way round."""
    if other or blocks.turned != bool(transB):
        return None
    y = blocks.product(np.transpose(x) if transA else x)
    y = y if alpha == 1 else alpha * y
    return y if z is None else y + (z if beta == 1 else beta * z)
