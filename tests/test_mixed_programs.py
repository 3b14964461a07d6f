# SPDX-License-Identifier: Apache-2.0
"""Drawn programs over all families, effects included: cpu gives what reference gives, forward and gradient.

The ops of the catalogue are shuffled and dealt, ten to a program, so that together the programs reach each of
them; targets are compared on a part of these. NGRAPH_REWRITE_EXAMPLES=5 draws five programs from each hand, and
compares all.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from programs import MORE, drawn

import ngraph_rewrite as ng
from ngraph_rewrite.terms.catalogue import STANDARD, definitions
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.strategies.drafts.draft import SMOOTH, Draft
from ngraph_rewrite.testing.strategies.drafts.growing import drawn_ops, grown, reached
from ngraph_rewrite.types.dtypes import finfo, is_float

Array = np.ndarray[Any, Any]
DECK = drawn_ops()
Random(1).shuffle(DECK)
HANDS = [DECK[i : i + 10] for i in range(0, len(DECK), 10)]
# Compiling takes seconds: one in eight of the hands, in pairs, as what is asked of a program goes by its number.
SOME = [number for number in range(len(HANDS)) if MORE > 1 or number % 16 in (0, 3)]
# Bits, as Hypothesis would try 0, 1 and numbers near them.
SEEDS = st.tuples(*[st.booleans()] * 32).map(lambda bits: int("".join("01"[b] for b in bits), 2))
# In an exact program every op starts from the same numbers, at most 3 in size: a result is off by what one op may
# be, a few units in the last place of its largest number for each of its steps. Nothing adds up from op to op.
ULPS = 64
# A number that was off by that much could be rounded to another integer if it is so near to the next one; float16
# has eps 1e-3.
MARGIN = 0.02
# Smooth programs add up: a dozen steps of slopes around 1, some of them near a pole of a quotient.
TOLERANCE = {"rtol": 1e-7, "atol": 1e-8}
# Why an op is in no program.
NOT_REACHED = {
    "cpu.gemm": "no user writes it: rules of the target make it of dots",
    "cpu.gemm_of_pairs": "no user writes it: rules of the target make it of products of small integers",
    "cpu.gemm_of_float_pairs": "no user writes it: rules of the target make it of products of bfloat16",
    "cpu.gemm_of_quads": "no user writes it: rules of the target make it of products of bytes",
    "cpu.batch_gemm": "no user writes it: rules of the target make it of products of halves (tests/test_prologues.py)",
    "cpu.middle_elements": "no user writes it: rules of the target make it of the middle of what is sorted",
    "cpu.first_places": "no user writes it: rules of the target make it of the beginning of an order",
    "cpu.chosen_places": "no user writes it: a rule of the target makes it of what is put at running counts",
    "cpu.convolution": "no user writes it: a rule of the target makes it of convolutions",
    "cpu.convolution_of_quads": "no user writes it: a rule of the target makes it of convolutions of bytes",
    "cpu.fourier": "no user writes it: a rule of the target makes it of Fourier transforms",
    "fused.attention": "no user writes it: rules of the target make it of products and softmax",
    "fused.mixture": "no user writes it: rules of the target make it of softmax and products",
    "fused.spread": "no user writes it: rules of the target make it of the adjoint of sums and averages of windows",
    "cpu.unpooling": "no user writes it: a rule of the target makes it of the adjoint of pooling",
}


def run(target: str, returns: list[Op], inputs: list[Op], calls: list[list[Array]]) -> list[list[Array]]:
    """The results of several calls."""
    with ng.make_transformer(target, seed=7) as transformer:
        computation = transformer.computation(returns, *inputs)
        return [list(computation(*arguments)) for arguments in calls]


def is_array(value: Array | None) -> bool:
    return value is not None


def assert_near(found: Array, expected: Array, op: Op) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), op
    if not is_float(expected.dtype):
        np.testing.assert_array_equal(found, expected, repr(op))
        return
    rtol = ULPS * float(finfo(expected.dtype).eps)
    size = float(np.abs(expected[np.isfinite(expected)]).max(initial=1))
    np.testing.assert_allclose(found, expected, rtol, rtol * size, equal_nan=True, err_msg=repr(op))


def is_clear(rounded: Array) -> bool:
    """Whether no number is next to one that would be rounded differently."""
    numbers = rounded[np.isfinite(rounded)].astype(np.float64)
    return bool((np.abs(numbers - np.round(numbers)) > MARGIN).all())


@pytest.mark.parametrize("number", SOME)
@drawn(1)
@given(SEEDS)
def test_programs_of_small_integers_agree(number: int, seed: int) -> None:
    p = grown(HANDS[number], number, seed)
    assert {d.name for d in HANDS[number]} <= reached(p.terms)
    returns = p.ends() if number % 16 else p.terms  # all terms: nothing is fused into what reads it
    calls = [p.values(length) for length in ((2, 3) if number % 2 else (2 + number % 4 // 2,))]
    expected = run("reference", [*returns, *p.rounded], p.inputs, calls)
    assume(all(is_clear(r) for results in expected for r in results[len(returns) :]))
    for results, wanted in zip(run("cpu", returns, p.inputs, calls), expected, strict=True):
        for found, want, op in zip(results, wanted, returns, strict=False):
            assert_near(found, want, op)


def smooth_program(number: int, seed: int) -> tuple[Draft, Op, list[Op]]:
    """A program, a number that depends on all its terms, and the placeholders it is differentiated by."""
    hand = [d for d in HANDS[number] if d.name != "core.stop_gradient"]  # differences do not stop
    p = grown(hand, number, seed, SMOOTH)
    ends = [ng.strip(t) if t.rank else t for t in p.ends() if is_float(t.dtype)]
    sums = [ng.make_op("semi.sum", t, axes=tuple(range(t.rank))) for t in ends]
    error = ng.sum(ng.tanh(ng.stack(sums, ng.Axis("E", len(sums)))), out_axes=[])
    return p, error, [x for x in p.inputs if is_float(x.dtype)]


@pytest.mark.sampled
@pytest.mark.parametrize("number", range(0, len(HANDS), 2 if MORE == 1 else 1))
@drawn(1)
@given(SEEDS)
def test_gradients_of_smooth_programs_are_their_slopes(number: int, seed: int) -> None:
    """Against central differences in one direction, where two steps find the same slope: else there is a kink."""
    p, error, leaves = smooth_program(number, seed)
    call = p.values(2)
    way = [np.linspace(0.6, 1.4, v.size).reshape(v.shape) if is_float(v.dtype) else None for v in call]

    def at(step: float) -> float:
        moved = [v if w is None else v + step * w for v, w in zip(call, way, strict=True)]
        return float(run("reference", [error], p.inputs, [moved])[0][0])

    slope, nearer = ((at(h) - at(-h)) / (2 * h) for h in (1e-5, 1e-6))
    gradients = run("reference", ng.deriv(error, leaves), p.inputs, [call])[0]
    found = sum(float((g * w).sum()) for g, w in zip(gradients, filter(is_array, way), strict=True))
    assume(np.isfinite([slope, nearer, found]).all() and abs(slope - nearer) <= 1e-5 * (1 + abs(slope)))
    assert abs(found - slope) <= 1e-5 * (1 + abs(slope))


@pytest.mark.parametrize("number", range(0, len(HANDS), 24 if MORE == 1 else 1))
@drawn(1)
@given(SEEDS)
def test_gradients_of_smooth_programs_agree(number: int, seed: int) -> None:
    p, error, leaves = smooth_program(number, seed)
    returns = [error, *ng.deriv(error, leaves)]
    call = p.values(2)
    expected = run("reference", returns, p.inputs, [call])[0]
    assume(all(np.isfinite(g).all() for g in expected))
    for found, wanted in zip(run("cpu", returns, p.inputs, [call])[0], expected, strict=True):
        np.testing.assert_allclose(found, wanted, **TOLERANCE)


def test_the_programs_reach_every_op(capsys: pytest.CaptureFixture[str]) -> None:
    found = {name for i, hand in enumerate(HANDS) for name in reached(grown(hand, i, 0).terms)}
    every = {d.name for family in ("core", *STANDARD, "cpu", "fused") for d in definitions(family)}
    with capsys.disabled():
        print(f"\nmixed programs reach {len(found & every)} of {len(every)} ops", end=" ")
    assert every - found == NOT_REACHED.keys()
