# SPDX-License-Identifier: Apache-2.0
"""The CPU target: a plan whose kernels Numba compiled, run as one table of launches from one entry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ngraph_rewrite.codegen.kernel_places import told_in_kernel_files
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.lowering.distribution import Distribution
from ngraph_rewrite.lowering.orders import Orders
from ngraph_rewrite.ops import fused, semi  # noqa: F401  (declare the ops of the base set)
from ngraph_rewrite.plan.launches import Loop, Work, kernels, loops_in
from ngraph_rewrite.plan.operands import Ref
from ngraph_rewrite.plan.plan import Plan, make_plan
from ngraph_rewrite.plan.shares import Share
from ngraph_rewrite.runtime.aligned import address_of
from ngraph_rewrite.runtime.compiler import Kernel, compile_kernels
from ngraph_rewrite.runtime.features import multiplies_float_pairs, multiplies_matrices, multiplies_quads
from ngraph_rewrite.runtime.machine import NEVER, SLICE, Beside, Launch, LaunchTable, Repeat, Row
from ngraph_rewrite.targets.arguments import Arguments
from ngraph_rewrite.targets.rows import run_rows, tell_rows
from ngraph_rewrite.targets.target import Array, Program, Quick, Ran, Target
from ngraph_rewrite.terms.catalogue import definitions
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.tracing import listener, told
from ngraph_rewrite.terms.written import describe
from ngraph_rewrite.waiting import Waiting, finished

if TYPE_CHECKING:
    from ngraph_rewrite.targets import steps
else:  # for those who ask
    steps = lazy_module("ngraph_rewrite.targets.steps")

CORE = "constant placeholder variable strip label assign after doall parameter item make_tuple while_loop"
# Other Python threads wait for so many nanoseconds at most, as far as weights are right.
SHORT = 200_000
_COMPOSITE = frozenset(
    f"semi.{short}" for short in "tensor_slice logaddexp convolution pooling solve logdet det_sign pinv fourier".split()
)


class CpuExecutable:
    """A plan with memory: one arena, compiled kernels, and the arguments a call has to fill in."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.plan: Plan = make_plan(program.results, program.writes, program.order, threads=program.threads)
        self._work = list(kernels(self.plan.work))
        sources = [source for work in self._work for source in (work.source, *work.parts)]
        with told_in_kernel_files(sources):
            self.kernels: dict[str, Kernel] = compile_kernels(
                {source.name: source.text for source in sources}, program.cache, program.threads
            )
        self._arguments = Arguments(program, self.plan.arena)
        self._table = LaunchTable(finished(self._launches(self.plan.work)), cache=program.cache)
        self._arguments.seal(self._table)

    def _launches(self, work: Sequence[Work | Loop]) -> Waiting[list[Row]]:
        found: list[Row] = []
        for one in work:
            found.append((yield self._loop(one)) if isinstance(one, Loop) else self._launch(one))
        return found

    def _loop(self, loop: Loop) -> Waiting[Row]:
        inside, where = (yield self._launches(loop.work)), loop.term.info.place
        if loop.flag is not None:
            most = NEVER if loop.limit is None else loop.limit
            return Repeat(inside, most, loop.steps, self._arguments.place(loop.flag), where)
        return Beside(inside, where) if loop.beside else Repeat(inside, loop.times, loop.steps, where=where)

    def _launch(self, work: Work) -> Launch:
        kernel, share = self.kernels[work.source.name], work.share
        arguments = self._arguments.numbers(work.arguments, work.refs)
        return Launch(kernel, arguments, self._chunks(work), share.weight)

    def _chunks(self, work: Work) -> int:
        share = work.share
        return share.chunks_for(self.program.threads) if isinstance(share, Share) else share.chunks

    def quick(self) -> Quick | None:
        """What machine code needs to run it, if no signals have to be looked at."""
        weight = self._table.weight
        if weight > SLICE:
            return None
        rows, gates = self._table.rows(self.program.threads)
        return Quick(self._arguments.patches, rows, address_of(self._arguments.call), self, gates, weight > SHORT)

    def run(self, inputs: Sequence[Array], results: Sequence[Array], call: int) -> None:
        """Fill in the addresses of this call and walk the table."""
        self._begin(inputs, results, call)
        if not told[0]:
            self._table.run(self.program.threads)
        else:
            self._run_heard(results)

    def run_rows(self, inputs: Sequence[Array], results: Sequence[Array], call: int) -> Iterator[Ran]:
        """The same row by row: each runs when it is asked for, and `results` are whole when there are no more."""
        self._begin(inputs, results, call)
        yield from self._rows(results)

    def _begin(self, inputs: Sequence[Array], results: Sequence[Array], call: int) -> None:
        self._table.rewind()
        self._arguments.fill(self._table.arguments, inputs, results)
        self._arguments.call[0] = call

    def _run_heard(self, results: Sequence[Array]) -> None:
        """The same, told to whoever listens, if it is this that they listen to."""
        log = listener([*self.program.results, *self.program.writes])
        if log is None:
            self._table.run(self.program.threads)
        else:
            tell_rows(log, self._rows(results), [*self.program.results, *self.program.writes])

    def _rows(self, results: Sequence[Array]) -> Iterator[Ran]:
        """What walks the table row by row."""

        def run(row: int) -> None:
            self._table.step(row, self.program.threads)

        return run_rows(self.plan, self.program.writes, run, partial(self._stored, results))

    def _stored(self, results: Sequence[Array], term: Op, ref: Ref) -> Array:
        """What lies where a kernel stored a term."""
        if ref.space == "result":
            memory = results[int(str(ref.key))]
        elif ref.space == "storage":
            assert isinstance(ref.key, Op)
            memory = self.program.storage[ref.key.attribute("uid")]
        else:
            memory = self._arguments.arena
        size = int(term.size) * term.dtype.itemsize  # type: ignore[arg-type]
        raw = memory.reshape(-1).view(np.uint8)[ref.offset : ref.offset + size]
        shape = tuple(int(n) for n in term.shape)  # type: ignore[arg-type]
        return np.array(raw.view(term.dtype).reshape(shape))

    def source(self) -> str:
        """Every kernel, once, as it was compiled, and the file that it was then."""
        texts = {source.name: source.text for work in self._work for source in (work.source, *work.parts)}
        return "\n\n".join(f"# {self.kernels[name].source_path}\n{text}" for name, text in texts.items())

    def stats(self) -> dict[str, Any]:
        """Kernels by name in the order in which they run and their chunks, launches, the arena, layout copies."""
        return {
            "kernels": [w.source.name for w in self._work],
            "launches": finished(_count(self.plan.work)),
            "distinct_kernels": len(self.kernels),
            "compiled": sum(not k.from_cache for k in self.kernels.values()),
            "arena_bytes": self.plan.arena,
            "temporaries": self.plan.temporaries,
            "layout_copies": len(self.plan.copies),
            "layout_copy_bytes": sum(c.bytes for c in self.plan.copies),
            "threads": self.program.threads,
            "chunks": [*map(self._chunks, self._work)],
        }

    def where(self, term: Op) -> str | None:
        """The kernel that computes a term, if one does, and what decided between several and memory."""
        return shown_place(term, self.plan, self._work)

    def shown(self) -> str:
        """What a call does, step by step."""
        return steps.shown_steps(self.plan)


