# SPDX-License-Identifier: Apache-2.0
"""States that no step of a scan changes: what reads them reads what they were at first."""

from __future__ import annotations

from ngraph_rewrite.ops.scanning import parts
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.binders import is_parameter
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted


def settled(scan: Op, bank: TermBank) -> Op:
    """A scan that does not read states which no step changes: they are what they were at first."""
    inits, sequences, following, outputs = parts(scan.args, scan.attribute("states"), scan.attribute("sequences"))
    uids, same = scan.attribute("parameters"), dict[Op, Op]()
    for uid, init, after in zip(uids, inits, following, strict=False):
        if is_parameter(after) and after.attribute("uid") == uid and after.type == init.type:
            same[after] = init
    if not same:
        return scan
    kept = [after for after in following if after not in same]
    steps = iter(substituted([*kept, *outputs], same, bank.renewed))
    after = [x if x in same else next(steps) for x in following]
    return bank.renewed(scan, (*inits, *sequences, *after, *steps))
