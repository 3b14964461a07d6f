# SPDX-License-Identifier: Apache-2.0
"""A wrong rule does not get in: each kind of unsound rewrite is refused, with a counterexample that shows why.

Graph compilers have shipped most of these. Each is written here as its author might have written it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.testing.adjoints import check_adjoint
from ngraph_rewrite.testing.evaluate import evaluate
from ngraph_rewrite.testing.findings import CHECKS, FAILED, Context, Effort, Finding, RuleCheck
from ngraph_rewrite.testing.guards import check_guard
from ngraph_rewrite.testing.proof.prove import check_proof
from ngraph_rewrite.testing.subsumption import check_subsumption
from ngraph_rewrite.testing.termination import check_termination
from ngraph_rewrite.testing.typed import check_types
from ngraph_rewrite.testing.values import check_values

# Those that look at one rule, in the order in which they are made.
OF_A_RULE: dict[str, RuleCheck] = {
    "types": check_types,
    "values": check_values,
    "adjoint": check_adjoint,
    "guard": check_guard,
    "proof": check_proof,
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    return Cache(tmp_path_factory.mktemp("rules"))


def rules_of(header: str, text: str) -> RuleSet:
    return parse_rules(f"{header}\n\n{text}\n", "my.rules", "my")


def refusal(rule: Rule, cache: Cache, checks: tuple[str, ...] = tuple(OF_A_RULE)) -> Finding:
    """The finding of the first check that refuses the rule; time enough, so that a busy machine finds it too."""
    context = Context(RuleSet([rule]), Effort(50, 60.0), cache)
    found = (OF_A_RULE[name](rule, context) for name in CHECKS if name in checks)
    return next((f for f in found if f.status == FAILED), Finding(rule.name, rule.place, "none", "passed"))


class Seen:
    """A counterexample that was run as a program: it raised AssertionError, and this is what it had built."""

    def __init__(self, shown: str) -> None:
        names: dict[str, Any] = {}
        with pytest.raises(AssertionError) as caught:
            exec(shown, names)  # noqa: S102  (a counterexample is a program)
        self.said, self.left, self._values = str(caught.value), names["left"], names.get("values", {})
        self.right = names.get("right")

    @property
    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Of both sides."""
        assert isinstance(self.right, Op)
        with np.errstate(all="ignore"):
            return tuple(evaluate(t, self._values, strict=False)[t] for t in (self.left, self.right))  # type: ignore[return-value]

    def leaf(self, name: str) -> np.ndarray:
        """The array of a variable of the rule."""
        return next(v for k, v in self._values.items() if isinstance(k, Op) and k.info.name == name)

    def op(self, short: str, number: int = 0) -> Op:
        """An op of the left side; the arguments of an op come before it."""
        return [t for t in topological([self.left]) if t.definition.short == short][number]


class Unsound(NamedTuple):
    """A wrong rule, the check that refuses it, and what its counterexample must show."""

    what: str
    header: str
    rule: str
    refused: str
    shows: Callable[[Seen], bool]


def _nan_or_infinite(x: np.ndarray) -> bool:
    return not np.isfinite(x).all()


def _overlap(seen: Seen) -> bool:
    """The two slices do not lie one behind the other."""
    first, second = (seen.op("slice", i) if len(seen.left.args) > i else seen.op("slice") for i in (0, -1))
    taken = [range(*(t.attribute(a)[0] for a in ("starts", "stops", "steps"))) for t in (first, second)]
    return [*taken[0], *taken[1]] != list(range(seen.left.shape[0]))


