# SPDX-License-Identifier: Apache-2.0
"""The frontend: names, defaults, coercions, and every mistake reported at the line that makes it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import printed

import ngraph_rewrite as ng
from ngraph_rewrite.terms import catalogue

H, W, N, REC, K = (ng.Axis(name, n) for name, n in (("H", 2), ("W", 3), ("N", 4), ("REC", 5), ("K", 10)))
FLOATS = "float16 float32 float64".split()
DTYPES = st.sampled_from([str(d) for d in ng.DTYPES])
NUMPYS = st.sampled_from([str(d) for d in ng.DTYPES if d != "bfloat16"])
SOME_AXES = st.lists(st.sampled_from([H, W, N, REC]), unique=True)


def var(*axes: ng.Axis, dtype: str = "float32", name: str | None = None) -> ng.Op:
    return ng.variable(axes, dtype, name=name)


# -- importing --------------------------------------------------------------------------------------


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = ("numba", "scipy", "sympy", "matchpy", "matplotlib", "hypothesis", "rich")
    program = f"import sys, ngraph_rewrite; print([m for m in {heavy!r} if m in sys.modules])"
    assert printed(program).strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert [name for name in ng.__all__ if not hasattr(ng, name)] == []


PUBLIC = [getattr(ng, name) for name in ng.__all__] + [
    f for n, f in vars(ng.semi).items() if inspect.isfunction(f) and n[0] != "_"
]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda t: getattr(t, "__name__", str(t)))
def test_every_public_function_is_documented(thing: Any) -> None:
    assert inspect.getdoc(thing)


FUNCTIONS = {name: getattr(ng, name) for name in ng.__all__ if inspect.isfunction(getattr(ng, name))}


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"metadata", "attribute_function", "make_op"}))
def test_unknown_keywords_are_errors(name: str) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'out_axis'"):
        FUNCTIONS[name](out_axis=())


def ops_of(family: str) -> set[str]:
    """The names of the library's own ops."""
    found = catalogue.definitions(family)
    return {d.short for d in found if d.type_rule.__module__.startswith("ngraph_rewrite.")}


def test_every_op_of_a_family_has_a_function() -> None:
    """But for those that only rules build."""
    internal = {"size", "concat", "unslice", "batch_norm_inference", "batch_dot"}
    internal |= {"cross_entropy_softmax", "cross_entropy_sigmoid"}
    assert ops_of("axes") - internal <= set(ng.__all__)
    assert ops_of("semi") - {"size"} <= set(vars(ng.semi))


# -- operands ---------------------------------------------------------------------------------------


@given(SOME_AXES, SOME_AXES)
def test_operands_broadcast_by_name(left: list[ng.Axis], right: list[ng.Axis]) -> None:
    """The axes of an operand that has them all, left first; otherwise left's and what right adds."""
    found = tuple((var(*left) + var(*right)).axes)
    if set(right) <= set(left):
        assert found == tuple(left)
    elif set(left) < set(right):
        assert found == tuple(right)
    else:
        assert found == (*left, *(a for a in right if a not in left))


@given(NUMPYS, NUMPYS)
def test_dtypes_promote_as_in_numpy(left: str, right: str) -> None:
    assert (var(H, dtype=left) + var(H, dtype=right)).dtype == np.result_type(left, right)


@given(NUMPYS, st.sampled_from([True, 1, 1.5]))
def test_python_numbers_are_weak(dtype: str, number: float) -> None:
    term = var(H, dtype=dtype)
    expected = (np.zeros(1, dtype) + number).dtype
    assert (term + number).dtype == (number + term).dtype == expected


@given(NUMPYS, NUMPYS)
def test_numpy_scalars_are_not(dtype: str, scalar: str) -> None:
    number = np.ones((), scalar)[()]
    assert (var(H, dtype=dtype) * number).dtype == (number * var(H, dtype=dtype)).dtype == np.result_type(dtype, scalar)


