# SPDX-License-Identifier: Apache-2.0
"""Normal forms are built, not found: what a rule's right side puts on top of normal terms is rewritten at once."""

from __future__ import annotations

from typing import Any

from ngraph_rewrite.errors import RewriteError
from ngraph_rewrite.lowering.steps import Steps, cycle_error, exhausted, ill_typed, step_error
from ngraph_rewrite.lowering.table import BY_ARGUMENTS, ReplacementTable, Stage, Taken
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.op import Op

# How many steps may stand inside each other while right sides are built; what goes deeper waits on a stack.
NESTED = 24


class Reduction:
    """One pass at work: `make` builds normal forms, `settle` brings any term to its own.

    A term has the pass's mark once the pass has its normal form, and is *normal* if it is its own. Right sides are
    built by `make` from normal terms, and each op that is put on top is rewritten at once: nothing is built of what
    goes away. These are steps inside steps; where they are nested too deep, or a term is needed for its own normal
    form, `make` gives a term as it is, which is then *put off*, as are the terms built on it. What was put off is
    settled on a stack.
    """

    __slots__ = (
        "add", "bank", "budget", "collapse", "collapsed", "depth", "fired", "mark", "matcher", "moved", "near",
        "put_off", "stage", "steps", "table", "tables", "taken", "target", "together",
    )  # fmt: skip

    def __init__(
        self, matcher: Steps, table: ReplacementTable, stage: Stage, bank: TermBank, target: Any, budget: int
    ) -> None:
        self.matcher, self.steps, self.target, self.budget = matcher, matcher.steps, target, budget
        self.collapse = {d: s.collapse for d, s in self.steps.items() if hasattr(s, "collapse")}
        self.table, self.moved, self.stage, self.bank = table, table.moved, stage, bank
        self.mark, self.taken, self.collapsed = object(), stage.taken, stage.collapsed
        self.tables, self.near, self.add, self.together = bank.tables, bank.near, bank.add, self.make
        self.put_off: set[Op] = set()
        self.depth = self.fired = 0

    def sweep(self, order: list[Op]) -> None:
        """Bring every term to its normal form, arguments first: those that changed on the same op with new ones."""
        mark, steps, put_off = self.mark, self.steps, self.put_off
        visit, renewed, moved = self.visit, self.bank.renewed, self.moved
        for term in order:
            if term.mark is mark:
                continue
            args = term.args
            for arg in args:
                if arg.form is not None:
                    rebuilt = renewed(term, tuple([a if a.form is None else a.form for a in args]))
                    if rebuilt.mark is not mark:
                        found = visit(rebuilt)
                    else:
                        found = rebuilt if rebuilt.form is None else rebuilt.form
                    if not put_off:
                        term.form, term.mark = found, mark
                        if moved or term.info.metadata:
                            self.table.carry(term, found)
                    break
            else:
                if steps.get(term.definition) is None:
                    term.form, term.mark = None, mark
                else:
                    visit(term)
            if put_off:
                self.settle(term)
        self.stage.ended(order)

    def make(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op:
        """The normal form of the term with this structure, whose arguments are normal or put off."""
        try:
            collapse = self.collapse.get(definition)
            made = collapse(args, attrs) if collapse is not None else None
            if made is not None:
                typed = self.near.get((definition, id(args[0].type), attrs))  # an op of one argument, as most are
                if typed is not None and made[1].type is typed[1] and not self.put_off:
                    self.collapsed.append((len(self.taken), (definition, args, attrs), made))
                    self.fired += 1
                    return made[1]  # type: ignore[no-any-return]
                if self.collapses(definition, args, attrs, made):
                    return made[1]  # type: ignore[no-any-return]
            term = self.tables[definition].get((args, attrs) if attrs else args)
        except Exception:  # a list has no hash, but its stored form has; and the step itself says what is wrong with it
            term = None
        if term is None:
            term = self.add(definition, args, attrs)
        if term.mark is not self.mark:
            return self.visit(term)
        return term if term.form is None else term.form

    def collapses(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], made: Taken) -> bool:
        """Whether a rule may give an argument for a term that need not be built for it; then that is recorded.

        Where anything is unusual the term is built, and its own steps say what is to be said.
        """
        stored, type_, _ = self.bank.typed(definition, args, attrs)
        if self.put_off or made[1].type is not type_ or (stored is not attrs and stored != attrs):
            return False
        self.collapsed.append((len(self.taken), (definition, args, attrs), made))
        self.fired += 1
        return True

    def visit(self, term: Op) -> Op:
        """The normal form of a term whose arguments are normal; the term itself if that is put off.

        It runs for every term: what it does together would take twice the time in several functions.
        """
        if self.put_off and not self.put_off.isdisjoint(term.args):
            self.put_off.add(term)
            return term
        step = self.steps.get(term.definition)
        if step is None:
            term.form, term.mark = None, self.mark
            return term
        if self.depth >= NESTED or term in self.taken:
            self.put_off.add(term)
            return term
        self.depth += 1
        try:
            made = step(term, self.together, self.target)
        except RewriteError:
            raise
        except Exception as error:
            failed = step_error(error, term, self.matcher)
            if failed is None:
                raise
            raise failed from error
        self.depth -= 1
        if made is None:
            term.form, term.mark = None, self.mark
            return term
        new: Op = made[1]
        if new.type is not term.type and new.type != term.type:
            raise ill_typed(term, new, self.matcher.reasons[made[0]])
        self.taken[term] = made
        self.fired += 1
        if self.fired > self.budget:
            raise exhausted(self.fired, self.stage)
        if new.mark is not self.mark:
            self.put_off.add(term)
            return term
        if new.form is not None:
            new = new.form
        term.form, term.mark = new, self.mark
        if self.moved or term.info.metadata:
            self.table.carry(term, new)
        return new

    def ends(self, term: Op, found: Op) -> None:
        """The pass has the normal form of a term that it rewrote."""
        term.form, term.mark = found, self.mark
        if self.moved or term.info.metadata:
            self.table.carry(term, found)

    def settle(self, term: Op) -> None:
        """Bring any term to its normal form: on a stack, it waits for its arguments and for what it went to."""
        mark, taken, stack, waiting = self.mark, self.taken, [term], set[Op]()
        while stack:
            term = stack[-1]
            step = taken.get(term)
            if term.mark is mark:
                stack.pop()
            elif step is not None:
                to = step[1]
                if to.mark is mark:
                    self.ends(term, to if to.form is None else to.form)
                elif term in waiting:
                    raise cycle_error(term, self.stage)
                else:
                    waiting.add(term)
                    stack.append(to)
            elif missing := [a for a in term.args if a.mark is not mark]:
                stack.extend(missing[::-1])
            else:
                args = tuple([a if a.form is None else a.form for a in term.args])
                if args != term.args:
                    taken[term] = BY_ARGUMENTS, self.bank.renewed(term, args)
                else:
                    self.put_off.clear()
                    self.visit(term)
        self.put_off.clear()
