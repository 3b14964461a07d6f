# SPDX-License-Identifier: Apache-2.0
"""``ngraph-rewrite ops``: the catalogue as a table, and a check that finds what an op lacks."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from packages import install, run

import ngraph_rewrite as ng
from ngraph_rewrite.catalogue_listing import HEAD, chosen, entry, signature
from ngraph_rewrite.cli import main
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.terms.catalogue import definitions, lookup


def lines_of(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> list[str]:
    """What the command prints."""
    assert main(["ops", *words]) == status
    return capsys.readouterr().out.splitlines()


def test_a_line_has_all_there_is_to_know(capsys: pytest.CaptureFixture[str]) -> None:
    head, line, verdict = lines_of(capsys, "axes.softmax")
    assert tuple(head.split()) == HEAD and verdict == "1 op"
    name, rest = line.split(maxsplit=1)
    assert name == "axes.softmax" and rest.startswith("(x, *, axes: Axes)")
    assert re.search(r"rules/axes_composite\.rules:\d+", rest)


@pytest.mark.parametrize(
    ("name", "column", "text"),
    [
        ("semi.exp", "lowering", "base"),
        ("semi.exp", "traits", "elementwise"),
        ("semi.exp", "kernels", "cpu: map"),
        ("semi.sum", "kernels", "cpu: reduce"),
        ("semi.gather", "kernels", "cpu: gather"),
        ("semi.reshape", "kernels", "cpu: view"),
        ("cpu.gemm", "kernels", "cpu: gemm"),
        ("cpu.gemm", "adjoint", "made after derivatives"),
        ("core.placeholder", "adjoint", "a leaf"),
        ("core.sequential", "lowering", "put in order first"),
        ("axes.tanh", "lowering", "rules/axes.rules:"),
        ("axes.tanh", "adjoint", "rules/deriv.rules:"),
        ("axes.sign", "adjoint", "flat, rules/deriv.rules:"),
        ("axes.isnan", "adjoint", "flat"),
        ("axes.equal", "adjoint", "flat"),
        ("axes.tanh", "kernels", ""),
        ("axes.scan", "adjoint", "scan_adjoint.py"),
    ],
)
def test_each_column_says_what_is_so(name: str, column: str, text: str) -> None:
    found = getattr(entry(lookup(name)), column)
    assert found.startswith(text) and bool(found) == bool(text)


def test_places_of_rules_are_places_of_rules() -> None:
    found = entry(lookup("axes.tanh"))
    for place in (found.lowering, found.adjoint):
        file, line = place.split()[0].removeprefix("rules/").split(":")
        text = (data_folder("rules") / file).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert text.startswith("rule ")


def test_names_choose_in_every_family_or_in_one() -> None:
    assert {d.name for d in chosen(["tanh"])} >= {"semi.tanh", "axes.tanh"}
    assert chosen(["axes.tanh", "dot"], "axes") == [lookup("axes.tanh"), lookup("axes.dot")]
    assert chosen([], "semi") == list(definitions("semi"))


def test_signatures_have_arguments_then_attributes() -> None:
    assert signature(lookup("semi.concat")) == "(x, *xs, axis: int)"
    assert signature(lookup("axes.add")) == "(x, y)"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["axes.dot", "--family", "semi"], "axes.dot is no op of the family semi"),
        (["axes.tan h"], "no op is called"),
        (["axes.dt"], "axes.dot"),
        (["--family", "axe"], "no family of ops"),
    ],
)
def test_unknown_names_are_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", *words]) == 1
    assert message in capsys.readouterr().err


def test_columns_are_aligned_in_a_pipe_and_folded_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["exp", "pad", "sum", "--family", "semi"]
    plain = lines_of(capsys, *names)
    begin = plain[0].index("signature")
    assert all(line[begin - 2 : begin] == "  " and line[begin] == "(" for line in plain[1:-1])
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    folded = [re.sub(r"\x1b\[\d*m", "", line) for line in lines_of(capsys, *names)]
    assert max(map(len, folded)) <= 60 and len(folded) > len(plain) and folded[-1] == plain[-1]


def test_the_check_passes_ops_that_are_complete(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["axes.softmax", "axes.argmax", "semi.gather", "cpu.gemm", "core.assign", "axes.scan"]
    assert lines_of(capsys, *names, "--check") == ["6 of 6 ops are complete"]


# -- ops that lack something ---------------------------------------------------------------------------

DECLARATIONS = '''
import numpy as np
import ngraph_rewrite as ng

@ng.op("axes.incomplete", "elementwise"{meaning})
def incomplete(x):
    {doc}
    return x

@ng.op("incomplete_base.twice", "elementwise", meaning=lambda term, x: x + x)
def twice(x):
    """Twice `x`."""
    return x

TARGET = ng.find_target("cpu").extended("incomplete", add=["incomplete_base.twice"])
'''
LOWERING = "lower axes -> semi\n\nrule it:  incomplete(x) => label({right}, axes=x.axes)\n"
DOC, MEANING = '"""The same."""', ", meaning=lambda term, x: x"


@pytest.fixture
def lacks(tmp_path: Path) -> Callable[..., list[str]]:
    """What the check says of a package's op, given its parts."""

    def of(doc: str = DOC, meaning: str = MEANING, right: str = "", name: str = "axes.incomplete") -> list[str]:
        points = {"ngraph_rewrite.ops": "a = incomplete", "ngraph_rewrite.targets": "incomplete = incomplete:TARGET"}
        if right:
            points["ngraph_rewrite.rules"] = "a = incomplete"
            (tmp_path / "incomplete").mkdir()
            (tmp_path / "incomplete" / "more.rules").write_text(LOWERING.format(right=right), encoding="utf-8")
        install(tmp_path, "incomplete-package", points)
        path = tmp_path / "incomplete" / "__init__.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(DECLARATIONS.format(doc=doc, meaning=meaning), encoding="utf-8")
        found = run(tmp_path, "-m", "ngraph_rewrite", "ops", "--check", name)
        *lines, verdict = found.stdout.splitlines()
        assert (found.returncode == 0) == (not lines) == (verdict == "1 of 1 ops are complete"), found.stderr
        return lines

    return of


def test_an_op_without_a_lowering_is_found(lacks: Callable[..., list[str]]) -> None:
    found = lacks()
    assert "axes.incomplete is neither executed nor lowered by a rule" in found
    assert any("no rule lowers axes.incomplete" in line for line in found)
    assert any("has no adjoint" in line for line in found)


def test_an_op_without_words_or_meaning_is_found(lacks: Callable[..., list[str]]) -> None:
    assert lacks(doc="", meaning="", right="strip(x) + strip(x)")[:2] == [
        "axes.incomplete has no docstring",
        "axes.incomplete has no meaning",
    ]


def test_an_op_that_is_lowered_is_differentiated_through_its_lowering(lacks: Callable[..., list[str]]) -> None:
    assert lacks(right="strip(x)") == []


def test_a_base_op_without_a_kernel_is_found(lacks: Callable[..., list[str]]) -> None:
    found = lacks(name="incomplete_base.twice")
    assert found and all("no kernel computes incomplete_base.twice" in line for line in found)


def test_every_name_of_the_package_says_what_it_is() -> None:
    """The names that extensions are made of are there for all."""
    for name in ("op", "make_op", "place_family", "add_kernel", "attribute_domain", "argument_domain", "find_target"):
        assert name in ng.__all__ and getattr(ng, name).__doc__
