# SPDX-License-Identifier: Apache-2.0
"""A lowered program, and the values that the meanings of ops give to it in each call: before and after lowering.

Nothing is compiled: what `cpu` would execute is evaluated by its meaning, which shows what rewriting did wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.initialization import Initials, initial_array
from ngraph_rewrite.lowering.passes import SAFE_CLASSES, Lowering, Passes, library, lower, passes_of
from ngraph_rewrite.plan.binding import bind_graph
from ngraph_rewrite.returns import has_value, leaves, unboxed
from ngraph_rewrite.rewriting.inline import as_rules
from ngraph_rewrite.rewriting.rule import CLASSES, EXACT, Rule, RuleSet
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.targets.evaluation import Draws
from ngraph_rewrite.targets.reference import ReferenceExecutable
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.making import make_op
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array, evaluate
from ngraph_rewrite.testing.programs.program import Program

# Lowers as cpu does, and executes by meanings.
LOWERED = replace(CPU, prepare=ReferenceExecutable)


@dataclass
class Setup:
    """What programs are lowered with.

    Attributes:
        rules: All rules, of all classes; by default those of the library.
        seed: Of random draws, and of what a check draws itself.
        own: The file, or the text of one, from which some rules are, if there is one.
    """

    rules: RuleSet = field(default_factory=library)
    cache: Cache = field(default_factory=Cache)
    target: Target = LOWERED
    seed: int = 0
    own: str | None = None
    _without: dict[tuple[str, ...], Setup] = field(default_factory=dict, repr=False)

    @cached_property
    def passes(self) -> Passes:
        """The compiled rules, of all classes that may fire by default."""
        return passes_of(self.rules.of_class(SAFE_CLASSES), self.target, self.cache)

    def without(self, names: Iterable[str]) -> Setup:
        """The same with some rules disabled; the same object for the same names."""
        off = tuple(names)
        if off not in self._without:
            self._without[off] = replace(self, rules=self.rules.without(off), _without={})
        return self._without[off]

    def forget(self) -> None:
        """Let go of what `without` keeps."""
        self._without.clear()


def setup_of(rules: RuleSet | str | os.PathLike[str] | None = None, seed: int = 0) -> Setup:
    """The library's rules, and before them rules of your own: a set, a file or the text of one.

    Raises:
        RuleFileError: for a rule file with a mistake, or that cannot be read.
    """
    given = as_rules(rules)
    own = None if rules is None or isinstance(rules, RuleSet) else os.fspath(rules)
    return Setup(given + library(), seed=seed, own=own)


class LoweredProgram:
    """A program after lowering, evaluated call by call.

    Attributes:
        handles: The handles that have a value, tuples taken apart.
        lowering: What became of them.
        before: The handles and all writes, with the effects put in order.
        after: The same terms, lowered.
        valued: The numbers of those that have a value.
    """

    def __init__(self, program: Program, setup: Setup) -> None:
        self.program, self.setup = program, setup
        self.handles = [h for r in program.returns for h in leaves(unboxed(r))]
        self.lowering: Lowering = lower(self.handles, setup.target, setup.passes)
        sequenced = self.lowering.sequenced
        self.before = [*sequenced.roots, *sequenced.writes]
        self.after = [*self.lowering.roots, *self.lowering.writes]
        self.valued = [i for i, t in enumerate(self.before) if has_value(t)]
        self._streams = {
            t.attribute("uid"): i for i, t in enumerate(t for t in topological(self.before) if _is_draw(t))
        }

    @property
    def grade(self) -> str:
        """The weakest class of all rules that fired."""
        fired = {step.why.grade for step in self.lowering.table.redexes() if isinstance(step.why, Rule)}
        return max(fired, key=CLASSES.index, default=EXACT)

    def states(self) -> list[dict[Uid, Array]]:
        """The variables at the start of each call, by the meanings of what is written.

        Raises:
            Undefined: if the program has no defined value.
        """
        found = [initial_state(topological(self.before))]
        for call in range(len(self.program.calls) - 1):
            state = dict(found[-1])
            values = self.call(call, state, self.before)
            for variable, write in self.lowering.sequenced.final.items():
                state[variable.attribute("uid")] = values.known[self.before.index(write)]
            found.append(state)
        return found

    def call(self, call: int, state: Mapping[Uid, Array], terms: Sequence[Op]) -> Call:
        """The terms (before or after lowering) with the lengths of a call, and their values in it."""
        bound = bind_graph(terms, self.program.lengths(call))
        return Call([bound[t] for t in terms], self.values(call, state, bound.values()))

    def values(self, call: int, state: Mapping[Uid, Array], terms: Iterable[Op]) -> dict[Op | Uid, Array]:
        """The values of the leaves among some terms with bound lengths, and of the random draws."""
        given = dict(zip((p.attribute("uid") for p in self.program.inputs), self.program.calls[call], strict=True))
        draws = Draws(self.setup.seed, self._streams, call)
        values: dict[Op | Uid, Array] = {}
        for term in terms:
            if term.definition.name == "core.placeholder":
                values[term] = given[term.attribute("uid")]
            elif term.definition.name == "core.variable":
                values[term] = state[term.attribute("uid")]
            elif _is_draw(term):
                values[term.attribute("uid")] = draws.draw(term)
        return values


@dataclass
class Call:
    """Terms of known lengths, with what their leaves are in one call."""

    terms: Sequence[Op]
    values: dict[Op | Uid, Array]

    @cached_property
    def known(self) -> list[Array]:
        """The value of each term.

        Raises:
            Undefined: if one has no defined value.
        """
        return [self.everything[t] for t in self.terms]

    @cached_property
    def everything(self) -> dict[Op, Array]:
        """The values of all terms under them that have one."""
        return evaluate(make_op("core.make_tuple", *self.terms), self.values)


def _is_draw(term: Op) -> bool:
    return "draw" in term.definition.traits


def initial_state(terms: Iterable[Op]) -> dict[Uid, Array]:
    """What the variables among some terms begin with, by the meanings of terms.

    Raises:
        Undefined: if an initial value has no defined value.
    """
    initials, found = Initials(), {}
    for variable in terms:
        if variable.definition.name == "core.variable":
            found[variable.attribute("uid")] = _initial(initials, variable)
    return found


def _initial(initials: Initials, variable: Op) -> Array:
    given = initials.given(variable)
    if isinstance(given, Op):
        closed = initials.term(variable)
        bound = bind_graph([closed], {})[closed]
        return evaluate(bound, {})[bound]
    array = np.empty(tuple(int(n) for n in variable.shape), variable.dtype)  # type: ignore[arg-type]
    initial_array(variable, given, array)
    return array
