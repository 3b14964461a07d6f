# SPDX-License-Identifier: Apache-2.0
"""The call that gives what windows have to their elements: windows over at most three axes, which lie last."""

from __future__ import annotations

from math import prod

from ngraph_rewrite.codegen.library_spreading import render_spread
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.operands import OUTPUT, Call, known, plain
from ngraph_rewrite.plan.pooling import three
from ngraph_rewrite.plan.shares import Share
from ngraph_rewrite.terms.op import Op

SPREAD = "fused.spread"


def spread_kind(term: Op) -> str:
    """What a window's part is divided by: "sum" for nothing, "counted" or "seen" for elements of the window."""
    return "sum" if term.attribute("kind") == "sum" else "counted" if term.attribute("counted") else "seen"


def spread_call(term: Op, groups: Groups) -> Call:
    """The call; what lies behind the axes of windows is one more axis, whose windows have one element.

    Raises:
        CopyFirst: if the operand does not lie in memory row by row.
    """
    axes, lengths, sizes, strides, before, dilations, _, _ = term.attrs
    load, shape = plain(term.args[0], groups), known(term)
    inner = prod(shape[axes[-1] + 1 :])
    rest = () if axes[-1] == len(shape) - 1 else (1,)
    windows = [three((*values, *rest)) for values in (sizes, strides, dilations)]
    places = three((*known(term.args[0])[axes[0] : axes[-1] + 1], *(inner for _ in rest)))
    own = three((*lengths, *(inner for _ in rest)))
    begun = three((*before, *(0 for _ in rest)), 0)
    every = list(zip(own, places, begun, *windows, strict=True))
    apart = all(
        b == 0 and (m <= 1 or (n - 1) * e < s) and (m - 1) * s + (n - 1) * e < long for long, m, b, n, s, e in every
    )
    covered = all(e == 1 and (n == s or m == 1) and m * n == long for long, m, _, n, s, e in every)
    leads, each = prod(shape[: axes[0]]), 0.15 * prod(own) + 0.3 * prod(places) + 10 * own[0] * own[1]
    source = render_spread(spread_kind(term), term.dtype.name, *windows, apart, apart and covered)
    length = leads if apart else leads * own[0] * own[1]
    share = Share(length, int(leads * each))
    return Call(source, (load, OUTPUT, leads, *own, *places, *begun), share)