@pytest.mark.parametrize("other", [True, 1, 1.5, np.float16(1), np.int64(1), np.float32(1)], ids=repr)
def test_bfloat16_promotes_on_either_side(other: Any) -> None:
    wanted = {"float16": "float32", "float32": "float32"}.get(type(other).__name__, "bfloat16")
    x = var(H, dtype="bfloat16")
    assert (x + other).dtype == (other + x).dtype == wanted


def test_an_array_has_no_names_to_match_by() -> None:
    for build in (lambda: var(H) + np.ones(2), lambda: np.ones(2) + var(H), lambda: ng.maximum(np.ones(2), var(H))):
        with pytest.raises(ng.FamilyError, match=r"write ng\.constant\(array, axes\)"):
            build()


def test_families_mix_only_where_positions_decide() -> None:
    named, anonymous = var(H), ng.constant([1.0, 2.0])
    with pytest.raises(ng.FamilyError, match=r"label\(x, axes=\.\.\.\)"):
        ng.dot(named, anonymous)
    assert (named + anonymous).axes == named.axes
    assert (named + ng.label(anonymous, [H])).definition.name == "axes.add"
    assert (ng.strip(named) + anonymous).definition.name == "numpy.add"


def test_operators_pick_the_family_of_their_operands() -> None:
    x = ng.constant([[1.0, 2.0]])
    built = [-x, x * 2, 1 - x, x < x, x[0], ng.tanh(x), ng.where(x > 0, x, 0.0), ng.cast(x, "int8")]
    assert {t.definition.family for t in built} == {"numpy"}


def test_equality_is_of_handles() -> None:
    x, y = var(H), var(H)
    assert x == x and x != y and (x + 1) != (x + 1)
    assert (x + 1).same_as(x + 1)
    assert not (x + 1).same_as(x + 2)
    assert ng.equal(x, y).dtype == bool
    with pytest.raises(ng.ArgumentError, match="no truth value"):
        bool(x < y)


def test_select_promotes_its_branches_only() -> None:
    c = var(H, dtype="bool")
    assert ng.select(c, 1.0, 0).dtype == np.float32
    assert ng.select(c, 1, True).dtype == np.int64
    assert ng.select(c, var(dtype="float16"), 0.5).dtype == np.float16
    assert ng.select(ng.strip(var(W)) > 0, ng.strip(var(W)), [1.0] * 3).type == ng.placeholder((3,)).type
    assert ng.select(c, var(W, dtype="int8"), 1).type == ng.TensorType("int8", [H, W])


# -- reductions -------------------------------------------------------------------------------------

REDUCTIONS = [ng.sum, ng.prod, ng.max, ng.min, ng.any, ng.all, ng.argmax, ng.argmin, ng.mean, ng.variance, ng.logsumexp]
NORMS = [ng.squared_L2, ng.L1_norm, ng.L2_norm]


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_reductions_keep_the_batch_and_time(reduce: Callable[..., ng.Op]) -> None:
    assert reduce(var(H, N, W, REC)).axes == ng.Axes([N, REC])


@pytest.mark.parametrize("reduce", NORMS)
def test_norms_keep_the_batch_only(reduce: Callable[..., ng.Op]) -> None:
    assert reduce(var(H, N, W, REC)).axes == ng.Axes([N])


@pytest.mark.parametrize("reduce", REDUCTIONS + NORMS)
def test_axes_to_reduce_and_to_keep_complement_each_other(reduce: Callable[..., ng.Op]) -> None:
    x = var(H, N, W)
    by_name, by_axis = reduce(x, reduction_axes=["H", "W"]), reduce(x, reduction_axes=[W, H])
    kept, both = reduce(x, out_axes=N), reduce(x, ["W", "H"], "N")
    assert by_name.same_as(by_axis) and by_name.same_as(kept) and by_name.same_as(both)


