# SPDX-License-Identifier: Apache-2.0
"""How many instances of each seldom kind a rule is tried on, by the effort there is."""

from __future__ import annotations

from collections.abc import Iterator

from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.testing.findings import Effort
from ngraph_rewrite.testing.said import said_attributes, said_examples
from ngraph_rewrite.testing.seldom import (
    close_examples,
    far_examples,
    few_examples,
    large_examples,
    long_examples,
    wide_examples,
)
from ngraph_rewrite.testing.strategies import Example

# With so much effort, so many searches are made for long axes, for wide integers, and for values that are few.
AT_LENGTH, _LONG_ONES, _WIDE_ONES, _FEW_ONES = 50, 8, 24, 12
# And so many for axes longer than a narrow number, and for each kind of numbers: large, close, and said by the rule.
_FAR_ONES, _NUMBERS = 4, 12
# With less effort so many are made for each of the latter.
_SOME = 4


def rare_examples(rule: Rule, effort: Effort) -> Iterator[Example]:
    """Instances that are seldom drawn otherwise; with little effort only those that cost little."""
    if effort.examples < AT_LENGTH:
        yield from far_examples(rule, _SOME, effort.seed)
        yield from _of_numbers(rule, _SOME, effort.seed)
        return
    more = max(1, round(effort.examples / AT_LENGTH))
    yield from far_examples(rule, more * _FAR_ONES, effort.seed)
    yield from long_examples(rule, more * _LONG_ONES, effort.seed)
    yield from wide_examples(rule, more * _WIDE_ONES, effort.seed)
    yield from few_examples(rule, more * _FEW_ONES, effort.seed)
    yield from _of_numbers(rule, more * _NUMBERS, effort.seed)


def _of_numbers(rule: Rule, count: int, seed: int) -> Iterator[Example]:
    yield from said_examples(rule, count, seed)
    yield from said_attributes(rule, count, seed)
    yield from large_examples(rule, count, seed)
    yield from close_examples(rule, count, seed)
