# SPDX-License-Identifier: Apache-2.0
"""The call that adds windows up: which loops its kernel has, and with which strides they run over both operands."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ngraph_rewrite.codegen.library_windows import render_fold
from ngraph_rewrite.plan.fusion import Groups
from ngraph_rewrite.plan.nests import CopyFirst
from ngraph_rewrite.plan.operands import OUTPUT, Call, in_memory, known
from ngraph_rewrite.plan.shares import loop_share
from ngraph_rewrite.plan.views import merged, row_major
from ngraph_rewrite.terms.op import Op

# A length, and the strides in what is read and what is written.
Loop = tuple[int, int, int]


def fold_call(term: Op, groups: Groups) -> Call:
    """The axes before the first windowed one are one loop, shared out; then run the places in a window, then the rest.

    Raises:
        CopyFirst: if the axes before are not one stretch of memory.
    """
    axes, _, strides, dilations = term.attrs
    load = in_memory(term.args[0], groups)
    whole = row_major(known(term))
    rank, first = len(whole.shape), min(axes, default=0)
    scale = dict(zip(axes, strides, strict=True))
    dims = list(zip(load.layout.shape, load.layout.strides, strict=True))
    loops = [(n, s, whole.strides[k] * d) for (n, s), k, d in zip(dims[rank:], axes, dilations, strict=True)]
    loops += [(*dims[k], whole.strides[k] * scale.get(k, 1)) for k in range(first, rank)]
    count, step = _lead(dims[:first], term.args[0])
    inner = joined(loops)
    arguments: list[object] = [count, prod(whole.shape[first:]), load, step, OUTPUT]
    for n, x, y in inner:
        arguments += [n, *(s for s in (x, y) if s != 1)]
    source = render_fold(term.dtype.name, [(x == 1, y == 1) for _, x, y in inner])
    return Call(source, tuple(arguments), loop_share(count, prod(n for n, _, _ in inner)))


def _lead(dims: list[tuple[int, int]], x: Op) -> tuple[int, int]:
    """The length and stride of the first dimensions as one."""
    if 0 in (n for n, _ in dims):
        return 0, 0
    one = merged(dims) or [(1, 0)]
    if len(one) > 1:
        raise CopyFirst(x)
    return one[0]


def joined(loops: Sequence[Loop]) -> list[Loop]:
    """Neighbouring loops that are one stretch in both operands become one; loops of length 1 vanish.

    >>> joined([(2, 12, 6), (1, 5, 5), (3, 4, 2)])
    [(6, 4, 2)]
    """
    result: list[Loop] = []
    for n, x, y in loops:
        if n == 1:
            continue
        if result and result[-1][1:] == (x * n, y * n):
            result[-1] = (result[-1][0] * n, x, y)
        else:
            result.append((n, x, y))
    return result
