# SPDX-License-Identifier: Apache-2.0
"""Transformers and computations as their users meet them, on every target."""

from __future__ import annotations

import errno
import gc
import hashlib
import io
import json
import re
import sys
import threading
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite import preparation
from ngraph_rewrite.preparation import MOST_PLANS

H, W, N = ng.Axis("H", 2), ng.Axis("W", 3), ng.Axis("N")
Batch = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(params=ng.transformer_choices())
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def transformer(target: str) -> Iterator[ng.Transformer]:
    with ng.make_transformer(target) as made:
        yield made


@pytest.fixture
def x() -> ng.Op:
    return ng.placeholder([H, N], name="x")


def counter(start: float = 0.0, name: str = "w") -> tuple[ng.Op, ng.Op]:
    """A variable, and a term that adds 1 to it and gives its new value."""
    w = ng.variable([H], initial_value=start, name=name)
    return w, ng.sequential([ng.assign(w, w + 1), w])


# -- making one -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "abacus"}, "no target is called 'abacus'"),
        ({"classes": ["exact", "sloppy"]}, "not all classes"),
        ({"disabled": ["semi.no_such_rule"]}, "no rule is called semi.no_such_rule"),
        ({"seed": -1}, "the seed is -1"),
        ({"seed": 2**63}, "the seed is"),
        ({"seed": True}, "the seed is True"),
        ({"seed": 1.5}, "the seed is 1.5"),
        ({"name": None}, "None is no target"),
        ({"name": ["cpu"]}, r"\['cpu'\] is no target"),
        ({"classes": None}, "classes is None"),
        ({"classes": [["exact"]]}, r"classes is \[\['exact'\]\]"),
        ({"disabled": None}, "disabled is None"),
        ({"disabled": 3}, "disabled is 3"),
        ({"disabled": [None]}, "None is not the name of a rule"),
        ({"rules": 3}, "3 is no rules"),
        ({"rules": ""}, "'' is no rules"),
        ({"rules": b"semi.rules"}, "b'semi.rules' is no rules"),
        ({"rules": "semi\0.rules"}, "is no rules, and no path"),
        ({"passes": None}, "passes is None"),
        ({"passes": "lower"}, "'lower' is not a pass"),
        ({"sample": np.zeros(2)}, "sample is array"),
        ({"recurrent": "middle"}, "recurrent is 'middle'"),
        ({"cache": "folder"}, "cache is 'folder'"),
        ({"threads": "2"}, "the number of threads is '2'"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ng.ArgumentError, match=message):
        ng.make_transformer(**wrong)


def test_a_disabled_rule_does_not_fire() -> None:
    v = ng.variable([H], initial_value=2.0)
    y = ng.log(ng.exp(v))
    with ng.make_transformer("cpu", disabled=["semi.log_exp"]) as without, ng.make_transformer("cpu") as full:
        kept, fired = without.computation(y), full.computation(y)
        assert kept().tolist() == fired().tolist() == [2.0, 2.0]
        assert "log_exp" in fired.explain(y)
        assert "log_exp" not in kept.explain(y)


# -- calling ----------------------------------------------------------------------------------------


def test_arguments_are_taken_in_the_order_of_the_inputs(transformer: ng.Transformer) -> None:
    a, b = ng.placeholder([], name="a"), ng.placeholder([], name="b")
    computation = transformer.computation(a - b, b, a)
    assert computation(1.0, 10.0) == 9.0
    assert computation(feed_dict={a: 10.0, b: 1.0}) == 9.0
    assert computation.inputs == [b, a]


def test_all_inputs_are_in_the_order_in_which_they_are_met(transformer: ng.Transformer) -> None:
    a, b = ng.placeholder([], name="a"), ng.placeholder([], name="b")
    assert transformer.computation(a - b, "all")(10.0, 1.0) == 9.0


def test_results_have_the_structure_of_what_is_returned(transformer: ng.Transformer, x: ng.Op) -> None:
    Pair = namedtuple("Pair", "one two")
    returns = {"a": [x + 1, None], "b": (x, Pair(x * 2, ng.doall([])))}
    found = transformer.computation(returns, x)(Batch)
    assert found["a"][0].tolist() == (Batch + 1).tolist()
    assert found["a"][1] is None
    assert found["b"][1].one.tolist() == (Batch * 2).tolist()
    assert found["b"][1].two is None


@pytest.mark.parametrize(
    "value",
    [
        Batch.astype(">f4"),
        Batch.astype(np.float64),
        Batch.astype(np.int64),
        np.asfortranarray(Batch),
        Batch.tolist(),
        Batch[:, ::-1][:, ::-1],
    ],
    ids=["byte order", "double", "integers", "column-major", "lists", "reversed twice"],
)
def test_values_are_cast_and_copied_where_need_be(transformer: ng.Transformer, x: ng.Op, value: Any) -> None:
    assert transformer.computation(x + 1, x)(value).tolist() == (Batch + 1).tolist()


def test_unaligned_arguments_are_read_right(transformer: ng.Transformer, x: ng.Op) -> None:
    raw = np.zeros(Batch.nbytes + 1, np.uint8)[1:]
    raw[:] = np.frombuffer(Batch.tobytes(), np.uint8)
    assert transformer.computation(x + 1, x)(raw.view(np.float32).reshape(2, 3)).tolist() == (Batch + 1).tolist()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "0 arguments for 1 inputs"),
        ((Batch, Batch), "2 arguments for 1 inputs"),
        ((Batch[0],), "has shape \\(3,\\)"),
        ((np.zeros((3, 3), np.float32),), "has shape \\(3, 3\\)"),
        ((Batch.astype(complex),), "complex128 does not cast to float32"),
        (("text",), "does not cast"),
        ((None,), "does not cast|cannot be taken"),
        ((np.ma.masked_greater(Batch, 1),), "(?s)some of its elements are masked.*filled"),
        (([[1.0], [2.0, 3.0]],), "cannot be taken"),
    ],
)
def test_wrong_arguments_are_refused(
    transformer: ng.Transformer, x: ng.Op, args: tuple[Any, ...], message: str
) -> None:
    computation = transformer.computation(x + 1, x)
    with pytest.raises(ng.ComputationError, match=message):
        computation(*args)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int64", 2.5), ("bool", 2), ("bool", 0.5), ("uint8", 300), ("uint8", -1), ("int8", 2**70), ("int64", [1.5])],
)
def test_no_number_is_truncated(transformer: ng.Transformer, dtype: str, value: Any) -> None:
    p = ng.placeholder([ng.Axis("H", 1)] if isinstance(value, list) else [], dtype)
    with pytest.raises(ng.ComputationError):
        transformer.computation(p, p)(value)


