# SPDX-License-Identifier: Apache-2.0
"""The reader of ONNX models, in examples/, against ONNX's own tests of its operators, and with whole models."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import onnx
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from onnx import numpy_helper, parser
from onnx.backend.test.case.node import collect_testcases
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops import op_pool_common

import ngraph_rewrite as ng

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))
reader, script, training = map(import_module, ("onnx_reader", "onnx_model", "training"))

NEWEST = 28  # the operator set that the reader was written for: what a later one says is not held against it
LARGE = 2000  # elements of an argument
# Tests whose results are drawn: they are others than ONNX's, of the same shape.
DRAWS = re.compile("test_bernoulli|test_training_dropout(_default)?(_mask)?$")
# Why a model may be refused, and the fewest words that say so.
REASONS = {
    "a dtype that the library lacks": "the dtype ",
    "an operator without a function": "is not supported",
}
# An operator of each kind, and what only kernels could have wrong.
COMPILED = (
    "test_convtranspose_group_2", "test_gathernd_example_int32_batch_dim1", "test_layer_normalization_3d_axis1_epsilon",
    "test_qlinearmatmul_3D_uint8_float32", "test_resize_downsample_scales_cubic_antialias", "test_scatternd_add",
)  # fmt: skip
OPEN = (
    "test_averagepool_2d_precomputed_pads", "test_conv_with_strides_padding", "test_flatten_axis2",
    "test_gather_2d_indices", "test_layer_normalization_4d_axis2", "test_argmax_keepdims_example_select_last_index",
    "test_reduce_log_sum_exp_keepdims_random", "test_resize_upsample_scales_linear", "test_scatter_elements_with_axis",
    "test_softmax_axis_1", "test_attention_4d_attn_mask_bool",
)  # fmt: skip


def pooled(image: Any, *given: Any, by: Any = op_pool_common.pool, **more: Any) -> Any:
    """As ONNX pools, element by element; of a large image, which is in no test that is taken, there is nothing."""
    return by(image, *given, **more) if image.size < 2 * LARGE else image[:0]


@cache
def cases() -> dict[str, Any]:
    with warnings.catch_warnings(), mock.patch.object(op_pool_common, "pool", pooled):
        warnings.simplefilter("ignore")  # NumPy's, of how ONNX makes its data
        every = collect_testcases(None)
    # The others have the nodes that an operator is defined by, or images so large that they say no more and take long.
    own = (c for c in every if "_expanded" not in c.name and all(o.version <= NEWEST for o in c.model.opset_import))
    return {c.name: c for c in own if all(getattr(v, "size", 0) < LARGE for v in c.data_sets[0][0])}


@cache
def transformer_for(target: str) -> ng.Transformer:
    return ng.make_transformer(target)


def arrays(values: Any) -> list[Any]:
    return [numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v for v in values]


def with_lengths(model: onnx.ModelProto, given: dict[str, Any], known: bool = True) -> onnx.ModelProto:
    """The model with the lengths of these arguments, or with a name for each length but 1."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    for info in whole.graph.input:
        if info.type.HasField("tensor_type") and info.name in given:
            kind = info.type.tensor_type
            shape = [n if known or n == 1 else f"length{n}" for n in given[info.name].shape]
            info.CopyFrom(onnx.helper.make_tensor_value_info(info.name, kind.elem_type, shape))
    return whole


def read(model: onnx.ModelProto, given: dict[str, Any]) -> Any:
    """The model as terms; what has to be known is given as it is asked for."""
    known = {i.name: given[i.name] for i in model.graph.input if not i.type.HasField("tensor_type")}
    while True:
        try:
            return reader.read(model, known=known)
        except reader.NotKnown as error:
            if not set(error.inputs) - known.keys():
                raise
            known |= {name: given[name] for name in error.inputs}


def terms(value: Any) -> list[ng.Op]:
    return (
        [value] if isinstance(value, ng.Op) else [t for v in value for t in terms(v)] if isinstance(value, list) else []
    )


def values(value: Any, found: dict[ng.Op, Any]) -> Any:
    """The value of a term, of each in a list, or what is known."""
    return [values(v, found) for v in value] if isinstance(value, list) else found.get(value) if terms(value) else value


def computed(model: Any, given: dict[str, Any], target: str) -> list[Any]:
    wanted = [t for value in model.outputs.values() for t in terms(value)]
    found: dict[ng.Op, Any] = {}
    if wanted:
        computation = transformer_for(target).computation(wanted, *model.inputs.values())
        found = dict(zip(wanted, computation(*(given[n] for n in model.inputs)), strict=True))
    return [values(v, found) for v in model.outputs.values()]


def assert_same(found: Any, wanted: Any, case: Any) -> None:
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, case)
    elif wanted is None:
        assert found is None
    else:
        assert (np.asarray(found).dtype, np.shape(found)) == (np.asarray(wanted).dtype, np.shape(wanted)), case.name
        if np.asarray(wanted).dtype.kind not in "biu":
            # Two units in the last place of bfloat16; and what cancels is rounded as the greatest element is.
            rtol = 2**-6 if str(wanted.dtype) == "bfloat16" else case.rtol
            found, wanted = (np.asarray(v, np.float64) for v in (found, wanted))
            size = np.max(np.abs(wanted), where=np.isfinite(wanted), initial=0)
            assert_allclose(found, wanted, rtol=rtol, atol=case.atol + 1e-8 * size, err_msg=case.name)
        else:
            assert_array_equal(found, wanted, err_msg=case.name)


def held_against(case: Any, target: str, known: bool = True) -> None:
    given = dict(zip([i.name for i in case.model.graph.input], arrays(case.data_sets[0][0]), strict=False))
    model = read(with_lengths(case.model, given, known), given)
    found = computed(model, given, target)
    for one, wanted in zip(found, arrays(case.data_sets[0][1]), strict=True):
        if DRAWS.match(case.name):
            assert (one.dtype, one.shape) == (wanted.dtype, wanted.shape)
        else:
            assert_same(one, wanted, case)


def test_every_operator_does_what_the_tests_of_onnx_say_or_is_refused() -> None:
    """On the reference target, which compiles nothing."""
    outcomes, wrong = Counter[str](), []
    for case in cases().values():
        try:
            held_against(case, "reference")
            outcomes["right"] += 1
        except reader.ModelError as error:
            reason = next((r for r, words in REASONS.items() if words in str(error)), f"{case.name}: {error}")
            outcomes[reason] += 1
        except (AssertionError, ng.NGraphRewriteError) as error:
            wrong.append(f"{case.name}: {error}")
    assert not wrong, "\n".join(wrong)
    assert outcomes.keys() <= {"right", *REASONS}, outcomes
    assert outcomes["right"] > 0.85 * len(cases())


