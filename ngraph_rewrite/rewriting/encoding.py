# SPDX-License-Identifier: Apache-2.0
"""Rules as JSON text and back: a tag and the fields for each node, so that nothing in a stored file is executed.

A stored rule set is a line about every rule (what lists and messages show), then a line for what each of them says,
which is decoded when it is first asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from ngraph_rewrite.errors import NGraphRewriteError, RuleFileError
from ngraph_rewrite.rewriting import expression, pattern, rule, waivers
from ngraph_rewrite.rewriting.expression import Expression
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.terms.catalogue import OpDef, definitions, lookup
from ngraph_rewrite.types.sorts import SortType

_AT_ONCE = frozenset({"name", "kind", "grade", "text", "file", "line"})


class Unencodable(Exception):
    """A rule holds something that has no place in JSON; it is right all the same."""


def _is_node(found: Any) -> bool:
    if not isinstance(found, type) or found is Rule:
        return False
    return is_dataclass(found) or (issubclass(found, tuple) and hasattr(found, "_fields"))


def _field_names(node: type) -> tuple[str, ...]:
    names = node._fields if issubclass(node, tuple) else (f.name for f in fields(node))  # type: ignore[attr-defined, arg-type]
    return tuple(n for n in names if (node, n) != (Expression, "tree"))  # which is parsed from the text


_MODULES = (expression, pattern, rule, waivers)
_NODES: Mapping[str, type] = MappingProxyType(
    {found.__name__: found for module in _MODULES for found in vars(module).values() if _is_node(found)}
)
_FIELDS: Mapping[type, tuple[str, ...]] = MappingProxyType({node: _field_names(node) for node in _NODES.values()})
_MAKE: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **_NODES,
        Expression.__name__: Expression.of_text,
        OpDef.__name__: lookup,
        SortType.__name__: lambda family, name, above: SortType(family, name, frozenset(above)),
    }
)
_LATER = tuple(f.name for f in fields(Rule) if f.name not in _AT_ONCE and f.default is MISSING)
_SOON = tuple(f.name for f in fields(Rule) if f.name not in _LATER and f.name != "source")  # who reads it knows that


def encoded(value: Any) -> Any:
    """A number, a name, a node of a rule, or a tuple of such, as what `json` writes.

    Raises:
        Unencodable: for anything else.

    >>> encoded(pattern.Var("x", pattern.Span(1, 2)))
    {'Var': ['x', {'Span': [1, 2]}, None]}
    """
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is tuple:
        return [encoded(v) for v in value]
    if kind is OpDef:
        return {OpDef.__name__: [value.name]}
    if kind is SortType:
        return {SortType.__name__: [value.family, value.name, sorted(value.above)]}
    if kind not in _FIELDS:
        raise Unencodable(f"{kind.__name__} in a rule")
    return {kind.__name__: [encoded(getattr(value, name)) for name in _FIELDS[kind]]}


def decoded(data: Any) -> Any:
    """What `encoded` made `data` of; ops are looked up by their names.

    Raises:
        UnknownOpError: for an op that is not declared.
        KeyError, TypeError, ValueError: for anything that `encoded` does not write.

    >>> decoded({"Var": ["x", {"Span": [1, 2]}, None]})
    Var(name='x', span=Span(line=1, column=2), sort=None)
    """
    if isinstance(data, list):
        return tuple([decoded(part) for part in data])
    if isinstance(data, dict):
        ((tag, parts),) = data.items()
        return _MAKE[tag](*[decoded(part) for part in parts])
    return data


class _Body(NamedTuple):
    """What a rule says, not yet decoded."""

    line: bytes

    def __call__(self) -> dict[str, Any]:
        try:
            return dict(zip(_LATER, decoded(json.loads(self.line)), strict=True))
        except NGraphRewriteError:
            raise
        except (LookupError, TypeError, ValueError) as error:
            what = f"a rule that was kept in the cache is {self.line[:60]!r}, which is none"
            raise RuleFileError(what, do="remove the files of the cache folder") from error


def write_rules(rules: Iterable[Rule]) -> bytes:
    """A rule set as bytes that `read_rules` reads.

    Raises:
        Unencodable: if one holds what has no place there.
    """
    heads, bodies, foreign = list[Any](), list[bytes](), _foreign()
    for one in rules:
        head, body = parts = _parts(one)
        heads.append([*head, _root(one), _digest(one, parts, foreign)])
        bodies.append(body)
    return b"\n".join([_json(heads), *bodies])


def read_rules(data: bytes) -> RuleSet:
    """The rules that `write_rules` wrote; what each says is decoded when it is first asked for.

    Raises:
        KeyError, TypeError, ValueError: for bytes that it did not write.
    """
    head, *bodies = data.split(b"\n")
    return RuleSet(_stored(one, body) for one, body in zip(json.loads(head), bodies, strict=True))


def _stored(head: list[Any], body: bytes) -> Rule:
    *values, root, known = head
    found = object.__new__(Rule)
    parts = zip(_SOON, values, strict=True)
    found.__dict__.update((n, decoded(v) if isinstance(v, list) else v) for n, v in parts)
    found.__dict__.update(_later=_Body(body), _root=root, _digest=known)
    return found


def digest(one: Rule) -> str:
    """A name for all that a rule says and that of ops declared elsewhere its code depends on.

    Raises:
        Unencodable: if it holds what has no place in JSON.
    """
    known: str | None = one.__dict__.get("_digest")
    return _digest(one, _parts(one), _foreign()) if known is None else known


def _foreign() -> bool:
    """Whether there are ops that this package does not declare."""
    return any(not d.shipped for d in definitions())


def _digest(one: Rule, parts: tuple[list[Any], bytes], foreign: bool) -> str:
    known: str | None = one.__dict__.get("_digest")
    if known is None:
        head, body = parts
        ops = sorted(mentioned(one), key=lambda d: d.name) if foreign else []
        others = [_signature(d) for d in ops if not d.shipped]
        known = hashlib.sha256(_json([head, others]) + body).hexdigest()[:24]
        one.__dict__["_digest"] = known
    return known


def _parts(one: Rule) -> tuple[list[Any], bytes]:
    later = one.__dict__.get("_later")
    body = later.line if isinstance(later, _Body) else _json([encoded(getattr(one, n)) for n in _LATER])
    return [encoded(getattr(one, n)) for n in _SOON], body


def _root(one: Rule) -> str | None:
    """The op at the root; what is stored and has not been decoded stays so."""
    return one.root if "_root" in one.__dict__ or isinstance(one.left, pattern.App) else None


def _json(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()


def _signature(definition: OpDef) -> list[Any]:
    d, profile = definition, definition.profile
    sorts = () if profile is None else (*profile.arguments, profile.result)
    row = [d.name, d.attributes, d.arity, d.least, d.rank, sorted(d.traits), d.kin]
    return [*row, repr(profile), [sorted(s.above) for s in sorts]]


def mentioned(value: Any) -> set[OpDef]:
    """The ops in a rule, or in a part of one."""
    found, pending = set[OpDef](), [value]
    while pending:
        part = pending.pop()
        if isinstance(part, OpDef):
            found.add(part)
        else:
            pending.extend(_inside(part))
    return found


def _inside(part: Any) -> Iterator[Any]:
    if isinstance(part, tuple):
        yield from part
    elif isinstance(part, Rule):
        yield from (getattr(part, name) for name in _LATER)
    elif type(part) in _FIELDS:
        yield from (getattr(part, name) for name in _FIELDS[type(part)])
