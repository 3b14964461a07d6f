# SPDX-License-Identifier: Apache-2.0
"""What terms mean, on symbols: the NumPy meanings of their ops, run on arrays of expressions.

No op has a second meaning here. What is proved is proved of what the tests take for true.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.terms.binders import Bound, evaluated, is_binder
from ngraph_rewrite.terms.catalogue import Meaning, OpDef
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.proof.arrays import Symbols, symbolic, symbols
from ngraph_rewrite.testing.proof.elementary import Undecided
from ngraph_rewrite.testing.proof.numpy_functions import SUBSTITUTES
from ngraph_rewrite.testing.proof.rebinding import Rebinding
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

Value = Symbols | tuple[Any, ...]


@cache
def _rebinding() -> Rebinding:
    return Rebinding(SUBSTITUTES)


@cache
def symbolic_meaning(definition: OpDef) -> Meaning:
    """The meaning of an op, as it runs on symbols.

    Raises:
        Undecided: if the op has none.
    """
    if definition.meaning is None:
        raise Undecided(f"{definition.name} has no meaning")
    return _rebinding()(definition.meaning)  # type: ignore[no-any-return]


def leaf_symbols(name: str, term: Op) -> Symbols:
    """Unknown elements of a term of known lengths."""
    return symbols(name, term.dtype, tuple(int(n) for n in term.shape))  # type: ignore[arg-type]


def evaluate(root: Op, leaves: Mapping[Op | Uid, Value]) -> Value:
    """The value of a term in expressions.

    Args:
        leaves: The values of leaves, and of random draws and parameters by their ``uid``.

    Raises:
        Undecided: if a meaning asks for what is not known.
    """

    def value(term: Op, args: list[Any]) -> Any:
        return _value(term, args, leaves)

    found: Value = evaluated([root], value, {k: v for k, v in leaves.items() if isinstance(k, Uid)})[root]
    return found


def _value(term: Op, args: list[Any], leaves: Mapping[Op | Uid, Value]) -> Any:
    if term in leaves:
        return leaves[term]
    if "draw" in term.definition.traits:
        return _drawn(term, leaves)
    if term.definition.name == "core.assign":
        return args[1]
    meaning = symbolic_meaning(term.definition)
    if not is_binder(term) and all(isinstance(a, Symbols) and a.known for a in args):
        assert term.definition.meaning is not None
        meaning, args = term.definition.meaning, [a.numbers() for a in args]
    with _undecided(term), np.errstate(all="ignore"):
        found = meaning(term, *args)
    return _stepped(term, found) if isinstance(found, Generator) else _symbolic(term, found)


def _stepped(term: Op, meaning: Bound) -> Bound:
    with _undecided(term):
        found = yield from meaning
    return _symbolic(term, found)


@contextmanager
def _undecided(term: Op) -> Iterator[None]:
    """What cannot be run on symbols is undecided."""
    try:
        yield
    except NGraphRewriteError:
        raise
    except Undecided as reason:
        if reason.on:  # it asks for a value, which may be tried
            raise
        raise Undecided(f"{term.definition.name} cannot be run on symbols: {reason}") from reason
    except Exception as error:  # a meaning may be of any kind, and do with arrays what symbols cannot
        raise Undecided(f"{term.definition.name} cannot be run on symbols: {error}") from error


def _symbolic(term: Op, found: Any) -> Value:
    if isinstance(term.type, TupleType):
        return tuple(map(_expressions, found, term.type.elements))
    return _expressions(found, term.type)


def _drawn(term: Op, leaves: Mapping[Op | Uid, Value]) -> Value:
    if term.attribute("uid") not in leaves:
        raise Undecided(f"{term.definition.name} draws what the left side does not")
    return leaves[term.attribute("uid")]


def _expressions(value: Any, type_: TensorType) -> Symbols:
    return symbolic(value).astype(type_.dtype).reshape(tuple(int(n) for n in type_.shape))  # type: ignore[arg-type]