def test_a_wrong_feed_dict_is_refused(transformer: ng.Transformer, x: ng.Op) -> None:
    computation = transformer.computation(x + 1, x)
    other = ng.placeholder([], name="other")
    with pytest.raises(ng.ComputationError, match="other is no input"):
        computation(feed_dict={x: Batch, other: 1.0})
    with pytest.raises(ng.ComputationError, match="x is missing"):
        computation(feed_dict={})
    with pytest.raises(ng.ComputationError, match="both arguments and feed_dict"):
        computation(Batch, feed_dict={x: Batch})
    for wrong in ("x", 3, [(x, Batch)]):
        with pytest.raises(ng.ComputationError, match=r"feed_dict is a \w+\n.*\n  give {placeholder: value"):
            computation(feed_dict=wrong)  # type: ignore[arg-type]
    with pytest.raises(ng.ComputationError, match="(?s)'x' is no input, x is missing.*give {placeholder: value"):
        computation(feed_dict={"x": Batch})  # type: ignore[dict-item]


def test_a_call_takes_no_values_by_other_names(transformer: ng.Transformer, x: ng.Op) -> None:
    computation = transformer.computation(x + 1, x)
    for call in (computation, computation.entry(Batch.shape), computation.step):
        with pytest.raises(ng.ComputationError, match="(?s)nothing by the name x\n.*feed_dict={placeholder"):
            call(x=Batch)  # type: ignore[call-arg]


def test_an_unknown_length_is_one_number_in_a_call(transformer: ng.Transformer, x: ng.Op) -> None:
    y = ng.placeholder([N], name="y")
    computation = transformer.computation(x + y, x, y)
    assert computation(Batch, np.ones(3)).shape == (2, 3)
    assert computation(Batch[:, :1], np.ones(1)).shape == (2, 1)
    with pytest.raises(ng.ComputationError, match="N is 3 in one argument and 2 in another"):
        computation(Batch, np.ones(2))


def test_an_axis_may_be_of_a_multiple_of_an_unknown_length(transformer: ng.Transformer) -> None:
    n = ng.Length.symbol("n")
    x = ng.placeholder((4 * n,), name="x")
    computation = transformer.computation(ng.numpy.sum(ng.numpy.reshape(x, (n, 4)), axis=1), x)
    assert [computation(np.ones(k)).tolist() for k in (8, 4)] == [[4, 4], [4]]
    with pytest.raises(ng.ComputationError, match=r"x has shape \(6,\), its axes are Axes\(4\*n\)"):
        computation(np.ones(6))


def test_a_product_of_lengths_is_solved_once_the_others_are_known(transformer: ng.Transformer) -> None:
    n, m = ng.Length.symbol("n"), ng.Length.symbol("m")
    x, y = ng.placeholder((m * n,), name="x"), ng.placeholder((n,), name="y")
    computation = transformer.computation(ng.numpy.sum(ng.numpy.reshape(x, (m, n)) + y, axis=1), x, y)
    assert computation(np.ones(6), np.ones(3)).tolist() == [6, 6]
    with pytest.raises(ng.ComputationError, match=r"x has shape \(7,\), its axes are"):
        computation(np.ones(7), np.ones(3))


