# SPDX-License-Identifier: Apache-2.0
"""The benchmark of execution: every workload is right on every engine that is there, and a wrong answer is told."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import comparison, compiling, engines, execution, limits, starting
from benchmarks.comparison import TURN, Limits, Made, Row, Task, chosen_engines, compare, interleaved, off
from benchmarks.engines import PACKAGES, installed
from benchmarks.figure import LEFT, WIDTH, figure
from benchmarks.harness import OURS, options
from benchmarks.workloads import FAMILIES, depths, every_task
from benchmarks.workloads.convolutions import by_filters, by_image, convolved
from benchmarks.workloads.networks import cross_entropy
from benchmarks.workloads.pooling import by_pooled, pooled

SMALL = 6
a_while = settings(deadline=None)  # another process may be running
NOTHING = Limits(MappingProxyType({1: 1.0}), 1.0)


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(every_task(SMALL)))
def test_every_engine_that_is_there_gives_the_answer_of_numpy_in_float64(name: str) -> None:
    task = every_task(SMALL)[name]()
    answer = task.answer()
    assert task.name == name and {OURS, "numpy"} <= set(task.engines)
    assert all(np.asarray(a).dtype in (np.float64, np.int64, np.int32) for a in answer)
    for engine in [e for e in task.engines if e.partition(".")[2] != "compile" and "pytensor" not in e]:
        made = task.engines[engine]()
        assert off(made.show(made.run()), answer, task.tolerance) == "", engine


def test_the_names_of_workloads_say_their_sizes_and_are_those_of_their_tasks() -> None:
    assert {"tiny", "tanh_10000", "softmax_64x1000", "argmax_column_8k", "gemm_8x512x512"} <= set(every_task())
    assert len(every_task()) == sum(len(family.tasks(None)) for family in FAMILIES)


# -- the answers -------------------------------------------------------------------------------------------------------

images = st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3), st.sampled_from([4, 6]))


@a_while
@given(images, st.sampled_from([1, 3, 5]), st.integers(0, 100))
def test_a_convolution_is_linear_so_its_derivatives_have_the_same_inner_product(
    shape: tuple[int, int, int, int], window: int, seed: int
) -> None:
    n, c, k, size = shape
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(n, c, size, size)), rng.normal(size=(k, c, window, window))
    d = rng.normal(size=(n, k, size, size))
    value = np.vdot(convolved(x, w), d)
    assert np.isclose(np.vdot(x, by_image(w, d)), value) and np.isclose(np.vdot(w, by_filters(x, d, window)), value)


@a_while
@given(images, st.integers(0, 100))
def test_the_derivative_of_a_pooling_is_at_its_greatest_elements(shape: tuple[int, int, int, int], seed: int) -> None:
    n, c, _, size = shape
    x = np.random.default_rng(seed).normal(size=(n, c, size, size))
    slope = by_pooled(x, np.ones((n, c, size // 2, size // 2)))
    assert np.array_equal(np.sort(x[slope == 1]), np.sort(pooled(x).ravel())) and slope.sum() == pooled(x).size


@a_while
@given(st.integers(1, 4), st.integers(0, 100))
def test_the_cross_entropy_has_the_slope_of_its_differences(batch: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, step, t = rng.normal(size=(batch, 10)), 1e-6 * rng.normal(size=(batch, 10)), np.eye(10)[[3] * batch]
    change = cross_entropy(y + step, t)[0] - cross_entropy(y - step, t)[0]
    assert np.isclose(change, 2 * np.vdot(cross_entropy(y, t)[1], step), rtol=1e-4, atol=1e-12)


# -- comparing ---------------------------------------------------------------------------------------------------------


def made(value: float) -> Made:
    return Made(lambda: np.array([value, 1.0]))


def fails() -> Made:
    raise RuntimeError("no compiler, none at all\nand more")


def test_a_wrong_answer_has_a_row_that_says_so_and_no_times() -> None:
    given = {OURS: lambda: made(1), "numpy": lambda: made(1), "jax": lambda: made(2), "torch": fails}
    rows = {r.engine: r for r in compare(Task("t", lambda: [np.ones(2)], given), None, NOTHING, 0.001)}
    assert [e for e, r in rows.items() if r.wrong] == ["jax"] and rows["jax"].median_s is None
    assert rows["jax"].note == "WRONG: result 0 is off by 1"
    assert rows["torch"].note == "failed: RuntimeError: no compiler; none at all"
    assert rows[OURS].ratio == 1 and rows["numpy"].median_s is not None and rows["numpy"].least_s is not None


def test_ours_has_to_give_an_answer() -> None:
    task = Task("t", lambda: [np.ones(2)], {OURS: fails, "numpy": lambda: made(1)})
    ours, numpy = compare(task, None, NOTHING, 0.001)
    assert ours.wrong and numpy.median_s is not None and numpy.ratio is None


@a_while
@given(st.floats(-1e3, 1e3), st.floats(1e-6, 1e-1))
def test_an_error_is_relative_to_the_largest_number(value: float, tolerance: float) -> None:
    right = np.array([value, 1e3])
    assert off([right + 0.9e3 * tolerance], [right], tolerance) == ""
    assert "off by" in off([right + 1.1e3 * tolerance], [right], tolerance)
    assert "off by nan" in off([right * np.nan], [right], tolerance)


def test_shapes_and_the_number_of_results_are_compared() -> None:
    assert off([np.ones((2, 1))], [np.ones(2)], 1) == "result 0 has the shape (2, 1) instead of (2,)"
    assert off([], [np.ones(2)], 1) == "0 results instead of 1"


def test_a_slow_engine_is_called_once_and_the_others_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(comparison, "settle", lambda: None)
    runs = {name: lambda name=name: calls.append(name) for name in ("a", "b")}
    times = interleaved(runs, seconds=0.0)
    assert [len(t) for t in times.values()] == [5, 5]
    monkeypatch.setattr(comparison, "SLOW", 0.0)
    calls.clear()
    assert [len(t) for t in interleaved(runs, seconds=0.0).values()] == [1, 1] and len(calls) < 6


@pytest.mark.parametrize("busy, looks", [([0.0], 1), ([0.02, 0.02, 0.001], 3), ([0.02] * 80, 50)], ids=str)
def test_an_engine_begins_when_threads_sleep_or_after_so_many_looks(
    monkeypatch: pytest.MonkeyPatch, busy: list[float], looks: int
) -> None:
    times, slept = iter([0.0, *(t for i in range(len(busy)) for t in (sum(busy[: i + 1]),) * 2)]), []
    monkeypatch.setattr(comparison.time, "process_time", lambda: next(times))
    monkeypatch.setattr(comparison.time, "sleep", slept.append)
    comparison.settle()
    assert slept == [comparison.LOOK] * looks


def test_times_are_those_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "settle", lambda: None)
    ticks = count()
    times = interleaved({"a": lambda: None}, 0.7, lambda: next(ticks) / 8)
    assert times == {"a": [1 / 8] * 6}


def test_one_disturbed_call_does_not_make_all_turns_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn of one call each took half an hour for a workload: before each, threads are waited for."""
    now, calls = [0.0], [0]

    def run() -> None:
        calls[0] += 1
        now[0] += TURN if calls[0] <= 2 else TURN / 100  # those that tell how many calls make a turn

    monkeypatch.setattr(comparison, "settle", lambda: None)
    times = interleaved({"a": run}, 20 * TURN, lambda: now[0])
    assert len(times["a"]) < 30


