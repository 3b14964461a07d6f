# SPDX-License-Identifier: Apache-2.0
"""Lowering: the driver reaches normal forms in any graph, and the table says where every handle went."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import EXACT, Program, drawn

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.lowering.driver import adopt, normalise
from ngraph_rewrite.lowering.passes import library, lower, matchers_of, usable, usable_once
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.walking import topological

H = ng.Axis("H", 3)


@pytest.fixture
def x() -> ng.Op:
    return ng.placeholder([H], name="x")


@pytest.fixture(scope="module")
def matchers() -> dict[str, Matcher]:
    return matchers_of(library(), Cache())


def rewritten(text: str, term: ng.Op, **more: Any) -> tuple[ng.Op, ReplacementTable]:
    """The normal form of a term by rules that nobody checked."""
    matcher = Matcher(parse_rules(textwrap.dedent(text), "own.rules", "own"), Cache())
    table, bank = ReplacementTable(), TermBank()
    roots = adopt([term], table, bank)
    return normalise(roots, matcher, table, bank, CPU, "simplify", **more)[0], table


# -- normal forms -----------------------------------------------------------------------------------


def test_arguments_are_rewritten_first(x: ng.Op) -> None:
    term = ng.negative(ng.negative(ng.exp(ng.negative(ng.negative(x)))))
    found, table = rewritten("simplify axes\nrule twice: negative(negative(x)) => x", term)
    assert found.same_as(ng.exp(x))
    assert [step.before.args[0].args[0].definition.name for step in table.redexes()] == ["core.placeholder", "axes.exp"]


def test_what_a_rule_builds_is_rewritten_too(x: ng.Op) -> None:
    rules = """\
        simplify axes
        rule first: sin(x) => cos(tanh(x))
        rule second: tanh(x) => exp(x)
        rule third: cos(exp(x)) => x
    """
    assert rewritten(rules, ng.sin(x))[0].same_as(x)


@drawn(20)
@given(data=st.data())
def test_lowering_a_normal_form_changes_nothing(matchers: dict[str, Matcher], data: st.DataObject) -> None:
    program = Program(data.draw, ("float64", "int64", "bool"), {"H": 2, "W": 3, "K": 3})
    program.leaf(st.integers(-3, 3))
    program.leaf(st.integers(-3, 3))
    program.grow(EXACT, data.draw(st.integers(1, 8)))
    first = lower([program.terms[-1]], CPU, matchers).roots[0]
    again = lower([first], CPU, matchers)
    assert again.roots[0].same_as(first)
    assert not list(again.table.redexes())


@pytest.mark.parametrize("wide", [False, True])
def test_the_work_is_linear_in_the_graph(matchers: dict[str, Matcher], wide: bool, x: ng.Op) -> None:
    """A chain, and a diamond of diamonds, which has 2**n paths."""

    def entries(size: int) -> int:
        term = x
        for _ in range(size):
            term = ng.tanh(term + term if wide else term + 1)
        table = lower([term], CPU, matchers).table
        return sum(len(s.forward) + len(s.normal) for s in table.stages)

    small, middle, large = entries(20), entries(40), entries(80)
    assert large - middle == 2 * (middle - small)


def test_the_graph_stays_as_it_is(matchers: dict[str, Matcher], x: ng.Op) -> None:
    term = ng.softmax(ng.log(ng.exp(x)) * 1 + 0)
    before = [(t, t.args, t.attrs, t.type, t.info) for t in topological([term])]
    lower([term], CPU, matchers)
    assert [(t, t.args, t.attrs, t.type, t.info) for t in topological([term])] == before


def test_an_op_that_nothing_lowers_is_named(x: ng.Op, matchers: dict[str, Matcher]) -> None:
    without = library().without(["axes.unary.erf"])
    with pytest.raises(
        ng.UnloweredOpError, match=r"no rule lowers axes.erf[\s\S]*test_lowering.py[\s\S]*rules/axes.rules"
    ):
        lower([ng.erf(x)], CPU, matchers_of(without, Cache()))


def test_an_op_of_somebody_else_that_nothing_lowers_wants_a_file_of_theirs(matchers: dict[str, Matcher]) -> None:
    ng.place_family("unlowered", above="axes")  # an op of a family that ships would be drawn by other tests
    ng.op("unlowered.same", meaning=lambda term, x: x)(lambda x: x)
    term = ng.make_op("unlowered.same", ng.placeholder([H]))
    with pytest.raises(ng.UnloweredOpError, match=r"\n  write one in a file that begins with `lower unlowered`$"):
        lower([term], CPU, matchers)


def test_attributes_that_python_calls_equal_are_lowered_apart() -> None:
    ng.place_family("apart", above="axes")
    ng.op("apart.scale")(lambda x, *, by: x)
    text = "scale(x, by=k) => x * constant(value=literal(k, x.dtype), axes=axes_of())"
    rules = ng.rule(text, family="apart", to="axes", kind="lower", name="apart")
    x = ng.placeholder([H])
    scaled = [ng.make_op("apart.scale", ng.negative(-x), by=by) for by in (0.0, -0.0)]
    with ng.make_transformer("cpu", rules=rules) as transformer:
        found = transformer.computation(scaled, x)(np.ones(x.shape, np.float32))
    assert [np.signbit(v).any() for v in found] == [False, True]


# -- what goes wrong --------------------------------------------------------------------------------


def test_rules_that_undo_each_other_are_named(x: ng.Op) -> None:
    rules = """\
        simplify axes
        rule there: sin(x) => cos(x)
        rule back: cos(x) => sin(x)
    """
    with pytest.raises(ng.RewriteError, match=r"runs in a cycle: own.there \(own.rules:2\), own.back \(own.rules:3\)"):
        rewritten(rules, ng.exp(ng.sin(x)))


def test_a_rule_that_contains_itself_is_named(x: ng.Op) -> None:
    with pytest.raises(ng.RewriteError, match=r"own.wrap \(own.rules:2\)"):
        rewritten("simplify axes\nrule wrap: sin(x) => exp(sin(x))", ng.sin(x))


@pytest.mark.parametrize("budget", [{}, {"budget": 100}])
def test_a_rule_that_grows_for_ever_is_stopped_and_named(x: ng.Op, budget: dict[str, int]) -> None:
    with pytest.raises(ng.RewriteError, match=r"did not reach a normal form[\s\S]*own.grow \(own.rules:2\)"):
        rewritten("simplify axes\nrule grow: sin(x) => sin(exp(x))", ng.sin(x), **budget)


def test_steps_inside_steps_take_few_frames(x: ng.Op) -> None:
    """A right side that never ends is given up for its steps, in the frames that a program deep in calls has left."""
    rules, deepest = "simplify axes\nrule grow: exp(x) => log(exp(sin(x)))", 0

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        depth = 0
        while frame.f_back is not None:
            depth, frame = depth + 1, frame.f_back
        deepest = max(deepest, depth)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        with pytest.raises(ng.RewriteError, match="301 steps did not reach a normal form"):
            rewritten(rules, ng.exp(x), budget=300)
    finally:
        sys.setprofile(before)
    assert deepest - len(inspect.stack()) < 120


def test_a_rule_that_changes_a_type_is_named(x: ng.Op) -> None:
    with pytest.raises(ng.RewriteError, match=r"own.wrong rewrites float32\[H:3\] to float64\[H:3\][\s\S]*own.rules:2"):
        rewritten("simplify axes\nrule wrong: sin(x) => cast(x, dtype='float64')", ng.sin(x))


def test_a_rule_that_fails_is_named(x: ng.Op) -> None:
    with pytest.raises(ng.RewriteError, match=r"own.wrong fails on axes.sin[\s\S]*own.rules:2"):
        rewritten("simplify axes\nrule wrong: sin(x) => axes_with_order(x, axes=axes_of())", ng.sin(x))


# -- the table --------------------------------------------------------------------------------------


def test_the_table_tells_each_step(matchers: dict[str, Matcher], x: ng.Op) -> None:
    term = ng.log(ng.exp(x))
    table = lower([term], CPU, matchers).table
    assert table.snap(term) is table.snap(x)
    rules = [step.why.name for step in table.history(term) if isinstance(step.why, Rule)]
    assert "axes.unary.log" in rules
    assert any(isinstance(s.why, Rule) and s.why.name == "semi.log_exp" for s in table.redexes())


def test_the_table_knows_its_own_handles_only(matchers: dict[str, Matcher], x: ng.Op) -> None:
    term, other = ng.tanh(x), ng.tanh(x)
    table = lower([term], CPU, matchers).table
    assert table.knows(term)
    assert not table.knows(other)
    assert table.snap(other) is other
    assert table.history(other) == []


def test_metadata_moves_to_the_replacement(x: ng.Op) -> None:
    """A key that is already there stays."""
    with ng.metadata(layer="inner", unit=1):
        inner = ng.exp(x)
    with ng.metadata(layer="outer", colour="red"):
        outer = ng.negative(ng.negative(inner))
    found, table = rewritten("simplify axes\nrule twice: negative(negative(x)) => x", outer)
    assert dict(table.metadata(found)) == {"layer": "inner", "unit": 1, "colour": "red"}
    assert dict(inner.metadata) == {"layer": "inner", "unit": 1}


def test_two_transformers_lower_one_graph_side_by_side() -> None:
    x = ng.placeholder([H], name="x")
    inner = ng.exp(x)
    term = ng.log(inner) + 1
    value = np.arange(3.0, dtype=np.float32)
    with ng.make_transformer("cpu") as a, ng.make_transformer("cpu", disabled=["semi.log_exp"]) as b:
        one, other = a.computation(term, x), b.computation(term, x, keep=[inner])
        one(value)
        other(value)
        np.testing.assert_allclose(other.value(inner), np.exp(value), rtol=1e-6)  # a few ulps of float32
        assert one.value(term).tolist() == (value + 1).tolist()
        assert one.lowering.table.snap(term) is not other.lowering.table.snap(term)


# -- depth ------------------------------------------------------------------------------------------


def test_depth_is_no_limit() -> None:
    """A chain of 12,000 ops is built, compared, printed, lowered, run and explained."""

    def chain() -> ng.Op:
        term = x
        for _ in range(11_999):
            term = ng.sin(term)
        return term + x

    x = ng.placeholder([], "float64", name="x")
    deep = chain()
    assert deep.same_as(chain())
    assert "sin" in repr(deep)
    with ng.make_transformer("cpu") as transformer:
        computation = transformer.computation(deep, x)
        expected = 1.0
        for _ in range(11_999):
            expected = np.sin(expected)
        # sin contracts: an error of an ulp in one step does not grow in those after it
        assert computation(1.0) == pytest.approx(expected + 1.0, rel=1e-12)
        assert "axes.unary.sin" in computation.explain(deep)
        with pytest.raises(ng.InvalidHandleError, match="in registers"):
            computation.value(deep.args[0].args[0])


# -- what transformers share -----------------------------------------------------------------------------------


def test_rules_that_a_target_can_use_are_looked_for_once_in_a_process() -> None:
    """Of the same rules, however they were put together; of others, and for another target, they are others."""
    rules, fewer = library(), library().without("semi.log_exp")
    found = usable_once(rules, CPU.base, Cache())
    assert found is usable_once(ng.RuleSet(rules.rules), CPU.base, Cache())
    assert found.rules == usable(rules, CPU.base).rules
    for other, base in (fewer, CPU.base), (rules, frozenset(op for op in CPU.base if not op.startswith("cpu."))):
        assert usable_once(other, base, Cache()).rules == usable(other, base).rules != found.rules


# -- determinism ------------------------------------------------------------------------------------

PROGRAM = """
import os, numpy as np, ngraph_rewrite as ng
H, W, N = ng.Axis("H", 3), ng.Axis("W", 4), ng.Axis("N")
x, w, b = ng.placeholder([H, N], name="x"), ng.variable([W, H], name="w"), ng.variable([W], name="b")
loss = ng.sum(ng.square(ng.softmax(ng.tanh(ng.dot(w, x) + b) + b)), out_axes=[])
grads = ng.deriv(loss, [w, b])
step = ng.doall([ng.assign(v, v - 0.1 * g) for v, g in zip([w, b], grads)])
with ng.make_transformer("cpu") as transformer:
    computation = transformer.computation([loss, step], x)
    computation(np.ones((3, 2)))
    print({name: value for name, value in computation.stats().items() if name != "compiled"})
    print(computation.explain(loss))
    for name in sorted(os.listdir(os.environ["NGRAPH_REWRITE_CACHE"])):
        if name.endswith(".py"):
            print(name)
"""


def test_hash_seeds_change_nothing(tmp_path: Path) -> None:
    """Rules fire in the same order and give the same kernels in every process: of rules as they are read elsewhere.

    That they are read alike is `tests/test_shipped.py`. The second process writes all of its code, and has what the
    first has compiled of the same code.
    """
    library()
    outputs = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        known = Path(os.environ["NGRAPH_REWRITE_CACHE"]).glob("library_*.rules")
        for path in (*known, *(tmp_path / "1").glob("*.o")):
            if path.parent != folder:
                shutil.copy(path, folder)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "NGRAPH_REWRITE_CACHE": str(folder)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert "gemm_" in outputs[0]
