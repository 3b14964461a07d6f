# SPDX-License-Identifier: Apache-2.0
"""Every op prints as a call on one line, from which the graph could be written down again."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ngraph_rewrite as ng
from ngraph_rewrite.rewriting.instances import instances
from ngraph_rewrite.terms.calls import call_names
from ngraph_rewrite.terms.walking import topological

LINE = re.compile(r"^%\S+: .+ = \w+\.\w+\(.*\)(  # \S+:\d+)?$")


def test_a_call_tells_type_op_operands_and_line() -> None:
    x = ng.placeholder({"N": None, "H": 2}, name="x")
    w = ng.variable({"H": 2}, name="w")
    *_, last = ng.call_descriptions([ng.dot(x, w)])
    head, _, place = last.partition("  # ")
    assert head == "%1: float32[N:N] = axes.dot(%x, %w)"
    assert re.fullmatch(r"test_calls.py:\d+", place)


def test_operands_come_first_and_each_term_stands_once() -> None:
    x = ng.variable([], name="x")
    y = ng.exp(x)
    lines = ng.call_descriptions([y * y, y + x])
    assert [line.partition(":")[0] for line in lines] == ["%x", "%1", "%2", "%3"]
    assert "axes.multiply(%1, %1)" in lines[2] and "axes.add(%1, %x)" in lines[3]


def test_names_that_would_be_mixed_up_become_numbers() -> None:
    terms = [ng.variable([], name=name) for name in ("x", "x", "1", None)]
    names = call_names(terms)
    assert len(set(names.values())) == 4 and names[terms[0]] == "%x"


def test_what_has_no_name_yet_is_shown_as_an_expression() -> None:
    x = ng.variable([], name="x")
    assert ng.call_line(ng.exp(x + 1), {}).startswith("_: float32[] = axes.exp(axes.add(x, 1.0))")


def test_attributes_are_readable() -> None:
    x = ng.variable({"H": 3}, name="x")
    assert "dtype=int64" in ng.call_descriptions([ng.cast(x, "int64")])[-1]
    assert "array[3]" in ng.call_descriptions([ng.constant(np.arange(3), {"H": 3})])[-1]
    assert "uid" not in "".join(ng.call_descriptions([ng.assign(x, 1.0), ng.uniform({"H": 2})]))


@pytest.mark.parametrize("kind", ["lower", "simplify", "derive", "recognize", "select"])
def test_every_op_of_the_rules_prints_on_one_line(kind: str) -> None:
    for rule in ng.rules().of_kind(kind):
        for term in instances(rule, 1):
            lines = ng.call_descriptions([term])
            assert len(lines) == len(topological([term]))
            assert all(LINE.match(line) for line in lines), lines
