# SPDX-License-Identifier: Apache-2.0
"""Rules run on the cpu target: a wrong one is shown with a program that fails there, and none raises."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.passes import library
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.catalogue import op
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing import assert_same_on_cpu, cpu, term
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, Context, Effort, Finding
from ngraph_rewrite.testing.on_cpu import OnCpu, cpu_passes, drawn_by_cpu
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.tensor import TensorType

EFFORT = Effort(50, 60.0)


def rule_of(equation: str, header: str = "simplify semi", grade: str = "") -> Rule:
    (rule,) = parse_rules(f"{header}\nrule r{grade and ' @'}{grade}: {equation}\n", "my.rules", "my")
    return rule


def shipped(name: str) -> Rule:
    rule = library().find(name)
    assert rule is not None
    return rule


def checked(rule: Rule) -> Finding:
    return cpu.check_cpu(rule, Context(library(), EFFORT))


# -- rules that ship -----------------------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize(
    "name",
    ["semi.negative_negative", "cpu.gemm", "recognize.logsumexp", "scan.scan", "axes.dot", "axes.uniform", "deriv.tanh",
     "convolution.convolution_nothing", "recognize.log1p"],
)  # fmt: skip
def test_shipped_rules_of_all_kinds_pass(name: str) -> None:
    rule = shipped(name)
    found = checked(rule)
    assert found.status == (NONE if rule.kind == "derive" else PASSED), found


@pytest.mark.parametrize(("second", "status"), [("-floor(-x)", PASSED), ("-floor(x)", FAILED)])
def test_of_a_rule_with_several_left_sides_each_root_is_run(second: str, status: str) -> None:
    assert checked(rule_of(f"floor(x), ceil(x) => floor(x), {second}", grade="real")).status == status


def test_a_left_side_that_nothing_else_lowers_is_its_meaning() -> None:
    assert checked(shipped("axes.dot")).says == "ran on 2 instances, 2 of them with its meaning only"


# -- wrong rules ---------------------------------------------------------------------------------------------

WRONG = [
    ("absolute(-x) => x", "simplify semi", "exact"),
    ("x - x => 0", "simplify semi", "exact"),
    ("exp(x) => exp(x) * 1.001", "simplify semi", "real"),
    ("transpose(transpose(x, perm=p), perm=q) => x\n    if x.type == self.type", "simplify semi", "exact"),
    ("mean(x, axis=k, keepdims=d) => sum(x, axis=k, dtype=self.dtype, keepdims=d)", "lower numpy", "real"),
]


@pytest.mark.parametrize(("equation", "header", "grade"), WRONG)
def test_a_wrong_rule_has_a_program_that_fails(equation: str, header: str, grade: str) -> None:
    rule = rule_of(equation, header, grade)
    found = next(f for seed in range(9) if (f := seeded(rule, seed)).status == FAILED)
    assert found.says == f"is not @{grade} on cpu" and "assert_same_on_cpu(left, right, values" in found.shown
    with pytest.raises(AssertionError, match=f"is not @{grade} on cpu"):
        exec(found.shown, {})  # noqa: S102


def seeded(rule: Rule, seed: int) -> Finding:
    """The finding for other examples: two may miss what is wrong."""
    return cpu.check_cpu(rule, Context(library(), Effort(50, 60.0, seed)))


def test_a_kernel_that_is_wrong_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(OnCpu):
        def run(self, values: cpu.Values) -> cpu.Array:
            return np.asarray(super().run(values) + 1, self._result.dtype)

    monkeypatch.setattr(cpu, "OnCpu", Wrong)
    found = checked(rule_of("x * 1 => x\n    if x.dtype == 'int32'"))
    assert found.status == FAILED and found.says == "has a left side that the cpu gives another value than its meaning"


# -- what cannot be run --------------------------------------------------------------------------------------


@op("cpu_test.unknown", "elementwise", meaning=lambda term, x: x)
def _unknown(x: TensorType) -> TensorType:
    """An op that nothing lowers."""
    return x


def test_to_what_the_target_does_not_execute_the_check_does_not_apply() -> None:
    found = checked(rule_of("absolute(absolute(x)) => cpu_test.unknown(absolute(x))"))
    assert found.status == NONE and found.says.startswith("no rule lowers cpu_test.unknown of type")
    assert "\n" not in found.says


def test_a_rule_of_which_there_is_no_instance_is_open() -> None:
    found = checked(rule_of("absolute(absolute(x)) => absolute(x)\n    if x.rank == 9"))
    assert (found.status, found.says) == (OPEN, "no instance was found")


# -- running -------------------------------------------------------------------------------------------------


def leaf(*shape: int) -> Op:
    return term("core.placeholder", axes=list(shape), dtype="float32").named("x")


def test_a_rule_is_left_out_of_a_lowering_and_only_it() -> None:
    rules, cache = library(), Cache()
    rule = shipped("semi.negative_negative")
    x = leaf(3)
    turned = term("semi.transpose", x, perm=(0,))
    twice = term("semi.negative", term("semi.negative", turned))
    whole, less = (OnCpu(twice, cpu_passes(rules, cache, without), cache) for without in (None, rule))
    assert [t.definition.name for t in whole.lowering.roots] == ["core.placeholder"]
    (root,) = less.lowering.roots
    assert repr(root) == "semi.negative(semi.negative(x))"
    values = {x: np.array([1, -0.0, np.nan], np.float32)}
    assert whole.run(values).tobytes() == less.run(values).tobytes()


def test_random_draws_are_those_of_the_target() -> None:
    uid = Uid()
    draw = term("axes.uniform", uid=uid, axes=Axes([Axis("H", 5)]), low=Literal(0.0), high=Literal(1.0),
                dtype=np.dtype("float32"))  # fmt: skip
    values = drawn_by_cpu(draw, {uid: np.zeros(5, np.float32)})
    found = OnCpu(draw, cpu_passes(library(), Cache()), Cache()).run(values)
    assert found.tobytes() == values[uid].tobytes() and len(set(found.tolist())) == 5


def test_assert_same_on_cpu_says_what_is_wrong() -> None:
    x = leaf(2)
    values = {x: np.array([1, 2], np.float32)}
    assert_same_on_cpu(term("semi.add", x, x), term("semi.multiply", x, term(
        "core.constant", value=Literal(2.0, "float32"), axes=Axes([2]))), values)  # fmt: skip
    with pytest.raises(AssertionError, match=re.escape("is not @exact on cpu")):
        assert_same_on_cpu(term("semi.negative", x), x, values)
