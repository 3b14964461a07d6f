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
from weakref import ReferenceType, WeakKeyDictionary, ref

from ngraph_rewrite.errors import NGraphRewriteError
from ngraph_rewrite.lowering.derive_rules import DeriveRules
from ngraph_rewrite.lowering.shared_sweep import Apart, SharedSweep
from ngraph_rewrite.terms.info import info_here
from ngraph_rewrite.terms.op import Op


class _Last(threading.local):
    """The last derivative of a thread, and the sweep that its next one may go on with.

    Attributes:
        keeping: The sweep, by the derivatives that came of it: it holds none of these, so it is gone when they are.
    """

    dependent: ReferenceType[Op] | None = None
    same: tuple[object, ...] = ()
    equal: tuple[object, ...] = ()
    sweep: ReferenceType[SharedSweep] | None = None

    def __init__(self) -> None:
        self.keeping: WeakKeyDictionary[Op, SharedSweep] = WeakKeyDictionary()


_last = _Last()


def shared_adjoint(rules: DeriveRules, dependent: Op, wanted: Op, seed: Op, alone: Callable[[], Op]) -> Op:
    """The derivative of a scalar by one term.

    Args:
        alone: Finds it by a sweep of its own.
    """
    sweep = _continued(rules, dependent, seed)
    try:
        found = None if sweep is None else sweep.adjoint(wanted)
    except Apart:
        found = None
    except NGraphRewriteError:  # a sweep of its own says what is wrong
        found = sweep = None
    found = alone() if found is None else found
    if sweep is not None and not sweep.holds(found):
        _last.sweep, _last.keeping[found] = ref(sweep), sweep
    return found


def _continued(rules: DeriveRules, dependent: Op, seed: Op) -> SharedSweep | None:
    """The sweep of the last derivative, taken out until it is whole again; None if that was another one's."""
    info = info_here()
    same, equal = (rules, info.metadata), (info.filename, info.lineno, info.scope)
    again = _last.dependent is not None and _last.dependent() is dependent
    again = again and equal == _last.equal and all(map(is_, same, _last.same))
    sweep = _last.sweep() if again and _last.sweep is not None else None
    _last.dependent, _last.same, _last.equal, _last.sweep = ref(dependent), same, equal, None
    return sweep or SharedSweep(rules, dependent, seed) if again else None
