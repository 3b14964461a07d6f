# SPDX-License-Identifier: Apache-2.0
"""The functions rules call: right for NumPy arrays of the shapes they speak of, and for unknown lengths."""

import inspect
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ngraph_rewrite.errors import AttributeValueError
from ngraph_rewrite.frontend.axes import placeholder
from ngraph_rewrite.ops.indexing import canonical_index, count, numpy_index
from ngraph_rewrite.rewriting import attributes as fn
from ngraph_rewrite.rewriting import attributes_numbers as numbers
from ngraph_rewrite.rewriting import attributes_positions as at
from ngraph_rewrite.rewriting import attributes_slices as cuts_of
from ngraph_rewrite.rewriting.registry import attribute_function, attribute_functions
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.operands import as_constant
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.dtypes import BFLOAT16, DTYPES, DType, finfo
from ngraph_rewrite.types.lengths import Length

H, W, N = Axis("H", 2), Axis("W", 3), Axis("N", None)
LENGTH = Length.symbol("N")
ARRAY = np.arange(24).reshape(2, 3, 4)
perms = st.permutations([0, 1, 2])
dims = st.sets(st.sampled_from(range(3))).map(lambda s: tuple(sorted(s)))
dtypes, numpys = st.sampled_from(DTYPES), st.sampled_from([d for d in DTYPES if d != BFLOAT16])
indices = hnp.basic_indices(ARRAY.shape, allow_newaxis=False)
slices = st.builds(slice, *[st.none() | st.integers(-6, 6)] * 2, st.sampled_from([1, 2, -1, -3]))


# -- axes -------------------------------------------------------------------------------------------


def test_axes_are_matched_by_name_with_lengths_known_or_not() -> None:
    left, right = Axes([H, N]), Axes([N, W])
    assert fn.union(left, right) == Axes([H, N, W])
    assert fn.shared(left, right) == Axes([N])
    assert fn.without(left, right) == Axes([H])
    assert fn.disjoint([H], [W]) and not fn.disjoint(left, right)
    assert fn.positions(right, Axes([W, H, N])) == (2, 0)
    assert fn.position("N", left) == fn.position(N, left) == 1
    assert (fn.axes_of(H, N), fn.axes_of()) == (left, Axes())


def test_lengths_and_sizes_stay_symbols() -> None:
    assert fn.lengths([H, N]) == (2, LENGTH)
    assert (fn.size([H, N]), fn.size(())) == (LENGTH * 2, 1)
    assert fn.batch_length([H, N]) == LENGTH
    assert fn.is_known(2) and not fn.is_known(LENGTH)
    assert fn.with_length(N, 1).length == 1


def test_names_can_be_forgotten() -> None:
    assert fn.plain_axes([H, N]) == anonymous([2, LENGTH])
    assert fn.is_plain(fn.plain_axes([H, N])) and not fn.is_plain([H])
    assert not fn.is_plain([Axis(None, 3, "sample")])


def test_a_flattened_axis_remembers_its_components() -> None:
    assert fn.components(fn.flattened([H, N])) == Axes([H, N])


# -- dtypes and literals ----------------------------------------------------------------------------


@given(left=numpys, right=numpys)
def test_dtypes_promote_as_in_numpy(left: DType, right: DType) -> None:
    assert numbers.promoted(left, right) == np.result_type(left, right)


@given(dtype=dtypes)
def test_functions_are_computed_in_the_float_that_numpy_takes(dtype: DType) -> None:
    assert numbers.floating(dtype) == np.sqrt(np.zeros(1, dtype)).dtype
    assert numbers.is_float(dtype) == (dtype.kind not in "biu")
    assert numbers.is_unsigned(dtype) == (dtype.kind in "bu")


@given(dtype=dtypes.filter(numbers.is_float))
def test_only_half_precision_is_accumulated_in_single(dtype: DType) -> None:
    assert numbers.wide(dtype) == ("float32" if dtype in ("float16", BFLOAT16) else dtype)


@given(wider=dtypes, dtype=dtypes)
def test_a_dtype_that_holds_another_keeps_its_extremes(wider: DType, dtype: DType) -> None:
    assume(numbers.holds(wider, dtype))
    if dtype.kind == "b":
        values = np.array([False, True])
    else:
        info = finfo(dtype) if numbers.is_float(dtype) else np.iinfo(dtype)
        values = np.array([info.min, info.max, 1], dtype)
    there_and_back = values.astype(wider).astype(dtype)
    np.testing.assert_array_equal(there_and_back, values)


@pytest.mark.parametrize(
    ("wider", "dtype", "held"),
    [
        ("float64", "int64", False),
        ("float64", "int32", True),
        ("float32", "int32", False),
        ("float16", "int8", True),
        ("int64", "uint64", False),
        ("uint64", "int8", False),
        ("bool", "int8", False),
        ("float16", "bool", True),
        ("int64", "float16", False),
        ("float32", "bfloat16", True),
        ("float16", "bfloat16", False),
        ("bfloat16", "float16", False),
        ("bfloat16", "uint8", True),
        ("bfloat16", "int16", False),
    ],
)
def test_which_dtypes_hold_which(wider: str, dtype: str, held: bool) -> None:
    assert numbers.holds(np.dtype(wider), np.dtype(dtype)) is held