@pytest.mark.parametrize("order", list(permutations([H, N, W])))
def test_out_axes_set_the_order_of_the_result(order: tuple[ng.Axis, ...]) -> None:
    x = var(REC, H, N, W)
    assert tuple(ng.sum(x, out_axes=order).axes) == order
    assert tuple(ng.sum(x, out_axes=[a.name for a in order]).axes) == order


@pytest.mark.parametrize(
    "axes",
    [
        {"reduction_axes": "K"},
        {"out_axes": [K]},
        {"reduction_axes": "H", "out_axes": "H"},
        {"reduction_axes": [], "out_axes": "H"},
    ],
)
def test_axes_must_be_those_of_the_argument(axes: dict[str, Any]) -> None:
    with pytest.raises(ng.UnmatchedAxesError):
        ng.sum(var(H, W), **axes)


def test_a_reduction_over_no_axes_keeps_the_argument() -> None:
    assert ng.sum(var(H, W), reduction_axes=[]).axes == ng.Axes([H, W])


def test_tensor_size_counts_a_sample_and_batch_size_the_batch() -> None:
    x = var(H, W, N)
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation([ng.tensor_size(x), ng.tensor_size(x, out_axes=[]), ng.batch_size(x)])()
    assert found == [6, 24, 4]


# -- shapes -----------------------------------------------------------------------------------------


def test_what_changes_nothing_gives_the_argument() -> None:
    x = var(H, W)
    for same in (
        ng.broadcast(x, [H, W]),
        ng.axes_with_order(x, [H, W]),
        ng.cast_axes(x, [H, W]),
        ng.cast(x, "float32"),
        ng.unflatten(x),
        ng.expand_dims(x, H),
        ng.flatten(x, [H]),
        ng.flatten_at(x, 1),
    ):
        assert same is x


@given(st.permutations([H, W, REC]), st.integers(0, 3))
def test_unflatten_undoes_flatten(axes: list[ng.Axis], at: int) -> None:
    x = var(*axes)
    flat = ng.flatten_at(x, at)
    assert flat.rank <= 2 and flat.size == x.size
    assert ng.unflatten(flat, axes).axes == x.axes


def test_slices_keep_names() -> None:
    x = var(H, W)
    assert x[0].axes == ng.Axes([W])
    assert x[..., ::-2].axes == ng.Axes([H, W.with_length(2)])
    assert ng.slice_along_axis(x, "W", slice(1, None)).axes == ng.Axes([H, W.with_length(2)])
    assert ng.tensor_slice(x, (-1, slice(0, 2)), [K.with_length(2)]).axes == ng.Axes([K.with_length(2)])


def test_unknown_lengths_go_through() -> None:
    batch = ng.Axis("N")
    x = ng.placeholder([H, batch])
    assert ng.dot(var(K, H), x).axes == ng.Axes([K, batch])
    assert ng.pad(x, [0, 1]).shape[1] == batch.length + 2
    assert ng.pad(x, {batch: (0, 3)}).axes == ng.Axes([H, batch.with_length(batch.length + 3)])


# -- leaves -----------------------------------------------------------------------------------------


@given(DTYPES)
def test_a_constant_keeps_the_dtype_of_an_array(dtype: str) -> None:
    assert ng.constant(np.ones(2, dtype), [H]).dtype == dtype


def test_python_numbers_become_constants_of_one_dtype_per_kind() -> None:
    assert [str(ng.constant(c).dtype) for c in (True, 1, 1.0, [1.0, 2], [[1]])] == [
        "bool",
        "int64",
        "float32",
        "float32",
        "int64",
    ]


def test_a_number_fills_its_axes_and_an_array_fits_them() -> None:
    assert ng.constant(1.5, [H, N]).axes == ng.Axes([H, N])
    with pytest.raises(ng.UnmatchedAxesError, match=r"2 axes .* shape \(2,\)"):
        ng.constant([1.0, 2.0], [H, W])
    with pytest.raises(ng.AxesError, match=r"Axes\(W:3\) for a value of shape \(2,\)"):
        ng.constant([1.0, 2.0], [W])


