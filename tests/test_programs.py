# SPDX-License-Identifier: Apache-2.0
"""Whole drawn programs give on cpu what they give on reference, in every call, and their results stay."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from programs import ANALYTIC, EXACT, Program, assert_same, both, drawn

import ngraph_rewrite as ng
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.types.dtypes import finfo, is_float

DTYPES = [
    ("float64", "int64", "int8", "bool"),
    ("float64", "int64"),
    ("float32", "uint8", "bool"),
    ("float16", "int32"),
    ("bfloat16", "int32"),
]
small = st.integers(-3, 3)
unit = st.integers(-8, 8).map(lambda n: n / 8)
# float64 operations on numbers near 1, each off by a few ulps (2**-52); the programs below chain at most some dozens,
# none of which magnifies a relative error by more than a few times.
TOLERANCE = {"rtol": 1e-10, "atol": 1e-11}


def exact_program(data: st.DataObject, dtypes: tuple[str, ...], steps: int) -> Program:
    lengths = {name: data.draw(st.sampled_from([2, 3, 3, 1, 0])) for name in ("H", "W", "K")}
    program = Program(data.draw, dtypes, lengths, batch=data.draw(st.sampled_from([2, 4, 1, 0])))
    for _ in range(data.draw(st.integers(1, 3))):
        program.leaf(small)
    program.grow(EXACT, data.draw(st.integers(1, steps)))
    return program


def is_exact(result: np.ndarray[Any, Any]) -> bool:
    """Whether sums of its numbers are exact in any order: all are integers far below the reach of the dtype."""
    if not is_float(result.dtype):
        return True
    return bool((np.abs(result.astype(np.float64)) * 8 * finfo(result.dtype).eps < 1).all())


def wanted(data: st.DataObject, program: Program) -> list[ng.Op]:
    """The last term and some of the others."""
    others = data.draw(st.lists(st.sampled_from(program.terms), max_size=2))
    return [program.terms[-1], *others]


@drawn(30)
@given(st.data())
def test_programs_of_small_integers_agree_exactly(data: st.DataObject) -> None:
    program = exact_program(data, data.draw(st.sampled_from(DTYPES)), 7)
    returns = wanted(data, program)
    expected, found = both(returns, program.inputs, program.arguments)
    assume(all(is_exact(r) for r in expected[0]))
    for one, other in zip(expected, found, strict=True):
        assert_same(one, other)


@drawn(10)
@given(st.data())
def test_any_term_has_its_value_between_two_kernels(data: st.DataObject) -> None:
    """Whether a kernel has stored it, or will, whether it stands in the middle of one, or was rewritten away."""
    program = exact_program(data, data.draw(st.sampled_from(DTYPES)), 7)
    with ng.make_transformer("reference") as transformer:
        right = transformer.computation(program.terms, *program.inputs)(*program.arguments)
    assume(all(map(is_exact, right)))
    with ng.make_transformer("cpu") as transformer:
        call = transformer.computation(program.terms[-1], *program.inputs).step(*program.arguments)
        has = variables(program.terms[-1])
        probed = [i for i, term in enumerate(program.terms) if variables(term) <= has]
        for number, _ in enumerate(call):
            at = probed[number % len(probed)]
            assert_same([call.value(program.terms[at])], [right[at]])
        assert_same([call.results()], [right[-1]])
        assert_same([call.value(program.terms[i]) for i in probed], [right[i] for i in probed])


def variables(term: ng.Op) -> set[ng.Op]:
    """Those that its transformer has to have."""
    return {t for t in topological([term]) if t.definition.name == "core.variable"}


@drawn(20)
@given(st.data())
def test_smooth_programs_agree_up_to_rounding(data: st.DataObject) -> None:
    program = Program(data.draw, ("float64",), {"H": 2, "W": 3, "K": 3}, batch=data.draw(st.integers(1, 4)))
    for _ in range(2):
        program.leaf(unit)
    program.grow(ANALYTIC, data.draw(st.integers(1, 5)))
    expected, found = both(wanted(data, program), program.inputs, program.arguments)
    for one, other in zip(expected, found, strict=True):
        assert_same(one, other, **TOLERANCE)


@drawn(12)
@given(st.data())
def test_gradients_of_smooth_programs_agree_up_to_rounding(data: st.DataObject) -> None:
    program = Program(data.draw, ("float64",), {"H": 2, "W": 3, "K": 3}, batch=data.draw(st.integers(1, 3)))
    for _ in range(2):
        program.leaf(unit)
    leaves = list(program.terms)
    program.grow(ANALYTIC, data.draw(st.integers(1, 4)))
    last = program.terms[-1]
    error = ng.sum(last, out_axes=[])
    expected, found = both(ng.deriv(error, leaves), program.inputs, program.arguments)
    for one, other in zip(expected, found, strict=True):
        assert_same(one, other, **TOLERANCE)
