# SPDX-License-Identifier: Apache-2.0
"""Drawn programs mix what there is, shrink, print as Python that builds them again, and depend on their seed only."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite.testing import Program, program_of, term
from ngraph_rewrite.testing.programs.dump import dump
from ngraph_rewrite.testing.strategies import programs
from ngraph_rewrite.testing.strategies.drafts.draft import NUMBERS
from ngraph_rewrite.testing.strategies.drafts.growing import drawn_ops, numbered_program, reached
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.lengths import Length

QUICKLY = settings(
    max_examples=12, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def run_source(text: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "program.py"
        file.write_text(text)
        return runpy.run_path(str(file))


def used(program: Program) -> set[str]:
    return reached(program.returns)


# -- what is drawn ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many() -> list[Program]:
    return [numbered_program(0, number) for number in range(120)]


@pytest.mark.parametrize("kind", ["core", "axes", "simple", "numpy", "semi"])
def test_the_programs_mix_ops_of_every_family(many: list[Program], kind: str) -> None:
    assert sum(any(name.startswith(f"{kind}.") for name in used(p)) for p in many) > 10


@pytest.mark.parametrize(
    "name",
    "core.variable core.assign core.sequential core.doall core.after core.value_of core.call axes.scan semi.scan"
    " core.constant core.annotated".split(),
)
def test_there_are_leaves_effects_and_binders(many: list[Program], name: str) -> None:
    assert any(name in used(p) for p in many)


def test_there_are_random_draws_and_unknown_lengths_and_shared_terms(many: list[Program]) -> None:
    terms = [p.handles for p in many]
    assert any("draw" in t.definition.traits for ts in terms for t in ts)
    assert any(isinstance(n, Length) for p in many for x in p.inputs for n in x.shape)
    uses = [sum(a is t for u in ts for a in u.args) for ts in terms[:10] for t in ts if t.args]
    assert max(uses) > 1


def test_an_unknown_length_differs_from_call_to_call(many: list[Program]) -> None:
    lengths = [(p.lengths(0), p.lengths(1)) for p in many if p.inputs and p.lengths(0)]
    assert lengths
    assert all(first != second for first, second in lengths)


def test_wild_numbers_are_at_the_edges_of_their_dtypes() -> None:
    arrays = [a for n in range(2, 60, 3) for call in numbered_program(0, n).calls for a in call if is_float(a.dtype)]
    numbers = np.concatenate([a.astype(np.float64).ravel() for a in arrays])
    assert np.isnan(numbers).any()
    assert np.isinf(numbers).any()
    assert (np.abs(numbers) > 1e30).any()
    assert ((numbers == 0) & np.signbit(numbers)).any()


@pytest.mark.parametrize("family", ["semi", "numpy"])
def test_the_ops_of_steps_come_from_the_families_asked_for(family: str) -> None:
    steps = {d.name for f in ("axes", "simple", "numpy") for d in drawn_ops([f]) if f != family}
    adapters = {"axes.add", "axes.subtract", "axes.multiply", "numpy.add", "numpy.subtract", "numpy.multiply"}
    for number in range(12):
        program = numbered_program(3, number, [family])
        effectful = {"core.assign", "core.call", "core.variable", "core.parameter"} & used(program)
        assert effectful or not (used(program) & steps) - adapters


def test_the_same_numbers_draw_the_same_program(many: list[Program]) -> None:
    for number in (0, 7, 33):
        again = numbered_program(0, number)
        assert dump(again.returns) == dump(many[number].returns)
        assert [[a.tobytes() for a in c] for c in again.calls] == [[a.tobytes() for a in c] for c in many[number].calls]
    assert dump(numbered_program(1, 7).returns) != dump(many[7].returns)


# -- as a strategy ----------------------------------------------------------------------------------


@QUICKLY
@given(programs(numbers=["small"], effects=False, steps=2))
def test_a_strategy_takes_what_it_is_told(program: Program) -> None:
    assert not used(program) & {"core.assign", "core.call", "axes.scan", "semi.scan"}
    assert all((np.abs(a.astype(np.float64)) <= 3).all() for call in program.calls for a in call)


@pytest.mark.parametrize("name", ["core.assign", "numpy."])
def test_programs_shrink_to_few_steps(name: str) -> None:
    some = settings(max_examples=150, database=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
    small = find(programs(), lambda p: any(n.startswith(name) for n in used(p)), settings=some)
    assert sum(t.definition.name.startswith(name) for t in small.handles) <= 3
    assert len(small.handles) <= 40
    assert all(n <= 3 for call in small.calls for a in call for n in a.shape)


# -- as text ----------------------------------------------------------------------------------------


@QUICKLY
@given(programs())
def test_a_program_prints_as_the_python_that_builds_it(program: Program) -> None:
    again: Program = run_source(repr(program))["program"]
    assert dump(again.returns) == dump(program.returns)
    assert len(again.calls) == len(program.calls)
    for call, other in zip(program.calls, again.calls, strict=True):
        for one, two in zip(call, other, strict=True):
            assert (one.dtype, one.shape, one.tobytes()) == (two.dtype, two.shape, two.tobytes())


def test_a_printed_program_has_the_initial_values_of_its_variables() -> None:
    v = ng.variable({"H": 2}, initial_value=[1.0, 2.0], name="v")
    w = ng.variable({"H": 2}, initial_value=v + 1, name="w")
    again: Program = run_source(repr(program_of([w * 3])))["program"]
    with ng.make_transformer("reference") as transformer:
        (found,) = transformer.computation(list(again.returns))()
    np.testing.assert_array_equal(found, [6.0, 9.0])


def test_a_program_takes_only_the_placeholders_it_needs() -> None:
    x, y = ng.placeholder({"H": 2}, name="x"), ng.placeholder({"H": 2}, name="y")
    v = ng.variable({"H": 2}, initial_value=0.0)
    program = program_of([y + v], {x: [np.zeros(2)], y: [np.ones(2)]}, {v: np.ones(2)})
    assert program.inputs == (y,)
    assert [t.info.initial.tolist() for t in program.handles if t.definition.name == "core.variable"] == [[1.0, 1.0]]


@given(st.sampled_from(NUMBERS), st.integers(0, 40))
@settings(max_examples=5, deadline=None, database=None, derandomize=True)
def test_the_dump_tells_structures_apart_and_not_identities(numbers: str, number: int) -> None:
    one, other = numbered_program(5, number), numbered_program(5, number)
    assert one.returns[0] is not other.returns[0]
    assert dump(one.returns) == dump(other.returns)
    assert dump([term("core.strip", r) for r in one.returns if r.rank]) != dump(one.returns)