@pytest.mark.parametrize(
    "initial",
    [
        [[0, 1, 2], [3, 4, 5]],
        np.arange(6.0).reshape(2, 3),
        ng.constant(np.arange(6).reshape(2, 3), [H, W]),
        ng.constant(np.arange(6).reshape(2, 3).T, [W, H]),
        lambda axes: np.arange(6).reshape(axes.lengths),
    ],
)
def test_initial_values(initial: Any) -> None:
    x = ng.variable([H, W], initial_value=initial)
    with ng.make_transformer("reference") as transformer:
        found = transformer.computation(x)()
    assert np.array_equal(found, np.arange(6).reshape(2, 3)) and found.dtype == np.float32


def test_an_initial_value_is_remembered_as_it_was() -> None:
    given_array = np.zeros(2)
    x = ng.variable([H], initial_value=given_array)
    given_array[:] = 7
    with ng.make_transformer("reference") as transformer:
        assert np.array_equal(transformer.computation(x)(), [0, 0])


def test_variables_and_placeholders_of_a_graph() -> None:
    x, w = ng.placeholder([H], name="x"), var(H, name="w")
    steps = ng.persistent_tensor([], name="steps")
    y = ng.dot(w, x) + steps
    assert y.variables() == [w]
    assert y.placeholders() == [x]
    assert ng.users(w, [y]) == [y.args[0]]


# -- handles ----------------------------------------------------------------------------------------


def test_metadata_nests_and_the_inner_value_wins() -> None:
    with ng.metadata(layer=1, phase="train"):
        with ng.metadata(layer=2):
            inner = var(H)
        outer = inner + 1
    assert dict(inner.metadata) == {"layer": 2, "phase": "train"}
    assert dict(outer.metadata) == {"layer": 1, "phase": "train"}
    assert dict((outer + 1).metadata) == {}


def test_metadata_ends_with_its_block_even_if_that_raises() -> None:
    with pytest.raises(KeyError), ng.metadata(layer=1):
        raise KeyError
    assert dict(var(H).metadata) == {}


def test_a_handle_knows_its_name_and_line() -> None:
    x, line = ng.placeholder([H], name="x"), inspect.currentframe().f_lineno  # type: ignore[union-attr]
    assert x.name == "x" and repr(x) == "x"
    assert (x.filename, x.lineno) == (__file__, line)
    assert x.file_info == f'File "{__file__}", line {line}'
    renamed = x.named("y")
    assert renamed.name == "y" and renamed.same_as(x)


def test_other_deps_are_the_effects_before() -> None:
    x = var()
    effect = ng.assign(x, 1)
    assert ng.after(x + 1, effect).other_deps == (effect,)
    assert ng.sequential([effect, x]).other_deps == (effect,)
    assert (x + 1).other_deps == ()


def test_one_effect_may_be_several_times_in_a_graph() -> None:
    assert not ng.uniform([H]).same_as(ng.uniform([H]))
    assert not ng.placeholder([H]).same_as(ng.placeholder([H]))


# -- effects ----------------------------------------------------------------------------------------


def test_a_value_is_fitted_to_its_variable() -> None:
    x = var(H, W)
    for value in (
        1,
        2.5,
        var(W),
        var(W, H),
        var(dtype="float16"),
        var(dtype="float64"),
        np.ones((2, 3)),
        [[1] * 3] * 2,
    ):
        assert ng.assign(x, value).args[1].type == x.type
    anonymous = ng.variable(ng.anonymous([2]))
    for value in (1, [1, 2], ng.strip(var(H)), var()):
        assert ng.assign(anonymous, value).args[1].type == anonymous.type


# -- mistakes ---------------------------------------------------------------------------------------

