# SPDX-License-Identifier: Apache-2.0
"""Operands that are left over are shared out to several sequence variables in every way, each way once.

Of equal operands only their number counts: they are the same in any order. So a way says how many of each operand
each sequence gets; a sequence that stands twice gets them twice. No way is begun that cannot be finished, so the next
one always comes in time that is polynomial in the number of operands, however many ways there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

from ngraph_rewrite.rewriting.pattern import SeqVar, is_of
from ngraph_rewrite.terms.op import Op


class Bag(tuple[Op, ...]):
    """What a sequence stands for among operands in any order; where it stands in a row as well, that orders it."""

    __slots__ = ()

    def is_as(self, terms: Sequence[Op]) -> bool:
        """Whether these are the same terms, in whatever order."""
        return len(self) == len(terms) and Counter(self) == Counter(terms)


def shares(terms: Sequence[Op], sequences: Mapping[SeqVar, int]) -> Iterator[dict[str, Bag]]:
    """What each sequence gets, in every way in which they get all of the terms.

    The first sequence gets as few as it can, of so many those that stand first, and the last gets what is left.

    Args:
        sequences: The sequences, and how often each stands among the operands.

    >>> import ngraph_rewrite as ng
    >>> a, b = ng.placeholder([], name="a"), ng.placeholder([], name="b")
    >>> for way in shares([a, b, a], {SeqVar("x"): 1, SeqVar("y"): 1}):
    ...     print(way["x"], way["y"])
    () (a, b, a)
    (a,) (b, a)
    (b,) (a, a)
    (a, a) (b,)
    (a, b) (a,)
    (a, b, a) ()
    >>> [way["x"] for way in shares([a, b, a, b], {SeqVar("x"): 2})]
    [(a, b)]
    """
    if len(sequences) == 1 and next(iter(sequences.values())) == 1:
        (alone,) = sequences
        if alone.sort is None or all(is_of(term, alone.sort) for term in terms):
            yield {alone.name: Bag(terms)}
        return
    places: dict[Op, list[int]] = {}
    for i, term in enumerate(terms):
        places.setdefault(term, []).append(i)
    times = [[n if is_of(term, s.sort) else 0 for term in places] for s, n in sequences.items()]
    for way in _ways([len(own) for own in places.values()], times):
        yield _dealt(terms, list(places.values()), sequences, way)


def _dealt(
    terms: Sequence[Op], places: Sequence[Sequence[int]], sequences: Mapping[SeqVar, int], way: Sequence[Sequence[int]]
) -> dict[str, Bag]:
    """The terms that each sequence gets: of equal ones the first that are left, in the order in which they stand."""
    found, used = dict[str, Bag](), [0] * len(places)
    for (sequence, times), counts in zip(sequences.items(), way, strict=True):
        own: list[int] = []
        for i, count in enumerate(counts):
            if count:
                own += places[i][used[i] : used[i] + count]
                used[i] += count * times
        found[sequence.name] = Bag([terms[i] for i in sorted(own)])
    return found


def _ways(numbers: Sequence[int], times: Sequence[Sequence[int]]) -> Iterator[tuple[Sequence[int], ...]]:
    """For each sequence how many it gets of each of several terms, of which there are so many.

    Args:
        times: For each sequence how often it takes each term; 0 for one that is not of its sort.
    """
    first, rest = times[0], times[1:]
    if not rest:  # the last one gets what is left
        if all(n == 0 or (t and n % t == 0) for n, t in zip(numbers, first, strict=True)):
            yield ([n // t if t else 0 for n, t in zip(numbers, first, strict=True)],)
        return
    later = [tuple(own[i] for own in rest if own[i]) for i in range(len(numbers))]
    options = [
        [c for c in range(n // t if t else 0, -1, -1) if _sums(others, n) >> (n - c * t) & 1]
        for n, t, others in zip(numbers, first, later, strict=True)
    ]
    if not all(options):
        return
    reached = _contiguous(options) or _totals(options)
    for total in range(sum(map(min, options)), sum(map(max, options)) + 1):
        for counts in _picks(options, total, reached):
            left = [n - c * t for n, c, t in zip(numbers, counts, first, strict=True)]
            yield from ((counts, *others) for others in _ways(left, rest))


@lru_cache(maxsize=256)
def _sums(steps: tuple[int, ...], most: int) -> int:
    """What steps taken any number of times can come to, up to a number, as the bits of a number."""
    found = 1
    for step in steps:
        while step <= most:
            found |= found << step  # so far so many times, or that and so many more
            step *= 2
        found &= (2 << most) - 1
    return found


# Whether the options from each place on can come to a total.
Reached = Callable[[int, int], bool]


def _picks(options: Sequence[Sequence[int]], total: int, reached: Reached) -> Iterator[Sequence[int]]:
    """One option of each, so that they come to a total: first those with the first options.

    It works on a list of its own, as there may be more options than Python allows calls inside each other.
    """
    if not options or not reached(0, total):
        yield from () if options or total else ((),)
        return
    chosen, left = list[int](), total
    tried = [iter(options[0])]
    while tried:
        at = len(tried)
        count = next((c for c in tried[-1] if reached(at, left - c)), None)
        if count is None:
            tried.pop()
            left += chosen.pop() if chosen else 0
        elif at == len(options):
            yield (*chosen, count)
        else:
            chosen.append(count)
            left -= count
            tried.append(iter(options[at]))


def _contiguous(options: Sequence[Sequence[int]]) -> Reached | None:
    """What is reached, if the options of each have no gaps: all between the least and the greatest."""
    if any(max(own) - min(own) >= len(own) for own in options):
        return None
    least = [0, *accumulate(map(min, reversed(options)))][::-1]
    most = [0, *accumulate(map(max, reversed(options)))][::-1]
    return lambda at, left: least[at] <= left <= most[at]


def _totals(options: Sequence[Sequence[int]]) -> Reached:
    """What is reached, worked out from the end as the bits of numbers."""
    found = [1]
    for own in reversed(options):
        totals = 0
        for count in own:
            totals |= found[-1] << count
        found.append(totals)
    found.reverse()
    return lambda at, left: left >= 0 and bool(found[at] >> left & 1)
