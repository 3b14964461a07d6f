# SPDX-License-Identifier: Apache-2.0
"""The command ``ptx``: every kernel for GPUs compiled without one, what each takes of a GPU, and the verdict last."""

from __future__ import annotations

import importlib.util
import os
import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ngraph_rewrite.cache import Cache
from ngraph_rewrite.codegen.source import Source
from ngraph_rewrite.cuda_planning import asked, check_names, planned, unused
from ngraph_rewrite.errors import DeviceError, NGraphRewriteError
from ngraph_rewrite.lazy import lazy_module
from ngraph_rewrite.runtime.cuda.compiler import code_of, prepare_codes
from ngraph_rewrite.runtime.cuda.device import SIMULATOR

if TYPE_CHECKING:
    from ngraph_rewrite.runtime.cuda import linking
else:
    linking = lazy_module("ngraph_rewrite.runtime.cuda.linking")

ARCHITECTURES = ("sm_80", "sm_90")
HEAD = ("kernel", "of", "gpu", "registers", "shared", "stack", "spilled", "code")
SPILLED = HEAD.index("spilled")

Rows = list[tuple[str, ...]]


def architecture(text: str) -> tuple[int, int]:
    """The compute capability that a name such as ``sm_90`` stands for.

    >>> architecture("sm_90"), architecture("sm_120")
    ((9, 0), (12, 0))
    """
    found = re.fullmatch(r"sm_(\d+)(\d)", text)
    if found is None:
        raise ArgumentTypeError(f"{text!r} is not sm_ and a compute capability, such as sm_90")
    return int(found[1]), int(found[2])


def main(options: Namespace) -> tuple[Rows, list[str], str]:
    """Compile the kernels.

    Args:
        options: `arch`, `jobs` and `kernels` of the command line.

    Returns:
        The rows of a table, what is wrong, and the verdict.

    Raises:
        DeviceError: if a package or a library that compiling needs is not there, or does not know an architecture.
        ArgumentError: for a kernel that there is not.
    """
    architectures = options.arch or [architecture(name) for name in ARCHITECTURES]
    check_compiler(architectures)
    cache = Cache()
    programs, lacking = _kernels(cache, options.kernels)
    rows, wrong = compiled(programs, architectures, cache, options.jobs or os.cpu_count() or 1)
    names = " and ".join(f"sm_{major}{minor}" for major, minor in architectures)
    verdict = f"{len(programs) - len(wrong)} of {len(programs)} kernels compile for {names}"
    spilling = len({row[0] for row in rows if row[SPILLED] != "0"})
    verdict += f"; {spilling} of them spill registers" if spilling else ""
    verdict += f"; {len(lacking)} are missing" if lacking else ""
    return rows, [*lacking, *wrong], verdict


def check_compiler(architectures: Iterable[tuple[int, int]] = ()) -> None:
    """Refuse to begin without all that compiles for a GPU.

    Raises:
        DeviceError: if something is missing, the assembler does not know one of the architectures, or Numba's simulator
            is on, which compiles nothing.
    """
    if os.environ.get(SIMULATOR, "0") not in ("", "0"):
        raise DeviceError("Numba's simulator is on, and compiles nothing", do=f"unset {SIMULATOR}")
    how = "pip install 'ngraph_rewrite[cuda]'"
    for package in ("numba_cuda", "cuda"):
        if importlib.util.find_spec(package) is None:
            raise DeviceError(f"compiling for a GPU needs the package {package.replace('_', '-')}", do=how)
    try:
        linking.check_libraries()
    except Exception as error:  # each library has errors of its own
        raise DeviceError(f"compiling for a GPU needs NVVM and nvJitLink: {error}", do=how) from error
    for one in architectures:
        linking.check_architecture(one)


def _kernels(cache: Cache, names: Sequence[str]) -> tuple[dict[Source, str], list[str]]:
    """The kernels, each with the first program that has it, and what is missing if all are asked for."""
    found, lacking = dict[Source, str](), list[str]()
    for program in planned(cache):
        for source in program.sources:
            found.setdefault(source, program.program)
        if program.lacks:
            lacking.append(f"{program.program}: {program.lacks}")
    if not names:
        files = [f"kernels/{name}.kernel: no program has its body for GPUs" for name in unused(list(found))]
        return found, [*lacking, *files]
    check_names(list(found), names)
    return {source: found[source] for source in asked(found, names)}, []


def compiled(
    programs: Mapping[Source, str], architectures: Sequence[tuple[int, int]], cache: Cache, jobs: int = 1
) -> tuple[Rows, list[str]]:
    """Compile kernels for architectures, by so many processes: a row for each, and what is wrong."""
    rows, wrong = Rows(), list[str]()
    prepare_codes({source.name: source.text for source in programs}, architectures, cache, jobs)
    for source, program in programs.items():
        try:
            rows += [(source.name, program, *_cells(source, one, cache)) for one in architectures]
        except NGraphRewriteError as error:
            wrong.append(f"{program}: {error}")
    return rows, wrong


def _cells(source: Source, capability: tuple[int, int], cache: Cache) -> tuple[str, ...]:
    """The last cells of a row."""
    resources = code_of(source.text, source.name, capability, cache).resources
    return f"sm_{capability[0]}{capability[1]}", *map(str, resources)
