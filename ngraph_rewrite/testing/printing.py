# SPDX-License-Identifier: Apache-2.0
"""A term as the Python program that builds it again, with the values of its leaves: to be pasted into a test."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.plugins import load_plugin_ops
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid, info_here
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.evaluate import Array, Values
from ngraph_rewrite.testing.given import check_terms
from ngraph_rewrite.testing.sources import Source

# Names that a program itself uses: no term is called so.
_TAKEN = frozenset({"term", "np", "nan", "inf", "values", "N", "R", *dir(builtins), *keyword.kwlist})
_LEAF, _WIDE = "x", 110


def term(op: str, /, *args: Op, **attributes: Any) -> Op:
    """The op called `op` applied to terms, as a rule makes it: no operand is coerced, nothing is filled in.

    The identity of a leaf, a draw or an effect (``uid``) may be left out: then it is a fresh one.

    Args:
        op: Family and name, ``"semi.add"``; those of other packages too.
        attributes: Every attribute, as terms store them or as the op's frontend takes them.

    Raises:
        UnknownOpError: if no op is called so.
        ArgumentError: for a wrong number of arguments, or attributes that are missing or unknown.
        NGraphRewriteError: whatever the op's type rule raises.

    >>> x = term("core.placeholder", axes=[2, 3], dtype="float32").named("x")
    >>> term("semi.sum", x, axes=(0,)), term("semi.sum", x, axes=(0,)).type
    (semi.sum(x, axes=(0,)), float32[3])
    """
    load_plugin_ops()
    check_terms("term", args)
    definition, info = lookup(op), info_here()
    given = {"uid": Uid(), **attributes} if "uid" in definition.attributes else attributes
    if given.keys() != set(definition.attributes):
        wrong = sorted(given.keys() ^ set(definition.attributes))
        raise ArgumentError(f"{op}: attribute {wrong[0]} is missing or unknown", where=info.place)
    if len(args) < definition.least or (definition.arity is not None and len(args) != definition.arity):
        raise ArgumentError(f"{op} does not take {len(args)} arguments", where=info.place)
    attrs, type_ = definition.infer(tuple(a.type for a in args), tuple(given[a] for a in definition.attributes))
    return Op(definition, tuple(args), attrs, type_, info)


def as_python(root: Op, values: Values | None = None, name: str = "left") -> str:
    """A program that builds a term, op by op, and binds it to `name`.

    What is used twice is built once. With `values` there is also a dictionary ``values``, which has the array
    of each leaf, and of each random draw by its identity, to the last bit.

    >>> x = term("core.placeholder", axes=[2], dtype="float16").named("x")
    >>> print(as_python(term("semi.add", x, x)))
    import numpy as np
    from ngraph_rewrite import Axes
    from ngraph_rewrite.testing import term
    <BLANKLINE>
    x = term("core.placeholder", axes=Axes([2]), dtype=np.dtype("float16")).named("x")
    left = term("semi.add", x, x)
    """
    return "\n".join(program({name: root}, values))


def program(roots: Mapping[str, Op], values: Values | None = None, imports: Iterable[str] = ()) -> list[str]:
    """The lines of a program that binds several terms to their names; what they share is built once.

    Args:
        values: Leaves and draws with their arrays, for a dictionary ``values``.
        imports: What else the program uses of `ngraph_rewrite.testing`.
    """
    held = [k for k in values or () if isinstance(k, Op)]
    order = topological([*roots.values(), *held])
    names = _names(order, roots)
    uids = _named_uids(order, values or {})
    source = Source(uids)
    for used in ("term", *imports):
        source.use(used, "ngraph_rewrite.testing")
    body = [f"{called} = {source.use('Uid')}()" for called in uids.values()]
    body += [_statement(t, names, source) for t in order]
    body += [f"{name} = {names[t]}" for name, t in roots.items() if names[t] != name]
    body += _dictionary(values, names, source) if values is not None else []
    head = ["import numpy as np", *source.imports()] if any("np." in line for line in body) else source.imports()
    return [*head, "", *body]


def _names(order: Iterable[Op], roots: Mapping[str, Op]) -> dict[Op, str]:
    """What each term is called: roots as they are asked for, leaves by their own names, the others by numbers."""
    names: dict[Op, str] = {}
    for name, root in roots.items():
        if root.args or root.name is None:
            names.setdefault(root, name)
    taken = {*_TAKEN, *roots}
    for term_ in order:
        if term_ not in names:
            names[term_] = next(n for n in _proposals(term_) if n not in taken)
        taken.add(names[term_])
    return names


def _proposals(term_: Op) -> Iterator[str]:
    own = re.sub(r"\W", "_", term_.name or "")
    bare = "" if term_.args else "c" if term_.definition.name == "core.constant" else _LEAF
    own = own if own.isidentifier() else bare
    if term_.name and own and not term_.args:
        yield own
    number = 0
    while True:
        number += 1
        yield f"{own if own and not term_.args else 't'}{number}"


def _named_uids(order: Iterable[Op], values: Values) -> dict[Uid, str]:
    """The identities that stand in several places."""
    counts = Counter(k for k in values if isinstance(k, Uid))
    for t in order:
        counts.update(_uids(t.attrs))
    several = [uid for uid, n in counts.items() if n > 1]
    return {uid: f"uid{i}" for i, uid in enumerate(several, 1)}


def _uids(value: Any) -> Iterator[Uid]:
    if isinstance(value, Uid):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _uids(part)


def _statement(t: Op, names: Mapping[Op, str], source: Source) -> str:
    inside = [f'"{t.definition}"', *(names[a] for a in t.args)]
    inside += [
        f"{k}={source.attribute(v)}"
        for k, v in t.attributes.items()
        if not (k == "uid" and isinstance(v, Uid) and v not in source.uids)
    ]
    own = f".named({json.dumps(t.name)})" if t.name is not None and not t.args else ""
    line = f"{names[t]} = term({', '.join(inside)}){own}"
    return line if len(line) <= _WIDE else f"{names[t]} = term(\n    " + ",\n    ".join(inside) + f",\n){own}"


def _dictionary(values: Mapping[Any, Array], names: Mapping[Op, str], source: Source) -> list[str]:
    lines = [f"    {names[k] if isinstance(k, Op) else source.uids[k]}: {source.array(v)}," for k, v in values.items()]
    return ["values = {", *lines, "}"] if lines else ["values = {}"]
