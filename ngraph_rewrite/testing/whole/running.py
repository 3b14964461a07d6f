# SPDX-License-Identifier: Apache-2.0
"""What must hold of a program that a transformer runs: its results, its state, and what it tells of its handles.

The expected values are those of the meanings, worked out call by call from the state that the transformer had.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ngraph_rewrite.computation import Computation
from ngraph_rewrite.errors import ComputationError, InvalidHandleError
from ngraph_rewrite.lowering.passes import SAFE_CLASSES
from ngraph_rewrite.returns import has_value
from ngraph_rewrite.targets.choices import find_target
from ngraph_rewrite.targets.cpu import CPU
from ngraph_rewrite.targets.reference import REFERENCE
from ngraph_rewrite.targets.target import Target
from ngraph_rewrite.terms.binders import free_parameters
from ngraph_rewrite.terms.info import Uid
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.walking import topological
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.testing.changes import shaken
from ngraph_rewrite.testing.compare import SHAKES, as_rounded, same_bits
from ngraph_rewrite.testing.evaluate import Array, Undefined, Values, evaluate
from ngraph_rewrite.testing.programs.program import Program
from ngraph_rewrite.testing.whole.checks import Wrong, shown
from ngraph_rewrite.testing.whole.lowered import LOWERED, Call, LoweredProgram, Setup
from ngraph_rewrite.transformer import Transformer
from ngraph_rewrite.types.dtypes import is_float
from ngraph_rewrite.types.tuples import TupleType


def wrong_on_cpu(program: Program, setup: Setup) -> Wrong | None:
    """The compiled kernels compute what the lowered terms mean, in every call, and leave the state they say."""
    return _wrong_run("cpu", program, setup, CPU)


def wrong_on_cuda(program: Program, setup: Setup) -> Wrong | None:
    """The same of kernels for a GPU: there has to be one, or Numba's simulator."""
    return _wrong_run("cuda", program, setup, find_target("cuda"))


def wrong_on_reference(program: Program, setup: Setup) -> Wrong | None:
    """A transformer that executes meanings gives those meanings: what stands around a target is right."""
    return _wrong_run("reference", program, setup, REFERENCE)


def wrong_handle(program: Program, setup: Setup) -> Wrong | None:
    """After a call each handle has the value of its meaning, or it is said why it has none.

    What has none can be evaluated again, unless a variable was written since or it stands inside a step.
    """
    run = _Run(program, setup, LOWERED)
    try:
        with run.transformer:
            for call in range(len(program.calls)):
                state = run.state()
                run(call)
                wrong = _wrong_value(run, call, state) or _unexplained(run)
                if wrong is not None:
                    return Wrong("handles", wrong)
    except Undefined:
        return None
    return None


def wrong_restored(program: Program, setup: Setup) -> Wrong | None:
    """What was saved after the first call and restored goes on as if nothing had been between."""
    run = _Run(program, setup, LOWERED)
    last = len(program.calls) - 1
    with run.transformer, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        run(0)
        run.transformer.save(path)
        first, state = run(last), run.state()
        run.transformer.restore(path)
        second, again = run(last), run.state()
    wrong = [h for h, a, b in zip(run.lowered.handles, first, second, strict=True) if not _same(a, b)]
    if wrong:
        return Wrong("restored", f"{describe(wrong[0])} has another value after save and restore")
    if not all(_same(state[v], again[v]) for v in state):
        return Wrong("restored", "a variable has another value after save and restore")
    return None


class _Run:
    """A transformer with the computation of a program."""

    def __init__(self, program: Program, setup: Setup, target: Target) -> None:
        self.program = program
        self.lowered = LoweredProgram(program, replace(setup, target=target) if target.base is None else setup)
        rules = setup.rules.of_class(SAFE_CLASSES)
        self.transformer = Transformer(target, rules, setup.seed, setup.cache)
        self.computation: Computation = self.transformer.computation(self.lowered.handles, *program.inputs)
        order = topological(self.lowered.before)
        self.variables = [t for t in order if t.definition.name == "core.variable"]

    def __call__(self, call: int) -> list[Array | None]:
        return list(self.computation(*self.program.calls[call]))

    def state(self) -> dict[Uid, Array]:
        """What the variables are now."""
        return {v.attribute("uid"): self.transformer.get(v) for v in self.variables}


