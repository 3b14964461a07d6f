# SPDX-License-Identifier: Apache-2.0
"""A rule keeps values on the cpu target too: both sides run as compiled kernels, and as their meanings say."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import NGraphRewriteError, UnloweredOpError
from ngraph_rewrite.lowering.passes import Passes, library
from ngraph_rewrite.rewriting.rule import EXACT, REFINES, Rule
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.compare import Difference, explained, same_bits
from ngraph_rewrite.testing.counterexample import Counterexample
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values, evaluate
from ngraph_rewrite.testing.findings import FAILED, NONE, OPEN, PASSED, Context, Effort, Finding, finding
from ngraph_rewrite.testing.on_cpu import OnCpu, cpu_passes, drawn_by_cpu
from ngraph_rewrite.testing.strategies import PLAIN, WILD, Example, draw_example
from ngraph_rewrite.types.dtypes import DType, is_float
from ngraph_rewrite.types.tuples import TupleType

# How many instances are run: each costs kernels, which are compiled. With less effort only one is.
FEW, MANY, ENOUGH_EXAMPLES = 1, 2, 30
# The first is of these dtypes, so that rules share kernels; the next of any.
_COMMON: tuple[DType, ...] = tuple(map(np.dtype, ("float32", "int32", "bool")))
_DRAWS = 4


@dataclass(frozen=True)
class CpuCounterexample(Counterexample):
    """A term on which a rule is wrong when it is run by the cpu target."""

    @property
    def asserts(self) -> tuple[str, str]:
        """What fails, and its call."""
        return "assert_same_on_cpu", f'assert_same_on_cpu(left, right, values, "{self.rule.grade}", "{self.rule.name}")'


class _Unbound(Exception):
    """The instance has a parameter, and nothing that gives it a value."""


class _Cannot(Exception):
    """The cpu target cannot run what is to be compared."""


def check_cpu(rule: Rule, context: Context) -> Finding:
    """Check a rule on the cpu target, on a few drawn instances.

    The left side is lowered without the rule, the right side with all rules. Both values are compared with one
    another as the rule's class promises, and each with its meaning, which other rules may refine. Where nothing else
    lowers the left side, only the right side is run. The check does not apply to a rule to ops that the target does not
    execute, as those of another target; the finding is open where no instance could be run for another reason.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule twice: -(-x) => x", "my.rules", "my")
    >>> check_cpu(rule, Context(library())).status
    'passed'
    """
    if rule.kind == "derive":
        return finding(rule, "cpu", NONE, "an adjoint is compared with finite differences")
    compared, alone, reason, stop = 0, 0, "no instance was found", time.process_time() + context.effort.seconds
    without = OPEN
    for example in _examples(rule, context.effort):
        try:
            runs = [_Sides(rule, context, example, *pair) for pair in _pairs(rule, context, example)]
            each = (run.wrong(values) for values in example.choices for run in runs)
            wrong = next((w for w in each if w is not None), None)
        except Undefined:
            continue
        except _Unbound:
            return finding(rule, "cpu", NONE, "a parameter has a value only inside what binds it")
        except (_Cannot, NGraphRewriteError) as error:
            reason = " ".join(str(error).split("\n")[0].split())
            without = NONE if isinstance(error, UnloweredOpError) else OPEN
            continue
        if wrong is not None:
            return finding(rule, "cpu", FAILED, wrong.what, wrong.shown)
        compared, alone = compared + 1, alone + any(run.left is None for run in runs)
        if time.process_time() > stop:
            break
    if not compared:
        return finding(rule, "cpu", without, reason)
    only = f", {alone} of them with its meaning only" if alone else ""
    return finding(rule, "cpu", PASSED, f"ran on {compared} instances{only}")


def _examples(rule: Rule, effort: Effort) -> Iterator[Example]:
    for i in range(MANY if effort.examples >= ENOUGH_EXAMPLES else FEW):
        random = Random(f"{rule.name} {rule.text} {effort.seed} cpu {i}")
        found: Example | None = None
        for turn in range(_DRAWS):
            common = i == 0 and turn < _DRAWS - 1
            example = draw_example(rule, random, _COMMON, (PLAIN, WILD)) if common else None
            beyond = turn == _DRAWS - 1 and found is None
            example = example or draw_example(rule, random, kinds=(PLAIN, WILD), varied=beyond)
            found = example or found
            if example is not None and all(v.size for v in example.choices[0].values()):
                break
        if found is not None:
            yield found


def _pairs(rule: Rule, context: Context, example: Example) -> list[tuple[Op, Op]]:
    """An instance and what the rule makes of it; of a rule with several left sides each root with its own."""
    term = example.instance.term
    step = context.matcher(rule).step(term, TermBank().make, example.instance.target)
    pairs = [] if step is None else [(term, step[1])]
    if step is not None and rule.graph and term.definition.name == step[1].definition.name == "core.make_tuple":
        pairs = list(zip(term.args, step[1].args, strict=True))
    if not pairs or any(old.type != new.type or isinstance(old.type, TupleType) for old, new in pairs):
        raise _Cannot("the instance is no tensor that the rule rewrites")
    return pairs


class _Sides:
    """Both sides of a rule on an instance, compiled."""

    def __init__(self, rule: Rule, context: Context, example: Example, term: Op, made: Op) -> None:
        self.rule, self.term, self.made = rule, term, made
        self.target = example.instance.target
        if any("parameter" in t.definition.traits for t in topological([self.term])):
            raise _Unbound
        self.right = OnCpu(self.made, cpu_passes(context.rules, context.cache), context.cache)
        self.left = _compiled(self.term, cpu_passes(context.rules, context.cache, rule), context.cache)

    def wrong(self, values: Values) -> CpuCounterexample | None:
        """The counterexample, if they are not equal for these values.

        Raises:
            Undefined: if the term has no value there.
        """
        values = drawn_by_cpu(self.term, values)
        left = None if self.left is None else self.left.run(values)
        found = _disagreement(self.term, self.made, values, left, self.right.run(values), self.rule.grade)
        if found is None:
            return None
        what, difference = found
        return CpuCounterexample(self.rule, self.term, self.made, values, what, self.target, difference)


def _compiled(term: Op, passes: Passes, cache: Cache) -> OnCpu | None:
    """The term, compiled; None if nothing lowers it."""
    try:
        return OnCpu(term, passes, cache)
    except NGraphRewriteError:
        return None


def _disagreement(
    term: Op, made: Op, values: Values, left: Array | None, right: Array, grade: str
) -> tuple[str, Difference] | None:
    """What is wrong with the values that the cpu target gave to both sides."""
    means = [evaluate(term, values)[term], evaluate(made, values, strict=False)[made]]
    for side, said, known, found in ((term, "left", means[0], left), (made, "right", means[1], right)):
        apart = None if found is None else ~same_bits(known, found)
        if found is not None and apart is not None and apart.any():  # other rules may refine it, in the lowering
            apart &= ~explained(side, side, values, (known, known), REFINES, (known, found))
            if apart.any():
                what = f"has a {said} side that the cpu gives another value than its meaning"
                return what, Difference(known, found, apart)
    first = means[0] if left is None else left
    apart = ~same_bits(first, right) & ~_refined(means, (first, right))
    if apart.any() and (grade != EXACT or left is None):
        apart &= ~explained(term, made, values, (means[0], means[1]), grade, (first, right))
    return (f"is not @{grade} on cpu", Difference(first, right, apart)) if apart.any() else None


def _refined(means: Sequence[Array], found: Sequence[Array]) -> Array:
    """Where another rule of the lowering made one side finite."""
    if not is_float(means[0].dtype):
        return np.zeros(means[0].shape, bool)
    special = ~np.isfinite(means[0])
    return np.asarray(special & ~(same_bits(means[0], found[0]) & same_bits(means[1], found[1])))


def assert_same_on_cpu(left: Op, right: Op, values: Values, grade: str = "exact", without: str = "") -> None:
    """Demand that the cpu target gives two terms the values that a rule's class promises, and that their meanings say.

    Args:
        without: The rule that the left side is lowered without.

    Raises:
        AssertionError: with both values.
        NGraphRewriteError: if the target cannot run the right side.
    """
    rules, cache = library(), Cache()
    values = drawn_by_cpu(left, values)
    compiled = _compiled(left, cpu_passes(rules, cache, rules.find(without)), cache)
    first = None if compiled is None else compiled.run(values)
    second = OnCpu(right, cpu_passes(rules, cache), cache).run(values)
    found = _disagreement(left, right, values, first, second, grade)
    if found is not None:
        raise AssertionError(f"{found[0]}\n  left   {found[1].left!r}\n  right  {found[1].right!r}")
