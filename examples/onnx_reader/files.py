# SPDX-License-Identifier: Apache-2.0
"""What stands in ONNX files, in Python's words: tensors, types, attributes, and the functions that define operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, defs, helper, numpy_helper

import ngraph_rewrite as ng
from onnx_reader.lists import WRONG
from onnx_reader.table import TEXTS, ModelError, NotKnown, Value


def full_name(node: onnx.NodeProto) -> str:
    """The name of a node's operator, behind its domain unless that is the standard one."""
    return f"{node.domain}.{node.op_type}" if domain(node.domain) else node.op_type


def domain(name: str) -> str:
    """The domain of a set of operators. The standard one has two names."""
    return "" if name == "ai.onnx" else name


def located(error: ng.NGraphRewriteError, node: onnx.NodeProto, inputs: Sequence[Value] = ()) -> ng.NGraphRewriteError:
    """An error that says at which node it was; one that does is as it was."""
    if isinstance(error, ModelError) and error.where:
        return error
    where = f"the node {node.name or '(no name)'}: {', '.join(node.output)} = {node.op_type}({', '.join(node.input)})"
    if isinstance(error, NotKnown):
        return NotKnown(error.what, error.value, where, error.first)
    lengths = [v.reshape(-1) for v in inputs if isinstance(v, np.ndarray) and v.dtype == object]
    names = _uncertain(lengths + [v.shape for v in inputs if isinstance(v, ng.Op)])
    unsure = isinstance(error, ng.AxesError) or isinstance(error, ng.LengthError) and not error.do
    do = _more_lengths(names) if names and unsure else error.do
    return ModelError(error.what, where=where, do=do)


def _uncertain(shapes: Sequence[Sequence[Any]]) -> list[str]:
    """The names of lengths that some shapes have and others lack, or of all there are."""
    every = [{n for n in shape if isinstance(n, ng.Length)} for shape in shapes] or [set()]
    found = set.union(*every) - set.intersection(*every) or every[0]
    return sorted({name for length in found for name in length.names})


def _more_lengths(names: Sequence[str]) -> str:
    """What to do where lengths that a model leaves open may not fit."""
    one, symbol = names[0], "ng.Length.symbol"
    do = f'say more of {", ".join(names)}: read(model, lengths={{"{one}": 320}}), or {{"{one}": 32 * {symbol}("n")}}'
    same = f', or {{"{names[1]}": {symbol}("{one}")}} if the two are one' if len(names) > 1 else ""
    return f"{do} if it has to be a multiple{same}"


def array_of(tensor: onnx.TensorProto) -> Any:
    """The value of a tensor. It may have a dtype that terms lack, such as 4-bit integers.

    Raises:
        ModelError: if its elements are not as many as it says, not in this file, or of no dtype.
    """
    if tensor.data_type == TensorProto.STRING:
        return TEXTS
    try:
        if min(tensor.dims, default=0) < 0:
            raise ValueError(f"a length is {min(tensor.dims)}")
        return numpy_helper.to_array(tensor)
    except (LookupError, TypeError, ValueError, onnx.checker.ValidationError) as error:
        raise ModelError(f"the tensor {tensor.name!r} cannot be read: {error}", do=WRONG) from error


# Operators of onnxruntime that ONNX has since a version, and what attributes that its own lacks are without effect.
ALSO: dict[str, dict[str, int]] = {
    "com.microsoft.CausalConvWithState": {
        "channels_last": 0, "dilation": 1, "input_channel_offset": 0, "input_channels": 0, "ndim": 1,
        "state_channels_last": -1, "state_length": 0, "state_update_capacity": 0, "state_window": 0,
    },
    "com.microsoft.LinearAttention": {"state_window": 0},
}  # fmt: skip
ALSO_SINCE = 27


def standard(node: onnx.NodeProto) -> onnx.NodeProto:
    """A node of one of these operators as that of ONNX.

    Raises:
        ModelError: if it says what that cannot.
    """
    more, found = ALSO[full_name(node)], onnx.NodeProto()
    found.CopyFrom(node)
    found.domain = ""
    for a in [a for a in node.attribute if a.name in more]:
        if a.i != more[a.name]:
            raise ModelError(f"{full_name(node)} with {a.name} = {a.i} is not supported")
        found.attribute.remove(a)
    return found


def definition(node: onnx.NodeProto, inputs: Sequence[Value], version: int) -> onnx.FunctionProto | None:
    """The function that ONNX defines an operator with, of inputs such as these, if there is one."""
    if not defs.has(node.op_type, version, node.domain):
        return None
    schema, function = defs.get_schema(node.op_type, version, node.domain), onnx.FunctionProto()
    if schema.has_context_dependent_function:
        since = max(v for v in schema.context_dependent_function_opset_versions if v <= version)
        types = [type_of(v).SerializeToString() for v in inputs]
        found = schema.get_context_dependent_function_with_opset_version(since, node.SerializeToString(), types)
    elif schema.has_function:
        since = max(v for v in schema.function_opset_versions if v <= version)
        found = schema.get_function_with_opset_version(since)
    else:
        return None
    function.ParseFromString(found)
    return function


def type_of(value: Value) -> onnx.TypeProto:
    """The ONNX type of a value."""
    if value is None or isinstance(value, list):
        return onnx.TypeProto()
    shape = [n if isinstance(n, int) else str(n) for n in value.shape]
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype)), shape)


def dtype_of(number: int, where: str | None = None) -> Any:
    """The dtype that ONNX has a number for, which something has whose place is `where`.

    Raises:
        ModelError: for one that the library lacks, such as 8-bit floats and strings.
    """
    if number not in TensorProto.DataType.values():
        raise ModelError(f"there is no dtype {number}", where=where, do=WRONG)
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(number))
    try:
        ng.numpy.result_type(dtype)
    except ng.DTypeError:
        name, cut = TensorProto.DataType.Name(number), "cut the model there: onnx.utils.extract_model"
        do = f"the library has {', '.join(map(str, ng.DTYPES))}"
        raise ModelError(f"the dtype {name}", where=where, do=f"{cut}; {do}" if where else do) from None
    return dtype


def is_tensor(node: onnx.NodeProto) -> bool:
    """Whether a node is a constant that is a tensor."""
    kinds = [a.type for a in node.attribute] if node.op_type == "Constant" and not domain(node.domain) else []
    return kinds == [onnx.AttributeProto.TENSOR] and len(node.output) == 1


def placeholders(inputs: Sequence[onnx.ValueInfoProto], lengths: Mapping[str, int | ng.Length]) -> dict[str, ng.Op]:
    """A placeholder for each input; a name of a length is one length, wherever it stands."""
    found = {}
    for info in inputs:
        if not info.type.HasField("tensor_type") or not info.type.tensor_type.HasField("shape"):
            kind = info.type.WhichOneof("value") or "value"
            what = f"the input {info.name!r} is a {kind} without a shape"
            raise ModelError(what, do="give it: read(model, known={...})")
        tensor = info.type.tensor_type
        shape = [_length(d, f"{info.name}.{k}", lengths) for k, d in enumerate(tensor.shape.dim)]
        found[info.name] = ng.placeholder(shape, dtype_of(tensor.elem_type, f"the input {info.name}"), name=info.name)
    return found


def _length(
    dim: onnx.TensorShapeProto.Dimension, otherwise: str, lengths: Mapping[str, int | ng.Length]
) -> int | ng.Length:
    """A length that is known, or one that each call shows, by its name. Some write -1 and "?" for what has none."""
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    name = otherwise if dim.dim_param in ("", "?") else dim.dim_param
    return lengths.get(name, ng.Length.symbol(name))
