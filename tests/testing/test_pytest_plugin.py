# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest makes a test of each check of each rule, and takes no other tool's files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = """# Mine.

simplify semi

rule turned: sign(transpose(x, perm=p)) => transpose(sign(x), perm=p)
rule cancels: x / y * y => x
waive guard of cancels: this file is an example
"""


def ran(folder: Path, *words: str) -> tuple[int, str]:
    """The exit status and the output of pytest in a folder, with the plugin and no other settings."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "ngraph_rewrite_pytest", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run([*command, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my.rules").write_text(FILE, encoding="utf-8")
    (tmp_path / "other.rules").write_text("alert tcp any any -> any 80 (msg: no rule of ours)\n", encoding="utf-8")
    return tmp_path


def test_there_is_a_test_for_each_check_that_applies(folder: Path) -> None:
    status, said = ran(folder, "--collect-only", "my.rules")
    assert status == 0
    names = [line.split("::")[1:] for line in said.splitlines() if "::" in line]
    checks = ["types", "termination", "subsumption", "values", "cpu", "guard", "proof", "confluence"]
    assert names == [[rule, check] for rule in ("my.turned", "my.cancels") for check in checks]


def test_a_folder_is_searched_for_rule_files_of_ours(folder: Path) -> None:
    status, said = ran(folder, "-k", "types", "--rules-quick")
    assert status == 0
    assert "2 passed, 14 deselected" in said


def test_a_failure_shows_the_counterexample_and_the_line(folder: Path) -> None:
    status, said = ran(folder, "my.rules", "-k", "cancels and (values or guard)", "--rules-seed", "3")
    assert status == 1
    assert "my.rules:6: rule my.cancels is not @exact" in said and "assert_same(left, right, values" in said
    assert re.search(r"FAILED my\.rules::my\.cancels::values", said)
    assert "1 failed, 14 deselected, 1 xfailed" in said


def test_a_file_that_cannot_be_read_is_an_error_with_its_place(folder: Path) -> None:
    status, said = ran(folder, "other.rules")
    assert status == 2
    assert "other.rules:1:1: a rule file begins with a header" in said