# Each of these is one test, as each process that has one makes all of ONNX's tests first.
def test_kernels_do_what_the_tests_of_onnx_say() -> None:
    for name in COMPILED:
        held_against(cases()[name], "cpu")


def test_lengths_may_be_those_of_each_call() -> None:
    for name in OPEN:
        held_against(cases()[name], "reference", known=False)


# -- whole models -----------------------------------------------------------------------------------------

BLOCK = """
<ir_version: 10, opset_import: ["": 21]>
block (float[batch, words, 8] x) => (float[batch, words, 8] y) {
    shape = Shape (x)
    both = Slice (shape, zero, two)
    four = Constant <value_ints = [2, 4]> ()
    split = Concat <axis = 0> (both, four)
    eight = Constant <value_ints = [8]> ()
    whole = Concat <axis = 0> (both, eight)
    zero = Constant <value_ints = [0]> ()
    n = LayerNormalization <axis = -1> (x, gain1, shift1)
    projected = MatMul (n, all)
    q0, k0, v0 = Split <axis = -1, num_outputs = 3> (projected)
    q1 = Reshape (q0, split)
    k1 = Reshape (k0, split)
    v1 = Reshape (v0, split)
    q = Transpose <perm = [0, 2, 1, 3]> (q1)
    k = Transpose <perm = [0, 2, 3, 1]> (k1)
    v = Transpose <perm = [0, 2, 1, 3]> (v1)
    fits = MatMul (q, k)
    half = Constant <value_float = 0.5> ()
    scaled = Mul (fits, half)
    share = Softmax <axis = -1> (scaled)
    seen = MatMul (share, v)
    side = Transpose <perm = [0, 2, 1, 3]> (seen)
    flat = Reshape (side, whole)
    mixed = MatMul (flat, mix)
    middle = Add (x, mixed)
    m = LayerNormalization <axis = -1> (middle, gain2, shift2)
    up1 = MatMul (m, up)
    up2 = Gelu (up1)
    down1 = MatMul (up2, down)
    y = Add (middle, down1)
}
"""
WEIGHTS = {"gain1": (8,), "shift1": (8,), "all": (8, 24), "mix": (8, 8), "gain2": (8,), "shift2": (8,)}
WEIGHTS |= {"up": (8, 16), "down": (16, 8)}
MODELS = {"images": (script.TEXT, script.SHAPES, [(3, 1, 8, 8), (5, 1, 8, 8)])}
MODELS["words"] = (BLOCK, WEIGHTS, [(2, 5, 8), (3, 4, 8)])


def whole(name: str) -> onnx.ModelProto:
    text, shapes, _ = MODELS[name]
    if name == "words":  # nodes may stand in any order in the text, but not in a model
        lines = text.splitlines()
        constants = [line for line in lines if "Constant" in line]
        head = next(i for i, line in enumerate(lines) if "=>" in line)
        text = "\n".join([*lines[: head + 1], "two = Constant <value_ints = [2]> ()", *constants,
                          *(line for line in lines[head + 1 :] if "Constant" not in line)])  # fmt: skip
    model: onnx.ModelProto = script.filled(text, shapes)
    for tensor in model.graph.initializer:
        if tensor.name.startswith("gain"):
            tensor.CopyFrom(numpy_helper.from_array(np.ones(8, np.float32), tensor.name))
    return model


@pytest.mark.parametrize("trainable", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_a_whole_model_computes_what_the_evaluator_of_onnx_does(name: str, trainable: bool) -> None:
    """Lengths that it only names are those of each call."""
    proto, random = whole(name), np.random.default_rng(0)
    model = reader.read(proto.SerializeToString(), trainable=trainable)
    (x,), (y,) = model.inputs.values(), model.outputs.values()
    assert [str(n) for n in x.shape[: 1 + (name == "words")]] == ["batch", "words"][: 1 + (name == "words")]
    assert (model.weights.keys() == {t.name for t in proto.graph.initializer}) == trainable
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(y, x)
        for shape in MODELS[name][2]:
            value = random.normal(size=shape).astype(np.float32)
            (wanted,) = ReferenceEvaluator(proto).run(None, {x.name: value})
            # float32, through sums of some hundreds of products
            assert_allclose(computation(value), wanted, rtol=1e-4, atol=1e-5)
    if name == "images":
        fixed = reader.read(proto, lengths={"batch": 7})
        assert fixed.outputs["scores"].shape == (7, 10)


@pytest.mark.parametrize("name", MODELS)
def test_slopes_by_the_weights_are_differences_and_a_step_along_them_helps(name: str) -> None:
    model, random = reader.read(whole(name)), np.random.default_rng(1)
    (x,), (y,) = model.inputs.values(), model.outputs.values()
    loss = ng.numpy.mean(ng.numpy.square(y - 1))
    slopes = ng.deriv(loss, list(model.weights.values()))
    value = random.normal(size=MODELS[name][2][0]).astype(np.float32)
    with ng.make_transformer("cpu" if name == "words" else "reference") as transformer:
        both = transformer.computation([loss, *slopes], x)
        before, *found = both(value)
        starts = {w: transformer.get(w) for w in model.weights.values()}
        for w, slope in zip(starts, found, strict=True):
            length = float(np.sqrt(np.sum(slope**2)))
            step = 1e-2 / max(length, 1e-3)
            ends = []
            for sign in (1, -1):
                transformer.set(w, starts[w] + sign * step * slope)
                ends.append(float(both(value)[0]))
            transformer.set(w, starts[w])
            # A central difference in float32: off by the square of the step, and by rounding over it.
            assert_allclose((ends[0] - ends[1]) / (2 * step), length**2, rtol=3e-2, atol=2e-4, err_msg=w.name)
        down = transformer.computation(
            ng.doall([ng.assign(w, w - 1e-2 * s) for w, s in zip(starts, slopes, strict=True)]), x
        )
        down(value)
        assert both(value)[0] < before


def test_the_example_trains_a_model_of_onnx(capsys: Any) -> None:
    assert script.main(["--epochs", "1", "--target", "reference"]) > 0.8
    assert "epoch 1: loss" in capsys.readouterr().out


def test_the_example_runs_a_file(tmp_path: Path, capsys: Any) -> None:
    onnx.save(whole("words"), str(tmp_path / "block.onnx"))
    script.main([str(tmp_path / "block.onnx"), "--target", "reference"])
    out = capsys.readouterr().out
    assert "takes x float32[batch, words, 8]" in out and "gives y float32[batch, words, 8]" in out
    assert f"{len(WEIGHTS)} weights" in out


# -- what a model may be made of ----------------------------------------------------------------------------


def made(text: str, *initializers: onnx.TensorProto, **options: Any) -> Any:
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21, "own": 1, "com.microsoft": 1]>\n{text}')
    model.graph.initializer.extend(initializers)
    return reader.read(model, **options)


