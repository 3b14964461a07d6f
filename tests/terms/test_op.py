# SPDX-License-Identifier: Apache-2.0
"""A term: identity, structure, the user's line, operators, walking and printing at any size."""

from __future__ import annotations

import linecache
import math
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.errors import ArgumentError, DTypeError, FamilyError, IncompatibleAxesError, NGraphRewriteError
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import NO_METADATA
from ngraph_rewrite.terms.op import Op, build
from ngraph_rewrite.terms.operands import combine
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes

H, W = ng.make_axis(2, name="H"), ng.make_axis(3, name="W")
DEEP = 200_000


@pytest.fixture
def x() -> Op:
    return ng.placeholder([H], name="x")


@pytest.fixture
def plain() -> Op:
    return ng.placeholder(ng.anonymous([2]), name="plain")


# -- identity and structure ---------------------------------------------------------------------------


def test_equality_is_identity(x: Op) -> None:
    one, two = ng.tanh(x), ng.tanh(x)
    assert one == one and one != two and len({one, two, one}) == 2
    assert one.same_as(two) and two.same_as(one)


def test_structure_is_ops_arguments_and_attributes(x: Op) -> None:
    y = ng.placeholder([H])
    assert (x + 1.0).same_as(x + 1.0)
    for other in (x + 2.0, 1.0 + x, x - 1.0, y + 1.0, ng.cast(x, "float64") + 1.0, x):
        assert not (x + 1.0).same_as(other)
    assert not ng.sum(x, reduction_axes=[H]).same_as(ng.sum(x, reduction_axes=[]))
    assert not ng.constant(0.0).same_as(ng.constant(-0.0))
    assert ng.constant(float("nan")).same_as(ng.constant(float("nan")))
    assert not ng.constant(1.0, [H]).same_as(ng.constant(1.0))


def test_comparing_shared_terms_is_linear(x: Op) -> None:
    a = b = x
    for _ in range(60):
        a, b = a + a, b + b
    assert a.same_as(b)
    assert not a.same_as(b + b)


def test_an_argument_that_is_no_term_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"axes.exp: the argument 3 is not a term\n  at .*test_op\.py"):
        build(lookup("axes.exp"), (3,))  # type: ignore[arg-type]


def test_structure_is_that_of_terms(x: Op) -> None:
    with pytest.raises(ArgumentError, match=r"3 is not a term\n  at .*test_op\.py"):
        x.same_as(3)  # type: ignore[arg-type]


def test_a_term_has_no_truth_value_and_no_elements(x: Op) -> None:
    with pytest.raises(ArgumentError, match=r"axes.less\(x, \.\.\.\) is a term and has no truth value"):
        bool(x < 1)
    with pytest.raises(ArgumentError, match="x cannot be iterated over"):
        list(x)


def deleted(x: Op) -> None:
    del x[0]


# What Python asks of numbers and lists, and what a term says to write instead.
UNANSWERED: list[tuple[Callable[[Op], object], str]] = [
    (lambda x: 1.5 in x, "no value to look for 1.5 in(?s:.*)any.*equal"),
    (lambda x: f"{x:.2f}", r"no value to write as '.2f'(?s:.*)compute it first"),
    (lambda x: [1, 2][x], "no value to count with(?s:.*)take"),  # type: ignore[call-overload]
    (range, "no value to count with"),  # type: ignore[list-item]
    (math.trunc, "no value to make an integer of(?s:.*)ng.numpy.trunc"),  # type: ignore[list-item]
    (bytes, "no value to take the memory of"),  # type: ignore[list-item]
    (lambda x: pow(x, 2, 3), r"takes no third number(?s:.*)x \*\* y % z"),
    (deleted, "no part of it can be deleted(?s:.*)ng.numpy.delete"),
]


@pytest.mark.parametrize(("asked", "says"), UNANSWERED, ids=range(len(UNANSWERED)))
def test_what_no_term_can_answer_says_what_to_write(x: Op, asked: Callable[[Op], object], says: str) -> None:
    with pytest.raises(ArgumentError, match=says) as found:
        asked(x)
    assert __file__ in str(found.value)


