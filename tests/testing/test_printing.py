# SPDX-License-Identifier: Apache-2.0
"""A printed term is a program that builds the same term, and the same arrays to the last bit."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from itertools import groupby
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ngraph_rewrite.errors import ArgumentError, UnknownOpError
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.ops.simple_marks import N, R
from ngraph_rewrite.rewriting.instances import instances
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing import as_python, term
from ngraph_rewrite.testing.sources import Source
from ngraph_rewrite.testing.strategies import draw_example
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import DTYPES
from ngraph_rewrite.types.lengths import Length, natural
from ngraph_rewrite.types.tensor import TensorType


def ran(text: str) -> dict[str, Any]:
    """What a program binds."""
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102
    return names


def assert_same_structure(one: Op, other: Op) -> None:
    """Both are built alike; identities stand for one another, each for one."""
    pairs: dict[Uid, Uid] = {}

    def alike(a: Any, b: Any) -> bool:
        if isinstance(a, Uid):
            return isinstance(b, Uid) and pairs.setdefault(a, b) is b and pairs.setdefault(b, a) is a
        if type(a) is tuple:
            return type(b) is tuple and len(a) == len(b) and all(map(alike, a, b))
        return type(a) is type(b) and a == b

    left, right = topological([one]), topological([other])
    places = [{t: i for i, t in enumerate(order)} for order in (left, right)]
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert a.definition is b.definition and a.type == b.type and a.name == b.name
        assert [places[0][x] for x in a.args] == [places[1][x] for x in b.args]
        assert all(map(alike, a.attrs, b.attrs)), (a.attrs, b.attrs)


# Of alternatives, which are printed alike, the first that is written.
EQUATIONS = {rule.place: rule for rule in reversed(library().rules)}
FILES = [list(rules) for _, rules in groupby(reversed(EQUATIONS.values()), lambda rule: rule.file)]


@pytest.mark.parametrize("rules", FILES, ids=lambda rules: rules[0].file)
def test_instances_of_every_equation_are_printed_and_built_again(rules: list[Rule]) -> None:
    for number, rule in enumerate(rules):
        for found in instances(rule, 1):  # lengths are unknown
            assert_same_structure(found, ran(as_python(found))["left"])
        example = draw_example(rule, Random(rule.name)) if number % 6 == 0 else None
        if example is not None:
            found, values = example.instance.term, example.choices[1]
            names = ran(as_python(found, values, "again"))
            assert_same_structure(found, names["again"])
            assert [v.tobytes() for v in values.values()] == [v.tobytes() for v in names["values"].values()]
            assert [v.shape for v in values.values()] == [v.shape for v in names["values"].values()]


# -- arrays ------------------------------------------------------------------------------------------------


def again(value: Any) -> Any:
    """A value through its expression."""
    source = Source({})
    text = source.attribute(value)
    return ran("\n".join(["import numpy as np", *source.imports(), f"value = {text}"]))["value"]


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(DTYPES), st.sampled_from([(), (1,), (3,), (2, 0), (2, 3), (1, 2, 2)]), st.binary(min_size=48))
def test_arrays_of_any_bits_are_kept(dtype: np.dtype[Any], shape: tuple[int, ...], data: bytes) -> None:
    count = int(np.prod(shape))
    given_array = np.frombuffer((data * 2)[: count * dtype.itemsize], np.uint8).copy()
    array = given_array.view(dtype).reshape(shape) if dtype.kind != "b" else given_array.reshape(shape) > 99
    found = again(array)
    assert (found.dtype, found.shape, found.tobytes()) == (dtype, shape, array.tobytes())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_special_values_are_readable(dtype: str) -> None:
    limits = np.finfo(dtype)
    array = np.array([np.nan, -np.nan, np.inf, -0.0, limits.smallest_subnormal, limits.max, 0.1], dtype)
    text = Source({}).array(array)
    assert text.startswith("np.array([nan, -nan, inf, -0.0, ") and text.endswith(f', 0.1], "{dtype}")')
    assert again(array).tobytes() == array.tobytes()


def test_a_nan_with_a_payload_is_kept() -> None:
    array = np.array([0x7FC00001, 0x3F800000], np.uint32).view(np.float32)
    assert again(array).tobytes() == array.tobytes()


def test_an_array_of_one_number_is_short() -> None:
    assert Source({}).array(np.full((4, 5), -0.0, np.float32)) == 'np.full((4, 5), -0.0, "float32")'


def test_an_array_of_which_few_elements_differ_is_short() -> None:
    array = np.full((70, 1000), -0.0, np.float16)
    array[0, 0], array[0, 1], array[3, 7], array[-1, -1] = np.nan, 2.5, -np.inf, 0.0
    assert len(Source({}).array(array)) < 150
    assert again(array).tobytes() == array.tobytes() and again(array).shape == array.shape


# -- attributes --------------------------------------------------------------------------------------------

n, m = Length.symbol("n"), Length.symbol("m")


@pytest.mark.parametrize(
    "value",
    [
        n, n * m * 2 - 3, (n + 1) // 2, (n * 3 + m) // 4 * n, natural(n - m) * 2 + 1,
        Axis("H", 3), Axis("N", None), Axis("N", 2, ()), Axis("K", 2, ("time", "channel")), Axis(None, 3, "sample"),
        Axes(), Axes([2, 3]), Axes([Axis(None, n), Axis(None, 2, "recurrent")]),
        Axes([Axis.flattened([Axis("H", 2), Axis.flattened([Axis("W", n), Axis("C", 1)])]), Axis("N", 4)]),
        Literal(-0.0), Literal(np.nan, "float16"), Literal([[1.5, np.inf], [0.1, -0.0]], "float32"), Literal(True),
        Literal(np.zeros((0, 2))), Literal(np.array([1, 2], "uint8")), Literal(2**63, "uint64"),
        np.dtype("uint16"), np.float32(0.1), 0.1, -0.0, float("inf"), None, True, 3, "a'b\"", slice(1, None, -2), ...,
        (1, (2.5, None), ()), ((),), (Axis("H", 2),),
    ],
    ids=repr,
)  # fmt: skip
def test_attributes_are_kept(value: Any) -> None:
    found = again(value)
    assert type(found) is type(value) and found == value and repr(found) == repr(value)


class Mode(enum.Enum):
    """An attribute of a package of one's own."""

    SAME = "same"


