# SPDX-License-Identifier: Apache-2.0
"""Products in plain loops, gather, random draws and copies against NumPy."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nests import strided
from running import DTYPES, FLOATS, INTEGERS, Runner, address, nest_arguments, operand_arguments, same_bits

from ngraph_rewrite.codegen.copy import few, render_copy
from ngraph_rewrite.codegen.library import render_dot, render_gather, render_random
from ngraph_rewrite.codegen.library_indexed import render_take_along
from ngraph_rewrite.codegen.library_products import render_sums
from ngraph_rewrite.codegen.library_running import render_recurrence, render_running
from ngraph_rewrite.codegen.nest import SHUFFLED, Operand
from ngraph_rewrite.errors import KernelError
from ngraph_rewrite.runtime.compiler import compile_kernel
from ngraph_rewrite.runtime.philox import last_below, normal, uniform

_KERNEL = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)

drawn = settings(max_examples=24, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def small(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Whole numbers, whose products are exact in every dtype."""
    low = 0 if dtype[0] in "ub" else -2
    return np.random.default_rng(seed).integers(low, 2 if dtype == "bool" else 4, shape).astype(dtype)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(3, 4, 5), (2, 300, 3), (1, 1, 1), (3, 4, 0), (0, 4, 2)])
def test_dot_in_plain_loops(run: Runner, dtype: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    a, b, c = small((k, m), dtype, 1).T, small((k, n), dtype, 2), np.ones((m, n), dtype)
    steps = {"a_sm": 1, "a_sk": m, "b_sk": n, "b_sn": 1, "ldc": n}
    run(render_dot(dtype), {"m": m, "n": n, "k": k, "a": address(a), "b": address(b), "c": address(c), **steps}, 2)
    assert same_bits(c, (a @ b).astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_parts_are_handed_over_some_rows_at_a_time_from_workspace_of_each_thread(
    run: Runner, dtype: str
) -> None:
    parts, space = small((3, 23, 7), dtype), np.zeros((3, 4, 7), dtype)
    found: dict[int, tuple[int, np.ndarray]] = {}

    @_KERNEL
    def epilogue(_arguments: int, told: int, _last: int, _thread: int) -> None:
        batch, begin, height, left, width, place, step = (ctypes.c_int64 * 7).from_address(told)
        assert (batch, left, width, step) == (0, 0, 7, 7)
        thread, rest = divmod(place - address(space), space[0].nbytes)
        assert rest == 0
        found[begin] = thread, space[thread, :height].copy()

    sums, callback = render_sums(dtype), ctypes.cast(epilogue, ctypes.c_void_p).value or 0
    sizes = {"parts": 3, "m": 23, "n": 7, "block": 4, "sums": address(parts), "c": address(space)}
    arguments = np.array([{**sizes, "epilogue": callback}[name] for name in sums.signature])
    kernel = compile_kernel(sums.text, sums.name, run.cache)
    for chunk, thread in enumerate((2, 0, 2)):
        _KERNEL(kernel.address)(address(arguments), chunk, 3, thread)
    assert {begin: thread for begin, (thread, _) in found.items()} == {0: 2, 4: 2, 7: 0, 11: 0, 15: 2, 19: 2}
    assert np.array_equal(np.concatenate([rows for _, (_, rows) in sorted(found.items())]), parts.sum(0))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_an_integer_dot_wraps(run: Runner, dtype: str) -> None:
    limits = np.iinfo(dtype)
    a, b = (np.random.default_rng(s).integers(limits.min, limits.max, (6, 6), dtype) for s in (1, 2))
    c = np.zeros((6, 6), dtype)
    sizes = {"m": 6, "n": 6, "k": 6, "a_sm": 6, "a_sk": 1, "b_sk": 6, "b_sn": 1, "ldc": 6}
    run(render_dot(dtype), {**sizes, "a": address(a), "b": address(b), "c": address(c)})
    assert same_bits(c, (a @ b).astype(dtype))


# Of every dtype by one of indices, in turn; of one dtype by each of them.
INDICES = ("int8", "int64", "uint32")
GATHERED = {(dtype, INDICES[i % 3]) for i, dtype in enumerate(DTYPES)} | {("float32", index) for index in INDICES}


@pytest.mark.sampled
@pytest.mark.parametrize(("dtype", "index_dtype"), sorted(GATHERED))
def test_gather_wraps_once_and_gives_zeros_outside(run: Runner, dtype: str, index_dtype: str) -> None:
    x, index = small((2, 4, 3), dtype), np.array([0, 3, -1, -4, 4, -5, 2]).astype(index_dtype)
    y = np.ones((2, len(index), 3), dtype)
    sizes = {"outer": 2, "count": len(index), "inner": 3, "length": 4, "x_so": 12, "x_sk": 3}
    run(render_gather(dtype, index_dtype), {**sizes, "x": address(x), "index": address(index), "y": address(y)}, 3)
    inside = (index.astype("int64") >= -4) & (index.astype("int64") < 4)
    expected = np.zeros_like(y)
    expected[:, inside] = x[:, index[inside].astype("int64")]
    assert same_bits(y, expected)


@drawn
@given(sizes=st.tuples(*[st.integers(0, 3)] * 3), length=st.integers(1, 3), chunks=st.integers(1, 5))
def test_indices_are_those_of_their_line_wherever_a_chunk_begins(
    run: Runner, sizes: tuple[int, int, int], length: int, chunks: int
) -> None:
    outer, count, inner = sizes
    x, y = small((outer, length, inner), "float32"), np.ones((2, *sizes), "float32")
    index = np.random.default_rng(count).integers(-length - 1, length + 1, sizes)
    named = {"outer": outer, "count": count, "inner": inner, "length": length, "x": address(x)}
    whole = np.concatenate(
        [np.zeros_like(x[:, :1]), x, x, np.zeros_like(x[:, :1])], axis=1
    )  # what -length - 1 is, first
    run(render_take_along("float32", "int64"), {**named, "index": address(index), "y": address(y[0])}, chunks)
    assert same_bits(y[0], np.take_along_axis(whole, index + length + 1, axis=1))
    one = np.ascontiguousarray(index[0, :, 0] if outer and inner else np.zeros(count, np.int64))
    steps = {"index": address(one), "y": address(y[1]), "x_so": length * inner, "x_sk": inner}
    run(render_gather("float32", "int64"), {**named, **steps}, chunks)
    assert same_bits(y[1], whole[:, one + length + 1])


@drawn
@given(
    sizes=st.tuples(st.integers(0, 11), st.integers(0, 4), st.sampled_from([1, 1, 2])),
    dtype=st.sampled_from(["float32", "int64"]),
    reverse=st.booleans(),
    chunks=st.integers(1, 5),
)
def test_lines_that_run_along_memory_do_so_whichever_are_computed_together(
    run: Runner, sizes: tuple[int, int, int], dtype: str, reverse: bool, chunks: int
) -> None:
    x, a = small(sizes, dtype), small(sizes, dtype) % 3
    y, wanted = np.ones((2, *sizes), dtype), np.zeros((2, *sizes), dtype)
    places = range(sizes[1] - 1, -1, -1) if reverse else range(sizes[1])
    before = np.zeros((2, sizes[0], sizes[2]), dtype)
    for j in places:
        before[0] += x[:, j]
        before[1] = a[:, j] * before[1] + x[:, j]
        wanted[:, :, j] = before
    named = dict(zip(("outer", "n", "inner"), sizes, strict=True))
    run(render_running("cumsum", dtype, reverse), {**named, "x": address(x), "y": address(y[0])}, chunks)
    steps = {"b": address(x), "a": address(a), "y": address(y[1])}
    run(render_recurrence(dtype, reverse), {**named, **steps}, chunks)
    assert same_bits(y, wanted)


def bits(value: float) -> int:
    return int(np.float64(value).view(np.int64))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("count", [0, 1, 5, 4096])
def test_uniform_draws_have_the_same_bits_as_numpys(run: Runner, dtype: str, count: int) -> None:
    y, call = np.full(count + 1, 9, dtype), np.array([2**32 + 3])
    names = {"y": address(y), "count": count, "call": address(call), "stream": 11}
    ends = {"first": bits(-2.0), "second": bits(3.0), "most": bits(last_below(-2.0, 3.0, y.dtype))}
    run(render_random("uniform", dtype), {**names, **ends, "seed": 2**62 + 5}, 3)
    assert same_bits(y[:-1], uniform(2**62 + 5, 11, 2**32 + 3, count, dtype, -2.0, 3.0))
    assert y[-1] == 9


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_draws_agree_to_a_few_ulp(run: Runner, dtype: str) -> None:
    y, call = np.zeros(1001, dtype), np.array([7])
    names = {"y": address(y), "count": 1001, "call": address(call), "stream": 0, "seed": 1}
    run(render_random("normal", dtype), {**names, "first": bits(0.0), "second": bits(2.0)}, 2)
    expected = normal(1, 0, 7, 1001, dtype, 0.0, 2.0)
    # two libraries' logarithm, root and cosine: each within 1 ulp of the result
    assert np.all(np.abs(y - expected) <= 4 * np.spacing(np.abs(expected)))


@drawn
@given(st.data(), st.sampled_from(["bool", "int16", "float16", "float64"]))
def test_a_copy_changes_the_layout_only(run: Runner, data: st.DataObject, dtype: str) -> None:
    shape = tuple(data.draw(st.lists(st.sampled_from([0, 1, 3, 40]), max_size=3)))
    source, x = data.draw(strided(shape, dtype, (False,) * len(shape)))
    target, y = data.draw(strided(shape, dtype, (False,) * len(shape)))
    dim = few(x, y, shape)
    for together in {None, None if dim is None else (dim, shape[dim])}:
        target[...] = np.zeros((), dtype)
        run(render_copy(x, y, together), nest_arguments(shape, [source], [target]), data.draw(st.integers(1, 3)))
        assert same_bits(target, source)


@pytest.mark.parametrize("chunks", [1, 2, 3])
@pytest.mark.parametrize("gap", [0, 3])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", [(2, 37, 3), (2, 37, 2), (37, 4)])
def test_what_is_moved_together_may_be_dense_or_not(
    run: Runner, shape: tuple[int, ...], turned: bool, gap: int, chunks: int
) -> None:
    """Colours that lie side by side, with something between pixels or not, from or to where they lie apart."""
    *outside, pixels, colours = shape
    values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    whole = np.full((*outside, pixels, colours + gap), -1, "float32")
    together = whole[..., :colours]
    apart = np.full((*outside, colours, pixels), -1, "float32").swapaxes(-1, -2)
    source, target = (together, apart) if turned else (apart, together)
    source[...] = values
    order = (*range(len(outside)), len(outside) + 1, len(outside)) if turned else tuple(range(len(shape)))
    arrays = [a.transpose(order) for a in (source, target)]  # loops in the order of the target
    operands = [Operand("float32", tuple("1" if s == 4 else "s" for s in a.strides)) for a in arrays]
    if (last := str(arrays[0].strides[-1] // 4)) in SHUFFLED:
        operands[0] = replace(operands[0], strides=(*operands[0].strides[:-1], last))
    dim = few(*operands, arrays[0].shape)
    assert dim is not None and arrays[0].shape[dim] == colours
    run(render_copy(*operands, (dim, colours)), nest_arguments(arrays[0].shape, arrays[:1], arrays[1:]), chunks)
    np.testing.assert_array_equal(target, values)
    assert np.all(whole[..., colours:] == -1)


@pytest.mark.parametrize(
    ("source", "target", "sizes", "dim"),
    [
        (("s", "1", "s"), ("s", "s", "1"), (9, 50, 3), 2),  # colours are put side by side,
        (("s", "s", "1"), ("s", "1", "s"), (9, 3, 50), 1),  # and apart again
        (("s", "1", "s"), ("s", "s", "1"), (9, 50, 40), None),  # as many as a tile holds
        (("s", "1", "s"), ("s", "s", "1"), (9, 3, 4), None),  # few either way
        (("1", "s"), ("s", "1"), (3, 50), 0),  # colours of one picture
        (("1", "3"), ("s", "1"), (3, 50), 0),  # also if it is known that they are all that there is of a pixel
        (("s", "1"), ("s", "1"), (50, 3), None),  # nothing is turned around
    ],
)
def test_few_elements_side_by_side_are_moved_together(
    source: tuple[str, ...], target: tuple[str, ...], sizes: tuple[int, ...], dim: int | None
) -> None:
    assert few(Operand("float32", source), Operand("float32", target), sizes) == dim


def test_names_of_operands_are_those_of_the_signature() -> None:
    assert operand_arguments("x", np.zeros((2, 3), "int8")).keys() == {"x", "x_s0", "x_s1"}


@pytest.mark.parametrize(
    "render",
    [
        lambda: render_dot("complex64"),
        lambda: render_gather("float32", "float32"),
        lambda: render_random("uniform", "int32"),
        lambda: render_random("cauchy", "float32"),
    ],
    ids=["dot", "gather", "random-dtype", "random-kind"],
)
def test_what_no_kernel_covers_is_an_error(render: object) -> None:
    with pytest.raises(KernelError):
        render()  # type: ignore[operator]