WRONG_VALUES = [
    Unsound("slices that overlap are concatenated to the whole", "simplify semi", """
        concat(slice(x, starts=a, stops=b, steps=c), slice(x, starts=e, stops=f, steps=c), axis=k)  =>  x
        if self.shape == x.shape and x.rank == 1""",
        "values", lambda s: _overlap(s)),
    Unsound("two transposes are cancelled without a look at the permutations", "simplify semi", """
        transpose(transpose(x, perm=p), perm=q)  =>  x
        if self.shape == x.shape""",
        "values", lambda s: s.op("transpose", 0).attribute("perm") != s.op("transpose", 1).attribute("perm")),
    Unsound("two reshapes are cancelled without a look at what stands between them", "simplify semi", """
        reshape(transpose(reshape(x, shape=r), perm=p), shape=s)  =>  x
        if s == x.shape""",
        "values", lambda s: s.op("transpose").attribute("perm") != tuple(range(s.op("transpose").rank))),
    Unsound("a reshape is taken through a transpose", "simplify semi", """
        reshape(transpose(x, perm=p), shape=s)  =>  reshape(x, shape=s)""",
        "values", lambda s: s.op("transpose").attribute("perm") != tuple(range(s.op("transpose").rank))),
    Unsound("a product with zero is zero", "simplify semi", """
        x * 0  =>  0""",
        "values", lambda s: bool(np.signbit(s.leaf("x")).any()) or _nan_or_infinite(s.leaf("x"))),
    Unsound("a difference of equals is zero", "simplify semi", """
        x - x  =>  0""",
        "values", lambda s: _nan_or_infinite(s.leaf("x"))),
    Unsound("a difference of equals is zero, over the reals too", "simplify semi", """
        @real: x - x  =>  0""",
        "values", lambda s: _nan_or_infinite(s.leaf("x"))),
    Unsound("a softmax goes through a permutation the wrong way", "simplify simple", """
        @real: softmax(transpose(x, order=p), axes=k)  =>  transpose(softmax(x, axes=k), order=p)""",
        "values", lambda s: s.left.attribute("axes") != () and s.op("transpose").attribute("order") != ()),
    Unsound("padding becomes that of a pooling, which pads with another value", "simplify semi", """
        pooling(pad(x, before=b, after=a, interior=i, value=v), axes=k, sizes=n, strides=s,
                before=p, after=q, dilations=e, kind='max', counted=c)
            =>  pooling(x, axes=k, sizes=n, strides=s, before=pick(b, k), after=pick(a, k),
                        dilations=e, kind='max', counted=c)
        if p == repeated(0, rank(k)) and q == p and i == repeated(0, x.rank)
           and chosen(pick(b, k), k, x.rank, 0) == b and chosen(pick(a, k), k, x.rank, 0) == a""",
        "values", lambda s: s.op("pad").attribute("before") + s.op("pad").attribute("after") != (0,) * 2 * s.left.rank),
    Unsound("a sum goes through a broadcast without the count", "simplify semi", """
        @real: sum(broadcast(x, shape=s, dims=d), axes=k)  =>  x
        if d == others(k, rank(s))""",
        "values", lambda s: s.op("broadcast").size != s.op("broadcast").args[0].size),
    Unsound("a quotient of integers is multiplied back", "simplify semi", """
        (x // y) * y  =>  x
        if is_whole_number(x.dtype)""",
        "values", lambda s: bool((s.leaf("x") % np.maximum(s.leaf("y"), 1) != 0).any() or (s.leaf("y") <= 0).any())),
    Unsound("a maximum becomes an argmax and a take, which NaN misleads", "lower numpy -> semi", """
        @exact: max(x, axis=k, keepdims=d)  =>  reshape(gather(x, place, axis=0), shape=())
        let place = slice(argsort(x, axis=0, descending=True), starts=(0,), stops=(1,), steps=(1,))
        if x.rank == 1 and k == (0,) and not d and x.shape[0] != 0 and is_float(x.dtype)""",
        "values", lambda s: bool(np.isnan(s.leaf("x")).any())),
    Unsound("a maximum becomes what stands at its place, which ties and NaN mislead", "lower numpy -> semi", """
        max(x, axis=k, keepdims=d)  =>  sum(select(x == broadcast(m, shape=x.shape, dims=()), x, 0), axes=k)
        let m = max(x, axes=k)
        if x.rank == 1 and k == (0,) and not d and x.shape[0] != 0 and is_float(x.dtype)""",
        "values", lambda s: bool(np.isnan(s.leaf("x")).any()) or len(set(s.leaf("x").tolist())) < s.leaf("x").size),
    Unsound("a minimum is chosen by a comparison", "lower numpy -> semi", """
        minimum(x, y)  =>  select(x < y, x, y)
        if x.type == y.type and is_float(x.dtype)""",
        "values", lambda s: bool(np.isnan(s.leaf("x")).any())),
    Unsound("a negated operand is subtracted from the wrong side", "simplify semi", """
        negative(x) + y  =>  x - y""",
        "values", lambda s: bool((s.leaf("x") != s.leaf("y")).any()) or _nan_or_infinite(s.leaf("x"))),
    Unsound("a product of nothing is zero", "simplify semi", """
        prod(x, axes=k)  =>  constant(value=literal(0, x.dtype), axes=self.axes)
        if 0 in pick(x.shape, k)""",
        "values", lambda s: 0 in s.leaf("x").shape and bool((s.values[0] == 1).all())),
    Unsound("two paddings become one, whatever they pad with", "simplify semi", """
        pad(pad(x, before=b, after=a, interior=i, value=v), before=c, after=e, interior=j, value=w)
            =>  pad(x, before=(b[0] + c[0],), after=(a[0] + e[0],), interior=i, value=w)
        if x.rank == 1 and i == (0,) and j == (0,)""",
        "values", lambda s: s.op("pad", 0).attribute("value") != s.op("pad", 1).attribute("value")),
    Unsound("a cast to a narrow type between two others is lost", "simplify semi", """
        cast(cast(x, dtype=t), dtype=u)  =>  cast(x, dtype=u)""",
        "values", lambda s: s.op("cast", 0).dtype != s.leaf("x").dtype),
    Unsound("a batch norm is folded and its epsilon lost", "lower axes", """
        batch_norm_inference(x, gamma, beta, mean, variance, eps=e)  =>  (x - mean) / sqrt(variance) * gamma + beta
        if x.dtype == self.dtype""",
        "values", lambda s: s.left.attribute("eps").scalar != 0),
    Unsound("two reversals are cancelled, though of other axes", "simplify numpy", """
        flip(flip(x, axis=a), axis=b)  =>  x""",
        "values", lambda s: s.op("flip", 0).attribute("axis") != s.op("flip", 1).attribute("axis")),
    Unsound("a choice of the greater becomes a maximum", "simplify semi", """
        select(x < y, y, x)  =>  maximum(x, y)""",
        "values", lambda s: bool((~(s.leaf("x") < s.leaf("y")) & ~(s.leaf("x") > s.leaf("y"))).any())),
    Unsound("what is not less is taken to be greater or equal", "lower axes -> semi", """
        @exact: less(x, y)  =>  label(logical_not(less_equal(strip(y), strip(x))), axes=self.axes)
        if x.type == y.type""",
        "values", lambda s: bool((np.isnan(s.leaf("x")) | np.isnan(s.leaf("y"))).any())),
    Unsound("a mean divides by one less", "lower axes", """
        mean(x, axes=k)  =>  sum(z, axes=k) / (tensor_size(x, axes=k, dtype=self.dtype) - 1)
        let z = cast(x, dtype=self.dtype)""",
        "values", lambda s: s.leaf("x").size > 0),
    Unsound("a rectifier multiplies by a comparison", "lower axes -> semi", """
        relu(x)  =>  label(strip(x) * cast(strip(x) > 0, dtype=x.dtype), axes=self.axes)
        if is_float(x.dtype)""",
        "values", lambda s: _nan_or_infinite(s.leaf("x"))),
    Unsound("a sum of exponentials is one exponential, exactly", "simplify semi", """
        exp(x) * exp(y)  =>  exp(x + y)""",
        "values", lambda s: bool(str(s.values[0]) != str(s.values[1]) or (s.values[0] != s.values[1]).any())),
    Unsound("a power of an integer is a product of floats", "simplify semi", """
        square(x)  =>  cast(square(cast(x, dtype='float64')), dtype=x.dtype)
        if x.dtype == 'int64'""",
        "values", lambda s: bool((np.abs(s.leaf("x").astype(float)) > 2**26).any())),
    Unsound("another random draw is as good", "simplify semi", """
        negative(uniform(shape=s, dtype=t, low=a, high=b, uid=u))
            =>  uniform(shape=s, dtype=t, low=a, high=b, uid=u)""",
        "values", lambda s: bool((s.values[0] == -s.values[1]).all())),
    Unsound("a random draw is of another distribution", "lower axes -> semi", """
        uniform(axes=k, dtype=t, low=a, high=b, uid=u)
            =>  label(uniform(shape=lengths(k), dtype=t, low=b, high=a, uid=u), axes=k)""",
        "values", lambda s: s.left.attribute("low") != s.left.attribute("high")),
    Unsound("the other way to fire is wrong: no channels give zeros, not ones", "lower semi", """
        convolution(x, w, strides=s, before=b, after=a, interior=i, dilations=e, groups=g)  =>  1
        if 0 in self.shape or 0 in w.shape""",
        "values", lambda s: s.leaf("w").size == 0 and s.left.size != 0),
    Unsound("a convolution is taken for one without padding, as its shape is that", "lower semi", """
        convolution(x, w, strides=s, before=b, after=a, interior=i, dilations=e, groups=1)
            =>  transpose(reshape(dot(reshape(w, shape=w.shape[:2]), reshape(transpose(x, perm=(1, 0, 2)), shape=t)),
                                  shape=(w.shape[0], x.shape[0], x.shape[2])), perm=(1, 0, 2))
        where t = (x.shape[1], x.shape[0] * x.shape[2])
        if x.rank == 3 and self.shape[2] == x.shape[2] and w.shape[2] == 1 and i == (0,) and s == (1,)""",
        "values", lambda s: s.left.attribute("before") != (0,)),
    Unsound("an average is a sum that overflows", "lower semi", """
        pooling(x, axes=k, sizes=n, strides=s, before=b, after=a, dilations=e, kind='avg', counted=True)
            =>  pooling(x, axes=k, sizes=n, strides=s, before=b, after=a, dilations=e, kind='sum', counted=True)
                / constant(value=literal(product_of(n), x.dtype), axes=self.axes)
        if x.dtype == 'float16'""",
        "values", lambda s: bool(np.isfinite(s.values[0]).any() and np.isinf(s.values[1]).any())),
    Unsound("what lies far below the diagonal is forgotten", "lower numpy -> semi", """
        tril(x, k=k)  =>  constant(value=literal(0, x.dtype), axes=self.axes)
        if k <= -2""",
        "values", lambda s: s.left.attribute("k") == -2 and s.leaf("x").shape[-2] == 3),
    Unsound("an integer is rounded once instead of twice", "simplify semi", """
        cast(cast(x, dtype=t), dtype=u)  =>  cast(x, dtype=u)
        if x.dtype == 'int64' and t == 'float64' and u == 'float32'""",
        "values", lambda s: bool((np.abs(s.leaf("x").astype(float)) > 2**53).any())),
    Unsound("a float is rounded once instead of twice", "simplify semi", """
        cast(cast(x, dtype=t), dtype=u)  =>  cast(x, dtype=u)
        if x.dtype == 'float64' and t == 'float32' and u == 'float16'""",
        "values", lambda s: bool((s.leaf("x") != s.leaf("x").astype("float32")).any())),
    Unsound("a maximum goes through a broadcast, how often is not known and may be never", "simplify semi", """
        max(broadcast(x, shape=s, dims=d), axes=k)
            =>  broadcast(max(x, axes=old), shape=self.shape, dims=among(left, pick(d, others(old, x.rank))))
        where n = product_of(pick(s, outside(k, d)))
        where old = among(d, k)
        where left = others(k, rank(s))
        if not is_known(n) or n > 0""",
        "values", lambda s: 0 in s.op("broadcast").shape and s.left.size != 0),
    Unsound("an unknown length is not zero now, but may be", "simplify semi", """
        min(broadcast(x, shape=s, dims=d), axes=k)
            =>  broadcast(min(x, axes=old), shape=self.shape, dims=among(left, pick(d, others(old, x.rank))))
        where old = among(d, k)
        where left = others(k, rank(s))
        if product_of(pick(s, outside(k, d))) != 0""",
        "values", lambda s: 0 in s.op("broadcast").shape and s.left.size != 0),
    Unsound("what is run for its effect is not run", "simplify core", """
        after(x, y)  =>  x""",
        "values", lambda s: s.right is s.left.args[0]),
]  # fmt: skip


