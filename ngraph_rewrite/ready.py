# SPDX-License-Identifier: Apache-2.0
"""What stands ready for arguments of one set of shapes: an executable, and machine code that makes a whole call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.returns import beside, has_value, leaves, replaced
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.entry import ArraySpec, Call, call_entry
from ngraph_rewrite.state import State
from ngraph_rewrite.targets.target import Executable
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.tracing import told

Shapes = tuple[tuple[int, ...], ...]
_WORD = ctypes.sizeof(ctypes.c_int64)


class Ready:
    """An executable for one set of shapes, and the graph it was made of.

    Attributes:
        given: The shapes of the arguments.
        shapes: Those of the results.
        kinds: The dtypes and shapes of the results.
        stay: Makes a call that moves nothing to a device or from it, if it is one (`Executable`).
        once: Terms of the lowering that were computed once, before the first call, with their values.
        inside: What was computed on the way to them, and nowhere else.
        dropped: A word that is not 0 once this may not be used any more.
    """

    def __init__(self, executable: Executable, bound: Mapping[Op, Op], results: Sequence[Op], given: Shapes) -> None:
        self.executable, self.bound, self.results, self.given = executable, bound, results, given
        self.shapes = [tuple([int(n) for n in t.shape]) for t in results]  # type: ignore[arg-type]
        self.kinds = [ArraySpec(same_dtype(t.dtype), shape) for shape, t in zip(self.shapes, results, strict=True)]
        self.stay: Callable[[Sequence[Any], int], list[Any] | None] = getattr(executable, "stay", _never)
        self.once: Mapping[Op, Any] = {}
        self.inside: Collection[Op] = ()
        self.dropped = ctypes.c_int64(0)

    @cached_property
    def places(self) -> Mapping[Op, int]:
        """Where each result stands among them, for who asks for its value."""
        return {term: place for place, term in enumerate(self.results)}


class Signature(NamedTuple):
    """What calls of a computation have in common, whatever the shapes.

    Attributes:
        dtypes: Of the arguments.
        returns: Terms in a structure.
        kept: A list whose first item is the last call: what was ready, the number of the call, arguments, results.
        computation: What has them: its method ``_call`` makes the calls that machine code does not.
    """

    dtypes: Sequence[np.dtype[Any]]
    returns: Any
    kept: list[Any]
    computation: object
    state: State
    cache: Cache


@lru_cache(maxsize=64)
def same_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that arrays have: there may be others, which are equal to it."""
    return np.dtype(dtype.name)


def machine_call(ready: Ready, signature: Signature) -> Any | None:
    """A function in machine code that makes a call; None if that is too long for it, or none can be made."""
    quick, returns, slow = getattr(ready.executable, "quick", _never)(), signature.returns, signature.computation
    if quick is None:
        return None
    if isinstance(returns, Op) or (type(returns) in (tuple, list) and all(isinstance(item, Op) for item in returns)):
        return _entry(ready, signature, quick)
    entry = _entry(ready, signature._replace(returns=[*leaves(returns)], computation=_Slow(slow, returns)), quick)
    return None if entry is None else _structured(entry, returns, slow)


class _Whole(NamedTuple):
    """What a call gives that machine code did not make: it has its structure."""

    answer: Any


class _Slow:
    """Makes the calls that machine code does not, and says so; it is given a list of what is in `out`."""

    def __init__(self, computation: Any, returns: Any) -> None:
        self._computation, self._returns = computation, returns

    def _call(self, *args: Any, out: Sequence[Any] | None = None) -> _Whole:
        return _Whole(self._computation._call(*args, out=None if out is None else _filled(self._returns, out)))


def _structured(entry: Callable[..., Any], returns: Any, slow: Any) -> Callable[..., Any]:
    """A call that gives a structure other than a list or a tuple, of which machine code makes the list of its items."""

    def call(*args: Any, out: Any = None, **others: Any) -> Any:
        if others:
            return slow._call(*args, out=out, **others)
        found = entry(*args, out=None if out is None else [array for _, array in beside(returns, out)])
        return found.answer if type(found) is _Whole else _filled(returns, found)

    return call


def _filled(returns: Any, items: Iterable[Any]) -> Any:
    following = iter(items)
    return replaced(returns, lambda _: next(following))


def _entry(ready: Ready, signature: Signature, quick: Any) -> Any | None:
    returns = signature.returns
    structure = None if isinstance(returns, Op) else type(returns)
    items = [returns] if structure is None else returns
    words = signature.state.words
    call = Call(
        inputs=[ArraySpec(dtype, shape) for dtype, shape in zip(signature.dtypes, ready.given, strict=True)],
        results=ready.kinds,
        patches=quick.patches,
        rows=quick.rows,
        lock=signature.state.lock,
        lets_go=quick.long,
        gates=[ctypes.addressof(words), ctypes.addressof(ready.dropped), address_of(told), *quick.gates],
        counter=ctypes.addressof(words) + _WORD,
        number=quick.number,
        holder=signature.kept,
        kept=ready,
        structure=structure,
        valued=[has_value(item) for item in items],
        owners=(quick, words, ready.dropped),
    )
    return call_entry(call, signature.computation, "_call", signature.cache)


def _never(*_: object) -> None:
    return None
