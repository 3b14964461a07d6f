# SPDX-License-Identifier: Apache-2.0
"""A term as text: a call, which of a term of a signature is the Python that builds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.terms.info import Uid, user_line

if TYPE_CHECKING:
    from ngraph_rewrite.terms.op import Op

_SHOWN, _WRITTEN = 8, 100


def written(term: Op, most: int | None = None) -> str:
    """A term as the call that builds it, whatever its depth.

    Args:
        most: How many operations are written; for each argument that comes after them stands ``...``.

    Raises:
        ArgumentError: for what is no term.

    >>> import ngraph_rewrite as ng
    >>> lists = ng.signature("example_lists")
    >>> item, items = lists.sort("Item"), lists.sort("Items")
    >>> one = lists.operation("one", (), "Item", attributes=("value",))
    >>> nil, cons = lists.operation("nil", (), "Items"), lists.operation("cons", ("Item", "Items"), "Items")
    >>> written(cons(one(value=1), cons(one(value="b"), nil())))
    "cons(one(value=1), cons(one(value='b'), nil()))"
    >>> written(cons(one(value=1), nil()), 2)
    'cons(one(value=1), ...)'
    """
    if not hasattr(term, "definition"):
        raise ArgumentError(f"written: {term!r} is no term", where=user_line(), do="give what an op gives")
    parts: list[str] = []
    stack: list[Op | str] = [term]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            parts.append(one)
        elif most == 0:
            parts.append("...")
        else:
            most = None if most is None else most - 1
            parts.append(f"{one.definition.short}(")
            given = [f"{name}={value!r}" for name, value in zip(one.definition.attributes, one.attrs, strict=True)]
            inside: list[Op | str] = [*one.args, *given]
            after = [part for item in inside for part in (", ", item)][1:]
            stack += [")", *after[::-1]]
    return "".join(parts)


def describe(term: Op, depth: int = 3) -> str:
    """The term as a call, down to `depth` levels; leaves by their names."""
    if term.info.name and not term.args:
        return term.info.name
    if depth == 0:
        return "..."
    if term.definition.profile is not None:
        return written(term, _WRITTEN if depth > 2 else depth * _SHOWN)
    if term.definition.name == "core.constant":
        return repr(term.attrs[0])
    inside = [describe(a, depth - 1) for a in term.args[:_SHOWN]]
    if len(term.args) > _SHOWN:
        inside.append(f"... {len(term.args) - _SHOWN} more")
    inside += [f"{k}={v!r}" for k, v in term.attributes.items() if not isinstance(v, Uid) and term.args]
    short = term.definition.short if term.definition.family == "core" else term.definition.name
    return f"{short}({', '.join(inside)})" if inside else short