@pytest.mark.parametrize(
    ("number", "dtype", "fits"),
    [(127, "int8", True), (128, "int8", False), (2048, "float16", True), (2049, "float16", False), (1, "bool", False)],
)
def test_numbers_that_are_exact_in_a_dtype(number: int, dtype: str, fits: bool) -> None:
    assert numbers.representable(number, np.dtype(dtype)) is fits
    assert numbers.counts(number, np.dtype(dtype)) is fits


def test_an_unknown_length_is_not_a_number_yet() -> None:
    assert not numbers.representable(LENGTH, np.dtype("int64"))
    assert numbers.representable(0, np.dtype("int64")) and not numbers.counts(0, np.dtype("int64"))


def test_literals_are_computed_in_their_dtype() -> None:
    half, single = np.dtype("float16"), np.dtype("float32")
    assert numbers.literal(1, single) == Literal(1.0, "float32")
    assert numbers.recast(numbers.literal(2.5, single), np.dtype("int64")) == Literal(2, "int64")
    assert numbers.times(numbers.literal(3.0, half), numbers.literal(0.5, half)) == Literal(1.5, "float16")
    assert numbers.exponential(numbers.literal(1.0, single)) == Literal(np.exp(np.float32(1)), "float32")


def test_two_numbers_scale_if_their_product_is_ordinary() -> None:
    single = np.dtype("float32")
    small, large = numbers.literal(1e-30, single), numbers.literal(1e30, single)
    assert numbers.scales(small, large)
    assert not numbers.scales(small, small) and not numbers.scales(large, large)
    assert not numbers.scales(numbers.literal(np.nan, single), large)
    assert not numbers.scales(numbers.literal(2, np.dtype("int64")), numbers.literal(2, np.dtype("int64")))


def test_folding_gives_the_value_of_an_op_of_numbers() -> None:
    assert numbers.folded(as_constant(7.0) / as_constant(2.0)) == Literal(3.5, "float32")
    assert numbers.folded(as_constant(7.0) < as_constant(2.0)) == Literal(False)


# -- positions --------------------------------------------------------------------------------------


@given(p=perms, q=perms)
def test_permutations_compose_and_invert_as_transposes_do(p: list[int], q: list[int]) -> None:
    twice = ARRAY.transpose(p).transpose(q)
    np.testing.assert_array_equal(ARRAY.transpose(at.compose(p, q)), twice)
    np.testing.assert_array_equal(ARRAY.transpose(p).transpose(at.inverse(p)), ARRAY)
    assert at.is_identity(at.compose(p, at.inverse(p)))


@given(p=perms, shape=st.lists(st.integers(1, 3), min_size=3, max_size=3))
def test_what_moves_only_ones_is_a_reshape(p: list[int], shape: list[int]) -> None:
    assume(at.moves_only_ones(shape, p))
    array = np.arange(np.prod(shape)).reshape(shape)
    moved = array.transpose(p)
    np.testing.assert_array_equal(moved, array.reshape(moved.shape))


def test_an_unknown_length_is_never_taken_for_one() -> None:
    assert not at.moves_only_ones((LENGTH, 2), (1, 0))
    assert at.moves_only_ones((LENGTH, 1), (1, 0))


@given(inner=dims, data=st.data())
def test_reducing_twice_is_reducing_by_nested(inner: tuple[int, ...], data: st.DataObject) -> None:
    rank = 3 - len(inner)
    outer = data.draw(st.sets(st.integers(0, max(rank - 1, 0))).map(lambda s: tuple(sorted(s)))) if rank else ()
    np.testing.assert_array_equal(ARRAY.sum(inner).sum(outer), ARRAY.sum(at.nested(inner, outer, 3)))


def test_choosing_among_positions() -> None:
    assert at.span(1, 4) == (1, 2, 3) and at.repeated(0, 2) == (0, 0)
    assert at.product_of((2, LENGTH)) == LENGTH * 2 and at.product_of(()) == 1
    assert at.pick("abc", (2, 0)) == ("c", "a")
    assert at.others((1,), 3) == (0, 2) and at.outside((0, 1, 3), (1,)) == (0, 3)
    assert at.among((0, 2, 3), (3, 0)) == (0, 2)
    assert at.ranks((5, 2, 9)) == (1, 0, 2) and at.in_order((5, 2)) == (2, 5)
    assert at.rank((2, LENGTH)) == 2


# -- slices -----------------------------------------------------------------------------------------


