# SPDX-License-Identifier: Apache-2.0
"""Files of models that are damaged, or lie: the reader of ONNX models, in examples/, says where and what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper, parser

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
reader = import_module("onnx_reader")


def damaged(change: Callable[[onnx.ModelProto], Any]) -> onnx.ModelProto:
    """A model that something was changed in."""
    text = "agraph (float[3, 2] x) => (float[3, 2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }"
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 18, "own": 1]> {text}')
    change(model)
    return model


def calls_itself(model: onnx.ModelProto) -> None:
    node, opsets = helper.make_node("f", ["a", "b"], ["c"], domain="own"), [helper.make_opsetid("own", 1)]
    model.functions.append(helper.make_function("own", "f", ["a", "b"], ["c"], [node], opsets))
    model.graph.node[0].op_type, model.graph.node[0].domain = "f", "own"


def lies_outside(tensor: onnx.TensorProto) -> None:
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/hostname")


DAMAGES: dict[str, Callable[[onnx.ModelProto], Any]] = {
    "w.*multiple of element size": lambda m: setattr(m.graph.initializer[0], "raw_data", b"abc"),
    "w.*cannot reshape": lambda m: m.graph.initializer[0].dims.append(10**12),
    "w.*a length is -3": lambda m: m.graph.initializer[0].dims.append(-3),
    "w.*99": lambda m: setattr(m.graph.initializer[0], "data_type", 99),
    "w.*should be a relative path": lambda m: lies_outside(m.graph.initializer[0]),
    "no dtype 99": lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 99),
    "can't decode": lambda m: m.graph.node[0].attribute.append(helper.make_attribute("k", b"\xff")),
    "(?s)k = Constant": lambda m: m.graph.node.insert(0, helper.make_node("Constant", [], ["k"])),
    "recursion": calls_itself,
}


@pytest.mark.parametrize("message", DAMAGES)
def test_damaged_models_are_refused(message: str) -> None:
    with pytest.raises(reader.ModelError, match=message) as caught:
        reader.read(damaged(DAMAGES[message]))
    assert caught.value.do


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"junk")
    for source in (b"junk", path):
        with pytest.raises(reader.ModelError, match="cannot be read"):
            reader.read(source)
