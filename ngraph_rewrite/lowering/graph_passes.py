# SPDX-License-Identifier: Apache-2.0
"""Passes written in Python, for what equations cannot say: they see terms, and say which to replace by which.

What they do is recorded where rules record it, and held to the same: types stay, effects keep their place, a cycle is
an error. The graph that a frontend holds never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

from ngraph_rewrite.errors import ArgumentError, RewriteError, UnknownOpError
from ngraph_rewrite.lowering.driver import normalise, replace
from ngraph_rewrite.lowering.stage import Forward, Replaced
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.declaring import told
from ngraph_rewrite.terms.info import user_line
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe

Visit = TypeVar("Visit", bound=Callable[..., None])


class GraphPass:
    """A pass over a whole graph: subclass it, and write `run`.

    Give it to a transformer: ``make_transformer("cpu", passes=[Mine()])``. It stands before all other passes, unless
    it is told where to stand.

    Args:
        before: The name of a pass: recognize, lower, select, or one of your own.
        after: Likewise.

    Attributes:
        name: What explanations and other passes call it: the name of its class, unless you set another.

    Raises:
        ArgumentError: for `before` and `after` together.
    """

    name: str = ""

    def __init__(self, *, before: str | None = None, after: str | None = None) -> None:
        if before is not None and after is not None:
            raise ArgumentError(f"{type(self).__name__} cannot stand before {before} and after {after}",
                                where=user_line(), do="give one of them")  # fmt: skip
        self.before, self.after = before, after
        self.name = self.name or type(self).__name__

    def __repr__(self) -> str:
        place = f"before={self.before!r}" if self.before else f"after={self.after!r}" if self.after else ""
        return f"{type(self).__name__}({place})"

    def run(self, roots: Sequence[Op]) -> None:
        """Look at the graph under `roots` (`ng.topological` lists its terms), and call `replace_op`."""
        raise NotImplementedError(f"{type(self).__name__} has no method run")

    def replace_op(self, old: Op, new: Op) -> None:
        """Let `new` take the place of `old` everywhere. All replacements of a run happen at its end, together.

        Args:
            old: A term of the graph.
            new: A term of the same type, built from terms of the graph and constants, but not from `old`: that is
                replaced in it too.

        Raises:
            RewriteError: if the types differ, `old` is not in the graph or replaced already, it is an effect, a
                variable or a draw (replace its readers), or `new` brings in one of these or a placeholder.
        """
        _current(self).replace(old, new)

    def applied(self, roots: Sequence[Op], table: ReplacementTable, bank: TermBank, target: Any) -> list[Op]:
        """The roots as the pass leaves them; its stage is added to `table`. What lowering calls."""
        run = _Run(self, bank)
        run.during(lambda: self.run(tuple(roots)))
        return replace(roots, run.forward, table, bank, self.name)


class PeepholePass(GraphPass):
    """A pass that looks at one op after the other, arguments first: like rules, but in Python.

    Each method marked with `visit_op` is called with the terms of its ops, and may replace the one it is called with.
    What it is replaced by is visited too, until nothing changes.

    >>> class Halves(PeepholePass):
    ...     @PeepholePass.visit_op("semi.divide")
    ...     def by_two(self, op):
    ...         x, y = op.args
    ...         if y.definition.name == "core.constant" and y.attribute("value").is_number(2):
    ...             self.replace_op(op, make_op("semi.multiply", x, 0.5))
    >>> from ngraph_rewrite.terms.making import make_op
    >>> Halves(after="lower")
    Halves(after='lower')
    """

    @staticmethod
    def visit_op(*names: str) -> Callable[[Visit], Visit]:
        """Mark a method that looks at the terms of these ops (``"semi.add"``)."""

        def mark(method: Visit) -> Visit:
            method.__dict__["visited_ops"] = names
            return method

        return mark

    def __init__(self, *, before: str | None = None, after: str | None = None) -> None:
        super().__init__(before=before, after=after)
        self._visits: dict[OpDef, list[str]] = {}
        for method, names in _marked(type(self)).items():
            for name in names:
                self._visits.setdefault(_definition(name), []).append(method)

    def visit(self, op: Op) -> None:
        """Look at one term. Override it to see every term, whatever its op."""
        for method in self._visits.get(op.definition, ()):
            getattr(self, method)(op)

    def applied(self, roots: Sequence[Op], table: ReplacementTable, bank: TermBank, target: Any) -> list[Op]:
        """As `GraphPass.applied`."""
        every = type(self).visit is not PeepholePass.visit
        return normalise(roots, _Peephole(self, bank, None if every else self._visits), table, bank, target, self.name)


def _definition(name: str) -> OpDef:
    try:
        return lookup(name)
    except UnknownOpError as error:
        raise UnknownOpError(f"visit_op: {error.what}", where=user_line(), do=error.do) from None


def _marked(kind: type) -> dict[str, tuple[str, ...]]:
    """The marked methods of a class, those of its bases first; an overriding method has its own mark or none."""
    found: dict[str, tuple[str, ...]] = {}
    for one in reversed(kind.__mro__):
        for name, value in vars(one).items():
            if name in found or hasattr(value, "visited_ops"):
                found[name] = getattr(value, "visited_ops", ())
    return found


# -- what a pass does while it runs ------------------------------------------------------------------


class _Run:
    """The replacements of one run, in terms of a bank."""

    def __init__(self, owner: GraphPass, bank: TermBank, only: Op | None = None) -> None:
        self.owner, self.bank, self.only = owner, bank, only
        self.forward: dict[Op, Forward] = {}

    def during(self, work: Callable[[], None]) -> None:
        """Do some work in which `replace_op` means this run; what goes wrong names the pass."""
        token = _RUNNING.set((*_RUNNING.get(), self))
        try:
            work()
        except RewriteError:
            raise
        except Exception as error:
            at = f" at {describe(self.only)}" if self.only is not None else ""
            raise RewriteError(f"the pass {self.owner.name} fails{at}: {told(error)}") from error
        finally:
            _RUNNING.reset(token)

    def replace(self, old: Op, new: Op) -> None:
        if not isinstance(old, Op) or not isinstance(new, Op):
            raise self.error(f"cannot replace {old!r} by {new!r}", "give two terms")
        if old not in self.bank or old in self.forward:
            what = "was replaced already" if old in self.forward else "is not a term of this graph"
            raise self.error(f"cannot replace {describe(old)}: it {what}", "replace each term that `run` sees once")
        if self.only is not None and old is not self.only:
            what = f"cannot replace {describe(old)} while it visits {describe(self.only)}"
            raise self.error(what, "write a GraphPass to replace any term")
        if _has_identity(old) and old.definition.name != "core.placeholder":
            raise self.error(f"cannot replace {describe(old)}: it has a place of its own", "replace what reads it")
        if new.type != old.type:
            raise self.error(f"replaces {old.type!r} by {new.type!r}", f"give {describe(new)} the type of the other")
        found = self.adopted(new)
        if found is not old:
            self.forward[old] = Forward(found, Replaced(self.owner.name, user_line()))

    def adopted(self, new: Op) -> Op:
        """The bank's copy of a term; only what is new to the bank is looked at."""
        own: dict[Op, Op] = {}
        stack = [new]
        while stack:
            term = stack[-1]
            missing = [] if term in self.bank or term in own else [a for a in term.args if a not in own]
            stack.extend(missing)
            if not missing:
                own[term] = term if term in self.bank else own.get(term) or self.copied(term, own)
                stack.pop()
        return own[new]

    def copied(self, term: Op, own: Mapping[Op, Op]) -> Op:
        before = len(self.bank)
        copy = self.bank.adopt(term, tuple([own[a] for a in term.args]))
        if len(self.bank) > before and _has_identity(term):  # a computation knows those of the graph it was given
            raise self.error(f"brings in {describe(term)}", "build from terms of the graph and constants")
        return copy

    def error(self, what: str, do: str) -> RewriteError:
        return RewriteError(f"the pass {self.owner.name} {what}", where=user_line(), do=do)


