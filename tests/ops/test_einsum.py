# SPDX-License-Identifier: Apache-2.0
"""An einsum is what its subscripts say, as NumPy reads them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from on_targets import agrees, apart, check_gradient, meaning, numbers

import ngraph_rewrite as ng
from ngraph_rewrite import errors
from ngraph_rewrite.ops.subscripts import canonical

nx = ng.numpy
MANY = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 2, "b": 3}


@MANY
@given(data=st.data(), seed=st.integers(0, 1000))
def test_an_einsum_is_numpys(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    letters = st.text("ijklb", max_size=3)
    inputs = data.draw(st.lists(letters, min_size=1, max_size=4))
    every = "".join(dict.fromkeys("".join(inputs)))
    result = data.draw(st.permutations(every)) if every else []
    kept = "".join(result[: data.draw(st.integers(0, len(result)))])
    more = data.draw(st.integers(0, 2))
    open_ = [data.draw(st.integers(0, more)) for _ in inputs]
    text = ",".join(("..." if n else "") + s for n, s in zip(open_, inputs, strict=True))
    text += data.draw(st.sampled_from(["", f"->{'...' if any(open_) else ''}{kept}"]))
    arrays = []
    for n, s in zip(open_, inputs, strict=True):
        stretch = [data.draw(st.sampled_from([1, (5, 6)[k - n]])) for k in range(2, 2 + n)] if n else []
        arrays.append(rng.integers(-3, 4, (*stretch, *(LENGTHS[c] for c in s))).astype(float))
    arrays = [a if data.draw(st.booleans()) else a.astype(np.int16) for a in arrays]
    wanted = np.einsum(text, *arrays)
    np.testing.assert_array_equal(meaning(lambda *t: nx.einsum(text, *t), *arrays), wanted, strict=True)


CASES = """
    ij,jk->ik  ij,kj->ki  ij,jk  bij,bjk->bik  bij,kjb->ikb  ...ij,...jk->...ik  ii->i  ii  iij->j  i,j->ji  i,i
    ij,j->i  ijk->kji  ij->  ijj,jk,kl,l->i  b,bi,bij->bij  bi,bi->b  bi,bj->ij  ij,ij,ij->  i,ij,j  ijij->ji
    ,ij->i  ij,->
""".split()


@pytest.mark.parametrize(("dtype", "cases"), [("float32", CASES), ("int8", CASES[::2]), ("bool", CASES[1::2])])
def test_einsums_on_both_targets(dtype: str, cases: list[str]) -> None:
    """Each of floats, and of whole numbers or of truths."""
    sides = [s.split("->")[0].split(",") for s in cases]
    shapes = [[(*([2] if "." in p else []), *(LENGTHS[c] for c in p.strip("."))) for p in side] for side in sides]
    arrays = [numbers(dtype, s, k) for k, several in enumerate(shapes) for s in several]

    def each(xp: Any, xs: Any) -> tuple[Any, ...]:
        rest = iter(xs)
        return tuple(xp.einsum(s, *(next(rest) for _ in side)) for s, side in zip(cases, sides, strict=True))

    agrees(lambda *t: each(nx, t), lambda *a: each(np, a), *arrays)


def test_an_axis_of_length_one_is_repeated() -> None:
    x, y = numbers("float64", (1, 3), 0), numbers("float64", (2, 1), 1)
    for text in ("ij,ij->ij", "ij,ij->", "ij,ij,ij->j", "ij,ik->jk"):
        arrays = [x, y, x][: text.count(",") + 1]
        np.testing.assert_array_equal(
            meaning(lambda *t, text=text: nx.einsum(text, *t), *arrays), np.einsum(text, *arrays)
        )


def test_axes_may_be_numbered() -> None:
    x, y = numbers("int64", (2, 3), 0), numbers("int64", (3, 4), 1)
    for extra in ([], [[0, 2]], [[2, 0]]):
        found = meaning(lambda t, u, extra=extra: nx.einsum(t, [0, 1], u, [1, 2], *extra), x, y)
        np.testing.assert_array_equal(found, np.einsum(x, [0, 1], y, [1, 2], *extra))


def test_the_cheapest_contraction_comes_first() -> None:
    x, y, z = (ng.placeholder(s) for s in ((50, 60), (60, 70), (70,)))
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(nx.einsum("ij,jk,k->i", x, y, z), x, y, z)
        computation(np.ones((50, 60)), np.ones((60, 70)), np.ones(70))
        assert computation.stats()["arena_bytes"] < 50 * 70 * 4  # no product of the two matrices


@pytest.mark.parametrize(("text", "ranks", "full"), [
    ("ij,jk", (2, 2), "ij,jk->ik"), ("ba", (2,), "ba->ab"), ("ii", (2,), "ii->"), ("...", (2,), "YZ->YZ"),
    ("...i,...i", (3, 2), "YZi,Zi->YZ"), ("Ab,bA", (2, 2), "Ab,bA->"), (" i , j -> j i ", (1, 1), "i,j->ji"),
])  # fmt: skip
def test_subscripts_written_out(text: str, ranks: tuple[int, ...], full: str) -> None:
    assert canonical(text, ranks) == full


@pytest.mark.parametrize(
    "text", ["ij,jk,k->i", "iij->j", "bij,bjk->bik", "bi,bi->b", "i,j->ij", "ii,ij->", "...i,...i"]
)
def test_the_gradient_of_an_einsum(text: str) -> None:
    inputs = text.replace("...", "b").split("->")[0].split(",")
    check_gradient(
        lambda *t: nx.einsum(text, *t), *(apart(*(LENGTHS[c] for c in s), seed=k) for k, s in enumerate(inputs))
    )


X, Y = ng.placeholder((2, 3)), ng.placeholder((4, 5))
WRONG = [
    (lambda: nx.einsum("ij,jk->ik", X, Y), errors.AxesError, "'j' in 'ij,jk->ik' have the lengths 3 and 4"),
    (lambda: nx.einsum("ii", X), errors.AxesError, "the axes 'i' of one operand"),
    (lambda: nx.einsum("ij,jk", X), errors.AttributeValueError, "of 2 operands, and there are 1"),
    (lambda: nx.einsum("ijk", X), errors.AttributeValueError, "is of 3 axes, and the operand has 2"),
    (lambda: nx.einsum("i", X), errors.AttributeValueError, "is of 1 axes, and the operand has 2"),
    (lambda: nx.einsum("ij->ik", X), errors.AttributeValueError, "names 'k', which no operand has"),
    (lambda: nx.einsum("ij->ii", X), errors.AttributeValueError, "names 'i' twice"),
    (lambda: nx.einsum("i?", X), errors.AttributeValueError, r"contain '\?'"),
    (lambda: nx.einsum("..ij", X), errors.AttributeValueError, "three dots"),
    (lambda: nx.einsum("i...->i", X), errors.AttributeValueError, "leaves out the axes of the ellipsis"),
    (lambda: nx.einsum("->"), errors.ArgumentError, "no operands"),
    (lambda: nx.einsum(X, "ij"), errors.ArgumentError, "is no list of axes"),
]


@pytest.mark.parametrize(("call", "error", "says"), WRONG)
def test_a_wrong_call_is_refused(call: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
