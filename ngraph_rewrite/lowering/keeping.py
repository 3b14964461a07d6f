# SPDX-License-Identifier: Apache-2.0
"""A scan that computes anew what another has computed in the same step gets it as one more sequence.

The adjoint of a scan binds the parameters of the scan, whose values it computes anew: they are the same terms. Products
among them are kept by the scan, stacked as its outputs are: it takes less to write them down and to read them again.
What is elementwise above them, or above parts of them such as gates, is kept in their place if it is no more. What is
cheap is computed anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ngraph_rewrite.lowering.stage import Forward, Replaced
from ngraph_rewrite.lowering.step_body import ITEM, SCAN
from ngraph_rewrite.ops.scanning import parts
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.binders import Free, body_terms
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import substituted
from ngraph_rewrite.types.lengths import Extent

# What is worth keeping, if it sums so many products for a number.
_PRODUCTS = ("semi.dot", "semi.batch_dot")
_LEAST = 32


class Keeping:
    """Where the parts of scans go that keep something for later ones, or get it from earlier ones.

    Args:
        order: All terms, arguments first.
        free: The parameters that terms depend on.
        bank: Where terms are made.

    Attributes:
        kept: What scans keep for later ones.
    """

    def __init__(self, order: Sequence[Op], free: Free, bank: TermBank) -> None:
        self._free, self._bank = free, bank
        self._outputs: dict[Op, list[Op]] = {}  # by scan
        self._sequences: dict[Op, list[tuple[Op, Op]]] = {}  # by scan: the earlier scan, and a term of both
        self._slices: dict[Op, Op] = {}  # by what is kept, stacked
        self._made: dict[Op, Op] = {}
        scans = [_Scan(term) for term in order if term.definition.name == SCAN and not free.get(term)]
        for earlier, scan in _pairs(scans):
            for term in _same(earlier, scan, free):
                self._keep(earlier, scan, term)
        self.kept = list(dict.fromkeys(kept for given in self._sequences.values() for _, kept in given))

    def _keep(self, earlier: _Scan, scan: _Scan, term: Op) -> None:
        """Let a scan get a term from an earlier one."""
        given = self._sequences.setdefault(scan.term, [])
        if all(term is not other for _, other in given):
            given.append((earlier.term, term))
            outputs = self._outputs.setdefault(earlier.term, [])
            if all(term is not other for other in (*earlier.outputs, *outputs)):
                outputs.append(term)

    def __call__(self, term: Op, forms: Mapping[Op, Op]) -> Forward | None:
        """Where a part of a scan goes, given where the scan's arguments went."""
        scan = term.args[0] if term.definition.name == ITEM else term
        if scan is term or not (scan in self._outputs or scan in self._sequences):
            return None
        number, given = term.attribute("index"), _Scan(scan)
        if number >= len(given.inits) + len(given.outputs):
            number += len(self._outputs.get(scan, ()))  # stacked states stand behind outputs
        to = self._bank.make(term.definition, (self._scan(given, forms),), (number,))
        return Forward(to, Replaced("kept by a scan for another one", repr(to.type)))

    def _scan(self, scan: _Scan, forms: Mapping[Op, Op]) -> Op:
        """A scan with its new arguments, outputs and sequences."""
        term, bank = scan.term, self._bank
        if term not in self._made:
            results = [*scan.following, *scan.outputs, *self._outputs.get(term, ())]
            given = self._sequences.get(term, ())
            slices = {forms[kept]: self._slice(_Scan(earlier), kept, forms) for earlier, kept in given}
            wholes = {leaf: whole for whole, leaf in self._slices.items()}
            attributes = {
                **term.attributes,
                "sequences": len(scan.sequences) + len(slices),
                "parameters": (*scan.parameters, *(leaf.attribute("uid") for leaf in slices.values())),
            }
            steps = substituted([forms[x] for x in results], slices, bank.renewed)
            own = [forms[x] for x in (*scan.inits, *scan.sequences)]
            attrs = tuple([attributes[name] for name in term.definition.attributes])
            args = (*own, *(wholes[leaf] for leaf in slices.values()), *steps)
            self._made[term] = bank.make(term.definition, args, attrs, term.info)
        return self._made[term]

    def _slice(self, earlier: _Scan, kept: Op, forms: Mapping[Op, Op]) -> Op:
        """What stands for a slice of what an earlier scan has kept."""
        every = (*earlier.outputs, *self._outputs.get(earlier.term, ()))
        number = len(earlier.inits) + next(i for i, output in enumerate(every) if output is kept)
        whole = self._bank.make(lookup(ITEM), (self._scan(earlier, forms),), (number,))
        if whole not in self._slices:
            leaf, own = lookup("core.parameter"), {"uid": Uid(), "axes": kept.type.axes, "dtype": kept.type.dtype}
            self._slices[whole] = self._bank.make(leaf, (), tuple([own[name] for name in leaf.attributes]))
        return self._slices[whole]


