# SPDX-License-Identifier: Apache-2.0
"""A model of ONNX as terms: what it takes, what it gives and what it brings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto

import ngraph_rewrite as ng
from onnx_reader.files import domain, dtype_of, placeholders
from onnx_reader.lists import WRONG
from onnx_reader.products import Products
from onnx_reader.table import TEXTS, ModelError, Value, cast, is_term
from onnx_reader.walking import Walk


@dataclass(frozen=True)
class Model:
    """A model as terms: its placeholders, its results and the weights that these need, variables, each by its name.

    Results that are texts are None. Weights of few bits that stay packed are of ``uint8``, which has no derivative.
    """

    inputs: dict[str, ng.Op]
    outputs: dict[str, Value]
    weights: dict[str, ng.Op]


def read(
    source: str | os.PathLike[str] | bytes | onnx.ModelProto,
    known: Mapping[str, Any] | None = None,
    lengths: Mapping[str, int | ng.Length] | None = None,
    trainable: bool = True,
    most: Mapping[str, int] | None = None,
) -> Model:
    """A model as terms.

    Args:
        source: A file, its bytes, or what ``onnx.load`` gives.
        known: Values of inputs on which shapes depend. They are no inputs then.
        lengths: Lengths that the model only names, such as ``{"batch": 8}``; the others stay unknown until a call. One
            without a name is ``"x.2"``, by the input and its axis. A network that halves images and doubles them again
            may need a multiple: ``{"height": 32 * ng.Length.symbol("n")}``.
        trainable: Whether floats that the model brings are variables. Else they are constants, and what is computed
            of them alone is computed now.
        most: How many rows there are at most of a result of `NonMaxSuppression`, by its name, such as
            ``{"selected_indices": 100}``. It has so many rows then, of which those that are none are of -1.

    Raises:
        ModelError: for an operator, an attribute or a dtype that is not supported.
        NotKnown: if a shape depends on a value that is not known.
    """
    model = _loaded(source)
    if more := (most or {}).keys() - {n.output[0] for n in model.graph.node if n.op_type == "NonMaxSuppression"}:
        raise ModelError(f"most: no NonMaxSuppression of the graph gives {', '.join(sorted(more))}")
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    arrays: dict[ng.Op, np.ndarray] = {}
    versions = {domain(o.domain): o.version for o in model.opset_import}
    walk = Walk(versions, functions, arrays, products=Products(arrays), most=most or {})
    values: dict[str, Value] = dict(walk.weights(model.graph, trainable))
    tensors = {i.name for i in model.graph.input if i.type.HasField("tensor_type")}
    values |= {n: np.asarray(v) if n in tensors else v for n, v in (known or {}).items()}
    inputs = placeholders([i for i in model.graph.input if i.name not in values], lengths or {})
    found = walk.graph(model.graph, values | inputs)
    if found and all(v is TEXTS for v in found.values()):
        dtype_of(TensorProto.STRING, f"the output {', '.join(found)}")
    outputs = {o.name: _declared(found[o.name], o) for o in model.graph.output}
    used = set(ng.topological([t for v in outputs.values() for t in (v if isinstance(v, list) else [v]) if is_term(t)]))
    return Model(inputs, outputs, {t.name: t for t in walk.arrays if t in used})


def _loaded(source: str | os.PathLike[str] | bytes | onnx.ModelProto) -> onnx.ModelProto:
    """A file, or its bytes, as ONNX has it."""
    try:
        source = onnx.load(source) if isinstance(source, str | os.PathLike) else source
        return onnx.load_from_string(source) if isinstance(source, bytes) else source
    except (DecodeError, onnx.checker.ValidationError) as error:
        raise ModelError(f"the file cannot be read: {error}", do=WRONG) from error


def _declared(value: Value, info: onnx.ValueInfoProto) -> Value:
    """A result: lengths that are not known yet are a term, of the dtype that the model says, if terms have that."""
    if value is TEXTS and info.type.tensor_type.elem_type in (TensorProto.UNDEFINED, TensorProto.STRING):
        return None
    if value is TEXTS:
        raise ModelError(
            f"the output {info.name} is computed of texts", do="cut the model there: onnx.utils.extract_model"
        )
    if is_term(value) and info.type.tensor_type.elem_type:
        dtype_of(info.type.tensor_type.elem_type, f"the output {info.name}")
    lengths = isinstance(value, np.ndarray) and value.dtype == object
    return cast(value, dtype_of(info.type.tensor_type.elem_type or TensorProto.INT64)) if lengths else value
