# SPDX-License-Identifier: Apache-2.0
"""Operands of different families meet in one op: what is inserted, what is refused, and nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import drawn

import ngraph_rewrite as ng

Array = np.ndarray[Any, Any]
LENGTHS = {"H": 3, "W": 4, "N": 2}
NAMED = {"H": 3, "N": 2}
VALUE = np.arange(6.0).reshape(3, 2)
OTHER = VALUE * 10 + 1


def axes_term() -> ng.Op:
    return ng.constant(VALUE, NAMED)


def simple_term(value: Array = OTHER) -> ng.Op:
    return ng.as_simple(ng.constant(value, NAMED))


def numpy_term(value: Array = OTHER) -> ng.Op:
    return ng.strip(ng.constant(value, NAMED))


def scalar() -> ng.Op:
    return ng.constant(5.0)


FAMILIES = {"axes": axes_term, "simple": simple_term, "numpy": numpy_term, "scalar": scalar}
KNOWS = ["scalar", "numpy", "simple", "axes"]


def compute(term: ng.Op) -> Array:
    with ng.make_transformer("reference") as transformer:
        return transformer.computation(term)()


@pytest.mark.parametrize("right", FAMILIES)
@pytest.mark.parametrize("left", FAMILIES)
@pytest.mark.parametrize("name", ["add", "subtract", "maximum", "less"])
def test_a_binary_op_of_every_pair_of_families(name: str, left: str, right: str) -> None:
    x, y = FAMILIES[left](), FAMILIES[right]()
    term = getattr(ng, name)(x, y)
    most = max(left, right, key=KNOWS.index)
    assert term.definition.family == ("axes" if most == "scalar" else most)
    np.testing.assert_array_equal(compute(term), getattr(np, name)(compute(x), compute(y)))
    if most == "axes":
        assert term.axes == ng.make_axes(NAMED)


@pytest.mark.parametrize("right", FAMILIES)
@pytest.mark.parametrize("left", FAMILIES)
def test_inside_coercion_error_every_mix_is_refused(left: str, right: str) -> None:
    x, y = FAMILIES[left](), FAMILIES[right]()
    with ng.coercion("error"):
        if left == right or "scalar" in (left, right):  # a scalar is of all families
            assert (x + y).definition.name.endswith(".add")
        else:
            with pytest.raises(ng.FamilyError, match=f"\\({left}\\).*\\({right}\\)"):
                x + y
    assert (x + y).definition.name.endswith(".add")


def test_the_message_names_both_families_and_the_coercion_to_write() -> None:
    x, y = ng.placeholder({"H": 3, "W": 3}), ng.placeholder((3, 3))
    with pytest.raises(ng.FamilyError) as caught:
        x + y
    assert "float32[H:3, W:3] (axes)" in str(caught.value)
    assert "float32[3, 3] (numpy)" in str(caught.value)
    assert "label(x, axes=...)" in str(caught.value)
    assert "test_coercion.py" in str(caught.value)
    assert (x + ng.label(y, x.axes)).axes == x.axes


@pytest.mark.parametrize(
    ("named", "shape"),
    [
        ({"H": 3, "W": 4}, (4,)),  # which axis?
        ({"H": 3, "W": 4}, (4, 3)),  # another order
        ({"H": 3, "W": 3}, (3, 3)),  # either order
        ({"H": 3}, (1,)),  # names do not stretch
        ({"H": 3}, (4,)),
        ({"H": None}, (3,)),
    ],
)
def test_positions_that_do_not_decide_are_refused(named: dict[str, int | None], shape: tuple[int, ...]) -> None:
    with pytest.raises(ng.FamilyError):
        ng.placeholder(named) + ng.placeholder(shape)


def test_the_sample_axis_is_found_by_its_role_wherever_it_stands() -> None:
    x = ng.placeholder({"N": 2, "H": 3})
    y = ng.as_simple(ng.placeholder({"H": 3, "N": 2}))
    term = x + y
    assert term.axes == x.axes
    with ng.make_transformer("reference") as transformer:
        computation = transformer.computation(term, *term.placeholders())
        np.testing.assert_array_equal(computation(VALUE.T, OTHER), VALUE.T + OTHER.T)


def test_a_numpy_function_reads_positions_of_a_named_tensor() -> None:
    x = axes_term()
    term = ng.numpy.add(x, np.asarray([1.0, 2.0]))
    assert term.definition.family == "numpy"
    assert not term.axes.named
    np.testing.assert_array_equal(compute(term), VALUE + [1.0, 2.0])


def test_a_numpy_function_of_tensors_with_other_names_is_refused() -> None:
    with pytest.raises(ng.FamilyError):
        ng.numpy.add(ng.placeholder({"H": 3}), ng.placeholder({"W": 3}))


def test_of_names_beside_marks_positions_do_not_decide_in_either_order() -> None:
    x, y = axes_term(), simple_term()
    for operands in [(x, y), (y, x)]:
        with pytest.raises(ng.FamilyError, match="their positions do not say which axes belong together"):
            ng.numpy.add(*operands)


def test_a_simple_function_keeps_the_marks_of_a_named_tensor() -> None:
    term = ng.simple.tanh(axes_term())
    assert term.definition.family == "simple"
    assert [a.is_sample for a in term.axes] == [False, True]


def test_a_simple_function_brings_all_its_operands_to_one_order() -> None:
    term = ng.simple.add(axes_term(), numpy_term())
    assert [a.is_sample for a in term.axes] == [False, True]
    np.testing.assert_array_equal(compute(term), VALUE + OTHER)


def test_an_operand_alone_is_refused_with_its_family_and_that_of_the_op() -> None:
    with ng.coercion("error"), pytest.raises(ng.FamilyError, match=r"of another family than numpy, .* \(axes\)"):
        ng.numpy.exp(axes_term())


@pytest.mark.parametrize(("family", "shape"), [("numpy", (3, 4)), ("simple", (3, ng.simple.N))])
def test_a_function_of_names_says_whose_positions_are_read(family: str, shape: tuple[Any, ...]) -> None:
    x = getattr(ng, family).placeholder(shape) if family == "simple" else ng.placeholder(shape)
    for function in (ng.sum, ng.softmax, ng.flatten):
        with pytest.raises(ng.FamilyError, match=f"expected named axes, got float32.*\n.*\n.*ng.{family}"):
            function(x)
    with pytest.raises(ng.FamilyError, match=f"use the function of ng.{family} that makes {family}.softmax$"):
        ng.softmax(x)


def test_an_array_beside_names_has_no_axes_to_match_by() -> None:
    with pytest.raises(ng.FamilyError, match=r"ng\.constant"):
        axes_term() + VALUE


def test_an_array_beside_positions_is_a_constant() -> None:
    np.testing.assert_array_equal(compute(numpy_term() + VALUE), OTHER + VALUE)


@drawn(40)
@given(st.permutations(list(LENGTHS)), st.integers(0, 3))
def test_forgetting_and_restoring_labels_is_lossless(order: list[str], count: int) -> None:
    axes = ng.make_axes({name: LENGTHS[name] for name in order[:count]})
    x = ng.placeholder(axes)
    for there in (ng.strip(x), ng.as_simple(x), ng.strip(ng.as_simple(x))):
        back = ng.label(there, axes)
        assert back.type == x.type
        with ng.make_transformer("cpu") as transformer:
            computation = transformer.computation(back, x)
            value = np.arange(float(np.prod(axes.lengths, dtype=int)), dtype=np.float32).reshape(axes.lengths)
            np.testing.assert_array_equal(computation(value), value)
            (kernel,) = computation.stats()["kernels"]  # coercions move nothing: what is given back is copied as it is
            assert kernel.startswith("copy_") and computation.stats()["layout_copies"] == 0


VARIABLES = {
    "axes": lambda value: ng.variable(NAMED, initial_value=value),
    "simple": lambda value: ng.simple.variable((3, ng.simple.N(2)), initial_value=value),
    "numpy": lambda value: ng.variable((3, 2), initial_value=value),
}


@pytest.mark.parametrize("own", VARIABLES)
@pytest.mark.parametrize("of", VARIABLES)
@pytest.mark.parametrize("value", [OTHER, np.ones((3, 2))])
def test_inside_coercion_error_a_variable_holds_terms_of_its_own_family(own: str, of: str, value: Array) -> None:
    term = {"axes": lambda: ng.constant(value, NAMED), "numpy": lambda: ng.constant(value)}.get(of, lambda: None)()
    terms = [FAMILIES[of]() * 1, *([] if term is None else [term])]
    with ng.coercion("error"):
        for one in terms:
            if own == of:
                assert compute(VARIABLES[own](one)).tolist() == compute(one).tolist()
            else:
                with pytest.raises(ng.FamilyError, match=r"coercions are errors here\n.*test_coercion\.py"):
                    VARIABLES[own](one)


@pytest.mark.parametrize("own", VARIABLES)
def test_inside_coercion_error_a_variable_holds_arrays_and_numbers(own: str) -> None:
    with ng.coercion("error"):
        for value in (OTHER, OTHER.tolist(), 2.0, ng.constant(2.0), lambda axes: OTHER):
            assert VARIABLES[own](value).shape == (3, 2)
        variable = VARIABLES[own](None)
        assert compute(ng.sequential([ng.assign(variable, OTHER), variable])).tolist() == OTHER.tolist()


def test_inside_coercion_error_a_term_of_another_family_is_not_assigned() -> None:
    variable = VARIABLES["simple"](None)
    assert ng.assign(variable, numpy_term()).definition.name == "core.assign"
    with ng.coercion("error"), pytest.raises(ng.FamilyError, match="coercions are errors here"):
        ng.assign(variable, numpy_term())


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ng.AttributeValueError, match=r"(?s)test_coercion.py.*insert, error"):
        ng.coercion("maybe")  # before anything is done inside
