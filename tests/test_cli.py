# SPDX-License-Identifier: Apache-2.0
"""The command line: each command ends with its verdict, and its exit status agrees."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite import commands, warming
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.cli import main
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.rewriting.rulefile import load_rules

RIGHT = "simplify semi\n\nrule rounded:  floor(ceil(x))  =>  ceil(x)\n"
UNBOUND = "simplify semi\n\nrule twice:  x + x  =>  2 * y\n"
WRONG = "simplify semi\n\nrule squared:  square(x)  =>  absolute(x)\n"


def verdict(capsys: pytest.CaptureFixture[str]) -> str:
    """The last line printed."""
    return capsys.readouterr().out.rstrip().splitlines()[-1]


@pytest.fixture
def rule_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.rules"
    path.write_text(RIGHT, encoding="utf-8")
    return path


def test_the_module_is_the_command() -> None:
    command = [sys.executable, "-m", "ngraph_rewrite", "--version"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == f"ngraph-rewrite {ng.__version__}\n"


def test_a_reader_who_has_read_enough_is_no_mistake() -> None:
    command = [sys.executable, "-m", "ngraph_rewrite", "rules"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""


@pytest.mark.parametrize(
    "words", [[], ["nonsense"], ["check", "--seed", "-1"], ["demo", "--epochs", "0"], ["demo", "--target", "none"]]
)
def test_a_wrong_command_line_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage: ngraph-rewrite" in capsys.readouterr().err


def test_ctrl_c_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands.ng, "rules", interrupted)
    assert main(["rules"]) == 130
    assert capsys.readouterr().err == "ngraph-rewrite rules: interrupted\n"


def test_a_letter_that_cannot_be_shown_is_shown_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "gr\u00fcn.rules").write_text(RIGHT, encoding="utf-8")
    command = [sys.executable, "-m", "ngraph_rewrite", "check", "--static", "gr\u00fcn.rules"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ascii_only, check=True)
    assert found.stdout.splitlines()[1].startswith("gr\\xfcn.rules")


# -- rules ------------------------------------------------------------------------------------------


def test_rules_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert lines == repr(ng.rules()).splitlines()
    assert last == f"{len(lines)} of {len(lines)} rules"


def test_rules_can_be_searched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "log_exp", "@refines"]) == 0
    line, last = capsys.readouterr().out.splitlines()
    assert "semi.log_exp" in line and last.startswith("1 of ")
    assert main(["rules", "no_such_rule"]) == 1


# -- check ------------------------------------------------------------------------------------------


def test_rules_of_the_library_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """Some; all of them are checked by tests/test_shipped.py."""
    files = [str(f) for f in sorted(data_folder("rules").glob("semi_*.rules"))]
    assert main(["check", "--static", *files]) == 0
    assert verdict(capsys) == f"{len(files)} of {len(files)} files are right"


def test_a_right_file_passes_every_check(rule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--quick", str(rule_file)]) == 0
    assert re.fullmatch(r"1 of 1 rule is right, 1 of them proved \(100 %\); \d+ s", verdict(capsys))


def test_a_mistake_is_shown_with_its_place(rule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = rule_file.with_name("bad.rules")
    bad.write_text(UNBOUND, encoding="utf-8")
    assert main(["check", "--static", str(rule_file), str(bad), "missing.rules"]) == 1
    out = capsys.readouterr().out
    assert f"{bad}:3:29: `y` is not bound by the left side" in out
    assert "missing.rules cannot be read: " in out and "Errno" not in out
    assert out.rstrip().endswith("1 of 3 files are right")


def test_a_kernel_file_that_is_no_text_is_told_as_a_rule_file_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "latin.kernel"
    path.write_bytes("# café\nkernel x:\n".encode("latin-1"))
    assert main(["check", "--static", str(path)]) == 1
    assert f"{path} is not text in UTF-8" in capsys.readouterr().out


def test_a_wrong_rule_passes_reading_but_not_drawing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.rules"
    path.write_text(WRONG, encoding="utf-8")
    assert main(["check", "--static", str(path)]) == 0
    assert main(["check", "--check", "values", str(path)]) == 1
    assert "rule wrong.squared is not @exact" in capsys.readouterr().out


def test_a_rule_that_is_called_as_another_one_that_ships_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both would be asked about, and left out, by one name; a copy of what ships is what ships."""
    path = tmp_path / "semi.rules"
    path.write_text("simplify semi\nrule own: -(-x) => x\nrule log_exp: log(exp(-x)) => -x\n", encoding="utf-8")
    shown = f"{path}:3:15: rule semi.log_exp has the name of another one that ships, at rules/semi.rules:"
    assert main(["check", "--check", "types", str(path)]) == 1
    assert shown in capsys.readouterr().out
    with pytest.raises(ng.RuleFileError, match=re.escape(shown)):
        ng.make_transformer("cpu", rules=path)
    copy = tmp_path / "copy" / "semi.rules"
    copy.parent.mkdir()
    copy.write_text((data_folder("rules") / "semi.rules").read_text(encoding="utf-8"), encoding="utf-8")
    ng.make_transformer("cpu", rules=load_rules(copy)).close()


