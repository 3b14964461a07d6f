# SPDX-License-Identifier: Apache-2.0
"""What is told of a plan: where each value lies, and what a call does, step by step, transfers included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ngraph_rewrite.plan.cuda.ends import Ends
from ngraph_rewrite.plan.launches import Loop, Work, kernels
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.plan import Plan
from ngraph_rewrite.plan.shapes import bytes_of
from ngraph_rewrite.targets.target import Program
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.types.tuples import TupleType
from ngraph_rewrite.waiting import Waiting, finished

_DEPTH = 2  # of terms, as they are shown


def place_of(term: Op, program: Program, plan: Plan, ends: Ends) -> str | None:
    """Where the value of a term lies on the device, how many bytes it has, and whether they move; None if nowhere."""
    if term in program.inputs:
        return _argument(list(program.inputs).index(term), program, ends)
    name = term.definition.name
    if name == "core.constant":
        return None if term.attrs[0].scalar is not None else f"a constant of {_size(term)} on the device"
    if name in ("core.variable", "core.after"):
        variable = term.args[0] if term.args else term
        return f"a variable of {_size(variable)}, which stays on the device"
    homes = {plan.origins.get(t, t): ref for t, ref in plan.home.items() if isinstance(t, Op)}
    home = Ref("result", ends.computed.index(term)) if term in ends.computed else homes.get(term)
    return None if home is None else f"{_size(term)} {_home(home, ends)}"


def _argument(number: int, program: Program, ends: Ends) -> str:
    size = _size(program.inputs[number])
    moves = "transferred to the device, unless it is there" if number in ends.inputs else "which no kernel reads"
    return f"argument {number}, {size}, {moves}"


def _home(ref: Ref, ends: Ends | None) -> str:
    """Where something lies, and whether it goes to the host."""
    if ref.space == "arena":
        return f"at {ref.offset:,} of the arena"
    if ref.space == "storage":
        return f"in the memory of {describe(_op(ref.key), 1)}"
    if ends is None:
        return f"in the memory of result {ref.key}"
    numbers = [str(i) for i, found in enumerate(ends.results) if found == ("result", ref.key)]
    return f"in the memory of result {' and '.join(numbers)}, transferred to the host, unless it is to stay"


def _op(key: object) -> Op:
    assert isinstance(key, Op)
    return key


def _size(term: Op) -> str:
    return f"{bytes_of(term):,} bytes"


# -- all steps ---------------------------------------------------------------------------------------------------------


def shown_steps(plan: Plan) -> str:
    """What a call does: launches, in order."""
    return "\n".join((*_memory(plan), *_rows(plan, None, [()] * len(plan.work))))


def shown_transfers(program: Program, plan: Plan, ends: Ends, after: Sequence[Sequence[int]]) -> str:
    """The same on a device: transfers to it, launches and what each waits for, transfers to the host.

    Args:
        after: Of each launch (those of a loop are one) the numbers of those it waits for.
    """
    return "\n".join((*_memory(plan, ends), *_there(program, ends), *_rows(plan, ends, after), *_back(program, ends)))


def _memory(plan: Plan, ends: Ends | None = None) -> Iterator[str]:
    yield f"arena: {plan.arena:,} bytes for {plan.temporaries} values"
    refs = dict.fromkeys(a for work in kernels(plan.work) for a in work.arguments if isinstance(a, Ref))
    for key in dict.fromkeys(ref.key for ref in refs if ref.space == "constant"):
        yield f"constant: {describe(_op(key), 1)}, {_size(_op(key))}"
    stored = [ref.key for ref in refs if ref.space == "storage"]
    stored += [key for space, key in ends.results if space == "storage"] if ends is not None else []
    for key in dict.fromkeys(stored):
        yield f"variable: {describe(_op(key), 1)}, {_size(_op(key))}"


def _there(program: Program, ends: Ends) -> Iterator[str]:
    for number in ends.inputs:
        term = program.inputs[number]
        yield f"to the device: argument {number}, {describe(term, 1)}, {_size(term)}, unless it is there"


def _rows(plan: Plan, ends: Ends | None, after: Sequence[Sequence[int]]) -> Iterator[str]:
    for row, (work, waits) in enumerate(zip(plan.work, after, strict=True)):
        begins = f"{row}, after {', '.join(map(str, waits))}: " if waits else f"{row}: "
        yield begins + (finished(_loop(work)) if isinstance(work, Loop) else _launch(work, plan, ends))


def _launch(work: Work, plan: Plan, ends: Ends | None) -> str:
    stored = [(t, plan.origins.get(t, t), ref) for t, ref in ((work.term, work.stored), *work.others)]
    return f"{work.source.name} computes {'; '.join(_stored(*one, ends) for one in stored)}"


def _stored(own: Op, term: Op, ref: Ref, ends: Ends | None) -> str:
    """What a launch stores, and where; a launch whose own term is a scan stores a state as it is at first."""
    if isinstance(own.type, TupleType):
        return f"a first state of {describe(term, 1)}, {_home(ref, ends)}"
    return f"{describe(term, _DEPTH)}, {_size(term)} {_home(ref, ends)}"


def _loop(loop: Loop) -> Waiting[str]:
    if loop.beside:
        first = loop.work[0]
        assert isinstance(first, Loop)
        return f"beside each other in {len(loop.work)} bands of samples: {(yield _loop(first))}"
    if loop.flag is None and loop.work and isinstance(loop.work[0], Loop) and loop.work[0].beside:
        return f"{loop.times} times, {(yield _loop(loop.work[0]))}"
    inside = dict[str, None]()
    for one in loop.work:
        inside[f"({(yield _loop(one))})" if isinstance(one, Loop) else one.source.name] = None
    names = ", ".join(inside)
    if loop.flag is not None:
        most = "" if loop.limit in (None, 1) else f", {loop.limit} times at most"
        asked = "if" if loop.limit == 1 else "while"
        return f"{asked} the flag {_home(loop.flag, None)} is true{most}: {names}"
    return f"{loop.times} times {names}"


def _back(program: Program, ends: Ends) -> Iterator[str]:
    for number, (term, (_, of), first) in enumerate(zip(program.results, ends.results, ends.first, strict=True)):
        if first != number:
            yield f"result {number}: as result {first}"
        elif isinstance(of, int) and ends.results[number][0] == "input":
            yield f"result {number}: argument {of}, {_size(term)}, from where it is"
        else:
            name = f", {describe(of, 1)}" if isinstance(of, Op) else ""
            yield f"to the host: result {number}{name}, {_size(term)}, unless it is to stay"
