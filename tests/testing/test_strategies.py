# SPDX-License-Identifier: Apache-2.0
"""What strategies draw is well-typed, reaches the edges, shrinks, prints as Python, and is always the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from processes import printed_in_any

from ngraph_rewrite.errors import ArgumentError, LengthError
from ngraph_rewrite.rewriting.interpret import Application
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import STANDARD
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.compare import differ
from ngraph_rewrite.testing.evaluate import Undefined, evaluate
from ngraph_rewrite.testing.strategies import (
    DISTINCT,
    PLAIN,
    WILD,
    Example,
    arrays,
    axes,
    examples_of,
    instances_of,
    leaf_values,
    ops_of,
    programs,
    seeded_instances,
    tensor_types,
    terms,
)
from ngraph_rewrite.types.axes import Axes
from ngraph_rewrite.types.dtypes import DTYPES, FLOAT32, is_float
from ngraph_rewrite.types.tensor import TensorType

# Nobody asks Hypothesis why it found what it did: it would trace every line of it.
PHASES = (Phase.generate, Phase.shrink)
SAME = settings(
    database=None,
    derandomize=True,
    deadline=None,
    max_examples=300,
    suppress_health_check=list(HealthCheck),
    phases=PHASES,
)
FEW = settings(SAME, max_examples=25)


def rule_of(equation: str, header: str = "simplify semi") -> Rule:
    (rule,) = parse_rules(f"{header}\nrule r: {equation}\n", "my.rules", "my")
    return rule


# -- types ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*STANDARD, "core"])
def test_a_type_is_one_of_its_family(family: str) -> None:
    @FEW
    @given(tensor_types(family, unknown=False))
    def check(type_: TensorType) -> None:
        assert type_.rank <= 4 and all(n in range(4) or type_.axes[i].components for i, n in enumerate(type_.shape))
        if family == "axes":
            assert type_.axes.named
        if family in ("numpy", "semi"):
            assert not any(a.name or a.roles for a in type_.axes)
        if family == "simple":
            assert not any(a.name for a in type_.axes) and len(type_.axes.batch_axes()) <= 1

    check()


REACHED: list[tuple[str, Callable[[Axes], Any]]] = [
    ("an unknown length", lambda a: any(not isinstance(n, int) for n in a.lengths)),
    ("a length of zero", lambda a: 0 in a.lengths),
    ("four axes", lambda a: len(a) == 4),
    ("the sample axis", lambda a: a.batch_axis() is not None),
    ("the recurrent axis", lambda a: a.recurrent_axis() is not None),
    ("a channel axis", lambda a: a.channel_axis() is not None),
    ("a role of one's own", lambda a: any("mine" in axis.roles for axis in a)),
    ("a reserved name without its role", lambda a: any(x.name == "N" and not x.is_sample for x in a)),
    ("a flattened axis", lambda a: any(axis.components is not None for axis in a)),
]


@pytest.mark.parametrize("what", REACHED, ids=lambda what: what[0])
def test_axes_reach(what: tuple[str, Callable[[Axes], Any]]) -> None:
    assert what[1](find(axes(), what[1], settings=SAME))


def test_there_are_as_many_axes_as_are_asked_for_and_there_are_names_for() -> None:
    assert len(find(axes(5), lambda a: len(a) == 5, settings=SAME)) == 5
    with pytest.raises(ArgumentError, match=r"(?s)max_rank is 6.*from 0 to 5"):
        find(axes(6), lambda a: True, settings=SAME)


def test_types_shrink_to_scalars_of_the_first_dtype() -> None:
    for family in STANDARD:
        assert find(tensor_types(family), lambda t: True, settings=FEW) == TensorType(FLOAT32, ())


def test_a_family_that_nobody_knows_has_no_types() -> None:
    with pytest.raises(ArgumentError, match="no family is called 'mine'"):
        find(tensor_types("mine"), lambda t: True, settings=SAME)


# -- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [PLAIN, WILD, DISTINCT])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_array_has_its_type(dtype: np.dtype[Any], kind: str) -> None:
    @settings(FEW, max_examples=6)
    @given(tensor_types("numpy", [dtype], unknown=False).flatmap(lambda t: st.tuples(st.just(t), arrays(t, kind))))
    def check(drawn: tuple[TensorType, np.ndarray[Any, Any]]) -> None:
        type_, array = drawn
        assert array.dtype == dtype and array.shape == type_.shape
        if kind == PLAIN:
            assert (np.abs(array.astype("float64")) < 10).all()
        if kind == DISTINCT and is_float(dtype):
            assert len(set(array.ravel().tolist())) == array.size and ((array > 0) & (array < 1)).all()

    check()


SPECIAL: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("float16", "NaN", np.isnan),
    ("float32", "infinity", np.isposinf),
    ("float32", "minus infinity", np.isneginf),
    ("float64", "minus zero", lambda x: (x == 0) & np.signbit(x)),
    ("float64", "a subnormal", lambda x: (x != 0) & (np.abs(x) < np.finfo("float64").tiny)),
    ("float64", "the largest", lambda x: x == np.finfo("float64").max),
    ("float32", "one and a bit", lambda x: x == np.float32(1) + np.finfo("float32").eps),
    ("int8", "the least", lambda x: x == -128),
    ("uint64", "the limit", lambda x: x == np.iinfo("uint64").max),
    ("bool", "true", lambda x: x),
]


@pytest.mark.parametrize(("dtype", "what", "holds"), SPECIAL, ids=[f"{w} {d}" for d, w, _ in SPECIAL])
def test_arrays_reach_the_edges_and_are_zero_elsewhere(dtype: str, what: str, holds: Callable[[Any], Any]) -> None:
    found = find(arrays(TensorType(dtype, {"H": 3})), lambda a: bool(holds(a).any()), settings=SAME)
    assert holds(found).sum() == 1 and (found[~holds(found)] == 0).all()


def test_what_arrays_are_not_drawn_for() -> None:
    with pytest.raises(LengthError, match="not known"):
        arrays(TensorType("float32", {"N": None}))
    with pytest.raises(ArgumentError, match="no values are called 'tame'"):
        arrays(TensorType("float32", ()), "tame")


# -- terms ----------------------------------------------------------------------------------------------


def depth(term: Op) -> int:
    return 1 + max(map(depth, term.args), default=0) if term.args else 0


@pytest.mark.parametrize("family", STANDARD)
def test_a_term_has_a_value_of_its_type(family: str) -> None:
    names = {d.name for d in ops_of(family)} | {"core.placeholder", "core.item", "core.make_tuple"}

    @FEW
    @given(st.data())
    def check(data: st.DataObject) -> None:
        term = data.draw(terms(family, 3))
        assert {t.definition.name for t in topological([term])} <= names
        assert depth(term) <= 3 + 1  # a part of a tuple is taken by one more
        try:
            value = evaluate(term, data.draw(leaf_values(term)))[term]
        except Undefined:
            return
        assert value.dtype == term.dtype and value.shape == term.shape

    check()


@pytest.mark.parametrize("family", STANDARD)
def test_terms_stand_in_one_another(family: str) -> None:
    found = find(terms(family, 3), lambda t: depth(t) >= 2, settings=settings(SAME, max_examples=80))
    assert len(topological([found])) <= 5  # two ops, of as few leaves as they have


def test_terms_shrink_to_one_op_of_scalars() -> None:
    found = find(terms("semi", 3, ops=["semi.exp", "semi.sum", "semi.add"]), lambda t: len(t.args) == 2, settings=SAME)
    assert repr(found) == "semi.add(x0, x1)" and found.type == TensorType(FLOAT32, ())
    assert repr(find(terms("axes", 0), lambda t: True, settings=SAME)) == "x0"


def test_terms_are_of_the_ops_one_asks_for() -> None:
    own = ["axes.exp", "axes.sum", "axes.multiply"]
    found = find(terms("axes", 3, ops=own), lambda t: depth(t) == 3, settings=SAME)
    assert {t.definition.name for t in topological([found]) if t.args} <= set(own)


# -- instances of rules -----------------------------------------------------------------------------------

# Each is met by few of the terms that its left side matches.
GUARDED = [
    "negative(x) => x if x.rank == 4",
    "negative(x) => x if x.rank == 6",
    "negative(x) => x if x.rank == 8 and x.dtype == 'int32'",
    "transpose(x, perm=p) => x if x.rank > 5",
    "transpose(x, perm=p) => x if x.rank >= 7 and p[0] == 6",
    "negative(x) => x if x.dtype == 'uint16'",
    "negative(x) => x if is_float(x.dtype) and x.shape == (3, 1, 2)",
    "dot(x, y) => dot(x, y) if x.shape[1] == 0",
    "dot(x, y) => dot(x, y) if x.shape[0] == 1 and y.shape[-1] == 1",
    "transpose(x, perm=p) => x if p == (1, 0)",
    "transpose(transpose(x, perm=p), perm=q) => x if p == q and rank(p) == 3",
    "sum(x, axes=k) => x if product_of(pick(x.shape, k)) == 1 and k != ()",
    "sum(x, axes=k) => x if 0 in pick(x.shape, k)",
    "reshape(x, shape=s) => x if s == x.shape",
    "cast(x, dtype=t) => x if t == 'int64' and not is_float(x.dtype)",
    "gather(x, i, axis=k) => x if i.shape == (x.shape[k],)",
    "broadcast(x, shape=s, dims=d) => x if x.rank == 0 and s == (3, 3)",
    "x + y => x if self.dtype == 'int8'",
    "reshape(x, shape=s) => x if n == 1 and x.rank == 2\n    where n = rank(s)",
]


@pytest.mark.parametrize("equation", GUARDED)
def test_an_instance_is_made_so_that_the_guard_holds(equation: str) -> None:
    clause, _, where = equation.partition("\n")
    left, _, guard = clause.partition(" if ")
    rule = rule_of(f"{left}\n    if {guard}\n{where}")
    found = list(examples_of(rule, 20, kinds=()))
    assert len(found) >= 16
    for example in found:
        term, bindings, target = example.instance
        assert Application(rule, term, bindings, TermBank().make, target).guard_holds()


def wrong(rule: Rule, example: Example) -> bool:
    """Whether a rule, applied by interpretation, does not keep the value of an example."""
    term, bindings, target = example.instance
    (right,) = Application(rule, term, bindings, example.bank.make, target).right()
    assert isinstance(right, Op)
    try:
        return right.type != term.type or differ(term, right, example.choices[0], rule.grade) is not None
    except Undefined:
        return False


SMALLEST = [
    ("x + 0 => x", "semi.add(x, 0.0)", [[-0.0]]),
    ("x - x => 0", "semi.subtract(x, x)", [[np.inf]]),
    ("x * 0 => 0", "semi.multiply(x, 0.0)", [[-1.0]]),
]


@pytest.mark.parametrize(("equation", "shown", "values"), SMALLEST, ids=[s[0] for s in SMALLEST])
def test_a_counterexample_shrinks(equation: str, shown: str, values: list[list[float]]) -> None:
    rule = rule_of(equation)
    # what is drawn follows the modules that are loaded: Hypothesis takes their constants
    many = settings(SAME, max_examples=5000)
    found = find(instances_of(rule), lambda example: wrong(rule, example), settings=many)
    assert repr(found.instance.term) == shown
    assert all(leaf.rank <= 1 and leaf.size == 1 for leaf in found.choices[0])
    numbers = [v.ravel().tolist() for v in found.choices[0].values()]
    assert [sorted(map(repr, n)) for n in numbers] == [sorted(map(repr, n)) for n in values]


def test_a_shape_shrinks_too() -> None:
    rule = rule_of("transpose(x, perm=p) => x")
    found = find(instances_of(rule), lambda example: wrong(rule, example), settings=SAME)
    assert found.instance.term.rank == 2 and set(found.instance.term.shape) <= {0, 1, 2}
    assert not any(v.any() for v in found.choices[0].values())


@pytest.mark.parametrize("strategy", [instances_of, seeded_instances])
def test_an_example_has_a_value_for_every_leaf(strategy: Callable[..., st.SearchStrategy[Example]]) -> None:
    @FEW
    @given(strategy(rule_of("x * y => y * x", "lower semi"), kinds=(PLAIN, WILD)))
    def check(example: Example) -> None:
        assert len(example.choices) == 2
        for values in example.choices:
            assert set(values) == set(example.instance.term.args)
            assert all(values[t].dtype == t.dtype and values[t].shape == t.shape for t in values)

    check()


def test_an_example_prints_as_the_program_that_makes_it() -> None:
    for example in examples_of(rule_of("transpose(transpose(x, perm=p), perm=q) => x"), 10):
        names: dict[str, Any] = {}
        exec(repr(example), names)  # noqa: S102
        left, values = names["left"], names["values"]
        assert left.type == example.instance.term.type and repr(left) == repr(example.instance.term)
        for made, own in zip(values.values(), example.choices[0].values(), strict=True):
            assert made.dtype == own.dtype and np.array_equal(made, own, equal_nan=is_float(made.dtype))


def test_an_instance_that_does_not_exist_is_not_drawn() -> None:
    rule = rule_of("-(-x) => x\n    if x.rank == 9")
    assert list(examples_of(rule, 3)) == []


# -- the same in every process ------------------------------------------------------------------------------

PROGRAM = """
from hypothesis import Phase, find, settings
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.testing.strategies import *
same = settings(database=None, derandomize=True, max_examples=25, phases=[Phase.generate, Phase.shrink])
for rule in list(library())[::300]:
    for example in examples_of(rule, 2, seed=3):
        print(example, example.choices[1:], example.instance.target)
