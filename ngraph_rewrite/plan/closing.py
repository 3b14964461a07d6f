# SPDX-License-Identifier: Apache-2.0
"""Scans become loops: the body of each is a graph of its own, and what it needs from outside an argument.

In a body states are storage, written at the end of a step, and slices and what is captured are inputs: the
planner sees a computation like any other. What does not depend on a step stays outside and is captured where it
is in memory; views of it are taken inside, as a kernel may be able to read through them. What nobody needs
(an output that is not read, a state that nothing read depends on) is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import attrgetter
from typing import Any

from ngraph_rewrite.plan.changed import made_like
from ngraph_rewrite.plan.loop_body import LOOP_OP, LoopBody
from ngraph_rewrite.plan.needs import LOOPS, Needs, Scan
from ngraph_rewrite.plan.shapes import known
from ngraph_rewrite.plan.views import Layout, is_view, row_major, view
from ngraph_rewrite.terms.binders import body_terms, is_parameter
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Info, Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.tensor import TensorType
from ngraph_rewrite.waiting import Waiting, finished

# Of so many steps a matrix that lies across is copied, for more than one row: a product packs it each time.
_STEPS = 4
# What is taken for the number of steps where nobody knows it.
_UNKNOWN = 100
# Ops whose kernels read operands at any strides.
_STRIDED = frozenset("semi.concat semi.pad semi.update cuda.gemm".split())


@dataclass
class Closed:
    """A graph without scans, arguments first in `order`; `origins` says which term before each new one stands for."""

    results: list[Op]
    writes: list[Op]
    order: list[Op]
    origins: dict[Op, Op] = field(default_factory=dict)


def close(results: Sequence[Op], writes: Sequence[Op], given: Sequence[Op] | None = None) -> Closed:
    """The graph with a loop in place of each scan; the same terms where there is none.

    Args:
        given: All terms in topological order, for those who have it.
    """
    order = topological([*results, *writes]) if given is None else list(given)
    if all(definition.name not in LOOPS for definition in set(map(attrgetter("definition"), order))):
        return Closed(list(results), list(writes), order)
    roots = [*results, *writes]
    needs = Needs(order, roots)
    level = _Level(needs, None, frozenset(), {})
    finished(level.convert(t for t in order if t not in needs.free))
    made = [level.made[root] for root in roots]
    return Closed(made[: len(results)], made[len(results) :], topological(made), level.origins)


class _Level:
    """The terms of one body (or of the whole graph), as they are converted."""

    def __init__(
        self, needs: Needs, parent: _Level | None, bound: frozenset[Uid], origins: dict[Op, Op], steps: int = 0
    ) -> None:
        self.needs, self.parent, self.bound, self.origins, self.steps = needs, parent, bound, origins, steps
        self.made: dict[Op, Op] = {}
        self.turned: dict[Op, Op] = {}  # matrices by what they are the transposes of
        self.captured: dict[Op, tuple[Op, Op]] = {}  # by the term: what it is outside, and the input inside

    def convert(self, terms: Iterable[Op]) -> Waiting[None]:
        """Convert terms whose arguments are converted, or come from outside."""
        for term in terms:
            if term in self.needs.live and term not in self.made:
                is_loop = term.definition.name in LOOPS
                self._note(term, (yield self._loop(Scan(term))) if is_loop else self._plain(term))

    def _note(self, term: Op, made: Op) -> None:
        self.made[term] = made
        self.origins[made] = term

    def _plain(self, term: Op) -> Op:
        if term.definition.name == "cpu.gemm" and self.steps >= _STEPS and known(term)[0] > 1:
            return self._product(term)
        readable = _readable(term)
        args = tuple([self.argument(a, readable) for a in term.args])
        return term if args == term.args else Op(term.definition, args, term.attrs, term.type, term.info)

    def _product(self, term: Op) -> Op:
        """A product of a step: what is multiplied with in each of them is brought into rows once, outside."""
        (x, y), (ta, tb) = term.args, term.attrs
        across = self._across(y) if tb and y not in self.made else None
        if across is not None:
            y, tb = across, False
        args = self.argument(x, _matrix), self.argument(y, _matrix if tb else _by_rows)
        return Op(term.definition, args, (ta, tb), term.type, term.info)

    def _across(self, term: Op) -> Op | None:
        """The transpose of a matrix from outside, made there."""
        level = next((level for level in self._outward() if term in level.made), None)
        if level is None:
            return None
        found = level.turned.get(term)
        if found is None:
            found = level.turned[term] = made_like(lookup("semi.transpose"), (term,), ((1, 0),), term)
            level._note(found, Op(found.definition, (level.made[term],), found.attrs, found.type, found.info))
        return found

    def _outward(self) -> Iterator[_Level]:
        """This level, and those around it."""
        level: _Level | None = self
        while level is not None:
            yield level
            level = level.parent

    def argument(self, term: Op, readable: Callable[[Layout], bool]) -> Op:
        """A converted term; one from outside as a view of what is captured, if its reader can read that."""
        if term in self.made:
            return self.made[term]
        base, path = _seen(term)
        layout, plain = row_major(known(base)), 0
        for i, step in enumerate(path):
            layout = view(step, layout)  # type: ignore[assignment]  # views that are none were sorted out
            if layout == row_major(known(step)):
                base, plain = step, i + 1  # the same memory, in the axes that readers see
        path = path[plain:]
        if path and not readable(layout):
            base, path = term, []
        inside = base if _is_everywhere(base) else self._capture(base)
        for step in path:
            inside = Op(step.definition, (inside,), step.attrs, step.type, step.info)
        return inside

    def _capture(self, term: Op) -> Op:
        if term not in self.captured:
            assert self.parent is not None, term
            knowing = takewhile(lambda level: term not in level.made and term not in level.captured, self._outward())
            for level in [*knowing][:0:-1]:  # what is far outside comes to here from level to level
                level.argument(term, _contiguous)
            own = _leaf("core.placeholder", term.type, term.info)
            self.captured[term] = self.parent.argument(term, _contiguous), own
        return self.captured[term][1]

    # -- a body -------------------------------------------------------------------------------------

    def _loop(self, scan: Scan) -> Waiting[Op]:
        states, outputs, sequences = self.needs.of(scan)
        steps = _UNKNOWN if scan.steps is None else scan.steps
        inner = _Level(self.needs, self, self.bound.union(scan.parameters), self.origins, steps)
        needed = inner.terms(scan, [scan.following[i] for i in states] + [scan.outputs[i] for i in outputs])
        storage = {i: _leaf("core.variable", scan.inits[i].type, Info(f"state{i}")) for i in states}
        slices = {i: self._slice(scan.sequences[i], i) for i in sequences} if scan.is_scan else {}
        inner.bind(scan, needed, storage, slices)
        yield inner.convert(needed)
        results = inner.results(scan, outputs, storage)
        limit = steps if scan.is_branch or (not results and self._ends_early(scan, states)) else None
        walked = [i for i in slices if slices[i].definition.name == "core.placeholder"]
        body = LoopBody(
            scan.term.type,  # type: ignore[arg-type]
            steps if limit is None else min(limit, _UNKNOWN),
            scan.is_scan and scan.term.attribute("reverse"),
            tuple([(i - scan.hidden, leaf) for i, leaf in storage.items()]),
            tuple(slices[i] for i in walked),
            (),
            tuple(inner.writes(storage, scan)),
            tuple(results),
            storage[0] if scan.hidden or limit is not None else None,
            limit,
        )
        return self._closed(scan, body, walked, inner)

    def bind(self, scan: Scan, needed: Iterable[Op], storage: Mapping[int, Op], slices: Mapping[int, Op]) -> None:
        """Let the storage of states and inputs stand for the parameters of a body, and for others what is passed."""
        n = len(scan.inits)
        leaves = {**storage, **{n + i: leaf for i, leaf in slices.items()}}
        own = {p.attribute("uid"): p for p in needed if is_parameter(p)}
        for i, parameter in enumerate(scan.parameters):
            if parameter in own and i in leaves:
                self._note(own[parameter], leaves[i])
            elif parameter in own:
                self.made[own[parameter]] = self.argument(scan.sequences[i - n], _contiguous)

    def results(self, scan: Scan, outputs: Sequence[int], storage: Mapping[int, Op]) -> list[tuple[int, Op]]:
        """What each step gives, outputs and the states before it, with the number of what that is stacked to."""
        found = [(len(scan.inits) + i, self.argument(scan.outputs[i], _anyhow)) for i in outputs]
        before = len(scan.inits) + len(scan.outputs)
        parts = self.needs.parts.get(scan.term, ())
        return found + [(before + i, leaf) for i, leaf in storage.items() if before + i in parts]

    def _ends_early(self, scan: Scan, states: Sequence[int]) -> bool:
        """Whether the first state of a scan says that no step changes anything any more, and nobody reads it later."""
        return 0 in states and 0 not in self.needs.parts.get(scan.term, ()) and scan.goes_on_by(states)

    def _closed(self, scan: Scan, body: LoopBody, walked: Sequence[int], inner: _Level) -> Op:
        """The loop, once it is known what its body captures."""
        body = LoopBody(**{**vars(body), "captured": tuple(own for _, own in inner.captured.values())})
        args = [self.argument(scan.inits[i + scan.hidden], _anyhow) for i, _ in body.states]
        args += [self.argument(scan.sequences[i], _contiguous) for i in walked]
        args += [outside for outside, _ in inner.captured.values()]
        return Op(LOOP_OP, tuple(args), (body,), scan.term.type, scan.term.info)

    def terms(self, scan: Scan, roots: Iterable[Op]) -> list[Op]:
        """The terms to convert here: those with a parameter of the scan, but not those of a scan inside it."""
        free = self.needs.free
        return [t for t in body_terms(roots, scan.parameters, free) if free[t] <= self.bound]

    def writes(self, storage: dict[int, Op], scan: Scan) -> Iterable[Op]:
        """The assignments of the next states to their storage."""
        for i, variable in storage.items():
            value = self.argument(scan.following[i], _anyhow)
            if value is not variable:
                yield Op(lookup("core.assign"), (variable, value), (Uid(),), variable.type, scan.term.info)

    def _slice(self, sequence: Op, number: int) -> Op:
        """What stands for a slice: an input, or of a constant the number it is filled with."""
        part = TensorType(sequence.dtype, sequence.axes[1:])
        if sequence.definition.name == "core.constant" and sequence.attrs[0].scalar is not None:
            return Op(sequence.definition, (), (sequence.attrs[0], part.axes), part, sequence.info)
        return _leaf("core.placeholder", part, Info(f"slice{number}"))


def _leaf(name: str, type_: TensorType, info: Info) -> Op:
    definition = lookup(name)
    given: dict[str, Any] = {"uid": Uid(), "axes": type_.axes, "dtype": type_.dtype}
    return Op(definition, (), tuple(given.get(a, False) for a in definition.attributes), type_, info)


def _seen(term: Op) -> tuple[Op, list[Op]]:
    """What a chain of views looks at, as far as strides can say it, and the views, innermost first."""
    path: list[Op] = []
    while is_view(term):
        path.append(term)
        term = term.args[0]
    base, after, layout = term, list[Op](), row_major(known(term))
    for step in reversed(path):
        seen = view(step, layout)
        if seen is None:
            base, after, seen = step, [], row_major(known(step))
        else:
            after.append(step)
        layout = seen
    return base, after


def _is_everywhere(term: Op) -> bool:
    """Whether a source can stand in a body as it is: constants, and what counts."""
    definition = term.definition
    changing = definition.traits & {"draw", "storage", "parameter"} or definition.name == "core.placeholder"
    return "source" in definition.traits and not changing


# -- what a reader can read -------------------------------------------------------------------------


def _readable(term: Op) -> Callable[[Layout], bool]:
    """Which layouts of an operand the kernel of a term reads without a copy."""
    definition = term.definition
    if definition.traits & {"elementwise", "reduction", "view"} or definition.name in _STRIDED:
        return _anyhow
    return _matrix if definition.name in ("cpu.gemm", "cpu.batch_gemm", "semi.dot") else _contiguous


def _anyhow(layout: Layout) -> bool:
    return True


def _contiguous(layout: Layout) -> bool:
    return layout.is_contiguous


def _by_rows(layout: Layout) -> bool:
    """Whether rows have unit stride."""
    return _matrix(layout) and layout.strides[-1] == 1


def _matrix(layout: Layout) -> bool:
    """Whether rows or columns have unit stride, and do not overlap."""
    (rows, columns), (down, along) = layout.shape[-2:], layout.strides[-2:]
    return (along == 1 and down >= columns) or (down == 1 and along >= rows)
