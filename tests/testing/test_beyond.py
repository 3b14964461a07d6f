# SPDX-License-Identifier: Apache-2.0
"""Rules that are wrong, or fire, only beyond the usual instances: in lengths, ranks, steps, attributes, long axes."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from ngraph_rewrite.rewriting.domain import COMMON_FIRST
from ngraph_rewrite.rewriting.domain_varied import Varied
from ngraph_rewrite.rewriting.rule import Rule, RuleSet
from ngraph_rewrite.rewriting.rulefile import parse_rules
from ngraph_rewrite.testing.adjoints import check_adjoint
from ngraph_rewrite.testing.findings import FAILED, PASSED, Context, Effort
from ngraph_rewrite.testing.guards import check_guard
from ngraph_rewrite.testing.never import never
from ngraph_rewrite.testing.strategies.drawing import varied_domain
from ngraph_rewrite.testing.typed import check_types
from ngraph_rewrite.testing.values import check_values


def rule_of(text: str, header: str = "simplify semi") -> Rule:
    (rule,) = parse_rules(f"{header}\nrule {text}\n", "my.rules", "my")
    return rule


def context_of(rule: Rule) -> Context:
    return Context(RuleSet([rule]), Effort(50, 60.0))


WRONG = [
    ("semi", "r: transpose(x, perm=p) => x\n    if x.rank > 1 and p[0] == 0 and p[x.rank - 1] == x.rank - 1"),
    (
        "axes",  # right but for a dilation of 2 or more, padded by as much
        """r @real: pooling(x, over=o, sizes=n, strides=s, before=b, after=a, dilations=e, kind='max', counted=c)
            => pooling(x, over=o, sizes=n, strides=s, before=b, after=a, dilations=repeated(1, rank(o)), kind='max',
                       counted=c)
    if rank(o) == 1 and n[0] == 2 and self.axes == x.axes""",
    ),
    (
        "semi",
        """r: convolution(x, w, strides=s, before=b, after=a, interior=i, dilations=e, groups=g)
            => convolution(x, w, strides=s, before=b, after=a, interior=i, dilations=repeated(1, rank(e)), groups=g)
    if self.shape == x.shape""",
    ),
    (
        "simple",  # an integer drops the axis, so that the next one is another: of three
        """r: slice_axis(slice_axis(x, axis=a, item=i), axis=b, item=j)
            => slice_axis(slice_axis(x, axis=b, item=j), axis=a, item=i)
    if a == 0 and b == 1""",
    ),
    (
        "semi",  # three groups or more, where all channels but one are others'
        """r @real: convolution(x, w, strides=s, before=b, after=a, interior=i, dilations=e, groups=g)
            => convolution(x, w, strides=s, before=b, after=a, interior=i, dilations=e, groups=g) * 2
    if g >= 3""",
    ),
    (
        "semi",  # from a number on that only the right side says
        """r: pad(pad(x, before=b, after=(0,), interior=(0,), value=v), before=c, after=(0,), interior=(0,), value=v)
            => pad(x, before=(b[0] + c[0] + b[0] // 9,), after=(0,), interior=(0,), value=v)
    if b[0] >= 0 and c[0] >= 0""",
    ),
    (
        "numpy",  # 2 + 2 is 2 * 2
        """r: repeat(repeat(x, repeats=r, axis=k), repeats=s, axis=k) => repeat(x, repeats=r + s, axis=k)
    if r > 1 and s > 1""",
    ),
]


@pytest.mark.parametrize(("family", "text"), WRONG)
def test_what_is_wrong_only_beyond_the_usual_attributes_is_refused(family: str, text: str) -> None:
    rule = rule_of(text, f"simplify {family}")
    assert FAILED in (check_values(rule, context_of(rule)).status, check_guard(rule, context_of(rule)).status)


def test_an_adjoint_that_is_wrong_for_steps_of_three_is_refused() -> None:
    text = """r: slice(x, starts=a, stops=b, steps=c)
        => slice(pad(d, before=repeated(0, x.rank), after=x.shape, interior=repeated(1, x.rank),
                     value=literal(0, x.dtype)), starts=a, stops=x.shape, steps=repeated(1, x.rank))
    if x.rank == 1 and a == (0,) and c[0] > 0 and c[0] != 1"""
    rule = rule_of(text, "derive semi")
    assert FAILED in (check_adjoint(rule, context_of(rule)).status, check_guard(rule, context_of(rule)).status)


RIGHT = [
    ("semi", "r: transpose(transpose(x, perm=(0, 2, 3, 1)), perm=(0, 3, 1, 2)) => x"),
    ("semi", "r: transpose(transpose(x, perm=p), perm=p) => x\n    if x.rank > 3 and p == (0, 2, 1, 3)"),
    ("semi", "r: slice(x, starts=a, stops=b, steps=c) => negative(slice(negative(x), starts=a, stops=b, steps=c))\n"
     "    if x.dtype == 'int32' and x.rank == 1 and c[0] == 3"),
    ("numpy", "r: repeat(repeat(x, repeats=r, axis=k), repeats=s, axis=k) => repeat(x, repeats=r * s, axis=k)\n"
     "    if r > 2"),
    ("semi", "r: put_along(x, i, take_along(x, i, axis=k), axis=k, how='set') => x"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "text"), RIGHT)
def test_what_fires_only_beyond_the_usual_attributes_is_compared(family: str, text: str) -> None:
    rule = rule_of(text, f"simplify {family}")
    assert [check(rule, context_of(rule)).status for check in (check_types, check_values)] == [PASSED] * 2


@pytest.mark.parametrize(
    "text",
    [
        # 256 positions of eight bits begin anew
        "r: cast(iota(shape=s, axis=i, dtype=t), dtype=u) => iota(shape=s, axis=i, dtype=u)\n    if u != 'bool'",
        "r: gather(x, iota(shape=s, axis=i, dtype=t), axis=k) => x\n    if s == (x.shape[k],) and t != 'bool'",
        # and 65,536 truths are 0, if all of them are true
        "r: sum(cast(x, dtype=t), axes=k) => cast(sum(cast(x, dtype='uint16'), axes=k), dtype=t)\n"
        "    if x.dtype == 'bool' and t == 'int64'",
    ],
)
def test_what_is_counted_in_a_narrow_dtype_is_counted_far(text: str) -> None:
    rule = rule_of(text)
    assert check_values(rule, Context(RuleSet([rule]))).status == FAILED  # to make long arrays small takes all its time


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_that_are_multiplied_as_floats_are_not_real(dtype: str) -> None:
    """What is rounded on the right side alone is no rounding that the left side would explain."""
    product = "cast(cast(x, dtype='float32') * cast(y, dtype='float32'), dtype=x.dtype)"
    rule = rule_of(f"r @real: x * y => {product}\n    if x.dtype == '{dtype}'")
    assert check_values(rule, context_of(rule)).status == FAILED


def test_a_guard_that_never_holds_is_told_by_its_parts() -> None:
    rule = rule_of("r: transpose(x, perm=p) => x\n    if x.rank == 2 and p[0] == 7 and p[1] == 0")
    says = "matches none of the terms that were tried: of 40 that its left side matches, `p[0] == 7` holds of none"
    assert check_types(rule, context_of(rule)).says == says


def test_a_guard_whose_parts_hold_apart_is_told() -> None:
    rule = rule_of("r: negative(x) => x\n    if x.rank == 1 and x.rank == 2")
    assert (
        never(rule) == "of 40 that its left side matches, each part of its guard holds of some, and all parts of none"
    )


@pytest.mark.parametrize("seed", range(20))
def test_slices_that_go_beyond_the_usual_ones_are_inside(seed: int) -> None:
    domain = varied_domain(Random(seed), COMMON_FIRST)
    for length in range(2, 8):
        for start, stop, step in domain.slices(length):
            taken = range(start, stop, step)
            assert all(0 <= place < length for place in taken)


def test_changed_attributes_are_of_their_kind() -> None:
    domain = Varied((2, 3, 4), (), (np.dtype("float32"),), said=(2.5, 7), strict=True)
    found = domain.varied([((1, 2), "max", True, 0.5)] * 16, {"sizes": 0, "kind": 1, "counted": 2, "eps": 3}, [])
    assert len(found) == 16
    for sizes, kind, counted, eps in found:
        assert (kind, counted, type(eps)) == ("max", True, float)
        assert all(type(n) is int for n in sizes)
