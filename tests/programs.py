# SPDX-License-Identifier: Apache-2.0
"""Draws whole programs: terms of all families over shared subterms, with arguments for their placeholders.

Every number in an exact program is a small integer, whatever its dtype: then reassociating a sum or fusing
a product changes no bit, and targets have to agree exactly. An analytic program is smooth and bounded, so
that rounding errors stay rounding errors.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import ngraph_rewrite as ng
from ngraph_rewrite import semi
from ngraph_rewrite.types.dtypes import is_float

Array = np.ndarray[Any, Any]

# More examples of the same: NGRAPH_REWRITE_EXAMPLES=20 draws twenty times as many, and new ones.
MORE = int(os.environ.get("NGRAPH_REWRITE_EXAMPLES", "1"))


def drawn(examples: int) -> settings:
    """Settings for a property that compiles kernels: the same few examples in every run."""
    return settings(
        max_examples=examples * MORE,
        derandomize=MORE == 1,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],  # shrinking would compile for minutes
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )


def both(returns: list[ng.Op], inputs: list[ng.Op], arguments: list[Array]) -> tuple[list[Any], list[Any]]:
    """What reference and cpu give in each of two calls; the second must not overwrite what the first gave."""
    found = []
    for name in ("reference", "cpu"):
        with ng.make_transformer(name, seed=7) as transformer:
            computation = transformer.computation(returns, *inputs)
            first = computation(*arguments)
            kept = [result.copy() for result in first]
            second = computation(*arguments)
            assert_same(kept, first)
            found.append([first, second])
    return found[0], found[1]


def assert_same(first: Iterable[Array], second: Iterable[Array], rtol: float = 0.0, atol: float = 0.0) -> None:
    """Equal dtypes, shapes and values; exactly, unless tolerances are given."""
    for a, b in zip(first, second, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(b, a, rtol=rtol, atol=atol, equal_nan=True)


UNARY = ["negative", "absolute", "square", "sign", "relu", "floor"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
SMOOTH = ["tanh", "sigmoid", "sin", "cos", "erf"]


@dataclass
class Program:
    """Terms drawn so far, and the placeholders among them with their arguments."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    dtypes: tuple[str, ...]
    lengths: dict[str, int] = field(default_factory=dict)
    batch: int = 2
    terms: list[ng.Op] = field(default_factory=list)
    inputs: list[ng.Op] = field(default_factory=list)
    arguments: list[Array] = field(default_factory=list)

    # -- leaves -----------------------------------------------------------------------------------------

    def axis(self, name: str) -> ng.Axis:
        return ng.Axis("N") if name == "N" else ng.Axis(name, self.lengths[name])

    def length(self, axis: ng.Axis) -> int:
        return axis.length if isinstance(axis.length, int) else self.batch

    def leaf(self, values: st.SearchStrategy[Any]) -> None:
        """A placeholder (or, now and then, a variable or a constant) with drawn axes."""
        names = self.draw(st.lists(st.sampled_from(["H", "W", "N"]), unique=True, max_size=3))
        dtype = self.draw(st.sampled_from(self.dtypes))
        axes = [self.axis(n) for n in names]
        shape = tuple(self.length(a) for a in axes)
        count = int(np.prod(shape))
        numbers = self.draw(st.lists(values, min_size=count, max_size=count))
        value = np.array(numbers).reshape(shape).astype(dtype)
        kind = self.draw(st.sampled_from(["placeholder", "placeholder", "variable", "constant"]))
        if kind == "placeholder" or "N" in names:
            self.terms.append(ng.placeholder(axes, dtype, name=f"p{len(self.inputs)}"))
            self.inputs.append(self.terms[-1])
            self.arguments.append(value)
        elif kind == "variable":
            self.terms.append(ng.variable(axes, dtype, initial_value=value))
        else:
            self.terms.append(ng.constant(value, axes))

    # -- operands ---------------------------------------------------------------------------------------

    def pick(self, fits: Callable[[ng.Op], bool] = lambda t: True) -> ng.Op | None:
        found = [t for t in self.terms if fits(t)]
        return self.draw(st.sampled_from(found)) if found else None

    def named(self, fits: Callable[[ng.Op], bool] = lambda t: True) -> ng.Op | None:
        return self.pick(lambda t: (t.axes.named or not t.rank) and fits(t))

    def beside(self, x: ng.Op | None, fits: Callable[[ng.Op], bool] = lambda t: True) -> ng.Op | None:
        """A named term whose axes go with those of `x`."""
        return None if x is None else self.named(lambda t: together(x, t) and fits(t))

    def anonymous(self) -> ng.Op | None:
        """A term without names, of known lengths."""
        term = self.pick(lambda t: all(isinstance(n, int) for n in t.shape))
        return None if term is None else ng.strip(term) if term.axes.named else term

    def some_axes(self, term: ng.Op, least: int = 0) -> list[ng.Axis]:
        if term.rank < least:
            return []
        return self.draw(st.lists(st.sampled_from(list(term.axes)), unique=True, min_size=least)) if term.rank else []

    def grow(self, steps: Iterable[Callable[[Program], ng.Op | None]], count: int) -> None:
        chosen = list(steps)
        for _ in range(count):
            term = self.draw(st.sampled_from(chosen))(self)
            if term is not None:
                self.terms.append(term)


