# SPDX-License-Identifier: Apache-2.0
"""What checking a stranger's rules may cost: terms are sized before they are evaluated, processes bound themselves."""

from __future__ import annotations

import math
from contextlib import suppress

from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.types.tuples import TupleType

try:
    import resource
except ImportError:  # not a Unix: the bounds of a process are nobody's to set
    resource = None  # type: ignore[assignment]

# How many elements the value of one term, and of all terms under a root, may have.
ELEMENTS, TOTAL = 1 << 20, 1 << 22
MEGABYTE = 1 << 20


def too_large(term: Op, elements: int = ELEMENTS, total: int = TOTAL) -> bool:
    """Whether evaluating a term would take a value of too many elements, its own or one on the way.

    Lengths that are unknown count as one: what binds them decides.

    >>> import ngraph_rewrite as ng
    >>> one = ng.constant(1.0)
    >>> wide = ng.semi.broadcast(one, (10**6, 10**6))
    >>> too_large(wide), too_large(ng.semi.sum(wide, (0, 1))), too_large(one)
    (True, True, False)
    """
    spent = 0
    for part in topological([term]):
        size = _elements(part.type)
        spent += size
        if size > elements or spent > total:
            return True
    return False


def _elements(type_: TensorType | TupleType) -> int:
    if isinstance(type_, TupleType):
        return sum(map(_elements, type_.elements))
    return math.prod(n if isinstance(n, int) else 1 for n in type_.shape)


def bounded(seconds: float | None = None, megabytes: int | None = None) -> None:
    """What a worker does to its own process before it works on rules of a stranger: so much time, so much more memory.

    An allocation beyond the bound is a `MemoryError`; a process that is still computing when its processor time is
    over is ended by the system. Bounds are never raised. Outside Unix nothing is bounded, and neither is what the
    system does not let a process bound.

    Args:
        seconds: Of processor time, from now on, for the whole process; None for no bound.
        megabytes: Of address space, beside what the process has taken already; None for no bound.
    """
    if resource is None:
        return
    if seconds is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime + seconds))
    taken = _address_space()
    if megabytes is not None and taken is not None:
        _limit(resource.RLIMIT_AS, taken + megabytes * MEGABYTE)


def _address_space() -> int | None:
    """How many bytes of addresses the process has; None where the system does not say."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None


def _limit(name: int, bound: int) -> None:
    """Set a bound that is no higher than what is set already."""
    was = resource.getrlimit(name)
    lowest = min([bound, *(n for n in was if n != resource.RLIM_INFINITY)])
    with suppress(OSError, ValueError):
        resource.setrlimit(name, (lowest, was[1]))
