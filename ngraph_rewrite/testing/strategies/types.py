# SPDX-License-Identifier: Apache-2.0
"""Axes and types of every family: names, roles, flattened axes, lengths that are known, zero, or unknown."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.ops.simple_marks import N, R, marked
from ngraph_rewrite.terms.catalogue import STANDARD, kin
from ngraph_rewrite.testing.strategies.drawing import LENGTHS
from ngraph_rewrite.types.axes import Axes, Axis, anonymous
from ngraph_rewrite.types.dtypes import DTYPES, FLOAT32, DType
from ngraph_rewrite.types.lengths import Extent, Length
from ngraph_rewrite.types.tensor import TensorType

# Names of axes, the plainest first; the last ones have roles of their own.
NAMES = ("H", "W", "D", "K", "C", "N", "REC")
MOST = len(NAMES) - 2  # axes: two names are left for the parts of a flattened one
_ROLES: tuple[tuple[str, ...] | None, ...] = (None, (), ("channel",), ("sample",), ("recurrent",), ("mine", "yours"))
_SYMBOLS = ("a", "b", "c")


def extents(unknown: bool = True) -> st.SearchStrategy[Extent]:
    """Lengths of anonymous axes: 1, 2, 3, 0, and, if `unknown`, symbols, some of them equal."""
    known: st.SearchStrategy[Extent] = st.sampled_from(LENGTHS)
    return st.one_of(known, st.sampled_from(_SYMBOLS).map(Length.symbol)) if unknown else known


@st.composite
def axis(draw: st.DrawFn, names: Sequence[str] = NAMES, unknown: bool = True) -> Axis:
    """Named axes: with the roles of their names, none, or others; of a length from 0 to 3, or unknown.

    >>> from hypothesis import find, settings
    >>> same = settings(max_examples=100, database=None, derandomize=True)
    >>> find(axis(), lambda a: True, settings=same), find(axis(), lambda a: a.length == 3, settings=same)
    (H:1, H:3)
    """
    lengths = st.sampled_from((*LENGTHS, None) if unknown else LENGTHS)
    return Axis(draw(st.sampled_from(names)), draw(lengths), draw(st.sampled_from(_ROLES)))


@st.composite
def axes(draw: st.DrawFn, max_rank: int = 4, unknown: bool = True, flattened: bool = True) -> Axes:
    """Sets of up to `max_rank` named axes in any order, of which one may be flattened from several others.

    Raises:
        ArgumentError: for a `max_rank` that is more than there are names for.
    """
    if not 0 <= max_rank <= MOST:
        raise ArgumentError(f"axes: max_rank is {max_rank}", do=f"give a number from 0 to {MOST}")
    names = list(draw(st.permutations(NAMES)))
    own = [draw(axis([names.pop()], unknown)) for _ in range(draw(st.integers(0, max_rank)))]
    if own and flattened and draw(st.integers(0, 5)) == 5:
        parts = [draw(axis([names.pop()], unknown)) for _ in range(draw(st.integers(1, 2)))]
        own[draw(st.integers(0, len(own) - 1))] = Axis.flattened(parts)
    return Axes(own)


@st.composite
def tensor_types(
    draw: st.DrawFn,
    family: str = "axes",
    dtypes: Sequence[DType] = (FLOAT32, *(d for d in DTYPES if d != FLOAT32)),
    max_rank: int = 4,
    unknown: bool = True,
) -> TensorType:
    """Types that tensors of a family have; they shrink to scalars of the first dtype.

    Args:
        family: ``axes``: named axes. ``simple``: anonymous ones, perhaps with the sample axis and the recurrent one
            among them. ``numpy``, ``semi`` and families of your own that stand on them: anonymous ones. ``core``: any.
        unknown: Whether some lengths may be unknown.

    Raises:
        ArgumentError: for a family whose tensors are not known.

    >>> from hypothesis import find, settings
    >>> same = settings(max_examples=100, database=None, derandomize=True)
    >>> find(tensor_types("simple"), lambda t: t.rank == 2, settings=same)
    float32[1, 1]
    """
    standard = kin(family)
    if standard not in (*STANDARD, "core"):
        raise ArgumentError(f"no family is called {family!r}", do=f"choose among {', '.join(STANDARD)} and core")
    if standard == "core":
        standard = draw(st.sampled_from(STANDARD))
    dtype = draw(st.sampled_from(list(dtypes)))
    if standard == "axes":
        return TensorType(dtype, draw(axes(max_rank, unknown)))
    shape: list[Extent | Axis] = list(draw(st.lists(extents(unknown), max_size=max_rank)))
    if standard != "simple":
        return TensorType(dtype, anonymous(shape))  # type: ignore[arg-type]
    for marker in draw(st.sampled_from(((), (N,), (R,), (N, R)))):
        if len(shape) < max_rank:
            length = draw(st.sampled_from((*LENGTHS, None) if unknown else LENGTHS))
            shape.insert(draw(st.integers(0, len(shape))), marker(length))
    return TensorType(dtype, marked(shape))
