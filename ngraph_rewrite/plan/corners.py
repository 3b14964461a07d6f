# SPDX-License-Identifier: Apache-2.0
"""The corner of a ramp in the sign of its zeros: what is asked of the argument of a large one is read off its value.

The adjoint of ``maximum(z, 0)`` asks, long after, where z was zero, as the slope is a half there. The value does not
tell, which is zero below as well. Where nothing looks at the signs of its zeros they are -0.0 below and 0.0 in the
corner, and nothing else has to be kept: neither z nor the places where it was zero (which
`ngraph_rewrite.plan.narrowing` keeps otherwise, a byte for each number). Comparisons do not look at them, nor do
products and convolutions, whose kernels begin their sums with 0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ngraph_rewrite.plan.changed import Changed, made_like
from ngraph_rewrite.plan.convolution_operands import CONVOLUTIONS
from ngraph_rewrite.plan.fusion import is_scalar_constant
from ngraph_rewrite.plan.kinds import VIEW, kinds_of
from ngraph_rewrite.plan.narrowing import COMPARISONS, is_compared
from ngraph_rewrite.plan.products import PRODUCTS
from ngraph_rewrite.terms.catalogue import lookup
from ngraph_rewrite.terms.literal import Literal
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.substitution import rebuilt
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import is_float

_RAMP, _CORNER, _ABOVE = "semi.maximum", "semi.equal", "semi.greater"
_BLIND = COMPARISONS | {*PRODUCTS, *CONVOLUTIONS}


def with_corners(roots: Sequence[Op], order: Sequence[Op]) -> Changed:
    """The graph with the corners of large ramps in the signs of their zeros; the same where there is none.

    Args:
        order: All terms, arguments first.
    """
    ramps = _ramps(roots, order)
    if not ramps:
        return Changed([*roots], [*order], {})
    marks = _Marks(ramps)
    for term in order:
        marks.visit(term)
    found = [marks.new.get(root, root) for root in roots]
    return Changed(found, topological(found), marks.origins)


def _ramps(roots: Iterable[Op], order: Sequence[Op]) -> dict[Op, Op]:
    """By each term that gets another form the ramp it belongs to: ramps, and what is asked of their arguments."""
    corners = [term for term in order if term.definition.name == _CORNER and _with_zero(term) and is_compared(term)]
    if not corners:
        return {}
    kept, readers, kinds = {*roots}, dict[Op, list[Op]](), kinds_of(order)
    for term in order:
        for arg in term.args:
            readers.setdefault(arg, []).append(term)

    def is_blind(term: Op) -> bool:
        """Whether nothing that reads a term, or views of it, looks at the signs of its zeros."""
        seen = [term]
        for one in seen:
            if one in kept:
                return False
            for user in readers.get(one, ()):
                if kinds[user.definition] == VIEW:
                    seen.append(user)
                elif user.definition.name not in _BLIND:
                    return False
        return True

    found = dict[Op, Op]()
    for z in dict.fromkeys(corner.args[0] for corner in corners):
        users = readers[z]
        ramps = [user for user in users if user.definition.name == _RAMP]
        known = all(user.definition.name in (_RAMP, _CORNER, _ABOVE) and _with_zero(user) for user in users)
        if known and z not in kept and len(ramps) == 1 and is_float(z.dtype) and is_blind(ramps[0]):
            found |= dict.fromkeys(users, ramps[0])
    return found


def _with_zero(term: Op) -> bool:
    """Whether its second argument is zero."""
    return is_scalar_constant(term.args[1]) and term.args[1].attrs[0].scalar == 0


class _Marks:
    """A graph with other forms of ramps, and of what is asked of their arguments, term by term.

    Attributes:
        new: What stands for a term.
        origins: Which term a new one stands for; parts of it stand for none.
    """

    def __init__(self, ramps: Mapping[Op, Op]) -> None:
        self.new: dict[Op, Op] = {}
        self.origins: dict[Op, Op] = {}
        self._ramps = ramps
        self._marked: dict[Op, Op] = {}  # by ramp

    def visit(self, term: Op) -> None:
        """Make what stands for a term, whose arguments have been visited."""
        args = tuple([self.new.get(arg, arg) for arg in term.args])
        if term in self._ramps:
            self.new[term] = self._answer(term, self._mark(self._ramps[term]))
        elif args != term.args:
            self.new[term] = self._noted(rebuilt(term, args), term)

    def _answer(self, term: Op, marked: Op) -> Op:
        """What a term tells, read off the ramp."""
        if term.definition.name == _RAMP:
            return marked
        answer = _made(term.definition.name, (marked, term.args[1]), term)
        if term.definition.name == _CORNER:
            above = _made("semi.logical_not", (_made("semi.signbit", (marked,), term),), term)
            answer = _made("semi.logical_and", (answer, above), term)
        return self._noted(answer, term)

    def _mark(self, ramp: Op) -> Op:
        """The ramp with -0.0 below its corner, and 0.0 in it; NaN stays as it is."""
        if ramp not in self._marked:
            z, zero = (self.new.get(arg, arg) for arg in ramp.args)
            minus, plus = (_filled(zero, number) for number in (-0.0, 0.0))
            below = _made("semi.less", (z, zero), ramp)
            marked = _made("semi.select", (below, minus, _made("semi.add", (z, plus), ramp)), ramp)
            self._marked[ramp] = self._noted(marked, ramp)
        return self._marked[ramp]

    def _noted(self, made: Op, old: Op) -> Op:
        self.origins[made] = old
        return made


def _filled(constant: Op, number: float) -> Op:
    """A constant like another one, of another number."""
    given = dict(zip(constant.definition.attributes, constant.attrs, strict=True))
    attributes = given | {"value": Literal(number, constant.dtype)}
    return Op(constant.definition, (), tuple(attributes.values()), constant.type, constant.info)


def _made(name: str, args: tuple[Op, ...], like: Op) -> Op:
    return made_like(lookup(name), args, (), like)