class Window(NamedTuple):
    """Another, with parts."""

    size: tuple[int, ...]
    mode: Mode


@dataclass(frozen=True)
class Facts:
    """Another, that is a frozen dataclass."""

    window: Window
    scale: float


@op("printed.odd")
def _odd(x: TensorType, *, facts: Facts, like: TensorType | None, op: str) -> TensorType:
    """An op of a family that nobody knows, with an attribute that is called as the first argument of `term` is."""
    return x


def test_ops_of_other_packages_are_printed_with_their_attributes() -> None:
    x = term("core.placeholder", axes=[2], dtype="int8").named("x")
    odd = term("printed.odd", x, facts=Facts(Window((1, 2), Mode.SAME), float("nan")), like=None, op="n")
    found = ran(as_python(odd))["left"]
    assert repr(found.attribute("facts")) == repr(odd.attribute("facts")) and found.attribute("op") == "n"


def test_an_object_with_a_name_of_its_own_is_imported() -> None:
    assert again((N, 0, R)) == (N, 0, R)


# -- programs ----------------------------------------------------------------------------------------------


def test_what_is_used_twice_is_built_once() -> None:
    x = term("core.placeholder", axes=[2], dtype="float32").named("x")
    e = term("semi.exp", x)
    text = as_python(term("semi.add", e, term("semi.multiply", e, e)))
    assert text.count("semi.exp") == 1 and text.count("core.placeholder") == 1
    found = ran(text)["left"]
    assert found.args[0] is found.args[1].args[0]


@pytest.mark.parametrize("name", ["np", "term", "t1", "left", "values", "1x", "two words", "class", "print", "N", ""])
def test_any_name_of_a_leaf_will_do(name: str) -> None:
    leaves = [term("core.placeholder", axes=[2], dtype="float32").named(name) for _ in range(2)]
    root = term("semi.exp", term("semi.add", *leaves))
    names = ran(as_python(root, {leaf: np.zeros(2, "float32") for leaf in leaves}))
    assert_same_structure(root, names["left"])
    assert set(names["values"]) == set(names["left"].args[0].args)


def test_draws_have_their_values_by_identity() -> None:
    uid = Uid()
    draw = term("axes.uniform", uid=uid, axes=Axes([Axis("H", 2)]), low=Literal(0.0), high=Literal(1.0),
                dtype=np.dtype("float32"))  # fmt: skip
    values = {uid: np.array([0.25, 0.5], "float32")}
    names = ran(as_python(term("axes.exp", draw), values))
    (key,) = names["values"]
    assert names["left"].args[0].attribute("uid") is key and names["values"][key].tolist() == [0.25, 0.5]


def test_deep_terms_are_printed() -> None:
    deep = term("core.placeholder", axes=[], dtype="float32").named("x")
    for _ in range(3000):
        deep = term("semi.negative", deep)
    assert len(topological([ran(as_python(deep))["left"]])) == 3001


def test_a_term_is_typed_and_nothing_is_filled_in() -> None:
    x = term("core.placeholder", axes=[2, 3], dtype="float32")
    assert term("semi.sum", x, axes=(-1,)).attribute("axes") == (1,)
    with pytest.raises(ArgumentError, match="attribute axes is missing or unknown"):
        term("semi.sum", x)
    with pytest.raises(ArgumentError, match="attribute keepdims is missing or unknown"):
        term("semi.sum", x, axes=(0,), keepdims=True)
    with pytest.raises(ArgumentError, match="does not take 1 arguments"):
        term("semi.add", x)
    with pytest.raises(UnknownOpError, match="no op is called semi.ad"):
        term("semi.ad", x, x)