def together(x: ng.Op | None, y: ng.Op) -> bool:
    """Whether no axis has two lengths."""
    return x is None or all(a.length == b.length for a in x.axes for b in y.axes if a.name == b.name)


# -- steps of exact programs ----------------------------------------------------------------------------


def unary(p: Program) -> ng.Op | None:
    name = p.draw(st.sampled_from(UNARY))
    term = p.pick(lambda t: t.dtype != bool or name in ("absolute", "square", "floor"))
    return None if term is None else _family(term, name)(term)


def binary(p: Program) -> ng.Op | None:
    name = p.draw(st.sampled_from(BINARY + COMPARISONS))
    x = p.named()
    y = p.beside(x, lambda t: t.dtype != bool)
    return None if x is None or y is None else getattr(ng, name)(x, y)


def with_number(p: Program) -> ng.Op | None:
    term, name = p.pick(lambda t: t.dtype != bool), p.draw(st.sampled_from(BINARY + COMPARISONS))
    number = p.draw(st.integers(0, 3))
    swap = p.draw(st.booleans())
    if term is None:
        return None
    function = _family(term, name)
    return function(number, term) if swap and term.axes.named else function(term, number)


def choice(p: Program) -> ng.Op | None:
    c = p.named(lambda t: t.dtype == bool)
    x = p.beside(c)
    y = p.beside(x, lambda t: together(c, t))
    return None if c is None or x is None or y is None else ng.select(c, x, y)


def cast(p: Program) -> ng.Op | None:
    term = p.named()
    return None if term is None else ng.cast(term, p.draw(st.sampled_from(p.dtypes)))


def reduction(p: Program) -> ng.Op | None:
    name = p.draw(st.sampled_from(["sum", "max", "min", "any", "all", "argmax", "argmin"]))
    term = p.named()
    if term is None:
        return None
    axes = p.some_axes(term)
    empty = any(p.length(a) == 0 for a in axes)
    if empty and name not in ("sum", "any", "all"):
        return None
    return getattr(ng, name)(term, reduction_axes=axes)


def dot(p: Program) -> ng.Op | None:
    x = p.named(lambda t: t.dtype != bool)
    y = p.beside(x, lambda t: t.dtype != bool)
    return None if x is None or y is None else ng.dot(x, y)


def rearrange(p: Program) -> ng.Op | None:
    term = p.named(lambda t: t.rank > 0)
    if term is None:
        return None
    order = p.draw(st.permutations(list(term.axes)))
    kind = p.draw(st.sampled_from(["order", "flatten", "broadcast", "slice", "pad", "stack", "concat", "one_hot"]))
    if kind == "order":
        return ng.axes_with_order(term, order)
    if kind == "flatten":
        return ng.unflatten(ng.flatten(ng.axes_with_order(term, order)))
    if kind == "broadcast":
        extra = [p.axis(n) for n in p.lengths if n not in term.axes.names]
        return ng.broadcast(term, [*extra[:1], *order])
    if kind == "stack":
        return None if "S" in term.axes.names else ng.stack([term, term], ng.Axis("S", 2), p.draw(st.integers(0, 1)))
    if kind == "one_hot":
        fits = term.dtype.kind in "iu" and "O" not in term.axes.names
        return ng.one_hot(ng.mod(term, 3), ng.Axis("O", 3)) if fits else None
    return parts(p, term, kind)


def parts(p: Program, term: ng.Op, kind: str) -> ng.Op | None:
    if kind == "slice":
        items = [p.draw(slices(p.length(a))) for a in term.axes]
        return ng.tensor_slice(term, items) if all(isinstance(a.length, int) for a in term.axes) else None
    if kind == "pad":
        return ng.pad(term, [p.draw(st.tuples(st.integers(0, 1), st.integers(0, 1))) for _ in term.axes])
    return ng.concat_along_axis(
        [term, term + 1 if term.dtype != bool else term], p.draw(st.sampled_from(term.axes.names))
    )


def slices(length: int) -> st.SearchStrategy[Any]:
    """Slices of an axis with any sign of step, and indices where there are any."""
    whole = st.sampled_from([slice(None), slice(None, None, -1), slice(1, None), slice(None, -1), slice(0, 2, 2)])
    return whole | st.integers(-length, length - 1) if length else whole


