# SPDX-License-Identifier: Apache-2.0
"""A graph rebuilt, whose scans have more outputs and sequences, and sums over all steps in place of states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ngraph_rewrite.plan.needs import SCAN, Scan
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.terms.walking import topological

# What makes a term of stacked outputs: it is given the new scan, and a way to make terms.
Make = Callable[[str, tuple[Op, ...], tuple[Any, ...]], Op]
Final = Callable[[Callable[[Op], Op], Make], Op]


class Changed(NamedTuple):
    """A graph, and the terms of the graph before that new ones stand for."""

    roots: list[Op]
    order: list[Op]
    origins: dict[Op, Op]


class ScanChanges:
    """The outputs and the sequences that scans get, and what stands for their final states.

    Args:
        order: The terms of a graph, arguments first.
    """

    def __init__(self, order: Sequence[Op]) -> None:
        self.order = order
        self.outputs: dict[Op, list[Op]] = {}  # by scan
        self.sequences: dict[Op, list[tuple[Op, Op]]] = {}  # by scan: the earlier scan, and a term of both
        self.finals: dict[tuple[Op, int], Final] = {}  # by scan and state

    @property
    def any(self) -> bool:
        """Whether there is a change."""
        return bool(self.outputs or self.finals)

    def stack(self, scan: Op, term: Op) -> None:
        """Let a scan stack a term of its body, if nothing else is that."""
        if self._number(scan, term) is None:
            self.outputs.setdefault(scan, []).append(term)

    def keep(self, earlier: Op, scan: Op, term: Op) -> None:
        """Let a scan get a term from an earlier one."""
        if not any(term is other for _, other in self.sequences.get(scan, ())):
            self.stack(earlier, term)
            self.sequences.setdefault(scan, []).append((earlier, term))

    def _number(self, scan: Op, term: Op) -> int | None:
        """The number of the part that is a term of the body, stacked; not of states and slices."""
        given = Scan(scan)
        for place, output in enumerate((*given.outputs, *self.outputs.get(scan, ())), len(given.inits)):
            if output is term:
                return place
        return None

    def made(self, roots: Iterable[Op]) -> Changed:
        """The graph with all of it."""
        new: dict[Op, Op] = {}
        same = {(t.definition, t.args, t.attrs): t for t in self.order}
        for term in self.order:
            args = tuple([new.get(a, a) for a in term.args])
            if term.definition.name == SCAN:
                made = self._scan(term, args, new, same)
            elif term.definition.name == "core.item" and term.args[0].definition.name == SCAN:
                made = self._item(term, args[0], new, same)
            else:
                made = term if args == term.args else Op(term.definition, args, term.attrs, term.type, term.info)
            made = _one(made, same)
            if made is not term:
                new[term] = made
        found = [new.get(root, root) for root in roots]
        return Changed(found, topological(found), {made: term for term, made in new.items()})

    def _item(self, item: Op, scan: Op, new: Mapping[Op, Op], same: dict[Any, Op]) -> Op:
        """A part of a scan: a sum over its steps, or the part with its new number."""
        term, number = item.args[0], int(item.attrs[0])
        final = self.finals.get((term, number))
        if final is None:
            return (
                item
                if scan is term
                else Op(item.definition, (scan,), (self._moved(term, number),), item.type, item.info)
            )

        def make(name: str, args: tuple[Op, ...], attrs: tuple[Any, ...]) -> Op:
            return _one(made_like(lookup(name), args, attrs, item), same)

        return final(lambda inner: self._stacked(term, scan, inner, new, make), make)

    def _moved(self, scan: Op, number: int) -> int:
        """The number that a part has: stacked states stand behind outputs."""
        given = Scan(scan)
        behind = number >= len(given.inits) + len(given.outputs)
        return number + (len(self.outputs.get(scan, ())) if behind else 0)

    def _stacked(self, term: Op, scan: Op, inner: Op, new: Mapping[Op, Op], make: Make) -> Op:
        """What holds a term of a body at all steps."""
        given = Scan(term)
        if inner.definition.name == "core.parameter" and inner.attribute("uid") in given.parameters:
            place, n = given.parameters.index(inner.attribute("uid")), len(given.inits)
            if place >= n:
                return new.get(given.sequences[place - n], given.sequences[place - n])
            return make("core.item", (scan,), (self._moved(term, n + len(given.outputs) + place),))
        number = self._number(term, inner)
        assert number is not None
        return make("core.item", (scan,), (number,))

    def _scan(self, term: Op, args: tuple[Op, ...], new: Mapping[Op, Op], same: dict[Any, Op]) -> Op:
        """A scan with its new arguments, outputs and sequences."""
        n, m = term.attribute("states"), term.attribute("sequences")
        outputs = [new.get(t, t) for t in self.outputs.get(term, ())]
        given = self.sequences.get(term, ())
        if not outputs and not given and args == term.args:
            return term
        attributes, results = dict(term.attributes), [*args[n + m :], *outputs]
        stacks, slices = list[Op](), dict[Op, Op]()
        for earlier, kept in given:
            whole = new.get(earlier, earlier)  # the same, if what is kept was an output anyway
            part = made_like(lookup("core.item"), (whole,), (self._number(earlier, kept),), term)
            stacks.append(_one(part, same))  # another scan may have got it too
            leaf, own = lookup("core.parameter"), {"uid": Uid(), "axes": kept.type.axes, "dtype": kept.type.dtype}
            slices[new.get(kept, kept)] = made_like(leaf, (), tuple([own[a] for a in leaf.attributes]), kept)
        attributes["sequences"] = m + len(slices)
        attributes["parameters"] = (*attributes["parameters"], *(p.attribute("uid") for p in slices.values()))
        attrs = tuple([attributes[name] for name in term.definition.attributes])
        return made_like(term.definition, (*args[: n + m], *stacks, *substituted(results, slices)), attrs, term)


def _one(made: Op, same: dict[Any, Op]) -> Op:
    """The term that stands for all that are equal: what has memory is found by identity."""
    return same.setdefault((made.definition, made.args, made.attrs), made)


def made_like(definition: OpDef, args: tuple[Op, ...], attrs: tuple[Any, ...], like: Op) -> Op:
    """A term that stands where another one does."""
    attrs, type_ = definition.infer(tuple([a.type for a in args]), attrs)
    return Op(definition, args, attrs, type_, like.info)
