# SPDX-License-Identifier: Apache-2.0
"""What a computation returns has a structure: a term, or tuples, lists and dicts of terms, however deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from ngraph_rewrite.errors import ComputationError
from ngraph_rewrite.terms.binders import open_parameter
from ngraph_rewrite.terms.info import NO_INFO, user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.tuples import TupleType

# Which of its arguments has the value of a term.
_VALUES: Mapping[str, int] = MappingProxyType({"core.sequential": -1, "core.after": 0})


def has_value(handle: Op) -> bool:
    """Whether a handle yields an array: all do but `doall`, and what has the value of one."""
    while handle.definition.name in _VALUES:
        handle = handle.args[_VALUES[handle.definition.name]]
    return handle.definition.name != "core.doall"


def unboxed(handle: Op) -> Any:
    """A tuple of handles, one for each part, for a tuple-typed handle; any other as it is.

    >>> from ngraph_rewrite.frontend.axes import variable
    >>> from ngraph_rewrite.frontend.tuples import make_tuple
    >>> unboxed(make_tuple(variable([], name="w"), 2.0))
    (item(make_tuple(w, 2.0), index=0), item(make_tuple(w, 2.0), index=1))
    """
    return tuple(map(unboxed, handle)) if isinstance(handle.type, TupleType) else handle


def check_handles(handles: Sequence[Any]) -> list[Op]:
    """Refuse anything but terms that a frontend built; all terms under these, arguments first.

    Raises:
        ComputationError: if there are none, for something else, or for a term that a lowering made: it may
            contain ops of a target, and has no place in the user's program.
    """
    if not handles:
        raise ComputationError("there is nothing to compute", where=user_line(), do="return at least one op")
    for handle in handles:
        if not isinstance(handle, Op):
            raise ComputationError(f"{handle!r} is not an op", where=user_line(), do="give a handle you built")
    order = topological(handles)
    for term in order:
        if term.args and term.info is NO_INFO:
            raise ComputationError(
                f"{describe(term, 2)} is a term of a lowering, not a handle",
                where=user_line(),
                do="compute the handle it came from",
            )
    inside = open_parameter(handles, order)
    if inside is not None:
        raise ComputationError(
            f"{describe(inside, 1)} has a value only inside its step or branch, or in calls of its function: "
            "a handle needs it outside",
            where=inside.info.place,
            do="return what is wanted from the step or branch, or call the function; "
            "compute, or ask about, the result of that, or a handle outside",
        )
    return order


def leaves(returns: Any) -> Iterator[Op]:
    """The handles in it, in order; one that stands there twice is there twice.

    Raises:
        ComputationError: for anything that is no term, tuple, list, dict or None.
    """
    if isinstance(returns, Op):
        yield returns
    elif isinstance(returns, Mapping):
        for item in returns.values():
            yield from leaves(item)
    elif isinstance(returns, list | tuple):
        for item in returns:
            yield from leaves(item)
    elif returns is not None:
        raise ComputationError(
            f"something of the type {type(returns).__name__} cannot be computed",
            where=user_line(),
            do="return ops, or tuples, lists or dicts of them",
        )


def replaced(returns: Any, function: Callable[[Op], Any]) -> Any:
    """The same structure with `function` of each handle, called in the order of `leaves`."""
    if isinstance(returns, Op):
        return function(returns)
    if isinstance(returns, Mapping):
        return {k: replaced(v, function) for k, v in returns.items()}
    if isinstance(returns, list | tuple):
        items = [replaced(v, function) for v in returns]
        return type(returns)(*items) if hasattr(returns, "_fields") else type(returns)(items)
    return None


def packing(returns: Any) -> Callable[[list[Any]], Any]:
    """What makes the same structure of the values of its handles that have some; None stands for the others.

    There may be values of more handles, behind those.

    >>> packing((None,))([1])
    (None,)
    """
    if isinstance(returns, Op) and has_value(returns):
        return itemgetter(0)
    if type(returns) in (list, tuple) and all(isinstance(item, Op) and has_value(item) for item in returns):
        kind, count = type(returns), len(returns)
        return lambda values: kind(values[:count])

    def packed(values: list[Any]) -> Any:
        following = iter(values)
        return replaced(returns, lambda handle: next(following) if has_value(handle) else None)

    return packed


def beside(returns: Any, out: Any) -> Iterator[tuple[Op, Any]]:
    """Every handle with what stands at its place in `out`; None where there is nothing.

    Raises:
        ComputationError: if `out` has another structure.
    """
    if isinstance(returns, Op):
        yield returns, out
    elif out is None:
        yield from ((handle, None) for handle in leaves(returns))
    elif isinstance(returns, Mapping) and isinstance(out, Mapping) and set(out) <= set(returns):
        for key, item in returns.items():
            yield from beside(item, out.get(key))
    elif isinstance(returns, list | tuple) and isinstance(out, list | tuple) and len(out) == len(returns):
        for one, item in zip(returns, out, strict=True):
            yield from beside(one, item)
    else:
        raise ComputationError("out does not have the structure of returns", where=user_line())
