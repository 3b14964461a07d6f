# SPDX-License-Identifier: Apache-2.0
"""What an op does to each of many tensors is what its batched form does to all of them, whichever of them differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ngraph_rewrite import placeholder
from ngraph_rewrite.lowering.batch import Batch
from ngraph_rewrite.lowering.batched_forms import batched, has_form
from ngraph_rewrite.rewriting.pattern import App
from ngraph_rewrite.rewriting.rule import REAL, Rule
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.targets.cuda import CUDA
from ngraph_rewrite.terms.bank import TermBank
from ngraph_rewrite.terms.catalogue import OpDef, lookup
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.testing.evaluate import Undefined, evaluate
from ngraph_rewrite.testing.strategies import any_application
from ngraph_rewrite.testing.strategies.instances import Example, examples_of
from ngraph_rewrite.testing.strategies.values import DISTINCT, FEW, PLAIN
from ngraph_rewrite.types.dtypes import BOOL, FLOAT32, FLOAT64, INT32, INT64

# What stays in loops: what has no operands, or binds; and memory, which no step asks for.
WITHOUT = {"iota", "size", "uniform", "normal", "allocate", "transfer", "scan"}


def base_ops() -> Iterator[OpDef]:
    """What a step is made of when scans are divided: what targets execute, but for what `select` makes."""
    selected = {
        "cpu.gemm",
        "cpu.batch_gemm",
        "cpu.gemm_of_pairs",
        "cpu.gemm_of_float_pairs",
        "cpu.gemm_of_quads",
        "cuda.gemm",
        "cuda.fold",
        "fused.spread",
    }
    for name in sorted(CPU.base | CUDA.base):
        if not name.startswith("core.") and name not in selected:
            yield lookup(name)


OPS = [d for d in base_ops() if d.name.removeprefix("semi.") not in WITHOUT]


def drawn(definition: OpDef) -> list[Example]:
    """Applications of an op to leaves, with three values for each leaf."""
    attributes = tuple((name, f"attribute{i}") for i, name in enumerate(definition.attributes))
    left = App(definition, any_application(definition).args, attributes)
    rule = Rule(definition.name, "lower", left, (), (), None, REAL, definition.name, definition.name, 0)
    dtypes = (INT32,) if definition.name.endswith("quads") else (FLOAT64, FLOAT32, INT64, BOOL)
    return list(examples_of(rule, 5, dtypes=dtypes, kinds=(DISTINCT, PLAIN, FEW)))


def each_and_all(term: Op, choices: Sequence[dict[Any, Any]], varies: Sequence[bool]) -> tuple[Any, Any]:
    """The values of a term for each choice, stacked, and the value of its batched form."""
    bank, values, operands = TermBank(), {}, []
    for arg, differs in zip(term.args, varies, strict=True):
        own = [np.asarray(choice[arg]) for choice in (choices if differs else choices[:1])]
        whole = placeholder((len(choices), *arg.shape) if differs else arg.shape, arg.dtype)
        values[whole] = np.stack(own) if differs else own[0]
        operands.append((whole, not differs))
    form = batched(term, operands, Batch(len(choices), bank))
    first = {arg: choices[0][arg] for arg, differs in zip(term.args, varies, strict=True) if not differs}
    each = [evaluate(term, {**choice, **first})[term] for choice in choices]
    return np.stack(each), evaluate(form, values)[form]


@pytest.mark.parametrize("definition", OPS, ids=str)
def test_a_batched_form_does_for_all_what_the_op_does_for_each(definition: OpDef) -> None:
    compared = 0
    for example in drawn(definition):
        term = example.instance.term
        if len(set(term.args)) < len(term.args):
            continue
        for varies in product((True, False), repeat=len(term.args)):
            if any(varies) and has_form(term, varies):
                with suppress(Undefined):  # a value that no integer is
                    each, whole = each_and_all(term, example.choices, varies)
                    assert whole.dtype == each.dtype
                    assert_allclose(whole, each, rtol=1e-5 if term.dtype == FLOAT32 else 1e-10)
                    compared += 1
    assert compared
