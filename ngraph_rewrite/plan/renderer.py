# SPDX-License-Identifier: Apache-2.0
"""What a target is asked once the planner has decided what a kernel computes: its text, its parts, its workspaces.

Grouping, order and memory are the same for all targets. A renderer has the rest, as functions and flags.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ngraph_rewrite.codegen.loops import MapNest, RowNest
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.plan.shares import CORE, Grid, Share, Speed
from ngraph_rewrite.terms.op import Op

if TYPE_CHECKING:
    from ngraph_rewrite.plan.convolution_operands import Convolution
    from ngraph_rewrite.plan.fusion import Groups
    from ngraph_rewrite.plan.jobs import Job
    from ngraph_rewrite.plan.operands import Call
    from ngraph_rewrite.plan.products import Product
    from ngraph_rewrite.plan.scalar_programs import RowProgram
    from ngraph_rewrite.plan.strips import Sizes


class Parts(NamedTuple):
    """How an axis is cut up, so that a reduction over it is done in two steps.

    Attributes:
        number: How many parts; 1 if it is as well done at once.
        lanes: How many neighbouring indices have lanes of their own.
        even: Of what the length of a part is a multiple; what is left over is a part of its own.
    """

    number: int
    lanes: int = 1
    even: int = 1


class Epilogues(NamedTuple):
    """How kernels of products do maps over these. The arguments of a map follow those of the call.

    Attributes:
        calls: What computes a product, the last of them with a map, which takes so many nanoseconds for each number;
            and whether the product may be put where the map stores its first value.
        form: What `render` has to know of a product.
        render: The kernel of a map, whose first load is the product, given its constants bit by bit.
        is_called: Whether that is called by the kernel of the product; else it takes its place.
    """

    calls: Callable[[Product | Convolution, float, bool], tuple[Call, ...]]
    form: Callable[[Product | Convolution], Hashable]
    render: Callable[[Hashable, MapNest, tuple[object, ...]], Source]
    is_called: bool


@dataclass(frozen=True, eq=False)
class Renderer:
    """How a target writes kernels.

    Attributes:
        target: Whose bodies of kernel files it takes.
        job: The work that computes the root of a group, but for loops.
        form: Which of its forms the kernel of a nest has, by the lengths of the loops.
        nest: The kernel of a nest in a form.
        share: How the loops of a nest are shared out: by their lengths, and which of them are reduced.
        own_share: How the kernel of a third party is shared out: by the shape of the result, and the number of elements
            that it reads and writes.
        workspaces: The bytes that each share of a nest over rows needs, in each workspace.
        worth: Whether reductions of a shape over some axes are done in one kernel with what comes of them, row by row:
            not where that leaves too little to share out.
        parts: How an axis is cut up of which a reduction leaves too little to share out.
        epilogues: How maps over products are done by the kernels of these; None if they are not.
        prologues: Whether kernels of products compute operands that are maps.
        sums: Whether they add up several products.
        totals: Whether sums over all rows are taken on the way, share by share.
        pooling: Whether reductions of windows have kernels of their own.
        bands: Whether samples go through a loop in bands, each of which is one thread's.
        strips: Of what sizes products are computed a strip at a time; None if they are not.
        outermost: Whether threads share out the outermost loop alone.
        written_out: Whether rows of few elements are written out, so that vectors are made of several rows.
        concurrent: Whether launches may run at once: a plan says then what memory each of them touches.
        speed: That of the machine, which decides what is computed again rather than kept in memory.
    """

    target: str
    job: Callable[[Op, Groups], Job]
    form: Callable[[MapNest | RowNest, Sequence[int]], Hashable]
    nest: Callable[[MapNest | RowNest, Any], Source]
    share: Callable[[Sequence[int], Sequence[bool], MapNest | RowNest], Share | Grid]
    own_share: Callable[[Sequence[int], int], Share | Grid]
    workspaces: Callable[[RowNest, tuple[int, ...]], Sequence[int]]
    worth: Callable[[Sequence[int], Sequence[int]], bool]
    parts: Callable[[RowProgram, int], Parts]
    epilogues: Epilogues | None
    prologues: bool = False
    sums: bool = False
    totals: bool = True
    pooling: bool = True
    bands: bool = False
    strips: Callable[[], Sizes] | None = None
    outermost: bool = False
    written_out: bool = False
    concurrent: bool = False
    speed: Speed = CORE
