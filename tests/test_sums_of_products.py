# SPDX-License-Identifier: Apache-2.0
"""Products that contract an axis which is two axes of memory: sums of products of what lies there, copied nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cut_products import (
    DTYPES,
    Array,
    cut_so,
    cuts,
    drawn,
    kernels_of,
    lengths,
    operands,
    placeholder,
    run,
    whole,
)
from hypothesis import given
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.plan import factors


def contracted(x: Any, y: Any) -> ng.Op:
    """The sum of x[t] y[t], as one product over all that is contracted."""
    (terms, m, k), n = x.shape, y.shape[2]
    rows = semi.reshape(semi.transpose(x, (1, 0, 2)), (m, terms * k))
    return semi.dot(rows, semi.reshape(y, (terms * k, n)))


@drawn
@given(st.data(), st.sampled_from(DTYPES), st.integers(2, 5), lengths, lengths, st.sampled_from([1, 2, 7, 32, 33, 64]))
def test_it_is_numpys_however_it_lies_and_is_cut(
    monkeypatch: pytest.MonkeyPatch, data: st.DataObject, dtype: str, terms: int, m: int, n: int, k: int
) -> None:
    """Terms are added up in several parts too, of which the last may have fewer; and something may follow."""
    (a, left), (b, right) = (data.draw(operands(s, dtype, i)) for i, s in enumerate([(terms, m, k), (terms, k, n)]))
    x, y = placeholder(a), placeholder(b)
    parts, ahead = data.draw(st.sampled_from([1, 1, 2, 3, 5])), data.draw(st.sampled_from([None, 3, 16, 40]))
    product = contracted(left(x), right(y))
    with cut_so(monkeypatch, data.draw(cuts()), parts, ahead) as patch:
        patch.setattr(factors, "_LEAST", data.draw(st.sampled_from([1, 32])))
        factor, threads = data.draw(st.sampled_from([1, 2])), data.draw(st.sampled_from([1, 3]))
        found = run(product if factor == 1 else semi.add(product, product), {x: a, y: b}, threads)
    assert np.array_equal(found, (left(a) @ right(b)).sum(0) * factor)


def inputs(*shapes: tuple[int, ...]) -> dict[ng.Op, Array]:
    arrays = [whole(shape, "float32", seed) for seed, shape in enumerate(shapes)]
    return {placeholder(a): a for a in arrays}


def test_nothing_is_copied_and_no_product_is_stored_by_itself() -> None:
    given = inputs((5, 20, 40), (5, 30, 40))
    term = ng.numpy.einsum("bmk,bnk->mn", *given)
    assert kernels_of(term, given) == ["gemm"]
    assert np.array_equal(run(term, given), np.einsum("bmk,bnk->mn", *given.values()))


@pytest.mark.parametrize("which", [0, 1])
def test_one_operand_may_lie_plainly(which: int) -> None:
    given = inputs((20, 5 * 40), (5, 30, 40))
    matrix, stack = given
    stacked = semi.reshape(semi.transpose(stack, (1, 0, 2)), (30, 200))
    term = semi.dot(matrix, semi.transpose(stacked)) if which else semi.dot(stacked, semi.transpose(matrix))
    a, b = given.values()
    right = a @ b.transpose(1, 0, 2).reshape(30, 200).T
    assert kernels_of(term, given) == ["gemm"]
    assert np.array_equal(run(term, given), right if which else right.T)


@pytest.mark.parametrize("last", [True, False])
def test_axes_that_lie_the_other_way_round_in_both_operands_are_contracted_as_they_lie(last: bool) -> None:
    """One axis of memory then, of which whole lines are read; the sum is the same in any order."""
    given = inputs((20, 40, 5), (30, 40, 5)) if last else inputs((40, 5, 20), (40, 5, 30))
    x, y = (semi.transpose(one, (2, 0, 1) if last else (1, 2, 0)) for one in given)
    product = contracted(x, semi.transpose(y, (0, 2, 1)))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(product, *given)
        found = computation(*given.values())
        (work,) = computation._ready().executable.plan.work  # type: ignore[attr-defined]
    assert np.array_equal(found, np.einsum("mkt,nkt->mn" if last else "ktm,ktn->mn", *given.values()))
    told = dict(zip(work.source.signature, work.arguments, strict=True))
    assert (told["terms"], told["k"], told["a_sk"]) == (1, 200, 4 if last else 80)


def test_what_is_multiplied_with_itself_is_read_twice() -> None:
    given = inputs((5, 20, 40))
    (x,) = given
    rows = semi.reshape(semi.transpose(x, (1, 0, 2)), (20, 200))
    term = semi.dot(rows, semi.transpose(rows))
    assert kernels_of(term, given) == ["gemm"]
    assert np.array_equal(run(term, given), np.einsum("bmk,bnk->mn", *[*given.values()] * 2))


def test_short_sums_are_copied_together() -> None:
    given = inputs((5, 20, 8), (5, 30, 8))
    term = ng.numpy.einsum("bmk,bnk->mn", *given)
    assert kernels_of(term, given) == ["copy", "copy", "gemm"]
    assert np.array_equal(run(term, given), np.einsum("bmk,bnk->mn", *given.values()))


def test_of_operands_that_do_not_part_alike_one_is_copied() -> None:
    given = inputs((2, 20, 120), (3, 30, 80))
    x, y = given
    rows = semi.reshape(semi.transpose(x, (1, 0, 2)), (20, 240))
    columns = semi.reshape(semi.transpose(y, (1, 0, 2)), (30, 240))
    term = semi.dot(rows, semi.transpose(columns))
    a, b = given.values()
    assert kernels_of(term, given) == ["copy", "gemm"]
    right = a.transpose(1, 0, 2).reshape(20, 240) @ b.transpose(1, 0, 2).reshape(30, 240).T
    assert np.array_equal(run(term, given), right)


def test_a_computed_operand_is_in_memory_as_it_was_made() -> None:
    """What elementwise terms give is stored in their order, and read in that of the product."""
    given = inputs((5, 20, 40), (5, 30, 40))
    x, y = given
    term = ng.numpy.einsum("bmk,bnk->mn", ng.maximum(x, 0.0), y * 2.0)
    assert "copy" not in kernels_of(term, given)
    a, b = given.values()
    assert np.array_equal(run(term, given), np.einsum("bmk,bnk->mn", np.maximum(a, 0), b * 2))


# -- convolutions ----------------------------------------------------------------------------------------


def by_filters(stride: int, size: int) -> tuple[ng.Op, dict[ng.Op, Array]]:
    """The derivative of windows of one element by their filters."""
    n, c, h, w = (ng.Axis(*a) for a in (("N", 3), ("C", 5), ("H", size), ("W", size)))
    image = ng.placeholder([n, c, h, w])
    filters = ng.placeholder([c, ng.Axis("R", 1), ng.Axis("S", 1), ng.Axis("K", 6)])
    result = ng.convolution(image, filters, stride=stride)
    slope = ng.placeholder(result.axes)
    term = ng.deriv(ng.sum(result * slope, out_axes=()), filters)
    arrays = [whole(tuple(int(k) for k in x.shape), "float32", i) for i, x in enumerate((image, slope))]
    return term, dict(zip((image, slope), arrays, strict=True))


@pytest.mark.parametrize(("stride", "size", "kernels"), [(1, 8, ["gemm"]), (2, 15, ["copy", "gemm"])])
def test_derivatives_of_windows_of_one_element_copy_what_is_left_out_alone(
    stride: int, size: int, kernels: list[str]
) -> None:
    term, given = by_filters(stride, size)
    image, slope = given.values()
    found = run(term, given)
    assert kernels_of(term, given) == kernels
    assert np.array_equal(found[:, 0, 0], np.einsum("nchw,nkhw->ck", image[:, :, ::stride, ::stride], slope))


def test_filters_as_large_as_images_are_one_product() -> None:
    given = inputs((4, 3, 7, 7), (5, 3, 7, 7))
    zeros, ones = (0, 0), (1, 1)
    how: dict[str, Any] = {"strides": ones, "before": zeros, "after": zeros, "interior": zeros, "dilations": ones}
    term = semi.convolution(*given, **how, groups=1)
    assert kernels_of(term, given) == ["gemm"]
    assert np.array_equal(run(term, given)[..., 0, 0], np.einsum("nchw,kchw->nk", *given.values()))