X, INTS = var(H, W, name="X"), var(H, dtype="int32", name="INTS")

MISTAKES: list[tuple[type[Exception], Callable[[], Any]]] = [
    (ng.IncompatibleAxesError, lambda: X + var(ng.Axis("H", 3))),
    (ng.IncompatibleAxesError, lambda: ng.dot(X, var(ng.Axis("H", 3)))),
    (ng.IncompatibleAxesError, lambda: ng.cross_entropy_multi(X, var(ng.Axis("H", 3)))),
    (ng.UnmatchedAxesError, lambda: ng.sum(X, "K")),
    (ng.UnmatchedAxesError, lambda: ng.softmax(X, "K")),
    (ng.UnmatchedAxesError, lambda: ng.broadcast(X, [H])),
    (ng.UnmatchedAxesError, lambda: ng.axes_with_order(X, [H])),
    (ng.AxesError, lambda: ng.cast_axes(X, [W, H])),
    (ng.UnmatchedAxesError, lambda: ng.cast_role(X, [W])),
    (ng.UnmatchedAxesError, lambda: ng.map_roles(X, {"K": "H"})),
    (ng.DuplicateAxisNames, lambda: ng.map_roles(X, {"W": "H"})),
    (ng.ArgumentError, lambda: ng.map_roles(X, "WH")),  # type: ignore[arg-type]
    (ng.UnmatchedAxesError, lambda: ng.flatten(X, "K")),
    (ng.AxesError, lambda: ng.flatten(var(H, W, K), [H, K])),
    (ng.AttributeValueError, lambda: ng.flatten_at(X, 3)),
    (ng.UnmatchedAxesError, lambda: ng.unflatten(X, [K])),
    (ng.UnmatchedAxesError, lambda: ng.label(X, [K])),
    (ng.ArgumentError, lambda: ng.expand_dims(X, 3)),  # type: ignore[arg-type]
    (ng.OutOfRangeError, lambda: ng.expand_dims(X, K, 3)),
    (ng.OutOfRangeError, lambda: X[2]),
    (ng.OutOfRangeError, lambda: ng.slice_along_axis(X, H, -3)),
    (ng.UnmatchedAxesError, lambda: ng.slice_along_axis(X, "K", 0)),
    (ng.AttributeValueError, lambda: X[0, 0, 0]),
    (ng.AttributeValueError, lambda: X[::0]),
    (ng.AttributeValueError, lambda: X[0.5]),
    (ng.AttributeValueError, lambda: ng.tensor_slice(X, [0])),
    (ng.AttributeValueError, lambda: ng.pad(X, [1])),
    (ng.AttributeValueError, lambda: ng.pad(X, [(1, 2, 3), 1])),
    (ng.AttributeValueError, lambda: ng.pad(X, {H: "same"})),
    (ng.UnmatchedAxesError, lambda: ng.pad(X, {"K": 1})),
    (ng.LengthError, lambda: ng.pad(X, [-1, 0])),
    (ng.ArgumentError, lambda: ng.stack([], K)),
    (ng.AxesError, lambda: ng.stack([X, X], K)),
    (ng.DuplicateAxisNames, lambda: ng.stack([X, X], H)),
    (ng.ArgumentError, lambda: ng.concat_along_axis([], "H")),
    (ng.UnmatchedAxesError, lambda: ng.concat_along_axis([X, INTS], "W")),
    (ng.DTypeError, lambda: ng.one_hot(X, K)),
    (ng.DTypeError, lambda: ng.select(X, X, X)),
    (ng.DTypeError, lambda: ng.select(X > 0, X, None)),
    (ng.DTypeError, lambda: ng.select(X > 0, "i4", X)),
    (ng.DTypeError, lambda: ng.select(X > 0, 1, 10**30)),
    (ng.FamilyError, lambda: ng.select(X > 0, X, [1.0, 2.0])),
    (ng.DTypeError, lambda: ng.cast(X, "complex64")),
    (ng.DTypeError, lambda: ng.negative(X > 0)),
    (ng.DTypeError, lambda: ng.uniform([H], dtype="int32")),
    (ng.UnmatchedAxesError, lambda: ng.batch_size(X)),
    (ng.UnmatchedAxesError, lambda: ng.cross_entropy_multi(var(H, K), var(W, K))),
    (ng.FamilyError, lambda: ng.softmax(ng.strip(X), [])),
    (ng.FamilyError, lambda: ng.semi.add(X, X)),
    (ng.AxesError, lambda: ng.semi.add(ng.strip(X), ng.strip(INTS))),
    (ng.AxesError, lambda: ng.placeholder(["H"])),
    (ng.DTypeError, lambda: ng.placeholder([H], "complex64")),
    (ng.DTypeError, lambda: ng.constant("one")),
    (ng.DTypeError, lambda: ng.constant(None)),  # type: ignore[arg-type]
    (ng.DTypeError, lambda: ng.constant(300, dtype="uint8")),
    (ng.ArgumentError, lambda: ng.constant(X)),  # type: ignore[arg-type]
    (ng.AxesError, lambda: ng.variable([H], initial_value=[1, 2, 3])),
    (ng.AttributeValueError, lambda: ng.variable([H], initial_value=ng.placeholder([H]))),
    (ng.UnmatchedAxesError, lambda: ng.variable([H], initial_value=ng.constant([1, 2, 3], [W]))),
    (ng.DTypeError, lambda: ng.variable([H], initial_value=["a", "b"])),
    (ng.DTypeError, lambda: ng.variable([H], "int32", initial_value=[1.5, 2.0])),
    (ng.DTypeError, lambda: ng.variable([H], "int8", initial_value=0.5)),
    (ng.SequencingError, lambda: ng.assign(X + 1, 2)),
    (ng.SequencingError, lambda: ng.assign(ng.constant(1.0), 2)),
    (ng.SequencingError, lambda: ng.assign(3, 2)),  # type: ignore[arg-type]
    (ng.UnmatchedAxesError, lambda: ng.assign(INTS, X > 0)),
    (ng.DTypeError, lambda: ng.assign(INTS, 0.5)),
    (ng.DTypeError, lambda: ng.assign(INTS, np.ones(2))),
    (ng.FamilyError, lambda: ng.assign(X, ng.strip(X))),
    (ng.AttributeValueError, lambda: ng.fill(X, [1, 2])),  # type: ignore[arg-type]
    (ng.SequencingError, lambda: ng.sequential([])),
    (ng.ArgumentError, lambda: ng.sequential(3)),  # type: ignore[arg-type]
    (ng.DerivativeError, lambda: ng.deriv(X * X, X)),
    (ng.DerivativeError, lambda: ng.deriv(ng.sum(INTS, out_axes=[]), INTS)),
    (ng.ArgumentError, lambda: ng.tanh("one")),  # type: ignore[arg-type]
    (ng.ArgumentError, lambda: ng.as_ops(3)),  # type: ignore[arg-type]
    (ng.ArgumentError, lambda: ng.as_ops("abc")),
    (ng.ArgumentError, lambda: ng.as_ops(X)),  # type: ignore[arg-type]
    (ng.ArgumentError, lambda: ng.topological(X)),  # type: ignore[arg-type]
    (ng.ArgumentError, lambda: ng.topological(None)),  # type: ignore[arg-type]
    (ng.ArgumentError, lambda: ng.topological([X, 3])),  # type: ignore[list-item]
    (ng.ArgumentError, lambda: ng.topological([None])),  # type: ignore[list-item]
    (ng.ArgumentError, lambda: ng.users(3, [X])),  # type: ignore[arg-type]
    (ng.ArgumentError, lambda: ng.call_descriptions(X)),  # type: ignore[arg-type]
    (ng.ArgumentError, lambda: ng.call_descriptions([3])),  # type: ignore[list-item]
    (ng.ArgumentError, lambda: ng.rules().without(3)),  # type: ignore[arg-type]
    (ng.ArgumentError, lambda: ng.users(X, [[X]])),  # type: ignore[list-item]
    (ng.ArgumentError, lambda: ng.find_target("cpu").extended("mine", add="semi.add")),
]


