# SPDX-License-Identifier: Apache-2.0
"""Renders the kernels of places: of what comes first in an order, of what is true, and of where something belongs."""

from functools import cache

from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.scalar import DTYPES, is_real
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.ops.cpu import MOST_PLACES

_AT_ONCE = 512  # values that are searched for together: they and their places are in the first cache


@cache
def render_first_places(dtype: str, descending: bool, last: bool) -> Source:
    """Return the kernel of the first ``count`` numbers, at least 1, of an argsort of x[o, :, i], which is contiguous.

    There are at most as many as the op allows, and no more than ``n``; ``rows`` counts the pairs (o, i).

    Args:
        last: Whether they are the last, from the end: what equals one that was there before goes before it.

    >>> render_first_places("float32", False, False).signature
    ('rows', 'n', 'inner', 'count', 'x', 'y')
    """
    has_dtype(dtype, DTYPES, "first_places")
    names = ("rows", "n", "inner", "count", "x", "y")
    precedes = comes_before("v", "u", dtype, descending)
    if last:
        precedes = f"not ({precedes})"
    return rendered("first_places", names, dtype=dtype, precedes=precedes, room=str(2 * MOST_PLACES))


@cache
def render_chosen_places() -> Source:
    """Return the kernel of the places of the first ``count`` elements that are true in each row of x[r, :].

    >>> render_chosen_places().signature
    ('rows', 'n', 'count', 'x', 'y')
    """
    return rendered("chosen_places", ("rows", "n", "count", "x", "y"))


def comes_before(first: str, second: str, dtype: str, descending: bool = False) -> str:
    """Whether one value has to stand before another."""
    text = f"{first} {'>' if descending else '<'} {second}"
    return f"{text} or ({first} == {first} and {second} != {second})" if is_real(dtype) else text


@cache
def render_searchsorted(dtype: str, right: bool, target: str = "cpu") -> Source:
    """Return the kernel that finds where v[j] belongs in the ascending x; after what equals it if ``right``.

    >>> render_searchsorted("int32", True).signature
    ('count', 'length', 'x', 'v', 'y')
    """
    has_dtype(dtype, DTYPES, "searchsorted")
    precedes = comes_before(*(("wanted", "found") if right else ("found", "wanted")), dtype)
    holes = {"passes": f"not ({precedes})" if right else precedes}
    if target == "cpu":
        chosen = "low, low + half" if right else "low + half, low"
        holes = {"precedes": _without_branches(precedes), "chosen": chosen, "some": str(_AT_ONCE)}
    return rendered("searchsorted", ("count", "length", "x", "v", "y"), target, dtype=dtype, **holes)


def _without_branches(condition: str) -> str:
    """The same condition, all of which is computed."""
    return " | ".join(f"({part})" for part in condition.replace(" and ", ") & (").split(" or "))
