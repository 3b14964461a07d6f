# SPDX-License-Identifier: Apache-2.0
"""The derivative of sums and averages of windows is one launch: what belongs to a window goes to its elements."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sliding_oracle import pool, whole_numbers

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.errors import AttributeValueError, DTypeError
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op

NAMES = ("sizes", "strides", "before", "after", "dilations")
SLIDES = st.tuples(st.integers(2, 3), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2))
KINDS = [("sum", False), ("avg", True), ("avg", False)]
Case = dict[str, Any]


def slope(shape: tuple[int, ...], kind: str, counted: bool, case: Case, dtype: str = "float32") -> tuple[Op, list[Op]]:
    """The derivative by an image of pooling times numbers, and these inputs."""
    x = ng.placeholder(shape, dtype)
    y = semi.pooling(x, kind, **case, counted=counted)
    d = ng.placeholder(y.shape, dtype)
    return ng.deriv(semi.sum(y * d, axes=range(y.rank)), x), [x, d]


def meant(shape: tuple[int, ...], d: Any, **how: Any) -> Any:
    """What an element gets: what pooling of it alone gives, times `d`."""
    alone = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    return np.array([np.sum(pool(one, **how) * d) for one in alone]).reshape(shape)


def check(shape: tuple[int, ...], kind: str, counted: bool, case: Case, dtype: str = "float32") -> None:
    """One launch gives what is meant."""
    term, inputs = slope(shape, kind, counted, case, dtype)
    d = whole_numbers(1, tuple(map(int, inputs[1].shape)), dtype)  # type: ignore[arg-type]
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(term, *inputs)
        found = computation(np.zeros(shape, dtype), d)
        kernels = [name.partition("_")[0] for name in computation.stats()["kernels"]]
    if (
        counted or kind != "avg" or len(case["axes"]) < len(shape)
    ):  # else counts need no broadcast, and no rule sees them
        assert kernels == ["spread"]
    wanted = meant(shape, d.astype("float64"), kind=kind, counted=counted, **case)
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype == "float32" else 1e-14, atol=1e-6)


@settings(max_examples=5, deadline=None)
@given(st.data())
def test_drawn_windows(data: st.DataObject) -> None:
    """They overlap or leave gaps, reach into padding or leave elements out; N may stand last."""
    count = data.draw(st.integers(1, 3), label="axes")
    first = data.draw(st.integers(0, 1), label="before them")
    last = data.draw(st.integers(0, 1), label="behind them") if count < 3 else 0
    shape = tuple(data.draw(st.lists(st.integers(2, 5), min_size=first + count + last, max_size=first + count + last)))
    rows = [data.draw(SLIDES) for _ in range(count)]
    case = {"axes": tuple(range(first, first + count)), **dict(zip(NAMES, zip(*rows, strict=True), strict=True))}
    if all(n > 0 for n in semi.pooling(ng.placeholder(shape), "sum", **case).shape):
        check(shape, *data.draw(st.sampled_from(KINDS)), case, data.draw(st.sampled_from(["float32", "float64"])))


CASES: dict[str, tuple[tuple[int, ...], Case]] = {
    "halves": ((2, 4, 6), {"sizes": (2, 2), "strides": (2, 2)}),
    "halves, and a rest": ((2, 5, 7), {"sizes": (2, 2), "strides": (2, 2)}),
    "everything": ((2, 9, 9), {"sizes": (9, 9)}),
    "longer than a block": ((1, 1, 140), {"sizes": (1, 3), "before": (0, 1), "after": (0, 1)}),
}


@pytest.mark.parametrize("name", CASES)
def test_an_average_has_one_launch_back(name: str) -> None:
    shape, case = CASES[name]
    full = {"axes": (1, 2), "strides": (1, 1), "before": (0, 0), "after": (0, 0), "dilations": (1, 1), **case}
    check(shape, "avg", False, full)


@pytest.mark.parametrize(
    "slide",
    [(17, 17, 0, 1), (2, 20, 1, 1), (3, 1, 0, 200)],
    ids=["many elements", "long strides", "far apart"],
)
def test_text_and_workspace_stay_small(slide: tuple[int, int, int, int]) -> None:
    """What would make a kernel long, or put much aside, is left to the one for windows of any kind."""
    size, stride, before, dilation = slide
    count = 2 if size == 17 else 1
    values = (size, stride, before, 0, dilation)
    case = {"axes": tuple(range(count)), **{name: (v,) * count for name, v in zip(NAMES, values, strict=True)}}
    shape = (20, 20) if count == 2 else (420,)
    term, inputs = slope(shape, "sum", False, case)
    d = whole_numbers(1, tuple(map(int, inputs[1].shape)), "float32")  # type: ignore[arg-type]
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(term, *inputs)
        found = computation(np.zeros(shape, "float32"), d)
        kernels = [name.partition("_")[0] for name in computation.stats()["kernels"]]
    assert "spread" not in kernels and "fold" in kernels
    np.testing.assert_allclose(found, meant(shape, d.astype("float64"), kind="sum", counted=False, **case))


def test_windows_of_unknown_sizes_have_one_kernel_for_all() -> None:
    x, q = ng.placeholder((2, None), "float32"), ng.placeholder((None,), "float32")
    slide = {"axes": (1,), "strides": (1,), "dilations": (1,)}
    y = semi.sum(semi.windows(x, sizes=(q.shape[0],), **slide), axes=(2,))
    slopes = ng.deriv(semi.sum(y, axes=(0, 1)), x)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(slopes, x, q)
        for size in (3, 2):
            found = computation(np.zeros((2, 5), "float32"), np.zeros(size, "float32"))
            assert found[0].tolist() == np.convolve(np.ones(6 - size), np.ones(size)).tolist()
        assert all(not name.startswith("spread") for name in computation.stats()["kernels"])


@pytest.mark.parametrize(("kind", "counted"), KINDS)
def test_long_lines_are_shared_out(kind: str, counted: bool) -> None:
    """Chunks begin in the middle of lines and of images."""
    case = {"axes": (1, 2), "sizes": (3, 3), "strides": (2, 1), "before": (1, 1), "after": (1, 0), "dilations": (1, 1)}
    shape = (40, 20, 300)
    term, inputs = slope(shape, kind, counted, case)
    d = whole_numbers(1, tuple(map(int, inputs[1].shape)), "float32")  # type: ignore[arg-type]
    found = []
    for target, options in (("cpu", {"threads": 2}), ("reference", {})):
        with ng.make_transformer(target, **options) as transformer:
            found.append(transformer.computation(term, *inputs)(np.zeros(shape, "float32"), d))
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-5)


def test_what_has_no_kernel_is_refused() -> None:
    d, slide = ng.placeholder((2, 3, 4)), {"strides": (1, 1), "before": (0, 0), "dilations": (1, 1), "counted": False}
    given = {"lengths": (4, 5), "sizes": (2, 2), "kind": "sum", **slide}
    with pytest.raises(AttributeValueError, match="one or two beside each other"):
        make_op("fused.spread", d, axes=(0, 2), **given)
    with pytest.raises(AttributeValueError, match="use sum or avg"):
        make_op("fused.spread", d, axes=(1, 2), **{**given, "kind": "max"})
    with pytest.raises(DTypeError, match="float32 or float64"):
        make_op("fused.spread", ng.placeholder((2, 3, 4), "int32"), axes=(1, 2), **given)
