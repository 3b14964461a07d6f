# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for whole programs: ops of all families over shared terms, and effects between them.

Hypothesis chooses the steps and how long axes may be, so that it can leave steps out and shorten axes; what a step is
applied to, and the numbers, come from a generator with a drawn seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.strategies.drafts.draft import NUMBERS
from ngraph_rewrite.testing.strategies.drafts.effects import EFFECTS
from ngraph_rewrite.testing.strategies.drafts.growing import FAMILIES, begun, drawn_ops, finished, take

# Few, so that little is tried to simplify one; an integer would also be tried as the numbers in modules around.
_SEED = st.sampled_from(range(256))


def programs(
    families: Sequence[str] = FAMILIES,
    numbers: Sequence[str] = NUMBERS,
    steps: int = 6,
    effects: bool = True,
    every_dtype: bool = True,
) -> st.SearchStrategy[Program]:
    """Well-typed programs with arguments for two calls: handles of all families over shared terms.

    There are placeholders of known and unknown lengths, variables, constants, stores in sequences and blocks, random
    draws, functions, scans, derivatives, and operands of several families in one call. A program prints as the Python
    that builds it, and shrinks to fewer steps, shorter axes and plainer numbers.

    Args:
        families: Where the ops of steps come from; leaves, effects and what adapts arguments are of any.
        numbers: What the numbers may be: ``"small"`` integers of any dtype, ``"smooth"`` ones between 0.1 and 0.9, of
            which gradients exist, or ``"wild"`` ones: NaN, infinities, signed zeros, limits.
        steps: The most ops beside what adapts their arguments.
        effects: Whether there are steps that are no single op.
        every_dtype: Whether there are more dtypes than float64, int64 and bool.

    Raises:
        ArgumentError: for a family without ops to draw, or numbers that there are not.

    >>> from hypothesis import Phase, find, settings
    >>> quick = settings(phases=[Phase.generate, Phase.shrink])
    >>> program = find(programs(["semi"], effects=False), lambda p: len(p.returns) > 0, settings=quick)
    >>> len(program.inputs) <= 3
    True
    """
    of = _listed(families, "families", FAMILIES, lambda family: bool(drawn_ops([family])))
    drawn = _listed(numbers, "numbers", NUMBERS, lambda kind: kind in NUMBERS)
    return _programs(of, drawn, steps, effects, every_dtype)


def _listed(given: Any, what: str, known: Sequence[str], is_known: Callable[[str], bool]) -> list[str]:
    """The names that are given, if there are any, and each is known."""
    do = f"give a list of some of {', '.join(known)}"
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(f"{what} is {given!r}", where=user_line(), do=do)
    names = list(given)
    unknown = [name for name in names if not isinstance(name, str) or not is_known(name)]
    if unknown or not names:
        what = f"there is {unknown[0]!r} among {what}" if unknown else f"{what} has no name"
        raise ArgumentError(what, where=user_line(), do=do)
    return names


@st.composite
def _programs(
    draw: st.DrawFn, families: list[str], numbers: list[str], steps: int, effects: bool, every_dtype: bool
) -> Program:
    kind = draw(st.sampled_from(numbers))
    ops = drawn_ops(families)
    kinds = st.tuples(st.sampled_from((False, False, False, effects)), st.integers(0, len(ops) - 1), _SEED)
    chosen = draw(st.lists(kinds, min_size=1, max_size=steps))
    longest, every = draw(st.sampled_from((1, 2, 3, 3, 3))), every_dtype and draw(st.booleans())
    p = begun(Random(draw(_SEED)), kind, ops, every, longest)
    for effect, index, seed in chosen:
        p.random = Random(seed)
        take(p, EFFECTS[index % len(EFFECTS)] if effect else ops[index])
    p.random = Random(draw(_SEED))
    return finished(p, draw(st.booleans()))
