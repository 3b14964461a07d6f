# SPDX-License-Identifier: Apache-2.0
"""The documentation is complete where completeness can be counted."""

from __future__ import annotations

import configparser
import re
import textwrap
from pathlib import Path

import pytest

import ngraph_rewrite.ops.semi  # noqa: F401  (declares the ops that the example rules name)
from ngraph_rewrite import errors
from ngraph_rewrite.rewriting import attributes, attributes_positions  # noqa: F401  (register their functions)
from ngraph_rewrite.rewriting.registry import attribute_functions
from ngraph_rewrite.rewriting.rulefile import load_rules
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.terms.catalogue import definitions
from ngraph_rewrite.testing import check_rules
from ngraph_rewrite.testing.findings import CHECKS

ROOT = Path(__file__).resolve().parent.parent
ERROR_CLASSES = [
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.NGraphRewriteError)
]


def requirements() -> list[str]:
    """The names of all packages that setup.cfg asks for, extras included."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    lines = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    return re.findall(r"^[\w-]+", "\n".join(lines), re.MULTILINE)


@pytest.mark.parametrize("name", ERROR_CLASSES)
def test_every_error_has_an_entry(name: str) -> None:
    assert re.search(rf"^{name}\n[-~]+$", (ROOT / "docs" / "errors.rst").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", ERROR_CLASSES)
def test_every_error_is_also_a_builtin_one(name: str) -> None:
    error = getattr(errors, name)
    builtins = [base for base in error.__mro__ if base.__module__ == "builtins"]
    assert error is errors.NGraphRewriteError or builtins[0] is not Exception


@pytest.mark.parametrize("name", requirements())
def test_every_dependency_has_a_reason(name: str) -> None:
    assert f"``{name}``" in (ROOT / "docs" / "dependencies.rst").read_text(encoding="utf-8")


def example_file(page: str, begins: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    example = re.search(rf"^{begins}.*::\n\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    assert example
    return textwrap.dedent(example[1])


def test_the_example_rule_file_is_right_and_the_same_on_both_pages(tmp_path: Path) -> None:
    text = example_file("docs/rules.rst", "A rule is")
    assert text == example_file("README.rst", "Ten lines")
    (tmp_path / "mine.rules").write_text(text, encoding="utf-8")
    names = [rule.name.partition(".")[2] for rule in load_rules(tmp_path / "mine.rules")]
    assert names == ["square_absolute", "sum_of_nothing", "over_itself"]
    others = [check for check in CHECKS if check != "confluence"]
    assert check_rules(tmp_path / "mine.rules", examples=5, checks=others) == len(names)
    assert check_rules(tmp_path / "mine.rules", checks=["confluence"]) == len(names)  # some rules seldom meet


def test_every_attribute_function_is_listed() -> None:
    """A function registered by a test or an example is the reader's own, and is not listed."""
    text = (ROOT / "docs" / "rules.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^``(\w+)\(.*\)``\n    \S", text, re.MULTILINE)
    shipped = [n for n, f in attribute_functions().items() if f.__module__.startswith("ngraph_rewrite.")]
    assert sorted(listed) == sorted(shipped)


def test_every_op_of_the_base_set_is_described_as_it_is_declared() -> None:
    text = (ROOT / "docs" / "semi.rst").read_text(encoding="utf-8")
    described = dict(re.findall(r"^``(\w+)``\n((?:    .*\n)+)", text, re.MULTILINE))
    shipped = {d for d in definitions("semi") if d.type_rule.__module__.startswith("ngraph_rewrite.")}
    assert described.keys() == {d.short for d in shipped}
    for d in shipped:
        words = " ".join(described[d.short].split()).removeprefix("*View.* ").removeprefix("*Composite.* ")
        assert words == " ".join(d.doc.split("\n\n")[0].split())
        assert ("*View.*" in described[d.short]) == ("view" in d.traits)
        assert ("*Composite.*" in described[d.short]) == (d.name not in CPU.base and "view" not in d.traits)
