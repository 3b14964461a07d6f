# SPDX-License-Identifier: Apache-2.0
"""The terms of a scan's step: which depend on the step, which have no batched form, and which are parts of scans in it.

A scan in a step is batched with its body: its states and slices *move* with the step where they, or what they are made
of, depend on it. A loop on a condition is not: each place would take steps of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ngraph_rewrite.lowering.batched_forms import has_form
from ngraph_rewrite.ops.scanning import parts
from ngraph_rewrite.terms.binders import NONE, body_terms, is_binder, is_parameter
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op

SCAN, ITEM = "semi.scan", "core.item"


class StepBody:
    """What roots in a step are made of.

    Args:
        roots: What a step computes.
        own: Its parameters.
        free: The parameters that each term depends on.

    Attributes:
        terms: The terms that depend on the step, arguments first.
        moving: The parameters of scans in the step whose values depend on it.
        fixed: The terms that have no batched form.
    """

    def __init__(self, roots: Sequence[Op], own: Iterable[Uid], free: Mapping[Op, frozenset[Uid]]) -> None:
        self._free, self._own, self.moving = free, frozenset(own), frozenset[Uid]()
        while True:
            self._bound = self._own | self.moving
            self.terms = body_terms(roots, self._bound, free)
            more = frozenset(self._moved()) | self.moving
            if more == self.moving:
                break
            self.moving = more
        self._inner = {uid for t in self.terms if is_binder(t) for uid in t.attribute("parameters")}
        self.fixed = set(self._without_form())

    def varies(self, term: Op) -> bool:
        """Whether a term depends on the step."""
        return not self._bound.isdisjoint(self._free.get(term, NONE))

    def moves(self, term: Op) -> bool:
        """Whether a term stands for what a scan in the step has in each of its own steps, and depends on this one."""
        return is_parameter(term) and term.attribute("uid") in self.moving

    def is_open(self, term: Op) -> bool:
        """Whether a term has a value only in a binder in the step."""
        return not self._inner.isdisjoint(self._free.get(term, NONE))

    def _moved(self) -> Iterable[Uid]:
        """The parameters of scans whose values depend on the step, as far as that is known of what they are made of."""
        for scan in self.terms:
            if scan.definition.name == SCAN:
                inits, sequences, following, _ = parts(scan.args, scan.attribute("states"), scan.attribute("sequences"))
                made = [*zip(inits, following, strict=True), *((x, x) for x in sequences)]
                for uid, pair in zip(scan.attribute("parameters"), made, strict=True):
                    if any(map(self.varies, pair)):
                        yield uid

    def _without_form(self) -> Iterable[Op]:
        """What no form is known of: ops, and scans with such ops in their bodies, all of which stand where they are."""
        fixed = {t for t in self.terms if not self._may_have_form(t)}
        binders = {t: self._inside(t) for t in self.terms if is_binder(t)}
        while True:
            more = {t for t, inside in binders.items() if t in fixed or not fixed.isdisjoint(inside)}
            more = more.union(*(binders[t] for t in more)) - fixed
            if not more:
                return fixed
            fixed |= more

    def _may_have_form(self, term: Op) -> bool:
        if is_parameter(term) or term.definition.name == SCAN:
            return True
        if term.definition.name == ITEM:
            return term.args[0].definition.name == SCAN
        return has_form(term, [self.varies(a) for a in term.args])

    def _inside(self, binder: Op) -> set[Op]:
        """The terms of a binder's body that have a value only there, as far as they depend on the step."""
        found, stack = set[Op](), list(binder.args)
        while stack:
            term = stack.pop()
            if term not in found and self.varies(term) and self.is_open(term):
                found.add(term)
                stack.extend(term.args)
        return found
