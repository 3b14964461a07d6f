# SPDX-License-Identifier: Apache-2.0
"""Which rule made a result wrong: the graph is lowered again and again with some of the rules switched off.

What is left is evaluated by the meanings of its ops, so that any rules can be off: an op that nothing lowers any
more is evaluated as it is. If that is right with all rules on, no rule is wrong, but a kernel or the plan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.computation import Computation
from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.explaining.bisecting_search import Bisection, Search
from ngraph_rewrite.explaining.bisecting_terms import bisect_term
from ngraph_rewrite.explaining.oracles import Oracle, is_close, judge_of, result_of
from ngraph_rewrite.lowering.disabling import disabled_now, known_names, switched_off
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.normalising import is_of_signature
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, Passes
from ngraph_rewrite.lowering.replaying import Seen
from ngraph_rewrite.lowering.stage import Step
from ngraph_rewrite.lowering.step_lines import explained
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.watched import without
from ngraph_rewrite.targets.reference import ReferenceExecutable
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.transformer import PassesBut, Transformer, make_transformer
from ngraph_rewrite.types.dtypes import is_float


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
        graph: An op, or a tuple, list or dict of ops; or a term of a signature, with its `rules`.
        oracle: The expected arrays in the structure of `graph`, or a function that says of such a result whether it is
            right. By default what the ops of the graph mean, on the reference target. Of a term of a signature the
            expected normal form, or a function of it; by default what it means, if its operations are declared so.
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
    if isinstance(graph, Op) and is_of_signature(graph):
        off = (disabled,) if isinstance(disabled, str) else tuple(disabled)
        with switched_off(known_names(as_rules(rules), off)):
            return bisect_term(graph, oracle, as_rules(rules))
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
        self._trial = passes
        super().__init__(replace(of.target, prepare=ReferenceExecutable), of.rules, seed, Cache())

    def _chosen(self, own: tuple[GraphPass, ...]) -> PassesBut:
        passes = self._trial
        return lambda off: passes


class _Search(Search):
    def __init__(
        self, transformer: Transformer, graph: Any, inputs: Any, judge: Callable[[Any], bool], own: Any
    ) -> None:
        super().__init__(judge)
        self.transformer, self.graph, self.inputs, self.own = transformer, graph, inputs, own
        self.baseline: Computation | None = None

    def executed(self) -> Bisection:
        """The verdict on a graph that is right as the rules leave it."""
        result = result_of(self.transformer.computation(self.graph, "all"), self.inputs)
        if self.judge(result):
            return Bisection("right", (), None, self.runs, "the result is right as it is")
        says = "no rule: what the rules make of the graph is right by the meanings of its ops; "
        return Bisection("code", (), None, self.runs, says + "a kernel is wrong, or the plan")

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
        finite = np.isfinite(before) if is_float(before.dtype) else np.ones(before.shape, bool)
        return not is_close(after[finite], before[finite])

    def told(self, step: Step) -> str:
        return explained(Seen(step) if self.baseline is None else self.baseline.step_again(step))

    def no_rule(self) -> str:
        named = ", ".join(p.name for p in self.own)
        return "no rule: with all rules off that fired the result is wrong still" + (
            f"; the passes written in Python are {named}" if named else ""
        )

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
        """Take note of rules that fire for the first time; those that look at the graph have their turn last."""
        rules = [(one.step.why, one.step) for one in computation.steps() if isinstance(one.step.why, Rule)]
        for rule, step in sorted(rules, key=lambda pair: pair[0].graph):
            if rule.name not in self.first:
                self.first[rule.name] = step
                self.order.append(rule.name)
