# SPDX-License-Identifier: Apache-2.0
"""The first step of a lowering that changes a value: each step that a rule took is looked at by itself, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from ngraph_rewrite.lowering.stage import Replaced, Step
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.returns import leaves, unboxed
from ngraph_rewrite.rewriting.rule import REAL, Rule
from ngraph_rewrite.terms.binders import is_parameter
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Info, Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.compare import difference
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values
from ngraph_rewrite.testing.programs.program import Program, of_terms
from ngraph_rewrite.testing.strategies import PLAIN, lengths, random_array
from ngraph_rewrite.testing.whole.checks import shown
from ngraph_rewrite.testing.whole.lowered import LoweredProgram, Setup


@dataclass(frozen=True)
class WrongStep:
    """A step that does not keep the value its rule's class promises.

    Attributes:
        before: The value of the term that the rule fired on.
        after: The value of what it made of it.
    """

    step: Step
    call: int
    before: Array
    after: Array

    @property
    def why(self) -> Rule | Replaced:
        """The rule, or the pass."""
        assert not isinstance(self.step.why, str)
        return self.step.why

    def __str__(self) -> str:
        text = f"\n    {' '.join(self.why.text.split())}" if isinstance(self.why, Rule) else ""
        return (
            f"the first step that differs, in call {self.call}, is one of {self.why}{text}\n"
            f"    {describe(self.step.before, 4)} = {shown(self.before)}\n"
            f" => {describe(self.step.after, 5)} = {shown(self.after)}"
        )


def first_wrong_step(program: Program, setup: Setup) -> WrongStep | None:
    """The first step of a lowering that changes a value by more than its rule's class lets it; None if none does.

    What stands inside a step of a scan is evaluated for some values of its parameters.
    """
    lowered = LoweredProgram(program, setup)
    steps = list(lowered.lowering.table.redexes())
    terms = [t for step in steps for t in (step.before, step.after)]
    try:
        states = lowered.states()
    except Undefined:
        return None
    for call, state in enumerate(states):
        bound = bind_graph(terms, program.lengths(call))
        values = {**lowered.values(call, state, bound.values()), **_parameters(bound.values())}
        for step in steps:
            found = _difference(step, bound, values)
            if found is not None:
                return WrongStep(step, call, *found)
    return None


def lifted(program: Program, step: WrongStep) -> Program:
    """The term that a wrong step rewrote, as a program: what stands around it is left out.

    Parameters of a scan or function that it depends on become placeholders.
    """
    order = topological([step.step.before])
    handles: dict[Op, Op] = {}
    arguments = {p: [call[i] for call in program.calls] for i, p in enumerate(program.inputs)}
    for term in order:
        if is_parameter(term) and term not in handles:
            new = Op(lookup("core.placeholder"), (), (Uid(), term.axes, term.dtype), term.type, Info())
            arguments[new] = list(_parameters([term]).values()) * len(program.calls)
            handles[term] = new
        else:
            args = tuple(handles[a] for a in term.args)
            handles[term] = Op(term.definition, args, term.attrs, term.type, Info(initial=term.info.initial))
    return of_terms([handles[step.step.before]], arguments)


def _difference(step: Step, bound: Mapping[Op, Op], values: Values) -> tuple[Array, Array] | None:
    grade = step.why.grade if isinstance(step.why, Rule) else REAL
    before, after = (leaves(unboxed(bound[t])) for t in (step.before, step.after))
    for one, other in zip(before, after, strict=True):
        try:
            found = difference(one, other, values, grade, effects=False)
        except Undefined:
            continue
        if found is not None:
            return found.left, found.right
    return None


def _parameters(terms: Iterable[Op]) -> dict[Op | Uid, Array]:
    random, order = Random(0), topological(terms)
    return {t.attribute("uid"): random_array(random, t.dtype, lengths(t), PLAIN) for t in order if is_parameter(t)}
