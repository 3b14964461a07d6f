# SPDX-License-Identifier: Apache-2.0
"""The CPU target: a plan whose kernels Numba compiled, run as one table of launches from one entry."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from ngraph_rewrite.ops import semi  # noqa: F401  (declares the ops of the base set)
from ngraph_rewrite.plan.launches import Loop, Ref, Work, kernels, loops_in
from ngraph_rewrite.plan.plan import Plan, make_plan
from ngraph_rewrite.plan.views import Layout
from ngraph_rewrite.runtime.blas import blas_threads
from ngraph_rewrite.runtime.compiler import Kernel, compile_kernel
from ngraph_rewrite.runtime.machine import Launch, LaunchTable, Repeat
from ngraph_rewrite.targets.arguments import Arguments
from ngraph_rewrite.targets.target import Array, Program, Target
from ngraph_rewrite.terms.catalogue import definitions
from ngraph_rewrite.terms.op import Op, describe
from ngraph_rewrite.terms.tracing import CallLog, listener

_CORE = "constant placeholder variable strip label assign after doall parameter item make_tuple"
_NOTHING = nullcontext()
_COMPOSITE = frozenset({"semi.tensor_slice", "semi.logaddexp", "semi.convolution", "semi.pooling"})


def seen(array: Array, layout: Layout) -> Array:
    """The elements of a row-major array in another layout."""
    flat = array.reshape(-1)[layout.offset :]
    strides = tuple(s * array.itemsize for s in layout.strides)
    return np.lib.stride_tricks.as_strided(flat, layout.shape, strides, writeable=False)


class CpuExecutable:
    """A plan with memory: one arena, compiled kernels, and the arguments a call has to fill in."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.plan: Plan = make_plan(program.results, program.writes, program.order)
        self.kernels: dict[str, Kernel] = {}
        self._work = list(kernels(self.plan.work))
        for work in self._work:
            source = work.source
            if source.name not in self.kernels:
                self.kernels[source.name] = compile_kernel(source.text, source.name, program.cache)
        self._blas = blas_threads() if any(_calls_blas(work) for work in self._work) else None
        self._arguments = Arguments(program, self.plan.arena)
        self._table = LaunchTable([self._launch(work) for work in self.plan.work])
        self._arguments.seal()
        position = {p: i for i, p in enumerate(program.inputs)}
        self._echoes = [(number, position[load.base], load.layout) for number, load in self.plan.echoes]

    def _launch(self, work: Work | Loop) -> Launch | Repeat:
        if isinstance(work, Loop):
            return Repeat([self._launch(inner) for inner in work.work], work.times, work.steps)
        kernel, arguments = self.kernels[work.source.name], self._arguments.numbers(work.arguments)
        return Launch(kernel, arguments, self._chunks(work), work.share.weight)

    def _chunks(self, work: Work) -> int:
        """A product is left to the threads of its BLAS, if that cannot be kept to one."""
        return 1 if self._blas is None and _calls_blas(work) else work.share.chunks

    def run(self, inputs: Sequence[Array], results: Sequence[Array], call: int) -> None:
        """Fill in the addresses of this call and walk the table."""
        self._table.rewind()
        self._arguments.fill(self._table.arguments, inputs, results)
        self._arguments.call[0] = call
        log = listener([*self.program.results, *self.program.writes])
        with self._blas or _NOTHING:
            if log is None:
                self._table.run(self.program.threads)
            else:
                self._run_told(log, results)
        for number, source, layout in self._echoes:
            np.copyto(results[number], seen(inputs[source], layout))

    def _run_told(self, log: CallLog, results: Sequence[Array]) -> None:
        """Walk the table row by row, and tell what each row computed."""
        writes = list(self.program.writes)
        for row, work in enumerate(self.plan.work):
            self._table.step(row, self.program.threads)
            following = self.plan.work[row + 1 : row + 2]
            if following and following[0].term is work.term and isinstance(work, Work):
                continue  # a part of what the next one completes
            term = self.plan.origins.get(work.term, work.term)
            if isinstance(work, Loop):
                log.tell_all(term)
                continue
            log.tell_all(term, partial(self._stored, term, work.stored, results))
            write = next((w for w in writes if work.stored[:2] == ("storage", w.args[0])), None)
            if write is not None:
                writes.remove(write)
                log.tell_all(write)
        for term in (*self.program.results, *self.program.writes):
            log.tell_all(term)

    def _stored(self, term: Op, ref: Ref, results: Sequence[Array]) -> Array:
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
        """Every kernel, once, as the file that was compiled."""
        parts = [f"# {k.source_path}\n{k.source_path.read_text(encoding='utf-8')}" for k in self.kernels.values()]
        return "\n\n".join(parts)

    def stats(self) -> dict[str, Any]:
        """Kernels by name in the order in which they run and their chunks, launches, the arena, layout copies."""
        return {
            "kernels": [w.source.name for w in self._work],
            "launches": _count(self.plan.work),
            "distinct_kernels": len(self.kernels),
            "compiled": sum(not k.from_cache for k in self.kernels.values()),
            "arena_bytes": self.plan.arena,
            "temporaries": self.plan.temporaries,
            "layout_copies": len(self.plan.copies),
            "layout_copy_bytes": sum(c.bytes for c in self.plan.copies),
            "threads": self.program.threads,
            "chunks": [self._chunks(w) for w in self._work],
        }

    def where(self, term: Op) -> str | None:
        """The kernel that computes a term, if one does."""
        if term in self.plan.inlined:
            return f"inside the kernel of {describe(self.plan.inlined[term], 1)}, in registers"
        if term.definition.name == "core.item":
            return self.where(term.args[0])
        was = self.plan.origins
        names = [w.source.name for w in self._work if was.get(w.term, w.term) is term]
        loops = [w for w in loops_in(self.plan.work) if was.get(w.term, w.term) is term]
        for loop in loops:
            names.append(f"a loop of {loop.times} steps ({', '.join(w.source.name for w in kernels(loop.work))})")
        return f"by {', '.join(dict.fromkeys(names))}" if names else None


def _count(work: Sequence[Work | Loop]) -> int:
    """How many kernels are launched, those of loops once for each step."""
    return sum(one.times * _count(one.work) if isinstance(one, Loop) else 1 for one in work)


def _calls_blas(work: Work) -> bool:
    return any(isinstance(a, Ref) and a.space == "gemm" for a in work.arguments)


def _base() -> frozenset[str]:
    semi_ops = {d.name for d in definitions("semi") if d.shipped} - _COMPOSITE
    return frozenset(f"core.{name}" for name in _CORE.split()) | semi_ops | {"cpu.gemm"}


CPU = Target("cpu", _base(), CpuExecutable, sample="any", recurrent="any")
