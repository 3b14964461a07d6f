# SPDX-License-Identifier: Apache-2.0
"""Renders pooling and its derivative for a GPU: a thread has an element, and what its windows see is in the code.

In the derivative an element gathers what the windows that it is in have for it, in one order: nothing is added by two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from ngraph_rewrite.codegen.cuda.lanes import decomposed
from ngraph_rewrite.codegen.cuda.lanes import product as product_of
from ngraph_rewrite.codegen.library import has_dtype, rendered
from ngraph_rewrite.codegen.library_pooling import combined
from ngraph_rewrite.codegen.scalar import cast, expression, held, literal
from ngraph_rewrite.codegen.source import Source

_DTYPES = ("float16", "bfloat16", "float32", "float64")
_NEUTRAL = {"max": -np.inf, "min": np.inf, "sum": 0.0, "avg": 0.0}


class Sliding(NamedTuple):
    """How windows slide along an axis.

    Attributes:
        dim: Which of the axes that is.
        padded: Whether there is padding before or after it.
    """

    dim: int
    size: int
    stride: int
    dilation: int
    padded: bool

    @property
    def reach(self) -> int:
        """How far the last element of a window is from the first."""
        return (self.size - 1) * self.dilation

    @property
    def over(self) -> int:
        """How many windows before the last one that an element may be in it may be in too."""
        return self.reach // self.stride


@cache
def render_pooling(kind: str, dtype: str, windows: tuple[Sliding, ...], rank: int, counted: bool = False) -> Source:
    """Return the kernel y[i...] = max, min, sum or avg (`kind`) of the window of x that begins at i times its stride.

    Axis k of y has the length ``n``; the stride of x along it is ``x``, and where it is padded ``m`` is the length of x
    and ``b`` what is before. Sums are held in float32 or float64; an average is over all of a window if `counted`, else
    over what it has of x. y is contiguous.

    >>> render_pooling("max", "float32", (Sliding(1, 2, 2, 1, True),), 2).signature
    ('n0', 'x0', 'n1', 'x1', 'm1', 'b1', 'x', 'y')
    """
    has_dtype(dtype, _DTYPES, "pooling")
    own = held(dtype)
    padded = [one.dim for one in windows if one.padded]
    names = [f"{letter}{k}" for k in range(rank) for letter in ("nxmb" if k in padded else "nx")]
    lines = [_seen(windows, dtype, literal(_NEUTRAL[kind], own))]
    lines.append(combined("sum" if kind == "avg" else kind, own, _taps(windows)))
    if kind == "avg":
        lines.append(f"total = {expression('divide', own, ['total', _number(windows, own, counted)], {}, [own, own])}")
    holes = {"first": "\n".join(_first(windows, rank)), "windows": "\n".join(lines)}
    return rendered("pooling", (*names, "x", "y"), "cuda", dtype=dtype, **indices(rank), **holes)


def indices(rank: int) -> dict[str, str]:
    """The holes of a kernel in which a thread has the element ``number``: how many there are, and its indices."""
    return {"count": product_of(range(rank)), "decomposed": "\n".join(decomposed("number", range(rank)))}


def _taps(windows: Sequence[Sliding]) -> list[str]:
    return [f"x_{'_'.join(map(str, tap))}" for tap in product(*(range(one.size) for one in windows))]


def _first(windows: Sequence[Sliding], rank: int) -> list[str]:
    """The lines that find the first element of a window, and which places along padded axes are in x."""
    lines, begin = list[str](), [f"i{k} * x{k}" for k in range(rank) if k not in {one.dim for one in windows}]
    for k, size, stride, dilation, padded in windows:
        lines.append(f"first{k} = i{k} * {stride}{f' - b{k}' if padded else ''}")
        begin.append(f"first{k} * x{k}")
        for c in range(size if padded else 0):
            at = f"first{k} + {c * dilation}"
            lines.append(f"inside{k}_{c} = ({at} >= 0) & ({at} < m{k})")
    return [*lines, f"begin = {' + '.join(begin) or '0'}"]


def _number(windows: Sequence[Sliding], dtype: str, counted: bool) -> str:
    """How many elements an average is over: at least 1."""
    if counted or not any(one.padded for one in windows):
        return literal(prod(one.size for one in windows), dtype)
    seen = []
    for one in windows:
        inside = [f"select(inside{one.dim}_{c}, np.int64(1), np.int64(0))" for c in range(one.size)]
        seen.append(f"({' + '.join(inside)})" if one.padded else str(one.size))
    return cast(f"max({' * '.join(seen)}, 1)", "int64", dtype)


def _seen(windows: Sequence[Sliding], dtype: str, neutral: str) -> str:
    """The lines that read a window; what is outside of x has no say."""
    lines = []
    for name, tap in zip(_taps(windows), product(*(range(one.size) for one in windows)), strict=True):
        steps = [f"{c * one.dilation} * x{one.dim}" for one, c in zip(windows, tap, strict=True) if c]
        tests = [f"inside{one.dim}_{c}" for one, c in zip(windows, tap, strict=True) if one.padded]
        read = f"{name} = load_{dtype}(x, {' + '.join(['begin', *steps])}, 0)"
        lines += [f"{name} = {neutral}", f"if {' and '.join(tests)}:", f"    {read}"] if tests else [read]
    return "\n".join(lines)


@cache
def render_unpooling(kind: str, dtype: str, windows: tuple[Sliding, ...], rank: int) -> Source:
    """Return the kernel y[i] = the sum of d[w] / n over windows w of x of which x[i] is the greatest, as n others are.

    The least ones count if `kind` is "min". Axis k of x and y has the length ``n``; the strides along it are ``x`` in x
    and ``d`` in d, of windows along it there are ``m``, and ``b`` is what pads it before. y is contiguous.

    >>> render_unpooling("max", "float32", (Sliding(1, 2, 2, 1, False),), 2).signature
    ('n0', 'x0', 'd0', 'n1', 'x1', 'd1', 'm1', 'x', 'd', 'y')
    """
    has_dtype(dtype, _DTYPES, "unpooling")
    letters = {one.dim: "nxdmb" if one.padded else "nxdm" for one in windows}
    names = [f"{letter}{k}" for k in range(rank) for letter in letters.get(k, "nxd")]
    others = [k for k in range(rank) if k not in letters]
    holes = {
        "here": " + ".join(f"i{k} * x{k}" for k in range(rank)) or "0",
        "begin": " + ".join(f"i{k} * x{k}" for k in others) or "0",
        "of": " + ".join(f"i{k} * d{k}" for k in others) or "0",
        "zero": literal(0, held(dtype)),
        "windows": "\n".join(around(windows, _shared(kind, dtype, windows))),
    }
    return rendered("unpooling", (*names, "x", "d", "y"), "cuda", dtype=dtype, **indices(rank), **holes)


def around(windows: Sequence[Sliding], body: Sequence[str]) -> list[str]:
    """The loops over the windows that element ``i`` may be in: ``w`` along each axis, the last one first.

    They run over the places that it has in these, ``rest`` elements from the first one, in order.
    """
    lines = [*body]
    for one in reversed(windows):
        k, at = one.dim, f"i{one.dim} + b{one.dim}" if one.padded else f"i{one.dim}"
        tests = [f"w{k} >= 0", f"w{k} < m{k}", f"rest{k} <= {one.reach}"]
        tests += [f"remainder(rest{k}, {one.dilation}) == 0"] if one.dilation > 1 and one.reach else []
        found = [f"w{k} = last{k} - back{k}", f"rest{k} = {at} - w{k} * {one.stride}", f"if {' and '.join(tests)}:"]
        found += [f"    {line}" for line in lines]
        last = f"quotient({at}, {one.stride})" if one.stride > 1 else at
        lines = [f"last{k} = {last}", f"for back{k} in range({one.over + 1}):", *[f"    {line}" for line in found]]
    return lines


def _shared(kind: str, dtype: str, windows: Sequence[Sliding]) -> list[str]:
    """The lines that see whether an element is the greatest of a window, and add its share of what that has."""
    own, dims = held(dtype), [one.dim for one in windows]
    ahead = ">" if kind == "max" else "<"
    none, one, nan = (literal(number, own) for number in (0, 1, np.nan))
    share = expression("divide", dtype, ["given", "ties"], {}, [dtype, dtype])
    lines = [f"first{k} = w{k} * {stride}{f' - b{k}' if padded else ''}" for k, _, stride, _, padded in windows]
    lines += [f"ties, ahead, odd = {none}, False, False", *_compared(dtype, windows, literal(_NEUTRAL[kind], own))]
    compared = [
        f"ties = ties + select(other == value, {one}, {none})",
        f"ahead = ahead | (other {ahead} value)",
        "odd = odd | (other != other)",
    ]
    at = " + ".join(["of", *(f"w{k} * d{k}" for k in dims)])
    depth = "    " * len([w for w in windows if w.size > 1])
    lines += [depth + line for line in compared]
    lines += [f"given = load_{dtype}(d, {at}, 1)", f"share = {none} * given"]
    lines += ["if odd:", f"    share = {nan}", "elif not ahead:", f"    share = {share}"]
    return [*lines, f"total = {expression('add', dtype, ['total', 'share'], {}, [dtype, dtype])}"]


def _compared(dtype: str, windows: Sequence[Sliding], neutral: str) -> list[str]:
    """The lines that read each element of a window, up to the innermost loop."""
    lines, depth, tests, places = list[str](), "", list[str](), ["begin"]
    for k, size, _, dilation, padded in windows:
        if size > 1:
            lines.append(f"{depth}for c{k} in range({size}):")
            depth += "    "
        lines.append(f"{depth}at{k} = first{k}{f' + c{k} * {dilation}' if size > 1 else ''}")
        tests += [f"at{k} >= 0", f"at{k} < n{k}"] if padded else []
        places.append(f"at{k} * x{k}")
    read = f"other = load_{dtype}(x, {' + '.join(places)}, 0)"
    found = [f"other = {neutral}", f"if {' and '.join(tests)}:", f"    {read}"] if tests else [read]
    return [*lines, *[depth + line for line in found]]
