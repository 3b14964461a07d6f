# SPDX-License-Identifier: Apache-2.0
"""The forms of what stands inside an op, in steps and branches too: for a rule that is not of the op itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ngraph_rewrite.lowering.derivation import near
from ngraph_rewrite.lowering.forms import Form, forms_of
from ngraph_rewrite.lowering.graph_rules import left_sides
from ngraph_rewrite.lowering.replaying import Replay
from ngraph_rewrite.rewriting.rule import Rule
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological

# So many forms of terms inside of an op are looked at.
MOST = 5000


def forms_within(rule: Rule, op: Op, replay: Replay) -> list[Form]:
    """The forms that the terms inside an op had, and that a rule may match at the root; what is nearest to it first.

    A derivative comes to the terms themselves. Terms of which no handle became one, such as the step of a loop that a
    rule made, stand behind the others.
    """
    wanted = {left.definition for left in left_sides(rule)}
    handles = reversed(topological(op.args))
    every = (Form("deriv", term) for term in handles) if rule.kind == "derive" else _every(op, replay)
    return list(dict.fromkeys(form for form in islice(every, MOST) if form.term.definition in wanted))


def _every(op: Op, replay: Replay) -> Iterator[Form]:
    below = topological(op.args)[: -MOST - 1 : -1]
    replay.shown |= replay.table.on_the_way(near(below))  # what became of each is its own
    for term in below:
        yield from forms_of(term, replay)
    for form in forms_of(op, replay):
        yield from (Form(form.stage, term) for term in reversed(topological(form.term.args)))