for family in ("axes", "semi"):
    print(find(tensor_types(family), lambda t: t.rank == 2, settings=same))
    print(find(terms(family, 2), lambda t: len(t.args) > 0, settings=same))
    print(find(axes(), lambda a: len(a) == 2, settings=same))
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8"])
def test_terms_are_drawn_that_have_all_through_the_dtype_that_a_guard_says(dtype: str) -> None:
    equation = f"minimum(maximum(x + y, z), v) - w => x\n    if x.dtype == '{dtype}' and x.rank == 2"
    assert len(list(examples_of(rule_of(equation, "explore semi"), 10))) == 10


@pytest.mark.parametrize("equation", [
    "matmul(matmul(x, y), z) => matmul(x, matmul(y, z)) if x.rank == 2 and z.rank == 2",  # a product may be a number
    "concat(x, y, axis=k) => concat(x, x, axis=k) if x.dtype == 'int8' and y.dtype == 'int8'",  # there is one dtype
])  # fmt: skip
def test_operands_are_proposed_whatever_the_others_are(equation: str) -> None:
    equation, guard = equation.split(" if ")
    rule = rule_of(f"{equation}\n    if {guard}", "explore numpy")
    assert len(list(examples_of(rule, 30))) >= 20


TWICE = [
    "pad(x, before=b, after=a, interior=i, value=v) - pad(y, before=b, after=a, interior=i, value=w)",
    "windows(x, axes=k, sizes=s, strides=r, dilations=t) - windows(y, axes=k, sizes=s, strides=r, dilations=t)",
    "transpose(x, perm=p) - transpose(y, perm=p)",
    "slice(x, starts=a, stops=b, steps=c) - slice(y, starts=a, stops=b, steps=c)",
]