class _Scan:
    """The arguments of a scan by kind."""

    def __init__(self, term: Op) -> None:
        self.term, self.parameters = term, term.attribute("parameters")
        n, m = term.attribute("states"), term.attribute("sequences")
        self.inits, self.sequences, self.following, self.outputs = parts(term.args, n, m)


def _pairs(scans: Sequence[_Scan]) -> Iterator[tuple[_Scan, _Scan]]:
    """Each scan with those before it that bind a parameter that it binds too: of many scans, few have one in common."""
    binding: dict[Uid, list[int]] = {}
    for later, scan in enumerate(scans):
        before = {number for uid in scan.parameters for number in binding.get(uid, ())}
        yield from ((scans[number], scan) for number in sorted(before))
        for uid in scan.parameters:
            binding.setdefault(uid, []).append(later)


def _same(earlier: _Scan, scan: _Scan, free: Free) -> list[Op]:
    """What is worth keeping of what both scans compute in the step of the same number."""
    common = _aligned(earlier, scan)
    if not common:
        return []
    before, body = _body(earlier, free), _body(scan, free)
    both = set(before).intersection(term for term in body if free[term] <= common)
    users: dict[Op, dict[Op, None]] = {}
    for term in (*before, *body):
        for arg in term.args:
            users.setdefault(arg, {})[term] = None
    found = [_upwards(term, users, both) for term in body if term in both and _is_dear(term)]
    return list(dict.fromkeys([one for some in found for one in some]))


def _body(scan: _Scan, free: Free) -> list[Op]:
    return body_terms((*scan.following, *scan.outputs), scan.parameters, free)


def _aligned(earlier: _Scan, scan: _Scan) -> set[Uid]:
    """The parameters that have the same value in both, in the step of the same number."""
    if earlier.term.attribute("length") != scan.term.attribute("length"):
        return set()
    n, stacked = len(earlier.inits), len(earlier.inits) + len(earlier.outputs)
    walked = dict(zip(scan.parameters[len(scan.inits) :], scan.sequences, strict=True))
    found = set()
    for number, uid in enumerate(earlier.parameters):
        given = walked.get(uid)
        if given is None:
            continue
        if number >= n:
            same = given is earlier.sequences[number - n]
        else:
            part = given.definition.name == "core.item" and given.args[0] is earlier.term
            same = part and given.attribute("index") == stacked + number
        if same:
            found.add(uid)
    return found


def _is_dear(term: Op) -> bool:
    """Whether it is a product that is worth keeping."""
    if term.definition.name not in _PRODUCTS:
        return False
    inner = term.args[0].shape[-1]
    return not isinstance(inner, int) or inner >= _LEAST


def _upwards(term: Op, users: Mapping[Op, Mapping[Op, None]], both: set[Op]) -> list[Op]:
    """A term, or what is made of it and of its parts element by element, if that is no more to keep."""
    above = users.get(term, {})
    simple = all(user in both and _is_simple(user) and user.dtype == term.dtype for user in above)
    if not above or not simple or not _is_no_more(sum(x.size for x in above), term.size):
        return [term]
    found = [one for user in above for one in _upwards(user, users, both)]
    return [term] if any(one.definition.name == "semi.slice" for one in found) else found


def _is_simple(term: Op) -> bool:
    return "elementwise" in term.definition.traits or term.definition.name in ("semi.reshape", "semi.slice")


def _is_no_more(size: Extent, of: Extent) -> bool:
    """Whether there are elements, and no more of them; of unknown numbers only what is equal is known to be."""
    return 0 < size <= of if isinstance(size, int) and isinstance(of, int) else size == of