def positional(p: Program) -> ng.Op | None:
    """A step of the semi family."""
    x = p.anonymous()
    if x is None:
        return None
    shape = tuple(int(n) for n in x.shape)  # type: ignore[arg-type]
    kind = p.draw(st.sampled_from(["transpose", "reshape", "slice", "pad", "gather", "iota", "broadcast", "label"]))
    if kind == "transpose":
        return semi.transpose(x, p.draw(st.permutations(range(x.rank))))
    if kind == "reshape":
        return semi.reshape(x, p.draw(st.sampled_from([(int(np.prod(shape)),), (*shape, 1), shape[::-1]])))
    if kind == "slice":
        return semi.tensor_slice(x, tuple(p.draw(slices(n)) for n in shape))
    if kind == "broadcast":
        return semi.broadcast(x, (2, *shape), range(1, x.rank + 1))
    if kind == "label":
        return ng.label(x, [ng.Axis(f"{'ABCDEF'[i]}{n}", n) for i, n in enumerate(shape)]) if x.rank else None
    return positional_sources(p, x, shape, kind)


def positional_sources(p: Program, x: ng.Op, shape: tuple[int, ...], kind: str) -> ng.Op | None:
    if kind == "pad":
        edge = st.integers(0, 1)
        widths = [[p.draw(edge) for _ in shape] for _ in range(3)]
        return semi.pad(x, *widths, value=0 if x.dtype == bool else p.draw(edge))
    if kind == "iota":
        counted = semi.iota(shape, p.draw(st.integers(0, x.rank - 1)), "int64") if x.rank else None
        return None if counted is None or x.dtype == bool else semi.cast(counted, x.dtype) + x
    indices = p.pick(lambda t: t.dtype.kind in "iu" and not t.axes.named and 0 < t.rank <= 2)
    return semi.gather(x, indices, p.draw(st.integers(0, x.rank - 1))) if x.rank and indices is not None else None


def _family(term: ng.Op, name: str) -> Callable[..., ng.Op]:
    named = term.axes.named or not term.rank
    return getattr(ng if named or not hasattr(semi, name) else semi, name) if named or hasattr(semi, name) else _same


def _same(term: ng.Op, *more: Any) -> ng.Op:
    return term


EXACT = [
    unary,
    unary,
    binary,
    binary,
    binary,
    with_number,
    choice,
    cast,
    reduction,
    reduction,
    dot,
    rearrange,
    rearrange,
    positional,
    positional,
]


# -- steps of analytic programs -------------------------------------------------------------------------


def smooth(p: Program) -> ng.Op | None:
    term, name = p.named(), p.draw(st.sampled_from(SMOOTH))
    return None if term is None else getattr(ng, name)(term)


def scaled(p: Program) -> ng.Op | None:
    """A quotient or a power whose denominator or base is at least 1."""
    x = p.named()
    y = p.beside(x)
    if x is None or y is None:
        return None
    kind = p.draw(st.sampled_from(["divide", "power", "log", "sqrt", "exp", "reciprocal"]))
    safe = 1 + ng.square(ng.tanh(y))
    if kind == "divide":
        return ng.tanh(x) / safe
    return safe ** ng.tanh(x) if kind == "power" else getattr(ng, kind)(safe)


def combined(p: Program) -> ng.Op | None:
    x = p.named()
    y = p.beside(x)
    name = p.draw(st.sampled_from(["add", "subtract", "multiply"]))
    return None if x is None or y is None else ng.tanh(getattr(ng, name)(x, y))


def averaged(p: Program) -> ng.Op | None:
    name = p.draw(st.sampled_from(["mean", "variance", "sum", "logsumexp", "squared_L2", "L2_norm", "prod"]))
    term = p.named(lambda t: t.rank > 0)
    if term is None:
        return None
    return ng.tanh(getattr(ng, name)(ng.tanh(term), reduction_axes=p.some_axes(term, 1)))


def network(p: Program) -> ng.Op | None:
    x = p.named(lambda t: t.rank > 0)
    y = p.beside(x)
    if x is None or y is None:
        return None
    kind = p.draw(st.sampled_from(["softmax", "dot", "multi", "binary"]))
    axes = p.some_axes(x, 1)
    if kind == "softmax":
        return ng.softmax(x, axes)
    if kind == "dot":
        return ng.tanh(ng.dot(x, y))
    if kind == "multi":
        return ng.cross_entropy_multi(ng.softmax(x, axes), ng.softmax(ng.sin(x), axes), out_axes=x.axes - ng.Axes(axes))
    return ng.cross_entropy_binary(ng.sigmoid(x), ng.sigmoid(ng.sin(x)), out_axes=x.axes - ng.Axes(axes))


def moved(p: Program) -> ng.Op | None:
    term = rearrange(p)
    return None if term is None or not is_float(term.dtype) else term


ANALYTIC = [smooth, scaled, combined, combined, averaged, network, network, moved]