def test_a_term_is_rounded_and_written_as_one(x: Op) -> None:
    assert f"{x}" == "x" and round(x).same_as(ng.round(x))
    y = ng.placeholder((3,), "float64")
    assert round(y, 2).same_as(ng.numpy.round(y, 2))


@pytest.mark.parametrize("ask", [bool, len, list, np.asarray])
def test_who_asks_a_term_for_its_value_is_told_the_line_that_asks(x: Op, ask: Callable[[Op], object]) -> None:
    """Not the one that built the term, which may be far away."""
    with pytest.raises(ArgumentError, match=rf"at .*test_op\.py:{(x + 1).info.lineno + 1}\n"):
        ask(x)


# -- what a handle knows ------------------------------------------------------------------------------


def test_a_handle_knows_the_line_that_built_it(x: Op) -> None:
    for term in (ng.tanh(x) + 1.0, ng.mean(x), x[0], 2.0 * x, ng.deriv(ng.sum(x, out_axes=[]), x), ng.uniform([H])):
        assert term.filename == __file__
        assert linecache.getline(term.filename, term.lineno).strip().startswith("for term in")
        assert term.file_info == f'File "{__file__}", line {term.lineno}'


def test_a_mistake_is_reported_at_that_line(x: Op) -> None:
    with pytest.raises(IncompatibleAxesError) as raised:
        x + ng.placeholder([ng.make_axis(5, name="H")])
    line = raised.traceback[0].lineno + 1
    assert raised.value.where == f"{__file__}:{line}"
    assert "axes.add(float32[H:2], float32[H:5])" in str(raised.value)


def test_a_program_whose_path_begins_like_ours_is_the_users(x: Op) -> None:
    def program() -> Op:
        return -x

    path = str(Path(ng.__file__).parent) + "_examples/model.py"
    program.__code__ = program.__code__.replace(co_filename=path)
    assert program().filename == path


def test_metadata_nests_and_the_inner_value_wins(x: Op) -> None:
    with ng.metadata(a=1, b=1):
        with ng.metadata(b=2, c=2):
            inner = ng.tanh(x)
        outer = ng.tanh(x)
    assert inner.metadata == {"a": 1, "b": 2, "c": 2}
    assert outer.metadata == {"a": 1, "b": 1}
    assert ng.tanh(x).metadata == NO_METADATA == {}


def test_metadata_holds_in_a_block_that_raises_and_ends_with_it(x: Op) -> None:
    with pytest.raises(KeyError), ng.metadata(a=1):
        kept = ng.tanh(x)
        raise KeyError
    assert kept.metadata == {"a": 1} and not ng.tanh(x).metadata


@pytest.mark.parametrize("name", [3, b"w", ["w"]])
def test_a_name_is_a_string(name: Any) -> None:
    with pytest.raises(ng.ArgumentError, match="the name is .*\n.*\n  give a string, or None"):
        ng.placeholder([H], name=name)
    with pytest.raises(ng.ArgumentError, match="the name is "):
        ng.placeholder([H]).named(name)


def test_another_name_is_another_handle_of_the_same_term() -> None:
    w = ng.variable([H], name="w", initial_value=1.0)
    other = w.named("v")
    assert (w.name, other.name) == ("w", "v")
    assert other.same_as(w) and other.attrs == w.attrs and other.lineno == w.lineno


def test_variables_placeholders_and_users(x: Op) -> None:
    w, v = ng.variable([H], name="w"), ng.variable([], name="v")
    kept = ng.persistent_tensor([H])
    root = ng.tanh(x * w + v) * w * kept
    assert root.variables() == [w, v]
    assert root.placeholders() == [x]
    assert [t.definition.short for t in ng.users(w, [root])] == ["multiply", "multiply"]
    assert ng.users(root, [root]) == []


def test_other_dependencies_are_those_of_control(x: Op) -> None:
    w = ng.variable([H])
    effect = ng.assign(w, x)
    assert ng.after(x, effect).other_deps == (effect,)
    assert ng.sequential([effect, w]).other_deps == (effect,)
    assert ng.tanh(x).other_deps == ()


# -- operators ----------------------------------------------------------------------------------------

