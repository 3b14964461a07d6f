# SPDX-License-Identifier: Apache-2.0
"""``ngraph-rewrite explain`` and ``bisect`` answer questions about any op that a Python file defines."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ngraph_rewrite.cli import main
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.explaining.files import named_in_file

MODEL = """
import ngraph_rewrite as ng
x = ng.placeholder([ng.Axis("H", 3)], name="x")
y = ng.log(ng.exp(x))
layers = [y, ng.tanh(x)]
named = {"last": layers[1], "both": (y, layers[1])}
number = 3
def made():
    return ng.tanh(x)
def wanting(size):
    return x
def several():
    return layers
"""
WRONG = "simplify semi\n\nrule sine @real:  tanh(x)  =>  sin(x)\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.rules"
    path.write_text(WRONG, encoding="utf-8")
    return path


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    path = tmp_path / "inputs.npz"
    np.savez(path, x=np.ones(3))
    return path


def verdict(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out.rstrip().splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("y", "log"),
        ("layers[1]", "tanh"),
        ("layers[-2]", "log"),
        ("named['last']", "tanh"),
        ("named['both'][0]", "log"),
        ("made", "tanh"),
        ("several[1]", "tanh"),
    ],
)
def test_an_op_is_named_by_where_it_is(name: str, short: str, model: Path) -> None:
    assert named_in_file(f"{model}:{name}").op.definition.short == short


@pytest.mark.parametrize("name", ["number", "layers", "layers[7]", "named['none']", "wanting", "nobody", "y[0][1]"])
def test_what_is_no_op_is_refused_with_the_names_of_those_there_are(name: str, model: Path) -> None:
    with pytest.raises(ArgumentError, match=r"has no op called") as caught:
        named_in_file(f"{model}:{name}")
    assert str(caught.value).endswith("it has x, y, layers[0], layers[1], named['last']")


@pytest.mark.parametrize("text", ["x = 1\nraise SystemExit(0)\n", "def x():\n    raise SystemExit(0)\n"])
def test_a_file_that_ends_the_process_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "program.py").write_text(text)
    for command in ("explain", "bisect"):
        assert main([command, f"{tmp_path / 'program.py'}:x"]) == 1
        assert "program.py ends the process, with 0, before it can be asked for x" in capsys.readouterr().err


def test_a_word_too_many_is_refused_with_what_the_command_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["explain", "model.py", "y"])
    said = capsys.readouterr().err
    assert "FILE.py:NAME" in said and said.endswith("explain: error: unrecognized arguments: y\n")


@pytest.mark.parametrize("name", ["y + y", "y.args", "layers[i]", "y)", "print('x')"])
def test_anything_but_names_and_keys_is_not_run(name: str, model: Path) -> None:
    with pytest.raises(ArgumentError, match="names no op"):
        named_in_file(f"{model}:{name}")


def test_a_rule_that_fired_is_a_good_answer(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{model}:y", "--why-not", "semi.log_exp"]) == 0
    assert verdict(capsys) == "semi.log_exp fired"
    assert main(["explain", f"{model}:y", "--why-not", "semi.log_exp", "--disable", "semi.log_exp"]) == 1
    assert verdict(capsys) == "semi.log_exp is disabled"
    assert main(["explain", f"{model}:made", "--why-not", "semi.log_exp"]) == 1
    assert verdict(capsys) == "semi.log_exp does not match"


def test_an_unknown_rule_is_an_error(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{model}:y", "--why-not", "semi.log_ex"]) == 1
    assert "did you mean semi.log_exp" in capsys.readouterr().err
    for command in ("explain", "bisect"):
        assert main([command, f"{model}:y", "--disable", "semi.log_ex"]) == 1
        said = "no rule is called semi.log_ex\n  at --disable semi.log_ex\n  did you mean semi.log_exp"
        assert said in capsys.readouterr().err


def test_figures_of_the_rules(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{model}:y", "--stats"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["rule", "attempts", "matches", "ms"]
    assert any(line.startswith("semi.log_exp ") for line in out)
    assert " steps by " in out[-1]


def test_an_op_that_is_not_lowered_is_explained_and_fails(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{model}:made", "--disable", "axes.unary.tanh"]) == 1
    captured = capsys.readouterr()
    assert "normal form: axes.tanh(x)" in captured.out
    assert "no rule lowers axes.tanh" in captured.err


def test_bisect_names_the_wrong_rule(
    model: Path, wrong: Path, arrays: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["bisect", f"{model}:made", "--inputs", str(arrays), "--rules", str(wrong)]
    assert main(words) == 1
    assert verdict(capsys) == "rule: wrong.sine"
    assert main([*words, "--disable", "wrong.sine"]) == 0
    assert verdict(capsys) == "right: no rule"


def test_bisect_takes_what_is_expected_from_a_file(
    model: Path, arrays: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "expected.npy", np.sin(np.ones(3, np.float32)))
    words = ["bisect", f"{model}:made", "--inputs", str(arrays), "--expect", str(tmp_path / "expected.npy")]
    assert main(words) == 1
    assert verdict(capsys) == "graph: no rule"
    np.save(tmp_path / "expected.npy", np.ones(4))
    assert main(words) == 1  # and no line is named: that of the command is nobody's
    assert capsys.readouterr().err.splitlines()[1:] == ["  give an array of the shape of the op"]
    assert main([*words[:4], "--expect", str(arrays)]) == 1
    assert "holds several arrays" in capsys.readouterr().err


def test_a_file_is_run_as_python_runs_it(tmp_path: Path) -> None:
    """It imports what lies beside it, and its dataclasses find the module that they belong to."""
    (tmp_path / "sizes_of_it.py").write_text("H = 3\n")
    lines = "from __future__ import annotations", "from dataclasses import dataclass", "import ngraph_rewrite as ng"
    lines += "from sizes_of_it import H", "@dataclass\nclass Layer:\n    size: int = H"
    lines += ('y = ng.tanh(ng.placeholder({"H": Layer().size}))',)
    (tmp_path / "apart.py").write_text("\n".join(lines))
    before = list(sys.path)
    assert named_in_file(f"{tmp_path}/apart.py:y").op.shape == (3,)
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def y(:", "SyntaxError"),
        ("def y():\n    [][1]", "IndexError"),
    ],
)
def test_a_file_that_fails_is_told_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(f"import ngraph_rewrite\n{text}\n")
    with pytest.raises(ArgumentError, match=f"fails before it can be asked for y: {says}") as caught:
        named_in_file(f"{tmp_path}/failing.py:y")
    assert str(caught.value.where).startswith(f"{tmp_path}/failing.py:")


def test_arrays_that_cannot_be_read_are_told(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty, objects, cut, headless = (tmp_path / f"{name}.npz" for name in ("empty", "objects", "cut", "headless"))
    empty.touch()
    np.savez(objects, x=np.array([{}]))
    cut.write_bytes(objects.read_bytes()[:60])
    np.save(tmp_path / "whole.npy", np.arange(3.0))
    headless.write_bytes((tmp_path / "whole.npy").read_bytes().replace(b"}", b" "))
    for path in (empty, objects, cut, headless):
        assert main(["bisect", f"{model}:made", "--inputs", str(path)]) == 1
        assert f"{path} cannot be read" in capsys.readouterr().err


def test_bisect_says_which_array_is_missing(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", f"{model}:made"]) == 1
    assert "there is no array for the placeholder x" in capsys.readouterr().err
    (tmp_path / "text.npz").write_text("not an array")
    assert main(["bisect", f"{model}:made", "--inputs", str(tmp_path / "text.npz")]) == 1
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(("target", "transfers"), [("cpu", 0), ("cuda", 2)])
def test_a_plan_has_launches_and_transfers(
    model: Path, capsys: pytest.CaptureFixture[str], target: str, transfers: int
) -> None:
    if target == "cuda":
        pytest.importorskip("numba_cuda", reason="needs numba-cuda, which the extra `test` installs")
    assert main(["explain", f"{model}:layers[1]", "--plan", "--target", target]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("to the ") and "12 bytes" in line for line in lines) == transfers
    assert any("computes semi.tanh(" in line and "12 bytes in the memory of result 0" in line for line in lines)
