# SPDX-License-Identifier: Apache-2.0
"""An instance of a rule for each class of dtypes: floats, signed and unsigned integers, and truth values.

What builds for floats may not for others: there is no negative truth value, and 300 is no int8. The narrowest dtype
stands for its class, as its sums are wider and the fewest numbers fit it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from ngraph_rewrite.rewriting.domain import SYMBOLIC, Domain
from ngraph_rewrite.rewriting.instances import Instance, every_match
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.rewriting.solving import Solver
from ngraph_rewrite.rewriting.trial_bank import TrialBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import BOOL, FLOAT16, FLOAT32, DType
from ngraph_rewrite.types.tuples import tensors

# The dtype that stands for each class; beside it variables have a truth value, as conditions do.
_NARROWEST = (FLOAT16, np.dtype("int8"), np.dtype("uint8"), BOOL)


def class_matches(rule: Rule, bank: TrialBank, tries: int) -> Iterator[Instance]:
    """For each class of dtypes the first instance that has a leaf of it, where few tries find one.

    >>> from ngraph_rewrite.rewriting.rulefile import parse_rules
    >>> rule, = parse_rules("simplify semi\\nrule twice: -(-x) => x", "my.rules", "my")
    >>> [found.term.dtype.name for found in class_matches(rule, TrialBank(), 100)]
    ['float16', 'int8', 'uint8']
    """
    solver = Solver(rule, bank.make) if rule.guard is not None else None
    for dtype in _NARROWEST[:1] if rule.kind == "derive" else _NARROWEST:
        found = every_match(rule, _domain(dtype), _first, bank, tries, solver)
        first = next((one for one in found if _has(one.term, dtype)), None)
        if first is not None:
            yield first


@cache
def _domain(dtype: DType) -> Domain:
    return replace(SYMBOLIC, dtypes=(dtype, FLOAT32 if dtype == BOOL else BOOL))


def _first(site: str, count: int) -> int:
    """Options are tried in the order in which they stand."""
    return 0


def _has(term: Op, dtype: DType) -> bool:
    return any(one.dtype == dtype for leaf in topological([term]) if not leaf.args for one in tensors(leaf.type))
