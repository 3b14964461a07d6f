# SPDX-License-Identifier: Apache-2.0
"""Two terms of a sum that stand side by side in zeros are joined, wherever in the sum they stand."""

from __future__ import annotations

from itertools import permutations

from ngraph_rewrite.rewriting.attributes_slices import padded_axis
from ngraph_rewrite.rewriting.matcher import Make
from ngraph_rewrite.rewriting.registry import term_function
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.op import Op


@term_function(consumes="semi.add")
def beside_each_other(make: Make, total: Op) -> Op:
    """Of ``z + p + q`` what is ``z`` and one padded term, where p and q are padded side by side.

    The rules that call it have found out that they are; in which order a sum has its terms says nothing.
    """
    add = total.definition
    for inner, last in permutations(total.args):
        for rest, other in permutations(inner.args) if inner.definition is add else ():
            for first, second in permutations((other, last)):
                joined = _joined(make, first, second)
                if joined is not None:
                    return make(add, (rest, joined), ())
    return total


def _joined(make: Make, first: Op, second: Op) -> Op | None:
    """What is padded first and then the other, padded together; None if they do not stand so."""
    if not first.definition.name == second.definition.name == "semi.pad":
        return None
    (before, after, inside, value), (start, end, within, other) = first.attrs, second.attrs
    axis = padded_axis(before, after)
    if axis is None or padded_axis(start, end) not in (axis, None) or inside != within or any(inside) or value != other:
        return None
    if value.scalar != 0 or start[axis] != before[axis] + first.args[0].shape[axis]:
        return None
    whole = make(lookup("semi.concat"), (first.args[0], second.args[0]), (axis,))
    return make(first.definition, (whole,), (before, end, inside, value))
