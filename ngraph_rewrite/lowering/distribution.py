# SPDX-License-Identifier: Apache-2.0
"""The pass that takes out of a scan what no step has to wait for, and computes it for all steps at once.

What a step computes of its slices alone can be computed before the loop, what it makes of states for outputs alone
after it, and a sum over all steps is no state. Of a scan without states nothing is left: that is what maps a function
over an axis (``ng.vmap``). Of another one products leave the loop, as one product of many rows is faster than many of
few; what is only elementwise stays, where it costs no memory. (Loop distribution: Kennedy and Allen, *Optimizing
Compilers for Modern Architectures*, 2001.)

What is taken out is batched: `batched_forms` says how, op by op. An op without such a form stays in the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ngraph_rewrite.lowering.batch import Batch
from ngraph_rewrite.lowering.batched_forms import total_of_products
from ngraph_rewrite.lowering.batched_steps import Batched
from ngraph_rewrite.lowering.driver import replace_in_order
from ngraph_rewrite.lowering.graph_passes import GraphPass
from ngraph_rewrite.lowering.keeping import Keeping
from ngraph_rewrite.lowering.settling import settled
from ngraph_rewrite.lowering.stage import Forward, Replaced
from ngraph_rewrite.lowering.step_body import ITEM, SCAN
from ngraph_rewrite.lowering.step_division import Division, is_small
from ngraph_rewrite.lowering.table import ReplacementTable
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.binders import NONE, free_parameters, is_binder, is_parameter
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.terms.walking import topological


class Distribution(GraphPass):
    """Computes for all steps of a scan at once what need not be done step by step, before `select` looks at it."""

    name = "distribute"

    def __init__(self) -> None:
        super().__init__(before="select")

    def applied(self, roots: Sequence[Op], table: ReplacementTable, bank: TermBank, target: Any) -> list[Op]:
        """As `GraphPass.applied`; there is no stage if nothing is taken out."""
        if not bank.tables.get(lookup(SCAN)):
            return list(roots)
        order = topological(roots)
        keeping = Keeping(order, free_parameters(order), bank)
        if keeping.kept:
            roots = replace_in_order(order, roots, keeping, table, bank, "keep")
            order = topological(roots)
        return replace_in_order(order, roots, _Scans(order, roots, bank), table, bank, self.name)


class _Scans:
    """Where the parts of scans go, arguments first."""

    def __init__(self, order: Sequence[Op], roots: Iterable[Op], bank: TermBank) -> None:
        self._bank, self._slices, self._moved = bank, dict[Op, Op](), dict[Any, Uid]()
        self._free: dict[Op, frozenset[Uid]] = {**dict.fromkeys(order, NONE), **free_parameters(order)}
        self._used: dict[Op, set[int]] = {}
        self._found: dict[Op, Mapping[int, Op]] = {}
        for term in order:
            for scan in term.args:
                if scan.definition.name == SCAN and term.definition.name == ITEM:
                    self._used.setdefault(scan, set()).add(term.attribute("index"))
                elif scan.definition.name == SCAN:
                    self._found[scan] = {}  # it is used as a whole
        self._found.update((root, {}) for root in roots)

    def __call__(self, term: Op, forms: Mapping[Op, Op]) -> Forward | None:
        """Where a term goes, given where its arguments went."""
        scan = term.args[0] if term.definition.name == ITEM else term
        if scan is term or scan.definition.name != SCAN:
            return None
        if scan not in self._found:
            self._found[scan] = self._parts(forms[scan], self._used[scan])
        to = self._found[scan].get(term.attribute("index"))
        why = Replaced("computed for all steps at once", f"{scan.attribute('length')!r} of them")
        return None if to is None else Forward(to, why)

    def _parts(self, scan: Op, used: set[int]) -> Mapping[int, Op]:
        scan = settled(scan, self._bank)
        for arg in scan.args:
            self._note(arg)
        division = Division(scan, used, self._free)
        if division.alone and not is_small(division):
            return {}
        loop = _Loop(division, self._bank, self._slices, self._moved)
        return loop.parts() if loop.changes else {}

    def _note(self, term: Op) -> None:
        """Note the parameters of new terms, arguments first."""
        free, stack = self._free, [term]
        while stack:
            missing = [a for a in stack[-1].args if a not in free]
            if missing or stack[-1] in free:
                stack.pop() if stack[-1] in free else stack.extend(missing)
                continue
            new = stack.pop()
            own = frozenset((new.attribute("uid"),)) if is_parameter(new) else NONE
            found = own.union(*(free[a] for a in new.args))
            free[new] = found.difference(new.attribute("parameters")) if is_binder(new) else found


class _Loop:
    """A scan of which some is computed before the loop and some after it.

    Args:
        division: What is computed where.
        slices: What stands in steps for slices of what is computed before loops, by that; the same for all loops, so
            that what two of them compute is one term.
        moved: The parameters of batched scans, by what they were.
    """

    def __init__(self, division: Division, bank: TermBank, slices: dict[Op, Op], moved: dict[Any, Uid]) -> None:
        self._division, self._bank, self._slices = division, bank, slices
        self._batch = Batch(division.scan.attribute("length"), bank)
        self._batched = Batched(division.step, self._batch, moved)
        self._states = [i for i in division.states if i not in division.sums]
        self._outputs = [division.given[i] for i in division.stay]
        added = [term for i in division.sums for term in division.added(i)]
        self._after = [division.given[i] for i in division.outputs] + added
        self._read = self._read_after()
        looped = [*(division.following[i] for i in self._states), *self._outputs, *self._read]
        self._before = [] if division.alone else division.before(looped)
        self.changes = bool(self._before or division.outputs or division.sums)

    def _read_after(self) -> list[Op]:
        """What is read of the loop after it, and is no state before a step nor an output."""
        found, seen, stack = dict[Op, None](), set[Op](), list(self._after)
        while stack:
            term = stack.pop()
            if self._division.stacks(term):
                found[term] = None
            elif term not in seen and self._division.step.varies(term):
                seen.add(term)
                stack.extend(term.args)
        return [t for t in found if t not in self._outputs]

    def parts(self) -> dict[int, Op]:
        """What the parts of the scan are now."""
        division, n = self._division, len(self._division.inits)
        slices = self._sliced()
        self._loop = None if division.alone else self._made(slices)
        found = {n + i: self._stacked(division.given[i]) for i in division.outputs}
        found |= {i: self._sum(i) for i in division.sums}
        found |= {n + len(division.given) + i: self._batch.spread(division.inits[i]) for i in division.sums}
        if self._loop is not None:
            behind = len(self._states) + len(self._outputs) + len(self._read)
            for at, i in enumerate(self._states):
                found[i] = self._item(at)
                found[n + len(division.given) + i] = self._item(behind + at)
            found |= {n + i: self._item(len(self._states) + at) for at, i in enumerate(division.stay)}
        return {i: term for i, term in found.items() if i in division.used}

    def _sliced(self) -> dict[Op, Op]:
        """What is computed before the loop, and what stands for its slices in a step."""
        found = {}
        for term in self._before:
            whole = self._stacked(term)
            if whole not in self._slices:
                leaf = lookup("core.parameter")
                attributes = {"uid": Uid(), "axes": term.axes, "dtype": term.dtype}
                attrs = tuple([attributes[name] for name in leaf.attributes])
                self._slices[whole] = self._bank.make(leaf, (), attrs)
            found[term] = self._slices[whole]
        return found

    def _made(self, slices: Mapping[Op, Op]) -> Op:
        """The scan that is left."""
        division = self._division
        after = [division.following[i] for i in self._states]
        steps = substituted([*after, *self._outputs, *self._read], slices, self._bank.renewed, division.body)
        uids = division.scan.attribute("parameters")
        states, own = [uids[i] for i in self._states], uids[len(division.inits) :]
        new = list(dict.fromkeys((whole.attribute("uid"), self._stacked(term)) for term, whole in slices.items()))
        attributes = {
            **division.scan.attributes,
            "states": len(states),
            "sequences": len(own) + len(new),
            "parameters": (*states, *own, *(uid for uid, _ in new)),
        }
        args = (*(division.inits[i] for i in self._states), *division.sequences, *(whole for _, whole in new), *steps)
        attrs = tuple([attributes[name] for name in division.scan.definition.attributes])
        return self._bank.make(division.scan.definition, args, attrs, division.scan.info)

    def _item(self, number: int) -> Op:
        assert self._loop is not None
        return self._bank.make(lookup(ITEM), (self._loop,), (number,))

    def _stacked(self, term: Op) -> Op:
        """What holds a term of the step at all steps."""
        varies, found, stack = self._division.step.varies, self._batched.terms, [term]
        while varies(term) and stack:
            top = stack[-1]
            missing = [a for a in self._below(top) if varies(a) and a not in found]
            if missing and top not in found:
                stack.extend(missing)
                continue
            if top not in found:
                given = self._given(top)
                found[top] = self._batched.form(top) if given is None else given
            stack.pop()
        return self._batched.whole(term)

    def _below(self, term: Op) -> tuple[Op, ...]:
        """What has to be batched before a term is."""
        given = self._division.stacks(term) or self._division.place(term) is not None
        return () if given else term.args

    def _given(self, term: Op) -> Op | None:
        """What the loop has stacked, or has walked through."""
        place, n = self._division.place(term), len(self._division.inits)
        outputs = [*self._outputs, *self._read]
        if place is not None and place >= n:
            sequence: Op = self._division.sequences[place - n]
            return sequence
        if place is not None:
            return self._item(len(self._states) + len(outputs) + self._states.index(place))
        return self._item(len(self._states) + outputs.index(term)) if self._division.stacks(term) else None

    def _sum(self, number: int) -> Op:
        """What a state is at last: what it was, and the sum of what all steps added."""
        found: Op = self._division.inits[number]
        for added in self._division.added(number):
            is_zero = found.definition.name == "core.constant" and found.attribute("value").is_number(0)
            total = self._total(added)
            found = total if is_zero else self._batch.made("semi.add", found, total)
        return found

    def _total(self, term: Op) -> Op:
        """The sum of a term over all steps; that of products is one product, whatever order its elements are in."""
        if self._below(term):
            if term.definition.name in ("semi.reshape", "semi.transpose"):
                return self._batch.again(term, self._total(term.args[0]))
            if term.definition.name == "semi.dot" and all(map(self._division.step.varies, term.args)):
                x, y = map(self._stacked, term.args)
                return total_of_products(x, y, self._batch)
        return self._batch.total(self._stacked(term))
