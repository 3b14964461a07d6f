# SPDX-License-Identifier: Apache-2.0
"""The demonstration, and the example that is the same program on one screen."""

from __future__ import annotations

import ast
import re
import runpy
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import ngraph_rewrite as ng
from ngraph_rewrite import demo
from ngraph_rewrite.cli import main
from ngraph_rewrite.demo import EPOCHS, build_model

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "digits.py"


def accuracy(out: str) -> float:
    """What the last line says."""
    found = re.fullmatch(r"test accuracy: (\d\.\d{3})", out.splitlines()[-1])
    assert found
    return float(found[1])


def test_the_demonstration_learns_to_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--output", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert accuracy(out) >= 0.97
    assert re.search(r"axes_composite\.relu  \(rules/axes_composite\.rules:\d+\)", out)
    assert re.search(r"^def epilogue_\w+\(args, block, last\):$", out, re.MULTILINE)
    assert re.search(r"^kernels that ran in a training step: .*\d gemm", out, re.MULTILINE)
    assert imread(tmp_path / "new" / "digits.png").shape[:2] == (600, 900)


def test_a_short_demonstration_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--epochs", "1", "--target", "reference", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert 0.5 < accuracy(out) < 1
    assert "every op was interpreted" in out


def test_both_targets_take_the_same_steps() -> None:
    """The same draws, and values that differ by rounding only."""
    model = build_model(np.random.default_rng(0))
    random = np.random.default_rng(1)
    images = random.random((7, 8, 8), np.float32)
    losses = []
    for target in ("cpu", "reference"):
        with ng.make_transformer(target, seed=3) as transformer:
            train = transformer.computation([model.loss, model.step], model.images, model.labels, model.rate)
            losses.append([float(train(images, np.arange(7), 0.01)[0]) for _ in range(3)])
    # Sums of a few hundred float32 products in another order: a relative error of some 1e-6 a step.
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_the_example_is_short_and_uses_public_names() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    imported = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)]
    assert [n.module for n in imported] == ["ngraph_rewrite.digits"]
    used = {n.attr for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "ng"}
    assert used <= set(ng.__all__)


def test_the_example_learns_to_read(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE))
    out = capsys.readouterr().out
    assert out.count("epoch") == EPOCHS
    assert accuracy(out) >= 0.97


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_learnt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["demo", "--output", str(tmp_path / "file")]) == 1
    out, err = capsys.readouterr()
    assert not out and "nothing can be written" in err


def test_without_a_gpu_the_demonstration_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise ng.NGraphRewriteError("there is no GPU to use", do="use the target cpu")

    monkeypatch.setattr(demo, "find_device", missing)
    assert main(["demo", "--target", "cuda"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "ngraph-rewrite demo: there is no GPU to use\n  use the target cpu\n"


@pytest.mark.cuda
def test_on_a_gpu_the_steps_are_those_of_the_reference() -> None:
    """Dropout included: the draws are the same numbers. Sums of a few products of float32 are in another order."""
    images = np.random.default_rng(1).random((5, 8, 8), np.float32)
    losses = []
    for target in ("reference", "cuda"):
        model = build_model(np.random.default_rng(0), hidden=6)
        with ng.make_transformer(target, seed=3) as transformer:
            train = transformer.computation([model.loss, model.step], model.images, model.labels, model.rate)
            losses.append([float(train(images, np.arange(5), 0.01)[0]) for _ in range(2)])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


@pytest.mark.cuda
def test_a_simulated_demonstration_is_small_and_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "find_device", lambda: Namespace(is_real=False))
    assert main(["demo", "--target", "cuda", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("the GPU is simulated")
    assert "16 images of digits to learn from, 16 held out" in out
    assert re.search(r"^kernels that ran in a training step: .*\d gemm", out, re.MULTILINE)
    accuracy(out)