@pytest.mark.parametrize(("error", "mistake"), MISTAKES)
def test_a_mistake_is_reported_at_its_line(error: type[Exception], mistake: Callable[[], Any]) -> None:
    line = mistake.__code__.co_firstlineno
    with pytest.raises(error, match=f"at {__file__}:{line}") as caught:
        mistake()
    assert isinstance(caught.value, ng.NGraphRewriteError)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        (("mine", 3, print), "base is 3"),
        (("mine", "semi.exp", print), "base is 'semi.exp'"),
        (("mine", ["semi.exq"], print), "no op is called semi.exq\n  did you mean semi.exp"),
        (("mine", frozenset(), 3), "`prepare` of the target mine is 3"),
        (("", None, print), "the target is called ''"),
    ],
)
def test_a_target_has_a_name_ops_and_what_prepares_it(parts: tuple[Any, Any, Any], says: str) -> None:
    with pytest.raises(ng.NGraphRewriteError, match=f"^{says}"):
        ng.Target(*parts)
    assert ng.Target("mine", ["semi.exp"], print).base == {"semi.exp"}  # type: ignore[arg-type]


def test_what_a_target_prepares_runs() -> None:
    target = ng.Target("mine", None, lambda program: None)  # type: ignore[arg-type,return-value]
    with (
        ng.make_transformer(target) as transformer,
        pytest.raises(ng.ArgumentError, match="mine gives None, which has no"),
    ):
        transformer.computation(ng.constant(1.0) + 1)()


