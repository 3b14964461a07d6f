# SPDX-License-Identifier: Apache-2.0
"""Two ways to make the choices of one search: a generator, uniformly, or Hypothesis, which can simplify them.

Hypothesis repeats and simplifies what it draws, which suits parsers and finds the smallest counterexample; where many
instances are to differ as much as they can, a generator with a seed draws them, and at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from hypothesis import strategies as st

from ngraph_rewrite.rewriting.domain import COMMON_FIRST, Domain
from ngraph_rewrite.rewriting.domain_varied import Varied
from ngraph_rewrite.rewriting.pattern_search import Choices
from ngraph_rewrite.types.axes import Axis
from ngraph_rewrite.types.dtypes import DType, is_float
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

Item = TypeVar("Item")
# The lengths that Hypothesis draws, the simplest first: an empty array says less than one with an element.
LENGTHS = (1, 2, 3, 0)


def random_domain(random: Random, dtypes: tuple[DType, ...] = COMMON_FIRST, others: Sequence[int] = ()) -> Domain:
    """A domain of known lengths from 0 to 3, mostly above 1, and of others; one dtype is put before the rest."""
    lengths = random.choices((2, 3, 1, 0), (6, 6, 3, 1), k=7)
    if others and random.random() < 0.5:
        lengths[random.randrange(3)] = lengths[random.randrange(3, 7)] = random.choice(others)
    floats = [d for d in dtypes if is_float(d)]
    first = random.choice(random.choice((dtypes, floats or dtypes)))
    return _domain(lengths, first, dtypes)


def varied_domain(
    random: Random, dtypes: tuple[DType, ...], said: tuple[float, ...] = (), strict: bool = False, sure: bool = False
) -> Varied:
    """A domain of known lengths to 6, of which some are the same, with other slices and attributes than are proposed.

    Args:
        said: Numbers that attributes may have.
        strict: Whether attributes with numbers are never those that are proposed.
        sure: Whether every number that is changed becomes one that is said.
    """
    lengths = random.choices((2, 3, 4, 5, 6, 1), (5, 4, 6, 3, 3, 1), k=7)
    plain = _domain(lengths, random.choice(dtypes), dtypes)
    seed = random.getrandbits(32)
    return Varied(plain.lengths, plain.axes, plain.dtypes, seed=seed, said=said, strict=strict, sure=sure)


def drawn_domain(draw: st.DrawFn, dtypes: tuple[DType, ...] = COMMON_FIRST, others: Sequence[int] = ()) -> Domain:
    """The same, drawn by Hypothesis."""
    lengths = [draw(st.sampled_from((*LENGTHS, *others))) for _ in range(7)]
    return _domain(lengths, draw(st.sampled_from(dtypes)), dtypes)


def _domain(lengths: Sequence[int], first: DType, dtypes: tuple[DType, ...]) -> Domain:
    axes = tuple(Axis(name, n) for name, n in zip("HWNC", lengths[3:], strict=True))
    return Domain((lengths[0], lengths[1], lengths[2]), axes, (first, *(d for d in dtypes if d != first)))


def begin(random: Random) -> Choices:
    """Where each search begins: chosen when it is first asked for, the same when it is asked for again."""
    return _remembered(lambda count: random.getrandbits(32))


def drawn_choices(draw: st.DrawFn) -> Choices:
    """The same, drawn by Hypothesis: with the first option where that will do."""
    return _remembered(lambda count: draw(st.integers(0, count - 1)))


def _remembered(choose: Callable[[int], int]) -> Choices:
    offsets: dict[str, int] = {}

    def offset(site: str, count: int) -> int:
        if site not in offsets:
            offsets[site] = choose(count)
        return offsets[site] % count

    return offset


def simplest_first(items: Sequence[Item]) -> Sequence[Item]:
    """Types of few axes, small lengths and the domain's first dtypes before others, and numbers by size.

    >>> from ngraph_rewrite.ops.checks import tensor
    >>> simplest_first([tensor("int8", (3, 1)), tensor("bool", (2,)), tensor("int8", ())])
    [int8[], bool[2], int8[3, 1]]
    """
    if all(isinstance(item, int) for item in items):
        return sorted(items)  # type: ignore[type-var]
    return sorted(items, key=_weight) if isinstance(items[0], TensorType) else items


def _weight(type_: Any) -> tuple[int, ...]:
    if not isinstance(type_, TensorType) or isinstance(type_, TupleType):
        return (99,)
    known = [n for n in type_.shape if isinstance(n, int)]
    return type_.rank, len([n for n in known if n == 0]), sum(known)
