# SPDX-License-Identifier: Apache-2.0
"""The examples learn what they say, and are the same network in every family, derivatives included."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ngraph_rewrite as ng

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))
lenet, lstm, transformer, training = map(import_module, ("lenet", "lstm", "transformer", "training"))

FAMILIES = ("axes", "simple", "numpy")
# float64, through sums of hundreds of terms, in whatever order a family has them.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}
STEP = 1e-6


class Small:
    """An example with small lengths and float64 weights, and arguments for it."""

    def __init__(self, example: Any, sizes: Mapping[str, int], *arguments: np.ndarray) -> None:
        random = np.random.default_rng(1)
        self.example, self.arguments = example, arguments
        shapes = {n: training.lengths(a, sizes) for n, a in example.AXES.items()}
        self.values = {n: random.normal(size=s) / 2 for n, s in shapes.items()}

    def model(self, family: str) -> Any:
        return self.example.FAMILIES[family](self.values)


def small(name: str) -> Small:
    random = np.random.default_rng(0)
    if name == "lenet":
        sizes = {"C": 1, "R": 3, "S": 3, "M": 2, "K": 3, "H": 2, "W": 2, "A": 5, "B": 4, "Y": 10}
        return Small(lenet, sizes, random.uniform(size=(3, 1, 14, 14)), np.array([0, 9, 4]))
    if name == "lstm":
        sizes = {"gate": 4, "H": 3, "before": 3, "V": 5}
        return Small(lstm, sizes, *random.integers(0, 5, (2, 4, 2)))
    sizes = {"REC": 6, "V": 27, "F": 4, "A": 2, "D": 3, "H": 5}
    return Small(transformer, sizes, *transformer.sequences(random, 2, length=3))


def loss_and_slopes(case: Small, family: str, target: str) -> list[np.ndarray]:
    model = case.model(family)
    with ng.make_transformer(target) as t:
        slopes = ng.deriv(model.loss, list(model.weights.values()))
        found: list[np.ndarray] = t.computation([model.loss, *slopes], *model.inputs)(*case.arguments)
    return found


NAMES = ("lenet", "lstm", "transformer")
# The family in which each learns as a script, on the CPU; the two others train below.
LEARNS = {"lenet": "axes", "lstm": "simple", "transformer": "numpy"}
OTHERS = {name: [family for family in FAMILIES if family != LEARNS[name]] for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_loss_and_slopes_are_the_same_in_every_family_and_on_every_target(name: str) -> None:
    """Of the CPU in one family each: in another one they learn there, below."""
    case = small(name)
    wanted = loss_and_slopes(case, "axes", "reference")
    for family, target in [("simple", "reference"), ("numpy", "reference"), (OTHERS[name][1], "cpu")]:
        for a, b in zip(loss_and_slopes(case, family, target), wanted, strict=True):
            assert a.dtype == np.float64
            assert_allclose(a, b, **CLOSE, err_msg=f"{family} on {target}")


@pytest.mark.parametrize("name", NAMES)
def test_slopes_are_differences_of_the_loss(name: str) -> None:
    """For each weight, along a direction of its own."""
    case, random = small(name), np.random.default_rng(2)
    _, *slopes = loss_and_slopes(case, "numpy", "reference")
    model = case.model("numpy")
    with ng.make_transformer("reference") as t:
        loss = t.computation(model.loss, *model.inputs)
        for (key, w), slope in zip(model.weights.items(), slopes, strict=True):
            direction, ends = random.normal(size=w.shape), []
            for end in (STEP, -STEP):
                t.set(w, case.values[key] + end * direction)
                ends.append(float(loss(*case.arguments)))
            t.set(w, case.values[key])
            # A central difference is off by about STEP squared, and by rounding errors over STEP.
            assert_allclose((ends[0] - ends[1]) / (2 * STEP), np.sum(slope * direction), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_training_goes_the_same_way_in_every_family(name: str) -> None:
    """In two of them: the third has the same loss and slopes, above, and learns, below; one of three on the CPU."""
    case, found = small(name), []
    for family, target in zip(OTHERS[name], ("cpu" if name == "lstm" else "reference", "reference"), strict=True):
        model = case.model(family)
        with ng.make_transformer(target) as t:
            train = t.computation([model.loss, training.adam(model, 0.01)], *model.inputs)
            answer = t.computation(model.answer, model.inputs[0])
            losses = [float(train(*case.arguments)[0]) for _ in range(4)]
            found.append((losses, answer(case.arguments[0]).tolist()))
    assert found[0][0][-1] < found[0][0][0]
    for losses, answers in found[1:]:
        assert_allclose(losses, found[0][0], rtol=1e-7)  # Adam divides by slopes, however small they are
        assert answers == found[0][1]


def test_adam_is_its_equations() -> None:
    w = ng.variable((3,), "float64", initial_value=np.array([1.0, -2.0, 0.0]))
    model = training.Model((), ng.numpy.sum(w * w * w), w, {"w": w})
    value, m, v = np.array([1.0, -2.0, 0.0]), np.zeros(3), np.zeros(3)
    with ng.make_transformer("cpu") as t:
        step = t.computation(training.adam(model, 0.1))
        for count in range(1, 6):
            step()
            slope = 3 * value**2
            m, v = 0.9 * m + 0.1 * slope, 0.99 * v + 0.01 * slope**2
            value = value - 0.1 * m / (1 - 0.9**count) / (np.sqrt(v / (1 - 0.99**count)) + 1e-8)
            assert_allclose(t.get(w), value, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("family", "times"), [("axes", 1), ("simple", 1), ("numpy", 0)])
def test_no_letter_is_known_before_it_is_said(family: str, times: int) -> None:
    """What a causal block thinks of a position depends on that letter, and on none that comes later."""
    case = small("transformer")
    letters = case.arguments[0]
    changed = letters.copy()
    changed[-1] = (letters[-1] + 1) % 26
    model = case.model(family)
    (scores,) = model.answer.args
    with ng.make_transformer("reference") as t:
        think = t.computation(scores, model.inputs[0])
        before, after = (np.moveaxis(think(x), times, 0) for x in (letters, changed))
    assert np.array_equal(before[:-1], after[:-1])
    assert (before[-1] != after[-1]).any()


@pytest.mark.parametrize(
    ("example", "epochs", "least"),
    [(lenet, 4, 0.9), (lstm, 4, 0.95), (transformer, 6, 0.99)],
)
def test_an_example_learns(example: Any, epochs: int, least: float, capsys: Any) -> None:
    found = example.main(["--family", LEARNS[example.__name__], "--epochs", str(epochs)])
    printed = capsys.readouterr().out
    assert found >= least
    assert printed.count("epoch ") == epochs and printed.endswith(f": {found:.3f}\n")


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_a_script(name: str) -> None:
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "--family {axes,simple,numpy}" in result.stdout