def test_as_many_calls_as_are_counted_go_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has gone from the caches while others had their turns does not count."""
    now, calls = [0.0], [20]

    def run() -> None:
        calls[0] += 1
        now[0] += TURN / 20 * (3 if calls[0] <= 15 else 1)

    monkeypatch.setattr(comparison, "settle", lambda: calls.__setitem__(0, 0))
    times = interleaved({"a": run}, 4 * TURN, lambda: now[0])
    assert times["a"] == pytest.approx([TURN / 20] * len(times["a"]))


def test_variants_of_an_engine_come_with_it() -> None:
    given = dict.fromkeys([OURS, f"{OURS}-fresh", "jax", "jax-nhwc", "torch", "torch.compile"], fails)
    task = Task("t", list, given)
    assert list(chosen_engines(task, ["jax"])) == [OURS, f"{OURS}-fresh", "jax", "jax-nhwc"]
    assert list(chosen_engines(task, ["jax-nhwc", "torch"])) == [OURS, f"{OURS}-fresh", "jax-nhwc", "torch"]
    assert list(chosen_engines(task, [])) == [OURS, f"{OURS}-fresh"]


# -- limits ------------------------------------------------------------------------------------------------------------


@a_while
@given(st.integers(1, 10**9), st.floats(1e-6, 1e3))
def test_the_part_of_a_limit_goes_by_the_nearest_footprint(bytes: int, seconds: float) -> None:
    both = Limits({1000: 2.0, 1_000_000: 1.0}, 4.0)
    rate = 2.0 if bytes < 31622 else 1.0
    assert both.part(seconds, bytes=bytes) == pytest.approx(bytes / seconds / rate)
    assert both.part(seconds, flops=bytes) == pytest.approx(bytes / seconds / 4)
    assert both.part(seconds) is None


def test_limits_are_measured_on_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FOOTPRINTS", [2**16])
    monkeypatch.setattr(limits, "SWEEPS", 1)
    for threads in (1, 3):
        monkeypatch.setattr(limits, "usable_threads", lambda threads=threads: threads)
        found = limits.measured_limits()
        assert found.flops > 0 and found.bandwidth[2**16] > 0


# -- processes of their own --------------------------------------------------------------------------------------------


def test_a_process_tells_what_starting_took() -> None:
    answer = starting.measured(OURS, "tiny")
    assert answer["first"] > 0 and answer["import"] >= 0 and answer["bytes"] >= 0 and "llvmlite" in answer["imported"]
    assert starting.measured(OURS, "equal_2", SMALL)["result"] == starting.measured("numpy", "equal_2", SMALL)["result"]


def test_a_row_is_completed_by_two_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "file").touch()
    found: list[bool] = []

    def asked(row: Row, size: int | None, folder: Path) -> Any:
        kept = folder / "ours" / "kernel"
        found.append(kept.exists() and (folder / "ours" / "file").exists())
        kept.touch()
        return {"import": 0.5, "first": 1.0 if found[-1] else 4.0, "bytes": 3e6}

    monkeypatch.setattr(starting, "_asked", asked)
    row = starting.started(Row("mlp", "jax", 1.0, note="a"), None, tmp_path / "rules")
    assert found == [False, True]
    assert (row.cold_s, row.warm_s, row.peak_mb, row.note) == (4.0, 1.5, 3.0, "a; import 0.50 s")
    monkeypatch.setattr(starting, "_asked", lambda *_: "no such thing")
    assert starting.started(row, None, tmp_path / "rules").note.endswith("alone: no such thing")


def test_every_engine_keeps_what_it_compiles_in_the_folder(tmp_path: Path) -> None:
    folders = [v for k, v in starting.cache_folders(tmp_path).items() if not k.startswith("JAX_PERSISTENT")]
    assert all(str(tmp_path) in folder for folder in folders) and len(set(folders)) == len(folders) == 5


def test_networks_of_all_depths_are_compiled_by_processes_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = {"2": 1.0, "4": 3.0, "8": 6.0}
    monkeypatch.setattr(compiling, "read_rules", lambda folder: None)
    monkeypatch.setattr(
        compiling, "started", lambda row, size, rules: replace(row, cold_s=times[row.workload[-1]], warm_s=1.0)
    )
    rows = compiling.run(options("").parse_args(["--only", "equal_[248]", "--peers", ""]))
    assert [row.workload for row in rows] == ["equal_2", "equal_4", "equal_8"]
    assert "# equal, ngraph_rewrite: cold 1.50 1.00, warm 0.50 0.50" in capsys.readouterr().out
    for wrong in (["--only", "nothing"], ["--peers", "numpy"]):
        with pytest.raises(SystemExit, match="nothing|numpy"):
            compiling.run(options("").parse_args(wrong))


@pytest.mark.parametrize("name", ["equal_4", "unequal_4"])
def test_deep_networks_are_right_on_every_engine(name: str) -> None:
    task = depths.tasks(SMALL)[name]()
    for engine in {OURS, "jax", "torch"} & set(task.engines):
        made = task.engines[engine]()
        assert off(made.show(made.run()), task.answer(), task.tolerance) == "", engine


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_prints_rows_and_writes_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(execution, "cache_folders", lambda folder: {})  # kernels of other tests will do
    monkeypatch.setattr(execution, "measured_limits", lambda: NOTHING)
    file = tmp_path / "rows.json"
    options = "--only tiny|poly_6 --size 6 --peers numpy --seconds 0.01 --processor-time --json".split()
    monkeypatch.setattr(sys, "argv", ["execution", *options, str(file)])
    execution.main()
    lines = capsys.readouterr().out.splitlines()
    said, rows = [x for x in lines if x.startswith("# ")], [x for x in lines if not x.startswith("# ")]
    assert rows[0] == comparison.HEADER and [r.split(", ")[:2] for r in rows[1:]] == [
        ["tiny", OURS],
        ["tiny", "numpy"],
        ["poly_6", OURS],
        ["poly_6", f"{OURS}-fresh"],
        ["poly_6", "numpy"],
    ]
    assert rows[1].endswith("1 launches") and any(f"numpy {np.__version__}" in line for line in said)
    assert len([line for line in said if "of the time of numpy" in line]) == 2
    assert [row["engine"] for row in json.loads(file.read_text(encoding="utf-8"))][:2] == [OURS, "numpy"]


def test_a_wrong_answer_fails_the_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(execution, "rows_of", lambda *_: [Row("mlp", "jax", note="WRONG: off", wrong=True)])
    monkeypatch.setattr(sys, "argv", ["execution", "--only", "mlp"])
    monkeypatch.setattr(execution.os, "environ", {})
    with pytest.raises(SystemExit, match="mlp by jax: WRONG: off"):
        execution.main()
    assert "mlp, jax, -, -, -, -, -, -, -, -, WRONG: off" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [({"only": "tin"}, "no workload is called tin: there are tiny, "), ({"peers": "nobody"}, "nobody is none of")],
)
def test_unknown_names_are_refused(options: dict[str, str], message: str) -> None:
    chosen = Namespace(**{"only": None, "peers": None, "size": None, **options})
    with pytest.raises(SystemExit, match=message):
        execution.chosen_tasks(chosen)
        execution.chosen_peers(chosen)


def test_a_peer_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "missing", lambda: ["torch"])
    with pytest.raises(SystemExit, match="torch-nhwc is not installed: pip install"):
        execution.chosen_peers(Namespace(peers="numpy,torch-nhwc"))
    assert "left out, for want of a package or of a C++ compiler: torch" in list(execution.machine())
    assert set(installed()) <= set(PACKAGES)


def test_torch_compile_is_left_out_where_there_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(engines, "compiler", lambda: "c++")
    assert engines.missing() == []
    monkeypatch.setattr(engines, "compiler", lambda: None)
    assert engines.missing() == ["torch.compile"]


def test_workloads_are_chosen_by_a_regular_expression() -> None:
    found = execution.chosen_tasks(Namespace(only="conv[35]|mlp", size=None))
    assert list(found) == ["conv3", "conv5", "mlp"]


def test_the_standing_has_the_worst_for_us_first_and_the_best_peer() -> None:
    rows = [Row("a", OURS, 2.0, least_s=1.0), Row("a", f"{OURS}-fresh", 0.1, least_s=0.1)]
    rows += [Row("a", "jax", 4.0, least_s=2.0), Row("a", "torch", 8.0, least_s=0.5)]
    rows += [Row("b", OURS, 3.0, least_s=3.0), Row("b", "jax", 1.0, least_s=1.0), Row("c", OURS, 3.0, least_s=3.0)]
    assert list(execution.standing(rows)) == [
        "b: 3.00 of the time of jax (3.00 by the shortest times)",
        "a: 0.50 of the time of jax (2.00 by the shortest times)",
    ]


# -- the picture -------------------------------------------------------------------------------------------------------


@a_while
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b<"]), st.sampled_from([*PACKAGES, "jax-nhwc"]), st.floats(1e-9, 1e9)))
)
def test_the_picture_has_a_mark_for_every_peer_inside_its_bounds(marks: list[tuple[str, str, float]]) -> None:
    rows = [{"workload": w, "engine": e, "ratio": r} for w, e, r in marks]
    circles = ElementTree.fromstring(figure(rows)).findall("{http://www.w3.org/2000/svg}circle")
    shown = [(w, e, r) for w, e, r in marks if not e.startswith(OURS)]
    assert len(circles) == 7 + len(shown)
    assert all(LEFT <= float(c.get("cx", "0")) <= LEFT + WIDTH + 1 for c in circles[7:])
