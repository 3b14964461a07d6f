# SPDX-License-Identifier: Apache-2.0
"""A lowered graph with unknown lengths becomes one with known lengths, for the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ngraph_rewrite.errors import ComputationError, LengthError, NGraphRewriteError
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.calls_told import located
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.axes import Axes, Axis
from ngraph_rewrite.types.lengths import Extent, Length, bind, solved
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import tensors


def bind_lengths(inputs: Sequence[Op], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The unknown lengths that arguments of these shapes give to the placeholders `inputs`.

    Raises:
        ComputationError: if a shape does not fit its placeholder, or two arguments disagree.
    """
    binding: dict[str, int] = {}
    for placeholder, shape in zip(inputs, shapes, strict=True):
        if len(shape) != placeholder.rank:
            raise _misfit(placeholder, shape)
        _solve(placeholder, placeholder.shape, shape, binding)
    for placeholder, shape in zip(inputs, shapes, strict=True):
        bound = tuple(bind(n, binding) for n in placeholder.shape)
        if bound != shape:  # such as a product of which one factor is known by now
            _solve(placeholder, bound, shape, binding)
            bound = tuple(bind(n, binding) for n in bound)
        if bound != shape:
            raise _misfit(placeholder, shape) if _fails(bound, shape) else _unsolved(placeholder, bound, shape)
    return binding


def _solve(placeholder: Op, lengths: Sequence[Extent], shape: Sequence[int], binding: dict[str, int]) -> None:
    """Bind what the lengths of a placeholder say alone."""
    for length, actual in zip(lengths, shape, strict=True):
        shown = solved(length, actual) if isinstance(length, Length) else None
        if shown is None:
            continue
        name, value = shown
        if binding.setdefault(name, value) != value:
            raise ComputationError(
                f"the length {name} is {binding[name]} in one argument and {value} in another",
                where=placeholder.info.place,
                do="give equal ones, or name another length where the axis is made: ng.Length.symbol('other')",
            )


def _fails(bound: Sequence[Extent], shape: Sequence[int]) -> bool:
    """Whether a shape does not fit, whatever lengths that no argument says may be."""
    pairs = zip(bound, shape, strict=True)
    return any(n != m if isinstance(n, int) else _is_alone(n) for n, m in pairs)


def _is_alone(length: Length) -> bool:
    """Whether a length has one symbol that an argument says, if it can have that length at all."""
    return any(solved(length, value) is not None for value in range(2 * abs(length.terms[0][1])))


def _unsolved(placeholder: Op, bound: Sequence[Extent], shape: Sequence[int]) -> ComputationError:
    length, actual = next((n, m) for n, m in zip(bound, shape, strict=True) if isinstance(n, Length))
    names = f"{' and '.join(length.names)} {'is' if len(length.names) == 1 else 'are'}"
    return ComputationError(
        f"the argument for {describe(placeholder, 1)} has shape {shape}, and no argument says what {names}, of which"
        f" {length!r} is {actual}",
        where=placeholder.info.place,
        do=f"add an argument with an axis of length {length.names[0]}, or give this axis a length of its own",
    )


def _misfit(placeholder: Op, shape: tuple[int, ...]) -> ComputationError:
    return ComputationError(
        f"the argument for {describe(placeholder, 1)} has shape {shape}, its axes are {placeholder.axes!r}",
        where=placeholder.info.place,
        do="give an array with these lengths, in this order",
    )


def _own_place(term: Op) -> str:
    return term.info.place


def bind_graph(
    roots: Sequence[Op],
    binding: Mapping[str, int],
    order: Sequence[Op] | None = None,
    place: Callable[[Op], str] = _own_place,
    closed: Collection[Op] = (),
) -> dict[Op, Op]:
    """Each term under `roots` with its lengths bound; equal terms stay one. Where all are known, it is itself.

    Args:
        order: All terms under `roots`, in the order in which `topological` gives them, for those who have it.
        place: Where the user built what a term came of, for errors.
        closed: Terms of one bank that no unknown length has a part in (`closed_terms`): they are themselves.

    Raises:
        LengthError: if a length is still unknown.
        NGraphRewriteError: if an op does not take the lengths that it gets.
    """
    if order is None:
        order = topological(roots)
    if not binding:
        for term in {id(t.type): t for t in order}.values():  # terms of a bank share their types
            _check_known(term.type, term)
        return dict(zip(order, order, strict=True))
    bank = TermBank()
    for term in closed:
        bank.keep(term)
    bound: dict[Op, Op] = dict(zip(closed, closed, strict=True))
    seen: set[TensorType] = set()
    for term in order:
        if term in bound:
            continue
        args = tuple([bound[a] for a in term.args])
        try:
            attrs = tuple([_bound(a, binding) for a in term.attrs])
            bound[term] = new = bank.make(term.definition, args, attrs, term.info)
        except NGraphRewriteError as error:  # such as a maximum of no elements
            raise located(error, term.definition, args, place(term)) from error
        if new.type not in seen:
            seen.add(new.type)
            _check_known(new.type, new)
    return bound


def closed_terms(order: Iterable[Op]) -> list[Op]:
    """The terms whose types, attributes and arguments have no unknown length.

    Args:
        order: All terms of a graph, arguments first.
    """
    found: dict[Op, None] = {}
    for term in order:
        is_closed = all(arg in found for arg in term.args) and not any(map(_is_open, term.attrs))
        if is_closed and not any(_is_open(tensor.axes) for tensor in tensors(term.type)):
            found[term] = None
    return list(found)


def _is_open(attribute: Any) -> bool:
    """Whether an attribute has an unknown length, which `_bound` would replace."""
    if isinstance(attribute, Axis):
        return _is_open(attribute.length) or (attribute.components is not None and _is_open(attribute.components))
    if isinstance(attribute, Axes) or type(attribute) is tuple:
        return any(map(_is_open, attribute))
    return isinstance(attribute, Length)


def _check_known(type_: TensorType, term: Op) -> None:
    for tensor in tensors(type_):
        for length in tensor.shape:
            if not isinstance(length, int):
                what = f"{describe(term)} is {type_!r}"
                raise LengthError(what, do="give the axes lengths, or arguments that do")


def _bound(value: Any, binding: Mapping[str, int]) -> Any:
    if isinstance(value, Length):
        return bind(value, binding)
    if isinstance(value, Axes):
        return value.bound(binding)
    if isinstance(value, Axis):
        return Axes(value).bound(binding)[0]
    if type(value) is tuple:
        return tuple([_bound(v, binding) for v in value])
    return value