BINARY = {
    operator.add: "add", operator.sub: "subtract", operator.mul: "multiply", operator.truediv: "divide",
    operator.floordiv: "floordivide", operator.mod: "mod", operator.pow: "power",
}  # fmt: skip
COMPARISONS = {
    operator.lt: ("less", "greater"), operator.le: ("less_equal", "greater_equal"),
    operator.gt: ("greater", "less"), operator.ge: ("greater_equal", "less_equal"),
}  # fmt: skip


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_an_operator_is_an_op_of_its_operands_family(function: Callable[..., Op], x: Op, plain: Op) -> None:
    assert function(x, 2).definition.name == function(2, x).definition.name == f"axes.{BINARY[function]}"
    assert function(plain, 2).definition.name == function(2, plain).definition.name == f"numpy.{BINARY[function]}"
    assert function(2, x).args[1] is x and function(x, 2).args[0] is x
    scalar = ng.placeholder([])
    assert function(scalar, scalar).definition.family == "axes"
    assert function(scalar, x).definition.family == "axes"


@pytest.mark.parametrize("function", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons_are_ops(function: Callable[..., Op], x: Op) -> None:
    straight, turned = COMPARISONS[function]
    assert function(x, 2).definition.short == straight
    assert function(2, x).definition.short == turned
    assert function(x, x).dtype == bool


def test_unary_operators_and_dot(x: Op) -> None:
    assert [t.definition.short for t in (-x, abs(x), ~(x < 1), x @ x)] == ["negative", "absolute", "logical_not", "dot"]
    assert +x is x


def test_divmod_is_a_quotient_and_what_is_left(x: Op) -> None:
    for found, wanted in ((divmod(x, 2), (x // 2, x % 2)), (divmod(7, x), (7 // x, 7 % x))):
        assert all(one.same_as(other) for one, other in zip(found, wanted, strict=True))


def test_a_python_number_is_weak_and_a_numpy_number_is_not(x: Op, plain: Op) -> None:
    half = ng.cast(x, "float16")
    assert (half + 1).dtype == (half + 0.5).dtype == (True + half).dtype == np.float16
    assert (half + np.float64(1)).dtype == (np.float64(1) + half).dtype == np.float64
    assert (ng.cast(x, "int8") + 1).dtype == np.int8
    assert (plain * 2).args[1].axes == Axes() and (plain * 2).dtype == plain.dtype
    with pytest.raises(DTypeError, match="300 cannot be a constant of int8"):
        ng.cast(x, "int8") + 300


def beside_in_where(x: Op, y: Any) -> Op:
    return ng.numpy.where([False, False], x, y)


def beside_in_concat(x: Op, y: Any) -> Op:
    return ng.numpy.concat([x, y])[2:]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("int32", "float64")],
)
@pytest.mark.parametrize(
    "add",
    [operator.add, ng.add, ng.numpy.add, ng.simple.add, beside_in_where, beside_in_concat],
    ids=["+", "ng", "numpy", "simple", "where", "concat"],
)
def test_floats_in_lists_are_float32_and_rounded_to_no_less_than_the_result(
    add: Callable[..., Op], dtype: str, expected: str
) -> None:
    zeros = ng.constant(np.zeros(2, dtype))
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(add(zeros, [0.1, 0.2]))()
    assert found.dtype == expected
    np.testing.assert_array_equal(found, np.array([0.1, 0.2], expected))
    assert ng.exp([0.1]).dtype == ng.numpy.exp([0.1]).dtype == "float32"


@pytest.mark.parametrize("function", [*BINARY, *COMPARISONS, operator.matmul], ids=lambda f: f.__name__)
@pytest.mark.parametrize("array", [np.ones(2), np.ones((2, 2)), [1, 2], [1, [2]]], ids=repr)
def test_an_array_has_no_names_on_either_side(function: Callable[..., Op], array: Any, x: Op) -> None:
    for operands in ((array, x), (x, array)):
        with pytest.raises(FamilyError, match="has no axes to match by\n.*\n  write ng.constant") as raised:
            function(*operands)
        assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize("thing", [None, "2", object], ids=repr)
def test_only_numbers_and_terms_are_operands(thing: Any, x: Op) -> None:
    with pytest.raises(ArgumentError, match="is neither a term nor a number") as raised:
        x + thing
    assert raised.value.where is not None and raised.value.where.startswith(__file__)


def test_a_complex_number_is_told_how_to_write_one(x: Op) -> None:
    with pytest.raises(DTypeError, match=r"2j is complex, and terms are real\n.*\n  make a complex array") as raised:
        x + 2j
    assert isinstance(raised.value, TypeError)
    assert raised.value.where is not None and raised.value.where.startswith(__file__)


def test_an_array_of_one_number_is_a_number(x: Op) -> None:
    assert (x + np.array(2.0)).args[1].attribute("value").scalar == 2.0


def test_named_and_anonymous_axes_mix_index_by_index_only(x: Op, plain: Op) -> None:
    for mix in (lambda: x @ plain, lambda: plain @ x):
        with pytest.raises(FamilyError, match=r"\(axes\).*\(numpy\)|\(numpy\).*\(axes\)"):
            mix()
    with pytest.raises(FamilyError, match="the numpy family has no op safelog"):
        combine("safelog", plain)


def test_an_op_takes_its_arguments_and_attributes_and_no_others(x: Op) -> None:
    definition = lookup("axes.sum")
    with pytest.raises(ArgumentError, match="axes.sum takes 1 arguments, not 2"):
        build(definition, (x, x), axes=Axes())
    with pytest.raises(ArgumentError, match="axes.sum has no attribute axis and needs the attribute axes") as raised:
        build(definition, (x,), axis=0)
    assert isinstance(raised.value, NGraphRewriteError)
    with pytest.raises(ArgumentError, match="axes.stack takes at least 1 arguments, not 0"):
        build(lookup("axes.stack"), (), axis=W, pos=0)


# -- any size -----------------------------------------------------------------------------------------


def test_a_deep_chain_is_walked_compared_printed_and_freed() -> None:
    def chain() -> Op:
        term = start
        negative = lookup("axes.negative")
        for _ in range(DEEP):
            term = Op(negative, (term,), (), start.type)
        return term

    start = ng.variable([], name="w")
    one, two = chain(), chain()
    order = topological([one])
    assert len(order) == DEEP + 1 and order[0] is start and order[-1] is one
    assert one.same_as(two) and one.variables() == [start]
    assert repr(one) == "axes.negative(axes.negative(axes.negative(...)))"
    assert ng.users(start, [one]) == [order[1]]


def test_topological_order_has_arguments_first_and_each_term_once(x: Op) -> None:
    shared = ng.tanh(x)
    roots = [shared + x, shared * shared]
    order = topological(roots)
    assert len(order) == len(set(order)) == 4
    place = {term: i for i, term in enumerate(order)}
    assert all(place[a] < place[t] for t in order for a in t.args)
    assert topological([]) == []


def test_a_shared_term_prints_in_bounded_space(x: Op) -> None:
    term = x
    for _ in range(60):
        term = term + term
    assert len(repr(term)) < 300 and len(describe(term, 6)) < 2000


def test_a_wide_term_prints_in_bounded_space(x: Op) -> None:
    term = x
    for _ in range(3):
        term = ng.concat_along_axis([term] * 100, "H")
    assert len(repr(term)) < 10_000
    assert "92 more" in repr(ng.concat_along_axis([x] * 100, "H"))


def test_a_term_prints_as_a_call(x: Op) -> None:
    assert repr(ng.tanh(x) * 2.0) == "axes.multiply(axes.tanh(x), 2.0)"
    assert repr(ng.sum(x, reduction_axes=[H])) == "axes.sum(x, axes=Axes(H:2))"
    assert repr(ng.placeholder([H])) == "placeholder"
    assert describe(ng.tanh(ng.tanh(x)), 1) == "axes.tanh(...)"


def test_bool_terms_combine_with_and_or_xor() -> None:
    a = ng.placeholder([], "bool")
    shown = [repr(t) for t in (a & True, True & a, a | a, False | a, a ^ a, True ^ a)]
    assert [s.split("(")[0].removeprefix("axes.") for s in shown] == [
        "logical_and", "logical_and", "logical_or", "logical_or", "logical_xor", "logical_xor"
    ]  # fmt: skip