@pytest.mark.parametrize("how", ["--static", "--check=types"])
def test_a_waiver_that_names_no_rule_is_a_mistake_of_its_file(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other files are checked all the same."""
    files = [tmp_path / f"{name}.rules" for name in ("first", "second")]
    for path, other in zip(files, ("nowhere.rule", "semi.add_zero"), strict=True):
        text = f"simplify semi\nrule a: -(-x) => x\nwaive confluence of a and {other}: because\n"
        path.write_text(text, encoding="utf-8")
    assert main(["check", how, *map(str, files)]) == 1
    out = capsys.readouterr().out
    assert f"{files[0]}:3:1: no rule is called nowhere.rule, which a waiver names" in out
    assert out.rstrip().splitlines()[-1].startswith("1 of 2 files are right")


def test_findings_are_written_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.rules"
    path.write_text(WRONG + RIGHT.partition("\n")[2], encoding="utf-8")
    words = ["check", "--check", "values", "--check", "proof", str(path), "--json"]
    assert main([*words, str(tmp_path / "found.json")]) == 1
    assert verdict(capsys).startswith("1 of 2 rules are right")
    assert main([*words, "-"]) == 1
    read = json.loads(capsys.readouterr().out)
    written = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert read["findings"] == written["findings"] and not read["right"]
    assert [f["status"] for f in read["findings"] if f["rule"] == "wrong.rounded"] == ["passed", "passed"]


def test_findings_that_cannot_be_written_are_not_looked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "right.rules"
    path.write_text(RIGHT, encoding="utf-8")
    assert main(["check", "--check", "values", str(path), "--json", str(tmp_path / "no" / "found.json")]) == 1
    said = capsys.readouterr()
    assert "found.json cannot be written: there is no such folder\n  make the folder first" in said.err
    assert "rules are right" not in said.out


def test_one_rule_can_be_checked_and_is_looked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.rules"
    path.write_text(WRONG + RIGHT.partition("\n")[2], encoding="utf-8")
    assert main(["check", "--check", "values", "--rule", "rounded", str(path)]) == 0
    for more in ([], ["--mutate"]):
        assert main(["check", "--rule", "nobody", str(path), *more]) == 1
        said = f"no rule is called nobody\n  at {path}\n  the rules there: wrong.squared, wrong.rounded\n"
        assert said in capsys.readouterr().err
    assert main(["check", "--rule", "nobody"]) == 1
    assert "no rule is called nobody\n  `ngraph-rewrite rules` lists " in capsys.readouterr().err


def test_several_rules_can_be_checked_and_each_is_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "many.rules"
    path.write_text("simplify semi\nrule a: -(-x) => x\nrule b: exp(0) => 1\nrule c: exp(1) => 1\n", encoding="utf-8")
    assert main(["check", "--check", "types", "--rule", "a", "--rule", "many.b", str(path)]) == 0
    assert verdict(capsys).startswith("2 of 2 rules are right")
    assert main(["check", "--check", "types", "--rule", "a", "--rule", "nobody", "--rule", "none", str(path)]) == 1
    assert "no rule is called nobody or none\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["e", "many.e"])
def test_all_alternatives_of_a_rule_are_checked(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.rules"
    path.write_text(
        "simplify semi\nrule e for f in exp log: f(x) => f(x * 1)\nrule es: -x => x * -1\n", encoding="utf-8"
    )
    assert main(["check", "--check", "types", "--rule", name, str(path)]) == 0
    assert verdict(capsys).startswith("2 of 2 rules are right")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ["--static", "--rule", "nope"],
            "--rule says nothing beside --static: it reads whole files, and tries no rule",
        ),
        (["--static", "--mutate"], "--mutate says nothing beside --static"),
        (["--static", "--check", "values"], "--check says nothing beside --static"),
        (["--mutate", "--json", "found.json"], "--json says nothing beside --mutate: it makes all checks of broken"),
        (["--mutate", "--seconds", "3"], "--seconds says nothing beside --mutate"),
    ],
)
def test_what_says_nothing_beside_another_option_is_refused(
    words: list[str], says: str, rule_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(rule_file), *words]) == 1
    assert says in capsys.readouterr().err


def test_what_is_read_is_written_for_programs(rule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, found = rule_file.with_name("bad.rules"), rule_file.with_name("found.json")
    bad.write_text(UNBOUND, encoding="utf-8")
    words = ["check", "--static", str(rule_file), str(bad), "--json"]
    assert main([*words, str(found)]) == 1
    assert verdict(capsys) == "1 of 2 files are right"
    assert main([*words, "-"]) == 1
    said = capsys.readouterr()
    read = json.loads(said.out)
    assert read == json.loads(found.read_text(encoding="utf-8")) and read["right"] is False
    assert [one["mistake"] is None for one in read["files"]] == [True, False]
    assert "`y` is not bound" in said.err


def test_rules_of_one_name_in_two_files_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, equation in (("a", "x - x => 0"), ("b", "absolute(absolute(x)) => absolute(x)")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.rules").write_text(f"simplify semi\nrule one: {equation}\n", encoding="utf-8")
    first, second = (str(tmp_path / folder / "mine.rules") for folder in "ab")
    assert main(["check", "--quick", first, second]) == 1
    said = capsys.readouterr().out
    assert said.rstrip().splitlines()[-1].startswith("1 of 2 rules are right, ")
    assert "WRONG" in said.partition(f"\nmine.one ({first}:2) ")[2].partition("\n")[0]
    assert "WRONG" not in said.partition(f"\nmine.one ({second}:2) ")[2].partition("\n")[0]
    mistake = f"{first}:2:20: rule mine.one is not @exact (proof)\n#   rule one: x - x => 0\n#                      ^\n"
    assert said.count(mistake) == 1 and f"{second}:2:" not in said


@pytest.mark.parametrize("words", [[], ["--mutate"], ["--rule", "rounded"]])
def test_a_file_without_rules_is_no_right_one(
    words: list[str], rule_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule_file.write_text("simplify semi\n", encoding="utf-8")
    assert main(["check", str(rule_file), *words]) == 1
    assert f"there is no rule to check\n  at {rule_file}\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["value", ""])
def test_a_check_that_there_is_not_is_refused(name: str, rule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Made of no rule, it would find every rule right."""
    with pytest.raises(SystemExit) as caught:
        main(["check", "--check", name, str(rule_file)])
    assert caught.value.code == 2
    assert f"no check is called {name!r}: choose among types, " in capsys.readouterr().err


def test_files_of_all_kinds_are_checked_together(rule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = data_folder("kernels") / "map.kernel"  # a template of the library stands for no op
    bad = rule_file.with_name("bad.rules")
    bad.write_text(UNBOUND, encoding="utf-8")
    assert main(["check", "--check", "types", str(rule_file), str(kernel), str(bad), "missing.rules"]) == 1
    assert verdict(capsys) == "1 of 4 files are right; 3 cannot be used"
    assert main(["check", str(kernel)]) == 1
    assert verdict(capsys) == "0 of 1 file is right; 1 cannot be used"


def test_broken_rules_are_refused(rule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--mutate", str(rule_file)]) == 0
    assert verdict(capsys) == "mutation score 100 %"


def test_a_rule_that_is_wrong_as_it_stands_is_not_broken(rule_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule_file.write_text(WRONG, encoding="utf-8")
    assert main(["check", "--mutate", str(rule_file)]) == 1
    said = capsys.readouterr()
    assert not said.out and "rule mine.squared is wrong as it stands, by the check values: " in said.err


# -- explain ----------------------------------------------------------------------------------------

MODEL = """
import ngraph_rewrite as ng
x = ng.placeholder([ng.Axis("H", 3)], name="x")
y = ng.log(ng.exp(x))
z = 3
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


def test_explain_derives_an_op_of_a_file(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{model}:y"]) == 0
    out = capsys.readouterr().out
    assert f"built at {model}:4" in out
    assert "axes.unary.exp" in out
    assert "steps by" in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("place", "message"),
    [("{}:z", "has no op called z"), ("{}:", "names no op"), ("{}", "names no op"), ("{}.txt:y", "is no Python file")],
)
def test_explain_says_what_it_cannot_find(
    place: str, message: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", place.format(model)]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--stats", "--why-not", "semi.log_exp"], ["--plan", "--stats"]])
def test_one_thing_is_asked_instead_of_the_derivation(
    words: list[str], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["explain", f"{model}:y", *words])
    assert caught.value.code == 2 and "not allowed with argument" in capsys.readouterr().err


# -- cache ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clear", ["clear", "--clear"])
def test_cache_counts_and_clears_its_entries(
    clear: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NGRAPH_REWRITE_CACHE", str(tmp_path))
    entry = Cache().write("map_1", "py", b"pass\n")
    other = tmp_path / "precious.txt"
    other.write_text("not an entry")
    assert main(["cache"]) == 0
    assert verdict(capsys).startswith(f"{tmp_path}: 1 entries, ")
    assert main(["cache", clear]) == 0
    assert verdict(capsys).endswith(" removed")
    assert other.exists() and not entry.exists()


def test_clearing_says_nothing_beside_warming(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "warm", "--clear"]) == 1
    assert "--clear says nothing beside warm" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::ngraph_rewrite.errors.CacheWarning")
def test_a_cache_that_cannot_be_used_is_not_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What takes its place for now is a folder of this process's own."""
    path = tmp_path / "no-folder"
    path.touch()
    monkeypatch.setenv("NGRAPH_REWRITE_CACHE", str(path))
    assert main(["cache", "clear"]) == 1
    assert f"nothing was cleared: {path} is no folder that can be written\n" in capsys.readouterr().err
    assert main(["cache"]) == 0


def test_cache_warm_compiles_what_others_find(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kernels serve all lengths, but for numbers that follow from them: here the mean of as many errors."""
    monkeypatch.setattr(warming, "PROGRAMS", {"regression": warming.regression})
    assert main(["cache", "warm"]) == 0
    assert re.match(r"regression: \d+ kernels\n", capsys.readouterr().out)
    sources = {path.stem for path in Cache().folder.glob("*.py")}
    returns, inputs = warming.regression(samples=192, features=5, outputs=2)
    computation = ng.make_transformer("cpu").computation(returns, *inputs)
    computation(*(np.ones(p.axes.lengths) for p in inputs))
    assert {*computation.stats()["kernels"]} <= sources


def test_a_check_leaves_no_folder_behind(tmp_path: Path, rule_file: Path) -> None:
    command = [sys.executable, "-m", "ngraph_rewrite", "check", "--quick", str(rule_file)]
    before = {*tmp_path.rglob("*")}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert {*tmp_path.rglob("*")} == before


@pytest.mark.parametrize("text", ["0", "-1", "some"])
def test_a_number_that_is_too_small_is_told_the_least_that_goes(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", "--epochs", text])
    assert ended.value.code == 2
    assert f"{text!r} is not a number of at least 1" in capsys.readouterr().err