def _has_identity(term: Op) -> bool:
    return "effect" in term.definition.traits or "uid" in term.definition.attributes


_RUNNING: ContextVar[tuple[_Run, ...]] = ContextVar("running", default=())


def _current(owner: GraphPass) -> _Run:
    for run in reversed(_RUNNING.get()):
        if run.owner is owner:
            return run
    raise RewriteError(f"the pass {owner.name} is not running", where=user_line(), do="call replace_op from its method")


class _Peephole(Mapping[OpDef, Any]):
    """A peephole pass as the driver asks for it: steps by op, and their reasons."""

    def __init__(self, owner: PeepholePass, bank: TermBank, visits: Iterable[OpDef] | None) -> None:
        self.owner, self.bank = owner, bank
        self.visits = None if visits is None else frozenset(visits)
        self.reasons: list[Replaced] = []

    @property
    def steps(self) -> Mapping[OpDef, Any]:
        return self

    def __getitem__(self, definition: OpDef) -> Any:
        if self.visits is not None and definition not in self.visits:
            raise KeyError(definition)
        return self.step

    def __iter__(self) -> Any:
        return iter(self.visits or ())

    def __len__(self) -> int:
        return len(self.visits or ())

    def step(self, term: Op, make: Any, target: Any) -> tuple[int, Op] | None:
        """What the pass replaces a term by."""
        run = _Run(self.owner, self.bank, term)
        run.during(lambda: self.owner.visit(term))
        for new, why in run.forward.values():
            assert isinstance(why, Replaced)
            self.reasons.append(why)
            return len(self.reasons) - 1, new
        return None
