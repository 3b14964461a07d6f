# SPDX-License-Identifier: Apache-2.0
"""Instances of rules with values: terms with known lengths that a left side matches and whose guard holds.

Where the guard can be solved, an instance is made so that it holds; elsewhere instances are made until it does.
One in four is sought without solving, so that what a solved guard never comes to see is tried too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from ngraph_rewrite.rewriting.domain import COMMON_FIRST, Domain
from ngraph_rewrite.rewriting.instances import Instance, first_match
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.said import attribute_numbers, guard_dtypes, guard_lengths
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.given import check_rule_given
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.printing import as_python
from ngraph_rewrite.testing.strategies.drawing import (
    begin,
    drawn_choices,
    drawn_domain,
    random_domain,
    simplest_first,
    varied_domain,
)
from ngraph_rewrite.testing.strategies.values import PLAIN, WILD, leaf_values, random_values, valued_leaves
from ngraph_rewrite.types.dtypes import DType

# Searches for one instance, each begun anew, and how many terms each may make.
SEARCHES = 8
TRIES = 60
KINDS = (PLAIN, WILD, WILD, WILD)
# After so many searches of which none found a usual instance there may be no such instances.
_IN_VAIN = 3
# So many of these searches take no attributes that ops propose, where an instance is to go beyond them.
_STRICT = 6
# How many elements an array has, at most, of an instance that goes beyond the usual lengths, and all of them together.
_VARIED = 1 << 12, 1 << 14
# Bits: for an integer Hypothesis would also try the numbers in modules around, and keep them in a folder .hypothesis.
_SEED = st.tuples(*[st.booleans()] * 32)


class Example(NamedTuple):
    """An instance of a rule, the bank it lives in, and some choices of a value for each leaf and each random draw.

    It prints as the program that builds the term, with the first choice of values.
    """

    instance: Instance
    bank: TrialBank
    choices: list[dict[Op | Uid, Array]]

    def __repr__(self) -> str:
        return as_python(self.instance.term, self.choices[0] if self.choices else None)


@dataclass
class Usual:
    """Whether instances of the usual lengths, ranks and attributes are found.

    Attributes:
        found: How many were.
        missed: How many searches found none.
    """

    found: int = 0
    missed: int = 0

    @property
    def lacking(self) -> bool:
        """Whether it is not worth while to search for more."""
        return not self.found and self.missed >= _IN_VAIN

    def count(self, example: Example | None, beyond: bool) -> None:
        """Count a search, if it was for such an instance."""
        if not beyond:
            self.found += example is not None
            self.missed += example is None


def draw_example(
    rule: Rule,
    random: Random,
    dtypes: tuple[DType, ...] = COMMON_FIRST,
    kinds: Sequence[str] = KINDS,
    tries: int = TRIES,
    varied: bool = False,
    said: tuple[float, ...] = (),
) -> Example | None:
    """An instance of a rule's left side for which its guard holds, with values; None if the generator finds none.

    Lengths and ranks go from 0 to 3, and to lengths that the guard says, dtypes over all that `dtypes` allows,
    attributes over their edges, constants over numbers that the guard says too. The same state of the generator gives
    the same example, in any process.

    Args:
        kinds: How values are drawn, for each choice of values.
        tries: How many terms each search may make.
        varied: Whether lengths, ranks, slices and attributes go beyond those.
        said: What numbers of attributes that go beyond them are, if any will not do.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule r: -(-x) => x\\n    if x.rank == 4", "my.rules", "my")
    >>> draw_example(rule, Random(0)).instance.term.rank
    4
    """
    bank, long = TrialBank(), guard_lengths(rule)
    numbers = said or (attribute_numbers(rule) if varied else ())
    named = tuple(d for d in guard_dtypes(rule) if d in dtypes or dtypes is COMMON_FIRST)  # bfloat16 is not among those
    for search in range(SEARCHES):
        solved = search > 0 or random.random() < 0.75
        solver = Solver(rule, bank.make, random.random() < 0.5) if solved and rule.guard is not None else None
        alone = (random.choice(named),) if named and random.random() < 0.5 else dtypes
        if varied and search < SEARCHES - 1:  # the last one is as usual
            domain: Domain = varied_domain(random, alone, numbers, search < _STRICT, bool(said))
        else:
            domain = random_domain(random, alone, long)
        found = first_match(rule, domain, begin(random), bank, tries, solver)
        if found is not None and not ((long or varied) and too_large(found.term, *_VARIED if varied else ())):
            leaves = valued_leaves(found.term)
            return Example(found, bank, [random_values(random, leaves, kind) for kind in kinds])
    return None


@st.composite
def seeded_instances(
    draw: st.DrawFn,
    rule: Rule,
    dtypes: tuple[DType, ...] = COMMON_FIRST,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
) -> Example:
    """As `instances_of`, each made from one drawn seed: uniform and cheap, but they do not shrink.

    Args:
        seed: Other examples for other seeds, where the same seeds are drawn.
    """
    bits = "".join("01"[b] for b in draw(_SEED))
    example = draw_example(rule, Random(f"{bits} {seed}" if seed else bits), dtypes, kinds)
    assume(example is not None)
    assert example is not None
    return example


def examples_of(
    rule: Rule,
    count: int,
    seed: int = 0,
    dtypes: tuple[DType, ...] = COMMON_FIRST,
    kinds: Sequence[str] = KINDS,
    varied: int | None = None,
) -> Iterator[Example]:
    """Up to `count` examples of a rule, the same for the same seed; fewer where some searches find none.

    Args:
        varied: One in so many goes beyond the usual lengths, ranks and attributes, and all if no usual ones are found;
            by default none.
    """
    usual = Usual()
    for i in range(count):
        random, beyond = Random(f"{rule.name} {rule.text} {seed} {i}"), varied is not None and i % varied == 1
        beyond = beyond or (varied is not None and usual.lacking)
        example = draw_example(rule, random, dtypes, kinds, varied=beyond)
        usual.count(example, beyond)
        if example is not None:
            yield example


@st.composite
def instances_of(
    draw: st.DrawFn,
    rule: Rule,
    dtypes: tuple[DType, ...] = COMMON_FIRST,
    kinds: Sequence[str] = (WILD,),
) -> Example:
    """Well-typed instances of a rule's left side for which its guard holds, with values; they shrink to small ones.

    Lengths and ranks go from 0 to 3, and to lengths that the guard says, dtypes over all that `dtypes` allows,
    attributes over their edges. Values are moderate, or come from the edges of the dtype: NaN, infinities, signed
    zeros, subnormals, large and small ones, integer limits.

    Args:
        kinds: How values are drawn, for each choice of values.

    >>> from hypothesis import Phase, find, settings
    >>> same = settings(max_examples=100, database=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule r: transpose(x, perm=p) => x\\n    if p == (1, 0)", "my.rules", "my")
    >>> find(instances_of(rule), lambda example: True, settings=same).instance.term.shape
    (1, 1)
    """
    check_rule_given(rule)
    bank = TrialBank()
    solver = Solver(rule, bank.make, near=True)
    domain = drawn_domain(draw, dtypes, guard_lengths(rule))
    found = first_match(rule, domain, drawn_choices(draw), bank, 3 * TRIES, solver, simplest_first)
    assume(found is not None and not too_large(found.term))
    assert found is not None
    return Example(found, bank, [draw(leaf_values(found.term, kind)) for kind in kinds])
