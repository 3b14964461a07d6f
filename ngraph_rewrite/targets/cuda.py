# SPDX-License-Identifier: Apache-2.0
"""The GPU target: the same plan with kernels for a GPU, run as one graph of launches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ngraph_rewrite.codegen.kernel_places import told_in_kernel_files
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.errors import DeviceMemoryError
from ngraph_rewrite.lowering.distribution import Distribution
from ngraph_rewrite.lowering.transfers import Transfers
from ngraph_rewrite.ops import cuda, fused, semi  # noqa: F401  (declare the ops of the base set)
from ngraph_rewrite.plan.accesses import dependencies, done_with, finishing
from ngraph_rewrite.plan.cuda.ends import ends
from ngraph_rewrite.plan.cuda.renderer import CUDA as RENDERER
from ngraph_rewrite.plan.launches import kernels
from ngraph_rewrite.plan.plan import Plan, make_plan
from ngraph_rewrite.runtime.cuda.device import Device, Launched, Recorded, find_device, has_library
from ngraph_rewrite.targets.cpu import CORE, shown_place
from ngraph_rewrite.targets.device_arrays import ArraysOfGpu
from ngraph_rewrite.targets.device_calls import staying_call
from ngraph_rewrite.targets.device_launches import UnrolledLaunches
from ngraph_rewrite.targets.device_loops import RepeatedLaunches, Span
from ngraph_rewrite.targets.device_memory import Download, ProgramMemory
from ngraph_rewrite.targets.rows import run_rows, tell_rows
from ngraph_rewrite.targets.steps import place_of, shown_transfers
from ngraph_rewrite.targets.target import Program, Ran, Target
from ngraph_rewrite.terms.catalogue import definitions
from ngraph_rewrite.terms.op import Op
from ngraph_rewrite.terms.tracing import listener, told

_OF_LIBRARY = frozenset({"cuda.gemm"})
_COMPOSITE = frozenset(
    f"semi.{short}" for short in "tensor_slice logaddexp convolution pooling solve logdet det_sign pinv fourier".split()
)


class CudaExecutable:
    """A plan with memory on a GPU: one arena, kernels, and the arguments that a call may change.

    Args:
        device: The GPU, if not that of this process.
    """

    def __init__(self, program: Program, device: Device | None = None) -> None:
        self.program, self.device = program, device or find_device()
        self.ends = ends(program.results, program.writes, program.inputs)
        self.plan: Plan = make_plan(self.ends.computed, program.writes, renderer=RENDERER)
        self._work = list(kernels(self.plan.work))
        self._memory = ProgramMemory(program, self.plan, self.ends, self.device)
        self._staying = staying_call(self.device, program, self.ends)
        self._functions = self._loaded(dict.fromkeys(work.source for work in self._work))
        self._rows = UnrolledLaunches(self.plan.work, self._memory, self._functions)
        self._after = dependencies(self.plan.accesses)
        self._recorded: Recorded | None = None
        self._downloads: dict[int, Download] = {}  # of computed terms that are had before all is done
        self._arena = 0  # where it was when they were recorded

    def _loaded(self, sources: Iterable[Source]) -> dict[str, Any]:
        own = {source.name: source.text for source in sources if not source.library}
        library = {source.name: self.device.library(source.library) for source in sources if source.library}
        with told_in_kernel_files(sources):
            return library | self.device.load(own, self.program.cache, self.program.threads)

    def run(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> None:
        """Copy arguments to the device unless they are there, run, and copy results from it unless they stay."""
        memory = self._memory
        self._begin(inputs, results, call)
        log = listener([*self.program.results, *self.program.writes]) if told[0] else None
        if log is None:
            self._update()
            recorded = self._recorded or self._record()
            recorded.run()
            memory.end(inputs, results, self._downloads)
        else:
            tell_rows(log, self._row_by_row(), [*self.program.results, *self.program.writes])
            memory.end(inputs, results, {})

    def run_rows(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> Iterator[Ran]:
        """The same row by row: each runs when it is asked for, and `results` are whole when there are no more."""
        self._begin(inputs, results, call)
        yield from self._row_by_row()
        self._memory.end(inputs, results, {})

    def _begin(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> None:
        self._memory.begin(inputs, results, call)
        if self._memory.arena.address != self._arena:
            self._restart()

    def stay(self, inputs: Sequence[Any], call: int) -> list[Any] | None:
        """A call whose arguments are on the device and whose results stay there: the results.

        Returns:
            None if it is none, or if anything has to be made ready first: then nothing was done.
        """
        memory, staying, recorded = self._memory, self._staying, self._recorded
        is_ready = recorded is not None and memory.arena.address == self._arena and memory.arena.size >= self.plan.arena
        if staying is None or recorded is None or not is_ready or told[0]:
            return None
        addresses = staying.addresses(inputs)
        if addresses is None:
            return None
        results = staying.results()
        memory.begin_there([*addresses, *[result.address for result in results]], call)
        self._update()
        (self._recorded or self._record()).run()
        memory.end_there(inputs, results)
        return results

    def _restart(self) -> None:
        """The arena has moved: another program of this computation needed more."""
        recorded, self._recorded = self._recorded, None
        self._rows.restart()
        if recorded is not None:
            recorded.close()
        self._arena = self._memory.arena.address

    def _update(self) -> None:
        """Work out arguments, and tell what is recorded which of them are others; what cannot be told is forgotten."""
        recorded, self._recorded = self._recorded, None  # until it knows, whatever happens in between
        changed = self._rows.update()
        if changed and recorded is not None:
            try:
                recorded.change(changed)
            except DeviceMemoryError:  # they are recorded anew, and have what is kept for arrays then
                recorded.close()
                return
        self._recorded = recorded

    def _record(self) -> Recorded:
        if self._rows.spans:
            self._recorded = self._repeated(self._rows.launches(), self._rows.spans)
            return self._recorded
        after = self._rows.after(self._after)
        early = self._early(after)
        recorded = self.device.record(self._rows.launches(), after, [*dict.fromkeys(early.values())])
        self._downloads = {k: partial(recorded.download, mark=mark) for k, mark in early.items()}
        self._recorded = recorded
        return recorded

    def _repeated(self, launches: Sequence[Launched], spans: Sequence[Span]) -> Recorded:
        """Launches one after the other, some of them while a flag is true."""
        if not spans:
            return self.device.record(launches)
        return RepeatedLaunches(self.device, launches, spans, self._memory.number)

    def _early(self, after: Sequence[Sequence[int]]) -> dict[int, int]:
        """By the number of a computed term the launch that ends it, if there are others that it does not wait for."""
        spaces = [("result", k) for k in range(len(self.ends.computed))]
        rows = [finishing(self.plan.accesses, self._after, space) for space in spaces]
        found = {k: self._rows.of_row(row)[-1:] for k, row in enumerate(rows) if row is not None}
        return {k: last[0] for k, last in found.items() if last and len(done_with(after, last[0])) < len(after)}

    def _row_by_row(self) -> Iterator[Ran]:
        """What runs row by row."""
        self._update()
        launches = self._rows.launches()

        def run(row: int) -> None:
            recorded = self._repeated([launches[i] for i in self._rows.of_row(row)], self._rows.spans_of_row(row))
            self._memory.before_row()
            recorded.run()
            self.device.synchronize()
            recorded.close()
            self._memory.after_row()

        return run_rows(self.plan, self.program.writes, run, self._memory.read)

    def source(self) -> str:
        """Every kernel, once."""
        return "\n\n".join(dict.fromkeys(work.source.text for work in self._work))

    def stats(self) -> dict[str, Any]:
        """Kernels by name in the order in which they run and their blocks, launches, the arena, layout copies."""
        return {
            "kernels": [w.source.name for w in self._work],
            "launches": len(self._rows),
            "distinct_kernels": len(self._functions),
            "arena_bytes": self.plan.arena,
            "device_bytes": self._memory.size,
            "peak_bytes": self._memory.peak,
            "bytes_to_device": self._memory.moved[0],
            "bytes_to_host": self._memory.moved[1],
            "temporaries": self.plan.temporaries,
            "layout_copies": len(self.plan.copies),
            "layout_copy_bytes": sum(c.bytes for c in self.plan.copies),
            "device": self.device.name,
            "blocks": [w.share.chunks for w in self._work],
        }

    def where(self, term: Op) -> str | None:
        """The kernel that computes a term, if one does, where it lies, and whether it moves."""
        kernel, place = shown_place(term, self.plan, self._work), place_of(term, self.program, self.plan, self.ends)
        return ", ".join(said for said in (kernel, place) if said) or None

    def shown(self) -> str:
        """What a call does, step by step."""
        return shown_transfers(self.program, self.plan, self.ends, self._after)


def _base() -> frozenset[str]:
    semi_ops = {d.name for d in definitions("semi") if d.shipped} - _COMPOSITE
    own = {d.name for d in definitions("cuda") if d.shipped and (d.name not in _OF_LIBRARY or has_library())}
    own |= {d.name for d in definitions("fused") if d.shipped}
    return frozenset(f"core.{name}" for name in CORE.split()) | semi_ops | own


CUDA = Target(
    "cuda",
    _base(),
    CudaExecutable,
    sample="any",
    recurrent="any",
    arrays=ArraysOfGpu(),
    passes=(Distribution(), Transfers()),
)