def _wrong_run(kind: str, program: Program, setup: Setup, target: Target) -> Wrong | None:
    run = _Run(program, setup, target)
    try:
        with run.transformer:
            for call in range(len(program.calls)):
                state = run.state()
                results = run(call)
                wrong = _misfit(run, call, state, results)
                if wrong is not None:
                    return Wrong(kind, *wrong)
    except Undefined:
        return None
    return None


def _misfit(
    run: _Run, call: int, state: Mapping[Uid, Array], results: Sequence[Array | None]
) -> tuple[str, str] | None:
    """The first result or variable that is not what the lowered terms mean."""
    lowered = run.lowered
    expected = lowered.call(call, state, lowered.after)
    pairs = list(zip(lowered.handles, expected.terms, results, strict=False))
    now, places = run.state(), {id(w): i for i, w in enumerate(lowered.before)}
    final = {v.attribute("uid"): (v, places[id(w)]) for v, w in lowered.lowering.sequenced.final.items()}
    pairs += [(v, expected.terms[i], now[uid]) for uid, (v, i) in final.items()]
    for handle, term, found in pairs:
        if found is not None and not _agrees(term, expected, found):
            known = expected.everything[term]
            return f"{describe(handle, 3)} in call {call}", f"meaning {shown(known)}\nfound   {shown(found)}"
    for uid, value in state.items():
        if uid not in final and not _same(now[uid], value):
            return f"a variable changed in call {call} that nothing writes", ""
    return None


def _agrees(term: Op, call: Call, found: Array) -> bool:
    """Whether an array is the value of a term, as far as rounding explains."""
    known = call.everything[term]
    if (known.dtype, known.shape) != (found.dtype, found.shape):
        return False
    wrong = ~same_bits(known, found)
    if wrong.any():
        wrong &= ~_rounded(term, call.values, known, found)
    return not wrong.any()


def _rounded(term: Op, values: Values, known: Array, found: Array) -> Array:
    """Where rounding explains a difference: of an integer, where it moves the term's own value."""
    if is_float(known.dtype):
        return as_rounded(term, values, known, found)
    moved = np.zeros(known.shape, bool)
    for seed in range(SHAKES):
        try:
            moved |= evaluate(term, values, shaken(seed))[term] != known
        except Undefined:
            return np.ones(known.shape, bool)
    return moved


def _same(one: Array | None, other: Array | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.dtype, one.shape) == (other.dtype, other.shape) and bool(same_bits(one, other).all())


# -- handles ----------------------------------------------------------------------------------------


def _wrong_value(run: _Run, call: int, state: Mapping[Uid, Array]) -> str | None:
    """The first handle of a program that has another value than its meaning."""
    lowered, handles = run.lowered, run.program.handles
    images = [lowered.lowering.sequenced.terms.get(h, h) for h in handles]
    inside = free_parameters(topological([*handles, *images]))
    pairs = zip(handles, images, strict=True)
    asked = [(h, i) for h, i in pairs if _is_asked(h) and h not in inside and i not in inside]
    meant = lowered.call(call, state, [i for _, i in asked])
    for (handle, _), term in zip(asked, meant.terms, strict=True):
        for again in (False, True):
            try:
                found = run.computation.value(handle, again)
            except InvalidHandleError:
                continue
            if handle.definition.name != "core.variable" and not _agrees(term, meant, found):
                known = shown(meant.everything[term])
                return f"{describe(handle, 3)} has the value {shown(found)} in call {call}, its meaning is {known}"
    return None


def _is_asked(handle: Op) -> bool:
    return has_value(handle) and not isinstance(handle.type, TupleType)


def _unexplained(run: _Run) -> str | None:
    """A handle of which it is not said why it has no value; of one inside a step, that it stands there."""
    for handle in run.program.handles:
        try:
            run.computation.value(handle)
        except InvalidHandleError as error:
            if not (error.what.partition(" has no value: ")[2] and error.where and error.do):
                return f"{describe(handle, 3)} has no value, and it is only said: {error}"
        except ComputationError as error:
            if "only inside its step" not in error.what:
                return f"{describe(handle, 3)} cannot be asked for: {error}"
    return None
