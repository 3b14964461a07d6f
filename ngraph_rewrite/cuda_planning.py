# SPDX-License-Identifier: Apache-2.0
"""Programs planned for a GPU, and not run: none has to be there for their kernels to be known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import ngraph_rewrite as ng
from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.codegen.template import kernel_template
from ngraph_rewrite.cuda_of_packages import executed, programs_of_packages
from ngraph_rewrite.cuda_programs import LIBRARY, PROGRAMS, Built
from ngraph_rewrite.data import data_folder
from ngraph_rewrite.errors import ArgumentError, KernelError
from ngraph_rewrite.plan.cuda.renderer import CUDA as RENDERER
from ngraph_rewrite.plan.launches import kernels
from ngraph_rewrite.plan.plan import make_plan
from ngraph_rewrite.targets.choices import find_target
from ngraph_rewrite.targets.target import Program, Target
from ngraph_rewrite.types.lengths import known


class Planned(NamedTuple):
    """The kernels of a program, or why there are none."""

    program: str
    sources: tuple[Source, ...]
    lacks: str = ""


class _Idle:
    """What a program is that was planned only."""

    def run(self, inputs: Sequence[Any], results: Sequence[Any], call: int) -> None:
        """Nothing is computed."""

    def source(self) -> str:
        return ""

    def stats(self) -> dict[str, Any]:
        return {}

    def where(self, term: ng.Op) -> str | None:
        return None


def programs() -> Mapping[str, Callable[[], Built]]:
    """The programs of the kernels that ship, and of those of installed packages.

    Raises:
        ExtensionError: if a package cannot be used.
    """
    return {**PROGRAMS, **programs_of_packages()}


def planned(cache: Cache) -> Iterator[Planned]:
    """Each program with its kernels for a GPU."""
    for name, build in programs().items():
        try:
            yield Planned(name, _sources(build(), cache))
        except KernelError as error:
            yield Planned(name, (), error.what)


def _sources(built: Built, cache: Cache) -> tuple[Source, ...]:
    found: dict[Source, None] = {}

    def prepare(program: Program) -> _Idle:
        plan = make_plan(program.results, program.writes, program.order, RENDERER)
        found.update(dict.fromkeys(work.source for work in kernels(plan.work)))
        return _Idle()

    call(prepare, built, [np.zeros([known(n) for n in x.shape], x.dtype) for x in built[1]], cache)
    return tuple(found)


def call(prepare: Callable[[Program], Any], built: Built, values: Sequence[Any], cache: Cache) -> None:
    """Call a program once, made ready for a GPU in some way."""
    cuda = find_target("cuda")
    target: Target = replace(cuda, prepare=prepare, base=(cuda.base or frozenset()) | executed(built))
    with ng.make_transformer(target, cache=cache, disabled=LIBRARY) as transformer:
        transformer.computation(built[0], *built[1])(*values)


def asked(sources: Iterable[Source], names: Collection[str]) -> list[Source]:
    """The kernels that are called by their names, or by those of their files."""
    return [source for source in sources if source.name in names or _file(source) in names]


def check_names(sources: Sequence[Source], names: Iterable[str]) -> None:
    """Refuse names of which no kernel has one.

    Raises:
        ArgumentError: for those.
    """
    unknown = [name for name in names if not asked(sources, [name])]
    if unknown:
        there = ", ".join(sorted({_file(source) for source in sources}))
        raise ArgumentError(f"no kernel is called {' or '.join(unknown)}", do=f"one of {there}")


def _file(source: Source) -> str:
    """The name of the kernel file that a kernel is of."""
    return source.name.rpartition("_")[0]


def unused(sources: Sequence[Source]) -> list[str]:
    """The kernel files that have a body for GPUs of which no source was made."""
    used = {_file(source) for source in sources}
    names = [path.stem for path in sorted(data_folder("kernels").glob("*.kernel"))]
    return [name for name in names if "cuda" in kernel_template(name).bodies and name not in used]
