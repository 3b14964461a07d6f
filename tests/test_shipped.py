# SPDX-License-Identifier: Apache-2.0
"""The rules that ship are the same, whoever of several processes reads them, and whatever becomes of these."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ngraph_rewrite import helpers
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import RuleFileError
from ngraph_rewrite.lowering import shipped
from ngraph_rewrite.rewriting.rule import Rule, RuleSet


@pytest.fixture(autouse=True)
def as_many_as_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NGRAPH_REWRITE_HELPERS", raising=False)  # which tests set where several processes run them


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Some rule files: many that have one rule each."""
    for number in range(2 * shipped.WORTH):
        text = f"simplify semi\nrule twice_{number}: negative(negative(x + {number + 2})) => x + {number + 2}\n"
        (tmp_path / f"file{number:02}.rules").write_text(text)
    return sorted(tmp_path.glob("*.rules"))


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No core is left for a helper."""
    monkeypatch.setattr(helpers, "_idle", lambda: 0)


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """There is a core for one helper, and this process begins when that is at work; the names it has answered."""
    monkeypatch.setattr(helpers, "_idle", lambda: 1)
    monkeypatch.setattr(shipped.os, "cpu_count", lambda: 2)
    told: list[str] = []
    start, read = helpers._Helper, shipped._checked

    def waited(process: Any, work: helpers.Work) -> Any:
        def took(name: str, answer: str) -> None:
            told.append(name)
            work.took(name, answer)

        started = start(process, work._replace(took=took))
        started._thread.join(300)
        return started

    monkeypatch.setattr(helpers, "_Helper", waited)
    yield told
    monkeypatch.setattr(shipped, "_checked", read)


def said(rules: RuleSet) -> list[Rule]:
    return list(rules)


def test_rules_that_a_helper_read_are_those_of_this_process(files: list[Path], helper: list[str]) -> None:
    found = shipped._read(files)
    assert {*helper} == {*map(str, files)}
    assert [r.name for r in found] == [f"file{n:02}.twice_{n}" for n in range(len(files))]
    assert said(found) == [rule for path in files for rule in shipped._checked(str(path))]


@pytest.mark.parametrize("at", [0, -1])
def test_a_mistake_is_told_though_a_helper_met_it(files: list[Path], helper: list[str], at: int) -> None:
    files[at].write_text("simplify semi\nrule wrong: exp(x) => exp(y)\n")
    with pytest.raises(RuleFileError, match="`y` is not bound"):
        shipped._read(files)


def test_code_that_changed_meanwhile_is_of_no_help(
    files: list[Path], helper: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "code_digest", lambda: "another")
    assert len(shipped._read(files)) == len(files) and not helper


def test_the_library_does_not_depend_on_who_read_it(alone: None, tmp_path: Path) -> None:
    """With or without a helper, and in whatever order sets of texts are gone through."""
    program = (
        "from ngraph_rewrite import helpers\n"
        "from ngraph_rewrite.lowering.passes import library\n"
        "from ngraph_rewrite.rewriting.encoding import write_rules\n"
        "import hashlib, os, sys\n"
        "helpers._idle = lambda: int(sys.argv[1])\n"
        "os.cpu_count = lambda: 2\n"
        "print(hashlib.sha256(write_rules(library())).hexdigest())\n"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program, str(count)],
            env={**os.environ, "NGRAPH_REWRITE_CACHE": str(tmp_path / str(count)), "PYTHONHASHSEED": str(1 + count)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for count in (0, 1)
    ]
    assert found[0] == found[1] != ""
    kept = [next((tmp_path / str(count)).glob("library_*.rules")).read_bytes() for count in (0, 1)]
    assert kept[0] == kept[1] and len(list(data_folder("rules").glob("*.rules"))) > shipped.WORTH


# -- the record of checked files ---------------------------------------------------------------------------------------


def test_the_record_is_of_the_files_that_ship_and_all_of_them_pass() -> None:
    """After a change of a rule file let `ngraph_rewrite.lowering.shipped.write_record` check them all."""
    folder = data_folder("rules")
    assert (folder / shipped.RECORD).read_text() == shipped.record(folder)


def test_a_file_is_checked_unless_it_is_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "own.rules"
    path.write_text("simplify semi\nrule twice: negative(negative(x)) => x == x\n")  # of another type
    with pytest.raises(RuleFileError, match="type"):
        shipped.shipped([path])
    (tmp_path / shipped.RECORD).write_text(f"{shipped.line_of(path)}\n")
    shipped._recorded.cache_clear()
    assert len(shipped.shipped([path])) == 1
    path.write_text(path.read_text().replace("twice", "again"))
    with pytest.raises(RuleFileError, match="type"):
        shipped.shipped([path])
