# SPDX-License-Identifier: Apache-2.0
"""What a rule file declares of its signature: sorts and operations, so that the file needs nothing beside it.

::

    signature peano
    sort Nat
    operation zero : -> Nat
    operation s : Nat -> Nat
    operation plus : Nat Nat -> Nat [associative, commutative, identity zero]
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TypeVar

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.rewriting.expression import Span
from ngraph_rewrite.rewriting.file_text import rule_text
from ngraph_rewrite.rewriting.frame import read_frame
from ngraph_rewrite.rewriting.frame_parts import FileFrame, Piece, Text
from ngraph_rewrite.rewriting.signatures import Signature
from ngraph_rewrite.terms.catalogue import find, undone_if_refused

Found = TypeVar("Found")
_SORT = re.compile(r"sort\s+(\w+(?:[ \t]+\w+)*)(?:[ \t]*<[ \t]*(\w+(?:[ \t]+\w+)*))?\s*$")
_OPERATION = re.compile(r"operation\s+(\w+(?:[ \t]+\w+)*)\s*:\s*((?:\w+\s+)*)->\s*(\w+)\s*(?:\[([^\]]*)\]\s*)?$")
_LISTS = ("attributes", "lazy", "frozen")


def signature(name: str | os.PathLike[str]) -> Signature:
    """The signature of this name; or that of a rule file, with what the file declares.

    Args:
        name: A name; the path of a rule file, if it is a `pathlib.Path` or ends with ``.rules``.

    Raises:
        AttributeValueError: for a name that cannot be one.
        RuleFileError: for a file with a mistake, or that cannot be read.

    >>> import ngraph_rewrite as ng
    >>> example = ng.signature("example_empty")
    >>> example.sort("Truth"), example.operation("yes", (), "Truth")
    (Truth, yes : -> Truth)
    """
    if isinstance(name, str) and not name.endswith(".rules"):
        return Signature(name)
    with undone_if_refused():
        return declared(read_frame(rule_text(name), str(name)))


def declared(frame: FileFrame) -> Signature:
    """The signature of a file, with what the file declares.

    Raises:
        RuleFileError: for what cannot be read, or is declared otherwise already.
    """
    signature = _at(frame.text, frame.header, lambda: Signature(frame.source))
    for piece in frame.declarations:
        declare = _sort if str(piece).startswith("sort") else _operation
        _at(frame.text, piece.span, lambda one=piece, declare=declare: declare(signature, one))  # type: ignore[misc]
    for piece in frame.declarations:  # an identity may be declared after what it is the identity of
        _at(frame.text, piece.span, lambda one=piece: _check_identity(signature, one))  # type: ignore[misc]
    return signature


def _check_identity(signature: Signature, piece: Piece) -> None:
    """Whether what an operation names as its identity is an operation without arguments."""
    match = _OPERATION.match(str(piece))
    for name in match[1].split() if match is not None else ():
        definition = signature[name].definition
        identity = definition.profile.identity if definition.profile is not None else None
        found = None if identity is None else find(identity)
        if identity is not None and (found is None or found.arity != 0):
            short = identity.partition(".")[2]
            do = f"declare `operation {short} : -> {match[3]}`" if match is not None else None
            raise NGraphRewriteError(f"the identity {short} of {name} is no operation without arguments", do=do)


def _at(text: Text, span: Span, declare: Callable[[], Found]) -> Found:
    """What a declaration makes, with its errors at its place."""
    try:
        return declare()
    except NGraphRewriteError as error:
        raise text.error(span, error.what, error.do) from None


def _sort(signature: Signature, piece: Piece) -> None:
    match = _SORT.match(str(piece))
    if match is None:
        raise NGraphRewriteError("cannot read the sort", do="write `sort NAME...` or `sort NAME... < NAME...`")
    for name in match[1].split():
        signature.sort(name, below=(match[2] or "").split())


def _operation(signature: Signature, piece: Piece) -> None:
    match = _OPERATION.match(str(piece))
    if match is None:
        do = "write `operation NAME : SORT... -> SORT [associative, commutative, identity NAME, lazy 1]`"
        raise NGraphRewriteError("cannot read the operation", do=do)
    said = [tuple(words.split()) for words in (match[4] or "").split(",") if words.strip()]
    laws = [words[0] for words in said if len(words) == 1]
    listed = {words[0]: words[1:] for words in said if len(words) > 1}
    words = [words[0] for words in said]
    twice = next((word for at, word in enumerate(words) if word in words[:at]), None)
    if twice is not None:
        raise NGraphRewriteError(f"`{twice}` is said twice of an operation", do="leave one of them out")
    unknown = set(listed) - {"identity", *_LISTS}
    if unknown:
        do = f"one of associative, commutative, identity, {', '.join(_LISTS)}"
        raise NGraphRewriteError(f"`{unknown.pop()}` cannot be said of an operation", do=do)
    for name in match[1].split():
        signature.operation(
            name,
            match[2].split(),
            match[3],
            *laws,
            identity=" ".join(listed["identity"]) if "identity" in listed else None,
            attributes=listed.get("attributes", ()),
            lazy=_places(listed.get("lazy", ())),
            frozen=_places(listed.get("frozen", ())),
        )


def _places(words: tuple[str, ...]) -> tuple[int, ...]:
    if not all(word.isdecimal() for word in words):
        raise NGraphRewriteError(f"`{' '.join(words)}` are not places of arguments", do="count them from 0")
    return tuple(map(int, words))
