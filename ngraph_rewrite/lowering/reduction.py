# SPDX-License-Identifier: Apache-2.0
"""Normal forms are built, not found: what a rule's right side puts on top of normal terms is rewritten at once."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, NamedTuple

from ngraph_rewrite.errors import RewriteError
from ngraph_rewrite.lowering.stage import BY_ARGUMENTS, COLLAPSED, FIRED, Stage, Taken
from ngraph_rewrite.lowering.steps import Steps, cycle_error, exhausted, ill_typed, step_error
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.rewriting.matcher import Make
from ngraph_rewrite.terms.bank import Near, TermBank
from ngraph_rewrite.terms.catalogue import OpDef
from ngraph_rewrite.terms.info import NO_INFO
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.shared import Shared

# How many steps may stand inside each other while right sides are built; what goes deeper waits on a stack.
NESTED = 24
# Terms are most of what a pass makes: it writes their parts itself, which takes two thirds of the time.
new = object.__new__


class Left(NamedTuple):
    """What an earlier pass left: the mark of its normal forms, and the names of ops for which it lacked rules.

    Where neither term nor rules are new to it, no rule fires.
    """

    mark: object
    lacked: Container[str]


NOTHING_LEFT = Left(object(), ())


class _Parts(dict[OpDef, tuple[Any, Any, dict[Any, Op], dict[Any, Near], Any]]):
    """Of each op its step, what collapses a term of it before it is built, and its terms and types in the bank.

    Last comes the step for a term that was normal in the pass before.
    """

    __slots__ = ("_bank", "_lacked", "_steps")

    def __init__(self, steps: Mapping[OpDef, Any], bank: TermBank, lacked: Container[str]) -> None:
        self._steps, self._bank, self._lacked = steps, bank, lacked

    def __missing__(self, definition: OpDef) -> tuple[Any, Any, dict[Any, Op], dict[Any, Near], Any]:
        step, bank = self._steps.get(definition), self._bank
        again = step if definition.name in self._lacked else None
        found = step, getattr(step, "collapse", None), bank.tables[definition], bank.near[definition], again
        self[definition] = found
        return found


def _closures(reduction: Reduction) -> tuple[Make, Callable[[Op, Taken], Op], Callable[[], None]]:
    """What builds normal forms and what records steps: they run for every op, with what they need in their scope.

    They know each other and the reduction, so that all its terms would wait for the garbage collector; the last
    function makes them forget.
    """
    parts, mark, put_off, target = reduction.parts, reduction.mark, reduction.put_off, reduction.target
    fired, pending, collapsed, collapses = reduction.fired, reduction.pending, reduction.collapsed, reduction.collapses
    table_of_pass, moved, add = reduction.table, reduction.moved, reduction.bank.add
    counted = collapsed if reduction.counts_all else ()
    depth = 0

    def met(term: Op) -> Op:
        """The normal form of a term that was there; the term itself, put off, where one waits for that already."""
        if term.mark is mark:
            return term if term.form is None else term.form
        put_off.add(term)
        return term

    def make(definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op:
        """The normal form of the term with this structure, whose arguments are normal or put off."""
        nonlocal depth
        step, collapse, table, near, _ = parts[definition]
        term = None
        try:
            if collapse is not None:
                made = collapse(args, attrs)
                if made is not None and not put_off:
                    number, to = made
                    typed = near.get((id(args[0].type), attrs))  # an op of one argument, as most are
                    if to.type is typed[1] if typed is not None else collapses(definition, args, attrs, to):
                        collapsed.extend((len(fired), definition, args, attrs, number, to))
                        return to  # type: ignore[no-any-return]
            key: Any = (args, attrs) if attrs else args
            term = table.get(key)
            if term is not None:
                if term.mark is mark or term in pending:
                    return met(term)
            else:  # as the bank does it, where it knows the type
                if len(args) == 1:
                    typed = near.get((id(args[0].type), attrs))
                else:
                    typed = near.get((id(args[0].type), id(args[1].type), attrs)) if len(args) == 2 else None
                if typed is not None:
                    term = new(Shared)
                    term.definition, term.args, (term.attrs, term.type, _), term.info = definition, args, typed, NO_INFO
                    term.mark = term.form = None
                    table[key] = term
        except Exception:  # a list has no hash, but its stored form has; and the step itself says what is wrong with it
            term = None
        if term is None:
            term = add(definition, args, attrs)
            if term.mark is mark or term in pending:
                return met(term)
            step = parts[term.definition][0]
        if put_off and not put_off.isdisjoint(term.args):
            put_off.add(term)
            return term
        if step is None:
            term.form, term.mark = None, mark
            return term
        if depth >= NESTED:
            put_off.add(term)
            return term
        depth += 1
        try:
            made = step(term, make, target)
        except Exception as error:
            reduction.refuse(error, term)
            raise
        depth -= 1
        if made is None:
            term.form, term.mark = None, mark
            return term
        return fires(term, made)

    def fires(term: Op, made: Taken) -> Op:
        """Record a step; the normal form that it leads to, or the term itself if that is put off."""
        if term.mark is mark or (pending and term in pending):  # its own right side had built it, and rewritten it
            return met(term)
        number, new = made
        if new.type is not term.type and new.type != term.type:
            raise ill_typed(term, new, reduction.matcher.reasons[number])
        fired.extend((term, number, new))
        if len(fired) // FIRED + len(counted) // COLLAPSED > reduction.limit:
            raise exhausted(reduction.budget + 1, reduction.stage)
        if new.mark is not mark:
            pending[term] = made
            put_off.add(term)
            return term
        if new.form is not None:
            new = new.form
        term.form, term.mark = new, mark
        if moved or term.info.metadata:
            table_of_pass.carry(term, new)
        return new

    def forget() -> None:
        nonlocal make, fires, reduction, collapses
        del make, fires, reduction, collapses

    return make, fires, forget


class Reduction:
    """One pass at work: `make` builds normal forms, `settle` brings any term to its own.

    A term has the pass's mark once the pass has its normal form, and is *normal* if it is its own. Right sides are
    built by `make` from normal terms, and each op that is put on top is rewritten at once: nothing is built of what
    goes away. These are steps inside steps; where they are nested too deep, or a term is needed for its own normal
    form, `make` gives a term as it is, which is then *put off*, as are the terms built on it. What was put off is
    settled on a stack: such steps are *pending*.

    Args:
        budget: How many steps may be taken.
        counts_all: Whether those count that give an argument for a term before it is built. Without end they are only
            where others are: a right side has so many parts, and a list of operands in it makes them many.
    """

    __slots__ = (
        "bank", "budget", "collapsed", "counts_all", "fired", "fires", "forget", "left", "limit", "make", "mark",
        "matcher", "moved", "parts", "pending", "put_off", "stage", "table", "target",
    )  # fmt: skip

    def __init__(
        self,
        matcher: Steps,
        table: ReplacementTable,
        stage: Stage,
        bank: TermBank,
        target: Any,
        budget: int,
        left: Left = NOTHING_LEFT,
        counts_all: bool = True,
    ) -> None:
        self.matcher, self.target, self.budget, self.limit = matcher, target, budget, budget
        self.counts_all = counts_all
        self.left, self.parts = left.mark, _Parts(matcher.steps, bank, left.lacked)
        self.table, self.moved, self.stage, self.bank = table, table.moved, stage, bank
        self.mark, self.fired, self.collapsed = object(), stage.fired, stage.collapsed
        self.pending = dict(stage.taken)
        self.put_off: set[Op] = set()
        self.make, self.fires, self.forget = _closures(self)

    def __enter__(self) -> Reduction:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()

    def sweep(self, roots: list[Op], known: list[Op] | None = None) -> list[Op]:
        """Bring every term to its normal form, arguments first: those that changed on the same op with new ones.

        It is one loop, since it runs for every term: a term is looked at while its arguments are still at hand.

        Args:
            roots: Where to begin.
            known: All terms under the roots, arguments first, for those who have them: no term then waits for others.

        Returns:
            All terms under the roots that are new to the pass, arguments first.
        """
        mark, parts, put_off, target = self.mark, self.parts, self.put_off, self.target
        make, fires = self.make, self.fires
        moved, left, order = self.moved, self.left, known or []
        for term in known or self.arguments_first(roots, order):
            if term.mark is mark:
                continue
            args, now, changed = term.args, term, False
            count = len(args)
            if count == 1:
                if args[0].form is not None:
                    args, changed = (args[0].form,), True
            elif count == 2:
                one, other = args
                if one.form is not None or other.form is not None:
                    args = one if one.form is None else one.form, other if other.form is None else other.form
                    changed = True
            elif count and any(a.form is not None for a in args):
                args, changed = tuple([a if a.form is None else a.form for a in args]), True
            step, _, table, _, again = parts[term.definition]
            if changed:
                if term.definition.profile is None:  # as the bank does it
                    attrs = term.attrs
                    key: Any = (args, attrs) if attrs else args
                    now = table.get(key)  # type: ignore[assignment]
                else:
                    now = self.bank.renewed(term, args)
                    step = parts[now.definition][0]
                if now is None:
                    now = new(Shared)
                    now.definition, now.args, now.attrs = term.definition, args, attrs
                    now.type, now.info = term.type, term.info
                    now.mark = now.form = None
                    table[key] = now
                elif now.mark is mark:
                    self.ends(term, now if now.form is None else now.form)
                    continue
            elif term.mark is left and term.form is None:  # else built again by a pass, after a rule had rewritten it
                step = again
            try:
                made = None if step is None else step(now, make, target)
            except Exception as error:
                self.refuse(error, now)
                raise
            if made is None:
                now.form, now.mark, found = None, mark, now
            else:
                found = fires(now, made)
            if put_off:
                self.settle(term)
            elif changed:
                term.form, term.mark = found, mark
                if moved or term.info.metadata:
                    self.table.carry(term, found)
        self.stage.ended(order, [term.form for term in order])
        self.stage.ended(roots, [root.form for root in roots])
        return order

    def arguments_first(self, roots: list[Op], order: list[Op]) -> Iterator[Op]:
        """The terms under the roots that are new to the pass, arguments first; `order` gathers them.

        Each has the mark before the next one is asked for.
        """
        mark, stack = self.mark, list[Op | None](roots[::-1])
        while stack:
            term = stack.pop()
            if term is None:  # what stands below it was waiting for its arguments
                ready = stack.pop()
                order.append(ready)  # type: ignore[arg-type]
                yield ready  # type: ignore[misc]
                continue
            while term.mark is not mark:
                args = term.args
                if not args:
                    order.append(term)
                    yield term
                    break
                stack += (term, None)
                if len(args) > 1:
                    stack += args[:0:-1]
                term = args[0]

    def collapses(self, definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], to: Op) -> bool:
        """Whether a rule may give an argument for a term that need not be built for it.

        Where anything is unusual the term is built, and its own steps say what is to be said.
        """
        stored, type_, _ = self.bank.typed(definition, args, attrs)
        return to.type is type_ and (stored is attrs or stored == attrs)

    def visit(self, term: Op, step: Any) -> None:
        """Rewrite a term whose arguments are normal by the step of its op."""
        try:
            made = None if step is None else step(term, self.make, self.target)
        except Exception as error:
            self.refuse(error, term)
            raise
        if made is None:
            term.form, term.mark = None, self.mark
        else:
            self.fires(term, made)

    def refuse(self, error: Exception, term: Op) -> None:
        """Say at which rule a step failed, if it was one that builds an ill-typed term."""
        if isinstance(error, RewriteError):
            return
        failed = step_error(error, term, self.matcher)
        if failed is not None:
            raise failed from error

    def ends(self, term: Op, found: Op) -> None:
        """The pass has the normal form of a term that it rewrote."""
        term.form, term.mark = found, self.mark
        if self.moved or term.info.metadata:
            self.table.carry(term, found)

    def settle(self, term: Op) -> None:
        """Bring any term to its normal form: on a stack, it waits for its arguments and for what it went to."""
        mark, pending, stack, waiting = self.mark, self.pending, [term], set[Op]()
        while stack:
            term = stack[-1]
            step = pending.get(term)
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
                    pending[term] = BY_ARGUMENTS, self.bank.renewed(term, args)
                    self.fired.extend((term, *pending[term]))
                    self.limit += 1  # no rule fired
                else:
                    self.put_off.clear()
                    self.visit(term, self.parts[term.definition][0])
        self.put_off.clear()
