# SPDX-License-Identifier: Apache-2.0
"""A walk over an ONNX graph, node by node, in which each operator becomes a term or, if all is known, an array.

An operator that the table lacks is read by the function that ONNX defines it with, if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, defs, helper

import ngraph_rewrite as ng
from onnx_reader.bodies import Body
from onnx_reader.files import (
    ALSO,
    ALSO_SINCE,
    array_of,
    definition,
    domain,
    full_name,
    is_tensor,
    located,
    standard,
)
from onnx_reader.lists import WRONG
from onnx_reader.products import DEQUANTIZED, Products
from onnx_reader.table import (
    TEXTS,
    Entry,
    ModelError,
    NotKnown,
    Value,
    computed,
    find,
    folded,
    is_term,
    known_length,
    unless_lengths,
)

# Where NumPy computes with lengths that are not known yet; to other operators they are terms.
WITH_LENGTHS = frozenset(
    """Add Cast CastLike Concat Div Equal Expand Flatten Gather GatherElements Identity Mod Mul Neg
    ReduceProd ReduceSum Reshape Scatter ScatterElements ScatterND Slice Split Squeeze Sub Tile Transpose Unsqueeze
    Where""".split()
)
DRAWS = ("Dropout", "Multinomial", "RandomNormalLike", "RandomUniformLike")  # whose results are others with each call
FAULTS = (  # NumPy's, of arrays; and of functions that call themselves
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError,
)  # fmt: skip
FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Walk:
    """What holds everywhere in a graph: versions of operator sets, functions, and the arrays of variables.

    Lengths that became floats are terms, which `counts` has the lengths of: as the end of a range they are needed.
    Inside a function `given` has its attributes, which those of its nodes may stand for.
    """

    versions: Mapping[str, int]
    functions: Mapping[tuple[str, str, str], onnx.FunctionProto]
    arrays: dict[ng.Op, np.ndarray]
    counts: dict[ng.Op, np.ndarray] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    products: Products = field(kw_only=True)

    def weights(self, graph: onnx.GraphProto, trainable: bool) -> dict[str, Value]:
        """What a graph brings: floats with axes as variables, the rest as arrays, since shapes are made of it.

        Some exporters have constants instead; of these, single numbers are no weights. What is packed stays so: of
        a constant all floats would be computed before the first call.
        """
        fixed = {name for n in graph.node if n.op_type == "BatchNormalization" for name in n.input[3:5]}
        packed = {n.input[1] for n in graph.node if n.op_type == "MatMulNBits"}
        found: dict[str, Value] = {t.name: array_of(t) for t in graph.initializer if t.data_type != TensorProto.STRING}
        made = {n.output[0]: array_of(n.attribute[0].t) for n in graph.node if is_tensor(n)}
        found |= {name: array for name, array in made.items() if array is not TEXTS and array.size > 1}
        for name, array in found.items():
            if name in packed or trainable and array.ndim and array.dtype in FLOATS:
                make = ng.persistent_tensor if name in fixed | packed else ng.variable
                found[name] = make(array.shape, array.dtype, initial_value=array, name=name)
                self.arrays[found[name]] = array
        return found

    def graph(self, graph: onnx.GraphProto, values: Mapping[str, Value]) -> dict[str, Value]:
        """The outputs of a graph, by name."""
        constants = {t.name: array_of(t) for t in graph.initializer if t.name not in values}
        wanted = [o.name for o in graph.output]
        found = self.nodes(graph.node, wanted, {**values, **constants})
        if missing := [n for n in wanted if n not in found]:
            raise ModelError(f"nothing gives {missing[0]!r}, which is an output of the graph {graph.name!r}")
        return found

    def nodes(
        self, nodes: Sequence[onnx.NodeProto], wanted: Sequence[str], scope: dict[str, Value]
    ) -> dict[str, Value]:
        """The values of some names, once all nodes are read in their order, of those that there are."""
        values = {**scope, "": None}
        for node in nodes:
            if is_tensor(node) and node.output[0] in values:
                continue  # a weight
            inputs = [_given(n, node, values) for n in node.input]
            texts = any(v is TEXTS for v in inputs)
            found = [TEXTS] * len(node.output) if texts else self.node(node, inputs, values)
            values |= {name: v for name, v in zip(node.output, found, strict=False) if name}
        return {name: values[name] for name in wanted if name in values}

    def node(self, node: onnx.NodeProto, inputs: list[Value], scope: dict[str, Value]) -> Sequence[Value]:
        """The outputs of a node: by a function of the model, by the table, or by what ONNX defines it with."""
        local = self.functions.get((node.domain, node.op_type, node.overload))
        version = self.versions.get(domain(node.domain), 1)
        entry = find(full_name(node), version)
        try:
            attributes = self.attributes(node, scope)
            if local is not None:
                return self.function(local, inputs, attributes)
            product = self.products.of(node, inputs, attributes)
            if product is not None:
                return folded([product], inputs)
            if entry is not None:
                if full_name(node) in DEQUANTIZED:
                    inputs = self.products.remembered(node, inputs, attributes)
                found = self.call(entry, node, inputs, attributes, scope)
                if node.op_type == "Cast" and is_term(found[0]) and not is_term(inputs[0]):
                    self.counts[found[0]] = inputs[0]
                own = node.op_type in DRAWS or any(map(callable, attributes.values()))
                return found if own else folded(found, inputs)
            return self.defined(node, inputs, attributes, version)
        except ng.NGraphRewriteError as error:
            raise located(error, node, inputs) from error
        except FAULTS as error:
            raise located(ModelError(f"it cannot be computed: {error}", do=WRONG), node) from error

    def attributes(self, node: onnx.NodeProto, scope: dict[str, Value]) -> dict[str, Any]:
        """Those of a node, some of which may be those of the function around it."""
        referred = ((a.name, self.given.get(a.ref_attr_name)) for a in node.attribute if a.ref_attr_name)
        found = {a.name: self.attribute(a, scope) for a in node.attribute if not a.ref_attr_name}
        found |= {name: value for name, value in referred if value is not None}
        found.pop("consumed_inputs", None)  # by which versions before 6 said what may be overwritten
        return found

    def call(
        self,
        entry: Entry,
        node: onnx.NodeProto,
        inputs: list[Value],
        attributes: dict[str, Any],
        scope: dict[str, Value],
    ) -> Sequence[Value]:
        """What the table's function gives."""
        more = ", ".join(sorted(attributes.keys() - entry.attributes - set(entry.asks)))
        if more:
            raise ModelError(f"the attribute {more} is not supported", do="add it to the function in the table")
        if node.op_type not in WITH_LENGTHS or any(map(is_term, inputs)):
            places = [n in entry.known for n in entry.names] + [False] * len(inputs)
            inputs = [v if k else unless_lengths(v) for v, k in zip(inputs, places, strict=False)]
        given = [self.known(v, n) if n in entry.known else v for v, n in zip(inputs, entry.names, strict=False)]
        own = [a for a in entry.asks if a not in attributes]
        asked = {"outputs": len(node.output), "opset": self.versions.get(domain(node.domain), 1), "scope": scope}
        asked |= {"most": self.most.get(node.output[0]), "name": node.output[0]}
        found = entry.function(*given, *inputs[len(given) :], **attributes, **{a: asked[a] for a in own})
        return found if isinstance(found, tuple) else (found,)

    def known(self, value: Value, name: str) -> Value:
        """A value that has to be known: of variables the first one, of lengths as floats these lengths."""
        if not is_term(value):
            return value
        found = self.counts.get(value, self.arrays.get(value))
        if found is not None:
            return found
        leaves = [t for t in ng.topological([value]) if not t.args]
        if any(t not in self.arrays and t.definition.name != "core.constant" for t in leaves):
            raise NotKnown(f"the input {name} is computed by the model, and has to be known while it is read", value)
        for n in [n for t in leaves for n in t.shape]:
            known_length(n, f"the input {name}")
        return computed([value])[0]

    def attribute(self, attribute: onnx.AttributeProto, scope: dict[str, Value]) -> Any:
        """An attribute as a Python value; a graph is a function that takes its inputs and gives its outputs."""
        value = helper.get_attribute_value(attribute)
        if isinstance(value, onnx.GraphProto):
            return Body(self, value, scope)
        if isinstance(value, TensorProto):
            return array_of(value)
        if attribute.type == onnx.AttributeProto.STRINGS:
            return [v.decode() for v in value]
        return value.decode() if isinstance(value, bytes) else value

    def function(self, function: onnx.FunctionProto, inputs: list[Value], attributes: Mapping[str, Any]) -> list[Value]:
        """The results of a function for some arguments."""
        defaults = {a.name: self.attribute(a, {}) for a in function.attribute_proto}
        versions = {**self.versions, **{domain(o.domain): o.version for o in function.opset_import}}
        names = {**dict.fromkeys(function.input), **dict(zip(function.input, inputs, strict=False))}
        inner = replace(self, versions=versions, given={**defaults, **attributes}, products=Products(self.arrays))
        found = inner.nodes(function.node, function.output, names)
        return [found.get(name) for name in function.output]  # it may leave some out

    def defined(self, node: onnx.NodeProto, inputs: list[Value], attributes: Mapping[str, Any], version: int) -> Any:
        """The outputs of a node by the function that ONNX defines its operator with."""
        if full_name(node) in ALSO:
            node, version = standard(node), max(version, ALSO_SINCE)
            attributes = {n: v for n, v in attributes.items() if n in {a.name for a in node.attribute}}
        body = definition(self.explicit(node), inputs, version)
        if body is None:
            do = "add a function for it to the table, or end the model before it: onnx.utils.extract_model"
            raise ModelError(f"the operator {full_name(node)} is not supported", do=do)
        if not body.output:
            what = f"what {full_name(node)} is defined with depends on lengths that are not known"
            raise ModelError(what, do="give them: read(model, lengths={...})")
        schema = defs.get_schema(node.op_type, version, node.domain)
        defaults = {n: a.default_value for n, a in schema.attributes.items() if a.default_value.name}
        return self.function(body, inputs, {**{n: self.attribute(a, {}) for n, a in defaults.items()}, **attributes})

    def explicit(self, node: onnx.NodeProto) -> onnx.NodeProto:
        """A node whose attributes have their values, where they stood for those of the function around it."""
        found, referring = onnx.NodeProto(), [a for a in node.attribute if a.ref_attr_name]
        found.CopyFrom(node)
        for a in referring:
            found.attribute.remove(a)
            if (value := self.given.get(a.ref_attr_name)) is not None:
                found.attribute.append(helper.make_attribute(a.name, value))
        return found


def _given(name: str, node: onnx.NodeProto, values: Mapping[str, Value]) -> Value:
    """The value of an input, which a node before has to give."""
    if name not in values:
        raise located(ModelError(f"nothing before it gives {name!r}"), node)
    return values[name]
