# SPDX-License-Identifier: Apache-2.0
"""Programs a little smaller than another one: fewer results, terms taken out, shorter axes, plainer numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.returns import has_value
from ngraph_rewrite.terms.binders import free_parameters
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Info, Uid
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array, Undefined
from ngraph_rewrite.testing.programs.program import Program, of_terms
from ngraph_rewrite.testing.whole.lowered import LoweredProgram, Setup
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.lengths import bind, symbols
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType, tensors

_LEAVES = ("core.placeholder", "core.constant", "core.variable", "core.parameter")


def smaller(program: Program, setup: Setup) -> Iterator[Program]:
    """Programs to try, those that take most away first; some may be ill-formed in ways that only a lowering sees."""
    fewer = chain(fewer_results(program), fewer_calls(program), without_terms(program, setup))
    yield from filter(_has_lengths, chain(fewer, shorter(program), plainer(program)))


def _has_lengths(program: Program) -> bool:
    """Whether arguments say what each unknown length is."""
    known = program.lengths(0)
    types = chain.from_iterable(tensors(term.type) for term in topological(program.returns))
    return all(symbol in known for type_ in types for length in type_.shape for symbol in symbols(length))


def arguments_of(program: Program) -> dict[Op, list[Array]]:
    """Each placeholder with its argument in each call."""
    return {p: [call[i] for call in program.calls] for i, p in enumerate(program.inputs)}


# -- what is asked for ------------------------------------------------------------------------------


def fewer_results(program: Program) -> Iterator[Program]:
    """One term alone, the smallest first; or all results but one."""
    arguments = arguments_of(program)
    closed = [t for t in _closed(program.returns) if t.definition.name not in _LEAVES]
    for term in closed:
        if term is not program.returns[0] or len(program.returns) > 1:
            yield of_terms([term], arguments)
    for i in range(len(program.returns) if len(program.returns) > 1 else 0):
        yield of_terms([*program.returns[:i], *program.returns[i + 1 :]], arguments)


def fewer_calls(program: Program) -> Iterator[Program]:
    """One call alone."""
    if len(program.calls) > 1:
        for call in program.calls:
            yield Program(program.returns, program.inputs, (call,))


def _closed(roots: Sequence[Op]) -> list[Op]:
    order = topological(roots)
    free = free_parameters(order)
    return [t for t in order if t not in free]


# -- terms ------------------------------------------------------------------------------------------


def without_terms(program: Program, setup: Setup) -> Iterator[Program]:
    """A term replaced by a placeholder with its value, or by one of its arguments; those nearest the results first."""
    order = [t for t in reversed(program.handles) if t.definition.name != "core.placeholder"]
    known = _known_values(program, setup)
    for term in order:
        if term in known and not (term.definition.name == "core.constant" and _plain(term)):
            new = Op(lookup("core.placeholder"), (), (Uid(), term.axes, term.dtype), _leaf_type(term), Info())
            yield _replaced(program, {term: new}, {new: known[term]})
        yield from (_replaced(program, {term: a}) for a in dict.fromkeys(term.args) if a.type == term.type)


def _plain(constant: Op) -> bool:
    return constant.attribute("value").scalar is not None or constant.size == 0


def _leaf_type(term: Op) -> TensorType:
    return TensorType(term.dtype, term.axes)


def _known_values(program: Program, setup: Setup) -> Mapping[Op, list[Array]]:
    """The values in each call of the terms that have one, by their meanings."""
    with suppress(Undefined, NGraphRewriteError):
        lowered = LoweredProgram(program, setup)
        images = lowered.lowering.sequenced.terms
        terms = [t for t in _closed(program.returns) if _is_array(t) and not _writes(t)]
        calls = [lowered.call(c, s, [images.get(t, t) for t in terms]).known for c, s in enumerate(lowered.states())]
        return {t: [known[i] for known in calls] for i, t in enumerate(terms)}
    return {}


def _is_array(term: Op) -> bool:
    return has_value(term) and not isinstance(term.type, TupleType)


def _writes(term: Op) -> bool:
    return term.definition.name in ("core.variable", "core.assign", "core.after", "core.placeholder")


def _replaced(program: Program, new: Mapping[Op, Op], more: Mapping[Op, Sequence[Array]] = {}) -> Program:
    arguments = {**arguments_of(program), **more}
    return of_terms(substituted(program.returns, new), arguments)


# -- lengths ----------------------------------------------------------------------------------------


def shorter(program: Program) -> Iterator[Program]:
    """Shorter axes, and other numbers along them: what is left of the old ones may be equal, and hide what fails."""
    for found in _shorter(program):
        yield found
        yield _numbered(found)


def _numbered(program: Program) -> Program:
    """The program with arguments whose elements are all different, but for truths."""
    calls = tuple([tuple([_different(a) for a in call]) for call in program.calls])
    return Program(program.returns, program.inputs, calls)


def _different(array: Array) -> Array:
    return array if array.dtype.kind == "b" else np.arange(array.size).reshape(array.shape).astype(array.dtype)


def _shorter(program: Program) -> Iterator[Program]:
    """All axes of one length cut to a shorter one; unknown lengths likewise."""
    found = {n for t in program.handles if not isinstance(t.type, TupleType) for n in t.shape if isinstance(n, int)}
    for length in sorted((n for n in found if n > 1), reverse=True):
        for new in (1, *([2] if length > 2 else [])):
            for attributes in (("shape",), ("shape", "stops"), ("shape", "stops", "starts")):
                with suppress(NGraphRewriteError, ValueError, IndexError):
                    yield _rebuilt(program, length, new, attributes)
    for new in (1, 2):
        with suppress(NGraphRewriteError, ValueError):
            yield _rebatched(program, new)


def _rebuilt(program: Program, length: int, new: int, attributes: Sequence[str]) -> Program:
    """The program with every axis of `length`, and such numbers in some attributes, `new` long."""
    made: dict[Op, Op] = {}

    def renewed(name: str, value: Any, inside: bool) -> Any:
        if isinstance(value, Axes):
            return Axes([_axis(a, length, new) for a in value])
        if isinstance(value, Axis):
            return _axis(value, length, new)
        if type(value) is tuple:
            return tuple(renewed(name, v, True) for v in value)
        return new if inside and value == length and type(value) is int and name in attributes else value

    for term in program.handles:
        attrs = [renewed(k, v, False) for k, v in term.attributes.items()]
        if term.definition.name == "core.constant":
            attrs[0] = _cut_literal(term, attrs[1])
        stored, type_ = term.definition.infer(tuple(made[a].type for a in term.args), tuple(attrs))
        info = term.info
        if info.initial is not None and not isinstance(info.initial, Op):
            info = info._replace(initial=_cut(np.asarray(info.initial), type_.shape))
        made[term] = Op(term.definition, tuple(made[a] for a in term.args), stored, type_, info)
    arguments = {
        made[p]: [_cut(a, [min(n, k) if isinstance(k, int) else n for n, k in zip(a.shape, made[p].shape, strict=True)])
                  for a in arrays]
        for p, arrays in arguments_of(program).items()
    }  # fmt: skip
    return of_terms([made[r] for r in program.returns], arguments)


def _axis(axis: Axis, length: int, new: int) -> Axis:
    if axis.components is not None:
        return Axis.flattened([_axis(a, length, new) for a in axis.components])
    return axis if axis.length != length else Axis(axis.name, new, axis.roles)


def _cut_literal(term: Op, axes: Axes) -> Literal:
    literal: Literal = term.attribute("value")
    if literal.scalar is not None:
        return literal
    return Literal(_cut(literal.array(tuple(int(n) for n in term.shape)), axes.lengths))  # type: ignore[arg-type]


def _cut(array: Array, shape: Sequence[Any]) -> Array:
    """The first elements along each axis."""
    return array[tuple(slice(int(n)) for n in shape)] if array.ndim else array


def _rebatched(program: Program, new: int) -> Program:
    """The same with unknown lengths of at most `new`."""
    calls = []
    for i, call in enumerate(program.calls):
        lengths = {name: min(n, new) for name, n in program.lengths(i).items()}
        calls.append(tuple(
            _cut(a, [bind(n, lengths) for n in p.shape]) for p, a in zip(program.inputs, call, strict=True)
        ))  # fmt: skip
    return Program(program.returns, program.inputs, tuple(calls))


# -- numbers ----------------------------------------------------------------------------------------

MOST_ELEMENTS = 16


def plainer(program: Program) -> Iterator[Program]:
    """An argument of zeros or ones, and each number of small ones 0, 1, or rounded."""
    for c, call in enumerate(program.calls):
        for i, array in enumerate(call):
            for other in _plainer(array):
                arrays = (*call[:i], other, *call[i + 1 :])
                yield Program(program.returns, program.inputs, (*program.calls[:c], arrays, *program.calls[c + 1 :]))


def _plainer(array: Array) -> Iterator[Array]:
    whole: list[Callable[[Array], Array]] = [np.zeros_like, np.ones_like]
    if is_float(array.dtype):
        whole.append(lambda a: np.where(np.abs(a) < 2**31, np.round(a), a).astype(a.dtype))
    yield from (f(array) for f in whole)
    for place in np.ndindex(array.shape) if array.size <= MOST_ELEMENTS else ():
        for number in (0, 1):
            other = array.copy()
            other[place] = number
            yield other