def shown_place(term: Op, plan: Plan, work: Sequence[Work]) -> str | None:
    """The kernel of a plan that computes a term, if one does, and what decided between several and memory.

    Args:
        work: All kernels of the plan.
    """
    costs = plan.costs.get(term)
    why = "" if costs is None else f": {costs}"
    if term in plan.again:
        inside = " and ".join(describe(root, 1) for root in plan.again[term])
        return f"inside the kernels of {inside}, in registers{why}"
    if term in plan.inlined:
        return f"inside the kernel of {describe(plan.inlined[term], 1)}, in registers{why}"
    if term.definition.name == "core.item":
        return shown_place(term.args[0], plan, work)
    was = plan.origins
    every = [(w, {was.get(t, t) for t in w.computed}) for w in work]
    names = [" with ".join(s.name for s in (w.source, *w.parts)) for w, computed in every if term in computed]
    loops = [w for w in loops_in(plan.work) if was.get(w.term, w.term) is term]
    for loop in loops:
        kind = "a branch if" if loop.limit == 1 else "a loop while"
        steps = f"a loop of {loop.times} steps" if loop.flag is None else f"{kind} its flag is true"
        names.append(f"{steps} ({', '.join(w.source.name for w in kernels(loop.work))})")
    return f"by {', '.join(dict.fromkeys(names))}{why}" if names else None


def _count(work: Sequence[Work | Loop]) -> Waiting[int]:
    """How many kernels are launched, those of loops once for each step, if it is known how many there are."""
    found = 0
    for one in work:
        found += _times(one) * (yield _count(one.work)) if isinstance(one, Loop) else 1
    return found


def _times(loop: Loop) -> int:
    return loop.times if loop.flag is None else 1


def _base() -> frozenset[str]:
    semi_ops = {d.name for d in definitions("semi") if d.shipped} - _COMPOSITE
    own = {d.name for family in ("cpu", "fused") for d in definitions(family) if d.shipped}
    return frozenset(f"core.{name}" for name in CORE.split()) | semi_ops | own


class _Cpu(Target):
    """The CPU, whose instructions decide what is worth them."""

    @property
    def quads(self) -> tuple[int, int, int]:
        """Two pairs take less time than four bytes for which there is no instruction."""
        return 64 if multiplies_quads() else 1 << 62, 64, 128

    @property
    def float_pairs(self) -> tuple[int, int]:
        """Those of fewer take less time as float32: pairs have to be made, and least numbers looked for."""
        there = multiplies_float_pairs() or multiplies_matrices("float_pairs")
        return (32, 1 << 15) if there else (1 << 62, 1 << 62)


CPU: Target = _Cpu("cpu", _base(), CpuExecutable, sample="any", recurrent="any", passes=(Distribution(), Orders()))
