# SPDX-License-Identifier: Apache-2.0
"""The benchmark of GPUs: workloads are right where torch can say so, and without a GPU there are no figures."""

from __future__ import annotations

import importlib.util
from argparse import Namespace
from collections.abc import Callable

import pytest

from benchmarks import cuda
from benchmarks.cuda import chosen_problems, every_problem, standing
from benchmarks.cuda_timing import Row, interleaved, off
from benchmarks.harness import OURS
from ngraph_rewrite.errors import DeviceError

SMALL = 6
WITH_TORCH = importlib.util.find_spec("torch") is not None


def test_on_the_host_ours_and_torch_give_the_answer_of_torch_in_float64() -> None:
    for name, make in every_problem(SMALL, "cpu").items() if WITH_TORCH else ():
        problem = make()
        answer = problem.answer()
        assert problem.name == name
        for engine in (OURS, "torch"):
            made = problem.engines[engine]()
            assert off(made.show(made.run()), answer, problem.tolerance) == "", (name, engine)
            made.close()


def test_workloads_are_chosen_by_a_regular_expression() -> None:
    chosen = Namespace(only="gemm_.*_bf16", size=None, peers="torch,cupy")
    assert {name.rpartition("_")[2] for name in chosen_problems(chosen)} == {"bf16"}
    assert {"call", "tanh_1GB", "mlp", "cnn", "transformer"} <= set(every_problem())


@pytest.mark.parametrize(("only", "peers"), [("nothing", None), (None, "numpy")])
def test_what_there_is_not_is_refused(only: str | None, peers: str | None) -> None:
    with pytest.raises(SystemExit):
        chosen_problems(Namespace(only=only, size=None, peers=peers))


def test_without_a_gpu_there_are_no_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise DeviceError("there is no driver")

    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.setattr(cuda, "find_device", missing)
    monkeypatch.setattr("sys.argv", ["benchmarks.cuda"])
    cuda.main()
    assert capsys.readouterr().out == "no figures: there is no driver\n"


def test_a_simulated_gpu_gives_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    assert cuda.why_not() == "the GPU is simulated"


def test_engines_take_turns_and_short_ones_repeat() -> None:
    calls = list[str]()

    def clock(run: Callable[[], object], repeats: int) -> float:
        for _ in range(repeats):
            run()
        return {"short": 1e-3, "long": 1.0}[calls[-1]]

    runs = {name: lambda name=name: calls.append(name) for name in ("short", "long")}
    times = interleaved(runs, clock, seconds=0.02)
    assert times == {"short": [1e-3] * 5, "long": [1.0] * 5}
    assert calls[12:19] == ["short"] * 6 + ["long"]


def test_the_worst_for_us_come_first() -> None:
    rows = [Row("a", OURS, 1.0), Row("a", "torch", 2.0), Row("b", OURS, 3.0), Row("b", "torch", 2.0)]
    rows += [Row("b", "cupy", 4.0), Row("c", OURS, 1.0), Row("d", "torch", 1.0)]
    assert list(standing(rows)) == ["b: 1.50 of the time of torch", "a: 0.50 of the time of torch"]


def test_a_row_says_what_is_not_known() -> None:
    assert str(Row("a", "torch", 1.0, 0.1, 2.0, 0.5)) == "a, torch, 1.000e+00, 0.10, 2.00, 0.50"
    assert str(Row("a", "cupy", note="failed: no")) == "a, cupy, -, -, -, -, failed: no"
