# SPDX-License-Identifier: Apache-2.0
"""A counterexample is small, and a program that fails when it is run and says where both sides part."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ngraph_rewrite.rewriting.rule import RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules, parse_rules
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing import Literal, assert_same, rewritten, term
from ngraph_rewrite.testing.compare import differ
from ngraph_rewrite.testing.counterexample import first_step
from ngraph_rewrite.testing.findings import FAILED, Context, Effort, Finding
from ngraph_rewrite.testing.proof.prove import check_proof
from ngraph_rewrite.testing.simpler import simpler_numbers, weight
from ngraph_rewrite.testing.typed import check_types
from ngraph_rewrite.testing.values import check_values
from ngraph_rewrite.types.axes import Axes


def found_in(text: str) -> Finding:
    """What is found in a file with one rule; time is no object."""
    (rule,) = parse_rules(text, "my.rules", "my")
    return check_values(rule, Context(RuleSet([rule]), Effort(50, 60.0)))


# A wrong rule, what its counterexample says, and what the smallest one weighs: 4 for each op, 2 for each axis and each
# element of a leaf, and a little for attributes and dtypes. There is some room: shrinking is a search.
WRONG = [
    ("simplify semi\nrule r: x + 0 => x", "is not @exact", 16),
    ("simplify semi\nrule r: x * 0 => 0", "is not @exact", 16),
    ("simplify semi\nrule r @real: x / x => 1", "is not @real", 10),
    ("simplify semi\nrule r: x - x => 0", "is not @exact", 10),
    ("simplify semi\nrule r: absolute(-x) => x", "is not @exact", 14),
    ("simplify semi\nrule r: x < y => logical_not(x >= y)", "is not @exact", 18),
    ("simplify semi\nrule r: y - (y - x) => x", "is not @exact", 20),
    ("simplify semi\nrule r @real: exp(x) => exp(x) * 1.001", "is not @real", 10),
    ("simplify semi\nrule r @real: sum(x, axes=k) => max(x, axes=k)", "is not @real", 18),
    ("simplify semi\nrule r: transpose(transpose(x, perm=p), perm=q) => x\n    if x.type == self.type", "is not", 46),
    ("simplify semi\nrule r: argmax(negative(x), axes=k) => argmin(x, axes=k)", "is not @exact", 26),
    ("simplify semi\nrule r: cast(cast(x, dtype=t), dtype=u) => x\n    if u == x.dtype", "", 20),
    ("lower numpy\nrule r: mean(x, axis=k, keepdims=d) => sum(x, axis=k, dtype=self.dtype, keepdims=d)", "", 28),
    ("recognize axes\nrule r: log(x + 1) => log1p(x)", "rewrites ", 21),
    ("simplify semi\nrule r: transpose(x, perm=p) => x", "rewrites ", 24),
]  # fmt: skip


@pytest.mark.parametrize(("text", "says", "most"), WRONG, ids=[re.split("rule r", text)[1] for text, _, _ in WRONG])
def test_a_wrong_rule_has_a_small_program_that_fails(text: str, says: str, most: int) -> None:
    found = found_in(text)
    assert found.status == FAILED and says in found.says and "\n" not in found.says
    assert f"# my.rules:2: rule my.r {found.says}" in found.shown
    assert text.partition(": ")[2].split("\n")[0] in found.shown
    names: dict[str, Any] = {}
    with pytest.raises(AssertionError):
        exec(found.shown, names)  # noqa: S102
    assert weight(names["left"]) <= most, found.shown


def test_a_rule_that_fails_is_shown_with_its_term() -> None:
    found = found_in("simplify semi\nrule r: x // y => floor(x / y)")
    assert found.says.startswith("fails on semi.floordivide(x, y)") and "expected a float dtype" in found.says
    with pytest.raises(AssertionError, match="rule my.r fails on semi.floordivide"):
        exec(found.shown, {})  # noqa: S102


def test_a_right_side_that_has_no_type_is_a_program_that_fails() -> None:
    (rule,) = parse_rules("simplify semi\nrule r: x // y => floor(x / y)", "my.rules", "my")
    found = check_types(rule, Context(RuleSet([rule]), Effort(50, 60.0)))
    assert found.status == FAILED and found.says.startswith("fails on semi.floordivide")
    with pytest.raises(AssertionError, match="rule my.r fails on semi.floordivide"):
        exec(found.shown, {})  # noqa: S102


def test_a_guard_that_fails_is_shown_with_the_term_it_fails_on(tmp_path: Path) -> None:
    path = tmp_path / "mine.rules"
    text = "simplify semi\nrule r: absolute(absolute(x)) => absolute(x)\n    if 1 // (x.rank - 1) == 1"
    path.write_text(text, encoding="utf-8")
    for rules, error in ((load_rules(path), ZeroDivisionError), (parse_rules(text, "no.rules", "no"), AssertionError)):
        found = check_types(rules.rules[0], Context(rules, Effort(50, 60.0)))
        assert found.status == FAILED and "fails on semi.absolute(semi.absolute(x)) with x: bool[3]" in found.says
        names: dict[str, Any] = {}
        with pytest.raises(error):
            exec(found.shown, names)  # noqa: S102
        assert repr(names["x"].type) == "bool[3]"


def test_numbers_are_made_simple() -> None:
    shown = found_in("simplify semi\nrule r: maximum(x, y) => x\n    if is_float(x.dtype)").shown
    values = re.findall(r"[xy]: np.array\((.*), \"float", shown)
    assert len(values) == 2 and set(",".join(values).replace("[", "").replace("]", "").split(",")) <= {
        "0.0", "1.0", "-1.0", "nan", "inf", "-inf"}  # fmt: skip


def test_the_same_counterexample_is_found_every_time() -> None:
    text = "simplify semi\nrule r: absolute(-x) => x"
    assert found_in(text) == found_in(text)


def test_the_rule_of_a_file_can_be_tried_again_once_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "mine.rules"
    path.write_text("simplify semi\nrule r: x - y => y - x\n")
    (rule,) = load_rules(path)
    shown = check_values(rule, Context(RuleSet([rule]), Effort(50, 60.0))).shown
    names: dict[str, Any] = {}
    with pytest.raises(AssertionError):
        exec(shown, names)  # noqa: S102
    (again,) = re.findall("^# once the rule is mended.*: right = (.*)$", shown, re.MULTILINE)
    assert str(path) in again
    for equation, same in (("x - y => -(y - x)", True), ("x - y => y - x", False), ("x - x => 0", True)):
        path.write_text(f"simplify semi\nrule r @real: {equation}\n")
        right = eval(again, {**names, "rewritten": rewritten})  # noqa: S307
        assert (differ(names["left"], right, names["values"], "real") is None) == same


# -- the first step that differs -----------------------------------------------------------------------------


def leaf(name: str, *shape: int) -> Op:
    return term("core.placeholder", axes=list(shape), dtype="float32").named(name)


def array(*numbers: float) -> np.ndarray[Any, Any]:
    return np.array(numbers, np.float32)


def test_the_first_step_is_where_one_side_ceases_to_be_finite() -> None:
    x = leaf("x", 1)
    left = term("semi.multiply", term("semi.exp", term("semi.negative", x)), x)
    right = term("semi.exp", x)
    step = first_step(left, right, {x: array(-200)})
    assert step is not None and step.startswith("semi.exp(semi.negative(x)) of the left side is array([inf]")
    step = first_step(right, left, {x: array(-200)})
    assert step is not None and step.startswith("semi.exp(semi.negative(x)) of the right side is array([inf]")


def test_else_it_is_the_first_value_that_the_left_side_lacks() -> None:
    x, y = leaf("x", 1), leaf("y", 1)
    both = term("semi.multiply", x, y)
    left = term("semi.negative", term("semi.exp", both))
    right = term("semi.negative", term("semi.tanh", term("semi.multiply", y, x)))
    step = first_step(left, right, {x: array(1), y: array(2)})
    assert step is not None and step.startswith("semi.tanh(semi.multiply(y, x)) of the right side is array([0.96")


# -- assert_same ---------------------------------------------------------------------------------------------


def test_assert_same_says_where_they_differ() -> None:
    x = leaf("x", 3)
    said = "not @exact: semi.negative(x) is not x, at [1] -2.0 is not 2.0"
    with pytest.raises(AssertionError, match=re.escape(said)):
        assert_same(term("semi.negative", x), x, {x: array(np.nan, 2, 3)})
    with pytest.raises(AssertionError, match=r"is float32\[3\], .* is bool\[3\]"):
        assert_same(x, term("semi.isnan", x), {x: array(1, 2, 3)})


def test_assert_same_knows_the_classes() -> None:
    x = leaf("x", 2)
    zero = term("core.constant", value=Literal(0.0, "float32"), axes=Axes([2]))
    added, ratio = term("semi.add", x, zero), term("semi.divide", x, x)
    assert_same(added, x, {x: array(-0.0, 1)}, "real")
    with pytest.raises(AssertionError):
        assert_same(added, x, {x: array(-0.0, 1)}, "exact")
    one = term("core.constant", value=Literal(1.0, "float32"), axes=Axes([2]))
    assert_same(ratio, one, {x: array(0, 3)}, "refines")
    with pytest.raises(AssertionError):
        assert_same(ratio, one, {x: array(0, 3)}, "real")


def test_tuples_are_compared_part_by_part() -> None:
    x, y = leaf("x", 1), leaf("y", 1)
    pairs = term("core.make_tuple", x, y), term("core.make_tuple", y, x)
    assert_same(*pairs, {x: array(1), y: array(1)})
    with pytest.raises(AssertionError, match=re.escape("at [0] 1.0 is not 2.0")):
        assert_same(*pairs, {x: array(1), y: array(2)})


def test_a_weight_counts_what_there_is_to_see() -> None:
    x, y = leaf("x"), leaf("y", 2, 3)
    assert weight(x) < weight(term("semi.exp", x)) < weight(y) < weight(term("semi.sum", y, axes=(0,)))


def test_numbers_that_have_to_have_digits_have_few() -> None:
    """A cast to float16 and back was shown to be wrong for -1.2465489250747044."""
    (rule,) = parse_rules(
        "simplify semi\nrule r: cast(cast(x, dtype=t), dtype=u) => cast(x, dtype=u)\n", "m.rules", "m"
    )
    found = check_proof(rule, Context(RuleSet([rule])))
    shown = next(line for line in found.shown.splitlines() if line.startswith("    x: np.array("))
    assert found.status == FAILED and len(shown.split(",")[0]) <= len("    x: np.array(-0.7123")


def test_what_a_prover_finds_is_made_small_too() -> None:
    """It was shown as it was found: two elements, of which one says nothing."""
    (rule,) = parse_rules("simplify semi\nrule r: logical_not(x < y) => x >= y\n", "m.rules", "m")
    found = check_proof(rule, Context(RuleSet([rule])))
    assert found.status == FAILED and found.shown.count("axes=Axes([])") == 2
    assert "1.0" in found.shown or "0.0" in found.shown


@pytest.mark.parametrize(("dtype", "shorter"), [("float16", []), ("float32", [3e38, 3.4e38, 3.4e38]), ("float64", [])])
def test_of_the_greatest_number_only_what_is_finite_is_shorter(dtype: str, shorter: list[float]) -> None:
    """Rounded up it is infinite, which is another number."""
    simpler = list(simpler_numbers(np.array(np.finfo(dtype).max)))
    assert simpler[8:] == [np.array(n, dtype) for n in shorter]