def _written(unsound: Unsound) -> Rule:
    body = unsound.rule.strip()
    grade, body = body.split(":", 1) if body.startswith("@") else ("", body)
    (rule,) = rules_of(unsound.header, f"rule wrong {grade}:\n        {body.strip()}")
    return rule


@pytest.mark.sampled
@pytest.mark.parametrize("unsound", WRONG_VALUES, ids=lambda u: u.what)
def test_an_unsound_rule_is_refused_for_its_values(unsound: Unsound, cache: Cache) -> None:
    found = refusal(_written(unsound), cache)
    assert found.check == unsound.refused, found.says
    assert unsound.shows(Seen(found.shown)), found.shown


# -- refused before any value is looked at ------------------------------------------------------------------

WRONG_TYPES = [
    ("two reshapes are cancelled without a look at the shapes", "simplify semi",
     "reshape(reshape(x, shape=r), shape=s)  =>  x",
     r"rewrites \w+\[(.+)\] to \w+\[(?!\1)"),
    ("a convolution of single elements becomes a product, whatever its stride", "lower semi",
     """@real: convolution(x, w, strides=s, before=b, after=a, interior=i, dilations=d, groups=1)
            =>  reshape(dot(reshape(w, shape=w.shape[:2]), reshape(x, shape=x.shape[1:])),
                        shape=(1, w.shape[0], x.shape[2]))
        if x.rank == 3 and x.shape[0] == 1 and w.shape[2] == 1 and (b, a, i) == ((0,), (0,), (0,))""",
     r"convolution\(.*strides=\((?!1,)\d"),
    ("the operands of a product of transposes are not exchanged", "simplify semi",
     """dot(transpose(x, perm=p), transpose(y, perm=q))  =>  transpose(dot(x, y), perm=p)
        if p == (1, 0) and q == (1, 0)""",
     r"fails on semi.dot\(semi.transpose\(x"),
    ("a reduction forgets keepdims", "lower numpy -> semi",
     "max(x, axis=k, keepdims=d)  =>  max(x, axes=k)",
     r"keepdims=True"),
    ("a broadcast of a broadcast takes the places of the first", "simplify semi",
     """broadcast(broadcast(x, shape=r, dims=d), shape=s, dims=e)  =>  broadcast(x, shape=s, dims=d)""",
     r"dims="),
    ("a slice of a slice takes the step of the second", "simplify semi",
     """slice(slice(x, starts=a, stops=b, steps=c), starts=e, stops=f, steps=g)
            =>  slice(x, starts=s[0], stops=s[1], steps=g)
        where s = compose_slices((a, b, c), (e, f, g))""",
     r"steps=\(-?\d"),
    ("a gather by a count is the whole, however far it counts", "simplify semi",
     """gather(x, iota(shape=s, axis=0, dtype=t), axis=k)  =>  x
        if rank(s) == 1""",
     r"gather\(x, semi.iota"),
    ("a zero added makes the result of another dtype", "simplify axes",
     "@real: x + 0  =>  x",
     r"rewrites (\w+)\[.*\] to (?!\1)\w+"),
    ("a constant that no integer is", "simplify semi",
     "select(c, x, x)  =>  x * 0.5",
     r"the number 0.5 does not fit"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "text", "says"), [w[1:] for w in WRONG_TYPES], ids=[w[0] for w in WRONG_TYPES])