def test_what_a_target_prepares_can_be_asked_what_any_can() -> None:
    class Runs:
        def __init__(self, program: ng.Program) -> None:
            self.program = program

        def run(self, inputs: Any, results: Any, call: int) -> None:
            pass

        def stats(self) -> dict[str, Any]:
            return {}

    target = ng.Target("mine", None, Runs)  # type: ignore[arg-type]
    with ng.make_transformer(target) as transformer, pytest.raises(ng.ArgumentError) as raised:
        transformer.computation(ng.constant(1.0) + 1)()
    assert "no methods source, where" in raised.value.what and "source may give ''" in str(raised.value.do)


@pytest.mark.parametrize("length", [-1, float("nan"), 2.0, True, "3"])
def test_an_axis_has_a_natural_length(length: Any) -> None:
    with pytest.raises(ng.AxesError, match="axis H has"):
        ng.Axis("H", length)


def test_a_rule_can_be_written_in_place() -> None:
    rules = ng.rule("x * 1 => x", name="times_one")
    assert [r.name for r in rules] == ["times_one.times_one"]
    with pytest.raises(ng.RuleFileError, match="`y` is not bound"):
        ng.rule("x * 1 => y")
    with pytest.raises(ng.RuleFileError, match="does not go down"):
        ng.rule("x + y => y + x")


@pytest.mark.parametrize("call", [ng.variable, ng.persistent_tensor, ng.temporary])
@pytest.mark.parametrize("axis", [ng.Axis("T"), ng.Axis("T").renamed("U")], ids=str)
def test_storage_needs_lengths(call: Callable[..., ng.Op], axis: ng.Axis) -> None:
    with pytest.raises(ng.LengthError) as caught:
        call([H, axis])
    message = str(caught.value)
    assert message.startswith(f"{call.__name__}: the length of axis {axis.name} is not known\n  at {__file__}:")
    assert message.endswith("give the axis a length: only placeholders can wait")