def test_a_length_that_no_argument_solves_is_told(transformer: ng.Transformer) -> None:
    n, m = ng.Length.symbol("n"), ng.Length.symbol("m")
    for length, says in (
        (m * n, r"says what m and n are, of which m\*n is 6"),
        (n // 2, r"says what n is, of which \(n //"),
    ):
        x = ng.placeholder((length,), name="x")
        with pytest.raises(ng.ComputationError, match=rf"(?s){says}.*add an argument with an axis of length"):
            transformer.computation(ng.numpy.sum(x), x)(np.ones(6))


def test_a_length_no_argument_shows_is_an_error(transformer: ng.Transformer) -> None:
    with pytest.raises(ng.LengthError):
        transformer.computation(ng.broadcast(ng.constant(1.0), [N]))()


def test_results_may_be_empty(transformer: ng.Transformer, x: ng.Op) -> None:
    total, products = transformer.computation((ng.sum(x, out_axes=[H]), ng.dot(x, x + 1)), x)(np.zeros((2, 0)))
    assert (total.tolist(), products) == ([0.0, 0.0], 0.0)
    assert transformer.computation(ng.tanh(x), x)(np.zeros((2, 0))).shape == (2, 0)


def test_a_nan_is_no_length() -> None:
    with pytest.raises((ng.LengthError, ng.AxesError, ng.ArgumentError)):
        ng.Axis("H", float("nan"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (lambda x, v: (), "the placeholder x is needed"),
        (lambda x, v: (x, v), "v is no placeholder"),
        (lambda x, v: (x, x), "listed twice"),
        (lambda x, v: (x, "N"), "'N' is no placeholder"),
    ],
)
def test_wrong_inputs_are_refused(
    transformer: ng.Transformer, x: ng.Op, inputs: Callable[..., Any], message: str
) -> None:
    v = ng.variable([], name="v")
    with pytest.raises(ng.ComputationError, match=message):
        transformer.computation(x + v, *inputs(x, v))


def test_only_terms_can_be_computed(transformer: ng.Transformer) -> None:
    with pytest.raises(ng.ComputationError, match="something of the type float cannot be computed"):
        transformer.computation([1.5])


def test_what_is_kept_is_a_list_of_terms(transformer: ng.Transformer, x: ng.Op) -> None:
    with pytest.raises(ng.ArgumentError, match="keep is None\n.*\n  give a list of ops"):
        transformer.computation(x, x, keep=None)  # type: ignore[arg-type]
    with pytest.raises(ng.ComputationError, match="3 is not an op"):
        transformer.computation(x, x, keep=[3])  # type: ignore[list-item]
    with pytest.raises(ng.ComputationError, match=r"array\(\[0., 0.\]\) is no placeholder"):
        transformer.computation(x, np.zeros(2))


def test_only_variables_are_read_and_written(transformer: ng.Transformer, x: ng.Op) -> None:
    for wrong, shown in ((None, "None"), ("w", "'w'"), (x, "x")):
        with pytest.raises(ng.InvalidHandleError, match=f"{shown} is no variable of this transformer"):
            transformer.get(wrong)
        with pytest.raises(ng.InvalidHandleError, match=f"{shown} is no variable of this transformer"):
            transformer.set(wrong, 1.0)


def test_only_terms_have_meanings_and_only_steps_are_taken_again(transformer: ng.Transformer, x: ng.Op) -> None:
    computation = transformer.computation(x, x)
    computation(Batch)
    with pytest.raises(ng.ArgumentError, match="3 is not a term"):
        computation.meaning(3)
    with pytest.raises(ng.ArgumentError, match="3 is not a step"):
        computation.step_again(3)


# -- results ----------------------------------------------------------------------------------------


def test_results_are_fresh_arrays(transformer: ng.Transformer, x: ng.Op) -> None:
    """Also what is returned twice, an input, a view of one, a variable and a constant."""
    w = ng.variable([H], initial_value=1.0)
    y = x + 1
    returns = (y, y, x, x, ng.axes_with_order(x, ["N", "H"]), w, ng.constant([1.0, 2.0], [H]), w)
    argument = Batch.copy()
    computation = transformer.computation(returns, x)
    first, second = computation(argument), computation(argument)
    arrays = [argument, *first, *second]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
    for result in first:
        result += 100
    assert [r.tolist() for r in computation(argument)] == [r.tolist() for r in second]
    assert argument.tolist() == Batch.tolist()


def test_results_are_written_into_out(transformer: ng.Transformer, x: ng.Op) -> None:
    y = x * 2
    computation = transformer.computation({"a": (y, y), "b": x + 1}, x)
    memory = np.empty((2, 3), np.float32)
    found = computation(Batch, out={"a": (None, memory)})
    assert found["a"][1] is memory
    assert found["a"][0].tolist() == memory.tolist() == (Batch * 2).tolist()
    assert found["b"].tolist() == (Batch + 1).tolist()


def test_out_may_be_an_input(transformer: ng.Transformer, x: ng.Op) -> None:
    computation = transformer.computation((ng.axes_with_order(x, ["N", "H"]) + 1, x * 3), x)
    memory = np.arange(4, dtype=np.float32).reshape(2, 2)
    transposed, tripled = computation(memory, out=(memory, None))
    assert transposed is memory
    assert (transposed.tolist(), tripled.tolist()) == ([[1.0, 3.0], [2.0, 4.0]], [[0.0, 3.0], [6.0, 9.0]])


def read_only() -> np.ndarray[Any, Any]:
    array = np.empty((2, 3), np.float32)
    array.setflags(write=False)
    return array


@pytest.mark.parametrize(
    "out",
    [np.empty((2, 3)), np.empty((3, 2), np.float32), np.empty((3, 2), np.float32).T, read_only(), [[0.0] * 3] * 2, 5.0],
    ids=["dtype", "shape", "column-major", "read-only", "lists", "number"],
)
def test_wrong_memory_is_refused(transformer: ng.Transformer, x: ng.Op, out: Any) -> None:
    computation = transformer.computation(x * 2, x)
    with pytest.raises(ng.ComputationError, match="out"):
        computation(Batch, out=out)


def test_memory_for_two_results_is_refused(transformer: ng.Transformer, x: ng.Op) -> None:
    computation = transformer.computation((x * 2, x + 1), x)
    memory = np.empty((4, 3), np.float32)
    with pytest.raises(ng.ComputationError, match="share memory"):
        computation(Batch, out=(memory[:2], memory[1:3]))
    with pytest.raises(ng.ComputationError, match="structure"):
        computation(Batch, out=(memory[:2],))
    doubled, _ = computation(Batch, out=(memory[:2], memory[2:]))
    assert doubled.tolist() == (2 * Batch).tolist()


# -- state ------------------------------------------------------------------------------------------


def test_computations_share_state(transformer: ng.Transformer) -> None:
    """Also one that is added after others have run."""
    w, step = counter()
    stepping = transformer.computation(step)
    stepping()
    reading = transformer.computation(w * 10)
    assert reading().tolist() == [10.0, 10.0]
    stepping()
    assert reading().tolist() == [20.0, 20.0]


def test_transformers_share_nothing(target: str) -> None:
    w, step = counter()
    with ng.make_transformer(target) as one, ng.make_transformer(target) as other:
        one.computation(step)()
        assert other.computation(w)().tolist() == [0.0, 0.0]


def test_variables_are_read_and_written_from_outside(transformer: ng.Transformer) -> None:
    w, step = counter(5.0)
    computation = transformer.computation(step)
    assert transformer.get(w).tolist() == [5.0, 5.0]
    transformer.set(w, [1.0, 2.0])
    assert computation().tolist() == [2.0, 3.0]
    held = transformer.get(w)
    held += 100
    assert transformer.get(w).tolist() == [2.0, 3.0]
    transformer.initialize()
    assert computation().tolist() == [6.0, 6.0]
    with pytest.raises(ng.ComputationError, match="shape"):
        transformer.set(w, [1.0, 2.0, 3.0])
    with pytest.raises(ng.InvalidHandleError, match="v is no variable of this transformer"):
        transformer.get(ng.variable([], name="v"))
    with pytest.raises(ng.InvalidHandleError):
        transformer.get(w + 1)


def test_variables_are_allocated_once(transformer: ng.Transformer) -> None:
    asked = []
    w = ng.variable([H], initial_value=lambda axes: asked.append(axes) or np.arange(2.0))
    computation = transformer.computation(w + 1)
    assert not asked
    transformer.allocate()
    assert asked == [w.axes]
    assert computation().tolist() == computation().tolist() == [1.0, 2.0]
    assert len(asked) == 1


def test_an_initial_value_that_does_not_fit_is_an_error(transformer: ng.Transformer) -> None:
    w = ng.variable([H], initial_value=lambda axes: np.zeros(3), name="w")
    computation = transformer.computation(w)
    with pytest.raises(ng.ComputationError, match="the initial value of w does not fit"):
        computation()


@pytest.mark.parametrize(
    ("dtype", "given", "message"),
    [
        ("float32", 1j, "1j cannot be a constant of float32"),
        ("float32", "3", "'3' cannot be a constant of float32"),
        ("int32", 1.5, "it would be rounded"),
        ("float32", np.zeros(1), r"initial_value has the shape \(1,\)"),
    ],
)
def test_what_a_function_gives_is_held_to_what_is_given(dtype: str, given: Any, message: str) -> None:
    with pytest.raises((ng.AxesError, ng.DTypeError), match=message):
        ng.variable([H], dtype, initial_value=given)
    w = ng.variable([H], dtype, initial_value=lambda axes: given)
    with ng.make_transformer("reference") as transformer:
        with pytest.raises(ng.ComputationError, match=message):
            transformer.computation(w)()


# -- saving -----------------------------------------------------------------------------------------


@pytest.fixture
def saved(transformer: ng.Transformer, tmp_path: Path) -> tuple[ng.Transformer, ng.Op, Any, Path]:
    """A transformer that was saved after two steps and has made a third."""
    w, step = counter()
    computation = transformer.computation((step, ng.uniform([H])))
    computation(), computation()
    transformer.save(tmp_path / "state.npz")
    return transformer, w, computation, tmp_path / "state.npz"


def test_restoring_goes_back_to_when_it_was_saved(saved: tuple[ng.Transformer, ng.Op, Any, Path]) -> None:
    """Variables and draws alike."""
    transformer, w, computation, path = saved
    third = computation()
    computation()
    transformer.restore(path)
    assert transformer.get(w).tolist() == [2.0, 2.0]
    assert [r.tolist() for r in computation()] == [r.tolist() for r in third]


class Cycle:
    """What only the garbage collector finds."""

    def __init__(self, thing: object) -> None:
        self.itself, self.thing = self, thing


@pytest.mark.parametrize("how", ["plans", "collector"])
def test_functions_that_nobody_knows_draw_by_the_restored_seed(
    target: str, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a plan that was dropped for others, and of a computation that the garbage collector has found."""
    monkeypatch.setattr(preparation, "MOST_TERMS", 0)
    x = ng.placeholder([ng.Axis("N")])
    draws = x + ng.uniform(x.axes)
    zeros = [np.zeros(length, np.float32) for length in range(2, 4 + MOST_PLANS)]
    with ng.make_transformer(target, seed=7) as other:
        wanted = other.computation(draws, x)(zeros[0])
        other.initialize()
        other.save(tmp_path / "state.npz")
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(draws, x)
        computation(zeros[0])
        call = computation.__call__
        if how == "plans":
            for array in zeros:
                computation(array)
        else:
            computation = Cycle(computation)
            del computation
            gc.collect()
            call(zeros[0])
        transformer.restore(tmp_path / "state.npz")
        assert call(zeros[0]).tolist() == wanted.tolist()


def test_another_process_can_restore(saved: tuple[ng.Transformer, ng.Op, Any, Path], target: str) -> None:
    """The same model built again, with another seed."""
    _, _, computation, path = saved
    third = computation()
    _, step = counter()
    with ng.make_transformer(target, seed=99) as again:
        rebuilt = again.computation((step, ng.uniform([H])))
        again.restore(path)
        assert [r.tolist() for r in rebuilt()] == [r.tolist() for r in third]


def test_a_saved_file_is_a_plain_npz(saved: tuple[ng.Transformer, ng.Op, Any, Path]) -> None:
    with np.load(saved[3], allow_pickle=False) as file:
        assert file["v0"].tolist() == [2.0, 2.0]


def test_a_damaged_file_is_refused_and_changes_nothing(
    saved: tuple[ng.Transformer, ng.Op, Any, Path], tmp_path: Path
) -> None:
    """Cut short anywhere, or with any byte flipped."""
    transformer, w, _, path = saved
    transformer.set(w, 7.0 * np.ones(2))
    whole = path.read_bytes()
    flipped = [whole[:i] + bytes([whole[i] ^ 0x10]) + whole[i + 1 :] for i in range(0, len(whole), 13)]
    cut = [whole[:i] for i in range(0, len(whole), 64)]
    damaged = tmp_path / "damaged.npz"
    for data in [*cut, *flipped, whole + b"\0"]:
        damaged.write_bytes(data)
        with pytest.raises(ng.SaveFileError, match="damaged"):
            transformer.restore(damaged)
    assert transformer.get(w).tolist() == [7.0, 7.0]


@pytest.mark.parametrize(
    "variables",
    [[("w", [H]), ("v", [H])], [("v", [H])], [("w", [W])], []],
    ids=["more", "another name", "other axes", "none"],
)
def test_a_file_of_another_model_is_refused(saved: Any, target: str, variables: list[Any]) -> None:
    with ng.make_transformer(target) as other:
        made = [ng.variable(axes, name=name, initial_value=1.0) for name, axes in variables]
        if made:
            other.computation(made)
        with pytest.raises(ng.SaveFileError, match="another model"):
            other.restore(saved[3])
        assert all((other.get(v) == 1).all() for v in made)


@pytest.fixture
def three(tmp_path: Path, target: str) -> tuple[Path, Any]:
    """A file of three variables with names, and how to build some of them anew."""

    def built(names: str) -> list[ng.Op]:
        return [ng.variable([H], name=name, initial_value=0.0) for name in names]

    with ng.make_transformer(target) as transformer:
        every = built("abc")
        transformer.computation(every)
        for number, one in enumerate(every):
            transformer.set(one, np.full(2, number, np.float32))
        transformer.save(tmp_path / "three.npz")
    return tmp_path / "three.npz", built


@pytest.mark.parametrize(("names", "part"), [("abc", False), ("cab", False), ("ca", True), ("b", True), ("", True)])
def test_variables_are_told_by_their_names(three: tuple[Path, Any], target: str, names: str, part: bool) -> None:
    path, built = three
    with ng.make_transformer(target) as transformer:
        variables = built(names)
        if variables:
            transformer.computation(variables)
        transformer.restore(path, part)
        assert [transformer.get(v).tolist() for v in variables] == [["abc".index(n)] * 2 for n in names]


@pytest.mark.parametrize(
    ("names", "part", "advice"),
    [("ca", False, "or with part=True"), ("abcd", True, "before restoring$"), ("aa", True, "before restoring$")],
)
def test_other_variables_are_refused_by_their_names(
    three: tuple[Path, Any], target: str, names: str, part: bool, advice: str
) -> None:
    path, built = three
    with ng.make_transformer(target) as transformer:
        variables = built(names)
        transformer.computation(variables)
        with pytest.raises(ng.SaveFileError, match=f"(?s)another model.*{advice}"):
            transformer.restore(path, part)
        assert all((transformer.get(v) == 0).all() for v in variables)


def test_variables_without_names_are_told_by_their_order(target: str, tmp_path: Path) -> None:
    """Of two that are alike nothing else tells which is which."""
    with ng.make_transformer(target) as transformer:
        every = [ng.variable([H], initial_value=value) for value in (1.0, 2.0)]
        transformer.computation(every)
        transformer.save(tmp_path / "two.npz")
    with ng.make_transformer(target) as transformer:
        every = [ng.variable([H], initial_value=0.0) for _ in range(2)]
        transformer.computation(every[:1])
        with pytest.raises(ng.SaveFileError, match="another model"):
            transformer.restore(tmp_path / "two.npz", part=True)
        transformer.computation(every)
        transformer.restore(tmp_path / "two.npz")
        assert [transformer.get(v).tolist() for v in every] == [[1.0, 1.0], [2.0, 2.0]]


HEADER = {"format": 1, "seed": 0, "calls": 1, "variables": [{"name": n, "type": "float32[H:2]"} for n in "wv"]}
ARRAY = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("header", "arrays", "message"),
    [
        (HEADER, {"v0": ARRAY, "v1": np.ones(3, np.float32)}, r"float32\[3\] for float32\[H:2\]"),
        (HEADER, {"v0": ARRAY, "v1": np.float32(1)}, r"float32\[\] for float32\[H:2\]"),
        (HEADER, {"v0": ARRAY, "v1": np.ones(1)}, r"float64\[1\] for float32\[H:2\]"),
        (HEADER, {"v0": ARRAY, "v1": ARRAY.astype(">f4")}, r">f4\[2\] for float32\[H:2\]"),
        (HEADER, {"v0": ARRAY}, "v1 is not a file"),
        (HEADER | {"seed": -1}, {"v0": ARRAY, "v1": ARRAY}, "a seed of -1"),
        (HEADER | {"calls": "x"}, {"v0": ARRAY, "v1": ARRAY}, "invalid literal"),
        (HEADER | {"format": 2}, {}, "is of format 2, not 1"),
        (HEADER | {"variables": [3]}, {}, "is no saved state"),
        ([], {}, "is no saved state"),
    ],
)
def test_a_whole_file_that_says_something_else_is_refused_and_changes_nothing(
    transformer: ng.Transformer, tmp_path: Path, header: Any, arrays: dict[str, Any], message: str
) -> None:
    w, v = (ng.variable([H], initial_value=5.0, name=name) for name in "wv")
    transformer.computation([w, v])()
    memory = io.BytesIO()
    np.savez(memory, header=np.array(json.dumps(header)), **arrays)
    sealed = memory.getvalue()[:-2] + (64).to_bytes(2, "little")
    (tmp_path / "state.npz").write_bytes(sealed + hashlib.sha256(sealed).hexdigest().encode())
    with pytest.raises(ng.SaveFileError, match=message):
        transformer.restore(tmp_path / "state.npz")
    assert transformer.get(w).tolist() == transformer.get(v).tolist() == [5.0, 5.0]


@pytest.mark.parametrize("path", [None, 3, "", "state\0.npz", b"state.npz", ["state.npz"]])
def test_what_is_no_path_is_refused(saved: tuple[ng.Transformer, ng.Op, Any, Path], path: Any) -> None:
    for save_or_restore in (saved[0].save, saved[0].restore):
        with pytest.raises(ng.ArgumentError, match="path is "):
            save_or_restore(path)


def test_a_missing_file_is_missing(transformer: ng.Transformer, tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"(?s)none\.npz cannot be read.*test_transformer\.py.*save first"
    ) as found:
        transformer.restore(tmp_path / "none.npz")
    assert isinstance(found.value, ng.MissingFileError) and found.value.filename == str(tmp_path / "none.npz")
    with pytest.raises(ng.UnreadableFileError, match="is a directory|Is a directory"):
        transformer.restore(tmp_path)


def test_an_old_file_stays_until_the_new_one_is_whole(saved: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    transformer, _, _, path = saved
    before = path.read_bytes()

    def fails(*args: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(OSError, match="disk full"):
        transformer.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_where_no_file_can_be_written_nothing_is_left_behind(saved: Any, tmp_path: Path) -> None:
    transformer, *_, path = saved
    before = path.read_bytes()
    (tmp_path / "folder").mkdir()
    cases = {
        tmp_path / "none" / "a.npz": (FileNotFoundError, f"make the folder {tmp_path / 'none'} first"),
        tmp_path / "folder": (IsADirectoryError, "give the path of a file"),
        path / "a.npz": (NotADirectoryError, "save to another folder"),
        tmp_path / ("a" * 300): (OSError, "save to another folder"),
    }
    for wanted, (cause, advice) in cases.items():
        with pytest.raises(ng.SaveFileError, match=rf"^{re.escape(str(wanted))} cannot be written: ") as found:
            transformer.save(wanted)
        error = found.value
        assert isinstance(error, OSError) and isinstance(error.__cause__, cause)
        assert error.do.startswith(advice) and "test_transformer.py" in error.where
        assert error.errno == error.__cause__.errno and error.filename == str(wanted)
    assert path.read_bytes() == before and {*tmp_path.rglob("*")} == {path, tmp_path / "folder"}


def test_a_folder_that_may_not_be_written_is_told_by_the_path_that_was_given(
    saved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The administrator may write everywhere: so the system's answer stands in for such a folder."""

    def forbidden(dir: Path, prefix: str) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(dir / f"{prefix}xyz"))

    monkeypatch.setattr("tempfile.mkstemp", forbidden)
    with pytest.raises(ng.UnwritableFileError, match=r"b\.npz cannot be written: Permission denied\n") as found:
        saved[0].save(tmp_path / "b.npz")
    assert "xyz" not in str(found.value)


# -- closing ----------------------------------------------------------------------------------------


def test_a_closed_transformer_refuses_everything(target: str, tmp_path: Path) -> None:
    w, step = counter()
    with ng.make_transformer(target) as transformer:
        computation = transformer.computation(step)
        computation()
    transformer.close()
    uses: list[Callable[[], Any]] = [
        computation,
        lambda: computation.value(step),
        lambda: computation.value(w),
        computation.stats,
        computation.source,
        lambda: transformer.computation(w),
        lambda: transformer.get(w),
        lambda: transformer.set(w, 1.0),
        transformer.allocate,
        transformer.initialize,
        lambda: transformer.save(tmp_path / "state"),
        lambda: transformer.restore(tmp_path / "state"),
        transformer.__enter__,
    ]
    for use in uses:
        with pytest.raises(ng.ClosedError):
            use()


def test_an_error_inside_the_block_closes_too(target: str) -> None:
    with pytest.raises(ZeroDivisionError), ng.make_transformer(target) as transformer:
        raise ZeroDivisionError
    with pytest.raises(ng.ClosedError):
        transformer.computation(ng.constant(1.0))


# -- memory -----------------------------------------------------------------------------------------


def rows_of(x: ng.Op) -> ng.Op:
    return ng.softmax(ng.tanh(x), normalization_axes=[H])


def update_of(x: ng.Op) -> ng.Op:
    v = ng.variable([H], initial_value=ng.uniform(ng.constant(1.0, axes=[H])))
    return ng.sequential([ng.assign(v, v + ng.sum(x, reduction_axes=[N])), v])


def products_of(x: ng.Op) -> ng.Op:
    w = ng.constant(np.ones((2, 3)), axes=[H, W])
    return ng.deriv(ng.sum(ng.tanh(ng.dot(x, w)), out_axes=[]), x)


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("of", [rows_of, update_of, products_of], ids=lambda of: of.__name__)
def test_what_is_dropped_goes_without_the_garbage_collector(target: str, of: Callable[[ng.Op], ng.Op]) -> None:
    """Who does not know how large an arena is, and comes when he likes."""

    def watched() -> list[weakref.ref[Any]]:
        x = ng.placeholder([H, N], name="x")
        transformer = ng.make_transformer(target)
        computation = transformer.computation(of(x), x)
        computation(Batch)
        computation(Batch[:, :2])
        ready = computation._prepared.latest
        assert ready is not None and transformer.computations == [computation]
        lowering = computation.lowering
        things = [transformer, computation, ready, ready.executable, lowering, lowering.table, lowering.roots[0]]
        return [weakref.ref(thing) for thing in things]

    watched()  # what is kept for others of this kind
    assert [seen() for seen in watched()] == [None] * 7


def test_a_transformer_keeps_no_computation_and_closes_those_there_are(target: str, x: ng.Op) -> None:
    with ng.make_transformer(target) as transformer:
        first, second = (transformer.computation(x + number, x) for number in (1, 2))
        entry = transformer.computation(x + 3, x).entry((2, 3))
        assert first(Batch).sum() == 21 and entry(Batch).sum() == 33 and entry(Batch[:, :1]).sum() == 9
        del first
        assert transformer.computations[0] is second
    with pytest.raises(ng.ClosedError):
        second(Batch)
    with pytest.raises(ng.ClosedError):
        entry(Batch)


# -- threads ----------------------------------------------------------------------------------------


def test_threads_may_call_at_once(transformer: ng.Transformer, x: ng.Op) -> None:
    w, step = counter()
    squares, stepping = transformer.computation(x * x, x), transformer.computation(step)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            stepping()
            if not (squares(np.full((2, 1 + number), number)) == number * number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert transformer.get(w).tolist() == [200.0, 200.0]


def test_computations_are_listed_while_others_are_made(transformer: ng.Transformer, x: ng.Op) -> None:
    over = threading.Event()

    def make() -> None:
        while not over.is_set():
            ages = [next(transformer._ages) for _ in range(100)]
            for age in ages:
                transformer._computations[age] = computation
            for age in ages:
                del transformer._computations[age]

    computation, interval = transformer.computation(x, x), sys.getswitchinterval()
    thread = threading.Thread(target=make)
    thread.start()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            assert {*transformer.computations} == {computation}
    finally:
        over.set()
        sys.setswitchinterval(interval)
        thread.join()


# -- asking -----------------------------------------------------------------------------------------


def test_what_was_returned_or_kept_has_a_value(transformer: ng.Transformer, x: ng.Op) -> None:
    inner = ng.exp(x)
    y = inner + 1
    computation = transformer.computation(y, x, keep=[inner])
    result = computation(Batch)
    assert computation.value(y).tolist() == result.tolist()
    np.testing.assert_allclose(computation.value(inner), np.exp(Batch), rtol=1e-6)  # a few ulps of float32
    assert computation.value(x).tolist() == Batch.tolist()


def test_views_of_arguments_of_results_and_of_constants_have_values(transformer: ng.Transformer) -> None:
    x = ng.placeholder([H, W], name="x")
    y = ng.exp(x)
    known = ng.constant(np.arange(6.0), [ng.Axis("K", 6)]) * 2
    turned, part = (ng.axes_with_order(t, ng.make_axes([W, H])) for t in (x, y))
    row, tail = part[1], known[1:]
    computation = transformer.computation([y, tail, ng.sum(known, out_axes=[])], x, keep=[turned, part, row])
    result = computation(Batch)[0]
    assert computation.value(turned).tolist() == Batch.T.tolist()
    assert computation.value(part).tolist() == result.T.tolist()
    assert computation.value(row).tolist() == result[:, 1].tolist()
    assert computation.value(tail).tolist() == [2, 4, 6, 8, 10]
    result[:] = 0  # what was changed since shows
    assert computation.value(y).tolist() == result.tolist()


def test_a_value_is_a_copy(transformer: ng.Transformer, x: ng.Op) -> None:
    y = x + 1
    computation = transformer.computation(y, x)
    result = computation(Batch)
    value = computation.value(y)
    assert not np.shares_memory(value, result)


def test_there_is_no_value_before_a_call(transformer: ng.Transformer, x: ng.Op) -> None:
    y = x + 1
    computation = transformer.computation(y, x)
    with pytest.raises(ng.InvalidHandleError, match="nothing has run yet"):
        computation.value(y)
    with pytest.raises(ng.InvalidHandleError, match="nothing has run"):
        computation.stats()
    with pytest.raises(ng.InvalidHandleError, match="nothing has run"):
        computation.source()


def test_a_foreign_handle_has_no_value(transformer: ng.Transformer, x: ng.Op) -> None:
    computation = transformer.computation(x + 1, x)
    computation(Batch)
    with pytest.raises(ng.InvalidHandleError, match="not part of this computation"):
        computation.value(x * 5)
    assert computation.value(x * 5, recompute=True).tolist() == (Batch * 5).tolist()


def test_a_foreign_view_of_an_argument_has_no_value(transformer: ng.Transformer) -> None:
    """Its lengths are those of no call: it failed to be taken, with no word of what is wrong."""
    x = ng.placeholder((None, 4))
    computation = transformer.computation(ng.numpy.sum(x), x)
    computation(np.ones((3, 4), np.float32))
    with pytest.raises(ng.InvalidHandleError, match="not part of this computation"):
        computation.value(ng.numpy.reshape(x, (-1,)))


def test_an_inner_handle_says_where_it_went() -> None:
    x = ng.placeholder([H, N], name="x")
    inner = ng.exp(x)
    with ng.make_transformer("cpu") as transformer:
        fused = transformer.computation(ng.log(inner + 2), x)
        fused(Batch)
        with pytest.raises(ng.InvalidHandleError, match="in registers"):
            fused.value(inner)
        removed = transformer.computation(ng.log(inner), x)
        removed(Batch)
        with pytest.raises(ng.InvalidHandleError, match="log_exp"):
            removed.value(inner)
        for computation in (fused, removed):
            assert computation.value(inner, recompute=True).tolist() == np.exp(Batch).tolist()


def test_an_inner_handle_of_reference_is_part_of_it() -> None:
    x = ng.placeholder([H, N], name="x")
    inner = ng.exp(x)
    with ng.make_transformer("reference") as transformer:
        computation = transformer.computation(ng.log(inner), x)
        computation(Batch)
        with pytest.raises(ng.InvalidHandleError) as caught:
            computation.value(inner)
        assert "not part" not in str(caught.value)
        assert computation.value(inner, recompute=True).tolist() == np.exp(Batch).tolist()


def test_what_read_an_overwritten_variable_cannot_be_recomputed(transformer: ng.Transformer) -> None:
    w, step = counter()
    inner = w * 3
    computation = transformer.computation((step, inner + 1))
    computation()
    with pytest.raises(ng.InvalidHandleError, match="w was written since"):
        computation.value(inner, recompute=True)


def test_draws_are_recomputed_the_same(transformer: ng.Transformer) -> None:
    u = ng.uniform([H], dtype="float64")
    computation = transformer.computation(u * 2 + 1)
    result = computation()
    assert (computation.value(u, recompute=True) * 2 + 1).tolist() == result.tolist()


def test_a_computation_tells_about_itself(transformer: ng.Transformer, x: ng.Op) -> None:
    y = ng.tanh(x) + 1
    computation = transformer.computation(y, x)
    computation(Batch)
    assert "tanh" in computation.explain(y)
    assert "tanh" in computation.source()
    assert computation.stats()["plans"] == 1
    assert "x" in repr(computation)
    assert transformer.name in repr(transformer)


# -- draws ------------------------------------------------------------------------------------------


def draws(target: str, seed: int = 0, calls: int = 3, dtype: str = "float32") -> list[np.ndarray[Any, Any]]:
    """A uniform and a normal draw in each of some calls."""
    axes = [ng.Axis("H", 501)]
    with ng.make_transformer(target, seed=seed) as transformer:
        both = transformer.computation((ng.uniform(axes, -1.0, 3.0, dtype), ng.normal(axes, 1.0, 2.0, dtype)))
        return [r for _ in range(calls) for r in both()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_targets_draw_the_same(dtype: str) -> None:
    """Normal draws pass through log and cos, whose last bits are the library's."""
    reference, cpu = draws("reference", dtype=dtype), draws("cpu", dtype=dtype)
    for i, (a, b) in enumerate(zip(reference, cpu, strict=True)):
        if i % 2 == 0:
            assert a.tobytes() == b.tobytes()
        else:
            np.testing.assert_allclose(b, a, rtol=8 * np.finfo(a.dtype).eps, atol=8 * np.finfo(a.dtype).eps)


def test_every_call_and_every_op_draws_anew(target: str) -> None:
    """And every seed; the same seed draws the same."""
    first, same, other = draws(target), draws(target), draws(target, seed=1)
    assert [r.tolist() for r in first] == [r.tolist() for r in same]
    distinct = [r[0] for r in first + other]
    assert len({float(v) for v in distinct}) == len(distinct)


def test_initialize_begins_the_draws_anew(transformer: ng.Transformer) -> None:
    computation = transformer.computation(ng.uniform([H]))
    first = computation()
    assert computation().tolist() != first.tolist()
    transformer.initialize()
    assert computation().tolist() == first.tolist()


def test_a_draw_is_one_value_in_a_call(transformer: ng.Transformer) -> None:
    u = ng.uniform([H])
    one, zero = transformer.computation((u, u - u))()
    assert zero.tolist() == [0.0, 0.0]
    assert ((one >= 0) & (one < 1)).all()


def test_plans_for_many_lengths_are_bounded_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan that was used longest ago is dropped; asking for it again makes it anew."""
    monkeypatch.setattr(preparation, "MOST_TERMS", 0)
    x = ng.placeholder([ng.Axis("N")])
    with ng.make_transformer("cpu") as transformer:
        double = transformer.computation(x + x, x)
        for length in [*range(MOST_PLANS + 3), 0, 1]:
            assert np.array_equal(double(np.ones(length, np.float32)), np.full(length, 2.0))
        assert double.stats()["plans"] == MOST_PLANS


def test_a_term_of_a_lowering_is_no_handle() -> None:
    x = ng.placeholder([H])
    with ng.make_transformer("cpu") as one, ng.make_transformer("cpu") as other:
        lowered = one.computation(x + 1, x).lowering.roots[0]
        with pytest.raises(ng.ComputationError, match="is a term of a lowering, not a handle"):
            other.computation(lowered + 1, x)


@pytest.mark.parametrize("nothing", [None, [], {}, ()])
def test_nothing_cannot_be_computed(nothing: Any) -> None:
    with ng.make_transformer("cpu") as transformer, pytest.raises(ng.ComputationError, match="nothing to compute"):
        transformer.computation(nothing)


def test_only_handles_have_values() -> None:
    x = ng.placeholder([H])
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(x + 1, x)
        for ask in (computation.value, computation.explain):
            with pytest.raises(ng.ComputationError, match="3 is not an op"):
                ask(3)  # type: ignore[arg-type]


def test_one_op_may_be_kept_and_one_rule_disabled() -> None:
    x = ng.placeholder([H])
    inner = ng.exp(x)
    with ng.make_transformer("cpu", disabled="semi.log_exp") as transformer:
        computation = transformer.computation(ng.log(inner), x, keep=inner)
        computation(np.zeros(2, np.float32))
        assert np.array_equal(computation.value(inner), np.ones(2))
    with pytest.raises(ng.ArgumentError, match=r"did you mean semi\.log_exp\?"):
        ng.make_transformer("cpu", disabled="log_exp")


def test_a_rule_file_may_be_given_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.rules"
    path.write_text("simplify semi\nrule even: cos(absolute(x)) => cos(x)\n", encoding="utf-8")
    x = ng.placeholder([H])
    with ng.make_transformer("cpu", rules=path) as transformer:
        y = ng.cos(ng.absolute(x))
        assert "mine.even" in transformer.computation(y, x).explain(y)
    path.write_text("simplify semi\nrule wrong: x + y => y + x\n", encoding="utf-8")
    with pytest.raises(ng.RuleFileError, match="does not go down"):
        ng.make_transformer("cpu", rules=path)


def test_an_inner_handle_says_where_it_is_computed() -> None:
    """Nothing removed it: its label was cancelled, and what is inside became part of a kernel."""
    x, b = ng.placeholder([H, N]), ng.variable([H])
    product = ng.dot(ng.variable([W, H]), x)
    inner = ng.square(x + b)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation([ng.tanh(inner), ng.sum(product)], x)
        computation(np.ones((2, 3), np.float32))
        with pytest.raises(ng.InvalidHandleError, match="it is computed inside the kernel of semi.tanh"):
            computation.value(inner)
        with pytest.raises(ng.InvalidHandleError, match="it is computed by gemm_"):
            computation.value(product)


def test_rules_of_one_s_own_are_tried_before_the_library_s() -> None:
    """As those of packages, and those that `ng.deriv` is given."""
    x = ng.placeholder([H])
    mine = ng.rule("softmax(x, axes=k) => exp(x)", family="axes", kind="lower", name="mine")
    with ng.make_transformer("cpu", rules=mine) as transformer:
        found = transformer.computation(ng.softmax(x), x)(np.zeros(H.length))
    assert found.tolist() == [1.0] * H.length