@pytest.mark.parametrize("left", TWICE)
def test_what_two_ops_of_one_result_have_in_common_is_more_than_what_changes_nothing(left: str) -> None:
    """An op with attributes that are bound already has the argument that another one of them had."""
    found = examples_of(rule_of(f"{left} => ({left}) * 1", "explore semi"), 40)
    changed = [e for e in found if (x := e.instance.term.args[0]).type != x.args[0].type]
    assert len(changed) >= 10


def test_the_order_of_hashes_decides_nothing() -> None:
    assert "placeholder" in printed_in_any(PROGRAM)


def test_a_seed_says_which_example() -> None:
    rule = rule_of("sum(x, axes=k) => x")
    shown = [[repr(e) for e in examples_of(rule, 5, seed)] for seed in (0, 0, 1)]
    assert shown[0] == shown[1] != shown[2]


@pytest.mark.parametrize(
    ("given", "says", "there_are"),
    [
        ({"families": ["nosuch"]}, "there is 'nosuch' among families", "core, semi, "),
        ({"families": "axes"}, "families is 'axes'", "core, semi, "),
        ({"families": []}, "families has no name", "core, semi, "),
        ({"families": 3}, "families is 3", "core, semi, "),
        ({"families": ["axes"], "numbers": ["nosuch"]}, "there is 'nosuch' among numbers", "small, smooth, wild"),
        ({"numbers": "small"}, "numbers is 'small'", "small, smooth, wild"),
    ],
)
def test_programs_of_what_there_is_not_are_refused(given: dict[str, Any], says: str, there_are: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        programs(**given)
    assert caught.value.what == says and __file__ in str(caught.value) and there_are in str(caught.value)
