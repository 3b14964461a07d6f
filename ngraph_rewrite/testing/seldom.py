# SPDX-License-Identifier: Apache-2.0
"""Instances that are seldom drawn, and show what no others do: long axes, large numbers, many digits, equal numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

import numpy as np

from ngraph_rewrite.rewriting.domain import COMMON_FIRST
from ngraph_rewrite.rewriting.instances import TRIES, first_match
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array
from ngraph_rewrite.testing.limits import too_large
from ngraph_rewrite.testing.notation import written
from ngraph_rewrite.testing.overflow import adds
from ngraph_rewrite.testing.strategies import (
    FEW,
    PLAIN,
    WILD,
    Example,
    begin,
    draw_example,
    random_domain,
    random_values,
    valued_leaves,
)
from ngraph_rewrite.types.dtypes import FLOAT16, INT64, DType, finfo, is_float
from ngraph_rewrite.types.tuples import tensors

# So many products at once are too many: those of matrices that are long in all three ways.
_WORK = 4e6
# Positions in an axis of this length fit no integer of eight bits.
LONG = 300
# And of this one no number of sixteen bits; the dtypes of which they are none.
_FAR = {LONG: ("int8", "uint8"), 70_000: ("int16", "uint16", "float16", "bfloat16")}
# Most of what can go wrong goes wrong with floats.
FLOATS: tuple[DType, ...] = tuple(map(np.dtype, ("float32", "float64", "float16", "bool", "int64")))
# Integers of 64 bits meet in float64, which does not hold them all.
WIDE = (INT64, np.dtype("uint64"))
# Mostly floats of which two large ones are soon more than their dtype holds, though not more than another one does.
NARROW: tuple[DType, ...] = (*(FLOAT16,) * 7, np.dtype("float32"))


def far_examples(rule: Rule, count: int, seed: int = 0) -> Iterator[Example]:
    """Of a rule that makes narrow numbers, instances with one axis so long that a position is none of these.

    A rule that casts to any dtype what it counts may make some: it has instances of the narrowest alone. So may what
    it counts in any dtype, beside what a wide one holds.
    """
    equation = written(rule)
    made = equation.partition("=>")[2].partition("\n    if ")[0]
    lengths = [length for length, dtypes in _FAR.items() if any(f"'{name}'" in made for name in dtypes)]
    ways: list[tuple[int, tuple[DType, ...]]] = [(length, COMMON_FIRST) for length in lengths]
    if _CASTS.search(made) and _COUNTS.search(equation):
        ways.append((LONG, _NARROWEST))
    if _PLACES.search(equation):
        ways += [(LONG, _NARROW_AND_WIDE)] * _AXES
    for turn, (length, dtypes) in enumerate(ways):
        found = long_examples(rule, _SPARE * count, seed + turn, 4 * length, length, both=False, dtypes=dtypes)
        far = (e for e in found if too_large(e.instance.term, length - 1))
        yield from (e._replace(choices=[*e.choices, _ones(e.choices[0])]) for e in islice(far, count))


def _ones(values: Mapping[Op | Uid, Array]) -> dict[Op | Uid, Array]:
    """Ones alone: there are as many as an axis is long."""
    return {leaf: np.ones_like(value) for leaf, value in values.items()}


# What is cast to a dtype that is not written out, and what counts or adds up.
_CASTS = re.compile(r"\bcast\([^\n]*\bdtype=(?!')")
_COUNTS = re.compile(r"\b(sum|prod|cumsum|cumprod|cumulative_sum|count_nonzero|argmax|argmin|iota|argsort)\(")
_NARROWEST: tuple[DType, ...] = tuple(map(np.dtype, ("int8", "bool")))
# Positions in a dtype that is not written out.
_PLACES = re.compile(r"\biota\([^\n]*\bdtype=(?!')")
_AXES = 3  # any of which may be the long one
_NARROW_AND_WIDE: tuple[DType, ...] = (np.dtype("uint8"), INT64)


# Of so many searches for long axes one is enough.
_SPARE = 5


def long_examples(
    rule: Rule,
    count: int,
    seed: int = 0,
    elements: int = LONG**2,
    length: int = LONG,
    both: bool = True,
    dtypes: tuple[DType, ...] = COMMON_FIRST,
) -> Iterator[Example]:
    """Instances with axes so long that their positions fit no narrow integer, from so many searches.

    Args:
        elements: How many an array may have, at most.
        length: How long these axes are.
        both: Whether some have two of them.
        dtypes: What is drawn of.
    """
    for i in range(count):
        random, bank = Random(f"{rule.name} {rule.text} {seed} long {i}"), TrialBank()
        two = both and i % 2 == 1
        domain, places = random_domain(random, dtypes), {i % 4, (i + two) % 4}  # one axis, or two of them
        axes = tuple(a.with_length(length) if k in places else a for k, a in enumerate(domain.axes))
        lengths = (length, length if two else domain.lengths[1], domain.lengths[2])
        long = replace(domain, lengths=lengths, axes=axes)
        solver = Solver(rule, bank.make) if rule.guard is not None else None
        found = first_match(rule, long, begin(random), bank, TRIES // 2, solver)
        if found is None or too_large(found.term, elements, 10 * elements):
            continue
        if sum(map(_products, topological([found.term]))) <= _WORK:
            values = random_values(random, valued_leaves(found.term), PLAIN)
            yield Example(found, bank, [values, {leaf: _ascending(value) for leaf, value in values.items()}])


def _products(term: Op) -> float:
    """How many numbers an op multiplies to add them up, as matrices do: NumPy is slow at those of 16 bits."""
    if len(term.args) < 2 or not adds(term):
        return 0.0
    lengths = (n for t in (*term.args[:2], term) for type_ in tensors(t.type) for n in type_.shape)
    return math.sqrt(math.prod(n if isinstance(n, int) else 1 for n in lengths))


def _ascending(value: Array) -> Array:
    """The same numbers in order: what is largest then stands far behind."""
    return np.sort(value, axis=None).reshape(value.shape)


def wide_examples(rule: Rule, count: int, seed: int = 0) -> Iterator[Example]:
    """Of a rule that asks for dtypes, instances with integers beyond 2**53 and 2**63, from so many searches."""
    if rule.guard is None or "dtype" not in str(rule.guard):
        return
    for i in range(count):
        example = draw_example(rule, Random(f"{rule.name} {rule.text} {seed} wide {i}"), WIDE, (WILD,) * 4)
        if example is not None:
            yield example


def close_examples(rule: Rule, count: int, seed: int = 0) -> Iterator[Example]:
    """Of a rule that says dtypes, instances with integers of 64 bits that a float64 takes for one another.

    They stand beside 2**53, and beside 2**63, which is where one of two dtypes ends.
    """
    found = False
    for i in range(count if "dtype" in written(rule) else 0):
        random = Random(f"{rule.name} {rule.text} {seed} close {i}")
        example = draw_example(rule, random, WIDE, (PLAIN,))
        if example is not None and any(v.dtype in WIDE for v in example.choices[0].values()):
            found = True
            plain, signs = example.choices[0], (1, 1, random.choice((1, -1)))
            choices = [
                {k: _close(random, v, sign * base) if v.dtype in WIDE else v for k, v in plain.items()}
                for base in _CLOSE
                for sign in signs
            ]
            yield example._replace(choices=choices)
        elif not found and i:
            return


# Beside these are numbers that are not a float64.
_CLOSE, _BESIDE = (2**53, 2**63), (0, 1, 0, 1, -1, -2)


def _close(random: Random, value: Array, base: int) -> Array:
    """A number, or one beside it, that the dtype holds."""
    limits = np.iinfo(value.dtype)
    numbers = [min(max(base + random.choice(_BESIDE), limits.min), limits.max) for _ in value.flat]
    return np.array(numbers, value.dtype).reshape(value.shape)


def few_examples(rule: Rule, count: int, seed: int = 0) -> Iterator[Example]:
    """Instances whose numbers are few, so that sums of them are 0 and what is compared is equal, from so many searches.

    A condition such as `variance + eps == 0` holds where rows are constant and `eps` is 0, and where there is a 0 to
    divide by, or an infinity to multiply with 0.
    """
    for i in range(count):
        example = draw_example(rule, Random(f"{rule.name} {rule.text} {seed} few {i}"), FLOATS, (FEW,) * 4)
        if example is not None:
            yield example


def large_examples(rule: Rule, count: int, seed: int = 0) -> Iterator[Example]:
    """Instances of floats of 16 bits so large that their sum, or their square, is none, from so many searches."""
    found = False
    for i in range(count):
        random = Random(f"{rule.name} {rule.text} {seed} large {i}")
        example = draw_example(rule, random, NARROW, (PLAIN,))
        if example is not None and _has(FLOAT16, example.instance.term):
            found = True
            yield example._replace(choices=list(_large_choices(random, example.choices[0])))
        elif not found and i:
            return


def _has(dtype: DType, term: Op) -> bool:
    return any(type_.dtype == dtype for t in topological([term]) for type_ in tensors(t.type))


def _large_choices(random: Random, plain: Mapping[Op | Uid, Array]) -> Iterator[dict[Op | Uid, Array]]:
    """All floats large, of one sign or of both; then those of one leaf alone."""
    for power, signs in _LARGE:
        yield {k: _large(random, v, power, signs) if is_float(v.dtype) else v for k, v in plain.items()}
    floats = [k for k, v in plain.items() if is_float(v.dtype)]
    if len(floats) > 1:
        alone = random.choice(floats)
        yield {**plain, alone: _large(random, plain[alone], 1.0, (1,))}


# The part of the digits of the greatest number that numbers have, and their signs.
_LARGE = ((1.0, (1,)), (1.0, (1, -1)), (0.5, (1, -1)))


def _large(random: Random, value: Array, power: float, signs: Sequence[int]) -> Array:
    """Numbers of the size of a power of the greatest one, or larger than it."""
    least = float(finfo(value.dtype).max) ** power
    sizes = (1, 0.75, 0.6) if power == 1 else (0.9, 1.5, 0, 0)
    numbers = [random.choice(sizes) * random.choice(signs) for _ in value.flat]
    return np.asarray(np.array(numbers).reshape(value.shape) * least).astype(value.dtype)
