# SPDX-License-Identifier: Apache-2.0
"""A scan that computes anew what another has computed in the same step gets it as one more sequence.

The adjoint of a scan binds the parameters of the scan, whose values it computes anew: they are the same terms. Products
among them are kept by the scan, stacked as its outputs are: it takes less to write them down and to read them again.
What is elementwise above them, or above parts of them such as gates, is kept in their place if it is no more. What is
cheap is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ngraph_rewrite.plan.needs import Scan
from ngraph_rewrite.plan.scan_changes import ScanChanges
from ngraph_rewrite.terms.binders import Free, body_terms
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op

# What is worth keeping, if it sums so many products for a number.
_PRODUCTS = ("cpu.gemm", "cpu.batch_gemm", "cuda.gemm", "semi.dot", "semi.batch_dot")
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
    before, body = _body(earlier, free), _body(scan, free)
    both = set(before).intersection(term for term in body if free[term] <= common)
    users: dict[Op, dict[Op, None]] = {}
    for term in (*before, *body):
        for arg in term.args:
            users.setdefault(arg, {})[term] = None
    found = [_upwards(term, users, both) for term in body if term in both and _is_dear(term)]
    return list(dict.fromkeys([one for some in found for one in some]))


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


def _upwards(term: Op, users: Mapping[Op, Mapping[Op, None]], both: set[Op]) -> list[Op]:
    """A term, or what is made of it and of its parts element by element, if that is no more to keep."""
    above = users.get(term, {})
    simple = all(user in both and _is_simple(user) and user.dtype == term.dtype for user in above)
    if not above or not simple or not 0 < sum(map(_size, above)) <= _size(term):
        return [term]
    found = [one for user in above for one in _upwards(user, users, both)]
    return [term] if any(one.definition.name == "semi.slice" for one in found) else found


def _is_simple(term: Op) -> bool:
    return "elementwise" in term.definition.traits or term.definition.name in ("semi.reshape", "semi.slice")


def _size(term: Op) -> int:
    return int(term.size)  # type: ignore[arg-type]
