# SPDX-License-Identifier: Apache-2.0
"""The fuzzer finds a planted wrong rule, makes a tiny program of it, names the rule, and saves what fails when run."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.cli import main
from ngraph_rewrite.testing import Program, WrongProgram, program_of
from ngraph_rewrite.testing.fuzz.minimising import minimised, weight
from ngraph_rewrite.testing.fuzz.session import EVERY, Session
from ngraph_rewrite.testing.fuzz.smaller import smaller
from ngraph_rewrite.testing.programs.dump import dump
from ngraph_rewrite.testing.strategies.drafts.growing import numbered_program, reached
from ngraph_rewrite.testing.whole.lowered import Setup, setup_of
from ngraph_rewrite.testing.whole.processes import Elsewhere
from ngraph_rewrite.testing.whole.suite import ASKED, wrong_in

PLANTED = {
    "self": "rule self: x - x => x",
    "turn": "rule turn @real: transpose(transpose(x, perm=p), perm=q) => reshape(x, shape=self.shape)",
    "sign": "rule sign @real: x * y + z => x * y - z\n    if is_float(x.dtype)",
}
# From which program on it is looked for: those before do not meet it.
FIRST = {"self": 108, "turn": 380, "sign": 0}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_wrong_rule_is_found_and_named_and_made_small(name: str, tmp_path: Path) -> None:
    file = tmp_path / "my.rules"
    file.write_text(f"simplify semi\n\n{PLANTED[name]}\n")
    session = Session(setup_of(file), tmp_path, kinds=["values"], seconds=10)
    others = Elsewhere()  # no process is started where none is asked
    for number in range(FIRST[name], 600):
        session.check(number, others)
        if session.failures:
            break
    (failure,) = session.failures
    assert failure.step is not None
    assert str(failure.step.why) == f"my.{name} ({file}:3)"
    assert f"one of my.{name} ({file}:3)" in str(failure)
    program = saved_program(failure.path)
    assert len([t for t in program.handles if t.args]) <= 3
    assert sum(a.size for call in program.calls for a in call) <= 20  # two along most axes, in both operands of one op


def saved_program(path: Path) -> Program:
    """What is in a saved file, which fails when it is run."""
    with pytest.raises(WrongProgram):
        runpy.run_path(str(path))
    build = path.with_suffix(".build.py")
    build.write_text("".join(line for line in path.open() if not line.startswith("assert_right(")))
    program: Program = runpy.run_path(str(build))["program"]
    return program


def test_what_is_like_an_earlier_failure_is_counted_only(tmp_path: Path) -> None:
    session = Session(setup_of(f"simplify semi\n{PLANTED['sign']}"), tmp_path, kinds=["values"], seconds=2)
    assert session.run(None, 15) == 15
    assert len(session.failures) == 1
    assert session.again > 0
    assert session.verdict(15).startswith("15 programs of seed 0, 15 checks: 1 is wrong (and ")


def test_the_same_failure_has_the_same_name(tmp_path: Path) -> None:
    names = []
    for folder in ("one", "other"):
        setup = setup_of(f"simplify semi\n{PLANTED['sign']}")
        session = Session(setup, tmp_path / folder, kinds=["values"], seconds=60)
        session.run(None, 6)
        names.append([f.path.name for f in session.failures])
    assert names[0] == names[1]
    assert names[0]
    assert all(name.startswith("fuzz-values-") for name in names[0])


def test_the_library_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--programs", "3", "--seed", "12", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1].startswith("3 programs of seed 12, ")
    assert said.out.endswith(" checks: nothing is wrong\n")
    assert said.err == ""  # there is a line of progress on a terminal only
    assert not list(tmp_path.iterdir())


def test_the_command_fails_where_something_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "my.rules"
    file.write_text(f"simplify semi\n\n{PLANTED['sign']}\n")
    options = [
        "--programs",
        "3",
        "--seed",
        "4",
        "--rules",
        str(file),
        "--output",
        str(tmp_path / "found"),
        "--family",
        "semi",
        "--check",
        "values",
    ]
    assert main(["fuzz", *options]) == 1
    (saved,) = (tmp_path / "found").glob("fuzz-*.py")
    out = capsys.readouterr().out
    assert str(saved) in out
    assert "1 is wrong" in out.splitlines()[-1]
    saved_program(saved)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--family", "nothing"], "no ops to draw in the family nothing"),
        (["--rules", "none.rules"], "none.rules"),
        (["--check", "nothing"], "no check of programs is called nothing"),
        (["--output", f"{__file__}/found"], "give --output a folder that can be written"),  # in what is no folder
    ],
)
def test_a_wrong_option_is_said(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--programs", "1", *options]) == 1
    assert says in capsys.readouterr().err


def test_each_check_is_made_of_some_programs() -> None:
    """What needs a GPU only if it is asked for."""
    for session, kinds in ((Session(Setup()), {*EVERY} - ASKED), (Session(Setup(), kinds=["cuda"]), {"cuda"})):
        assert {kind for number in range(60) for kind, _ in session._checks(number)} == kinds


@pytest.mark.cuda
def test_programs_are_run_on_a_gpu_if_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
    assert main(["fuzz", "--programs", "1", "--check", "cuda", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 program of seed 0, 1 check: nothing is wrong"


# -- minimising -------------------------------------------------------------------------------------


def test_a_program_shrinks_to_what_makes_it_fail() -> None:
    """Any program with a maximum is said to fail: what is left is one maximum of small leaves."""
    setup = Setup()
    x = ng.placeholder({"N": None, "H": 3}, "float64", name="x")
    v = ng.variable({"H": 3}, "float64", initial_value=[1.0, 2.0, 3.0])
    long = ng.sequential([ng.assign(v, v * 2), ng.maximum(ng.tanh(x + v), ng.exp(x)) * 3])
    program = program_of([ng.sum(long, out_axes=[]), x * 2], {x: [np.full((2, 3), 0.3), np.full((4, 3), 7.0)]})
    small = minimised(program, lambda p: "axes.maximum" in reached(p.returns), setup)
    assert [t.definition.name for t in small.handles if t.args] == ["axes.maximum"]
    assert len(small.calls) == 1
    assert all(a.size <= 1 and not a.any() for a in small.calls[0])


def test_no_smaller_program_has_a_length_that_nothing_tells() -> None:
    x = ng.placeholder((None,), "float64")
    places = ng.make_op("semi.iota", shape=x.shape, axis=0, dtype="int64")
    program = program_of([x + ng.numpy.astype(places, "float64")], {x: [np.ones(3)]})
    assert all(p.inputs or "semi.iota" not in reached(p.returns) for p in smaller(program, Setup()))


def test_nothing_is_smaller_than_a_program_that_does_not_fail_otherwise() -> None:
    program = numbered_program(0, 3)
    assert minimised(program, lambda p: False, Setup(), seconds=2) is program


@pytest.mark.parametrize("number", range(6))
def test_smaller_programs_are_programs(number: int) -> None:
    """They can be computed, and are right as the one they come from."""
    setup, program = Setup(), numbered_program(4, number, steps=2)
    candidates = [p for p in smaller(program, setup) if weight(p) < weight(program)]
    assert candidates
    for candidate in candidates[:: max(1, len(candidates) // 12)]:
        assert wrong_in(candidate, "values", setup) is None
        assert dump(candidate.returns)