@given(inner=slices, outer=slices)
def test_slices_compose(inner: slice, outer: slice) -> None:
    line = np.arange(7)
    (first,) = canonical_index((inner,), (7,))
    (second,) = canonical_index((outer,), (line[inner].size,))
    composed = cuts_of.compose_slices(cuts_of.triples((first,)), cuts_of.triples((second,)))
    taken = line[numpy_index(canonical_index(tuple(zip(*composed, strict=True)), (7,)))]
    np.testing.assert_array_equal(taken, line[inner][outer])


def test_slices_of_unknown_lengths_compose() -> None:
    inner, outer = ((2,), (LENGTH,), (1,)), ((0,), (LENGTH - 3,), (1,))
    assert cuts_of.compose_slices(inner, outer) == ((2,), (LENGTH - 1,), (1,))
    assert cuts_of.is_whole((0,), (1,)) and not cuts_of.is_whole((0,), (-1,))


@given(lengths=st.lists(st.integers(0, 4), min_size=1, max_size=4), taken=slices)
def test_what_a_slice_takes_of_one_part_is_a_slice_of_it(lengths: list[int], taken: slice) -> None:
    ends = [sum(lengths[:k]) for k in range(len(lengths) + 1)]
    pieces = [np.arange(first, end) for first, end in pairwise(ends)]
    line = np.concatenate(pieces)
    terms = [placeholder(anonymous(piece.shape)) for piece in pieces]
    found = cuts_of.in_part(terms, 0, cuts_of.triples(canonical_index((taken,), line.shape)))
    within = [k for k, piece in enumerate(pieces) if line[taken].size and set(line[taken]) <= set(piece)]
    assert [found[0]] == within if found else not within
    if found is not None:
        index = canonical_index(tuple(zip(*found[1], strict=True)), pieces[found[0]].shape)
        np.testing.assert_array_equal(pieces[found[0]][numpy_index(index)], line[taken])


def test_a_part_behind_unknown_lengths_is_not_known() -> None:
    parts = [placeholder([N]), placeholder([H])]
    assert cuts_of.in_part(parts, 0, ((0,), (1,), (1,))) is None
    assert cuts_of.in_part(parts[::-1], 0, ((1,), (2,), (1,))) == (0, ((1,), (2,), (1,)))


@given(index=indices)
def test_paddings_put_a_slice_back(index: Any) -> None:
    items = canonical_index(index, ARRAY.shape)
    flips = tuple(zip(*cuts_of.flips(items), strict=True))
    part = ARRAY[numpy_index(items)].reshape(cuts_of.kept_shape(items))[numpy_index(flips)]
    before, after, between = cuts_of.paddings(items, ARRAY.shape)
    stretched = tuple(n + max(n - 1, 0) * b for n, b in zip(part.shape, between, strict=True))
    assert tuple(a + n + b for a, n, b in zip(before, stretched, after, strict=True)) == ARRAY.shape
    result, wanted = np.zeros_like(ARRAY), np.zeros_like(ARRAY)
    result[tuple(slice(b, b + n, i + 1) for b, n, i in zip(before, stretched, between, strict=True))] = part
    wanted[index] = ARRAY[index]
    np.testing.assert_array_equal(result, wanted)


def test_paddings_of_unknown_lengths() -> None:
    items = canonical_index((slice(1, -2), 0), (LENGTH, LENGTH))
    assert cuts_of.paddings(items, (LENGTH, LENGTH)) == ((1, 0), (2, LENGTH - 1), (0, 0))
    assert cuts_of.kept_shape(items) == (LENGTH - 3, 1)


def test_what_was_joined_is_taken_apart() -> None:
    assert cuts_of.inside((1, 0), (2, LENGTH)) == ((1, 3, 1), (0, LENGTH, 1))
    assert cuts_of.layers((2, LENGTH), 0) == ((0, (0, LENGTH, 1)), (1, (0, LENGTH, 1)))
    assert cuts_of.parts((), "H", Axes([H])) == ()


@given(cuts=st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_parts_cover_the_joined_axis(cuts: list[int]) -> None:
    class Part:
        def __init__(self, n: int) -> None:
            self.axes = Axes([W, Axis("H", n)])

    parts = cuts_of.parts([Part(n) for n in cuts], "H", Axes([Axis("H", sum(cuts)), W]))  # type: ignore[misc]
    assert [count(i[0]) for i in parts] == cuts  # type: ignore[arg-type]
    assert all(i[1] == (0, 3, 1) for i in parts)


# -- the registry -----------------------------------------------------------------------------------


def test_every_function_is_registered_and_documented_with_an_example() -> None:
    own = {n: f for m in (fn, at) for n, f in inspect.getmembers(m, inspect.isfunction) if f.__module__ == m.__name__}
    public = {n: f for n, f in own.items() if not n.startswith("_")}
    assert public.items() <= dict(attribute_functions()).items()
    assert not [n for n, f in public.items() if ">>>" not in (f.__doc__ or "")]


def test_a_name_can_be_registered_once() -> None:
    def union(left: object, right: object) -> None:
        """Another function of a name that is taken."""

    with pytest.raises(AttributeValueError, match="called union is registered already"):
        attribute_function(union)
