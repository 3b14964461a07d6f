# SPDX-License-Identifier: Apache-2.0
"""A counterexample is a program: it builds both sides of a rule, and fails where its class does not let them differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.errors import ArgumentError
from ngraph_rewrite.rewriting.asked_target import Target
from ngraph_rewrite.rewriting.matcher import Matcher
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import load_rules
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.compare import Difference, difference, same_bits
from ngraph_rewrite.testing.draws import other_draw
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values, evaluate
from ngraph_rewrite.testing.given import check_class, check_shape, check_terms
from ngraph_rewrite.testing.printing import program
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tuples import TupleType

_SHOWN = 9


@dataclass(frozen=True)
class Counterexample:
    """A term on which a rule is wrong.

    Attributes:
        rule: The rule.
        left: A term that its left side matches.
        right: What the rule makes of it; None if it fails to.
        values: The leaves and draws with their arrays; none if it is wrong for all.
        what: What is wrong, in a line.
        target: The target that the rule was asked for.
        difference: Both values and where they differ, if it is the value that is wrong.
    """

    rule: Rule
    left: Op
    right: Op | None
    values: Values
    what: str
    target: Target
    difference: Difference | None = None

    @property
    def asserts(self) -> tuple[str, str]:
        """What fails, and its call."""
        return "assert_same", f'assert_same(left, right, values, "{self.rule.grade}")'

    @property
    def shown(self) -> str:
        """The counterexample as Python that fails when it is run."""
        heading = [f"# {self.rule.place}: rule {self.rule.name} {self.what}", *_comment(self.rule.text)]
        if self.right is None:
            failing = f"raise AssertionError({f'rule {self.rule.name} {self.what}'!r})"
            return "\n".join([*heading, *program({"left": self.left}, self.values or None), failing])
        sides = {"left": self.left, "right": self.right}
        used, failing = self.asserts
        lines = program(sides, self.values, [used])
        return "\n".join([*heading, *lines, *_comment("\n".join(self._seen())), *self._again(), failing])

    def _again(self) -> list[str]:
        """How to try the rule itself, once it is mended."""
        if not Path(self.rule.file).is_file():
            return []
        called = f'rewritten("{self.rule.file}", "{self.rule.name}", left)'
        return [f"# once the rule is mended, with rewritten of ngraph_rewrite.testing: right = {called}"]

    def _seen(self) -> Iterator[str]:
        """Both values, where they first differ, and the first step that shows it."""
        if self.difference is None:
            return
        yield f"left   {self.difference.left!r}"
        yield f"right  {self.difference.right!r}"
        place = self.difference.place
        if place is not None:
            one, other = (_number(v[place]) for v in (self.difference.left, self.difference.right))
            at = f"at {list(map(int, place))} " if place else ""
            yield f"{at}the left side is {one}, the right side {other}"
        assert self.right is not None
        step = first_step(self.left, self.right, self.values)
        if step is not None:
            yield f"the first step that differs: {step}"


def _comment(text: str) -> list[str]:
    return [f"#   {line}" for line in text.splitlines()]


def _number(value: np.generic) -> str:
    return str(value.item())


def rewritten(path: str | Path, name: str, term: Op, target: Target | None = None) -> Op:
    """What a rule of a file makes of a term; the term itself where the rule declines.

    Args:
        target: What the rule may ask of the target.

    Raises:
        RuleFileError: if the file is not right.
        ArgumentError: if there is no such rule in it.
    """
    check_terms("rewritten", [term])
    rule = load_rules(path).find(name)
    if rule is None:
        raise ArgumentError(f"{path} has no rule called {name}", do="a name begins with the file's")
    bank = TermBank()
    own: dict[Op, Op] = {}
    for t in topological([term]):
        own[t] = bank.adopt(t, tuple(own[a] for a in t.args)) if t.args else t  # leaves have their values
    step = Matcher(RuleSet([rule]), Cache()).step(own[term], bank.make, target or Target())
    return term if step is None else step[1]


def assert_same(left: Op, right: Op, values: Values, grade: str = "exact") -> None:
    """Demand that two terms have one type and the same draws, and for these leaves values as a class promises.

    Args:
        values: The array of each leaf; of a random draw by its ``uid``.
        grade: exact, real, refines or fast.

    Raises:
        AssertionError: with both values, and where they first differ.

    >>> import numpy as np
    >>> from ngraph_rewrite.testing import term
    >>> x = term("core.placeholder", axes=[2], dtype="float32").named("x")
    >>> twice = term("semi.negative", term("semi.negative", x))
    >>> assert_same(twice, x, {x: np.array([1, 2], "float32")})
    >>> assert_same(term("semi.negative", x), x, {x: np.array([1, 2], "float32")}, "real")
    Traceback (most recent call last):
        ...
    AssertionError: not @real: semi.negative(x) is not x, at [0] -1.0 is not 1.0
    ...
    """
    check_terms("assert_same", [left, right])
    check_class(grade)
    for leaf, value in values.items():
        if isinstance(leaf, Op):
            check_shape("assert_same", leaf, value)
    if left.type != right.type:
        raise AssertionError(f"{describe(left)} is {left.type!r}, {describe(right)} is {right.type!r}")
    drawn = other_draw(left, right)
    if drawn is not None:
        raise AssertionError(f"{describe(right)}: {drawn}, {describe(left)}")
    found = difference(left, right, values, grade)
    if found is None:
        return
    place = found.place
    at = "" if place is None else f", at {list(map(int, place))} {_number(found.left[place])} is not "
    at += "" if place is None else _number(found.right[place])
    said = f"not @{grade}: {describe(left, _SHOWN)} is not {describe(right, _SHOWN)}{at}"
    raise AssertionError(f"{said}\n  left   {found.left!r}\n  right  {found.right!r}")


def first_step(left: Op, right: Op, values: Values) -> str | None:
    """The first step of either side after which they have parted, with its value.

    If one side alone is not finite in the end, that is where it first is not finite; else it is the first term
    of the right side whose value no term of the left side has.
    """
    try:
        both = [_steps(side, values) for side in (left, right)]
    except Undefined:
        return None
    finite = [bool(np.isfinite(steps[-1][1]).all()) if _is_float(steps[-1][1]) else True for steps in both]
    if finite[0] != finite[1]:
        at = finite.index(False)
        return _said(("left", "right")[at], _not_finite(both[at]))
    known = [v for _, v in both[0]]
    parted = (s for s in both[1] if s[0].args and not any(_same(s[1], v) for v in known))
    return _said("right", next(parted, both[1][-1]))


def _steps(side: Op, values: Values) -> list[tuple[Op, Array]]:
    found = evaluate(side, values, strict=False)
    return [(t, found[t]) for t in topological([side]) if t in found and not isinstance(t.type, TupleType)]


def _not_finite(steps: Sequence[tuple[Op, Array]]) -> tuple[Op, Array]:
    """The first computed value that is not finite although all that it is computed from is; or the first at all."""
    bad = {t for t, v in steps if _is_float(v) and not np.isfinite(v).all()}
    fresh = [s for s in steps if s[0] in bad and s[0].args and not any(a in bad for a in s[0].args)]
    return (fresh or [s for s in steps if s[0] in bad])[0]


def _is_float(value: Array) -> bool:
    return is_float(value.dtype)


def _same(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and bool(same_bits(a, b).all())


def _said(side: str, step: tuple[Op, Array]) -> str:
    value = " ".join(repr(step[1]).split())
    return f"{describe(step[0], _SHOWN)} of the {side} side is {value}"
