# SPDX-License-Identifier: Apache-2.0
"""Terms evaluated by their meanings, in NumPy: the oracle of everything else."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngraph_rewrite.errors import ArgumentError, InvalidHandleError
from ngraph_rewrite.plan.views import IDENTITIES
from ngraph_rewrite.runtime import philox
from ngraph_rewrite.terms.binders import Bound, Valuation, afterwards, evaluated, evaluations, is_binder
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.tracing import CallLog
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.dtypes import computed
from ngraph_rewrite.types.tuples import TupleType

Array = NDArray[Any]


def evaluate(
    roots: Iterable[Op],
    values: Mapping[Op, Array],
    draws: Draws | None = None,
    log: CallLog | None = None,
    ends: Container[Op] | None = None,
) -> dict[Op, Array]:
    """The value of every term under `roots`: an array, or a tuple of them; none of what only a step of a scan has.

    Args:
        roots: Terms whose lengths are all known.
        values: The values of placeholders and variables, and of anything else that is known already.
        draws: Where random draws come from.
        log: Who is told of each term that is computed.
        ends: Those of `values` below which nothing needs a value.

    Raises:
        InvalidHandleError: if a term has neither a value nor a meaning.
    """
    return evaluated(roots, _valuation(values, draws, log), {}, ends)


def evaluate_each(roots: Iterable[Op], values: Mapping[Op, Array], draws: Draws) -> Iterator[tuple[Op, Any]]:
    """The same one by one: each term is evaluated when it is asked for."""
    return evaluations(roots, _valuation(values, draws, None))


def _valuation(values: Mapping[Op, Array], draws: Draws | None, log: CallLog | None) -> Valuation:
    def value(term: Op, args: list[Array]) -> Any:
        if term in values:
            return values[term]
        found = _value(term, args, draws)
        return found if log is None else afterwards(found, partial(_told, log, term))

    return value


def _told(log: CallLog, term: Op, found: Any) -> Any:
    log.tell(term, lambda: found)
    return found


def _value(term: Op, args: list[Array], draws: Draws | None) -> Any:
    name = term.definition.name
    if name in ("core.assign", "core.after"):
        return args[1]  # what was written is what is read after it
    if "draw" in term.definition.traits and draws is not None:
        return draws.draw(term)
    if term.definition.meaning is None:
        do = None if term.definition.shipped else f"say what {name} means: @ng.op(..., meaning=...)"
        raise InvalidHandleError(f"{describe(term)} has no value here", where=term.info.place, do=do)
    return meant(term, args)


def meant(term: Op, args: Sequence[Array]) -> Any:
    """What the meaning of a term gives for some arguments: an array of its type, or a tuple; of a binder its steps.

    An error that the meaning raises is noted with the op that it was asked of.

    Raises:
        ArgumentError: for a meaning that gives something else.
    """
    meaning = term.definition.meaning
    assert meaning is not None
    with _noted(term), np.errstate(all="ignore"):
        value = meaning(term, *args)
    return _stepped(term, value) if is_binder(term) and isinstance(value, Generator) else _typed(term, value)


def _stepped(term: Op, meaning: Bound) -> Bound:
    with _noted(term):
        value = yield from meaning
    return _typed(term, value)


@contextmanager
def _noted(term: Op) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        at = f" at {term.info.place}" if term.info.lineno else ""
        error.add_note(f"raised by the meaning of {term.definition}, for {describe(term)}{at}")
        raise


def _typed(term: Op, value: Any) -> Any:
    """A value as it has to be: an array, or a tuple as it is."""
    if isinstance(term.type, TupleType):
        return value
    found = computed(value, term.dtype)
    if found.dtype != term.dtype or found.shape != term.shape:
        given = f"{found.dtype}[{', '.join(map(str, found.shape))}]"
        what = f"the meaning of {term.definition} gives {given} for {describe(term)} of type {term.type}"
        where = term.info.place if term.info.lineno else None
        raise ArgumentError(what, where=where, do="let it return an array of that dtype and shape")
    return found


class Draws:
    """Random numbers by seed, stream and call: the same on every target."""

    def __init__(self, seed: int, streams: Mapping[Uid, int], call: int) -> None:
        self.seed, self.streams, self.call = seed, streams, call

    def draw(self, term: Op) -> Array:
        """The numbers a draw gives in this call."""
        kind = term.definition.short
        attributes = ("low", "high") if kind == "uniform" else ("loc", "scale")
        first, second = (term.attribute(a).scalar for a in attributes)
        shape = tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
        function = philox.uniform if kind == "uniform" else philox.normal
        count = int(np.prod(shape, dtype=np.int64))
        numbers = function(self.seed, self.streams[term.attribute("uid")], self.call, count, term.dtype, first, second)
        return np.asarray(numbers).reshape(shape)


def viewed(term: Op) -> Op:
    """The term that a view, or a view of views, looks at."""
    while "view" in term.definition.traits:
        term = term.args[0]
    return term


def without_identities(term: Op) -> Op:
    """A term without the views around it that have all elements where it has them."""
    while term.definition.name in IDENTITIES:
        term = term.args[0]
    return term


def through_views(known: dict[Op, Array], terms: Iterable[Op]) -> dict[Op, Array]:
    """Views of what is known are known too."""
    for term in terms:
        if term not in known and "view" in term.definition.traits and term.args[0] in known:
            known[term] = np.asarray(term.definition.meaning(term, known[term.args[0]]))  # type: ignore[misc]
    return known
