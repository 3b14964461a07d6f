# SPDX-License-Identifier: Apache-2.0
"""Which derivatives go on with the sweep of the one before.

From the second derivative of the same scalar on, asked for at the same line, with the same rules and metadata, a sweep
is kept, by each thread for itself, as long as one of the derivatives that came of it is there. So each term of a
derivative knows the line and the metadata of its own call, and a scalar that nobody uses is in no memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from operator import is_
from typing import NamedTuple
from weakref import ReferenceType, WeakKeyDictionary, ref

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.derive_rules import DeriveRules
from ngraph_rewrite.lowering.shared_sweep import Apart, SharedSweep
from ngraph_rewrite.terms.info import info_here
from ngraph_rewrite.terms.op import Op


class _Call(NamedTuple):
    """Of what scalar a derivative is, and what is the same and what is equal in all that share a sweep."""

    dependent: ReferenceType[Op]
    same: tuple[object, ...]
    equal: tuple[object, ...]

    def goes_on(self, last: _Call | None) -> bool:
        """Whether the derivative may go on with the sweep of the last one."""
        if last is None or last.dependent() is not self.dependent():
            return False
        return self.equal == last.equal and all(map(is_, self.same, last.same))


class _Last(threading.local):
    """The last derivative of a thread, and the sweep that its next one may go on with.

    Attributes:
        call: What the next one has to have in common with it.
        found: The derivative itself. Who asked and threw it away keeps none, and has no use for a sweep.
        keeping: The sweep, by the derivatives that came of it: it holds none of these, so it is gone when they are.
    """

    call: _Call | None = None
    found: ReferenceType[Op] | None = None
    sweep: ReferenceType[SharedSweep] | None = None

    def __init__(self) -> None:
        self.keeping: WeakKeyDictionary[Op, SharedSweep] = WeakKeyDictionary()


_last = _Last()


def shared_adjoint(rules: DeriveRules, dependent: Op, wanted: Op, seed: Op, alone: Callable[[], Op]) -> Op:
    """The derivative of a scalar by one term.

    Args:
        alone: Finds it by a sweep of its own.
    """
    info = info_here()
    call = _Call(ref(dependent), (rules, info.metadata), (info.filename, info.lineno, info.scope))
    sweep = _continued(call, lambda: SharedSweep(rules, dependent, seed))
    try:
        found = None if sweep is None else sweep.adjoint(wanted)
    except Apart:
        found = None
    except NGraphRewriteError:  # a sweep of its own says what is wrong
        found = sweep = None
    found = alone() if found is None else found
    # A function of the user's, called in between, may have asked for another derivative: all is noted here.
    _last.call, _last.found, _last.sweep = call, ref(found), None
    if sweep is not None and not sweep.holds(found):
        _last.sweep, _last.keeping[found] = ref(sweep), sweep
    return found


def _continued(call: _Call, new: Callable[[], SharedSweep]) -> SharedSweep | None:
    """The sweep of the last derivative, taken out until it is whole again; None if that was another one's."""
    again = call.goes_on(_last.call)
    kept = again and _last.found is not None and _last.found() is not None
    sweep = _last.sweep() if again and _last.sweep is not None else None
    _last.call = _last.found = _last.sweep = None
    return sweep or (new() if kept else None)
