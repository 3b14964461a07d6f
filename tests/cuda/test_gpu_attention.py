# SPDX-License-Identifier: Apache-2.0
"""Attention on a GPU is softmax of products times values, of any lengths, strides and masks; the square is nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from gpu_examples import examples
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.cuda.attention import FLOATS, render_attention, render_sums
from ngraph_rewrite.codegen.cuda.cells import Blocks, Form
from ngraph_rewrite.codegen.cuda.half_attention import render_half_attention
from ngraph_rewrite.codegen.cuda.half_forms import HalfBlocks, HalfForm
from ngraph_rewrite.codegen.cuda.hiding import render_tiles, threads_of_tile
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.plan.cuda.attention import blocks_of, half_blocks_of, parts_of
from ngraph_rewrite.runtime.cuda.device import Launched, find_device
from ngraph_rewrite.targets.target import Target

pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
pytestmark = pytest.mark.cuda

Array = np.ndarray[Any, Any]
SMALL = [Blocks(4, 8, 8, 4, 2, 4), Blocks(4, 4, 4, 4, 4, 4, 1), Blocks(4, 8, 16, 4, 1, 4), Blocks(8, 8, 4, 4, 4, 8)]
CLOSE = {"float32": 2e-5, "float64": 1e-12, "float16": 4e-3, "bfloat16": 3e-2}
ALONG = (True, True, False)
LENGTHS = st.integers(1, 11)


def wanted(scores: Array, values: Array) -> Array:
    """Weighted values, in float64."""
    scores, values = scores.astype(np.float64), values.astype(np.float64)
    with np.errstate(all="ignore"):
        most = scores.max(axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(scores - np.where(np.isfinite(most), most, 0))
        found: Array = weights / weights.sum(axis=-1, keepdims=True) @ values
        return found


def numbers(seed: int, *shapes: tuple[int, ...], dtype: str = "float32") -> list[Array]:
    kind, random = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype, np.random.default_rng(seed)
    return [random.normal(size=shape).astype(kind) for shape in shapes]


class Sizes(NamedTuple):
    """Outer and inner products, rows, keys, what products sum over, and columns."""

    outer: int
    inner: int
    m: int
    n: int
    e: int
    d: int


def mixed(
    form: Form | HalfForm,
    sizes: Sizes,
    operands: list[Array],
    scale: float = 1.0,
    fill: float = 0.0,
    blocks: int = 2,
    parts: int = 1,
) -> Array:
    """What a kernel makes of operands, wherever these lie, on whatever device there is."""
    device, held = find_device(), list[int]()
    outer, inner, m, n, e, d = sizes
    count, rows = outer * inner, outer * inner * m
    stretch = -(-n // (parts * form.blocks.keys)) * form.blocks.keys
    form = form._replace(parted=parts > 1)
    out = np.full((outer, inner, m, d), 7, operands[-1 if not form.mask else -2].dtype)
    arguments = [inner, count, m, n, e, d, *(int(np.float64(x).view(np.int64)) for x in (scale, fill)), parts, stretch]
    for array in (*operands, out):
        room = array if array.base is None else array.base
        held.append(device.allocate(room.nbytes, "a test"))
        device.upload(held[-1], room)
        arguments += [held[-1], *(stride // array.itemsize for stride in array.strides)]
    own, launches = np.dtype(np.float64 if out.dtype == np.float64 else np.float32), list[Any]()
    if form.mask:
        down, across = -(-m // form.blocks.rows), -(-n // form.blocks.keys)
        tiles = device.allocate(max(1, outer * inner * down * across), "a test")
        text = render_tiles(form.mask, own.name, form.blocks.rows, form.blocks.keys)
        threads = threads_of_tile(form.blocks.rows, form.blocks.keys)
        launches.append((text, threads, [inner, count, m, n, arguments[7], *arguments[-10:-5], tiles]))
        arguments[-5:-5] = [tiles, inner * down * across, down * across, across]
        held.insert(-1, tiles)
    held += [device.allocate(max(1, parts * rows * each * own.itemsize), "a test") for each in (d, 2)]
    source = render_half_attention(form) if isinstance(form, HalfForm) else render_attention(form)
    launches.append((source, form.blocks.threads, [*arguments[:-5], *(held[-2:] if parts > 1 else held[-3:-2])]))
    if parts > 1:
        launches.append((render_sums(form.dtype), form.blocks.threads, [rows, d, parts, *held[-2:], held[-3]]))
    functions = device.load({source.name: source.text for source, *_ in launches}, Cache(), 1)
    recorded = device.record(
        [Launched(functions[source.name], blocks, threads, True, given) for source, threads, given in launches]
    )
    recorded.run()
    device.synchronize()
    recorded.close()
    device.download(out, held[-3])
    for address in held:
        device.free(address)
    return out


def laid_out(array: Array, order: tuple[int, ...], gap: int) -> Array:
    """The same numbers with axes in another order in memory, and gaps between."""
    room = np.zeros([array.shape[axis] + (gap if axis == order[-1] else 0) for axis in order], array.dtype)
    view = np.ndarray([array.shape[axis] for axis in order], room.dtype, room, strides=room.strides)
    back = view.transpose(np.argsort(order))
    back[...] = array
    return np.ndarray(back.shape, room.dtype, room, strides=back.strides)


@examples(8)
@given(
    st.sampled_from(SMALL), st.sampled_from(FLOATS), st.builds(Sizes, st.integers(1, 2), st.integers(1, 2), LENGTHS,
    st.integers(0, 19), st.integers(0, 9), st.integers(1, 11)), st.sampled_from(["", "bool", "added"]),
    st.sampled_from([0.0, -3.0, -np.inf]), st.data(),
)  # fmt: skip
def test_any_block_weighs_any_shape_and_strides(
    blocks: Blocks, dtype: str, sizes: Sizes, kind: str, fill: float, data: st.DataObject
) -> None:
    """Ragged tiles, rows and tiles that see nothing, a factor, and a mask that is spread."""
    along = data.draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    weighs(Form(dtype, blocks, along), sizes, kind, fill, data)


def weighs(form: Form | HalfForm, sizes: Sizes, kind: str, fill: float, data: st.DataObject) -> None:
    """A kernel weights values with the softmax of products: of operands that lie anyhow, with or without a mask."""
    (outer, inner, m, n, e, d), dtype = sizes, form.dtype
    shapes = [(outer, inner, *last) for last in ((m, e), (e, n), (n, d))]
    q, k, v = numbers(1, *shapes, dtype=dtype)
    orders = st.permutations(range(4)).map(tuple)
    given = [laid_out(x, data.draw(orders), data.draw(st.sampled_from([0, 1, 4, 8]))) for x in (q, k, v)]
    random = np.random.default_rng(2)
    seen = (random.random((1, inner, m, n)) < 0.6) & (np.arange(n) >= n // 2 * data.draw(st.integers(0, 1)))
    mask = seen if kind == "bool" else np.where(seen, 0, fill).astype(q.dtype)
    given += [np.broadcast_to(mask, (outer, inner, m, n))] if kind else []
    form = form._replace(mask=kind and mask.dtype.name)
    found = mixed(form, sizes, given, 0.5, fill, data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3)) if n else 1)
    scores = 0.5 * (q.astype(float) @ k.astype(float))
    scores = np.where(seen, scores, fill) if kind == "bool" else scores + (mask.astype(float) if kind else 0)
    assert_allclose(found.astype(float), wanted(scores, v), rtol=CLOSE[dtype], atol=CLOSE[dtype])


HALVES = [HalfBlocks(*sizes) for sizes in ((1, 16, 16, 16), (2, 16, 16, 16), (1, 32, 16, 16), (1, 16, 32, 32))]
HALVES += [HalfBlocks(1, 16, 16, 16, high=2), HalfBlocks(2, 32, 16, 32, high=2), HalfBlocks(1, 16, 32, 16, high=3)]


@examples(10)
@given(
    st.sampled_from(HALVES), st.sampled_from(["float16", "bfloat16"]), st.builds(Sizes, st.integers(1, 2),
    st.integers(1, 2), st.sampled_from([1, 8, 19]), st.sampled_from([0, 5, 16, 40]), st.sampled_from([0, 8, 35]),
    st.sampled_from([1, 16, 24])), st.sampled_from(["", "bool", "added"]), st.sampled_from([0.0, -3.0, -np.inf]),
    st.data(),
)  # fmt: skip
def test_any_block_of_tensor_cores_weighs_any_shape_and_strides(
    blocks: HalfBlocks, dtype: str, sizes: Sizes, kind: str, fill: float, data: st.DataObject
) -> None:
    """What scores are summed over may be longer than what is in shared memory at once, or nothing."""
    along = data.draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    weighs(HalfForm(dtype, blocks, along, binary=kind != "added" and data.draw(st.booleans())), sizes, kind, fill, data)


@given(*[st.integers(1, 3000)] * 5, st.booleans())
def test_a_block_of_tensor_cores_fits_into_a_multiprocessor(
    count: int, m: int, n: int, e: int, d: int, masked: bool
) -> None:
    """What it shares takes 48 KiB at most; blocks are whole products of 16 rows, keys and columns."""
    blocks = half_blocks_of((count, m, n, e, d), masked)
    assert all(size % 16 == 0 for size in blocks[1:4])
    lines = [(blocks.rows, blocks.deep), (blocks.keys, blocks.deep), (blocks.columns, blocks.keys)]
    assert 2 * sum(max(x * (y + 8), y * (x + 8)) for x, y in lines) <= 48 * 1024


def test_special_values_are_those_of_softmax() -> None:
    """A row that nothing is seen from, a tile of keys that nobody sees, infinities, NaN, very large scores."""
    scores, values = numbers(2, (1, 1, 7, 23), (1, 1, 23, 5))
    rows = scores[0, 0]
    rows[0] = -np.inf
    rows[1, :22] = -np.inf
    rows[2, 3] = np.inf
    rows[3, 14] = np.nan
    rows[4] = np.linspace(-3e38, 3e38, 23)
    rows[5, :12] = -np.inf
    rows[6] = [*[-1e4] * 22, -1e4 + 1]
    form = Form("float32", SMALL[0], ALONG, given=True)
    for parts in (1, 2):
        found = mixed(form, Sizes(1, 1, 7, 23, 0, 5), [scores, values], parts=parts)
        assert_allclose(found, wanted(scores, values), rtol=1e-5, atol=1e-6)


def test_special_values_of_tensor_cores_are_those_of_softmax() -> None:
    """The same of products with one number, which are the scores; these are added up with what hides them."""
    values = numbers(2, (1, 1, 40, 5), dtype="float16")[0]
    rows, mask = np.ones((1, 1, 6, 1), np.float16), np.zeros((1, 1, 6, 40), np.float32)
    keys = np.linspace(-3, 3, 40, dtype=np.float16).reshape(1, 1, 1, 40)
    rows[0, 0, 2], rows[0, 0, 3], rows[0, 0, 4] = np.inf, np.nan, 6e4
    mask[0, 0, 0] = -np.inf
    mask[0, 0, 1, :39] = -np.inf
    mask[0, 0, 5, :30] = -np.inf
    form = HalfForm("float16", HalfBlocks(1, 16, 16, 16), ALONG, mask="float32")
    with np.errstate(all="ignore"):
        scores = rows.astype(float) @ keys.astype(float) + mask
    for parts in (1, 2):
        found = mixed(form, Sizes(1, 1, 6, 40, 1, 5), [rows, keys, values, mask], parts=parts)
        assert_allclose(found, wanted(scores, values), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("fill", "scale"), [(-np.inf, 3.0), (-3.4e38, 0.25), (-1e4, 3.0), (2.0, 0.25)])
def test_what_is_hidden_from_tensor_cores_may_be_any_number(fill: float, scale: float) -> None:
    """Rows all of whose scores are hidden have equal weights if what takes their place is a number, however small."""
    values = numbers(2, (1, 1, 40, 5), dtype="float16")[0]
    rows, keys = numbers(3, (1, 1, 6, 16), (1, 1, 16, 40), dtype="float16")
    rows[0, 0, 4], rows[0, 0, 5] = np.inf, np.nan
    seen = np.arange(40) < np.array([[0], [17], [40], [23], [40], [40]])
    with np.errstate(all="ignore"):
        scores = np.where(seen, scale * (rows.astype(float) @ keys.astype(float)), fill)
    for parts in (1, 2):
        form = HalfForm("float16", HalfBlocks(1, 16, 16, 16), ALONG, mask="bool", binary=scale < 0.6)
        given_ = [rows, keys, values, np.broadcast_to(seen, (1, 1, 6, 40))]
        found = mixed(form, Sizes(1, 1, 6, 40, 16, 5), given_, scale, fill, parts=parts)
        assert_allclose(found, wanted(scores, values), rtol=3e-3, atol=3e-3)


@examples(12)
@given(
    st.lists(st.sampled_from([0.0, 0.5, 3.0, 9.0, 100.0, 6e4]), min_size=6, max_size=6), st.integers(0, 9),
    st.sampled_from(["up", "down", "any"]), st.sampled_from([0.125, 0.5]), st.integers(1, 2), st.booleans(),
    st.sampled_from([1, 2000, 15000]),
)  # fmt: skip
@example([9.0] * 6, 0, "up", 0.5, 1, True, 1)
@example([3.0, -3.0, 9.0, 6e4, -6e4, 0.5], 0, "any", 0.5, 2, True, 15000)
def test_the_largest_scores_of_tensor_cores_may_come_anywhere(
    factors: list[float], seed: int, order: str, scale: float, parts: int, binary: bool, much: int
) -> None:
    """Each tile has larger ones, or none: by little, or by so much that what is subtracted from them is rounded."""
    keys, values = numbers(seed, (1, 1, 1, 70), (1, 1, 70, 5), dtype="float16")
    keys = np.sort(keys)[..., :: -1 if order == "down" else 1] if order != "any" else keys
    keys, rows = np.ascontiguousarray(keys), np.array(factors, np.float16).reshape(1, 1, 6, 1)
    form = HalfForm("float16", HalfBlocks(1, 16, 16, 16), ALONG, binary=binary)
    keys[0, 0, 0, ::7] *= np.float16(much)
    found = mixed(form, Sizes(1, 1, 6, 70, 1, 5), [rows, keys, values], scale, parts=parts)
    scores = scale * (rows.astype(float) @ keys.astype(float))
    assert_allclose(found.astype(float), wanted(scores, values), rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("more", [0, 1, 16])
def test_large_scores_of_tensor_cores_may_differ_by_little(dtype: str, sign: int, more: int) -> None:
    """Those of later keys are larger by some places of float32."""
    large, scale, each = (24000.0, 0.125, 64) if dtype == "float16" else (1e5, 0.01, 1024)
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    rows, keys = np.array([large, 1.0], kind).reshape(1, 1, 1, 2), np.zeros((1, 1, 2, 32), kind)
    keys[:, :, 0], keys[:, :, 1, 16:] = sign * large, more * each
    (values,) = numbers(2, (1, 1, 32, 5), dtype=dtype)
    form = HalfForm(dtype, HalfBlocks(1, 16, 16, 16), ALONG, binary=True)
    found = mixed(form, Sizes(1, 1, 1, 32, 2, 5), [rows, keys, values], scale)
    right = wanted(scale * (rows.astype(float) @ keys.astype(float)), values)
    assert_allclose(found.astype(float), right, rtol=CLOSE[dtype], atol=CLOSE[dtype])


CORNERS = [(0, 0), (0, 15), (13, 6), (15, 15)]
ONES = [(halves, at, (i + halves) % 2 == 0) for i, at in enumerate(CORNERS) for halves in (True, False)]


@pytest.mark.parametrize(("halves", "at", "seen"), ONES)
def test_one_of_a_tile_that_is_seen_or_hidden_is_found(halves: bool, at: tuple[int, int], seen: bool) -> None:
    """Wherever it is: a block looks at a mask strip by strip, by four neighbours."""
    dtype = "float16" if halves else "float32"
    q, k, v = numbers(3, (1, 1, 16, 16), (1, 1, 16, 16), (1, 1, 16, 16), dtype=dtype)
    mask = np.full((1, 1, 16, 16), not seen)
    mask[0, 0, at[0], at[1]] = seen
    form = HalfForm(dtype, HalfBlocks(1, 16, 16, 16), ALONG, mask="bool", binary=True)
    own = form if halves else Form(dtype, SMALL[0], ALONG, mask="bool")
    found = mixed(own, Sizes(1, 1, 16, 16, 16, 16), [q, k, v, mask], 0.5, -np.inf)
    scores = np.where(mask, 0.5 * (q.astype(float) @ k.astype(float)), -np.inf)
    assert_allclose(found.astype(float), wanted(scores, v), rtol=4e-3, atol=4e-3)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_scores_may_be_the_least_number_there_is(dtype: str) -> None:
    """A row that is masked by it, before the softmax, has equal weights."""
    x, v = ng.placeholder((3, 20), dtype=dtype), ng.placeholder((20, 4), dtype=dtype)
    term = ng.numpy.matmul(softmax(x), v)
    scores, values = numbers(4, (3, 20), (20, 4), dtype=dtype)
    scores[0] = scores[1, ::2] = ml_dtypes.finfo(dtype).min
    found, kernels = run(ALONE, term, [x, v], [scores, values])
    assert any("attention" in name for name in kernels)
    assert_allclose(found.astype(float), wanted(scores.astype(float), values), rtol=3e-2, atol=3e-2)


def test_keys_that_nobody_sees_are_passed_by() -> None:
    """What is no number among them is not met. How many blocks there are does not matter."""
    q, k, v = numbers(3, (1, 2, 9, 4), (1, 2, 4, 24), (1, 2, 24, 5))
    k[..., 16:], v[..., 16:, :] = np.nan, np.nan
    mask = np.broadcast_to(np.arange(24) <= np.arange(9)[:, None], (1, 2, 9, 24))
    form = Form("float32", SMALL[0], ALONG, mask="bool")
    found = [mixed(form, Sizes(1, 2, 9, 24, 4, 5), [q, k, v, mask], 0.5, -np.inf, blocks) for blocks in (1, 3)]
    scores = np.where(mask[..., :16], 0.5 * (q @ k)[..., :16], -np.inf)
    assert_allclose(found[0], wanted(scores, v[..., :16, :]), **TOLERANCE)
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize(("m", "n", "d", "parts"), [(1, 1, 1, 1), (9, 33, 24, 2), (17, 16, 5, 1), (3, 0, 8, 1)])
@pytest.mark.parametrize("mask", [False, True])
def test_given_scores_are_weighed_by_tensor_cores(m: int, n: int, d: int, parts: int, mask: bool) -> None:
    scores, values = numbers(5, (2, 1, m, n), (2, 1, n, d), dtype="float16")
    seen = np.random.default_rng(6).random((2, 1, m, n)) < 0.7
    form = HalfForm("float16", HALVES[0], ALONG, given=True, mask="bool" if mask else "")
    given_ = [scores, values, *([seen] if mask else [])]
    found = mixed(form, Sizes(2, 1, m, n, 0, d), given_, 2.0, -3.0, parts=parts)
    scaled = 2.0 * scores.astype(float)
    right = wanted(np.where(seen, scaled, -3.0) if mask else scaled, values)
    assert_allclose(found.astype(float), right, rtol=4e-3, atol=4e-3)


def test_keys_that_nobody_sees_are_passed_by_tensor_cores_too() -> None:
    q, k, v = numbers(3, (1, 2, 9, 4), (1, 2, 4, 48), (1, 2, 48, 5), dtype="bfloat16")
    k[..., 16:], v[..., 16:, :] = np.nan, np.nan
    mask = np.broadcast_to(np.arange(48) <= np.arange(9)[:, None], (1, 2, 9, 48))
    form = HalfForm("bfloat16", HalfBlocks(1, 16, 16, 16), ALONG, mask="bool")
    found = [mixed(form, Sizes(1, 2, 9, 48, 4, 5), [q, k, v, mask], 0.5, -np.inf, blocks) for blocks in (1, 2)]
    scores = np.where(mask[..., :16], 0.5 * (q.astype(float) @ k.astype(float))[..., :16], -np.inf)
    assert_allclose(found[0].astype(float), wanted(scores, v[..., :16, :]), rtol=3e-2, atol=3e-2)
    assert found[0].tobytes() == found[1].tobytes()


TOLERANCE: dict[str, Any] = {"rtol": 2e-5, "atol": 2e-5}


@given(*[st.integers(1, 3000)] * 4, st.sampled_from(FLOATS))
def test_a_block_fits_into_a_multiprocessor(count: int, m: int, n: int, d: int, dtype: str) -> None:
    """What it shares takes 48 KiB at most, warps are full, and a thread has cells that its registers hold."""
    blocks = blocks_of((count, m, n, d), dtype)
    size, pitch = 8 if dtype == "float64" else 4, blocks.keys + 4
    streams = 2 * blocks.deep * (max(blocks.keys, blocks.columns) + 4)
    assert size * (max(blocks.rows * pitch, 2 * blocks.deep * (blocks.rows + 4)) + streams) <= 48 * 1024
    assert blocks.threads % 32 == 0 and blocks.keys % blocks.deep == 0 and blocks.mixtures.across % 4 == 0
    assert blocks.down * (blocks.each + blocks.mixtures.across) * size <= 96 * 4
    tiles = count * -(-m // blocks.rows) * -(-d // blocks.columns)
    parts, stretch = parts_of(tiles, n, blocks.keys)
    assert blocks.rows <= 16 or tiles * parts >= 132
    assert stretch % blocks.keys == 0 and (parts - 1) * stretch < n <= parts * stretch


def test_integers_are_not_weighed() -> None:
    with pytest.raises(KernelError, match="no attention kernel for int32"):
        render_attention(Form("int32", SMALL[0], ALONG))


# -- found where it is written -----------------------------------------------------------------------------------------

LIBRARY = ng.find_target("cuda").extended("with_library", add=["cuda.gemm"])
ALONE = LIBRARY.extended("alone", remove=["cuda.gemm"])


def test_long_keys_are_cut_into_parts() -> None:
    """Where there are few rows: two launches, and the scores are nowhere either."""
    shapes = [(1, 4), (512, 4), (512, 2)]
    returns, inputs = written(shapes, "float32")
    arrays = numbers(8, *shapes)
    found, kernels = run(ALONE, returns, inputs, arrays)
    assert kernels == ["attention", "attention_sums"]
    assert_allclose(found, wanted(0.5 * arrays[0] @ arrays[1].T, arrays[2]), **TOLERANCE)


def softmax(scores: ng.Op) -> ng.Op:
    """As it is written by hand."""
    e = ng.numpy.exp(scores - ng.numpy.max(scores, axis=-1, keepdims=True))
    return e / ng.numpy.sum(e, axis=-1, keepdims=True)


def run(target: Target, returns: Any, inputs: list[ng.Op], arrays: list[Array]) -> tuple[Any, list[str]]:
    """The results, and the kernels by their families."""
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(returns, *inputs)
        found = computation(*arrays)
        return found, [name.rpartition("_")[0] for name in computation.stats()["kernels"]]


def written(shapes: Sequence[tuple[int, ...]], dtype: str) -> tuple[ng.Op, list[ng.Op]]:
    """Attention of matrices, keys by rows."""
    inputs = [ng.placeholder(list(shape), dtype=dtype) for shape in shapes]
    q, k, v = inputs
    scores = ng.numpy.matmul(q, ng.numpy.matrix_transpose(k)) * 0.5
    return ng.numpy.matmul(softmax(scores), v), inputs


@pytest.mark.parametrize("target", [ALONE, LIBRARY], ids=["alone", "library"])
@pytest.mark.parametrize("batch", [(), (2, 2)])
def test_it_is_found_with_a_library_or_without(target: Target, batch: tuple[int, ...]) -> None:
    """One launch, whatever the rules of the target make of products."""
    shapes = [(*batch, *last) for last in ((5, 3), (9, 3), (9, 2))]
    returns, inputs = written(shapes, "float32")
    arrays = numbers(4, *shapes)
    found, kernels = run(target, returns, inputs, arrays)
    assert kernels == ["attention"]
    assert_allclose(found, wanted(0.5 * arrays[0] @ arrays[1].swapaxes(-1, -2), arrays[2]), **TOLERANCE)


def test_a_mask_is_part_of_the_kernel() -> None:
    shapes = [(2, 2, 5, 3), (2, 2, 9, 3), (2, 2, 9, 2)]
    inputs = [*(ng.placeholder(list(shape)) for shape in shapes), ng.placeholder([5, 9], dtype="bool")]
    q, k, v, mask = inputs
    scores = ng.numpy.matmul(q, ng.numpy.matrix_transpose(k)) * 0.5
    returns = ng.numpy.matmul(softmax(ng.numpy.where(mask, scores, -1e4)), v)
    arrays = [*numbers(5, *shapes), np.arange(9) <= np.arange(5)[:, None]]
    found, kernels = run(ALONE, returns, inputs, arrays)
    assert kernels == ["attention_tiles", "attention"]
    scores_seen = np.where(arrays[3], 0.5 * arrays[0] @ arrays[1].swapaxes(-1, -2), -1e4)
    assert_allclose(found, wanted(scores_seen, arrays[2]), **TOLERANCE)


@examples(2)
@given(
    st.tuples(*[st.booleans()] * 4), st.sampled_from(["float32", "float16"]), st.sampled_from([-np.inf, -1e4, None]),
    st.integers(0, 99),
)  # fmt: skip
def test_tiles_of_a_mask_are_looked_at_once_for_all_that_have_the_same(
    has: tuple[bool, ...], dtype: str, fill: float | None, seed: int
) -> None:
    """A mask that has some axes of four: tiles of which all is seen, some or nothing; truths, or what is added."""
    lengths, random = (2, 2, 17, 66), np.random.default_rng(seed)
    *batch, m, n = lengths
    shapes = [(*batch, *last) for last in ((m, 4), (n, 4), (n, 3))]
    shape = tuple(length if own else 1 for length, own in zip(lengths, has, strict=True))
    parts = random.choice([0.0, 0.5, 1.0], size=[-(-x // step) for x, step in zip(shape, (1, 1, 16, 64), strict=True)])
    seen = random.random(shape) < parts.repeat(16, 2).repeat(64, 3)[:, :, : shape[2], : shape[3]]
    mask = np.where(seen, random.choice([0.0, 1.0], size=shape), -np.inf).astype(dtype) if fill is None else seen
    inputs = [*(ng.placeholder(list(x), dtype=dtype) for x in shapes), ng.placeholder(list(shape), mask.dtype.name)]
    q, k, v, hiding = inputs
    scores = ng.numpy.matmul(q, ng.numpy.matrix_transpose(k)) * 0.5
    scores = scores + hiding if fill is None else ng.numpy.where(hiding, scores, np.array(fill, dtype))
    arrays = [*numbers(seed, *shapes, dtype=dtype), mask]
    found, kernels = run(ALONE, ng.numpy.matmul(softmax(scores), v), inputs, arrays)
    if fill is not None or not all(has):  # what is added to each score by itself is added where these are summed
        assert kernels.count("attention_tiles") == 1 and "rows" not in kernels
    products = 0.5 * arrays[0].astype(float) @ arrays[1].astype(float).swapaxes(-1, -2)
    right = products + mask.astype(float) if fill is None else np.where(mask, products, fill)
    assert_allclose(found.astype(float), wanted(right, arrays[2]), rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.parametrize("target", [ALONE, LIBRARY], ids=["alone", "library"])
def test_scores_that_something_else_reads_are_computed_once(target: Target) -> None:
    """In the shape in which they are weighed, too."""
    q, k, v = inputs = [ng.placeholder(list(shape)) for shape in ((5, 3), (3, 9), (9, 2))]
    scores = ng.numpy.matmul(q, k)
    mixed = ng.numpy.matmul(softmax(scores), v)
    for returns in (mixed, [mixed, ng.numpy.reshape(scores, (1, 5, 9))]):
        with ng.make_transformer(target) as transformer:
            computation = transformer.computation(returns, *inputs)
            text = computation.explain(mixed)
        assert ("attention.attention_of_one" in text) == (returns is mixed)


@pytest.mark.parametrize("target", [ALONE, LIBRARY], ids=["alone", "library"])
def test_numbers_of_16_bits_have_tensor_cores(target: Target) -> None:
    """Whether there is a library for products or not."""
    shapes = [(1, 3, 4), (1, 5, 4), (1, 5, 2)]
    returns, inputs = written(shapes, "bfloat16")
    arrays = numbers(6, *shapes, dtype="bfloat16")
    found, names = run(target, returns, inputs, arrays)
    assert names == ["attention_of_halves"]
    q, k, v = (a.astype(float) for a in arrays)
    assert_allclose(found.astype(float), wanted(0.5 * q @ k.swapaxes(-1, -2), v), rtol=3e-2, atol=3e-2)


def test_weights_that_derivatives_read_are_computed_once() -> None:
    shapes = [(1, 3, 4), (1, 5, 4), (1, 5, 2)]
    returns, inputs = written(shapes, "float32")
    loss = ng.numpy.sum(returns * returns)
    arrays = numbers(7, *shapes)
    wishes = [loss, *ng.deriv(loss, inputs)]
    found, kernels = run(ALONE, wishes, inputs, arrays)
    assert "attention" not in kernels and "rows" in kernels
    with ng.make_transformer("reference") as transformer:
        right = transformer.computation(wishes, *inputs)(*arrays)
    for one, two in zip(found, right, strict=True):
        assert_allclose(one, two, rtol=1e-4, atol=1e-5)