# What onnxruntime writes into a model, and what it made it of: of floats, and of weights of 8 bits.
FUSED = {
    "y = com.microsoft.FastGelu (x, b)": 'c = Add (x, b)\n y = Gelu <approximate = "tanh"> (c)',
    "y = com.microsoft.BiasGelu (x, b)": "c = Add (x, b)\n y = Gelu (c)",
    "y = com.microsoft.QuickGelu <alpha = 2.0> (x)": "c = Add (x, x)\n d = Sigmoid (c)\n y = Mul (x, d)",
    "y, , , s = com.microsoft.SkipLayerNormalization <epsilon = 0.5> (x, w, b, b)": "s = Add (x, w)\n"
    "y = LayerNormalization <epsilon = 0.5> (s, b, b)",
    "y = com.microsoft.FusedMatMul <transA = 1, alpha = 2.0> (x, w)": "c = Transpose (x)\n d = MatMul (c, w)\n"
    "y = Add (d, d)",
    'y = com.microsoft.FusedConv <activation = "LeakyRelu", activation_params = [0.5]> (i, f)': "c = Conv (i, f)\n"
    "y = LeakyRelu <alpha = 0.5> (c)",
    "y = com.microsoft.DynamicQuantizeMatMul (x, q, k, z, b)": "d = DequantizeLinear (q, k, z)\n c = MatMul (x, d)\n"
    "y = Add (c, b)",
    "y = com.microsoft.MatMulIntegerToFloat (q, q, k, k, z, z, b)": "d = DequantizeLinear (q, k, z)\n"
    "c = MatMul (d, d)\n y = Add (c, b)",
    "y, h = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1> (t, v, r, , , , , , l, o, l, o)": ""
    "n = Cast <to = 1> (v)\n m = Cast <to = 1> (r)\n e = Mul (n, l)\n g = Mul (m, l)\n"
    "j = Transpose <perm = [0, 2, 1]> (e)\n p = Transpose <perm = [0, 2, 1]> (g)\n"
    "y, h = LSTM <hidden_size = 1> (t, j, p)",
}


@pytest.mark.parametrize("fused", FUSED)
def test_what_onnxruntime_fuses_is_read_as_what_it_was_made_of(fused: str) -> None:
    random = np.random.default_rng(1)
    shapes = {"x": (3, 3), "w": (3, 3), "b": (3,), "i": (1, 1, 4, 4), "f": (2, 1, 2, 2), "t": (2, 1, 3)}
    given: dict[str, Any] = {n: random.normal(size=s).astype("f") for n, s in shapes.items()}
    given |= {n: random.integers(-9, 9, s).astype("b") for n, s in (("q", (3, 3)), ("v", (1, 3, 4)), ("r", (1, 1, 4)))}
    given |= {"k": np.float32(0.5), "z": np.int8(1), "l": np.full(1, 0.25, "f"), "o": np.zeros(1, "b")}
    arrays = [numpy_helper.from_array(np.asarray(v), n) for n, v in given.items()]
    found, wanted = (
        made(f"g () => (float y) {{ {text} }}", *arrays, trainable=False) for text in (fused, FUSED[fused])
    )
    assert_allclose(found.outputs["y"], wanted.outputs["y"], rtol=1e-5)


def test_functions_of_a_model_are_read_with_their_attributes() -> None:
    model = made("""
        agraph (float[n] x) => (float[n] y) { y = own.scaled <by = 3.0> (x) }
        <domain: "own", opset_import: ["": 21]>
        scaled <by> (x) => (y) { k = Constant <value_float: float = @by> ()
            y = Mul (x, k) }
    """)
    assert_array_equal(computed(model, {"x": np.arange(3, dtype="f")}, "reference")[0], [0, 3, 6])


def test_weights_of_four_bits_become_what_they_stand_for() -> None:
    four = numpy_helper.from_array(np.arange(-8, 8).reshape(4, 4).astype(onnx.helper.tensor_dtype_to_np_dtype(22)), "w")
    scale = numpy_helper.from_array(np.array([1, 2, 3, 4], "f"), "s")
    text = "agraph (float[n, 4] x) => (float[n, 4] y) { d = DequantizeLinear <axis = 1> (w, s)\n y = MatMul (x, d) }"
    model = made(text, four, scale)
    wanted = np.arange(-8, 8).reshape(4, 4) * [1, 2, 3, 4]
    assert_array_equal(computed(model, {"x": np.eye(4, dtype="f")}, "reference")[0], wanted)
    assert list(model.weights) == ["s"]


# Products of floats that stand for integers: the shape of the second factor, the axis that has scales, and the same
# product of the integers.
QUANTIZED = {
    "MatMul (d, e)": ((2000, 6), 1, lambda x, w: x @ w),
    "Gemm <transB = 1, alpha = 2.0> (d, e)": ((6, 2000), 0, lambda x, w: 2 * (x @ w.T)),
    "Gemm <transB = 1> (d, e, b)": ((6, 2000), 0, lambda x, w: x @ w.T),
    "Conv <pads = [1, 1]> (i, e)": ((6, 500, 3), 0, lambda x, w: correlated(x.reshape(3, 500, 4), w)),
    "Conv <pads = [1, 1]> (i, e, b)": ((6, 500, 3), 0, lambda x, w: correlated(x.reshape(3, 500, 4), w)),
}


