# SPDX-License-Identifier: Apache-2.0
"""From a kernel to PTX: no device need be there.

Numba's own launches let the compiler put a product and a sum into one instruction, which rounds once. A kernel says
where that may be, so this is switched off here, for what the kernel calls too.
"""

from collections.abc import Callable, Sequence
from functools import cache
from itertools import groupby
from typing import Any

from numba.core import types
from numba.cuda import compiler
from numba.cuda.core import errors, interpreter, ir, ssa, typed_passes, untyped_passes
from numba.cuda.core.callconv import CUDACallConv
from numba.cuda.core.compiler_lock import global_compiler_lock
from numba.cuda.core.typed_passes import InlineOverloads, NopythonRewrites, PreLowerStripPhis
from numba.cuda.core.untyped_passes import (
    GenericRewrites,
    InlineClosureLikes,
    InlineInlinables,
    IRProcessing,
    ReconstructSSA,
    WithLifting,
)
from numba.cuda.descriptor import cuda_target
from numba.cuda.flags import CUDAFlags
from numba.cuda.utils import numba_target_override

from ngraph_rewrite.garbage import garbage_collected
from ngraph_rewrite.runtime.cuda.generation import AMPERE
from ngraph_rewrite.runtime.cuda.linking import nothing
from ngraph_rewrite.runtime.cuda.overlapping import overlapping
from ngraph_rewrite.runtime.cuda.registries import read_registries
from ngraph_rewrite.runtime.first_passes import rewriting, translating
from ngraph_rewrite.runtime.resolved import Resolved, resolving
from ngraph_rewrite.runtime.single_assignment import assigning_once, handing_on

_OPTIONS = {"opt": 3, "fma": 0}
# For whole arrays, and for functions in functions: a kernel has neither.
_IDLE = (NopythonRewrites, InlineClosureLikes, InlineInlinables, InlineOverloads, IRProcessing, WithLifting)
# Numba's own passes, and what does the same in less time.
_INSTEAD = {
    compiler.CUDATranslateBytecode: translating(untyped_passes, interpreter, compiler.CUDABytecodeInterpreter),
    GenericRewrites: rewriting(untyped_passes),
    ReconstructSSA: assigning_once(untyped_passes, ssa),
    PreLowerStripPhis: handing_on(typed_passes, ir, untyped_passes.build_definitions),
}


def compile_ptx(kernel: Callable[..., None], arguments: int, capabilities: Sequence[tuple[int, int]]) -> list[str]:
    """Return the text of a module with the kernel, for each of some capabilities.

    Args:
        arguments: How many int64 the kernel takes, by value.
        capabilities: Those of devices, such as ``(9, 0)``; what Numba makes of it for the oldest that has the same
            instructions serves the others.
    """
    with garbage_collected():
        try:
            return _texts(kernel, arguments, capabilities)
        finally:
            errors.loc_info.clear()  # the latest instruction, and with it all of the kernel


def _texts(kernel: Callable[..., None], arguments: int, capabilities: Sequence[tuple[int, int]]) -> list[str]:
    found: dict[tuple[int, int], str] = {}
    for _, alike in groupby(sorted(capabilities), lambda capability: capability >= AMPERE):
        some = list(alike)
        compiled = _compiled(kernel, (types.int64,) * arguments, some[0])
        library, name = compiled.library, compiled.fndesc.llvm_func_name
        compiler.kernel_fixup(library.get_function(name), debug=False)
        found |= {one: overlapping(library.get_asm_str(cc=one), one) for one in some}
    return [found[capability] for capability in capabilities]


def warm() -> None:
    """Compile next to nothing, so that the first kernel does not pay for what is prepared once."""
    compile_ptx(nothing, 1, [(9, 0)])


@global_compiler_lock  # type: ignore[untyped-decorator]
def _compiled(kernel: Callable[..., None], signature: tuple[Any, ...], capability: tuple[int, int]) -> Any:
    """What Numba makes of a kernel before it is of a device."""
    flags: Any = CUDAFlags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.error_model, flags.nvvm_options, flags.compute_capability = "numpy", _OPTIONS, capability
    read_registries()
    target = _target()
    given: tuple[Any, ...] = _typing(), target, kernel, signature, types.void, flags, {}
    with numba_target_override():
        found = compiler.compile_extra(*given, pipeline_class=_Pipeline, call_conv=CUDACallConv(target), abi_info={})
    found.library.finalize()
    return found


@cache
def _typing() -> Any:
    return Resolved(cuda_target.typing_context)


@cache
def _target() -> Any:
    return resolving(cuda_target.target_context, _typing())


class _Pipeline(compiler.CUDACompiler):  # type: ignore[misc]
    """Numba's own, but for the passes that have nothing to do."""

    def define_pipelines(self) -> list[Any]:
        (passes,) = super().define_pipelines()
        kept = [one for one in passes.passes if one[0] not in _IDLE]
        passes.passes = [(_INSTEAD.get(done, done), text) for done, text in kept]
        passes.finalize()
        return [passes]