def test_an_unsound_rule_is_refused_for_its_types(header: str, text: str, says: str, cache: Cache) -> None:
    found = refusal(_written(Unsound("", header, text, "types", bool)), cache)
    assert found.check == "types", found.says
    assert re.search(says, found.says), found.says


# -- adjoints -----------------------------------------------------------------------------------------------

WRONG_ADJOINTS = [
    ("adjoints are exchanged", "semi", "x * y  =>  d * x,  d * y"),
    ("an adjoint has another sign", "semi", "tanh(x)  =>  d * (1 + self * self)"),
    ("the incoming adjoint is lost", "semi", "exp(x)  =>  self"),
    ("a permutation is not inverted", "semi", "transpose(x, perm=p)  =>  transpose(d, perm=p)"),
    ("the second operand of a difference is not negated", "semi", "x - y  =>  d,  d"),
    ("a mean forgets to divide", "axes", "mean(x, axes=k)  =>  d"),
    ("an argument is forgotten", "semi", "x / y  =>  d / y,  none"),
    ("a maximum gives all to each of those that tie", "semi",
     "maximum(x, y)  =>  select(x >= y, d, 0),  select(y >= x, d, 0)"),
    ("an absolute value has no slope at zero", "semi", "absolute(x)  =>  d / sign(x)"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "text"), [w[1:] for w in WRONG_ADJOINTS], ids=[w[0] for w in WRONG_ADJOINTS])
