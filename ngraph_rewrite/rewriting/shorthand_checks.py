# SPDX-License-Identifier: Apache-2.0
"""A shorthand is checked where it stands, whether or not a rule uses it.

It may be expanded on either side of a rule, in a term or in an attribute, so that only its use says what it is. But
what it names is known: its parameters, what every rule knows, and ops, functions and shorthands that there are.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from ngraph_rewrite.rewriting.choices import EITHER, MAYBE
from ngraph_rewrite.rewriting.expression_checks import Refused, check_keywords, check_part, check_taken
from ngraph_rewrite.rewriting.frame_parts import DefineFrame
from ngraph_rewrite.rewriting.reading import ONCE, RESERVED, Reader
from ngraph_rewrite.rewriting.registry import attribute_functions, term_functions
from ngraph_rewrite.rewriting.shorthands import check_call
from ngraph_rewrite.rewriting.syntax import walk
from ngraph_rewrite.rewriting.typeclasses import CLASSES
from ngraph_rewrite.terms.catalogue import OpDef, definitions, find

# Names of numbers, and what rules know without binding it.
_NUMBERS = frozenset({"inf", "nan"})
# What is called on the left and is neither an op nor a function.
_FORMS = frozenset({ONCE, EITHER, MAYBE, *CLASSES})
_READS = "a shorthand reads its parameters, and what every rule knows, such as self"


def check_shorthands(reader: Reader, defines: Iterable[DefineFrame]) -> None:
    """Whether shorthands, which the reader knows already, can be expanded, and name only what there is.

    Raises:
        RuleFileError: for the first that does not, at its place.
    """
    defines = list(defines)
    for one in defines:
        _check_parameters(reader, one)
        try:
            _check_body(reader, *reader.macros[one.name])
        except Refused as refused:
            raise reader.error(refused.node, refused.message, refused.do) from None
    _check_ends(reader, [one.name for one in defines])


def _check_parameters(reader: Reader, one: DefineFrame) -> None:
    """Whether the shorthand and its parameters can be named so, and each parameter has a name of its own."""
    named = [(one.name, one.span), *zip(one.parameters, one.places, strict=True)]
    for at, (name, span) in enumerate(named):
        if not name:
            raise reader.error(span, "a parameter is missing here")
        reader.name(name, span)
        if name in RESERVED.keys() - {"d"} or (not at and name in (EITHER, MAYBE, ONCE)):
            raise reader.error(span, f"`{name}` has a meaning of its own", "choose another name")
        hidden = [] if at else _ops(reader, name)
        if hidden:
            what = f"`{name}` is an op already, {hidden[0].name}: what rules mean by it would change"
            raise reader.error(span, what, "choose another name")
        if at and name in one.parameters[: at - 1]:
            raise reader.error(span, f"`{name}` is a parameter already", "choose another name")


def _check_body(reader: Reader, parameters: tuple[str, ...], body: ast.expr) -> None:
    parts = walk(body)
    functions = [part.func for part in parts if isinstance(part, ast.Call)]
    beside = {id(f) for f in functions} | {id(f.value) for f in functions if isinstance(f, ast.Attribute)}
    known = {*parameters, *RESERVED, *_NUMBERS}
    for part in parts:
        if id(part) in beside or not isinstance(part, ast.expr):
            continue
        check_part(part)
        if isinstance(part, ast.Call):
            _check_call(reader, parameters, part)
        elif isinstance(part, ast.Name) and part.id not in known:
            raise Refused(part, f"`{part.id}` is not bound", _READS)


def _check_call(reader: Reader, parameters: tuple[str, ...], call: ast.Call) -> None:
    """Whether what a call calls is there; of an op or a shorthand also whether it takes what it is given."""
    check_keywords(call)
    if any(k.arg is None for k in call.keywords):
        raise Refused(call, "** cannot stand here", "give each by its name")
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name in parameters:
        return
    if name in reader.macros:
        check_call(call, reader.macros[name][0])
    elif not name:
        reader.attributes(call.keywords, reader.definition(call, call.func))
    elif name not in _FORMS and name not in term_functions() and name not in reader.sorts:
        _check_called(reader, name, call)


def _check_called(reader: Reader, name: str, call: ast.Call) -> None:
    """Whether there is an op or a function of a name, and if only one of them is, whether it takes what it is given."""
    ops, function = _ops(reader, name), attribute_functions().get(name)
    if function is None and not ops:
        raise Refused(call, f"no op, function or shorthand is called {name}", _advice(reader, name))
    if function is None:
        fitting = (op for op in ops if all(k.arg in op.attributes for k in call.keywords))
        reader.attributes(call.keywords, next(fitting, ops[0]))
    elif not ops:
        check_taken(call, function)


def _ops(reader: Reader, name: str) -> list[OpDef]:
    """The ops that a name may mean: on either side of a rule."""
    return [op for op in (find(f"{family}.{name}") for family in reader.families) if op is not None]


def _advice(reader: Reader, name: str) -> str | None:
    """Where there is an op of that name, or what has a name like it."""
    if any(d.short == name for d in definitions()):
        return reader.advice([f"{family}.{name}" for family in reader.families])
    ops = [d.short for family in reader.families for d in definitions(family)]
    known = dict.fromkeys([*ops, *reader.macros, *attribute_functions(), *term_functions()])
    close = difflib.get_close_matches(name, known)
    return f"did you mean {' or '.join(close)}?" if close else None


def _check_ends(reader: Reader, names: Iterable[str]) -> None:
    """Whether no shorthand stands in what it is expanded to."""
    calls = {name: _shorthands_in(reader, reader.macros[name][1]) for name in names}
    try:
        TopologicalSorter(calls).prepare()
    except CycleError as error:
        called, caller, *_ = error.args[1]
        do = "write out some of it"
        raise reader.error(calls[caller][called], f"the shorthand {called} expands without end", do) from None


def _shorthands_in(reader: Reader, body: ast.expr) -> dict[str, ast.expr]:
    """The shorthands that a body calls, each with a call."""
    calls = [(p.func.id, p) for p in walk(body) if isinstance(p, ast.Call) and isinstance(p.func, ast.Name)]
    return {name: call for name, call in reversed(calls) if name in reader.macros}
