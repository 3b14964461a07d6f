# SPDX-License-Identifier: Apache-2.0
"""Domains that anyone declares: what such a function gives is checked where it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from ngraph_rewrite.errors import ArgumentError, AttributeValueError
from ngraph_rewrite.rewriting.domain import Domain, Types
from ngraph_rewrite.rewriting.domain import Proposal as OfArguments
from ngraph_rewrite.rewriting.domains_semi import Proposal as OfAttributes
from ngraph_rewrite.rewriting.domains_semi import Values
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.declaring import check_functions, check_hashes, place_of, told
from ngraph_rewrite.types.tensor import TensorType

_LIBRARY = "ngraph_rewrite."


def declare(
    known: MutableMapping[str, Any], definition: OpDef, of: str, proposal: Callable[..., Any], checked: Any
) -> None:
    """Enter the domain of an op; the same function may be entered again.

    Args:
        of: ``arguments`` or ``attributes``.
        checked: Makes of the function one that checks what it gives.

    Raises:
        ArgumentError: for what cannot be called.
        AttributeValueError: for an op that has one, as all have that ship.
    """
    check_functions(definition.name, domain=proposal)
    before = known.get(definition.name)
    if getattr(before, "__wrapped__", None) is proposal:
        return
    own = (getattr(proposal, "__module__", None) or "").startswith(_LIBRARY)
    if before is not None or (definition.shipped and not own):
        do = "declare one for an op of your own, once"
        raise AttributeValueError(f"the {of} of {definition.name} have a domain already", do=do)
    found = checked(definition, proposal)
    found.__wrapped__ = proposal
    known[definition.name] = found


def checked_arguments(definition: OpDef, proposal: OfArguments) -> OfArguments:
    """The same domain of arguments, which gives types or an error that tells of the function."""

    def checked(
        position: int, known: Mapping[int, TensorType], wish: TensorType | None, domain: Domain
    ) -> Types | None:
        found = _given(definition, "arguments", proposal, position, known, wish, domain)
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(t, TensorType) for t in found):
            do = "return a list of TensorType, or None for any"
            raise _error(definition, "arguments", proposal, f"gives {found!r}, and not types", do)
        return found

    return checked


def checked_attributes(definition: OpDef, proposal: OfAttributes) -> OfAttributes:
    """The same domain of attributes, which gives a tuple of all of them each time, or an error."""
    names = definition.attributes
    each = f"({', '.join(names)}{',' if len(names) == 1 else ''})"

    def checked(types: Sequence[TensorType], wish: TensorType | None, domain: Domain) -> Values:
        found = _given(definition, "attributes", proposal, types, wish, domain)
        if not isinstance(found, list) or not all(isinstance(v, tuple) and len(v) == len(names) for v in found):
            do = f"return a list of tuples {each}, with a value for each attribute"
            raise _error(definition, "attributes", proposal, f"gives {found!r}, and not tuples of attributes", do)
        for values in found:
            try:
                check_hashes(definition.name, names, values)
            except ArgumentError as error:
                raise _error(definition, "attributes", proposal, f"gives {values!r}: {error.what}", error.do) from None
        return found

    return checked


def _given(definition: OpDef, of: str, proposal: Callable[..., Any], *arguments: object) -> object:
    """What the function gives: a list, if it is anything that can be listed."""
    try:
        found = proposal(*arguments)
        return [*found] if isinstance(found, Iterable) and not isinstance(found, str) else found
    except Exception as error:
        do = "mend it; it may give nothing where it knows none"
        raise _error(definition, of, proposal, f"fails: {told(error)}", do) from error


def _error(definition: OpDef, of: str, proposal: Callable[..., Any], what: str, do: str | None) -> ArgumentError:
    return ArgumentError(f"the domain of the {of} of {definition.name} {what}", where=place_of(proposal), do=do)
