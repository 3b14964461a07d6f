# SPDX-License-Identifier: Apache-2.0
"""The benchmark of functions: errors are told in units in the last place, and a broken promise fails the run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks import functions
from benchmarks.functions import BLOCK, errors, every_single, sampled


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_an_error_counts_the_numbers_between(steps: int) -> None:
    right = np.array([1.5, -1e-40, 3e38])
    found = (right.astype(np.float32).view(np.int32) + steps).view(np.float32)
    off, bad = errors(found, right)
    assert np.all(abs(off - steps) <= 0.5) and bad == 0


@pytest.mark.parametrize(
    "found, right, bad",
    [(np.nan, 1.0, 1), (np.inf, 1.0, 1), (1.0, np.nan, 1), (0.0, -0.0, 1), (-0.0, -0.0, 0), (np.nan, np.nan, 0)],
)
def test_what_is_special_or_has_a_sign_is_counted(found: float, right: float, bad: int) -> None:
    assert errors(np.float32([found]), np.array([right]))[1] == bad


def test_every_number_of_float32_is_taken() -> None:
    blocks = every_single()
    first, second = next(blocks).view(np.uint32), next(blocks).view(np.uint32)
    assert first[0] == 0 and np.all(np.diff(first) == 1) and second[0] == first[-1] + 1 == BLOCK
    assert 2**32 % BLOCK == 0


def run(*words: str) -> None:
    sys.argv = ["functions", *words]
    functions.main()


def test_a_run_has_a_row_for_each_function(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(functions, "SAMPLE", 2**12)
    monkeypatch.setattr(functions, "every_single", lambda: [sampled("float32", 2**12)])
    file = tmp_path / "rows.json"
    run("--only", "exp", "--json", str(file))
    rows = json.loads(file.read_text())
    assert [(row["function"], row["dtype"], row["bad"]) for row in rows] == [
        ("exp", "float32", 0),
        ("exp", "float64", 0),
    ]
    assert all(0.4 < row["ulp"] <= functions.BOUND for row in rows)
    assert capsys.readouterr().out.splitlines()[1].startswith("exp, float32, ")


@pytest.mark.parametrize("broken", [lambda x: np.exp(x) * (1 + 1e-6), lambda x: np.where(x < 0, np.nan, np.exp(x))])
def test_a_broken_promise_fails_the_run(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[[np.ndarray], np.ndarray]
) -> None:
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(functions, "every_single", lambda: [sampled("float32", 2**10)])
    monkeypatch.setattr(functions, "truth", lambda name, operands: broken(*operands))
    with pytest.raises(SystemExit, match="exp of float32 breaks its promise"):
        run("--only", "exp", "--dtype", "float32")