def correlated(x: Any, w: Any) -> Any:
    """Images and filters along one axis, with one place around the images."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1)))
    return np.stack([np.einsum("ncw,kcw->nk", padded[..., i : i + 3], w) for i in range(x.shape[2])], -1)


@pytest.mark.parametrize("target", ["reference", "cpu"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("product", QUANTIZED)
def test_a_product_of_dequantized_numbers_is_summed_as_integers(product: str, dtype: Any, target: str) -> None:
    """A sum of floats would be rounded with each number that is added."""
    shape, axis, exact = QUANTIZED[product]
    random = np.random.default_rng(1)
    x, zero = random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, (3, 2000), dtype, endpoint=True), dtype(100)
    w = random.integers(-128, 127, shape, np.int8, endpoint=True)
    known = {"w": w, "k": np.linspace(1, 2, 6, dtype="f"), "o": np.zeros(6, np.int8), "s": np.float32(0.25), "z": zero}
    known |= {"b": np.full(6, 1, "f"), "r": np.array([3, 500, 4])}
    model = made(f"""
        agraph ({np.dtype(dtype).name}[3, 2000] q) => (float[n, m] y) {{ d = DequantizeLinear (q, s, z)
            e = DequantizeLinear <axis = {axis}> (w, k, o)
            p = Reshape (q, r)
            i = DequantizeLinear (p, s, z)
            y = {product} }}
    """, *(numpy_helper.from_array(v, n) for n, v in known.items()))  # fmt: skip
    scale, bias = known["k"] * known["s"], np.float32("b)" in product)
    wanted = exact(x.astype(np.int64) - int(zero), w.astype(np.int64)).astype("f")
    wanted = wanted * (scale[:, None] if "Conv" in product else scale) + bias
    assert_array_equal(computed(model, {"q": x}, target)[0], wanted)


def test_sums_that_may_not_fit_integers_are_of_floats() -> None:
    text = """agraph (uint8[1, 40000] q, uint8[40000, 1] w, float s) => (float[1, 1] y) {
        d = DequantizeLinear (q, s)
        e = DequantizeLinear (w, s)
        y = MatMul (d, e) }"""
    given = {"q": np.full((1, 40000), 255, np.uint8), "w": np.full((40000, 1), 255, np.uint8), "s": np.float32(1)}
    found = computed(made(text), given, "reference")[0]
    assert_allclose(found, 255**2 * 40000, rtol=1e-4)  # to sum floats in turn is off by so much, to wrap by all of it


BRANCHES = """
agraph (float[n] x, float[1] w) => (float[n] y) {
    total = ReduceSum <keepdims = 0> (x)
    zero = Constant <value_float = 0.0> ()
    more = Greater (total, zero)
    y = If (more) <
        then_branch = a () => (float[n] p) { p = Mul (x, w) },
        else_branch = b () => (float[n] q) { r = Neg (x)  q = Exp (r) }>
}
"""
DOUBLING = """
agraph (float[1] x, int64 count) => (float[1] y) {
    yes = Constant <value = bool {1}> ()
    limit = Constant <value_floats = [50.0]> ()
    y = Loop (count, yes, x) <
        body = step (int64 i, bool c, float[1] s) => (bool more, float[1] t) {
            t = Add (s, s)
            less = Less (t, limit)
            more = Squeeze (less)
        }>
}
"""


@pytest.mark.parametrize("sign", [1, -1])
def test_one_branch_is_run_where_values_say_which(sign: int) -> None:
    """On either target, and the derivative is that of the branch."""
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{BRANCHES}')
    model = reader.read(proto)
    given = {"x": sign * np.array([1.0, 2.0], "f"), "w": np.array([3.0], "f")}
    (wanted,) = ReferenceEvaluator(proto).run(None, given)
    slope = ng.deriv(ng.numpy.sum(model.outputs["y"]), model.inputs["x"])
    for target in ("cpu", "reference"):
        computation = transformer_for(target).computation([model.outputs["y"], slope], *model.inputs.values())
        y, by_x = computation(*given.values())
        assert_allclose(y, wanted, rtol=1e-6)
        assert_allclose(by_x, [3, 3] if sign > 0 else -wanted, rtol=1e-6)


@pytest.mark.parametrize("known", [True, False])
def test_a_loop_runs_as_long_as_values_say(known: bool) -> None:
    """Whether the most steps are known or not."""
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{DOUBLING}')
    for count in (0, 3, 9):
        given = {"x": np.array([2.0], "f"), "count": np.array(count)}
        model = reader.read(proto, known={"count": given["count"]} if known else {})
        (wanted,) = ReferenceEvaluator(proto).run(None, given)
        for target in ("cpu", "reference"):
            assert_array_equal(computed(model, given, target)[0], wanted)


def test_constants_are_weights_as_some_exporters_have_them() -> None:
    """But neither numbers, nor what only says how large something is."""
    model = made("""agraph (float[1, 1, 2] x) => (float[1, 1, 4] y) {
        w = Constant <value = float[2] {1.0, 2.0}> ()
        one = Constant <value = float[1] {1.0}> ()
        scales = Constant <value = float[3] {1.0, 1.0, 2.0}> ()
        a = Mul (x, w)
        b = Add (a, one)
        y = Resize <mode = "nearest"> (b, , scales) }""")
    assert list(model.weights) == ["w"]


def test_a_branch_for_other_inputs_is_none_if_the_condition_is_known() -> None:
    text = """agraph (float[2] x, bool b) => (float[2] y) { y = If (b) <
        then_branch = one () => (float[2] p) { p = Neg (x) },
        else_branch = other () => (float[2] q) { q = Reshape <shape = [3]> (x) }> }"""
    with pytest.raises(reader.NotKnown, match="(?s)cannot reshape.*give the value of b"):
        made(text)
    assert made(text, known={"b": True}).outputs["y"].shape == (2,)


def test_a_shape_that_is_computed_may_be_given() -> None:
    text = "agraph (float[6] x, int64[2] shape) => (float[r, c] y) { y = Reshape (x, shape) }"
    with pytest.raises(reader.NotKnown, match=r"(?s)y = Reshape\(x, shape\).*give the value of shape") as caught:
        made(text)
    assert caught.value.inputs == ["shape"]
    assert made(text, known={"shape": [2, 3]}).outputs["y"].shape == (2, 3)


@pytest.mark.parametrize(("each", "boxes"), [(-2, 2), (0, 2), (3, 0), (3, 2)])
def test_what_is_no_chosen_box_has_neither_sample_nor_class(each: int, boxes: int) -> None:
    """There may be none to choose from, and none may be wanted."""
    text = (
        f"agraph (float[2, {boxes}, 4] x, float[2, 1, {boxes}] z) => (int64[m, 3] y)\n"
        f"<int64 each = {{{each}}}> {{ y = NonMaxSuppression (x, z, each) }}"
    )
    x, z = np.ones((2, boxes, 4), "f"), np.ones((2, 1, boxes), "f")  # the second box, and the other sample's, lie over
    x[..., 2:] = 2
    (found,) = computed(made(text, most={"y": 5}), {"x": x, "z": z}, "reference")
    chosen = [[0, 0, 0], [1, 0, 0]] if each > 0 and boxes else []
    assert_array_equal(found, [*chosen, *[[-1] * 3] * 5][:5])


def test_no_regions_are_no_images() -> None:
    text = (
        "agraph (float[1, 2, 4, 4] x) => (float[0, 2, 3, 3] y) <float[0, 4] r = {}, int64[0] b = {}>\n"
        "{ y = RoiAlign <output_height = 3, output_width = 3> (x, r, b) }"
    )
    assert made(text, trainable=False).outputs["y"].shape == (0, 2, 3, 3)


@pytest.mark.parametrize("most", [2, 6])
def test_boxes_that_values_choose_are_at_most_so_many(most: int) -> None:
    """Of any number of samples and boxes. Behind those that are chosen there are rows of -1."""
    case = cases()["test_nonmaxsuppression_two_batches"]
    given = dict(zip([i.name for i in case.model.graph.input], arrays(case.data_sets[0][0]), strict=True))
    (wanted,) = arrays(case.data_sets[0][1])
    known = {n: given.pop(n) for n in ("max_output_boxes_per_class", "score_threshold")}
    model = reader.read(with_lengths(case.model, given, False), known=known, most={"selected_indices": most})
    for target in ("reference", "cpu"):
        (found,) = computed(model, given, target)
        assert_array_equal(found, [*wanted, *[[-1] * 3] * most][:most])


# -- what the text of an operator says, and none of ONNX's tests asks -----------------------------------------

# For each sentence the operator set, a graph, its arguments, and its results.
SAID: dict[str, tuple[int, str, dict[str, Any], list[Any]]] = {
    "what is left out stays so behind an output that nobody wants": (
        21, """agraph (float[1, 1, 3] x, float[1, 4, 3] w, float[1, 4, 1] r, float high) => (float[1, 1, 1] y) {
            , h = LSTM <hidden_size = 1> (x, w, r)
            y = Clip (h, , high) }""",
        {"x": np.ones((1, 1, 3), "f"), "w": np.ones((1, 4, 3), "f"), "r": np.ones((1, 4, 1), "f"),
         "high": np.float32(-1)},
        [np.full((1, 1, 1), -1, "f")],
    ),
    "a slice forward that starts behind the end is empty": (
        13, "agraph (int64[5] x, int64[1] a, int64[1] b) => (int64[n] y) { y = Slice (x, a, b) }",
        {"x": np.arange(5), "a": np.array([2**63 - 1]), "b": np.array([2**63 - 1])}, [np.arange(0)],
    ),
    "a slice backward that ends behind the end is empty": (
        13, "agraph (int64[5] x, int64[1] a, int64[1] b, int64[1] c) => (int64[n] y) { y = Slice (x, a, b, , c) }",
        {"x": np.arange(5), "a": np.array([-1]), "b": np.array([2**31 - 1]), "c": np.array([-1])}, [np.arange(0)],
    ),
    "a slice backward from before the first element has that one": (
        13, "agraph (int64[5] x, int64[1] a, int64[1] b, int64[1] c) => (int64[n] y) { y = Slice (x, a, b, , c) }",
        {"x": np.arange(5), "a": np.array([-9]), "b": np.array([-(2**63)]), "c": np.array([-2])}, [np.arange(1)],
    ),
    "a slice to a billion is all that there is": (
        13, """agraph (float[n] x) => (float[n] y) {
            a = Constant <value_ints = [0]> ()
            b = Constant <value_ints = [1000000000]> ()
            z = Slice (x, a, b)
            y = Add (x, z) }""",
        {"x": np.ones(3, "f")}, [np.full(3, 2, "f")],
    ),
    "what has to be known may be computed of what the model brings": (
        21, """agraph (float[1, 2] x) => (float[2, 2] y) {
            a = Constant <value = float[2] {2.0, 0.0}> ()
            b = Constant <value = float[2] {0.0, 1.0}> ()
            scales = Add (a, b)
            y = Resize <mode = "nearest"> (x, , scales) }""",
        {"x": np.ones((1, 2), "f")}, [np.ones((2, 2), "f")],
    ),
    "a range may end at a length as a float, and what is known be expanded to lengths": (
        17, """agraph (float[n, 2] x) => (float[n] y, float[n, 2] z) {
            shape = Shape (x)
            ones = Constant <value_floats = [1.0, 1.0]> ()
            z = Expand (ones, shape)
            first = Constant <value_int = 0> ()
            n = Gather (shape, first)
            end = Cast <to = 1> (n)
            start = Constant <value_float = 0.0> ()
            step = Constant <value_float = 1.0> ()
            y = Range (start, end, step) }""",
        {"x": np.ones((3, 2), "f")}, [np.arange(3, dtype="f"), np.ones((3, 2), "f")],
    ),
    "windows two places apart begin where half of the padding says, however large an image is": (
        12, """agraph (float[1, 1, h, w] x) => (float[1, 1, i, j] y, float[1, 1, k, l] z) {
            y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = "SAME_UPPER"> (x)
            z = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x) }""",
        {"x": np.arange(12, dtype="f").reshape(1, 1, 3, 4)},
        [np.array([[[[6, 7], [10, 11]]]], "f"), np.array([[[[5, 7], [9, 11]]]], "f")],
    ),
    "integers are divided by a scale that is no integer": (
        21, "agraph (int32[4] x, float s, uint8 z) => (uint8[4] y) { y = QuantizeLinear (x, s, z) }",
        {"x": np.array([1, 2, -3, 100], "i"), "s": np.float32(0.5), "z": np.uint8(3)},
        [np.array([5, 7, 0, 203], np.uint8)],
    ),
    "padding is no place of a greatest element": (
        12, """agraph (uint8[1, 1, 3, 3] x) => (uint8[1, 1, 3, 3] y, int64[1, 1, 3, 3] i) {
            y, i = MaxPool <kernel_shape = [2, 2], pads = [1, 1, 0, 0]> (x) }""",
        {"x": np.zeros((1, 1, 3, 3), np.uint8)},
        [np.zeros((1, 1, 3, 3), np.uint8), np.array([[[[0, 0, 1], [0, 0, 1], [3, 3, 4]]]])],
    ),
    "of an odd padding more is in front unless auto_pad is SAME_UPPER": (
        22, """agraph (float[1, 1, 2] x, float[1, 1, 3] w) => (float[1, 1, 3] y, float[1, 1, 3] z) {
            y = ConvTranspose <output_shape = [3]> (x, w)
            z = ConvTranspose <output_shape = [3], auto_pad = "SAME_UPPER"> (x, w) }""",
        {"x": np.array([[[1, 10]]], "f"), "w": np.array([[[1, 2, 3]]], "f")},
        [np.array([[[12, 23, 30]]], "f"), np.array([[[1, 12, 23]]], "f")],
    ),
    "a product of integers that is scaled is one of integers": (
        13, "agraph (int32[1, 2] x, int32[2, 1] w) => (int32[1, 1] y) { y = Gemm <alpha = 2.0> (x, w) }",
        {"x": np.array([[1, 2]], "i"), "w": np.array([[3], [4]], "i")}, [np.array([[22]], "i")],
    ),
    "logarithms of sums of integers are integers": (
        18, """agraph (int32[2] x) => (int32 y, int32 z) {
            y = ReduceLogSum <keepdims = 0> (x)
            z = ReduceLogSumExp <keepdims = 0> (x) }""",
        {"x": np.array([4, 4], "i")}, [np.array(2, "i"), np.array(4, "i")],
    ),
    "a single place of pytorch_half_pixel is the first": (
        19, """agraph (float[3] x, int64[1] n) => (float[1] y) {
            y = Resize <mode = "cubic", coordinate_transformation_mode = "pytorch_half_pixel"> (x, , , n) }""",
        {"x": np.array([1, 5, 9], "f"), "n": np.array([1])}, [np.array([1], "f")],
    ),
    "a loop without steps puts nothing side by side": (
        21, """agraph (float[2] x) => (float[2] s, float[n, 2] y) {
            none = Constant <value_int = 0> ()
            s, y = Loop (none, , x) <body = step (int64 i, bool c, float[2] s) => (bool c, float[2] t, float[2] u) {
                t = Add (s, s)  u = Identity (t) }> }""",
        {"x": np.ones(2, "f")}, [np.ones(2, "f"), np.ones((0, 2), "f")],
    ),
    "a loop without a condition takes all its steps": (
        21, """agraph (float[2] x) => (float[2] y) {
            three = Constant <value_int = 3> ()
            y = Loop (three, , x) <body = step (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
                t = Add (s, s)  d = Not (c) }> }""",
        {"x": np.ones(2, "f")}, [np.full(2, 8, "f")],
    ),
    "powers of integers are cut off": (
        15, "agraph (int32[4] x, int32[4] e) => (int32[4] y) { y = Pow (x, e) }",
        {"x": np.array([2, 1, -1, 3], "i"), "e": np.array([-1, -2, -3, 2], "i")}, [np.array([0, 1, -1, 9], "i")],
    ),
    "of no elements there is no softmax": (
        11, """agraph (float[2, 0, 3] x) => (float[2, 0, 3] y, float[2, 0, 3] z) {
            y = Softmax (x)  z = Hardmax <axis = 2> (x) }""",
        {"x": np.ones((2, 0, 3), "f")}, [np.ones((2, 0, 3), "f")] * 2,
    ),
    "of a scalar there are places along no axis that are not zero": (
        13, "agraph (float x) => (int64[0, n] y) { y = NonZero (x) }", {"x": np.float32(3)}, [np.zeros((0, 1), int)],
    ),
    "before version 7 batches are normalized by themselves unless is_test says that they are not": (
        6, """agraph (float[2, 1] x, float[1] a, float[1] b, float[1] m, float[1] v) => (float[2, 1] y, float[2, 1] z) {
            y = BatchNormalization <is_test = 1, epsilon = 0.0> (x, a, b, m, v)
            z = BatchNormalization <epsilon = 0.0> (x, a, b, m, v) }""",
        {"x": np.array([[0], [2]], "f"), "a": np.ones(1, "f"), "b": np.zeros(1, "f"), "m": np.ones(1, "f"),
         "v": np.full(1, 4, "f")},
        [np.array([[-0.5], [0.5]], "f"), np.array([[-1], [1]], "f")],
    ),
    "before version 14 batches are normalized by themselves if there is more than one output": (
        9, """agraph (float[2, 1] x, float[1] a, float[1] b, float[1] m, float[1] v)
            => (float[2, 1] y, float[1] n, float[1] w, float[1] o, float[1] u) {
            y, n, w, o, u = BatchNormalization <epsilon = 0.0, momentum = 0.5> (x, a, b, m, v) }""",
        {"x": np.array([[0], [2]], "f"), "a": np.ones(1, "f"), "b": np.zeros(1, "f"), "m": np.zeros(1, "f"),
         "v": np.full(1, 4, "f")},
        [np.array([[-1], [1]], "f"), *(np.full(1, n, "f") for n in (0.5, 2.5, 1, 1))],
    ),
    "each place of a sample may have numbers to normalize it with": (
        7, """agraph (float[1, 1, 2] x, float[1, 2] a, float[1, 2] b, float[1, 2] m, float[1, 2] v)
            => (float[1, 1, 2] y) {
            y = BatchNormalization <spatial = 0, epsilon = 0.0> (x, a, b, m, v) }""",
        {"x": np.array([[[3, 5]]], "f"), "a": np.array([[1, 2]], "f"), "b": np.array([[0, 1]], "f"),
         "m": np.array([[1, 3]], "f"), "v": np.array([[4, 1]], "f")},
        [np.array([[[1, 5]]], "f")],
    ),
    "statistics of 16-bit floats are of 32": (
        17, """agraph (float16[2] x, float16[2] a) => (float16[2] y, float[1] m, float[1] d) {
            y, m, d = LayerNormalization <epsilon = 0.0> (x, a) }""",
        {"x": np.array([2000, 3000], np.float16), "a": np.ones(2, np.float16)},
        [np.array([-1, 1], np.float16), np.array([2500], "f"), np.array([0.002], "f")],
    ),
    "an epsilon may be of the deviation": (
        13, "agraph (float[2] x) => (float[2] y) { y = MeanVarianceNormalization <axes = [0]> (x) }",
        {"x": np.array([0, 2e-6], "f")}, [np.array([-0.999001, 0.999001], "f")],
    ),
    "with VALID no window goes beyond the end": (
        22, """agraph (float[1, 1, 5] x) => (float[1, 1, n] y) {
            y = MaxPool <kernel_shape = [2], strides = [2], auto_pad = "VALID", ceil_mode = 1> (x) }""",
        {"x": np.arange(5, dtype="f")[None, None]}, [np.array([[[1, 3]]], "f")],
    ),
    "integers are resized as floats": (
        19, """agraph (uint8[3] x, float[1] s, uint8[1, 1, 1, 2] i, float[1, 1, 1, 2] g)
            => (uint8[6] y, uint8[1, 1, 1, 1] z) {
            y = Resize <mode = "linear"> (x, , s)
            z = GridSample <align_corners = 1> (i, g) }""",
        {"x": np.array([0, 100, 250], np.uint8), "s": np.array([2], "f"), "i": np.array([[[[10, 21]]]], np.uint8),
         "g": np.zeros((1, 1, 1, 2), "f")},
        [np.array([0, 25, 75, 138, 212, 250], np.uint8), np.array([[[[15]]]], np.uint8)],
    ),
    "images are resized, however many there are": (
        19, """agraph (float[n, 1, 2] x) => (float[n, 1, 4] y) {
            n = Shape <start = 0, end = 2> (x)
            four = Constant <value_ints = [4]> ()
            sizes = Concat <axis = 0> (n, four)
            y = Resize (x, , , sizes) }""",
        {"x": np.array([[[1, 2]]] * 3, "f")}, [np.array([[[1, 1, 2, 2]]] * 3, "f")],
    ),
    "an exclusive sum of no elements is none": (
        14, "agraph (float[0] x, int64 i) => (float[0] y) { y = CumSum <exclusive = 1> (x, i) }",
        {"x": np.zeros(0, "f"), "i": np.array(0)}, [np.zeros(0, "f")],
    ),
    "integers stay integers": (
        9, "agraph (int32[3] x) => (int32[3] y, int32[3] z) { y = Shrink <bias = 1.0> (x)  z = Erf (x) }",
        {"x": np.array([-3, 0, 9], "i")}, [np.array([-2, 0, 8], "i"), np.array([0, 0, 1], "i")],
    ),
    "without a window or a length a frame is the signal": (
        17, "agraph (float[1, 2, 1] x, int64 k) => (float[1, 1, 2, 2] y) { y = STFT (x, k) }",
        {"x": np.array([[[3], [1]]], "f"), "k": np.array(1)}, [np.array([[[[4, 0], [2, 0]]]], "f")],
    ),
    "regions that the model computes may be of any image": (
        16, """agraph (float[2, 1, 2, 2] x, float[r, 4] b, int64[r] i) => (float[r, 1, 1, 2] y) {
            y = RoiAlign <output_width = 2, sampling_ratio = 1> (x, b, i) }""",
        {"x": np.array([[[[0, 1], [0, 1]]], [[[5, 5], [5, 5]]]], "f"), "b": np.array([[0, 0, 2, 2]] * 3, "f"),
         "i": np.array([1, 0, 1])},
        [np.array([[[[5, 5]]], [[[0, 1]]], [[[5, 5]]]], "f")],
    ),
    "behind the border is what is at the border": (
        20, """agraph (float[1, 1, 1, 2] x, float[1, 1, 2, 2] g) => (float[1, 1, 1, 2] y) {
            y = GridSample <mode = "cubic", padding_mode = "border"> (x, g) }""",
        {"x": np.array([[[[1, 5]]]], "f"), "g": np.array([[[[1.6, 0], [-1.2, 0]]]], "f")},
        [np.array([[[[5, 1]]]], "f")],
    ),
    "quotients of lengths are cut off, not rounded down": (
        21, """agraph (float[n] x) => (int32[1] y, int64[1] z, int64[1] u, int64[1] v) {
            n = Shape (x)
            m = Neg (n)
            two = Constant <value_ints = [2]> ()
            less = Constant <value_ints = [-2]> ()
            a = Div (m, two)
            b = Neg (a)
            y = Cast <to = 6> (b)
            z = Div (m, less)
            u = Mod (m, two)
            c = Mod <fmod = 1> (m, two)
            v = Neg (c) }""",
        {"x": np.zeros(5, "f")}, [np.array([2], "i"), *(np.array([n]) for n in (2, 1, 1))],
    ),
    "a range ends before its limit, and its steps add up to no error": (
        11, """agraph (float a, float b, float d, float c, float e) => (float[n] y, float[m] z) {
            y = Range (a, b, d)
            z = Range (c, e, d) }""",
        {"a": np.float32(0), "b": np.float32(0.3), "d": np.float32(0.1), "c": np.float32(1e4), "e": np.float32(10001)},
        [np.array([0, 0.1, 0.2], "f"), (1e4 + np.arange(10) / 10).astype("f")],
    ),
    "products of bytes may be beyond what 16-bit scales have": (
        21, """agraph (uint8[1, 2] x, float16 s, uint8 z, uint8[2, 1] w, float16 t) => (uint8[1, 1] y) {
            y = QLinearMatMul (x, s, z, w, s, z, t, z) }""",
        {"x": np.full((1, 2), 200, np.uint8), "s": np.float16(1), "z": np.uint8(0), "w": np.full((2, 1), 200, np.uint8),
         "t": np.float16(1000)},
        [np.array([[80]], np.uint8)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("sentence", SAID)
def test_the_text_of_an_operator_holds(sentence: str, known: bool) -> None:
    """Of arguments of a call and of those that are known while the model is read."""
    opset, text, given, wanted = SAID[sentence]
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{text}')
    found = computed(reader.read(proto, known=given) if known else read(proto, given), given, "reference")
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert_allclose(one, other, rtol=1e-6, atol=1e-15)  # what cancels may be a little more or less than 0


@pytest.mark.parametrize("names", [("", ""), ("ai.onnx", ""), ("", "ai.onnx"), ("ai.onnx", "ai.onnx")])
def test_the_standard_operators_have_two_names(names: tuple[str, str]) -> None:
    """Of a version before 13 the softmax would be that of each four."""
    text = "agraph (float[1, 2, 2] x) => (float[1, 2, 2] y) { y = Softmax (x) }"
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["{names[0]}": 13]> {text}')
    proto.graph.node[0].domain = names[1]
    found = reader.read(proto, known={"x": np.zeros((1, 2, 2), "f")}).outputs["y"]
    assert_array_equal(found, np.full((1, 2, 2), 0.5))


def test_draws_are_drawn_by_each_call() -> None:
    """Though what they are drawn like is known; before version 7 a dropout drops unless `is_test` says no."""
    text = "agraph (float[9] x) => (float[9] y, float[9] z) { y = RandomNormalLike (x)  z = Dropout (x) }"
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 6]> {text}')
    y, z = reader.read(proto, known={"x": np.ones(9, "f")}).outputs.values()
    assert isinstance(y, ng.Op) and isinstance(z, ng.Op)
    proto.graph.node[1].attribute.append(onnx.helper.make_attribute("is_test", 1))
    assert_array_equal(reader.read(proto, known={"x": np.ones(9, "f")}).outputs["z"], np.ones(9))


def test_classes_are_drawn_as_often_as_is_said() -> None:
    """By logarithms: never, always, and with a probability of a fifth."""
    text = "agraph (float[2, 3] x) => (int64[2, 4000] y) { y = Multinomial <dtype = 7, sample_size = 4000> (x) }"
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 22]> {text}')
    x = np.array([[-np.inf, 3, -np.inf], [-np.inf, 0, np.log(0.25)]], "f")
    (found,) = computed(reader.read(proto), {"x": x}, "reference")
    assert found.dtype == np.int64 and (found[0] == 1).all() and set(found[1]) == {1, 2}
    assert 640 < np.sum(found[1] == 2) < 960  # six deviations of the number of draws


def test_hints_of_old_versions_say_nothing() -> None:
    text = "agraph (float[2] x) => (float[2] y) { y = Relu <consumed_inputs = [1]> (x) }"
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 1]> {text}')
    assert_array_equal(reader.read(proto, known={"x": np.array([-1, 2], "f")}).outputs["y"], [0, 2])


def test_a_definition_may_need_lengths() -> None:
    text = "agraph (float[n, c, k] x, float[c, 1, 2] w) => (float[n, c, k] y) { y, s = CausalConvWithState (x, w) }"
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["": {NEWEST}]> {text}')
    with pytest.raises(reader.ModelError, match=r"(?s)depends on lengths.*CausalConv.*read\(model, lengths="):
        reader.read(proto)
    assert reader.read(proto, lengths={"c": 4}).outputs["y"].shape[1] == 4


@pytest.mark.parametrize("name", ["linear_attention_prefill_with_past", "causal_conv_with_state_silu_with_past_state"])
def test_what_onnx_has_of_onnxruntime_is_read_by_its_definition(name: str) -> None:
    """Attributes that it lacks say nothing, or are refused."""
    case, proto = cases()[f"test_{name}"], onnx.ModelProto()
    proto.CopyFrom(case.model)
    (node,), (imported,) = proto.graph.node, proto.opset_import
    node.domain, imported.version = "com.microsoft", 21
    node.attribute.append(onnx.helper.make_attribute("state_window", 0))
    given = dict(zip([i.name for i in proto.graph.input], arrays(case.data_sets[0][0]), strict=True))
    for one, wanted in zip(computed(reader.read(proto), given, "reference"), arrays(case.data_sets[0][1]), strict=True):
        assert_same(one, wanted, case)
    node.attribute[-1].i = 2
    with pytest.raises(reader.ModelError, match="with state_window = 2 is not supported"):
        reader.read(proto)


def test_functions_of_one_name_differ_by_their_overload() -> None:
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["": 21, "own": 1, "com.microsoft": 1]>
        agraph (float x) => (float y, float z) { y = own.f:a (x)  z = own.f:b (x) }
        <domain: "own", overload: "a", opset_import: ["": 21]> f (x) => (y) { y = Neg (x) }
        <domain: "own", overload: "b", opset_import: ["": 21]> f (x) => (y) { y = Abs (x) }
    """)
    assert [float(v) for v in reader.read(proto, known={"x": np.float32(2)}).outputs.values()] == [-2, 2]


