# SPDX-License-Identifier: Apache-2.0
"""A scan that computes anew what another has computed in the same step gets it as one more sequence.

The adjoint of a scan binds the parameters of the scan, whose values it computes anew: they are the same terms. Products
among them are kept by the scan, stacked as its outputs are, with what is elementwise above them: it takes less to write
them down and to read them again. What is cheap is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ngraph_rewrite.plan.needs import Scan
from ngraph_rewrite.plan.scan_changes import ScanChanges
from ngraph_rewrite.terms.binders import Free, body_terms
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op

# What is worth keeping, if it sums so many products for a number.
_PRODUCTS = ("cpu.gemm", "cuda.gemm", "semi.dot", "semi.batch_dot")
_LEAST = 32


def keep(scans: Sequence[Scan], free: Free, changes: ScanChanges) -> None:
    """Let scans get products from earlier ones, where both compute them.

    Args:
        scans: Those that stand in no step of another, in topological order.
        free: The parameters that terms depend on.
    """
    for later, scan in enumerate(scans):
        for earlier in scans[:later]:
            for term in _same(earlier, scan, free):
                changes.keep(earlier.term, scan.term, term)


def _same(earlier: Scan, scan: Scan, free: Free) -> list[Op]:
    """What is worth keeping of what both scans compute in the step of the same number."""
    common = _aligned(earlier, scan)
    if not common:
        return []
    bodies = [set(_body(one, free)) for one in (earlier, scan)]
    both = [t for t in _body(scan, free) if t in bodies[0] and t in bodies[1] and free[t] <= common]
    users: dict[Op, set[Op]] = {}
    for term in (*bodies[0], *bodies[1]):
        for arg in term.args:
            users.setdefault(arg, set()).add(term)
    found = [_upwards(term, users, set(both)) for term in both if _is_dear(term)]
    return list(dict.fromkeys(found))


def _body(scan: Scan, free: Free) -> list[Op]:
    return body_terms((*scan.following, *scan.outputs), scan.parameters, free)


def _aligned(earlier: Scan, scan: Scan) -> set[Uid]:
    """The parameters that have the same value in both, in the step of the same number."""
    if earlier.term.attribute("length") != scan.term.attribute("length"):
        return set()
    n, stacked = len(earlier.inits), len(earlier.inits) + len(earlier.outputs)
    walked = dict(zip(scan.parameters[len(scan.inits) :], scan.sequences, strict=True))
    found = set()
    for number, uid in enumerate(earlier.parameters):
        given = walked.get(uid)
        if given is None:
            continue
        if number >= n:
            same = given is earlier.sequences[number - n]
        else:
            part = given.definition.name == "core.item" and given.args[0] is earlier.term
            same = part and given.attribute("index") == stacked + number
        if same:
            found.add(uid)
    return found


def _is_dear(term: Op) -> bool:
    """Whether it is a product that is worth keeping."""
    if term.definition.name not in _PRODUCTS:
        return False
    x = term.args[0]
    transposed = term.definition.name == "cpu.gemm" and term.attrs[0]
    return int(x.shape[-2 if transposed else -1]) >= _LEAST  # type: ignore[arg-type]


def _upwards(term: Op, users: Mapping[Op, set[Op]], both: set[Op]) -> Op:
    """A term, or what is made of it element by element and of nothing else."""
    while True:
        above = users.get(term, set())
        if len(above) != 1:
            return term
        (user,) = above
        simple = user.definition.traits & {"elementwise"} or user.definition.name == "semi.reshape"
        if user not in both or not simple or user.size != term.size or user.dtype != term.dtype:
            return term
        term = user