def test_a_wrong_adjoint_is_refused(family: str, text: str, cache: Cache) -> None:
    found = refusal(_written(Unsound("", f"derive {family}", text, "adjoint", bool)), cache)
    assert found.check == "adjoint", found.says
    assert found.shown


# -- where drawing does not get to --------------------------------------------------------------------------


def test_what_no_drawing_hits_is_found_by_proof(cache: Cache) -> None:
    """One integer of four thousand millions is treated otherwise, which the rule does not name: it is solved for."""
    text = """select(x * 3 == 370370367, y, z)  =>  z
        if x.dtype == 'int32' and y.dtype == 'int32'"""
    rule = _written(Unsound("", "simplify semi", text, "proof", bool))
    assert refusal(rule, cache, ("types", "values")).check == "none"
    found = refusal(rule, cache, ("proof",))
    assert found.check == "proof"
    assert 123456789 in Seen(found.shown).leaf("x")


# -- rules that do not end, or never begin ------------------------------------------------------------------


def finding_of(found: Iterable[Finding], name: str) -> Finding:
    return next(f for f in found if f.rule == name)


def test_a_commuted_sum_never_ends() -> None:
    rules = rules_of("simplify semi", "rule turn: x + y  =>  y + x")
    assert finding_of(check_termination(rules, Context(rules)), "my.turn").status == FAILED


def test_two_rules_that_undo_each_other_are_named() -> None:
    rules = rules_of(
        "simplify semi",
        """rule out: x * z + y * z  =>  (x + y) * z
rule in: (x + y) * z  =>  x * z + y * z""".replace("rule in:", "rule into:"),
    )
    found = [f for f in check_termination(rules, Context(rules)) if f.status == FAILED]
    assert found and {f.rule for f in found} | {f.other for f in found} >= {"my.out", "my.into"}


def test_a_rule_that_another_takes_all_terms_of_is_dead() -> None:
    rules = rules_of("simplify semi", "rule all: -(-x)  =>  x\nrule some: -(-x)  =>  x\n    if x.rank == 1")
    found = finding_of(check_subsumption(rules, Context(rules)), "my.some")
    assert found.status == FAILED and found.other == "my.all"