HALVES = """halves (float[n, 1, height, width] x) => (float[n, 1, height, width] y) {
    small = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)
    scales = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()
    large = Resize <mode = "nearest"> (small, , scales)
    y = Add (x, large)
}
"""


def test_a_length_may_be_said_to_be_a_multiple() -> None:
    """Of what is halved and doubled again nobody knows that it fits, unless the lengths say so."""
    with pytest.raises(reader.ModelError, match=r'(?s)which may differ.*say more of height.*"height": 32 \* ng.Length'):
        made(HALVES)
    h, w = ng.Length.symbol("h"), ng.Length.symbol("w")
    model = made(HALVES, lengths={"height": 2 * h, "width": 2 * w, "n": 1})
    x = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    (found,) = computed(model, {"x": x}, "reference")
    assert_array_equal(found[0, 0], x[0, 0] + [[5, 5, 7, 7], [5, 5, 7, 7]])


def test_lengths_that_exporters_leave_without_a_name_are_not_one() -> None:
    model = made(HALVES.replace("n, 1, height, width] x", "-1, 1, ?, ?] x"), lengths={"x.2": 4, "x.3": 2})
    assert model.inputs["x"].shape == (ng.Length.symbol("x.0"), 1, 4, 2)


REFUSED = {
    "agraph (float[3] x) => (int64[1, n] y) { y = NonZero (x) }": "the input x is computed by the model",
    "agraph (float[1, 1, 4, 4] x, float[2, 4] r, int64[2] i) => (float[2, 1, 1, 1] y) {\n"
    "y = RoiAlign (x, r, i) }": "(?s)without a sampling_ratio.*give the value of r",
    "agraph (float[1, 9, 4] x, float[1, 2, 9] z) => (int64[n, 3] y) {\n"
    "y = NonMaxSuppression (x, z) }": r"(?s)how many boxes.*at most: read\(model, most=.*give the value of x",
    "agraph (float[n] x) => (float[m] y) { s = Shape (x)\n k = Constant <value_int = 0> ()\n n = Gather (s, k)\n"
    "end = Cast <to = 1> (n)\n a = Constant <value_float = 0.5> ()\n b = Constant <value_float = 1.0> ()\n"
    "y = Range (a, end, b) }": "a range of parts of one",
    "agraph (int64[n] x) => (int64[m] y) { y = Unique (x) }": "(?s)give the value of x.*or end the model before it",
    "agraph (float[n] x) => (int64[1, m] y) { s = Shape (x)\n o = ConstantOfShape <value = int64[1] {1}> (s)\n"
    "y = NonZero (o) }": r"(?s)the input x has the unknown length n.*read\(model, lengths=",
    "agraph (float[n, k] x, float[m] z) => (float[i] y) { a = Size (x)\n b = Size (z)\n c = Div (a, b)\n"
    "d = Reshape (c, one)\n y = Reshape (x, d) }": r'(?s)divided by m .*of k, m, n.*"m": ng.Length.symbol\("k"\)',
    "agraph (float[n, 2] x, int64[1] m) => (float[n, i] y) { n = Shape <end = 1> (x)\n s = Concat <axis = 0> (n, n)\n"
    "y = Resize (x, , , s) }": "a resized image has the unknown length n",
    "agraph (float[3] x) => (float[3] y) { y = own.unknown (x) }": "the operator own.unknown is not supported",
    "agraph (float[3] x) => (float[3] y) { y = Relu <slope = 1> (x) }": "the attribute slope is not supported",
    "agraph (string[3] x) => (string[3] y) { y = Identity (x) }": "(?s)STRING.*at the input x.*cut the model",
    'agraph (float[3] x) => (string[1] y) { y = Constant <value_string = "a"> () }': "the attribute value_string",
    "agraph (float[3] x, float[4] z) => (float[3] y) { y = Add (x, z) }": r"(?s)lengths 3 and 4.*y = Add\(x, z\)",
    "agraph (seq(float[3]) x) => (float[3] y) { k = Constant <value_int = 0> ()\n y = SequenceAt (x, k) }": "without a",
    "agraph (float[3] x) => (float[3] y) { y = Add (x, z) }": r"(?s)nothing before it gives 'z'.*y = Add\(x, z\)",
    "agraph (float[3] x) => (float[3] y) { z = Neg (x) }": "nothing gives 'y'",
    "agraph (float[1, 3, n] x) => (float[1, 3, 2] y) { y = DFT (x) }": "the last axis has the unknown length n",
    "agraph (float[3] x) => (float[5] y) { k = Constant <value_ints = [1, 2]> ()\n i = Constant <value_int = 2> ()\n"
    "y = Gather (k, i) }": r"(?s)it cannot be computed: index 2.*y = Gather\(k, i\)",
    "agraph (float[3] x) => (float[3] y) { y = Loop (, , x) <body = s (int64 i, bool c, float[3] a) => "
    "(bool c, float[3] b) { b = Neg (a) }> }": "never ends",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(reader.ModelError, match=REFUSED[text]):
        made(text)
