# SPDX-License-Identifier: Apache-2.0
"""Every check of a whole program holds for drawn ones, and finds the fault that is planted for it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import ngraph_rewrite as ng
from ngraph_rewrite.computation import Computation
from ngraph_rewrite.errors import InvalidHandleError
from ngraph_rewrite.targets.reference import ReferenceExecutable
from ngraph_rewrite.testing import Program, WrongProgram, assert_right, program_of
from ngraph_rewrite.testing.strategies import programs
from ngraph_rewrite.testing.strategies.drafts.growing import FAMILIES, numbered_program
from ngraph_rewrite.testing.whole import running
from ngraph_rewrite.testing.whole.checks import not_repeatable, shown, subsets, wrong_without_rules
from ngraph_rewrite.testing.whole.lowered import LOWERED, LoweredProgram, Setup, setup_of
from ngraph_rewrite.testing.whole.processes import Elsewhere, not_portable
from ngraph_rewrite.testing.whole.steps import first_wrong_step, lifted
from ngraph_rewrite.testing.whole.suite import CHECKS, wrong_in
from ngraph_rewrite.transformer import Transformer

QUICKLY = settings(
    max_examples=10, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
WITHOUT_COMPILING = [kind for kind in CHECKS if kind not in ("cpu", "cuda", "processes")]
SELF = "simplify semi\nrule self: x - x => x"


@pytest.fixture(scope="module")
def setup() -> Setup:
    return Setup()


def difference_of_itself() -> Program:
    x = ng.placeholder({"H": 2}, "float64", name="x")
    return program_of([x * 1 - x], {x: [np.array([1.0, 2.0])]})


def counter() -> Program:
    """A variable that each call adds its argument to."""
    x = ng.placeholder([], "float64", name="x")
    v = ng.variable([], "float64", initial_value=1.0, name="v")
    before = ng.value_of(v)
    last = ng.sequential([before, ng.assign(v, v + x), before * 10 + v])
    return program_of([last], {x: [np.array(2.0), np.array(3.0)]})


# -- right programs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WITHOUT_COMPILING)
def test_drawn_programs_are_right(kind: str, setup: Setup) -> None:
    @QUICKLY
    @given(programs())
    def check(program: Program) -> None:
        assert wrong_in(program, kind, setup) is None

    check()


def test_drawn_programs_are_right_without_rules(setup: Setup) -> None:
    for number, off in enumerate(subsets(setup, 3)):
        for program in (numbered_program(6, 3 * i + number) for i in range(6)):
            assert wrong_without_rules(program, setup, off) is None


def test_drawn_programs_are_right_on_cpu(setup: Setup) -> None:
    for number in (0, 1, 3, 4):
        assert wrong_in(numbered_program(8, number, steps=3), "cpu", setup) is None


def test_drawn_programs_are_the_same_in_other_processes(setup: Setup) -> None:
    with Elsewhere() as others:
        for number in range(8):
            drawn = {"seed": 9, "number": number, "families": list(FAMILIES)}
            program = numbered_program(9, number)
            assert others.differs(program, setup, drawn) is None
            assert others.differs(program, setup) is None


def test_the_state_goes_from_call_to_call(setup: Setup) -> None:
    lowered = LoweredProgram(counter(), setup)
    (v,) = lowered.lowering.sequenced.final
    assert [float(s[v.attribute("uid")]) for s in lowered.states()] == [1.0, 3.0]
    assert all(wrong_in(counter(), kind, setup) is None for kind in WITHOUT_COMPILING)


# -- planted faults ---------------------------------------------------------------------------------


def test_a_wrong_value_is_found_with_both_values(setup: Setup) -> None:
    wrong = wrong_in(difference_of_itself(), "values", setup_of(SELF))
    assert wrong is not None
    assert wrong.says == "axes.subtract(axes.multiply(x, 1.0), x) is not what it was lowered to, in call 0"
    assert wrong.shown == "meaning float64 [0., 0.]\nlowered float64 [1., 2.]"


def test_a_wrong_write_is_found_although_nothing_of_it_is_returned(setup: Setup) -> None:
    x = ng.placeholder([], "float64", name="x")
    v = ng.variable([], "float64", name="v")
    program = program_of([ng.doall([ng.assign(v, x - x)])], {x: [np.array(2.0)]})
    wrong = wrong_in(program, "values", setup_of(SELF))
    assert wrong is not None
    assert "assign" in wrong.says


def test_assert_right_says_what_is_wrong_and_disabling_the_rule_mends_it() -> None:
    with pytest.raises(WrongProgram, match=r"^values: axes.subtract"):
        assert_right(difference_of_itself(), "values", rules=SELF)
    assert_right(difference_of_itself(), "disabled", off=["rules.self"], rules=SELF)


def test_what_a_handle_writes_is_compared_by_itself_and_values_as_their_classes_demand() -> None:
    """A sum of nothing that is written is 0, and ``0 - x`` is ``-x``, which is another zero where `x` is one."""
    x = ng.placeholder({"H": 2}, "float64", name="x")
    empty = ng.placeholder({"E": 0}, "float64", name="empty")
    written = ng.assign(ng.variable({"E": 0}, "float64", name="v"), empty)
    total = ng.sum(written, out_axes=[]) - x
    assert_right(program_of([total], {x: [np.array([0.0, 1.0])], empty: [np.zeros(0)]}), "values")


def test_an_error_of_lowering_is_a_failure(setup: Setup) -> None:
    lowering = [r.name for r in setup.rules if r.left.definition.name == "axes.subtract"]
    wrong = wrong_in(difference_of_itself(), "values", Setup(setup.rules.without(lowering)))
    assert wrong is not None
    assert wrong.error == "UnloweredOpError"


def test_a_normal_form_that_is_lowered_further_is_found() -> None:
    x = ng.placeholder({"H": 2}, "float64", name="x")
    program = program_of([ng.sign(x)], {x: [np.array([1.0, 2.0])]})
    wrong = wrong_in(program, "idempotent", setup_of("recognize semi\nrule late @real: sign(x) => x * x"))
    assert wrong is not None
    assert "rules.late (<rules>:2)" in wrong.says


class Fickle(Setup):
    """Lowers with other rules every second time."""

    turn = 0

    @property
    def passes(self) -> Any:  # type: ignore[override]
        self.turn += 1
        return (Setup() if self.turn % 2 else setup_of(SELF)).passes


def test_two_lowerings_that_differ_are_found() -> None:
    wrong = not_repeatable(difference_of_itself(), Fickle())
    assert wrong is not None
    assert wrong.says == "lowering the same graph twice gives two results"


def test_ctrl_c_is_for_the_process_that_asks_others() -> None:
    with Elsewhere(["1"]) as others:
        others.ask({"seed": 9, "number": 0, "families": list(FAMILIES), "rules": None})
        (process,) = others._processes
        assert os.getsid(process.pid) != os.getsid(0)


def test_another_lowering_in_another_process_is_found(setup: Setup) -> None:
    wrong = not_portable(difference_of_itself(), replace(setup_of(SELF), own=None))
    assert wrong is not None
    assert wrong.says == "a process with the hash seed 0 lowers it to something else"


class OffByOne(ReferenceExecutable):
    """Stores results that are larger by one."""

    def run(self, inputs: Any, results: Any, call: int) -> None:
        super().run(inputs, results, call)
        for array in results:
            array += 1


class Forgetful(ReferenceExecutable):
    """Does not store what is written."""

    def run(self, inputs: Any, results: Any, call: int) -> None:
        kept = {uid: array.copy() for uid, array in self.program.storage.items()}
        super().run(inputs, results, call)
        for uid, array in kept.items():
            np.copyto(self.program.storage[uid], array)


@pytest.mark.parametrize("executable", [OffByOne, Forgetful])
@pytest.mark.parametrize(("kind", "target"), [("cpu", "CPU"), ("reference", "REFERENCE")])
def test_a_target_that_computes_something_else_is_found(
    kind: str, target: str, executable: Any, setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, target, replace(LOWERED, prepare=executable))
    wrong = wrong_in(counter(), kind, setup)
    assert wrong is not None
    assert wrong.kind == kind
    assert "in call 0" in wrong.says


def test_a_handle_with_another_value_is_found(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    value = Computation.value
    monkeypatch.setattr(Computation, "value", lambda self, op, again=False: value(self, op, again) + 1)
    wrong = wrong_in(difference_of_itself(), "handles", setup)
    assert wrong is not None
    assert "its meaning is" in wrong.says


def test_a_handle_of_which_no_reason_is_said_is_found(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    def value(self: Computation, op: ng.Op, recompute: bool = False) -> Any:
        raise InvalidHandleError("no")

    monkeypatch.setattr(Computation, "value", value)
    wrong = wrong_in(difference_of_itself(), "handles", setup)
    assert wrong is not None
    assert "it is only said: no" in wrong.says


def test_a_state_that_is_not_restored_is_found(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Transformer, "restore", lambda self, path: None)
    wrong = wrong_in(counter(), "restored", setup)
    assert wrong is not None
    assert "after save and restore" in wrong.says


def test_a_rule_that_only_others_make_right_is_found() -> None:
    """Of two wrong rules each undoes what the other did; one alone is found by disabling the other."""
    two = "simplify semi\nrule up: sqrt(exp(x)) => exp(exp(x))\nrule down: exp(exp(x)) => exp(x)"
    x = ng.placeholder([], "float64", name="x")
    program = program_of([ng.sqrt(ng.exp(x))], {x: [np.array(1.0)]})
    wrong = wrong_without_rules(program, setup_of(two), ["rules.down"])
    assert wrong is not None
    assert (wrong.kind, wrong.off) == ("disabled", ("rules.down",))


# -- the first step that differs --------------------------------------------------------------------


def test_the_first_step_that_differs_names_the_rule_and_both_values() -> None:
    setup = setup_of(SELF)
    step = first_wrong_step(difference_of_itself(), setup)
    assert step is not None
    assert str(step.why) == "rules.self (<rules>:2)"
    assert step.step.before.definition.name == "semi.subtract"
    np.testing.assert_array_equal(step.before, [0.0, 0.0])
    np.testing.assert_array_equal(step.after, [1.0, 2.0])
    assert "x - x => x" in str(step)


def test_a_right_program_has_no_step_that_differs(setup: Setup) -> None:
    assert first_wrong_step(numbered_program(0, 4), setup) is None


def test_a_wrong_step_inside_of_a_scan_is_found_and_lifted_out() -> None:
    xs = ng.placeholder({"REC": 3}, "float64", name="xs")
    last, _ = ng.scan(lambda s, x: (s + (x - x), s), ng.constant(1.0, dtype="float64"), xs, axis=xs.axes[0])
    program, setup = program_of([last], {xs: [np.arange(1.0, 4.0)]}), setup_of(SELF)
    step = first_wrong_step(program, setup)
    assert step is not None
    assert step.why.name == "rules.self"
    small = lifted(program, step)
    assert wrong_in(small, "values", setup) is not None
    assert all("scan" not in t.definition.name for t in small.handles)


def test_large_arrays_are_shown_in_part() -> None:
    assert shown(np.array([1.5, np.nan])) == "float64 [1.5, nan]"
    assert "..." in shown(np.zeros(100))
