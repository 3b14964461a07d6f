# SPDX-License-Identifier: Apache-2.0
"""Which rule made a result wrong: the graph is lowered again and again with some of the rules switched off.

What is left is evaluated by the meanings of its ops, so that any rules can be off: an op that nothing lowers any
more is evaluated as it is. If that is right with all rules on, no rule is wrong, but a kernel or the plan.

Rules are switched on in the order in which they first fire, what builds a term before what rewrites it. So the rule
that makes the result wrong comes after those without which it would find nothing to rewrite.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.computation import Computation
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.explaining.oracles import Oracle, is_close, judge_of, result_of
from ngraph_rewrite.lowering.derivation import explained
from ngraph_rewrite.lowering.disabling import disabled_now, switched_off
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, Passes
from ngraph_rewrite.lowering.table import Step
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.watched import without
from ngraph_rewrite.targets.reference import ReferenceExecutable
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.transformer import Transformer, make_transformer


@dataclass(frozen=True)
class Bisection:
    """What was found; `str` gives it in words.

    Attributes:
        verdict: ``rule``: switching one off mends the result; ``rules``: several have to be off together; ``code``: the
            fault is in a kernel or the plan; ``graph``: the ops themselves give it; ``passes``: a pass in Python
            does; ``right``: the result is right as it is.
        rules: The rules, in the order in which they first fired.
        step: The first step of the first of them.
        runs: How many times the graph was lowered and evaluated.
        text: The answer.
    """

    verdict: str
    rules: tuple[Rule, ...]
    step: Step | None
    runs: int
    text: str

    @property
    def rule(self) -> Rule | None:
        """The rule that was found, if one was."""
        return self.rules[0] if self.rules else None

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def bisect(
    graph: Any,
    oracle: Oracle = None,
    *,
    inputs: Mapping[Op, Any] | Sequence[Any] = (),
    target: str | Target = "cpu",
    classes: Iterable[str] = SAFE_CLASSES,
    disabled: Iterable[str] | str = (),
    rules: RuleSet | str | os.PathLike[str] | None = None,
    passes: Iterable[GraphPass] = (),
    seed: int = 0,
) -> Bisection:
    """The first rule whose switching off mends a result.

    Args:
        graph: An op, or a tuple, list or dict of ops.
        oracle: The expected arrays in the structure of `graph`, or a function that says of such a result whether it is
            right. By default what the ops of the graph mean, on the reference target.
        inputs: Arrays by placeholder, or in the order in which a computation of ``"all"`` inputs lists them.
        target: The name of a target, or a target.
        classes: As `make_transformer` takes them, and so the others.

    Raises:
        ArgumentError: for an oracle of another structure, or an unknown target, class or rule.
        NGraphRewriteError: if the graph cannot be lowered and executed with all rules.

    >>> import numpy as np
    >>> import ngraph_rewrite as ng
    >>> x = ng.placeholder([ng.Axis("H", 3)], name="x")
    >>> wrong = ng.rule("tanh(x) => sin(x)", grade="real", name="wrong")
    >>> found = bisect(ng.log(ng.exp(ng.tanh(x))), inputs=[np.ones(3)], rules=wrong)
    >>> found.verdict, found.rule.name
    ('rule', 'wrong.wrong')
    """
    own = tuple(passes)
    with make_transformer(
        target, classes=classes, disabled=disabled, rules=rules, passes=own, seed=seed
    ) as transformer:
        with make_transformer("reference", seed=seed) as reference:
            meant = result_of(reference.computation(graph, "all"), inputs)
        judge = judge_of(oracle if oracle is not None else meant)
        search = _Search(transformer, graph, inputs, judge, own)
        if search.mended([]):
            return search.executed()
        if judge(meant):
            return search.found()
        says = "no rule: by the meanings of its ops, before any rule, the graph gives a wrong result already"
        return Bisection("graph", (), None, search.runs, says)


class _Trial(Transformer):
    """A transformer that executes what some of the rules make of a graph, by the meanings of ops."""

    def __init__(self, of: Transformer, passes: Passes, seed: int) -> None:
        super().__init__(replace(of.target, prepare=ReferenceExecutable), of.rules, seed, Cache())
        self._trial = passes

    def _passes(self, off: tuple[str, ...] = ()) -> Passes:
        return self._trial


class _Search:
    def __init__(
        self, transformer: Transformer, graph: Any, inputs: Any, judge: Callable[[Any], bool], own: Any
    ) -> None:
        self.transformer, self.graph, self.inputs, self.judge, self.own = transformer, graph, inputs, judge, own
        self.runs = 0
        self.baseline: Computation | None = None
        self.known: dict[frozenset[str], bool] = {}
        self.first: dict[str, Step] = {}
        self.order: list[str] = []

    def executed(self) -> Bisection:
        """The verdict on a graph that is right as the rules leave it."""
        result = result_of(self.transformer.computation(self.graph, "all"), self.inputs)
        if self.judge(result):
            return Bisection("right", (), None, self.runs, "the result is right as it is")
        says = "no rule: what the rules make of the graph is right by the meanings of its ops; "
        return Bisection("code", (), None, self.runs, says + "a kernel is wrong, or the plan")

    def found(self) -> Bisection:
        """The verdict on a graph that is wrong as the rules leave it."""
        while not self.mended(self.order):
            before = len(self.order)
            self.run(frozenset(self.order))
            if len(self.order) == before:
                return Bisection("passes", (), None, self.runs, self.no_rule())
        rules = [self.first[name].why for name in self.culprits()]
        return self.answer([rule for rule in rules if isinstance(rule, Rule)])

    def no_rule(self) -> str:
        named = ", ".join(p.name for p in self.own)
        return "no rule: with all rules off that fired the result is wrong still" + (
            f"; the passes written in Python are {named}" if named else ""
        )

    def culprits(self) -> list[str]:
        """One rule that mends the result alone if there is any, else several that do together."""
        first = self.breaking([])
        if self.mended([first]):
            return [self.to_blame(first)]
        for name in self.order:
            if self.mended([name]):
                return [self.to_blame(name)]
        found = [first]
        while not self.mended(found):
            found.append(self.breaking(found))
        needed = list(found)
        for name in found:
            others = [n for n in needed if n != name]
            needed = others if others and self.mended(others) else needed
        return sorted(needed, key=self.order.index)

    def to_blame(self, found: str) -> str:
        """Of the rules that mend the result alone the one that changes a value: the others only led to it."""
        for name in (found, *reversed(self.order[: self.order.index(found)])):
            if self.changes(name) and self.mended([name]):
                return name
        return found

    def changes(self, name: str) -> bool:
        """Whether a step of a rule, with all rules on, gives a term of another value."""
        steps = self.baseline.lowering.table.redexes() if self.baseline is not None else ()
        return any(isinstance(s.why, Rule) and s.why.name == name and self.differs(s) for s in steps)

    def differs(self, step: Step) -> bool:
        assert self.baseline is not None
        try:
            before, after = (self.baseline.meaning(term) for term in (step.before, step.after))
        except NGraphRewriteError:  # it has a value only inside of something, or before something was written
            return False
        finite = np.isfinite(before) if before.dtype.kind == "f" else np.ones(before.shape, bool)
        return not is_close(after[finite], before[finite])

    def breaking(self, off: Sequence[str]) -> str:
        """The rule that, switched on after those that fired before it, makes the result wrong."""
        order = [name for name in self.order if name not in off]
        right, wrong = 0, len(order)  # with so many of them on the result is right, or wrong
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self.mended([*off, *order[middle:]]):
                right = middle
            else:
                wrong = middle
        return order[wrong - 1]

    def mended(self, off: Sequence[str]) -> bool:
        """Whether the result is right without these rules."""
        key = frozenset(off)
        if key not in self.known:
            self.run(key)
        return self.known[key]

    def run(self, off: frozenset[str]) -> Computation | None:
        """Lower and evaluate once; note whether the result is right, and which rules fired for the first time."""
        self.runs += 1
        self.known[off] = False
        passes = self.transformer._passes(disabled_now())
        gated = {n: without(p, off) if isinstance(p, Matcher) and off else p for n, p in passes.items()}
        trial = _Trial(self.transformer, gated, self.transformer._state.seed)
        try:
            with switched_off(sorted(off)):
                computation = trial.lowered(self.graph)
            self.note(computation)
            self.baseline = self.baseline if off else computation
            self.known[off] = self.judge(result_of(computation, self.inputs))
        except NGraphRewriteError:  # without some of the rules others may fail
            return None
        return computation

    def note(self, computation: Computation) -> None:
        """Take note of rules that fire for the first time."""
        for step, _ in computation.steps():
            if isinstance(step.why, Rule) and step.why.name not in self.first:
                self.first[step.why.name] = step
                self.order.append(step.why.name)

    def answer(self, rules: list[Rule]) -> Bisection:
        step = self.first[rules[0].name]
        right = self.baseline.right_side(step) if self.baseline is not None else None
        names = [f"{rule.name} @{rule.grade}  ({rule.place})" for rule in rules]
        verdict, says = ("rule", "without it") if len(rules) == 1 else ("rules", "without all of them")
        lines = [*names, f"{says} the result is right; it first fired here:", explained(step, right)]
        lines += [f"    on what was built at {step.before.info.place}"] if step.before.info.lineno else []
        lines.append(f"found in {self.runs} runs, among {len(self.order)} rules that fired")
        return Bisection(verdict, tuple(rules), step, self.runs, "\n".join(lines))
