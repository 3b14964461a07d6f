# SPDX-License-Identifier: Apache-2.0
"""Subscripts as ``numpy.einsum`` reads them: letters for axes, one run of them for each operand and the result."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod

from ngraph_rewrite.errors import AttributeValueError, AxesError
from ngraph_rewrite.types.lengths import Extent

_LETTERS = string.ascii_letters
# What an unknown length counts for where operands are put in order.
_NOMINAL = 100
Shape = tuple[Extent, ...]


def canonical(text: str, ranks: Sequence[int]) -> str:
    """Subscripts with every axis a letter of its own and the result written out.

    Args:
        text: Subscripts with or without ``->``, with ellipses and spaces.
        ranks: The number of axes of each operand.

    Raises:
        AttributeValueError: for what is no subscript, or does not fit the operands.

    >>> canonical("ij,jk", [2, 2]), canonical("...i, i -> ...", [3, 1])
    ('ij,jk->ik', 'YZi,i->YZ')
    """
    if not isinstance(text, str):
        raise AttributeValueError(f"the subscripts are {text!r}", do='give a string such as "ij,jk->ik"')
    left, arrow, right = text.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise AttributeValueError(f"the subscripts {text!r} are of {len(inputs)} operands, and there are {len(ranks)}")
    for part in (*inputs, right):
        _check(part, text)
    free = [c for c in _LETTERS if c not in text]
    open_ranks = [_open(part, n, text) for part, n in zip(inputs, ranks, strict=True)]
    widest = max(open_ranks, default=0)
    if widest > len(free):
        raise AttributeValueError(f"{len(_LETTERS)} letters do not suffice for the axes of {text!r}")
    spare = "".join(free[len(free) - widest :])
    full = [p.replace("...", spare[widest - n :]) for p, n in zip(inputs, open_ranks, strict=True)]
    return f"{','.join(full)}->{_result(full, right, arrow, spare, text)}"


def _check(part: str, text: str) -> None:
    letters = part.replace("...", "", 1)
    wrong = next((c for c in letters if c not in _LETTERS), None)
    if wrong is not None:
        what = "an ellipsis of three dots" if wrong == "." else "letters"
        raise AttributeValueError(f"the subscripts {text!r} contain {wrong!r}", do=f"use {what}")


def _open(part: str, rank: int, text: str) -> int:
    """How many axes an ellipsis stands for."""
    letters = len(part.replace("...", ""))
    if letters > rank or ("..." not in part and letters < rank):
        what = f"{part!r} in the subscripts {text!r} is of {letters} axes, and the operand has {rank}"
        raise AttributeValueError(what, do="write an ellipsis for axes without letters" if letters < rank else None)
    return rank - letters


def _result(inputs: list[str], right: str, arrow: str, spare: str, text: str) -> str:
    every = "".join(inputs)
    if not arrow:
        return spare + "".join(c for c in sorted(set(every) - set(spare)) if every.count(c) == 1)
    if spare and "..." not in right:
        raise AttributeValueError(f"the result of {text!r} leaves out the axes of the ellipsis", do="write '...' there")
    result = right.replace("...", spare)
    for c in result:
        if result.count(c) > 1:
            raise AttributeValueError(f"the result of the subscripts {text!r} names {c!r} twice")
        if c not in every:
            raise AttributeValueError(f"the result of the subscripts {text!r} names {c!r}, which no operand has")
    return result


def parts(text: str) -> tuple[list[str], str]:
    """The runs of letters of the operands, and that of the result.

    >>> parts("ij,jk->ik")
    (['ij', 'jk'], 'ik')
    """
    left, _, right = text.partition("->")
    return left.split(","), right


def lengths_of(text: str, shapes: Sequence[Shape]) -> dict[str, Extent]:
    """The length of each letter; an axis of length 1 is repeated where others are longer.

    Raises:
        AxesError: if a letter has two lengths.

    >>> lengths_of("ij,jk->ik", [(2, 1), (3, 4)])
    {'i': 2, 'j': 3, 'k': 4}
    """
    found: dict[str, Extent] = {}
    for letters, shape in zip(parts(text)[0], shapes, strict=True):
        own: dict[str, Extent] = {}
        for c, n in zip(letters, shape, strict=True):
            if own.setdefault(c, n) != n:
                raise AxesError(f"the axes {c!r} of one operand have the lengths {own[c]!r} and {n!r}")
        for c, n in own.items():
            before = found.setdefault(c, n)
            if before == 1:
                found[c] = n
            elif n not in (1, before):
                raise AxesError(f"the axes {c!r} in {text!r} have the lengths {before!r} and {n!r}")
    return found


def joined(inputs: Iterable[str], result: str) -> str:
    """Subscripts of their runs of letters.

    >>> joined(["ij", "jk"], "ik")
    'ij,jk->ik'
    """
    return f"{','.join(inputs)}->{result}"


def first_contraction(text: str, shapes: Sequence[Shape]) -> tuple[str, str, str, str]:
    """Subscripts that take the first two operands out of an einsum: of each alone, their contraction, what is left.

    >>> first_contraction("ijj,jk,kl->il", [(2, 3, 3), (3, 4), (4, 5)])
    ('ijj->ij', 'jk->jk', 'ij,jk->ik', 'ik,kl->il')
    """
    (left, right, *rest), result = parts(text)
    lengths = lengths_of(text, shapes)
    # an axis of length 1 beside longer ones is repeated: the product does without it
    x, y = (
        "".join(dict.fromkeys(c for c, n in zip(letters, shape, strict=True) if n == lengths[c]))
        for letters, shape in zip((left, right), shapes, strict=False)
    )
    kept = [c for c in dict.fromkeys(x + y) if c in result or any(c in other for other in rest)]
    x, y = ("".join(c for c in own if c in kept or c in other) for own, other in ((x, y), (y, x)))
    out = "".join(kept) if rest else result
    return joined([left], x), joined([right], y), joined([x, y], out), joined([out, *rest], result)


def contraction_order(text: str, shapes: Sequence[Shape]) -> list[int]:
    """The operands in an order in which contracting one after the other is cheap.

    Greedy, as in Smith and Gray, *opt_einsum* (2018): begin with the pair, and go on with the operand, whose product
    has the least elements more than what it is made of, and of these the one of least work. An unknown length counts
    as 100.

    >>> contraction_order("ij,jk,k->i", [(9, 9), (9, 9), (9,)])
    [1, 2, 0]
    """
    inputs, result = parts(text)
    lengths = lengths_of(text, shapes)
    left = list(range(len(inputs)))

    def elements(letters: Iterable[str]) -> int:
        found = (lengths[c] for c in set(letters))
        return prod(n if isinstance(n, int) else _NOMINAL for n in found)

    def product_of(done: str, k: int, others: Iterable[int]) -> str:
        needed = result + "".join(inputs[m] for m in others)
        return "".join(c for c in dict.fromkeys(done + inputs[k]) if c in needed)

    def cost(done: str, k: int, before: Sequence[int] = ()) -> tuple[int, int]:
        made = product_of(done, k, (m for m in left if m != k and m not in before))
        return elements(made) - elements(done) - elements(inputs[k]), elements(done + inputs[k])

    if len(inputs) < 3:
        return left
    pairs = list(combinations(left, 2))
    first, second = min(pairs, key=lambda pair: cost(inputs[pair[0]], pair[1], pair[:1]))
    order = [first, second]
    left = [k for k in left if k not in order]
    done = product_of(inputs[order[0]], order[1], left)
    while left:
        best = min(left, key=lambda k: cost(done, k))
        left.remove(best)
        order.append(best)
        done = product_of(done, best, left)
    return order
