# SPDX-License-Identifier: Apache-2.0
"""Numbers of few bits inside ONNX models that the reader in examples/ has read, against the evaluator of ONNX."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.testing import assert_array_equal
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

import ngraph_rewrite as ng

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))
reader = import_module("onnx_reader")

INTEGERS = ("INT4", "UINT4", "INT2", "UINT2")
FLOATS = ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT4E2M1")
POWERS = np.ldexp(np.float32(1), np.arange(-20, 19))
# Numbers of all sizes, what lies between two neighbours, and what is too large for a dtype or just not.
NUMBERS = np.concatenate(
    [np.linspace(-9, 9, 145), POWERS, -1.5 * POWERS, 1.0625 * POWERS, [0, -0.0, 248, 249, 464, 465, 61440, 61441]]
).astype("f")


def both(body: str, x: Any, known: bool, target: str, *weights: onnx.TensorProto) -> tuple[Any, Any]:
    """What a model of `x` gives, and what it is to give."""
    shape = ", ".join(map(str, x.shape))
    text = f'<ir_version: 10, opset_import: ["": 24]>\nagraph (float[{shape}] x) => (float[{shape}] y) {{ {body} }}'
    proto = parser.parse_model(text)
    proto.graph.initializer.extend(weights)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
    model = reader.read(proto, known={"x": x} if known else {}, trainable=False)
    y = model.outputs["y"]
    if not isinstance(y, ng.Op):
        return y, wanted
    with ng.make_transformer(target) as transformer:
        return transformer.computation(y, *model.inputs.values())(x), wanted


def assert_same(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype
    assert_array_equal(found, wanted)
    assert_array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.sampled
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("saturate", [1, 0])
@pytest.mark.parametrize("name", FLOATS)
def test_a_float_of_few_bits_is_the_nearest(name: str, saturate: int, known: bool) -> None:
    """As a cast makes it and as a scale does, of an infinity and of what is no number, too."""
    number, more = getattr(onnx.TensorProto, name), [np.inf, -np.inf, *([] if "4E2" in name else [np.nan])]
    x, how = np.concatenate([NUMBERS, more]).astype("f"), f"saturate = {saturate}"
    for body in (
        f"q = Cast <to = {number}, {how}> (x)  y = Cast <to = 1> (q)",
        f"s = Constant <value_float = 0.75> ()  q = QuantizeLinear <output_dtype = {number}, {how}> (x, s)"
        "  y = DequantizeLinear (q, s)",
    ):
        with np.errstate(all="ignore"):
            assert_same(*both(body, x, known, "cpu" if saturate else "reference"))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", INTEGERS)
def test_an_integer_of_few_bits_is_rounded_and_cut_off(name: str, known: bool) -> None:
    number = getattr(onnx.TensorProto, name)
    body = f"""s = Constant <value_float = 0.75> ()  q = QuantizeLinear <output_dtype = {number}> (x, s)
        y = DequantizeLinear (q, s)"""
    for target in ("reference", "cpu"):
        assert_same(*both(body, NUMBERS[np.abs(NUMBERS) < 1e6], known, target))
    few = np.arange(-8, 8) if name.startswith("I") else np.arange(16)
    few = few % 4 - 2 * name.startswith("I") if name.endswith("2") else few
    assert_same(*both(f"q = Cast <to = {number}> (x)  y = Cast <to = 1> (q)", few.astype("f"), known, "cpu"))


def test_what_a_cast_is_like_may_have_few_bits() -> None:
    """What is too large for it was infinite, or no number."""
    like = numpy_helper.from_array(np.ones(1, onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.FLOAT8E5M2)), "l")
    for known in (True, False):
        found, _ = both("q = CastLike (x, l)  y = Cast <to = 1> (q)", np.array([7e4, -9e9], "f"), known, "cpu", like)
        assert_array_equal(found, np.array([57344, -57344], "f"))


@pytest.mark.parametrize("name", ["INT4", "FLOAT8E4M3FN"])
def test_weights_of_few_bits_have_scales_for_blocks(name: str) -> None:
    """They are integers of a byte beside what is quantized, and the product is the same."""
    random = np.random.default_rng(0)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name))
    w = numpy_helper.from_array(random.integers(-8, 8, (6, 6)).astype(dtype), "w")
    scale = numpy_helper.from_array(random.integers(1, 5, (3, 6)).astype("f"), "s")
    zero = numpy_helper.from_array(np.zeros((3, 6), dtype), "z")
    for body in (
        "d = DequantizeLinear <axis = 0, block_size = 2> (w, s, z)  y = MatMul (x, d)",
        "q = QuantizeLinear (x, u, v)  e = DequantizeLinear (q, u)  d = DequantizeLinear <axis = 1> (w, t)"
        "  y = MatMul (e, d)",
    ):
        more = [numpy_helper.from_array(np.arange(1, 7, dtype="f"), "t"), numpy_helper.from_array(np.float32(1), "u"),
                numpy_helper.from_array(np.int8(0), "v")]  # fmt: skip
        x = random.integers(-5, 5, (6, 6)).astype("f")
        assert_same(*both(body, x, False, "cpu", w, scale, zero, *more))


@pytest.mark.sampled
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("name", [*INTEGERS, "INT8", "UINT8"])
def test_a_factor_whose_blocks_have_scales_stays_packed(name: str, zeros: bool) -> None:
    """Where a product is all that reads it; what else does has its floats. The last block may be shorter."""
    random = np.random.default_rng(1)
    bits, signed = int(name[-1]), name.startswith("I")
    first, size = -(2 ** (bits - 1)) if signed else 0, (7, 5)
    w, z = (random.integers(first, first + 2**bits, s) for s in (size, (2, 5)))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name))
    scale = random.integers(1, 5, (2, 5)).astype("f")
    floats = (w - zeros * z.repeat(4, 0)[:7]) * scale.repeat(4, 0)[:7].astype(float)
    text = f"""agraph (float[n, 7] x) => (float[n, 5] y, float[7, 5] d) {{
        d = DequantizeLinear <axis = 0, block_size = 4> (w, s{", z" if zeros else ""})
        y = MatMul (x, d) }}"""
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 24]>\n{text}')
    known = {"w": w.astype(dtype), "s": scale, "z": z.astype(dtype)}
    proto.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in known.items() if zeros or n != "z")
    for trainable in (True, False):
        model = reader.read(proto, trainable=trainable)
        assert model.weights.keys() == ({"w", "s"} if trainable else {"w"})
        assert (model.weights["w"].dtype, model.weights["w"].shape) == ("uint8", (5, 2, 4 * bits // 8))
        x = random.integers(-5, 5, (3, 7)).astype("f")
        with ng.make_transformer("cpu") as transformer:
            y, d = transformer.computation(list(model.outputs.values()), *model.inputs.values())(x)
        assert_same(y, (x @ floats).astype("f"))
        assert_same(d, floats.astype("f"))


@pytest.mark.parametrize("turn", [0, 1])
def test_packed_factors_of_gemm(turn: int) -> None:
    """Whichever way round they lie; a `MatMul` takes one way only."""
    random = np.random.default_rng(2)
    w = random.integers(-8, 8, (8, 5)).astype(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.INT4))
    scale, b = random.integers(1, 5, (2, 5)).astype("f"), np.arange(5, dtype="f")
    wanted = w.astype("f") * scale.repeat(4, 0)
    shape = "5, 8" if turn else "8, 5"
    text = f"""agraph (float[n, 8] x, float[m, 5] z) => (float[n, 5] y, float[m, 8] u, float[{shape}] d) {{
        d = DequantizeLinear <axis = {turn}, block_size = 4> (w, s)
        y = Gemm <transB = {turn}, alpha = 2.0> (x, d, b)
        {"u = MatMul (z, d)" if turn else "u = Gemm <transB = 1> (z, d)"} }}"""
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 24]>\n{text}')
    known = {"w": w.T if turn else w, "s": scale.T if turn else scale, "b": b}
    proto.graph.initializer.extend(numpy_helper.from_array(v.copy(), n) for n, v in known.items())
    model = reader.read(proto, trainable=False)
    assert list(model.weights) == ["w"]
    x, z = random.integers(-5, 5, (3, 8)).astype("f"), random.integers(-5, 5, (3, 5)).astype("f")
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(list(model.outputs.values()), *model.inputs.values())(x, z)
    for one, other in zip(found, (2 * (x @ wanted) + b, z @ wanted.T, wanted.T if turn else wanted), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("name", ["INT4", "FLOAT8E5M2"])
def test_a_result_of_few_bits_is_refused(name: str) -> None:
    """It would have another dtype than the model says."""
    number = getattr(onnx.TensorProto, name)
    text = f"agraph (float[2] x) => (float[2] y) {{ y = Cast <to = {number}> (x) }}"
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 24]>\n{text}')
    proto.graph.output[0].type.tensor_type.elem_type = number
    with pytest.raises(reader.ModelError, match=f"the dtype {name}"):
        reader.read(proto)
