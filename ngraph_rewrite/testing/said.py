# SPDX-License-Identifier: Apache-2.0
"""Instances whose elements are the numbers that stand in a rule: what it does with 2.5 alone shows at 2.5 alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import numpy as np

from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.said import attribute_numbers, numbers_in
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.notation import written
from ngraph_rewrite.testing.seldom import FLOATS
from ngraph_rewrite.testing.strategies import PLAIN, Example, draw_example
from ngraph_rewrite.types.dtypes import DType, finfo, is_float

# Numbers that are drawn anyway, and how many others are, at most.
_USUAL, _MOST = frozenset((0, 1, 2, 3)), 24
# So many choices of values are drawn of each instance.
_CHOICES = 3


def said_numbers(rule: Rule) -> tuple[float, ...]:
    """The numbers that stand in a rule, shorthands expanded, but for those that are drawn anyway.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule r: exp(x) => select(x == 2.5, 77, exp(x) * 1)", "my.rules", "my")
    >>> said_numbers(rule)
    (2.5, 77)
    """
    equation = written(rule).partition("\n")[2]
    return tuple(n for n in numbers_in(equation) if n not in _USUAL)[:_MOST]


def said_examples(rule: Rule, count: int, seed: int = 0) -> Iterator[Example]:
    """Instances with the numbers of a rule among their elements, from so many searches; none if it has none."""
    numbers = said_numbers(rule)
    for i in range(count if numbers else 0):
        random = Random(f"{rule.name} {rule.text} {seed} said {i}")
        example = draw_example(rule, random, FLOATS, (PLAIN,) * _CHOICES)
        if example is not None:
            yield example._replace(choices=[_with(random, numbers, values) for values in example.choices])


def said_attributes(rule: Rule, count: int, seed: int = 0) -> Iterator[Example]:
    """Instances whose attributes are the numbers of a rule that few would have, from so many searches."""
    numbers = tuple(n for n in attribute_numbers(rule) if n > max(_USUAL) + 1)
    for i in range(count if numbers else 0):
        random = Random(f"{rule.name} {rule.text} {seed} attributes {i}")
        example = draw_example(rule, random, varied=True, said=numbers)
        if example is not None:
            yield example


def _with(random: Random, numbers: Sequence[float], values: Mapping[Op | Uid, Array]) -> dict[Op | Uid, Array]:
    return {k: _replaced(random, numbers, v) for k, v in values.items()}


def _replaced(random: Random, numbers: Sequence[float], value: Array) -> Array:
    """About half of the elements replaced by numbers, their negatives, and what stands beside them."""
    own = [n for n in numbers if _holds(value.dtype, n)]
    if not own or not value.size:
        return value
    chosen = np.array([random.choice(own) for _ in value.flat], value.dtype).reshape(value.shape)
    if random.random() < 1 / _CHOICES:
        beside = np.array([random.choice((-1, 0, 1)) for _ in value.flat]).astype(value.dtype).reshape(value.shape)
        chosen = (-chosen if random.random() < 1 / 2 and value.dtype.kind != "u" else chosen) + beside
    replace = np.array([random.random() < 1 / 2 for _ in value.flat]).reshape(value.shape)
    return np.asarray(np.where(replace, chosen, value))


def _holds(dtype: DType, number: float) -> bool:
    """Whether a number is one of a dtype, or near one."""
    if is_float(dtype):
        return abs(number) <= float(finfo(dtype).max)
    return dtype.kind in "iu" and number == int(number) and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
